/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of resources and of the waits of gangs, as Prometheus reads them. */
#include "frontend/serve/metrics_impl.h"
#include "tests/unit/test.h"

static struct metrics m;
static char *text;

static const char *written(void (*write)(const struct metrics *of, FILE *out))
{
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert(out != NULL);
	write(&m, out);
	fclose(out);
	return text;
}

static void forget(void)
{
	free(text);
}

TestSuite(metrics_usage, .fini = forget);

static size_t count(const char *in, const char *what)
{
	size_t n = 0;

	for (; (in = strstr(in, what)) != NULL; in++)
		n++;
	return n;
}

/* Their names are not in the ledger: both would be muster_resource_used{resource=""}. */
Test(metrics_usage, rows_without_a_name_are_left_out)
{
	m.usage = (struct usage_figures){
		.n = 6,
		.rows = { { .name = "cpu", .allocatable = 4000, .used = 1500 },
		          { .name = "memory", .allocatable = 1024 },
		          { .name = "", .allocatable = 1 },
		          { .name = "", .used = 2 },
		          { .name = "gone" },
		          { .name = "a\"b", .used = 3 } },
	};
	written(metrics_usage_write);
	cr_assert_eq(count(text, "resource=\"\""), 0, "%s", text);
	cr_assert_eq(count(text, "\nmuster_resource_used{"), 3, "%s", text);
	cr_assert(strstr(text, "\nmuster_resource_used{resource=\"cpu\"} 1.5\n"), "%s", text);
	cr_assert(strstr(text, "\nmuster_resource_allocatable{resource=\"memory\"} 1024\n"), "%s",
	          text);
	cr_assert(strstr(text, "\nmuster_resource_used{resource=\"a\\\"b\"} 3\n"), "%s", text);
	/* Before the core has named any. */
	m.usage = (struct usage_figures){ .n = 2 };
	free(text);
	cr_assert_eq(count(written(metrics_usage_write), "{"), 0, "%s", text);
}

Test(metrics_usage, waits_have_the_longest_namespace)
{
	char name[64];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	m.waits.namespaces.n = 1;
	memcpy(m.waits.namespaces.named[0].name, name, sizeof(name));
	written(metrics_waits_write);
	cr_assert_eq(count(text, "gang_namespace=\"n"), count(text, "nnn\""), "%s", text);
	cr_assert_eq(count(text, "{namespace="), 0, "%s", text);
	cr_assert_eq(count(text, "muster_queue_wait_seconds"), 0, "%s", text);
}

Test(metrics_usage, names_of_queues_are_escaped)
{
	m.waits.queues.n = 1;
	strcpy(m.waits.queues.named[0].name, "root/a\"b\\");
	histogram_add(&m.waits.queues.named[0].waited, &buckets_waits, UINT64_C(2000000000));
	written(metrics_waits_write);
	cr_assert_eq(count(text, "muster_queue_wait_seconds_sum{queue=\"root/a\\\"b\\\\\"} 2\n"), 1,
	             "%s", text);
	cr_assert_eq(count(text, "muster_gang_wait_seconds"), 0, "%s", text);
}
