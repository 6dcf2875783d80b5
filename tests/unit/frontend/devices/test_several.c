/* SPDX-License-Identifier: Apache-2.0 */
/* Slices of several nodes: which nodes list their devices, and that whether one is taken reaches
 * the core by one record. */
#include "tests/unit/support_live.h"

TestSuite(several, .init = begin, .fini = end);

/* `where` and the rest of the spec; n devices f0, f1, ... with `more` each. */
static void slice(const char *name, const char *pool, const char *where, unsigned n,
                  const char *more)
{
	static char text[32768];
	size_t at = (size_t)snprintf(text, sizeof(text),
	                             "{\"metadata\":{\"name\":\"%s\",\"uid\":\"s\",\"resourceVersion\":"
	                             "\"1\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"%s\","
	                             "\"generation\":1,\"resourceSliceCount\":1},%s,\"devices\":[",
	                             name, pool, where);

	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s{\"name\":\"f%u\"%s}",
		                       i > 0 ? "," : "", i, more);
	snprintf(text + at, sizeof(text) - at, "]}}");
	put(LIVE_SLICES, text);
}

/* As the model does for nodes of the core. */
static void seen(const char *node, const char *zone)
{
	char labels[128];

	snprintf(labels, sizeof(labels), "{\"zone\":\"%s\"}", zone);
	live_node_seen(l, text_of(node), text_of(labels));
}

static void ask(uint32_t slot, const char *name)
{
	char text[512];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\"}}]}}}",
	         name, name);
	put(LIVE_CLAIMS, text);
	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"p%u\",\"uid\":\"p%u\"},\"spec\":{"
	         "\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"%s\"}]}}",
	         slot, slot, name);
	cr_assert(live_pod_set(l, slot, text, strlen(text)));
}

static void given(const char *name, const char *version, const char *device, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"namespace\":\"a\",\"name\":\"%s\",\"uid\":\"u-%s\","
	         "\"resourceVersion\":\"%s\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	         "\"exactly\":{\"deviceClassName\":\"gpu\"}}]}},\"status\":{\"allocation\":{"
	         "\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"net\","
	         "\"device\":\"%s\"}]}%s}}}",
	         name, name, version, device, more);
	put(LIVE_CLAIMS, text);
}

/* The last records of nodes, as the core has them. */
struct told {
	struct event_node_devices e;
	uint64_t taken;
	uint64_t match;
	struct node_common commons[16];
};

static struct told told[4];
static bool taken[COMMON_DEVICES_MAX];

static uint32_t number_of(const char *node)
{
	return node[1] - '1' < 4 ? (uint32_t)(node[1] - '1') : 0;
}

static void node_told(uint32_t at)
{
	static uint64_t record[2048];
	struct told *t = &told[number_of(live_node_name(l, at))];
	struct event_node_devices e;

	cr_assert_leq(live_node_bytes(l, at), sizeof(record));
	live_node_write(l, at, 0, 1, record);
	memcpy(&e, record, sizeof(e));
	t->match = t->e.layout == e.layout ? t->match : 0;
	t->e = e;
	cr_assert_leq(t->e.commons_n, 16);
	t->taken = t->e.devices_n > 0 ? record[sizeof(t->e) / 8] : 0;
	memcpy(t->commons,
	       (char *)record + live_node_bytes(l, at) - t->e.commons_n * sizeof(t->commons[0]),
	       t->e.commons_n * sizeof(t->commons[0]));
	for (uint32_t i = 0; i < t->e.commons_n; i++)
		taken[t->commons[i].common] =
			t->commons[i].device < 64 && (t->taken >> t->commons[i].device & 1);
}

static void match_told(uint32_t at, uint32_t question)
{
	static uint64_t record[2048];

	cr_assert_leq(live_match_bytes(l, at, question), sizeof(record));
	live_match_write(l, at, question, 0, 1, record);
	told[number_of(live_node_name(l, at))].match = record[sizeof(struct event_match) / 8];
}

/* How many records of nodes. */
static unsigned flush(void)
{
	static uint64_t record[1024];
	uint32_t at, question;
	unsigned n = 0;

	while ((question = live_question_next(l)) != UINT32_MAX)
		live_question_write(l, question, record);
	live_flush_begin(l);
	for (; (at = live_node_next(l)) != UINT32_MAX; n++) {
		node_told(at);
		while ((question = live_match_next(l, at)) != UINT32_MAX)
			match_told(at, question);
	}
	return n;
}

/* What the node's pod would have, as the core sees it. */
static uint64_t free_on(uint32_t node)
{
	uint64_t set = told[node].match & ~told[node].taken;

	for (uint32_t i = 0; i < told[node].e.commons_n; i++)
		if (taken[told[node].commons[i].common])
			set &= ~(UINT64_C(1) << told[node].commons[i].device);
	return set;
}

Test(several, devices_are_listed_by_the_nodes_that_the_slice_selects)
{
	ask(0, "x");
	judged(0);
	slice("s", "net",
	      "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\","
	      "\"operator\":\"In\",\"values\":[\"east\"]}]}]}",
	      2, "");
	cr_expect(live_wants_nodes(l));
	seen("n1", "east");
	seen("n2", "west");
	seen("n3", "east");
	live_nodes_known(l);
	flush();
	cr_expect(free_on(0) == 3 && free_on(1) == 0 && free_on(2) == 3);
	cr_expect_eq(told[0].commons[1].common, told[2].commons[1].common);
	cr_expect_neq(told[0].commons[0].common, told[0].commons[1].common);
	seen("n2", "east");
	seen("n1", "west");
	seen("n3", "east");
	cr_expect_eq(flush(), 2, "n3 is as it was");
	cr_expect(free_on(0) == 0 && free_on(1) == 3 && free_on(2) == 3);
	live_remove(l, LIVE_SLICES, text_of(""), text_of("s"));
	flush();
	cr_expect(told[1].e.devices_n == 0 && told[2].e.devices_n == 0);
	cr_expect_not(live_has_several(l));
}

Test(several, devices_that_are_taken_are_so_on_all_nodes_by_one_record)
{
	ask(0, "x");
	judged(0);
	slice("s", "net", "\"allNodes\":true", 2, "");
	seen("n1", "a");
	seen("n2", "a");
	seen("n3", "a");
	flush();
	given("other", "1", "f0", "");
	cr_expect_eq(flush(), 1);
	cr_expect(free_on(0) == 2 && free_on(1) == 2 && free_on(2) == 2);
	/* The node whose record would say so is gone from the core. */
	given("other", "2", "f1", "");
	live_node_skip(l, 0);
	cr_expect_eq(flush(), 1);
	cr_expect(free_on(1) == 1 && free_on(2) == 1);
	live_remove(l, LIVE_CLAIMS, text_of("a"), text_of("other"));
	cr_expect_eq(flush(), 1);
	cr_expect(free_on(1) == 3 && free_on(2) == 3);
	live_node_entered(l, text_of("n1"));
	seen("n1", "a");
	cr_expect_eq(flush(), 1);
	cr_expect_eq(free_on(0), 3);
}

static void written_take(void *context, const char *name, const char *allocation)
{
	snprintf(context, 2048, "%s", allocation);
}

Test(several, a_device_is_given_once_whatever_the_core_chooses)
{
	static char written[2048];
	const struct device_pick pick = { 0 };
	const uint64_t share[2] = { 7, 7 };
	struct cmd_devices cmd;
	char *node;

	ask(0, "x");
	ask(1, "y");
	judged(0);
	judged(1);
	slice("s", "net", "\"allNodes\":true", 1, "");
	seen("n1", "a");
	seen("n2", "a");
	flush();
	cmd = (struct cmd_devices){ .layout = told[0].e.layout,
		                        .question = l->pods[0].question,
		                        .picks_n = 1 };
	cr_assert(live_writing(l, 0, "n1", &cmd, &pick, 0, share, written_take, written));
	cr_expect_null(strstr(written, "nodeSelector"), "%s", written);
	node = live_allocated_node(written);
	cr_expect_str_eq(node, "");
	free(node);
	cmd.layout = told[1].e.layout;
	cr_expect_not(live_writing(l, 1, "n2", &cmd, &pick, 0, share, written_take, written));
	cr_expect_eq(flush(), 1);
	cr_expect_eq(free_on(1), 0);
	live_written(l, 0, l->pods[0].uid);
	flush();
	cr_expect(live_writing(l, 1, "n2", &cmd, &pick, 0, share, written_take, written));
	live_written(l, 1, l->pods[1].uid);
}

#define TAKES                                                                                      \
	",\"consumesCounters\":[{\"counterSet\":\"c\",\"counters\":{\"x\":{\"value\":\"1\"}}}]"
#define MULTIPLE ",\"allowMultipleAllocations\":true"

/* Slice of pool "net", of `count` slices. */
static void part(const char *name, unsigned count, const char *where, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"%s\",\"uid\":\"s\",\"resourceVersion\":\"1\"},\"spec\":{"
	         "\"driver\":\"d\",\"pool\":{\"name\":\"net\",\"generation\":1,"
	         "\"resourceSliceCount\":%u},%s,%s}}",
	         name, count, where, more);
	put(LIVE_SLICES, text);
}

#define SETS "\"sharedCounters\":[{\"name\":\"c\",\"counters\":{\"x\":{\"value\":\"2\"}}}]"
#define USER(name) "\"devices\":[{\"name\":\"" name "\"" TAKES "}]"

/* What they take of capacities would be of all nodes, too. */
Test(several, devices_that_are_shared_are_not_served)
{
	ask(0, "x");
	judged(0);
	slice("s", "net", "\"allNodes\":true", 1, MULTIPLE);
	slice("local", "n1", "\"nodeName\":\"n1\"", 1, "");
	seen("n1", "a");
	flush();
	cr_expect_eq(__builtin_popcountll(free_on(0)), 1);
	cr_expect(told[0].e.commons_n == 0 && !(told[0].e.flags & NODE_DEVICES_INVALID));
}

static void counted(unsigned node, unsigned commons, const char *what)
{
	cr_expect_eq(told[node].e.commons_n, commons, "%s: commons %u", what, told[node].e.commons_n);
	cr_expect_eq(told[node].e.uses_n, commons, "%s: uses %u", what, told[node].e.uses_n);
	cr_expect_eq(told[node].e.counters_n, commons > 0, "%s: counters", what);
	cr_expect_eq(__builtin_popcountll(free_on(node)), commons, "%s: free", what);
}

/* Each node has all devices that take a counter, and so knows what is left of it. */
Test(several, devices_that_use_counters_are_served_where_all_are_listed)
{
	ask(0, "x");
	judged(0);
	seen("n1", "a");
	seen("n2", "b");
	part("sets", 3, "\"allNodes\":true", SETS);
	part("s", 3, "\"allNodes\":true", USER("e"));
	flush();
	counted(0, 0, "a slice is missing");
	part("t", 3, "\"allNodes\":true", USER("f"));
	flush();
	counted(0, 2, "all nodes");
	counted(1, 2, "all nodes");
	part("t", 3,
	     "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\","
	     "\"operator\":\"In\",\"values\":[\"b\"]}]}]}",
	     USER("f"));
	flush();
	counted(0, 0, "f is of one zone");
	counted(1, 0, "f is of one zone");
	part("t", 3, "\"allNodes\":true", "\"devices\":[{\"name\":\"f\"" TAKES MULTIPLE "}]");
	flush();
	counted(0, 0, "f is shared");
	part("t", 3, "\"allNodes\":true", USER("f"));
	flush();
	counted(0, 2, "as before");
}

/* The last that takes the counter is beyond what a node lists. */
Test(several, counters_that_a_cut_device_takes_are_not_used)
{
	ask(0, "x");
	judged(0);
	seen("n1", "a");
	seen("n2", "b");
	part("sets", 3, "\"allNodes\":true", SETS);
	part("s", 3, "\"allNodes\":true", USER("e"));
	part("t", 3, "\"allNodes\":true", USER("f"));
	slice("local", "a", "\"nodeName\":\"n1\"", NODE_DEVICES_MAX - 1, "");
	flush();
	cr_expect_eq(told[0].e.devices_n, NODE_DEVICES_MAX);
	cr_expect(told[0].e.uses_n == 0 && told[0].e.counters_n == 0);
	counted(1, 2, "the other node lists both");
	slice("local", "a", "\"nodeName\":\"n1\"", NODE_DEVICES_MAX - 2, "");
	flush();
	cr_expect(told[0].e.uses_n == 2 && told[0].e.counters_n == 1);
}

static const char *noted(const char *where, const char *more)
{
	static struct decode_error error;
	char text[1024];

	snprintf(text, sizeof(text),
	         "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"net\","
	         "\"generation\":1,\"resourceSliceCount\":1},%s,\"devices\":[{\"name\":\"e\"},"
	         "{\"name\":\"f\"%s}]}}",
	         where, more);
	error = (struct decode_error){ .text = "" };
	cr_assert_eq(live_put(l, LIVE_SLICES, text, strlen(text), &error), 0);
	if (error.text[0])
		cr_expect_str_eq(error.object, "ResourceSlice s");
	return error.text;
}

Test(several, slices_whose_devices_are_not_used_are_named)
{
	cr_expect_str_eq(noted("\"allNodes\":true", MULTIPLE),
	                 "device f is not used, nor those like it: they are of several nodes, and "
	                 "allowMultipleAllocations is true");
	cr_expect_str_eq(
		noted("\"allNodes\":true", TAKES MULTIPLE),
		"its devices are not used: they are of several nodes, and pool net has counters "
		"that devices with allowMultipleAllocations take too");
	cr_expect_str_eq(noted("\"allNodes\":true", TAKES), "");
	cr_expect_str_eq(noted("\"allNodes\":true", ""), "");
	cr_expect_str_eq(noted("\"nodeName\":\"n1\"", MULTIPLE), "");
	cr_expect_str_eq(noted("\"nodeName\":\"n1\"", TAKES), "");
	part("other", 2, "\"allNodes\":true", SETS);
	part("another", 2, "\"allNodes\":true", USER("x"));
	cr_expect_str_eq(
		noted("\"allNodes\":true", TAKES),
		"its devices are not used: pool net has counters, and 3 of its 1 slices are of "
		"several nodes");
}

Test(several, devices_by_themselves_select_nodes)
{
	ask(0, "x");
	judged(0);
	slice("s", "net", "\"perDeviceNodeSelection\":true", 1, ",\"nodeName\":\"n2\"");
	seen("n1", "a");
	seen("n2", "a");
	flush();
	cr_expect(free_on(0) == 0 && free_on(1) == 1);
	slice("s", "net", "\"perDeviceNodeSelection\":true", 2, ",\"allNodes\":true");
	flush();
	cr_expect(free_on(0) == 3 && free_on(1) == 3);
}

/* An allocation without a selector is for any node. */
Test(several, a_claim_that_is_allocated_for_all_nodes_restricts_its_pod_to_none)
{
	ask(0, "x");
	slice("s", "net", "\"allNodes\":true", 1, "");
	given("x", "2", "f0", "");
	cr_expect(!judged(0).refusal && !judged(0).node && judged(0).devices == 0);
}

/* A cluster whose nodes come and go under new names: one entry, with its slice and labels, serves
 * the next.  Either may go first. */
Test(several, names_of_nodes_that_are_gone_are_not_kept)
{
	char node[32], where[64];

	slice("all", "net", "\"allNodes\":true", 1, "");
	for (uint32_t i = 0; i < 2000; i++) {
		snprintf(node, sizeof(node), "n%u", i);
		snprintf(where, sizeof(where), "\"nodeName\":\"%s\"", node);
		slice("s", node, where, 2, "");
		seen(node, "a");
		live_node_entered(l, text_of(node));
		cr_assert_neq(live_node_next(l), UINT32_MAX);
		if (i % 2 == 0)
			live_node_gone(l, text_of(node));
		live_remove(l, LIVE_SLICES, text_of(""), text_of("s"));
		if (i % 2 == 1)
			live_node_gone(l, text_of(node));
		cr_assert_eq(live_node_next(l), UINT32_MAX);
	}
	cr_expect_leq(l->nodes_n, 256, "%zu", l->nodes_n);
	cr_expect_eq(l->nodes_due, 0);
}
