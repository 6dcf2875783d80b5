/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of fixed bounds: where a value goes, what is read off, how it is written. */
#include "frontend/base/histogram.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

static const struct buckets *const all[] = { &buckets_fine, &buckets_attempt, &buckets_sli,
	                                         &buckets_tries, &buckets_waits };
#define ALL (sizeof(all) / sizeof(all[0]))

Test(histogram, bounds_rise_and_an_octave_doubles)
{
	for (size_t k = 0; k < ALL; k++) {
		const struct buckets *b = all[k];

		cr_assert_eq(buckets_bound(b, 0), b->first);
		for (uint32_t i = 1; i < b->n; i++) {
			cr_assert_gt(buckets_bound(b, i), buckets_bound(b, i - 1));
			if (i >= b->steps)
				cr_assert_eq(buckets_bound(b, i), 2 * buckets_bound(b, i - b->steps), "%zu: %u", k,
				             i);
		}
	}
	cr_assert_eq(buckets_bound(&buckets_attempt, 14), UINT64_C(16384000000));
	cr_assert_eq(buckets_bound(&buckets_sli, 19), UINT64_C(5242880000000));
	cr_assert_eq(buckets_bound(&buckets_tries, 4), 16);
	cr_assert_eq(buckets_bound(&buckets_waits, 25), UINT64_C(335544320000000));
	cr_assert_eq(buckets_bound(&buckets_fine, 224), UINT64_C(1000) << 28);
}

/* The bucket found by looking at each bound. */
static uint32_t slow_index(const struct buckets *b, uint64_t value)
{
	uint32_t i = 0;

	while (i < b->n && value > buckets_bound(b, i))
		i++;
	return i;
}

Test(histogram, a_bound_belongs_to_its_own_bucket)
{
	for (size_t k = 0; k < ALL; k++) {
		const struct buckets *b = all[k];

		cr_assert_eq(buckets_index(b, 0), 0);
		for (uint32_t i = 0; i < b->n; i++) {
			cr_assert_eq(buckets_index(b, buckets_bound(b, i)), i, "%zu: %u", k, i);
			cr_assert_eq(buckets_index(b, buckets_bound(b, i) + 1), i + 1, "%zu: %u", k, i);
		}
		cr_assert_eq(buckets_index(b, UINT64_MAX), b->n);
	}
}

Test(histogram, finds_what_a_search_finds)
{
	struct random r = random_start("histogram");

	for (int i = 0; i < 20000; i++)
		for (size_t k = 0; k < ALL; k++) {
			uint64_t value = random_next(&r) >> (random_next(&r) % 64);

			cr_assert_eq(buckets_index(all[k], value), slow_index(all[k], value), "%zu: %llu", k,
			             (unsigned long long)value);
		}
}

Test(histogram, quantiles_are_within_a_bucket_of_the_truth)
{
	static struct histogram h;

	cr_assert_eq(histogram_quantile(&h, &buckets_fine, 0.5), 0);
	for (uint64_t us = 1; us <= 10000; us++)
		histogram_add(&h, &buckets_fine, us * 1000);
	for (int p = 1; p < 100; p++) {
		double truth = p * 100000.0,
			   said = (double)histogram_quantile(&h, &buckets_fine, p / 100.0);

		cr_assert(said > truth * 0.87 && said < truth * 1.13, "p%d: %g, not %g", p, said, truth);
	}
	cr_assert_eq(histogram_quantile(&h, &buckets_fine, 1), 10000000);
	histogram_add(&h, &buckets_fine, UINT64_MAX);
	cr_assert_eq(histogram_quantile(&h, &buckets_fine, 1), UINT64_MAX,
	             "above every bound: the highest value");
	cr_assert_eq(h.sum, UINT64_MAX, "the sum saturates");
}

static char *written(const struct histogram *h, const struct buckets *b, double unit,
                     const char *labels)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	cr_assert_not_null(out);
	histogram_write(h, b, unit, "x", labels, out);
	fclose(out);
	return text;
}

Test(histogram, is_written_as_prometheus_reads_it)
{
	static struct histogram h;
	char *text;

	histogram_add(&h, &buckets_tries, 1);
	histogram_add(&h, &buckets_tries, 3);
	histogram_add(&h, &buckets_tries, 99);
	text = written(&h, &buckets_tries, 1, "");
	cr_assert_str_eq(
		text,
		"x_bucket{le=\"1\"} 1\nx_bucket{le=\"2\"} 1\nx_bucket{le=\"4\"} 2\nx_bucket{le=\"8\"} 2\n"
		"x_bucket{le=\"16\"} 2\nx_bucket{le=\"+Inf\"} 3\nx_sum 103\nx_count 3\n");
	free(text);
	text = written(&h, &buckets_tries, 1, "a=\"b\",c=\"d\",");
	cr_assert_not_null(strstr(text, "x_bucket{a=\"b\",c=\"d\",le=\"16\"} 2\n"));
	cr_assert_not_null(strstr(text, "x_sum{a=\"b\",c=\"d\"} 103\nx_count{a=\"b\",c=\"d\"} 3\n"));
	free(text);
}

Test(histogram, bounds_of_an_octave_are_round)
{
	static struct histogram h;
	char *text;
	int lines = 0;

	histogram_add(&h, &buckets_fine, 1500);
	text = written(&h, &buckets_fine, 1e-9, "");
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	cr_assert_eq(lines, 29 + 3);
	cr_assert_not_null(strstr(text, "x_bucket{le=\"1e-06\"} 0\nx_bucket{le=\"2e-06\"} 1\n"));
	cr_assert_not_null(strstr(text, "x_bucket{le=\"0.001024\"} 1\n"));
	free(text);
}
