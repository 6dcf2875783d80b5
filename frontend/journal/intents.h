/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a journal as text: one line for each intent, in the data of a ConfigMap.
 *
 *   data:
 *     format: "1"
 *     epoch: "7"                       of the writer, one more than the one before
 *     writer: muster-0_4f6c...         its identity
 *     fence: ""                        enum intents_fence: "", "begun" or "all"
 *     intents: |
 *       bind POD-UID NODE NODE-UID POD-VERSION
 *       retain POD-UID NODE NODE-UID POD-VERSION
 *       assume POD-UID NODE NODE-UID -
 *       evict POD-UID NODE NODE-UID -
 *       nominate POD-UID NODE NODE-UID -
 *
 * A field that is not known is "-". */
#ifndef MUSTER_FRONTEND_INTENTS_H
#define MUSTER_FRONTEND_INTENTS_H

#include "frontend/base/arena.h"
#include "frontend/json/jsonout.h"

#include <stddef.h>
#include <stdint.h>

enum intent_kind {
	INTENT_BIND,     /* a Binding may be sent */
	INTENT_RETAIN,   /* a refused member of a gang retains the capacity */
	INTENT_ASSUME,   /* another scheduler was given the node */
	INTENT_EVICT,    /* the pod, which runs on the node, may be evicted */
	INTENT_NOMINATE, /* pods are evicted for this one, which is to start on the node */
	INTENT_KINDS
};

struct intent_line {
	enum intent_kind kind;
	const char *uid;      /* of the pod */
	const char *node;     /* its name */
	const char *node_uid; /* "-": unknown */
	const char *version;  /* of the pod, the only one that its Binding may name; "-": none */
};

/* Bindings in flight that the lines do not name. */
enum intents_fence {
	INTENTS_FENCE_NONE,
	INTENTS_FENCE_BEGUN, /* there was no journal before: docs/decisions/039 */
	INTENTS_FENCE_ALL,   /* it could not be read: any waiting pod may have one */
};

struct intents {
	uint64_t epoch;
	const char *writer;
	enum intents_fence fence;
	struct intent_line *lines;
	size_t n;
};

/* Bytes of a line in the body of a write, with its escapes. */
size_t intent_bytes(const struct intent_line *line);

/* Writes the members of data but `intents`, and opens that; then its lines, then its end. */
void intents_begin(struct jsonout *out, const struct intents *head);
void intents_add(struct jsonout *out, const struct intent_line *line);
void intents_end(struct jsonout *out);

/* Reads the object data, JSON; texts are of the arena, which outlives *out.  Empty data is an empty
 * journal with INTENTS_FENCE_BEGUN.
 *
 *   -EINVAL  it can't be read: `why` names field and value.  What could be read is in *out, whose
 *            fence is INTENTS_FENCE_ALL */
int intents_read(const char *json, size_t bytes, struct arena *arena, struct intents *out,
                 char *why, size_t why_bytes);

#endif
