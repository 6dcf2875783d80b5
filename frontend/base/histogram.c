/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/histogram.h"

#include <inttypes.h>

const struct buckets buckets_fine = { .first = 1000, .steps = 8, .n = 225 };
const struct buckets buckets_attempt = { .first = 1000000, .steps = 1, .n = 15 };
const struct buckets buckets_sli = { .first = 10000000, .steps = 1, .n = 20 };
const struct buckets buckets_waits = { .first = 10000000, .steps = 1, .n = 26 };
const struct buckets buckets_tries = { .first = 1, .steps = 1, .n = 5 };

uint64_t buckets_bound(const struct buckets *b, uint32_t i)
{
	uint64_t low;

	if (i == 0)
		return b->first;
	low = b->first << ((i - 1) / b->steps);
	return low + ((i - 1) % b->steps + 1) * (low / b->steps);
}

uint32_t buckets_index(const struct buckets *b, uint64_t value)
{
	uint32_t octave, index;
	uint64_t low;

	if (value <= b->first)
		return 0;
	octave = 63u - (uint32_t)__builtin_clzll((value - 1) / b->first);
	low = b->first << octave; /* below the value, so it fits 64 bits */
	index = octave * b->steps;
	if (index >= b->n)
		return b->n;
	index += 1 + (uint32_t)((value - 1 - low) / (low / b->steps));
	return index < b->n ? index : b->n;
}

void histogram_add(struct histogram *h, const struct buckets *b, uint64_t value)
{
	h->counts[buckets_index(b, value)]++;
	h->n++;
	if (__builtin_add_overflow(h->sum, value, &h->sum))
		h->sum = UINT64_MAX;
	if (value > h->max)
		h->max = value;
}

uint64_t histogram_quantile(const struct histogram *h, const struct buckets *b, double share)
{
	double want = share * (double)h->n, before = 0;

	if (h->n == 0)
		return 0;
	for (uint32_t i = 0; i < b->n; i++) {
		double count = (double)h->counts[i];
		uint64_t low = i > 0 ? buckets_bound(b, i - 1) : 0, high = buckets_bound(b, i), value;

		if (count > 0 && before + count >= want) {
			value = low + (uint64_t)((double)(high - low) * (want - before) / count);
			return value < h->max ? value : h->max;
		}
		before += count;
	}
	return h->max;
}

void histogram_write(const struct histogram *h, const struct buckets *b, double unit,
                     const char *name, const char *labels, FILE *out)
{
	size_t bare = 0; /* the labels without the trailing comma */
	uint64_t sum = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		sum += h->counts[i];
		if (i % b->steps == 0)
			fprintf(out, "%s_bucket{%sle=\"%.10g\"} %" PRIu64 "\n", name, labels,
			        (double)buckets_bound(b, i) * unit, sum);
	}
	fprintf(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, h->n);
	while (labels[bare] && labels[bare + 1])
		bare++;
	if (bare > 0)
		fprintf(out, "%s_sum{%.*s} %.17g\n%s_count{%.*s} %" PRIu64 "\n", name, (int)bare, labels,
		        (double)h->sum * unit, name, (int)bare, labels, h->n);
	else
		fprintf(out, "%s_sum %.17g\n%s_count %" PRIu64 "\n", name, (double)h->sum * unit, name,
		        h->n);
}
