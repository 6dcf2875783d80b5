/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_AGAIN_NS (60 * NS_PER_S)

static bool blob_equal(const struct blob *a, const struct blob *b)
{
	return a->at && b->at && a->bytes == b->bytes && memcmp(a->at, b->at, a->bytes) == 0;
}

static void token_read(struct credentials *c)
{
	const char *why = "";
	char *token = access_token(c->access, &why);

	if (!token) {
		if (c->access->token_file && log_allowed(&c->token_limit, c->env, "token"))
			env_log(c->env, "warn", "%s: %s; going on with the last token", c->access->token_file,
			        why);
		return;
	}
	if (c->token && strcmp(c->token, token) == 0) {
		free(token);
		return;
	}
	free(c->token);
	free(c->authorization);
	c->token = token;
	if (asprintf(&c->authorization, "Authorization: Bearer %s", token) < 0)
		fatal_memory();
	c->token_generation++;
}

static void ca_read(struct credentials *c)
{
	struct blob now;

	if (access_ca(c->access, &now) < 0)
		return;
	if (blob_equal(credentials_ca(c), &now)) {
		free(now.at);
		return;
	}
	free(c->ca.at);
	c->ca = now;
	c->tls_generation++;
	env_log(c->env, "info", "%s is another one; its certificates are taken from now on",
	        c->access->ca_file);
}

/* The two files change one after the other and do not match in between. */
static void pair_read(struct credentials *c)
{
	struct blob cert, key;
	const char *why = "";

	if (!c->access->cert_file)
		return;
	if (access_pair(c->access, &cert, &key, &why) < 0) {
		if (log_allowed(&c->pair_limit, c->env, "client certificate"))
			env_log(c->env, "warn", "%s: %s; going on with the last one", c->access->cert_file,
			        why);
		return;
	}
	if (blob_equal(credentials_cert(c), &cert) && blob_equal(credentials_key(c), &key)) {
		free(cert.at);
		free(key.at);
		return;
	}
	free(c->cert.at);
	free(c->key.at);
	c->cert = cert;
	c->key = key;
	c->tls_generation++;
	c->pair_generation++;
	env_log(c->env, "info", "%s is another one; it is shown from now on, and watches begin anew",
	        c->access->cert_file);
}

void credentials_init(struct credentials *c, const struct access *access, const struct env *env)
{
	*c = (struct credentials){ .access = access, .env = env, .read_ns = env_now(env) };
	token_read(c);
}

void credentials_free(struct credentials *c)
{
	free(c->authorization);
	free(c->token);
	free(c->ca.at);
	free(c->cert.at);
	free(c->key.at);
}

void credentials_renew(struct credentials *c)
{
	c->read_ns = env_now(c->env);
	token_read(c);
	pair_read(c);
}

void credentials_refresh(struct credentials *c)
{
	if ((c->access->token_file || c->access->cert_file) &&
	    env_now(c->env) - c->read_ns > READ_AGAIN_NS)
		credentials_renew(c);
}

void credentials_distrusted(struct credentials *c)
{
	ca_read(c);
	pair_read(c);
}

const struct blob *credentials_ca(const struct credentials *c)
{
	return c->ca.at ? &c->ca : &c->access->ca;
}

const struct blob *credentials_cert(const struct credentials *c)
{
	return c->cert.at ? &c->cert : &c->access->cert;
}

const struct blob *credentials_key(const struct credentials *c)
{
	return c->key.at ? &c->key : &c->access->key;
}
