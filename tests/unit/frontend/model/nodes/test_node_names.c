/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of nodes by name, against an array that is searched from its start. */
#include "frontend/model/nodes/node_names.h"
#include "tests/unit/test.h"

#include <pthread.h>

#define NAMES 3000u
#define STEPS 60000u
#define ASKED 150u /* more than are fetched at once */

static const uint64_t KEY[2] = { 0x243f6a8885a308d3, 0x13198a2e03707344 };

/* Lengths of 1 to 55 bytes, which differ at the beginning or at the end. */
static struct text name_of(uint32_t i)
{
	static char texts[NAMES][64];

	if (!texts[i][0])
		snprintf(texts[i], sizeof(texts[i]), "%s%u%s", i % 3 == 0 ? "" : "ip-10-11-12-", i,
		         i % 5 == 0 ? ".eu-central-1.compute.internal.example" : "");
	return (struct text){ texts[i], strlen(texts[i]) };
}

static void agree(struct node_names *s, const node_id *model, unsigned *random)
{
	struct text names[ASKED];
	node_id ids[ASKED];
	uint32_t asked[ASKED];
	const size_t n = (size_t)rand_r(random) % (ASKED + 1);

	for (size_t i = 0; i < n; i++) {
		asked[i] = (uint32_t)rand_r(random) % NAMES;
		names[i] = name_of(asked[i]);
	}
	cr_assert_eq(node_names_find(s, names, n, ids), node_names_version(s));
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(ids[i], model[asked[i]], "%s: %u, not %u", names[i].at, ids[i],
		             model[asked[i]]);
}

Test(node_names, like_an_array)
{
	struct node_names *s = node_names_new(KEY);
	node_id model[NAMES];
	unsigned random = 7;
	uint64_t version = 1;

	for (uint32_t i = 0; i < NAMES; i++)
		model[i] = ID_NONE;
	for (uint32_t step = 0; step < STEPS; step++) {
		/* Waves, so that it is nearly full and nearly empty. */
		const uint32_t i = (uint32_t)rand_r(&random) % NAMES;
		const bool put = (rand_r(&random) % 4 > 0) == (step / 10000 % 2 == 0);

		version += put == (model[i] == ID_NONE);
		if (put)
			node_names_put(s, name_of(i), model[i] = i ^ 1);
		else
			node_names_remove(s, name_of(i), i ^ 1);
		if (!put)
			model[i] = ID_NONE;
		cr_assert_eq(node_names_version(s), version);
		if (step % 100 == 0)
			agree(s, model, &random);
	}
	node_names_free(s);
}

/* Names whose nodes stay are found whatever else changes meanwhile. */
static void *asks(void *context)
{
	struct text names[ASKED];
	node_id ids[ASKED];

	for (uint32_t i = 0; i < ASKED; i++)
		names[i] = name_of(i);
	for (int round = 0; round < 300; round++) {
		node_names_find(context, names, ASKED, ids);
		for (uint32_t i = 0; i < ASKED; i++)
			if (ids[i] != i)
				return context;
	}
	return NULL;
}

Test(node_names, found_while_others_come_and_go)
{
	struct node_names *s = node_names_new(KEY);
	unsigned random = 3;
	pthread_t thread;
	void *wrong;

	for (uint32_t i = 0; i < NAMES; i++)
		name_of(i); /* their texts are made by one thread */
	for (uint32_t i = 0; i < ASKED; i++)
		node_names_put(s, name_of(i), i);
	cr_assert_eq(pthread_create(&thread, NULL, asks, s), 0);
	for (int round = 0; round < 20000; round++) {
		const uint32_t i = ASKED + (uint32_t)rand_r(&random) % (NAMES - ASKED);

		if (rand_r(&random) % 2)
			node_names_put(s, name_of(i), i);
		else
			node_names_remove(s, name_of(i), i);
	}
	cr_assert_eq(pthread_join(thread, &wrong), 0);
	cr_assert_null(wrong);
	node_names_free(s);
}
