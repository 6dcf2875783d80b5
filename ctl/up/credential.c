/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/credential.h"

#include "ctl/up/process.h"
#include "ipc/memory.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLUGIN_MS 60000u
#define PLUGIN_LATE "did not answer within 60 s"
#define OUTPUT_BYTES ((size_t)1 << 20)

static const char group[] = "client.authentication.k8s.io/";

/* Text of a member that may be sent in a header or read as PEM; NULL: none. */
static const char *text_at(const cJSON *o, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));

	return text != NULL && *text != '\0' ? text : NULL;
}

static bool is_token(const char *text)
{
	while ((unsigned char)*text > ' ' && (unsigned char)*text < 0x7f)
		text++;
	return *text == '\0';
}

static struct blob copy_of(const char *text)
{
	return (struct blob){ .at = must_copy(text), .bytes = strlen(text) };
}

/* What is wrong with the credential; NULL: it is in `a`. */
static const char *take(const cJSON *o, const char *api_version, struct access *a)
{
	const cJSON *status = cJSON_GetObjectItemCaseSensitive(o, "status");
	const char *version = text_at(o, "apiVersion"), *kind = text_at(o, "kind");
	const char *token = text_at(status, "token");
	const char *cert = text_at(status, "clientCertificateData");
	const char *key = text_at(status, "clientKeyData");

	if (kind == NULL || strcmp(kind, "ExecCredential") != 0)
		return "printed no ExecCredential";
	if (version == NULL || strcmp(version, api_version) != 0)
		return "printed another apiVersion than the kubeconfig has";
	if (token == NULL && (cert == NULL || key == NULL))
		return "printed neither a token nor a client certificate with its key";
	if ((cert == NULL) != (key == NULL))
		return "printed a client certificate without its key, or a key alone";
	if (token != NULL && !is_token(token))
		return "printed a token with white space or control bytes";
	if (cert != NULL && (strstr(cert, "-----BEGIN ") == NULL || strstr(key, "-----BEGIN ") == NULL))
		return "printed a certificate or key that is not PEM";
	if (token != NULL)
		a->token = must_copy(token);
	if (cert != NULL) {
		a->cert = copy_of(cert);
		a->key = copy_of(key);
	}
	return NULL;
}

static void add(cJSON *o, const char *name, const char *value)
{
	if (value != NULL && cJSON_AddStringToObject(o, name, value) == NULL)
		fatal_memory();
}

static void add_ca(cJSON *cluster, const struct blob *ca)
{
	const gnutls_datum_t pem = { .data = (unsigned char *)ca->at, .size = (unsigned)ca->bytes };
	gnutls_datum_t text;
	char *copy;

	if (ca->at == NULL)
		return;
	if (gnutls_base64_encode2(&pem, &text) < 0)
		fatal_memory();
	copy = must_alloc(text.size + 1);
	memcpy(copy, text.data, text.size);
	gnutls_free(text.data);
	add(cluster, "certificate-authority-data", copy);
	free(copy);
}

/* KUBERNETES_EXEC_INFO; to be freed with cJSON_free(). */
static char *exec_info(const struct exec_plugin *x, const struct access *a)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *spec = cJSON_AddObjectToObject(o, "spec"), *cluster;
	char *text;

	add(o, "apiVersion", x->api_version);
	add(o, "kind", "ExecCredential");
	if (spec == NULL || cJSON_AddFalseToObject(spec, "interactive") == NULL)
		fatal_memory();
	if (x->cluster_info) {
		cluster = cJSON_AddObjectToObject(spec, "cluster");
		add(cluster, "server", a->server);
		add(cluster, "tls-server-name", a->tls_server_name);
		add(cluster, "proxy-url", a->proxy);
		add_ca(cluster, &a->ca);
	}
	text = cJSON_PrintUnformatted(o);
	if (text == NULL)
		fatal_memory();
	cJSON_Delete(o);
	return text;
}

static enum process_end run(const struct exec_plugin *x, const char *program,
                            const struct access *a, struct bytes *out)
{
	const char *names[EXEC_VARIABLES_MAX + 2] = { 0 }, *values[EXEC_VARIABLES_MAX + 2] = { 0 };
	const char *argv[EXEC_ARGUMENTS_MAX + 2];
	char *info = exec_info(x, a);
	enum process_end end;
	size_t n = 0;

	memcpy(argv, x->argv, sizeof(argv));
	argv[0] = program;
	for (; x->names[n] != NULL; n++) {
		names[n] = x->names[n];
		values[n] = x->values[n];
	}
	names[n] = "KUBERNETES_EXEC_INFO";
	values[n] = info;
	end = process_output_with(argv, names, values, PLUGIN_MS, false, OUTPUT_BYTES, out);
	cJSON_free(info);
	return end;
}

int credential_exec(const struct exec_plugin *x, struct access *a, char *error, size_t error_bytes)
{
	/* process_find() looks beside musterctl first, where no plugin is meant to be. */
	char *program =
		strchr(x->argv[0], '/') != NULL ? must_copy(x->argv[0]) : process_find_in_path(x->argv[0]);
	struct bytes out = { 0 };
	enum process_end end;
	const char *wrong;
	cJSON *o;

	if (strncmp(x->api_version, group, sizeof(group) - 1) != 0 ||
	    (strcmp(x->api_version + sizeof(group) - 1, "v1") != 0 &&
	     strcmp(x->api_version + sizeof(group) - 1, "v1beta1") != 0)) {
		wrong = "its apiVersion is neither client.authentication.k8s.io/v1 nor v1beta1";
	} else if (program == NULL) {
		wrong = "is not in $PATH";
	} else if ((end = run(x, program, a, &out)) != PROCESS_DONE) {
		wrong = end == PROCESS_LATE ? PLUGIN_LATE : "failed";
	} else {
		o = cJSON_ParseWithLength(out.at, out.n);
		wrong = take(o, x->api_version, a);
		cJSON_Delete(o);
	}
	if (wrong != NULL)
		snprintf(error, error_bytes, "credential plugin %.200s: %s%s%.300s", x->argv[0], wrong,
		         program == NULL && x->hint != NULL ? "; " : "",
		         program == NULL && x->hint != NULL ? x->hint : "");
	/* It was a secret. */
	if (out.at != NULL)
		explicit_bzero(out.at, out.n);
	bytes_free(&out);
	free(program);
	return wrong != NULL ? -EINVAL : 0;
}
