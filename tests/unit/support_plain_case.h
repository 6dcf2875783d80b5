/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster of one test in plain structs, and a line for each object that it needs. */
#ifndef MUSTER_TESTS_SUPPORT_PLAIN_CASE_H
#define MUSTER_TESTS_SUPPORT_PLAIN_CASE_H

#include "core/lifecycle/state.h"
#include "tests/unit/support_plain.h"
#include "tests/unit/test.h"

static struct plain *p;

static inline void end(void)
{
	if (p)
		plain_free(p);
	p = NULL;
}

/* Equal shapes of one core, lists complete; ends the cluster before. */
static inline void start_reserving(uint64_t after_ns)
{
	end();
	p = plain_uniform(after_ns);
}

/* Without backfill reservations. */
static inline void start(void)
{
	start_reserving(0);
}

/* A host with 4 GB and 10 pods; zone or rack 0: without the label. */
static inline void put_node(uint32_t id, uint32_t zone, uint32_t rack, int64_t cpu_milli)
{
	struct plain_node *n = &p->nodes[id];

	*n = (struct plain_node){ .exists = true, .amounts = { cpu_milli, 4000000000, 0, 10 } };
	n->labels[n->labels_n++] =
		(struct label){ LABEL_KEY_NODE_NAME, PLAIN_VALUE_NODE + id, LABEL_NOT_A_NUMBER };
	if (zone > 0)
		n->labels[n->labels_n++] = (struct label){ PLAIN_KEY_ZONE, zone, LABEL_NOT_A_NUMBER };
	n->labels[n->labels_n++] = (struct label){ PLAIN_KEY_HOST, 20 + id, LABEL_NOT_A_NUMBER };
	if (rack > 0)
		n->labels[n->labels_n++] = (struct label){ PLAIN_KEY_RACK, rack, LABEL_NOT_A_NUMBER };
	plain_tell_node(p, id);
}

static inline void set_flags(uint32_t node, uint32_t flags)
{
	p->nodes[node].flags = flags;
	plain_tell_node(p, node);
}

/* `gang` + 1, 0: alone; `node`: PLAIN_NONE if it is pending; app 0: without the label. */
static inline void put_pod(uint32_t id, uint32_t gang, uint32_t shape, uint32_t node, uint32_t app)
{
	p->pods[id] = (struct plain_pod){ .exists = true,
		                              .generation = p->pods[id].generation + 1,
		                              .shape = shape,
		                              .node = node,
		                              .gang = gang,
		                              .labels_n = app > 0,
		                              .labels = { { PLAIN_KEY_APP, app } } };
	plain_tell_pod(p, id);
}

/* n pending pods from `first` on. */
static inline void put_pods(uint32_t first, uint32_t n, uint32_t gang, uint32_t shape, uint32_t app)
{
	for (uint32_t i = 0; i < n; i++)
		put_pod(first + i, gang, shape, PLAIN_NONE, app);
}

static inline struct plain_clauses value_is(uint32_t key, uint32_t value)
{
	return (struct plain_clauses){
		.n = 1, .at = { { .op = REQUIRE_IN, .key = key, .values = { value }, .values_n = 1 } }
	};
}

static inline struct plain_clauses app_is(uint32_t value)
{
	return value_is(PLAIN_KEY_APP, value);
}

/* Of pods with the label app=`app`. */
static inline struct plain_term *term(uint32_t shape, uint32_t kind, uint32_t topology,
                                      uint32_t app)
{
	struct plain_shape *s = &p->shapes[shape];
	struct plain_term *t = &s->pod_terms[s->pod_terms_n++];

	*t = (struct plain_term){ .kind = kind, .topology = topology, .labels = app_is(app) };
	return t;
}

static inline struct plain_spread *spread(uint32_t shape, uint32_t topology, uint32_t max_skew,
                                          uint32_t app)
{
	struct plain_shape *s = &p->shapes[shape];
	struct plain_spread *t = &s->spreads[s->spreads_n++];

	*t = (struct plain_spread){ topology, SPREAD_HARD, max_skew, 1, app_is(app) };
	return t;
}

/* Of n pods from `first` on, how many have a node. */
static inline uint32_t have(uint32_t first, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < first + n; i++)
		count += p->binds[i] != PLAIN_NONE;
	return count;
}

/* Plans, and nothing is left to do. */
static inline void plan(void)
{
	plain_plan(p);
	cr_assert_not(core_wants_plan(p->core));
}

#endif
