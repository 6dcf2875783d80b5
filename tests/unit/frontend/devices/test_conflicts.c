/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that two claims have: who waits, and who is judged again when one is given back. */
#include "tests/unit/support_live.h"

#define DEVICES 6u
#define CLAIMS 6u
#define PODS 8u
#define MANY 4000u

static unsigned version;

/* Node n1 has g0, g1, ... */
static void start(void)
{
	char text[2048];
	int at = snprintf(text, sizeof(text),
	                  "{\"metadata\":{\"name\":\"s\",\"uid\":\"s\",\"resourceVersion\":\"1\"},"
	                  "\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\","
	                  "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[");

	for (unsigned i = 0; i < DEVICES; i++)
		at +=
			snprintf(text + at, sizeof(text) - (size_t)at, "%s{\"name\":\"g%u\"}", i ? "," : "", i);
	snprintf(text + at, sizeof(text) - (size_t)at, "]}}");
	begin();
	version = 0;
	put(LIVE_SLICES, text);
}

TestSuite(conflicts, .init = start, .fini = end);

static void claim(const char *name)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"%u\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}}",
	         name, name, ++version);
	put(LIVE_CLAIMS, text);
}

/* Allocated, and reserved for others. */
static void claim_has(const char *name, const char *device)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"%u\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\"}}]}},\"status\":{\"allocation\":{"
	         "\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"n1\","
	         "\"device\":\"%s\"}]},\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{"
	         "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]}]}},"
	         "\"reservedFor\":[{\"uid\":\"runs\"}]}}",
	         name, name, ++version, device);
	put(LIVE_CLAIMS, text);
}

static void pod(uint32_t slot, const char *first, const char *second)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"p%u\",\"uid\":\"p%u\"},\"spec\":{"
	         "\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"%s\"},"
	         "{\"name\":\"y\",\"resourceClaimName\":\"%s\"}]}}",
	         slot, slot, first, second);
	cr_assert(live_pod_set(l, slot, text, strlen(text)));
	live_pod_judge_again(l, slot);
}

/* How many pods were due. */
static uint32_t judge_due(void)
{
	struct live_verdict v;
	uint32_t slot, n = 0;

	for (; live_next_pod(l, &slot); n++)
		live_judge(l, slot, false, &v);
	return n;
}

/* They were all judged again, whichever device was given back. */
Test(conflicts, a_device_that_is_given_back_wakes_those_that_wait_for_it_alone)
{
	char name[16], other[16];

	for (uint32_t i = 0; i < DEVICES; i++) {
		const char device[] = { 'g', (char)('0' + i), '\0' };

		snprintf(name, sizeof(name), "c%u", i);
		snprintf(other, sizeof(other), "o%u", i);
		claim_has(name, device);
		claim_has(other, device);
		pod(2 * i, name, name);
		pod(2 * i + 1, name, name);
	}
	cr_assert_eq(judge_due(), 2 * DEVICES);
	for (uint32_t i = 0; i < 2 * DEVICES; i++)
		cr_assert(l->pods[i].conflict);
	for (uint32_t i = 0; i < DEVICES; i++) {
		snprintf(other, sizeof(other), "o%u", i);
		live_remove(l, LIVE_CLAIMS, text_of("a"), text_of(other));
		cr_expect_eq(judge_due(), 2);
		cr_expect_not(l->pods[2 * i].conflict);
		cr_expect_not(l->pods[2 * i + 1].conflict);
	}
}

/* Each of them looked at all the others, 16,000,000 steps, and again when a device was given back.
 */
Test(conflicts, thousands_of_pods_name_one_claim)
{
	claim_has("x", "g0");
	claim_has("foreign", "g0");
	for (uint32_t i = 0; i < MANY; i++)
		pod(i, "x", "x");
	cr_assert_eq(judge_due(), MANY);
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("foreign"));
	cr_expect_eq(judge_due(), MANY);
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_not(l->pods[i].conflict);
}

static void ignore(void *context, const char *name, const char *allocation)
{
}

static void write_begin(uint32_t slot, uint32_t device)
{
	const struct device_pick pick = { .device = device };
	const uint64_t share[2] = { 0 };
	struct cmd_devices cmd;

	if (slot >= l->pods_n || !l->pods[slot].name)
		return;
	live_node_bytes(l, 0);
	cmd = (struct cmd_devices){ .layout = l->nodes[0]->layout,
		                        .question = l->pods[slot].question,
		                        .picks_n = 1 };
	live_writing(l, slot, "n1", &cmd, &pick, 0, share, ignore, NULL);
}

static bool is_named(const struct live_pod *p, uint32_t claim)
{
	for (uint32_t i = 0; i < p->refs_n; i++)
		if (p->refs[i].claim == claim)
			return true;
	return false;
}

/* By all pods, one after the other. */
static bool has_conflict(uint32_t slot, const struct live_claim *c)
{
	for (size_t k = 0; c && k < c->devices_n; k++) {
		uint32_t ours = 1;

		for (uint32_t i = 0; i < l->pods_n; i++)
			for (uint32_t w = 0; w < l->pods[i].writing_n; w++)
				ours += (i == slot || is_named(&l->pods[i], c->number)) &&
				        l->pods[i].writing[w] == c->devices[k];
		if (l->taken[c->devices[k]] > ours)
			return true;
	}
	return false;
}

static unsigned below(unsigned n)
{
	return (unsigned)rand() % n;
}

static void change(void)
{
	char name[] = { 'c', (char)('0' + below(CLAIMS)), '\0' };
	const char second[] = { 'c', (char)('0' + below(CLAIMS)), '\0' };
	const char device[] = { 'g', (char)('0' + below(DEVICES)), '\0' };
	const uint32_t slot = below(PODS);
	const char uid[] = { 'p', (char)('0' + slot), '\0' };

	switch (below(8)) {
	case 0:
	case 1:
		claim_has(name, device);
		break;
	case 2:
		claim(name);
		break;
	case 3:
		live_remove(l, LIVE_CLAIMS, text_of("a"), text_of(name));
		break;
	case 4:
		pod(slot, name, second);
		break;
	case 5:
		live_pod_drop(l, slot);
		break;
	case 6:
		write_begin(slot, below(DEVICES));
		break;
	default:
		live_written(l, slot, uid);
	}
}

/* The counts are those of a walk over all pods, and no pod waits for what is over. */
Test(conflicts, counts_follow_claims_pods_and_writings)
{
	uint32_t seen = 0, wrote = 0, waited = 0;

	srand(11);
	for (unsigned turn = 0; turn < 20000; turn++) {
		change();
		judge_due();
		for (uint32_t slot = 0; slot < l->pods_n; slot++) {
			const struct live_pod *p = &l->pods[slot];
			bool any = false;

			for (uint32_t i = 0; i < p->refs_n; i++) {
				const bool conflict = has_conflict(slot, live_claim_at(l, p->refs[i].claim));

				cr_assert_eq(live_conflict(l, slot, i) != NULL, conflict, "turn %u", turn);
				any = any || conflict;
			}
			cr_assert(any || !p->conflict, "turn %u: pod %u waits for nothing", turn, slot);
			seen += any;
			waited += p->conflict;
			wrote += p->writing_n > 0;
		}
	}
	cr_expect_gt(seen, 1000);
	cr_expect_gt(waited, 1000);
	cr_expect_gt(wrote, 1000);
}
