/* SPDX-License-Identifier: Apache-2.0 */
/* The API server's address and credentials, from a kubeconfig or the pod's service account. */
#ifndef MUSTER_FRONTEND_KUBECONFIG_H
#define MUSTER_FRONTEND_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* Content of a file or of a -data field; NUL-terminated. */
struct blob {
	char *at; /* owned; NULL: not given */
	size_t bytes;
};

struct access {
	char *server;          /* "https://host:port", without a trailing slash */
	char *tls_server_name; /* the name in its certificate, or NULL */
	char *proxy;           /* or NULL */
	struct blob ca;        /* PEM; not given: the system's */
	char *ca_file;         /* its file, or NULL */
	struct blob cert;      /* client certificate, PEM */
	struct blob key;
	char *cert_file; /* the files of both; NULL: one of them is inline */
	char *key_file;
	char *token;      /* or NULL */
	char *token_file; /* or NULL; reread on rotation; has precedence over token */
	bool insecure;    /* do not verify: only with the explicit flag */
	bool in_cluster;  /* from the service account */
	char *source;     /* its origin, for messages */
};

/* users[].user.exec of a kubeconfig. */
#define EXEC_ARGUMENTS_MAX 64
#define EXEC_VARIABLES_MAX 64
struct exec_plugin {
	const char *argv[EXEC_ARGUMENTS_MAX + 2]; /* the command first, NULL last */
	const char *names[EXEC_VARIABLES_MAX + 1], *values[EXEC_VARIABLES_MAX + 1]; /* NULL last */
	const char *api_version;
	const char *hint;  /* installHint, or NULL */
	bool cluster_info; /* provideClusterInfo */
};

struct access_options {
	const char *kubeconfig; /* --kubeconfig, or NULL */
	const char *context;    /* --context, or NULL */
	/* Runs the plugin, and fills in token, or cert and key, of `a`, which has its cluster. -EINVAL
	 * and `error`. NULL: kubeconfigs with a plugin are refused, as the daemons do. */
	int (*exec)(const struct exec_plugin *plugin, struct access *a, char *error,
	            size_t error_bytes);
	bool allow_insecure; /* --insecure-skip-tls-verify */
	/* NULL: the process's own and the default path; for tests. */
	const char *(*getenv)(const char *name);
	const char *service_account; /* folder */
};

/* Finds and reads it: --kubeconfig, then $KUBECONFIG, then the service account, then
 * ~/.kube/config.
 *
 *   -EINVAL  nothing usable: `error` names file and key
 *
 * On error there is nothing to free. */
int access_load(struct access *out, const struct access_options *options, char *error,
                size_t error_bytes);
void access_free(struct access *a);

/* True if there is a place to read it from, good or bad. */
bool access_is_there(const struct access_options *options);

/* The current token, from token_file if there is one, without trailing white space. NULL and *why
 * on failure; never "". */
char *access_token(const struct access *a, const char **why);

/* The current CA of its file; the caller frees out->at.
 *
 *   -ENOENT  it came from no file, or the file is gone
 *   -EINVAL  not PEM
 *   another  errno of reading
 *
 * On error *out is unchanged. */
int access_ca(const struct access *a, struct blob *out);

/* The current client certificate and key from the files of `a`, which must be set; the caller frees
 * both.
 *
 *   -EINVAL  not PEM, or the key belongs to another certificate
 *   another  errno of reading
 *
 * On error *why has the reason and both are unchanged. */
int access_pair(const struct access *a, struct blob *cert, struct blob *key, const char **why);

#endif
