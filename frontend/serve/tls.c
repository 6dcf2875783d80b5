/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/tls.h"

#include "frontend/base/log.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHAIN_MAX 8u
#define LOOK_NS (10 * NS_PER_S) /* between looks at the files */

/* A certificate with its key.  Handshakes under way refer to an old one: it is kept to the end. */
struct pair {
	struct pair *older;
	gnutls_pcert_st certs[CHAIN_MAX];
	unsigned certs_n;
	gnutls_privkey_t key;
};

struct tls {
	struct tls_files files;
	const struct env *env;
	struct pair *pair;
	gnutls_x509_trust_list_t clients;
	char *client_ca;
	struct timespec changed[3]; /* cert, key, client CA */
	uint64_t looked_ns;
	struct log_limit limit;
};

static struct tls *current;

static int fail(const char *file, const char *why, char *error, size_t error_bytes)
{
	snprintf(error, error_bytes, "%s: %s", file, why);
	return -EINVAL;
}

static void pair_free(struct pair *p)
{
	for (unsigned i = 0; i < p->certs_n; i++)
		gnutls_pcert_deinit(&p->certs[i]);
	gnutls_privkey_deinit(p->key);
	free(p);
}

/* NULL if the key belongs to the certificate. */
static const char *pair_fault(const struct tls_files *f)
{
	gnutls_certificate_credentials_t credentials;
	int rc = gnutls_certificate_allocate_credentials(&credentials);

	if (rc < 0)
		fatal_memory();
	rc = gnutls_certificate_set_x509_key_file(credentials, f->cert, f->key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	return rc < 0 ? gnutls_strerror(rc) : NULL;
}

static int pair_load(struct tls *t, char *error, size_t error_bytes)
{
	const char *why = pair_fault(&t->files);
	struct pair *p;
	gnutls_datum_t key;
	int rc;

	if (why)
		return fail(t->files.cert, why, error, error_bytes);
	p = must_alloc(sizeof(*p));
	p->certs_n = CHAIN_MAX;
	rc = gnutls_pcert_list_import_x509_file(p->certs, &p->certs_n, t->files.cert,
	                                        GNUTLS_X509_FMT_PEM, NULL, NULL, 0);
	if (rc < 0)
		p->certs_n = 0;
	if (gnutls_privkey_init(&p->key) < 0)
		fatal_memory();
	if (rc >= 0)
		rc = gnutls_load_file(t->files.key, &key);
	if (rc >= 0) {
		rc = gnutls_privkey_import_x509_raw(p->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
		gnutls_memset(key.data, 0, key.size);
		gnutls_free(key.data);
	}
	if (rc < 0) {
		pair_free(p);
		return fail(t->files.cert, gnutls_strerror(rc), error, error_bytes);
	}
	p->older = t->pair;
	t->pair = p;
	return 0;
}

static int clients_load(struct tls *t, char *error, size_t error_bytes)
{
	gnutls_x509_trust_list_t list;
	gnutls_datum_t pem;
	int rc;

	if (!t->files.client_ca)
		return 0;
	rc = gnutls_load_file(t->files.client_ca, &pem);
	if (rc < 0)
		return fail(t->files.client_ca, gnutls_strerror(rc), error, error_bytes);
	if (gnutls_x509_trust_list_init(&list, 0) < 0)
		fatal_memory();
	rc = gnutls_x509_trust_list_add_trust_mem(list, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
	if (rc <= 0) {
		gnutls_x509_trust_list_deinit(list, 1);
		gnutls_free(pem.data);
		return fail(t->files.client_ca, rc < 0 ? gnutls_strerror(rc) : "no certificate", error,
		            error_bytes);
	}
	if (t->clients)
		gnutls_x509_trust_list_deinit(t->clients, 1);
	t->clients = list;
	if (!t->client_ca) { /* libmicrohttpd has read it: the names it sends to clients */
		t->client_ca = must_alloc(pem.size + 1);
		memcpy(t->client_ca, pem.data, pem.size);
	}
	gnutls_free(pem.data);
	return 0;
}

/* True if one of the files was written since the last call. */
static bool files_changed(struct tls *t)
{
	const char *const files[] = { t->files.cert, t->files.key, t->files.client_ca };
	bool changed = false;
	struct stat now;

	for (int i = 0; i < 3; i++) {
		if (!files[i] || stat(files[i], &now) < 0)
			continue;
		changed = changed || memcmp(&t->changed[i], &now.st_mtim, sizeof(now.st_mtim)) != 0;
		t->changed[i] = now.st_mtim;
	}
	return changed;
}

static int load(struct tls *t, char *error, size_t error_bytes)
{
	int rc = clients_load(t, error, error_bytes);

	return rc < 0 ? rc : pair_load(t, error, error_bytes);
}

/* A renewal may be under way: cert and key differ for a moment, and change again. */
static void refresh(struct tls *t)
{
	uint64_t now = env_now(t->env);
	char error[512];

	if (now - t->looked_ns < LOOK_NS)
		return;
	t->looked_ns = now;
	if (!files_changed(t))
		return;
	if (load(t, error, sizeof(error)) == 0) {
		env_log(t->env, "info", "read the certificate of the port again: %s", t->files.cert);
		return;
	}
	memset(t->changed, 0, sizeof(t->changed));
	if (log_allowed(&t->limit, t->env, "can't read certificates"))
		env_log(t->env, "error", "the previous certificate of the port stays in use: %s", error);
}

int tls_new(const struct tls_files *files, const struct env *env, struct tls **out, char *error,
            size_t error_bytes)
{
	struct tls *t = must_alloc(sizeof(*t));
	int rc;

	t->files = *files;
	t->env = env;
	t->looked_ns = env_now(env);
	files_changed(t);
	rc = load(t, error, error_bytes);
	if (rc < 0) {
		tls_free(t);
		return rc;
	}
	current = *out = t;
	return 0;
}

void tls_free(struct tls *t)
{
	struct pair *older;

	if (!t)
		return;
	if (current == t)
		current = NULL;
	for (struct pair *p = t->pair; p; p = older) {
		older = p->older;
		pair_free(p);
	}
	if (t->clients)
		gnutls_x509_trust_list_deinit(t->clients, 1);
	free(t->client_ca);
	free(t);
}

const char *tls_client_ca(const struct tls *t)
{
	return t->client_ca;
}

int tls_certificate(gnutls_session_t session, const gnutls_datum_t *ca_names, int ca_names_n,
                    const gnutls_pk_algorithm_t *algorithms, int algorithms_n,
                    gnutls_pcert_st **certs, unsigned *certs_n, gnutls_privkey_t *key)
{
	refresh(current);
	*certs = current->pair->certs;
	*certs_n = current->pair->certs_n;
	*key = current->pair->key;
	return 0;
}

/* The common name of a certificate that is good; else why not. */
static const char *chain_fault(struct tls *t, gnutls_x509_crt_t *chain, unsigned n, char *name,
                               size_t name_bytes)
{
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
		                              .data =
		                                  (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned status = 0;
	size_t bytes = name_bytes;

	if (gnutls_x509_trust_list_verify_crt2(t->clients, chain, n, &purpose, 1, 0, &status, NULL) <
	        0 ||
	    status != 0)
		return status & GNUTLS_CERT_EXPIRED
		           ? "the client certificate has expired"
		           : "the client certificate is not one of --client-ca-file";
	if (gnutls_x509_crt_get_dn_by_oid(chain[0], GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &bytes) <
	        0 ||
	    bytes == 0 || strlen(name) != bytes)
		return "the client certificate has no common name";
	return NULL;
}

const char *tls_client_fault(struct tls *t, struct MHD_Connection *connection, char *name,
                             size_t name_bytes)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	const gnutls_datum_t *der;
	gnutls_x509_crt_t chain[CHAIN_MAX];
	unsigned n = 0, given = 0;
	const char *fault = NULL;

	refresh(t);
	der = info ? gnutls_certificate_get_peers(info->tls_session, &given) : NULL;
	if (!der || given == 0)
		return "a client certificate is needed";
	for (; !fault && n < given && n < CHAIN_MAX; n++) {
		if (gnutls_x509_crt_init(&chain[n]) < 0)
			fatal_memory();
		if (gnutls_x509_crt_import(chain[n], &der[n], GNUTLS_X509_FMT_DER) < 0)
			fault = "the client certificate can't be read";
	}
	if (!fault)
		fault = chain_fault(t, chain, n, name, name_bytes);
	while (n > 0)
		gnutls_x509_crt_deinit(chain[--n]);
	return fault;
}
