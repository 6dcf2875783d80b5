/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of the port: its certificate, and those of clients.  Files are read again when they change,
 * since they are renewed while we run; a pair that cannot be used leaves the previous one.
 *
 * All in the listener's thread once it runs. */
#ifndef MUSTER_FRONTEND_TLS_H
#define MUSTER_FRONTEND_TLS_H

#include "frontend/base/env.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <microhttpd.h>
#include <stddef.h>

struct tls_files {
	const char *cert, *key; /* PEM */
	const char *client_ca;  /* PEM; NULL: clients are not asked for a certificate */
};

struct tls;

/*   -EINVAL  `error` names the file */
int tls_new(const struct tls_files *files, const struct env *env, struct tls **out, char *error,
            size_t error_bytes);
/* After the listener has stopped. */
void tls_free(struct tls *t);

/* The client CA as PEM, for MHD_OPTION_HTTPS_MEM_TRUST; NULL: none. */
const char *tls_client_ca(const struct tls *t);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK, which has no context: the certificate of the last tls_new().
 */
int tls_certificate(gnutls_session_t session, const gnutls_datum_t *ca_names, int ca_names_n,
                    const gnutls_pk_algorithm_t *algorithms, int algorithms_n,
                    gnutls_pcert_st **certs, unsigned *certs_n, gnutls_privkey_t *key);

/* The common name of the client's certificate, if the client CA has issued it for clients and it is
 * valid now.  NULL, or why there is none. */
const char *tls_client_fault(struct tls *t, struct MHD_Connection *connection, char *name,
                             size_t name_bytes);

#endif
