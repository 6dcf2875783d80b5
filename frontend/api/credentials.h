/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials: the token, the CA, and the client certificate with its key, reread from their files
 * when they are rotated. A file that cannot be read, or a pair that does not match, leaves the
 * previous value in use. */
#ifndef MUSTER_FRONTEND_CREDENTIALS_H
#define MUSTER_FRONTEND_CREDENTIALS_H

#include "frontend/base/env.h"
#include "frontend/api/kubeconfig.h"
#include "frontend/base/log.h"

#include <stdint.h>

struct credentials {
	const struct access *access; /* outlives this */
	const struct env *env;
	char *authorization;       /* "Authorization: Bearer ...", or NULL */
	uint64_t token_generation; /* incremented with each new token */
	uint64_t tls_generation;   /* incremented with each new CA or pair */
	uint64_t pair_generation;  /* ... or pair: open connections were authenticated with the previous
	                              one */
	/* Private to credentials.c. */
	char *token;
	uint64_t read_ns;      /* when the token and the pair were read */
	struct blob ca;        /* last content of its file; at NULL: access->ca is used */
	struct blob cert, key; /* likewise, both or neither */
	struct log_limit token_limit, pair_limit;
};

/* Reads the token. */
void credentials_init(struct credentials *c, const struct access *access, const struct env *env);
void credentials_free(struct credentials *c);

/* Rereads token and pair if they were read more than a minute ago. */
void credentials_refresh(struct credentials *c);

/* The same immediately, after a 401. */
void credentials_renew(struct credentials *c);

/* A connection was rejected by either side: rereads CA and pair. */
void credentials_distrusted(struct credentials *c);

/* The current ones; `at` is NULL without a certificate. Valid until the next call of any above. */
const struct blob *credentials_ca(const struct credentials *c);
const struct blob *credentials_cert(const struct credentials *c);
const struct blob *credentials_key(const struct credentials *c);

#endif
