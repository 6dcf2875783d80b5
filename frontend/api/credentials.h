/* SPDX-License-Identifier: Apache-2.0 */
/* What we show the API server and what we trust, read again from its files as they are rotated: the
 * token, the CA, and the client's certificate with its key.  What can't be read, or is no pair, is
 * as it was: it may be good still. */
#ifndef MUSTER_FRONTEND_CREDENTIALS_H
#define MUSTER_FRONTEND_CREDENTIALS_H

#include "frontend/api/kubeconfig.h"
#include "frontend/base/env.h"
#include "frontend/base/log.h"

#include <stdint.h>

struct credentials {
	const struct access *access; /* outlives this */
	const struct env *env;
	char *authorization;       /* "Authorization: Bearer ...", or NULL */
	uint64_t token_generation; /* counts other tokens */
	uint64_t tls_generation;   /* counts other CAs and pairs */
	uint64_t
		pair_generation; /* ... pairs alone: whoever was let in with the last one comes again */
	/* The rest is credentials.c's. */
	char *token;
	uint64_t read_ns;      /* when the token and the pair were */
	struct blob ca;        /* as its file had it last; at NULL: access->ca holds */
	struct blob cert, key; /* likewise, both or none */
	struct log_limit token_limit, pair_limit;
};

/* The token is read. */
void credentials_init(struct credentials *c, const struct access *access, const struct env *env);
void credentials_free(struct credentials *c);

/* Token and pair, when they were not read for a minute. */
void credentials_refresh(struct credentials *c);

/* The same at once: an answer was 401. */
void credentials_renew(struct credentials *c);

/* A connection was not taken, by us or by the server: CA and pair. */
void credentials_distrusted(struct credentials *c);

/* As they are now; of a certificate that was not given `at` is NULL.  Good until the next call of
 * any above. */
const struct blob *credentials_ca(const struct credentials *c);
const struct blob *credentials_cert(const struct credentials *c);
const struct blob *credentials_key(const struct credentials *c);

#endif
