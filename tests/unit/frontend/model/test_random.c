/* SPDX-License-Identifier: Apache-2.0 */
/* Objects are put and removed at random, the ring is small, cores restart; whenever all is sent,
 * the records equal the objects. */
#include "tests/unit/support_limits.h"
#include "tests/unit/support_truth.h"

/* A number must mean the same text while the core has a record with it; texts are read when a
 * record is new. */
struct meaning {
	unsigned serial;
	char text[64];
};

static void numbers_mean_the_same(struct truth *t, struct meaning *known)
{
	for (uint32_t i = 0; i < t->replay.limits.nodes; i++) {
		const struct event_node *e = (const void *)t->replay.nodes[i].body;
		char text[64] = "";
		size_t n = 0;

		for (uint32_t l = 1; e && l < e->labels_n && n + 20 < sizeof(text); l++) {
			const char *key = intern_text(&t->m->keys, replay_labels(e)[l].key);
			const char *value = intern_text(&t->m->values, replay_labels(e)[l].value);

			cr_assert(key && value, "a number that is out there is free");
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.5s=%.5s,", key, value);
		}
		if (e && known[i].serial == t->replay.nodes[i].serial)
			cr_assert_str_eq(known[i].text, text, "a number was used again too early");
		known[i].serial = t->replay.nodes[i].serial;
		memcpy(known[i].text, text, sizeof(text));
	}
}

static void run(struct truth *t, const struct limits *limits, uint64_t memory_bytes, int rounds)
{
	static const char *const names[] = { "muster" };
	struct model_config config = { .scheduler_names = names,
		                           .scheduler_names_n = 1,
		                           .limits = *limits,
		                           .memory_bytes = memory_bytes };
	struct meaning known[NODES * 2] = { 0 };
	int complete = 0;

	config.hash_key[0] = random_next(&t->r);
	t->m = model_new(&config);
	cr_assert(t->m);
	t->resource_services = model_resource_index(t->m, "v1", "Service");
	t->resource_namespaces = model_resource_index(t->m, "v1", "Namespace");
	t->resource_policies = model_resource_index(t->m, "kosmos.io/v1alpha1", "WorkloadPolicy");
	replay_start(&t->replay, limits);
	replay_add_core(&t->replay);
	for (int i = 0; i < PODS; i++)
		t->pods[i].node = t->pods[i].binding = -1;
	for (int round = 0; round < rounds; round++) {
		char why[200] = "";

		for (uint32_t n = random_below(&t->r, 6); n > 0; n--)
			truth_step(t);
		cr_assert(model_valid(t->m, why, sizeof(why)), "round %d: %s", round, why);
		if (replay_flush(&t->replay, t->m,
		                 random_below(&t->r, 3) ? random_below(&t->r, 8) : 1000)) {
			complete++;
			if (!t->is_tight)
				truth_check(t);
			memset(known, 0, sizeof(known));
		} else {
			numbers_mean_the_same(t, known);
		}
	}
	cr_assert(complete > rounds / 20 && complete < rounds, "%d of %d flushes were complete",
	          complete, rounds);
	model_free(t->m);
	replay_free(&t->replay);
}

static const struct limits LIMITS =
	LIMITS_WITH(.nodes = NODES, .pods = PODS, .gangs = GROUPS * 2, .shapes = 64, .names = 64,
                .resources = 32, .name_bytes = 65536, .command_ring_bytes = 8192);

Test(model_random, records_equal_the_objects)
{
	static struct truth t;

	t = (struct truth){ .r = random_start("model") };
	run(&t, &LIMITS, 0, 8000);
	t = (struct truth){ .r = random_start("model with memory that suffices") };
	run(&t, &LIMITS, UINT64_C(1) << 30, 2000);
}

Test(model_random, limits_break_no_rule)
{
	static struct truth t;
	const struct limits limits =
		LIMITS_WITH(.nodes = 4, .pods = 8, .gangs = 2, .shapes = 5, .names = 10, .resources = 7,
	                .name_bytes = 320, .command_ring_bytes = 8192);

	t = (struct truth){ .r = random_start("model limits"), .is_tight = true };
	run(&t, &limits, 0, 8000);
	cr_assert_eq(t.is_tight, true);
}

Test(model_random, little_memory_breaks_no_rule)
{
	static struct truth t;

	for (uint64_t kib = 24; kib <= 96; kib += 24) {
		t = (struct truth){ .r = random_start("model memory"), .is_tight = true };
		run(&t, &LIMITS, kib << 10, 3000);
	}
	cr_assert_eq(t.is_tight, true);
}
