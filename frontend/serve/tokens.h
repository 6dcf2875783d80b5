/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts on bearer tokens, for some seconds: a TokenReview for each request would double its
 * time.  As in the API server's authenticating webhooks, good and bad ones are kept, bounded in
 * number, and by digest. */
#ifndef MUSTER_FRONTEND_TOKENS_H
#define MUSTER_FRONTEND_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#define TOKENS_MAX 64u
#define TOKEN_KEPT_NS UINT64_C(10000000000) /* a revoked token is good for so long */

enum token_verdict {
	TOKEN_UNKNOWN,
	TOKEN_STALE, /* it was good and has to be reviewed again */
	TOKEN_GOOD,
	TOKEN_BAD,       /* the API server does not know it */
	TOKEN_FORBIDDEN, /* of a user who is not the extender's */
};

struct tokens {
	struct token_entry {
		unsigned char digest[32];
		uint64_t until_ns, used_ns;
		enum token_verdict verdict; /* TOKEN_UNKNOWN: free */
	} at[TOKENS_MAX];
};

enum token_verdict tokens_find(struct tokens *t, const char *token, uint64_t now_ns);

/* Replaces the least recently used one that was not good, else of all. */
void tokens_put(struct tokens *t, const char *token, enum token_verdict verdict, uint64_t now_ns);

#endif
