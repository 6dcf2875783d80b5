/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of an interval: the difference of two reads of the histograms. */
#include "ctl/live/latency.h"

#include <string.h>

static bool stage_since(struct latency_stage *s, const struct latency_stage *before,
                        const struct buckets *b)
{
	uint32_t highest = 0;

	if (s->n < before->n || (s->n > 0 && s->fine.n != s->n))
		return false;
	s->fine.max = s->max;
	for (uint32_t k = 0; k <= b->n; k++) {
		if (s->fine.counts[k] < before->fine.counts[k])
			return false;
		s->fine.counts[k] -= before->fine.counts[k];
		if (s->fine.counts[k] > 0)
			highest = k;
	}
	for (uint32_t k = 0; k < LATENCY_OCTAVES_MAX; k++)
		s->counts[k] -= before->counts[k];
	s->n -= before->n;
	s->fine.n = s->n;
	if (highest < b->n && buckets_bound(b, highest) < s->fine.max)
		s->fine.max = buckets_bound(b, highest);
	s->max = s->n > 0 ? s->fine.max : 0;
	s->p50 = histogram_quantile(&s->fine, b, 0.5);
	s->p90 = histogram_quantile(&s->fine, b, 0.9);
	s->p99 = histogram_quantile(&s->fine, b, 0.99);
	s->p999 = histogram_quantile(&s->fine, b, 0.999);
	s->p9999 = histogram_quantile(&s->fine, b, 0.9999);
	return true;
}

bool latency_since(struct latency_page *p, const struct latency_page *before, uint64_t ns)
{
	uint32_t pods_n = 0;

	if (p->stages_n != before->stages_n || p->fine.n == 0 ||
	    memcmp(&p->fine, &before->fine, sizeof(p->fine)) != 0 ||
	    p->not_followed < before->not_followed)
		return false;
	for (uint32_t i = 0; i < p->stages_n; i++)
		if (!stage_since(&p->stages[i], &before->stages[i], &p->fine))
			return false;
	p->not_followed -= before->not_followed;
	for (uint32_t i = 0; i < p->pods_n; i++)
		if (p->pods[i].ago_ns <= ns)
			p->pods[pods_n++] = p->pods[i];
	p->pods_n = pods_n;
	return true;
}
