/* SPDX-License-Identifier: Apache-2.0 */
/* What a share takes of a capacity, by the request and the device's requestPolicy. */
#include "frontend/devices/devices_impl.h"
#include "tests/unit/test.h"

#define GI ((nano_t)1 << 30)

static struct arena arena;

static void end(void)
{
	arena_free(&arena);
}

TestSuite(capacity, .fini = end);

static const struct tree *tree(const char *json)
{
	char error[200];
	const struct tree *t = jsontree_read(json, strlen(json), &arena, error, sizeof(error));

	cr_assert_not_null(t, "%s", error);
	return t;
}

static struct device_entry device(const char *value, const char *policy, bool shared)
{
	static struct text name;
	static struct capacity_policy policies;
	static struct cel_capacity capacity;
	struct cel_error error;

	name = text_of("memory");
	policy_read(&arena, tree(policy), &policies);
	cr_assert(cel_quantity_parse(text_of(value), &capacity.value, &error));
	return (struct device_entry){ .capacities = &name,
		                          .policies = &policies,
		                          .facts = { .capacities = &capacity,
		                                     .capacities_n = 1,
		                                     .allow_multiple_allocations = shared } };
}

static struct option_entry asking(const char *requests)
{
	struct option_entry o = { .tree = tree(requests) };

	asks_read(&arena, &o);
	return o;
}

/* In Gi; -1: there is not so much, or the policy has no such amount. */
static int takes(const struct device_entry *e, const char *amount)
{
	char text[200] = "{}";
	struct option_entry o;
	device_amount out;

	if (amount)
		snprintf(text, sizeof(text), "{\"capacity\":{\"requests\":{\"memory\":\"%s\"}}}", amount);
	o = asking(text);
	cr_expect_eq(capacity_takes(e, 0, &o, &out), capacities_allow(e, &o));
	return capacity_takes(e, 0, &o, &out) ? (int)(out / 1000000000 / GI) : -1;
}

Test(capacity, is_taken_as_it_is_asked_for)
{
	const struct device_entry e = device("40Gi", "{}", true);

	cr_expect_eq(takes(&e, NULL), 40);
	cr_expect_eq(takes(&e, "3Gi"), 3);
	cr_expect_eq(takes(&e, "40Gi"), 40);
	cr_expect_eq(takes(&e, "41Gi"), -1);
	cr_expect_eq(takes(&e, "1e40"), -1);
}

Test(capacity, is_rounded_up_to_steps_from_the_least)
{
	const struct device_entry e = device(
		"40Gi",
		"{\"default\":\"6Gi\",\"validRange\":{\"min\":\"4Gi\",\"step\":\"8Gi\",\"max\":\"30Gi\"}}",
		true);

	cr_expect_eq(takes(&e, NULL), 6);
	cr_expect_eq(takes(&e, "1Gi"), 4);
	cr_expect_eq(takes(&e, "12Gi"), 12);
	cr_expect_eq(takes(&e, "13Gi"), 20);
	cr_expect_eq(takes(&e, "29Gi"), -1);
}

Test(capacity, is_rounded_up_to_a_valid_value)
{
	const struct device_entry e =
		device("40Gi", "{\"validValues\":[\"20Gi\",\"5Gi\",\"10Gi\"]}", true);

	cr_expect_eq(takes(&e, "6Gi"), 10);
	cr_expect_eq(takes(&e, "20Gi"), 20);
	cr_expect_eq(takes(&e, "21Gi"), -1);
}

Test(capacity, that_a_device_lacks_keeps_it_out)
{
	const struct device_entry e = device("40Gi", "{}", false);
	const struct option_entry none = asking("{}"),
							  more = asking("{\"capacity\":{\"requests\":{\"memory\":\"41Gi\"}}}"),
							  other = asking("{\"capacity\":{\"requests\":{\"memory\":\"1Gi\","
	                                         "\"cores\":\"1\"}}}");

	cr_expect(capacities_allow(&e, &none));
	cr_expect_not(capacities_allow(&e, &more));
	cr_expect_not(capacities_allow(&e, &other));
}

Test(capacity, has_bounds)
{
	const struct {
		const char *value, *policy;
		bool good;
	} cases[] = {
		{ "40Gi", "{}", true },
		{ "-1", "{}", false },
		{ "40Gi", "{\"default\":\"-1\"}", false },
		{ "40Gi", "{\"validRange\":{\"min\":\"-1\"}}", false },
		{ "40Gi", "{\"validRange\":{\"min\":\"1\",\"step\":\"-1\"}}", false },
		{ "40Gi", "{\"validValues\":[\"1\",\"-1\"]}", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct device_entry e = device(cases[i].value, cases[i].policy, true);

		cr_expect_eq(capacities_in_bounds(&e), cases[i].good, "%s %s", cases[i].value,
		             cases[i].policy);
	}
}
