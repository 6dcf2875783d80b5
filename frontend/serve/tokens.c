/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/tokens.h"

#include "ipc/memory.h"

#include <assert.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

static struct token_entry *entry_find(struct tokens *t, const unsigned char digest[32])
{
	for (unsigned i = 0; i < TOKENS_MAX; i++)
		if (t->at[i].verdict != TOKEN_UNKNOWN && memcmp(t->at[i].digest, digest, 32) == 0)
			return &t->at[i];
	return NULL;
}

static void digest_of(const char *token, unsigned char out[32])
{
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, token, strlen(token), out) < 0)
		fatal_memory();
}

enum token_verdict tokens_find(struct tokens *t, const char *token, uint64_t now_ns)
{
	unsigned char digest[32];
	struct token_entry *e;

	digest_of(token, digest);
	e = entry_find(t, digest);
	if (!e)
		return TOKEN_UNKNOWN;
	e->used_ns = now_ns;
	if (now_ns < e->until_ns)
		return e->verdict;
	return e->verdict == TOKEN_GOOD ? TOKEN_STALE : TOKEN_UNKNOWN;
}

/* Comes before the other one when an entry is replaced. */
static bool is_worse(const struct token_entry *a, const struct token_entry *b)
{
	if ((a->verdict == TOKEN_GOOD) != (b->verdict == TOKEN_GOOD))
		return b->verdict == TOKEN_GOOD;
	return a->used_ns < b->used_ns;
}

void tokens_put(struct tokens *t, const char *token, enum token_verdict verdict, uint64_t now_ns)
{
	unsigned char digest[32];
	struct token_entry *e;

	assert(verdict > TOKEN_STALE);
	digest_of(token, digest);
	e = entry_find(t, digest);
	if (!e) {
		e = &t->at[0];
		for (unsigned i = 1; i < TOKENS_MAX; i++)
			if (is_worse(&t->at[i], e))
				e = &t->at[i];
	}
	memcpy(e->digest, digest, sizeof(digest));
	e->verdict = verdict;
	e->used_ns = now_ns;
	e->until_ns = now_ns + TOKEN_KEPT_NS;
}
