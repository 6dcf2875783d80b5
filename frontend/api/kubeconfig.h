/* SPDX-License-Identifier: Apache-2.0 */
/* Where the API server is and how to be let in, from a kubeconfig or from the
 * pod's service account. */
#ifndef MUSTER_FRONTEND_KUBECONFIG_H
#define MUSTER_FRONTEND_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a file or of a -data field; `at` is terminated too. */
struct blob {
	char *at; /* owned; NULL: not given */
	size_t bytes;
};

struct access {
	char *server;          /* "https://host:port", no slash at its end */
	char *tls_server_name; /* the name in its certificate, or NULL */
	char *proxy;           /* or NULL */
	struct blob ca;        /* PEM; not given: the system's */
	char *ca_file;         /* where it was read, or NULL */
	struct blob cert;      /* client certificate, PEM */
	struct blob key;
	char *cert_file; /* where both were read; NULL: one of them is in the kubeconfig itself */
	char *key_file;
	char *token;      /* or NULL */
	char *token_file; /* or NULL; read again as it is rotated; wins over token */
	bool insecure;    /* don't verify: only with the user's explicit flag */
	bool in_cluster;  /* from the service account */
	char *source;     /* where it comes from, for messages */
};

struct access_options {
	const char *kubeconfig; /* --kubeconfig, or NULL */
	const char *context;    /* --context, or NULL */
	bool allow_insecure;    /* --insecure-skip-tls-verify */
	/* NULL: the process's own and the usual place; for tests. */
	const char *(*getenv)(const char *name);
	const char *service_account; /* folder */
};

/* Find and read it: --kubeconfig, then $KUBECONFIG, then the service account.
 *
 *   -EINVAL  nothing usable: `error` names file and key
 *
 * Then nothing is to be freed. */
int access_load(struct access *out, const struct access_options *options, char *error,
                size_t error_bytes);
void access_free(struct access *a);

/* The token as it is now, read from token_file if there is one, without white
 * space at its end.  NULL and *why when that fails; "" never. */
char *access_token(const struct access *a, const char **why);

/* The CA as its file has it now; out->at is to be freed.
 *
 *   -ENOENT  it came from no file, or the file is gone
 *   -EINVAL  what is there is not PEM
 *   another  errno of reading
 *
 * On any error *out is as it was. */
int access_ca(const struct access *a, struct blob *out);

/* The client's certificate and its key as the files of `a`, which has them, are now; both are to be
 * freed.
 *
 *   -EINVAL  what is there is not PEM, or the key is another certificate's
 *   another  errno of reading
 *
 * On any error *why says it, and both are as they were. */
int access_pair(const struct access *a, struct blob *cert, struct blob *key, const char **why);

#endif
