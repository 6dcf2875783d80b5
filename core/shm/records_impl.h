/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of records share. */
#ifndef MUSTER_CORE_RECORDS_IMPL_H
#define MUSTER_CORE_RECORDS_IMPL_H

#include "ipc/abi.h"

/* The unread rest of a record's body. */
struct body {
	const unsigned char *at;
	uint64_t left;
};

static inline struct body body_of(const struct record *r)
{
	return (struct body){ .at = (const unsigned char *)(r + 1), .left = r->bytes - sizeof(*r) };
}

/* The next n items of `bytes` each, padded to 8; NULL: the record is shorter.  64 bits hold the
 * product of any 32-bit count and any of our sizes. */
static inline const void *take(struct body *b, uint64_t n, uint64_t bytes)
{
	const void *at = b->at;
	uint64_t whole = PADDED(n * bytes);

	if (whole > b->left)
		return NULL;
	b->at += whole;
	b->left -= whole;
	return at;
}

#endif
