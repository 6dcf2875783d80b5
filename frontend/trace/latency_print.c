/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json/jsonout.h"
#include "frontend/trace/latency.h"

/* Ends `counts`; then the buckets that are not empty, for differences of two reads. */
static void fine_write(struct jsonout *out, const struct histogram *h)
{
	const char *separator = "],\"fine\":[";

	for (uint32_t k = 0; k <= buckets_fine.n; k++) {
		if (h->counts[k] == 0)
			continue;
		jsonout_add(out, "@r[@u,@u]", separator, (unsigned long long)k,
		            (unsigned long long)h->counts[k]);
		separator = ",";
	}
	jsonout_add(out, "@r]", *separator == ']' ? separator : "");
}

static void stages_write(struct jsonout *out, const struct latency_figures *f)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = {
		{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p999", 0.999 }, { "p9999", 0.9999 }
	};

	for (int i = 0; i < STAGES; i++) {
		const struct histogram *h = &f->stages[i];
		unsigned long long octave = 0;

		jsonout_add(out, "@r{\"stage\":@s,\"text\":@s,\"count\":@u,\"sum\":@u", i > 0 ? "," : "",
		            stage_names[i], stage_texts[i], (unsigned long long)h->n,
		            (unsigned long long)h->sum);
		for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++)
			jsonout_add(out, ",@s:@u", shares[k].name,
			            (unsigned long long)histogram_quantile(h, &buckets_fine, shares[k].share));
		jsonout_add(out, ",\"max\":@u,\"counts\":[", (unsigned long long)h->max);
		for (uint32_t k = 0; k <= buckets_fine.n; k++) {
			octave += h->counts[k];
			if (k % buckets_fine.steps != 0 && k < buckets_fine.n)
				continue;
			jsonout_add(out, "@r@u", k > 0 ? "," : "", octave);
			octave = 0;
		}
		fine_write(out, h);
		jsonout_add(out, "}");
	}
}

static void story_write(struct jsonout *out, const struct latency_story *s, uint64_t now_ns,
                        bool first)
{
	jsonout_add(
		out,
		"@r{\"namespace\":@s,\"pod\":@s,\"gang\":@s,\"node\":@s,\"attempts\":@u,\"ago\":@u,\"stages\":{",
		first ? "" : ",", s->namespace, s->name, s->gang, s->node, (unsigned long long)s->tries,
		(unsigned long long)(now_ns - s->ended_ns));
	for (int i = 0; i < STAGES; i++)
		if (i != STAGE_WATCH && i != STAGE_SERVE)
			jsonout_add(out, "@r@s:@u", i > 0 ? "," : "", stage_names[i],
			            (unsigned long long)s->ns[i]);
	jsonout_add(out, "}}");
}

/* Of both windows, slowest first. */
static void slowest_write(struct jsonout *out, const struct latency_figures *f, uint64_t now_ns)
{
	const struct latency_slowest *a = &f->slowest[0], *b = &f->slowest[1];
	uint32_t i = 0, k = 0;

	while (i + k < LATENCY_SLOWEST && (i < a->n || k < b->n)) {
		bool older = i == a->n || (k < b->n && b->at[k].ns[STAGE_OURS] > a->at[i].ns[STAGE_OURS]);

		story_write(out, older ? &b->at[k] : &a->at[i], now_ns, i + k == 0);
		if (older)
			k++;
		else
			i++;
	}
}

void latency_write(const struct latency_figures *f, uint64_t now_ns, FILE *to)
{
	struct jsonout out = { 0 };

	jsonout_add(&out, "{\"unit\":\"ns\",\"not_followed\":@u,\"notFollowed\":@u,\"bounds\":[",
	            (unsigned long long)f->not_followed, /* its former name; CHANGELOG.md */
	            (unsigned long long)f->not_followed);
	for (uint32_t i = 0; i < buckets_fine.n; i += buckets_fine.steps)
		jsonout_add(&out, "@r@u", i > 0 ? "," : "",
		            (unsigned long long)buckets_bound(&buckets_fine, i));
	jsonout_add(&out, "],\"fine\":{\"first\":@u,\"steps\":@u,\"n\":@u},\"stages\":[",
	            (unsigned long long)buckets_fine.first, (unsigned long long)buckets_fine.steps,
	            (unsigned long long)buckets_fine.n);
	stages_write(&out, f);
	jsonout_add(&out, "],\"slowest\":[");
	slowest_write(&out, f, now_ns);
	jsonout_add(&out, "]}\n");
	fwrite(out.at, 1, out.bytes, to);
	jsonout_free(&out);
}
