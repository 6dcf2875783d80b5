/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate authority and a server certificate, made in memory. */
#ifndef MUSTER_APISIM_TLS_H
#define MUSTER_APISIM_TLS_H

struct as_tls {
	char *ca_pem;
	char *certificate_pem;
	char *key_pem;
};

/* Valid for a day from an hour ago, for 127.0.0.1, ::1, localhost and
 * kubernetes.default.svc.  Dies with a message when it can't. */
void as_tls_make(struct as_tls *out);
void as_tls_free(struct as_tls *tls);

#endif
