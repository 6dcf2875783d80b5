/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants write in claims: nothing that the core refuses, no more than their share, and
 * nothing that takes the time of all. */
#include "tests/unit/support_live.h"

#include <malloc.h>

#define SEVEN_EIGHTHS (QUESTIONS_MAX - QUESTIONS_MAX / 8)

TestSuite(live, .init = begin, .fini = end);

/* Of `count` devices; 0: without requests. */
static void claim(const char *space, const char *name, unsigned count, const char *more)
{
	char text[1024], requests[256] = "";

	if (count > 0)
		snprintf(requests, sizeof(requests),
		         "\"requests\":[{\"name\":\"r%u\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]",
		         count);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{%s%s}}}",
	         space, name, name, requests, more);
	put(LIVE_CLAIMS, text);
}

/* With one claim or two. */
static void pod(uint32_t slot, const char *space, const char *first, const char *second)
{
	char text[1024], more[256] = "";

	if (second)
		snprintf(more, sizeof(more), ",{\"name\":\"y\",\"resourceClaimName\":\"%s\"}", second);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"p%u\",\"uid\":\"p%u\"},\"spec\":{"
	         "\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"%s\"}%s]}}",
	         space, slot, slot, first, more);
	cr_assert(live_pod_set(l, slot, text, strlen(text)));
}

/* The core takes claims that are numbered without gaps, and ends on any other record. */
Test(live, a_claim_without_requests_beside_another_ends_no_core)
{
	claim("a", "empty", 0, "");
	claim("a", "one", 1, "");
	claim("a", "held", 0, "\"constraints\":[{\"matchAttribute\":\"d/x\"}]");
	pod(0, "a", "empty", "one");
	pod(1, "a", "one", "held");
	for (uint32_t i = 0; i < 2; i++) {
		const struct live_verdict v = judged(i);

		cr_assert_not_null(v.refusal);
		cr_assert_str_eq(v.refusal, "muster does not support resource claims without requests yet");
		cr_assert_eq(v.devices, 0);
	}
	cr_assert_eq(live_question_next(l), UINT32_MAX);
}

/* Else each write of a label would have all selectors evaluated on all devices. */
Test(live, a_pod_that_is_put_again_asks_the_same_question)
{
	struct {
		struct event_question e;
		struct question_option option;
		char names[16]; /* "r1 gpu - " */
	} record;
	uint32_t devices;

	claim("a", "one", 1, "");
	pod(0, "a", "one", NULL);
	devices = judged(0).devices;
	cr_assert_gt(devices, 0);
	cr_assert_eq(live_question_next(l), devices - 1);
	cr_assert_eq(live_question_bytes(l, devices - 1), sizeof(record));
	live_question_write(l, devices - 1, &record);
	pod(0, "a", "one", NULL);
	cr_assert_eq(judged(0).devices, devices);
	cr_assert_eq(live_question_next(l), UINT32_MAX);
}

/* What the core is told of alternatives and of adminAccess. */
Test(live, alternatives_are_options_of_one_request)
{
	struct {
		struct event_question e;
		struct question_option options[3];
		char names[32];
	} record;
	uint32_t devices;

	claim("a", "two", 0,
	      "\"requests\":[{\"name\":\"r\",\"firstAvailable\":["
	      "{\"name\":\"x\",\"deviceClassName\":\"gpu\",\"count\":40},"
	      "{\"name\":\"y\",\"deviceClassName\":\"gpu\",\"count\":2}]},"
	      "{\"name\":\"s\",\"exactly\":{\"deviceClassName\":\"gpu\",\"adminAccess\":true}}]");
	pod(0, "a", "two", NULL);
	devices = judged(0).devices;
	cr_assert_gt(devices, 0);
	cr_assert_eq(live_question_bytes(l, devices - 1), sizeof(record));
	live_question_write(l, devices - 1, &record);
	cr_assert_eq(record.options[0].count, DEVICE_RESULTS_MAX + 1, "more than a claim can have");
	cr_assert_eq(record.options[1].count, 2);
	cr_assert_eq(record.options[1].request, 0);
	cr_assert_eq(record.options[1].flags, QUESTION_PREFERS);
	cr_assert_eq(record.options[2].request, 1);
	cr_assert_eq(record.options[2].flags, QUESTION_ADMIN);
}

/* Each found its pod among all that share the claim: a list of 57,000 pods of one tenant, with 64
 * such claims each, took minutes. */
Test(live, pods_that_share_claims_know_their_places)
{
	uint32_t noted;

	claim("a", "one", 1, "");
	claim("a", "two", 2, "");
	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 1000; i++)
			pod((i * 7) % 1000, "a", i % 3 ? "one" : "two", i % 3 ? "two" : "one");
	for (uint32_t i = 1; i < 900; i++)
		live_pod_drop(l, i % 2 ? i : 900 - i);
	for (uint32_t i = 0; i < 1000; i++)
		for (uint32_t k = 0; k < l->pods[i].refs_n; k++) {
			const struct live_ref *r = &l->pods[i].refs[k];

			cr_assert_lt(r->at, l->users[r->claim].n);
			cr_assert_eq(l->users[r->claim].at[r->at].pod, i);
			cr_assert_eq(l->users[r->claim].at[r->at].ref, k);
		}
	while (live_next_pod(l, &noted))
		continue;
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("two"));
	for (uint32_t n = 0; n < 101; n++)
		cr_assert(live_next_pod(l, &noted));
	cr_assert(!live_next_pod(l, &noted));
	cr_assert_str_eq(judged(0).refusal, "could not find ResourceClaim \"a/two\"");
}

Test(live, a_label_of_a_claim_judges_no_pod_again)
{
	uint32_t noted;

	claim("a", "one", 1, "");
	pod(0, "a", "one", NULL);
	judged(0);
	claim("a", "one", 1, "");
	cr_assert(!live_next_pod(l, &noted));
	claim("a", "one", 2, "");
	cr_assert(live_next_pod(l, &noted));
}

static void ask(uint32_t slot, const char *space)
{
	char name[32];

	snprintf(name, sizeof(name), "c%u", slot);
	claim(space, name, slot + 1, "");
	pod(slot, space, name, NULL);
}

Test(live, one_namespace_does_not_have_all_questions)
{
	uint32_t noted;

	for (uint32_t i = 0; i < SEVEN_EIGHTHS + 2; i++) {
		ask(i, "a");
		cr_assert_eq(judged(i).refusal == NULL, i < SEVEN_EIGHTHS, "pod %u", i);
	}
	ask(SEVEN_EIGHTHS + 2, "b");
	cr_assert_null(judged(SEVEN_EIGHTHS + 2).refusal, "the last eighth is for others");
	while (live_next_pod(l, &noted))
		continue;
	live_pod_drop(l, 0);
	cr_assert(!live_next_pod(l, &noted) || judged(noted).refusal, "the eighth stays free");
	live_pod_drop(l, 1);
	for (bool served = false; !served; served = judged(noted).refusal == NULL)
		cr_assert(live_next_pod(l, &noted), "no pod is judged again when a question is free");
	cr_assert_geq(noted, SEVEN_EIGHTHS);
}

Test(live, specs_of_a_pod_are_bounded)
{
	static char constraint[70000];
	static char text[70000 + 1024];

	memset(constraint, 'x', sizeof(constraint) - 1);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"c\",\"uid\":\"u\","
	         "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"%s\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}}",
	         constraint);
	put(LIVE_CLAIMS, text);
	pod(0, "a", "c", NULL);
	cr_assert_not_null(strstr(judged(0).refusal, "more than 65536"));
}

Test(live, names_of_claims_that_are_gone_are_not_kept)
{
	char name[32];

	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		claim("a", name, 1, "");
		pod(0, "a", name, NULL);
		judged(0);
		live_pod_drop(l, 0);
		live_remove(l, LIVE_CLAIMS, text_of("a"), text_of(name));
	}
	cr_assert_leq(l->claims_n, 512, "%zu", l->claims_n);
}

/* One slice of node n1 with n devices. */
static void slice(const char *version, unsigned n, const char *attributes)
{
	static char text[16384];
	size_t at = (size_t)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"s\",\"uid\":\"s\",\"resourceVersion\":\"%s\"},\"spec\":{"
		"\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{\"name\":\"n1\",\"generation\":1,"
		"\"resourceSliceCount\":1},\"devices\":[",
		version);

	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s{\"name\":\"g%u\"%s}",
		                       i > 0 ? "," : "", i, attributes);
	snprintf(text + at, sizeof(text) - at, "]}}");
	put(LIVE_SLICES, text);
}

static void selected(const char *name, const char *expression)
{
	static char text[4096];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\",\"selectors\":[{\"cel\":{\"expression\":"
	         "\"%s\"}}]}}]}}}",
	         name, name, expression);
	put(LIVE_CLAIMS, text);
}

/* As a flush does; how many matches. */
static unsigned flush(void)
{
	static uint64_t record[1024];
	uint32_t at, question;
	unsigned n = 0;

	while ((question = live_question_next(l)) != UINT32_MAX)
		live_question_write(l, question, record);
	live_flush_begin(l);
	while (!live_flush_ends(l) && (at = live_node_next(l)) != UINT32_MAX) {
		cr_assert_leq(live_node_bytes(l, at), sizeof(record));
		live_node_write(l, at, 0, 1, record);
		while ((question = live_match_next(l, at)) != UINT32_MAX && !live_flush_ends(l)) {
			cr_assert_leq(live_match_bytes(l, at, question), sizeof(record));
			live_match_write(l, at, question, 0, 1, record);
			n++;
		}
		if (question != UINT32_MAX)
			live_node_again(l, at);
	}
	return n;
}

/* A claim of its own with n patterns of 4,000 instructions, 128 KiB each. */
static void patterns(uint32_t i, unsigned n)
{
	static const char pattern[] = "||''.matches('a{999}a{999}a{999}a{999}')";
	char text[2048], name[8];
	size_t at = (size_t)snprintf(text, sizeof(text), "1<%u", i);

	for (; n > 0; n--)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", pattern);
	snprintf(name, sizeof(name), "c%u", i);
	selected(name, text);
	pod(i, "a", name, NULL);
}

/* Of all questions. */
static size_t bytes_of_selectors(void)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		bytes += l->questions[i].bytes;
	return bytes;
}

/* 896 claims of 1,600 bytes were 4.5 GiB. */
Test(live, selectors_are_bounded_by_what_they_take)
{
	for (uint32_t i = 0; i < 64; i++) {
		patterns(i, 40);
		cr_assert_str_eq(judged(i).refusal, "the selectors of its resource claims take more than "
		                                    "4096 KiB when they are compiled");
	}
	cr_assert_eq(bytes_of_selectors(), 0, "none is kept");
}

Test(live, a_selector_that_is_not_known_has_the_name_of_its_request_or_class)
{
	selected("c", "ip('1.2.3.4') == ip('1.2.3.4')");
	pod(0, "a", "c", NULL);
	cr_assert_str_eq(
		judged(0).refusal,
		"selector of request r of its resource claims uses function ip, which muster does not know");
	put(LIVE_CLASSES, "{\"metadata\":{\"name\":\"gpu\"},\"spec\":{\"selectors\":[{\"cel\":"
	                  "{\"expression\":\"isURL('a')\"}}]}}");
	cr_assert_str_eq(judged(0).refusal,
	                 "selector of class gpu uses function isURL, which muster does not know");
}

/* Those that are not refused count by what they take. */
Test(live, large_selectors_have_a_share_too)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < 128; i++) {
		patterns(i, 16);
		taken += judged(i).refusal == NULL;
	}
	cr_assert(taken >= 32 && taken <= 64, "%u of 2 MiB each", taken);
	cr_assert_leq(bytes_of_selectors(), (size_t)128 << 20);
}

#define TEN "[1,2,3,4,5,6,7,8,9,0]"

/* 40,000 devices of some would take the frontend minutes, and its lease. */
Test(live, selectors_that_take_long_are_given_up_and_let_others_run)
{
	char text[256], name[8];

	slice("1", 100, "");
	for (uint32_t i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), TEN ".all(a, " TEN ".all(b, " TEN ".all(c, a + b + c < %u)))",
		         100 + i);
		snprintf(name, sizeof(name), "c%u", i);
		selected(name, text);
		pod(i, "a", name, NULL);
		cr_assert_null(judged(i).refusal);
	}
	cr_assert_eq(flush(), 2, "others wait for all of them");
	cr_assert_eq(flush(), 2);
	cr_assert_eq(flush(), 0);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_str_eq(judged(i).refusal,
		                 "the selectors of its resource claims take more than 1000 steps on a "
		                 "device");
}

Test(live, a_selector_is_evaluated_again_when_the_device_that_it_failed_on_has_changed)
{
	uint32_t noted;

	slice("1", 2, "");
	selected("c", "device.attributes['d'].x == 1");
	pod(0, "a", "c", NULL);
	cr_assert_null(judged(0).refusal);
	flush();
	cr_assert(live_next_pod(l, &noted));
	cr_assert_not_null(strstr(judged(0).refusal, "no such key: x"));
	slice("2", 2, ",\"attributes\":{\"x\":{\"int\":1}}");
	flush();
	cr_assert(live_next_pod(l, &noted));
	cr_assert_null(judged(0).refusal, "it is refused for ever");
}

#define SHARED                                                                                     \
	",\"allowMultipleAllocations\":true,\"capacity\":{\"memory\":{\"value\":\"40Gi\","             \
	"\"requestPolicy\":" POLICY "}}"
#define POLICY "{\"default\":\"1Gi\",\"validRange\":{\"min\":\"1Gi\",\"step\":\"1Gi\"}}"

static char written[4096];

static void written_take(void *context, const char *name, const char *allocation)
{
	snprintf(written, sizeof(written), "%s", allocation);
}

/* The first device for pod 0, with a share of that number. */
static bool writes(uint64_t number)
{
	const struct cmd_devices cmd = { .layout = l->nodes[0]->layout,
		                             .question = l->pods[0].question,
		                             .picks_n = 1 };
	const uint64_t share[2] = { number, number };
	const struct device_pick pick = { 0 };

	return live_writing(l, 0, "n1", &cmd, &pick, 0, share, written_take, NULL);
}

static void claim_of(const char *name, const char *memory)
{
	char requests[256];

	snprintf(requests, sizeof(requests),
	         "\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\","
	         "\"capacity\":{\"requests\":{\"memory\":\"%s\"}}}}]",
	         memory);
	claim("a", name, 0, requests);
}

/* Of a share of g0 by another scheduler. */
static void allocated(const char *name, const char *version, const char *consumed)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"%s\"},\"spec\":{\"devices\":{}},\"status\":{\"allocation\":{"
	         "\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"n1\","
	         "\"device\":\"g0\",\"shareID\":\"x\",\"consumedCapacity\":%s}]}}}}",
	         name, name, version, consumed);
	put(LIVE_CLAIMS, text);
}

/* In Gi, of the first device. */
static double consumed(void)
{
	static struct {
		struct event_node_devices e;
		uint64_t taken, shared;
		struct node_capacity capacity;
	} record;
	const uint32_t at = live_node_next(l);

	cr_assert_neq(at, UINT32_MAX);
	cr_assert_eq(live_node_bytes(l, at), sizeof(record));
	live_node_write(l, at, 0, 1, &record);
	cr_assert_eq(record.e.flags, NODE_DEVICES_SHARED);
	cr_assert_eq(record.shared, 1);
	return (double)device_amount_of(record.capacity.consumed_low, record.capacity.consumed_high) /
	       1e9 / (1 << 30);
}

/* Amounts of claims' status are sums of what is there, whatever is written in them. */
Test(live, shares_of_a_device_are_added_up)
{
	slice("1", 1, SHARED);
	cr_expect_eq(consumed(), 0);
	allocated("x", "1", "{\"memory\":\"12Gi\",\"cores\":\"5\"}");
	cr_expect_eq(consumed(), 12);
	allocated("y", "1", "{\"memory\":\"-12Gi\",\"memory2\":\"x\"}");
	allocated("z", "1", "{\"memory\":\"8Gi\"}");
	cr_expect_eq(consumed(), 20);
	allocated("y", "2", "{\"memory\":\"1e40\"}");
	allocated("w", "1", "{\"memory\":\"1e40\"}");
	cr_expect_gt(consumed(), 8e9, "more than there is of anything");
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("w"));
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("y"));
	cr_expect_eq(consumed(), 20);
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("x"));
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("z"));
	cr_expect_eq(consumed(), 0);
}

/* The core plans all that waits when a node's devices are told again. */
Test(live, a_label_of_a_claim_that_has_a_share_makes_no_node_due)
{
	slice("1", 1, SHARED);
	allocated("x", "1", "{\"memory\":\"12Gi\"}");
	cr_expect_eq(consumed(), 12);
	allocated("x", "2", "{\"memory\":\"12Gi\"}");
	cr_expect_eq(live_node_next(l), UINT32_MAX, "nothing has changed");
	allocated("x", "1", "{\"memory\":\"4Gi\"}");
	cr_expect_eq(live_node_next(l), UINT32_MAX, "that is an old version");
	allocated("x", "3", "{\"memory\":\"16Gi\"}");
	cr_expect_eq(consumed(), 16);
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("x"));
	cr_expect_eq(consumed(), 0);
}

/* What a pod writes is not in the record while the core holds it, and then once. */
Test(live, a_share_counts_once_while_it_is_written)
{
	struct live_verdict v;

	slice("1", 1, SHARED);
	claim_of("x", "11.5Gi");
	pod(0, "a", "x", NULL);
	judged(0);
	flush();
	cr_assert(writes(7));
	cr_expect_not_null(strstr(written, "\"shareID\":\"00000000-0000-4007-8000-000000000007\","
	                                   "\"consumedCapacity\":{\"memory\":\"12884901888\"}"),
	                   "%s", written);
	cr_expect_eq(consumed(), 0, "the core holds it");
	live_judge(l, 0, true, &v);
	cr_expect_eq(consumed(), 12, "it is in flight");
	judged(0);
	cr_expect_eq(consumed(), 0);
	allocated("x", "2", "{\"memory\":\"12Gi\"}");
	judged(0);
	cr_expect_eq(consumed(), 12);
	live_written(l, 0, l->pods[0].uid);
	allocated("y", "1", "{\"memory\":\"28Gi\"}");
	cr_expect_eq(consumed(), 40);
	cr_expect_null(live_conflict(l, 0, 0));
	allocated("y", "2", "{\"memory\":\"29Gi\"}");
	cr_expect_str_eq(live_conflict(l, 0, 0), "d/n1/g0");
}

/* With one device of node n1, for a consumer or none. */
static void has_device(const char *name, const char *version, const char *device,
                       const char *consumer)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"%s\"},\"spec\":{\"devices\":{}},\"status\":{\"allocation\":{"
	         "\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"n1\","
	         "\"device\":\"%s\"}]},\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{"
	         "\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"n1\"]}]}]}},"
	         "\"reservedFor\":[%s%s%s]}}",
	         name, name, version, device, consumer[0] ? "{\"uid\":\"" : "", consumer,
	         consumer[0] ? "\"}" : "");
	put(LIVE_CLAIMS, text);
}

static bool is_due(uint32_t slot)
{
	bool found = false;
	uint32_t pod;

	while (live_next_pod(l, &pod))
		found = found || pod == slot;
	return found;
}

/* It was planned, and refused before its Binding, every 5 s for ever: another scheduler gave a
 * device of a claim that others run with to a claim of its own. */
Test(live, a_pod_whose_claim_has_a_device_of_another_waits_while_others_have_the_claim)
{
	slice("1", 2, "");
	has_device("x", "1", "g0", "runs");
	has_device("foreign", "1", "g0", "other");
	pod(0, "a", "x", NULL);
	cr_expect_str_eq(judged(0).refusal,
	                 "device d/n1/g0 of resourceclaim \"x\" was given to another claim too");
	is_due(0);
	has_device("foreign", "2", "g0", "other");
	cr_expect_not(is_due(0), "nothing was given back");
	has_device("foreign", "3", "g1", "other");
	cr_expect(is_due(0));
	cr_expect_str_eq(judged(0).node, "n1");
	has_device("foreign", "4", "g0", "other");
	cr_expect_not_null(judged(0).refusal);
	has_device("x", "2", "g0", "");
	cr_expect(is_due(0));
	cr_expect_null(judged(0).refusal, "it is planned, and its claim is deallocated");
	has_device("x", "3", "g0", "runs");
	judged(0);
	is_due(0);
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("foreign"));
	cr_expect(is_due(0));
	cr_expect_null(judged(0).refusal);
	live_pod_drop(l, 0);
}

/* A claim whose parameters are nested deep could not be read, and its device counted as free. */
Test(live, parameters_nested_deep_hid_the_device_of_a_claim)
{
	static char text[8192];
	char deep[2001];

	memset(deep, '[', 1000);
	memset(deep + 1000, ']', 1000);
	deep[2000] = '\0';
	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"foreign\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{\"config\":[{\"opaque\":{"
		"\"driver\":\"d\",\"parameters\":{\"a\":%s}}}]}},\"status\":{\"allocation\":{\"devices\":{"
		"\"config\":[{\"opaque\":{\"driver\":\"d\",\"parameters\":{\"a\":%s}}}],\"results\":[{"
		"\"request\":\"r\",\"driver\":\"d\",\"pool\":\"n1\",\"device\":\"g0\"}]}}}}",
		deep, deep);
	slice("1", 2, "");
	has_device("x", "1", "g0", "runs");
	put(LIVE_CLAIMS, text);
	pod(0, "a", "x", NULL);
	cr_expect_str_eq(judged(0).refusal,
	                 "device d/n1/g0 of resourceclaim \"x\" was given to another claim too");
	live_pod_drop(l, 0);
}

/* Allocated without a shareID, before its driver allowed more: its claim has all of it. */
Test(live, no_share_is_given_of_a_device_that_a_claim_has_as_a_whole)
{
	const char *whole =
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"whole\",\"uid\":\"u\","
		"\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{}},\"status\":{\"allocation\":{"
		"\"devices\":{"
		"\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"n1\",\"device\":\"g0\"}]}}}}";

	slice("1", 1, "");
	put(LIVE_CLAIMS, whole);
	slice("2", 1, SHARED);
	claim("a", "x", 1, "");
	pod(0, "a", "x", NULL);
	judged(0);
	cr_expect_gt(consumed(), 40);
	cr_expect_not(writes(0));
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("whole"));
	cr_expect_eq(consumed(), 0);
	cr_expect(writes(0));
	allocated("x", "2", "{\"memory\":\"1Gi\"}");
	cr_expect_null(live_conflict(l, 0, 0));
	put(LIVE_CLAIMS, whole);
	cr_expect_str_eq(live_conflict(l, 0, 0), "d/n1/g0");
}

/* Each is looked for at each capacity of each device of all nodes. */
Test(live, a_request_for_thousands_of_capacities_is_refused)
{
	static char text[65536];
	size_t at =
		(size_t)snprintf(text, sizeof(text),
	                     "{\"metadata\":{\"namespace\":\"a\",\"name\":\"x\",\"uid\":\"u\","
	                     "\"resourceVersion\":\"1\"},"
	                     "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
	                     "\"deviceClassName\":\"gpu\",\"capacity\":{\"requests\":{\"c\":\"1\"");

	for (unsigned i = 0; i < 4000; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, ",\"c%u\":\"1\"", i);
	snprintf(text + at, sizeof(text) - at, "}}}}]}}}");
	put(LIVE_CLAIMS, text);
	pod(0, "a", "x", NULL);
	cr_assert_str_eq(judged(0).refusal,
	                 "a request of its resource claims is for more than 32 capacities");
	cr_assert_eq(live_question_next(l), UINT32_MAX);
}

/* In thousandths it has more than 63 bits: what was written was below 0, and counted as nothing. */
Test(live, a_share_of_half_a_unit_and_many_is_written_as_it_is)
{
	slice("1", 1,
	      ",\"allowMultipleAllocations\":true,\"capacity\":{\"memory\":{\"value\":\"10P\"}}");
	claim_of("x", "9300000000000000.5");
	pod(0, "a", "x", NULL);
	judged(0);
	flush();
	cr_assert(writes(0));
	cr_expect_not_null(
		strstr(written, "\"consumedCapacity\":{\"memory\":\"9300000000000000.500000000\"}"), "%s",
		written);
}

/* Two thirds of a device are not there twice, and neither is a part below 0. */
Test(live, a_share_that_is_not_there_is_not_written)
{
	slice("1", 1, ",\"allowMultipleAllocations\":true,\"capacity\":{\"memory\":{\"value\":\"3\"}}");
	claim_of("x", "2");
	claim_of("below", "-2");
	pod(0, "a", "x", NULL);
	pod(1, "a", "below", NULL);
	judged(0);
	cr_expect_str_eq(judged(1).refusal, "a capacity that its resource claims request is no amount");
	flush();
	allocated("y", "1", "{\"memory\":\"2\"}");
	flush();
	cr_expect_not(writes(0));
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("y"));
	flush();
	cr_expect(writes(0));
}

#define CREATED(at) "\"creationTimestamp\":\"2026-01-0" at "T00:00:00Z\""

/* With the extended resource "d/gpu". */
static void backed(const char *name, const char *created)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\",\"resourceVersion\":\"1\",%s},"
	         "\"spec\":{\"extendedResourceName\":\"d/gpu\"}}",
	         name, name, created);
	put(LIVE_CLASSES, text);
}

#define ASKS(amounts) "\"resources\":{\"requests\":{" amounts "}}"

static void pod_asking(uint32_t slot)
{
	const char *text =
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"p\",\"uid\":\"up\"},\"spec\":{"
		"\"initContainers\":[{\"name\":\"i\"," ASKS(
			"\"d/gpu\":\"3\"") "}],"
							   "\"containers\":[{\"name\":\"x\"," ASKS(
								   "\"cpu\":\"1\",\"d/gpu\":\"1\"") "},"
																	"{\"name\":\"y\"," ASKS(
																		"\"d/gpu\":\"1\",\"deviceclass.resource.kubernetes.io/gpu\":\"2\"") "}]}}";

	cr_assert(live_pod_set(l, slot, text, strlen(text)));
}

static const char *spec_on(uint32_t pod, uint32_t served)
{
	static struct bytes spec;

	spec.n = 0;
	return live_extended_spec(l, pod, served, &spec) ? spec.at : NULL;
}

#define ONE(name, class, count)                                                                    \
	"{\"name\":\"container-" name "\",\"exactly\":{\"deviceClassName\":\"" class                   \
		"\",\"allocationMode\":\"ExactCount\",\"count\":" count "}}"

/* KEP 5004: each long-lived container has its own request, and init containers use them again. */
Test(live, extended_resources_are_one_claim_with_a_group_for_each)
{
	struct {
		struct event_question e;
		struct question_option options[4];
		char names[QUESTION_TEXT_MAX];
	} record;
	struct bytes list = { 0 };
	struct live_verdict v;

	pod_asking(3);
	cr_expect_eq(live_group(l, 3, text_of("d/gpu")), 0, "no class");
	backed("new", CREATED("2"));
	backed("old", CREATED("1"));
	v = judged(3);
	cr_assert_gt(v.devices, 0);
	cr_assert_leq(live_question_bytes(l, v.devices - 1), sizeof(record));
	live_question_write(l, v.devices - 1, &record);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(device_group(record.options[i].flags),
		             i < 3 ? live_group(l, 3, text_of("d/gpu"))
		                   : live_group(l, 3, text_of("deviceclass.resource.kubernetes.io/gpu")));
	cr_expect_eq(live_group(l, 3, text_of("cpu")), 0);
	cr_expect_str_eq(
		spec_on(3, 0),
		"{\"requests\":[" ONE("0-request-0", "new", "1") "," ONE("1-request-1", "new", "1") "," ONE(
			"2-request-0", "new", "1") "," ONE("2-request-1", "gpu", "2") "]}");
	cr_expect_str_eq(spec_on(3, 1u << live_group(l, 3, text_of("d/gpu"))),
	                 "{\"requests\":[" ONE("2-request-1", "gpu", "2") "]}");
	cr_expect_null(spec_on(3, 6));
	live_extended_mappings(
		l, 3, 1u << live_group(l, 3, text_of("deviceclass.resource.kubernetes.io/gpu")), &list);
	cr_expect_not_null(strstr(list.at, "{\"containerName\":\"x\",\"resourceName\":\"d/gpu\","
	                                   "\"requestName\":\"container-1-request-1\"}"),
	                   "%s", list.at);
	cr_expect_not_null(strstr(list.at, "{\"containerName\":\"i\",\"resourceName\":\"d/gpu\","
	                                   "\"requestName\":\"container-0-request-0\"}"));
	bytes_free(&list);
}

/* Thousands may wait: each had two blocks of 16 KiB. */
Test(live, a_pod_that_asks_for_extended_resources_keeps_little)
{
	const struct live_extended *e;

	pod_asking(3);
	judged(3);
	e = l->pods[3].extended;
	cr_expect_lt(malloc_usable_size(e->arena.blocks), 1024);
	cr_expect_lt(malloc_usable_size(e->claim_arena.blocks), 4096);
	live_remove(l, LIVE_CLASSES, text_of(""), text_of("gpu"));
	judged(3);
	cr_expect_null(e->claim_arena.blocks, "no class serves any");
}

/* Found by its annotation and its owner, before the pod comes and after. */
Test(live, a_claim_made_for_extended_resources_is_its_pods)
{
	const char *made =
		"{\"metadata\":{\"namespace\":\"a\",\"name\":\"p-x\",\"uid\":\"um\",\"resourceVersion\":\"2\","
		"\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":\"true\"},"
		"\"ownerReferences\":[{\"name\":\"p\",\"uid\":\"up\",\"controller\":true}]},"
		"\"spec\":{\"devices\":{\"requests\":[]}},\"status\":{\"allocation\":{\"devices\":{\"results\":[]},"
		"\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
		"\"operator\":\"In\",\"values\":[\"n7\"]}]}]}}}}";
	struct live_claim_view view;
	struct live_verdict v;

	backed("gpu", CREATED("1"));
	put(LIVE_CLAIMS, made);
	pod_asking(3);
	v = judged(3);
	cr_expect_eq(v.devices, 0, "it is allocated");
	cr_assert_str_eq(v.node, "n7");
	cr_assert_eq(live_claims_n(l, 3), 1);
	cr_assert(live_claim(l, 3, 0, &view));
	cr_expect(view.extended && view.owned);
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("p-x"));
	v = judged(3);
	cr_expect(v.devices > 0 && !v.node);
	cr_expect_eq(live_claims_n(l, 3), 0);
	live_pod_drop(l, 3);
	put(LIVE_CLAIMS, made);
	cr_expect_eq(live_claims_n(l, 3), 0);
}

static void claim_marked(const char *space, const char *name, const char *reserved)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"2\","
	         "\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":\"true\"},"
	         "\"ownerReferences\":[{\"name\":\"p\",\"uid\":\"up\",\"controller\":true}]},"
	         "\"spec\":{\"devices\":{\"requests\":[]}},\"status\":{\"reservedFor\":[%s]}}",
	         space, name, name, reserved);
	put(LIVE_CLAIMS, text);
}

/* It would be adopted, or deleted while the other pod uses its devices. */
Test(live, a_claim_of_another_namespace_or_consumer_is_not_taken_for_the_pods_own)
{
	char name[8];

	pod_asking(3);
	claim_marked("b", "theirs", "");
	claim_marked("a", "used", "{\"resource\":\"pods\",\"name\":\"q\",\"uid\":\"uq\"}");
	cr_assert_eq(live_claims_n(l, 3), 0);
	claim_marked("a", "ours", "{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"up\"}");
	cr_assert_eq(live_claims_n(l, 3), 1);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		claim_marked("a", name, "");
	}
	cr_assert_eq(live_claims_n(l, 3), POD_MADE_MAX, "each look would compare all with all");
}

/* For reasons: also of a live server's ledger, which has them from the record. */
Test(live, what_a_pod_asks_for_has_names)
{
	char one[128], record[512];
	const struct event_question *e = (const void *)record;
	uint32_t question;

	claim("a", "c", 0,
	      "\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\",\"count\":3}},"
	      "{\"name\":\"s\",\"firstAvailable\":[{\"name\":\"x\",\"deviceClassName\":\"gpu\"}]}],"
	      "\"constraints\":[{\"requests\":[\"r\"],\"matchAttribute\":\"d/board\"}]");
	pod(0, "a", "c", NULL);
	question = judged(0).devices - 1;
	cr_assert_eq(question, live_asks(l, 0));
	cr_assert(live_label(l, question, 0, one, sizeof(one)));
	cr_expect_str_eq(one, "r gpu d/board ");
	cr_assert(live_label(l, question, 1, one, sizeof(one)));
	cr_expect_str_eq(one, "s/x gpu - ");
	cr_expect_not(live_label(l, question, 2, one, sizeof(one)));
	cr_expect_not(live_label(l, question + 1, 0, one, sizeof(one)));
	cr_assert_leq(live_question_bytes(l, question), sizeof(record));
	live_question_write(l, question, record);
	cr_expect_eq(e->text_bytes, 24);
	cr_expect_str_eq(record + live_question_bytes(l, question) - 24, "r gpu d/board s/x gpu - ");
	cr_expect_eq(live_names_bytes(l), 32, "in steps of the core's arena");
	live_names_limit(l, 31);
	live_question_write(l, question, record);
	cr_expect_eq(e->text_bytes, 0);
	cr_expect_eq(live_names_bytes(l), 0);
	live_names_limit(l, 32);
	for (int i = 0; i < 2; i++)
		live_question_write(l, question, record);
	cr_expect_eq(e->text_bytes, 24);
	live_restart(l);
	cr_expect_eq(live_names_bytes(l), 0);
}

/* Each member would be planned with devices of its own, again and again. */
Test(live, a_claim_that_is_shared_is_known_until_it_is_allocated)
{
	uint32_t noted;

	claim("a", "c", 1, "");
	pod(0, "a", "c", NULL);
	cr_expect_not(live_claims_shared(l, 0));
	while (live_next_pod(l, &noted))
		continue;
	pod(1, "a", "c", NULL);
	cr_expect(live_next_pod(l, &noted) && noted == 0, "it is not judged again");
	cr_expect(live_claims_shared(l, 0) && live_claims_shared(l, 1));
	live_pod_drop(l, 1);
	cr_expect(live_next_pod(l, &noted) && noted == 0);
	cr_expect_not(live_claims_shared(l, 0));
}

/* n devices of a slice of a node; the text that the log has about it. */
static const char *put_slice(const char *name, unsigned generation, unsigned n)
{
	static char text[65536];
	static struct decode_error e;
	size_t at = (size_t)snprintf(text, sizeof(text),
	                             "{\"metadata\":{\"name\":\"%s\",\"uid\":\"s\",\"resourceVersion\":"
	                             "\"1\"},\"spec\":{\"driver\":\"d\",\"nodeName\":\"n1\",\"pool\":{"
	                             "\"name\":\"%s\",\"generation\":%u,\"resourceSliceCount\":1},"
	                             "\"devices\":[",
	                             name, name, generation);

	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s{\"name\":\"f%u\"}",
		                       i > 0 ? "," : "", i);
	snprintf(text + at, sizeof(text) - at, "]}}");
	e = (struct decode_error){ 0 };
	cr_assert_eq(live_put(l, LIVE_SLICES, text, strlen(text), &e), 0, "%s", e.text);
	return e.text;
}

/* A node with so many devices is served as if it had fewer: the log names it, once. */
Test(live, devices_of_a_node_that_are_too_many_are_named_once)
{
	static const char text[] =
		"16 of the 1040 devices of node n1 are not used: those beyond the first 1024 by pool";

	cr_expect_str_eq(put_slice("a", 1, 1024), "");
	cr_expect_str_eq(put_slice("b", 1, 16), text);
	cr_expect_str_eq(put_slice("b", 2, 16), "");
	cr_expect_str_eq(put_slice("b", 3, 0), "");
	cr_expect_str_eq(put_slice("b", 4, 16), text);
}
