/* SPDX-License-Identifier: Apache-2.0 */
/* What a new epoch leaves of the gangs. */
#include "core/cluster/pods.h"
#include "core/queue/gangs.h"
#include "tests/unit/test.h"

#include <sys/mman.h>
#include <unistd.h>

#define PODS 100000u

/* Bytes of [at, at + bytes) that are in memory. */
static size_t resident(const void *at, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uintptr_t from = (uintptr_t)at / page * page, pages = bytes / page;
	unsigned char *in = malloc(pages);
	size_t n = 0;

	cr_assert_eq(mincore((void *)from, pages * page, in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	free(in);
	return n * page;
}

Test(gangs, a_new_epoch_takes_no_memory_for_pods_without_gangs)
{
	const struct limits limits = { .gangs = 16, .pods = PODS };
	struct pods pods;
	struct gangs gangs;
	size_t before;

	pods_init(&pods, &limits);
	gangs_init(&gangs, &limits, &pods);
	before = resident(gangs.slots, gangs.n * sizeof(*gangs.slots));
	pods.used = PODS;
	for (pod_id id = 0; id < PODS; id++)
		pods.slots[id].gang = ID_NONE;
	pods.slots[7].gang = gangs.groups + 7;
	gangs.slots[gangs.groups + 7].generation = 1;
	gangs_clear(&gangs);
	cr_expect_eq(gangs.slots[gangs.groups + 7].generation, 0);
	cr_expect_leq(resident(gangs.slots, gangs.n * sizeof(*gangs.slots)), before + (1u << 20));
	gangs_free(&gangs);
	pods_free(&pods);
}
