/* SPDX-License-Identifier: Apache-2.0 */
/* The page /latency of a muster-frontend, and how musterctl latency draws it. */
#ifndef MUSTER_CTL_LATENCY_H
#define MUSTER_CTL_LATENCY_H

#include "frontend/base/histogram.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LATENCY_STAGES_MAX 16
#define LATENCY_OCTAVES_MAX 40
#define LATENCY_STORIES_MAX 32

struct latency_stage {
	char name[32], text[96];
	uint64_t n, p50, p90, p99, p999, p9999, max; /* ns */
	uint64_t counts[LATENCY_OCTAVES_MAX];        /* by octave; the last one is above all bounds */
	struct histogram fine;                       /* `n` 0: an older server does not tell it */
};

struct latency_pod {
	char namespace[64], name[256], gang[256], node[256];
	uint64_t attempts, ago_ns;
	uint64_t ns[LATENCY_STAGES_MAX]; /* by stage; 0: it has none */
};

struct latency_page {
	uint32_t stages_n, bounds_n, pods_n;
	uint64_t not_followed;
	uint64_t bounds[LATENCY_OCTAVES_MAX]; /* ns; one fewer than counts */
	struct buckets fine;
	struct latency_stage stages[LATENCY_STAGES_MAX];
	struct latency_pod pods[LATENCY_STORIES_MAX];
};

/* Makes `p`, which was read after `before`, the page of the time between.  The maximum is then the
 * bound of a bucket, an eighth too large at most.  False: there is no difference, since the server
 * is older or was started between. */
bool latency_since(struct latency_page *p, const struct latency_page *before, uint64_t ns);

enum trace_format { TRACE_EVENTS, TRACE_OTLP };

/* Writes the answer of /gang.json as trace events (Chrome, Perfetto): a track for each member, a
 * slice for each stage, from the first member's read on; or as spans (OTLP/HTTP, JSON): the gang,
 * in it the members, in these their stages.  Returns how many members have times. */
uint32_t latency_trace(const char *text, size_t bytes, enum trace_format format, FILE *out);

/* "850ns", "1.2us", "35ms", "12s": at most 6 characters.  Returns out. */
const char *latency_time(uint64_t ns, char out[16]);

/* A line of bars for each stage, of block characters or of ASCII. */
void latency_plot(const struct latency_page *p, bool blocks, FILE *out);
/* The same and the percentiles as an SVG that refers to nothing else. */
void latency_svg(const struct latency_page *p, FILE *out);

#endif
