/* SPDX-License-Identifier: Apache-2.0 */
/* The search for devices: its order, and each rule that keeps a device out. The recorded answers of
 * kube-scheduler are compared by tests/process/test_claims.py. */
#include "core/devices/choice.h"
#include "tests/unit/test.h"

#define DEVICES 40u
#define EVERY UINT64_MAX

/* A node with one pool, and one claim. */
static struct scene {
	struct device devices[DEVICES];
	struct device_pool pools[2];
	struct device_use uses[DEVICES];
	struct device_capacity capacities[DEVICES];
	device_amount counters[4];
	struct device_node node;
	uint64_t sets[8][3]; /* by option: match, fault, tolerated */
	struct device_option options[8];
	struct device_request requests[8];
	uint32_t values[DEVICES];
	uint8_t restricted[8];
	struct device_constraint constraint;
	struct device_claim claim;
	struct device_question question;
	struct choice choice;
} s;

static void devices(uint32_t n)
{
	s = (struct scene){ 0 };
	s.pools[0].devices.n = n;
	s.node = (struct device_node){
		.pools = s.pools,
		.pools_n = 1,
		.devices = s.devices,
		.devices_n = n,
		.uses = s.uses,
		.capacities = s.capacities,
		.counters = s.counters,
	};
	s.claim.requests = s.requests;
	s.question = (struct device_question){ .claims = &s.claim, .claims_n = 1 };
}

/* One more alternative of the request, or the first. */
static struct device_option *ask(uint32_t request, uint32_t count, uint64_t match)
{
	struct device_request *q = &s.requests[request];
	const uint32_t i =
		q->options_n > 0 ? (uint32_t)(q->options - s.options) + q->options_n : request * 2;

	s.sets[i][0] = match;
	s.sets[i][2] = EVERY;
	s.options[i] = (struct device_option){
		.count = count,
		.match = &s.sets[i][0],
		.fault = &s.sets[i][1],
		.tolerated = &s.sets[i][2],
	};
	q->options = q->options_n > 0 ? q->options : &s.options[i];
	q->options_n++;
	if (request >= s.claim.requests_n)
		s.claim.requests_n = request + 1;
	return &s.options[i];
}

static void constrain(bool distinct, const char *values)
{
	for (uint32_t i = 0; values[i] != '\0'; i++)
		s.values[i] = values[i] == '-' ? 0 : DEVICE_VALUE(2u, (uint32_t)values[i]);
	memset(s.restricted, 0xff, sizeof(s.restricted));
	s.constraint = (struct device_constraint){ distinct, s.values, s.restricted };
	s.claim.constraints = &s.constraint;
	s.claim.constraints_n = 1;
}

/* "0 1 2", with /n behind a device of alternative n above 0; or the outcome as a number. */
static void expect(const char *wanted)
{
	char text[512] = "";
	size_t at = 0;

	choice_make(&s.node, &s.question, &s.choice);
	if (s.choice.outcome != CHOICE_FOUND)
		snprintf(text, sizeof(text), "outcome %d", s.choice.outcome);
	for (uint32_t i = 0; s.choice.outcome == CHOICE_FOUND && i < s.choice.picks_n; i++) {
		const struct choice_pick *p = &s.choice.picks[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%u", i > 0 ? " " : "", p->device);
		if (p->option > 0)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "/%u", p->option);
	}
	cr_assert_str_eq(text, wanted);
	choice_free(&s.choice);
}

static const char *outcome(enum choice_outcome o)
{
	static char text[32];

	snprintf(text, sizeof(text), "outcome %d", o);
	return text;
}

Test(choice, takes_the_first_devices_that_are_free_and_match)
{
	devices(6);
	s.devices[1].flags = DEVICE_TAKEN;
	ask(0, 2, 0x3e); /* 1 to 5 */
	ask(1, 1, EVERY);
	expect("2 3 0");
}

Test(choice, goes_back_into_an_earlier_request)
{
	devices(4);
	ask(0, 1, 0x3); /* a GPU */
	ask(1, 1, 0xc); /* a card of the network */
	constrain(false, "abcb");
	expect("1 3");
	s.values[1] = 0; /* no attribute, no match */
	expect(outcome(CHOICE_NONE));
}

Test(choice, does_not_restrict_what_the_constraint_does_not_name)
{
	devices(3);
	ask(0, 1, 0x1);
	ask(1, 1, 0x6);
	constrain(false, "abc");
	s.restricted[1] = 0;
	expect("0 1");
}

/* kube-scheduler keeps one value for each request, so only the last device is compared. */
Test(choice, distinct_attribute_compares_the_last_device_of_each_request)
{
	devices(4);
	ask(0, 3, EVERY);
	constrain(true, "abab");
	expect("0 1 2");
	constrain(true, "aaaa");
	expect(outcome(CHOICE_NONE));
}

/* ... and forgets it when the search goes back, though the first device is kept. */
Test(choice, distinct_attribute_forgets_the_request_when_it_goes_back)
{
	devices(3);
	ask(0, 2, EVERY);
	ask(1, 1, 0x2);
	constrain(true, "abb");
	s.restricted[1] = 0;
	expect("0 2 1");
}

Test(choice, distinct_attribute_compares_requests_with_each_other)
{
	devices(3);
	ask(0, 1, EVERY);
	ask(1, 1, EVERY);
	constrain(true, "aab");
	expect("0 2");
	s.values[2] = DEVICE_VALUE(0u, 7u); /* of another type: can't be compared */
	expect(outcome(CHOICE_NONE));
}

Test(choice, takes_the_first_alternative_that_leaves_room_for_the_rest)
{
	devices(3);
	ask(0, 3, EVERY);
	ask(0, 2, EVERY);
	ask(1, 1, EVERY);
	expect("0/1 1/1 2");
}

Test(choice, all_means_all_that_match)
{
	devices(4);
	ask(0, 0, 0xd)->all = true;
	expect("0 2 3");
	s.devices[2].flags = DEVICE_TAKEN;
	expect(outcome(CHOICE_NONE));
	s.options[0].admin = true;
	expect("0 2 3");
	s.options[0].admin = false;
	s.sets[0][0] = 0;
	expect(outcome(CHOICE_NONE));
}

Test(choice, all_of_a_pool_that_is_not_usable_is_an_error)
{
	devices(2);
	s.node.pools_n = 2;
	s.pools[1].state = POOL_INCOMPLETE;
	ask(0, 1, EVERY);
	expect("0");
	s.options[0].all = true;
	expect(outcome(CHOICE_INCOMPLETE));
	s.pools[1].state = POOL_INVALID;
	expect(outcome(CHOICE_INVALID));
}

Test(choice, all_with_a_constraint_in_the_way_is_an_error)
{
	devices(2);
	ask(0, 0, EVERY)->all = true;
	constrain(false, "ab");
	expect(outcome(CHOICE_CONSTRAINT));
}

/* The search stops at the first error that it meets, and meets only devices that it looks at. */
Test(choice, an_error_of_a_selector_counts_when_the_device_is_looked_at)
{
	devices(4);
	s.sets[0][1] = 0;
	ask(0, 2, EVERY);
	s.sets[0][1] = 0x4;
	expect("0 1");
	s.options[0].count = 3;
	expect(outcome(CHOICE_SELECTOR));
	s.devices[2].flags = DEVICE_TAKEN; /* that is looked at first */
	expect("0 1 3");
}

Test(choice, a_claim_gets_32_devices_at_most)
{
	devices(40);
	ask(0, 33, EVERY);
	expect(outcome(CHOICE_TOO_MANY));
	ask(0, 20, EVERY); /* the least of the alternatives counts */
	ask(1, 12, EVERY);
	choice_make(&s.node, &s.question, &s.choice);
	cr_assert_eq(s.choice.outcome, CHOICE_FOUND);
	cr_assert_eq(s.choice.picks_n, 32);
	choice_free(&s.choice);
}

Test(choice, admin_access_has_taken_devices_once_in_a_claim)
{
	devices(2);
	s.devices[0].flags = s.devices[1].flags = DEVICE_TAKEN;
	ask(0, 1, EVERY)->admin = true;
	ask(1, 1, EVERY)->admin = true;
	expect("0 1");
	s.devices[0].flags = s.devices[1].flags = 0;
	s.options[2].admin = false; /* what admin access holds is in use for the others */
	expect("0 1");
}

Test(choice, a_taint_without_toleration_keeps_a_device_out)
{
	devices(3);
	ask(0, 1, EVERY);
	s.sets[0][2] = 0x4;
	expect("2");
}

Test(choice, counters_limit_the_partitions_of_a_device)
{
	devices(3);
	s.counters[0] = 7;
	s.node.counters_n = s.pools[0].counters.n = 1;
	for (uint32_t i = 0; i < 3; i++) {
		s.uses[i] = (struct device_use){ 0, i == 0 ? 4 : 3 };
		s.devices[i].uses = (struct span){ i, 1 };
	}
	ask(0, 2, EVERY);
	expect("0 1");
	s.counters[0] = 6;
	expect("1 2");
	s.counters[0] = 5;
	expect(outcome(CHOICE_NONE));
}

static void share(uint32_t device, device_amount value)
{
	s.devices[device].flags = DEVICE_SHARED;
	s.devices[device].capacities = (struct span){ device, 1 };
	s.capacities[device] = (struct device_capacity){ .value = value };
	s.node.capacities_n = device + 1;
}

Test(choice, shares_of_a_device_add_up_to_its_capacity)
{
	const device_amount ten[] = { 10, 10 };
	devices(2);
	share(0, 20);
	share(1, 40);
	for (uint32_t i = 0; i < 3; i++)
		ask(i, 1, EVERY)->amounts = ten;
	expect("0 0 1");
	s.capacities[0].consumed = 15;
	expect("1 1 1");
}

/* Allocated without a shareID, before its driver allowed more. */
Test(choice, a_device_that_a_claim_has_as_a_whole_has_no_shares)
{
	const device_amount ten[] = { 10, 10 };
	devices(2);
	share(0, 20);
	share(1, 20);
	s.devices[0].flags |= DEVICE_TAKEN;
	ask(0, 1, EVERY)->amounts = ten;
	expect("1");
	s.options[0].admin = true;
	expect("0");
}

/* Many equal devices with a counter for half of them: nothing tells them apart. */
Test(choice, gives_up_after_its_steps)
{
	devices(40);
	s.counters[0] = 15;
	s.node.counters_n = s.pools[0].counters.n = 1;
	for (uint32_t i = 0; i < 40; i++) {
		s.uses[i] = (struct device_use){ 0, 1 };
		s.devices[i].uses = (struct span){ i, 1 };
	}
	ask(0, 16, EVERY);
	expect(outcome(CHOICE_GAVE_UP));
}
