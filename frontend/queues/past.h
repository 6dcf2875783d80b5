/* SPDX-License-Identifier: Apache-2.0 */
/* What queues used in the past, as of a time, and the data of the ConfigMap that keeps it:
 *
 *     format: "1"
 *     unixSeconds: "1790000000"
 *     halfLifeSeconds: "604800"
 *     queues: '{"a":{"cpu":"1500.25","nvidia.com/gpu":"42.5"}}'
 *
 * Amounts are in the ledger's units, thousandths of a CPU and bytes; a queue or resource that is
 * not listed has 0.  Names are not looked up here: what is gone may be listed. */
#ifndef MUSTER_FRONTEND_PAST_H
#define MUSTER_FRONTEND_PAST_H

#include "frontend/base/arena.h"
#include "frontend/json/jsonout.h"
#include "ipc/abi.h"

#include <stddef.h>
#include <stdint.h>

/* More than a cluster has of anything: an exbibyte. */
#define PAST_MOST (INT64_C(1) << 60)

struct past_amount {
	const char *resource;
	int64_t value; /* 0 to PAST_MOST, and with it part is 0 */
	uint32_t part; /* of QUEUE_PAST_ONE */
};

struct past_queue {
	const char *name;
	size_t amounts_n; /* of `amounts`, in the order of queues */
};

struct queues_past {
	uint64_t at_s; /* since 1970 */
	uint32_t half_life_s;
	struct past_queue *queues;
	size_t n, room;
	struct past_amount *amounts;
	size_t amounts_n, amounts_room;
	struct arena texts; /* names */
};

struct queues_past *past_new(uint64_t at_s, uint32_t half_life_s);
void past_free(struct queues_past *p);

/* A queue, whose name is copied; then its amounts, whose resources are the caller's: in `texts`, or
 * they outlive it.  0 is not added, what is above PAST_MOST is cut. */
void past_add_queue(struct queues_past *p, const char *name);
void past_add_amount(struct queues_past *p, const char *resource, int64_t value, uint32_t part);

/* The data, a JSON object.  Queues without amounts are left out, and so are those for which the
 * ConfigMap has no room; returns how many of these. */
size_t past_write(const struct queues_past *p, struct jsonout *out);

/* The data of the ConfigMap; the whole of it or nothing.  NULL: a part can't be what past_write()
 * wrote, or its time is more than PAST_AHEAD_S after now_s; `why` has field and value. */
#define PAST_AHEAD_S 300u /* clocks of two hosts differ */
struct queues_past *past_read(const char *json, size_t bytes, uint64_t now_s, char *why,
                              size_t why_bytes);

#endif
