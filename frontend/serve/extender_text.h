/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of kube-scheduler's HTTPExtender. Its Go structs have no JSON tags: names are
 * PascalCase, and missing values are null. */
#ifndef MUSTER_FRONTEND_EXTENDER_TEXT_H
#define MUSTER_FRONTEND_EXTENDER_TEXT_H

#include "frontend/base/arena.h"
#include "frontend/base/bytes.h"
#include "ipc/abi.h"

#include <stdbool.h>
#include <stddef.h>

/* Of a request; 5,000 whole nodes are about 50 MB. */
#define EXTENDER_BYTES_MAX ((size_t)64 << 20)
#define EXTENDER_NODES_MAX ((size_t)1 << 17)
#define EXTENDER_NOWHERE SIZE_MAX

enum extender_verb { EXTENDER_FILTER, EXTENDER_PRIORITIZE };

/* Texts point into the request's body or the arena. */
struct extender_question {
	enum extender_verb verb;
	const char *namespace, *name, *uid; /* of the pod */
	size_t nodes_n;
	struct text *names;   /* of the nodes */
	struct text *objects; /* their JSON; NULL: names alone were sent (nodeCacheCapable) */
	node_id *ids;         /* ID_NONE: no node has that name.  Not by extender_read() but by */
	uint64_t ids_version; /* node_names_find(); 0: not yet */
	bool names_only;
};

struct extender_answer {
	size_t chosen;     /* index among the question's nodes, or EXTENDER_NOWHERE */
	const char *error; /* NULL: none; static or owned by the caller */
};

/* -EINVAL with the reason in `error`. */
int extender_read(enum extender_verb verb, const char *body, size_t bytes, struct arena *arena,
                  struct extender_question *out, char *error, size_t error_bytes);

/* filter: the chosen node alone, or every node as failed. prioritize: 10 for the chosen one, 0 for
 * the others. */
void extender_write(const struct extender_question *q, const struct extender_answer *a,
                    struct bytes *out);

#endif
