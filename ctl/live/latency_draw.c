/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/latency.h"

#include <inttypes.h>

#define BAR 3 /* columns of an octave */

const char *latency_time(uint64_t ns, char out[16])
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	size_t i = 0;
	double value;

	while (i < 3 && ns < units[i].ns)
		i++;
	value = (double)ns / (double)units[i].ns;
	snprintf(out, 16, "%.*f%s", value < 9.95 && i < 3 ? 1 : 0, value, units[i].unit);
	return out;
}

/* The octaves in use by any stage: [*first, *last]. False: none. */
static bool octaves(const struct latency_page *p, uint32_t *first, uint32_t *last)
{
	bool any = false;

	for (uint32_t i = 0; i <= p->bounds_n; i++)
		for (uint32_t s = 0; s < p->stages_n; s++)
			if (p->stages[s].counts[i] > 0) {
				*first = any ? *first : i;
				*last = i;
				any = true;
			}
	return any;
}

static uint64_t highest(const struct latency_stage *s, uint32_t n)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		most = s->counts[i] > most ? s->counts[i] : most;
	return most;
}

/* A count above 0 is visible, however small. */
static unsigned height(uint64_t count, uint64_t most, unsigned steps)
{
	return count == 0 ? 0 : 1 + (unsigned)((double)count * (steps - 1) / (double)most);
}

static const char *octave_name(const struct latency_page *p, uint32_t i, char room[16])
{
	if (i < p->bounds_n)
		return latency_time(p->bounds[i], room);
	return "more";
}

void latency_plot(const struct latency_page *p, bool blocks, FILE *out)
{
	static const char *const fine[] = { " ",      "\u2581", "\u2582", "\u2583", "\u2584",
		                                "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char *const plain[] = { " ", ".", ":", "-", "=", "+", "*", "%", "#" };
	const char *const *bars = blocks ? fine : plain;
	uint32_t first = 0, last = 0;
	char room[16];

	if (!octaves(p, &first, &last))
		return;
	fprintf(out, "%-8s ", "up to");
	for (uint32_t i = first; i <= last; i += 3)
		fprintf(out, "%-*s", 3 * BAR, octave_name(p, i, room));
	fputc('\n', out);
	for (uint32_t s = 0; s < p->stages_n; s++) {
		const struct latency_stage *stage = &p->stages[s];
		uint64_t most = highest(stage, p->bounds_n + 1);

		fprintf(out, "%-8s ", stage->name);
		for (uint32_t i = first; i <= last; i++)
			for (int k = 0; k < BAR; k++)
				fputs(bars[height(stage->counts[i], most, 8)], out);
		fputc('\n', out);
	}
}

enum { LEFT = 90, TOP = 46, ROW = 58, BARS = 40, OCTAVE = 24 };

static void svg_stage(const struct latency_page *p, uint32_t s, uint32_t first, uint32_t last,
                      FILE *out)
{
	const struct latency_stage *stage = &p->stages[s];
	uint64_t most = highest(stage, p->bounds_n + 1);
	int base = TOP + (int)s * ROW + BARS, right = LEFT + (int)(last - first + 1) * OCTAVE;
	char t[5][16];

	fprintf(
		out,
		"<text class=\"n\" x=\"%d\" y=\"%d\">%s</text>\n<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
		LEFT - 10, base - 4, stage->name, LEFT, base, right, base);
	for (uint32_t i = first; i <= last; i++) {
		unsigned high = height(stage->counts[i], most, BARS);

		if (high > 0)
			fprintf(out,
			        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%u\"><title>%" PRIu64
			        "</title></rect>\n",
			        LEFT + (int)(i - first) * OCTAVE + 1, base - (int)high, OCTAVE - 2, high,
			        stage->counts[i]);
	}
	fprintf(out, "<text x=\"%d\" y=\"%d\">p50 %s  p90 %s  p99 %s  p99.9 %s  max %s</text>\n",
	        right + 14, base - 4, latency_time(stage->p50, t[0]), latency_time(stage->p90, t[1]),
	        latency_time(stage->p99, t[2]), latency_time(stage->p999, t[3]),
	        latency_time(stage->max, t[4]));
}

void latency_svg(const struct latency_page *p, FILE *out)
{
	uint32_t first = 0, last = 0;
	int bottom = TOP + (int)p->stages_n * ROW;
	char room[16];

	octaves(p, &first, &last);
	fprintf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n"
		"<style>svg{background:#fff}text{font:12px sans-serif;fill:#333;white-space:pre}.n{text-anchor:end;font-weight:bold}"
		".a{text-anchor:middle;font-size:10px}rect{fill:#3b6ea8}line{stroke:#bbb}</style>\n"
		"<text x=\"10\" y=\"22\" font-weight=\"bold\">muster: where the time of %" PRIu64
		" pods went</text>\n",
		LEFT + (int)(last - first + 1) * OCTAVE + 400, bottom + 30,
		p->stages_n > 0 ? p->stages[0].n : 0);
	for (uint32_t s = 0; s < p->stages_n; s++)
		svg_stage(p, s, first, last, out);
	for (uint32_t i = first; i <= last; i += 2)
		fprintf(out, "<text class=\"a\" x=\"%d\" y=\"%d\">%s</text>\n",
		        LEFT + (int)(i - first + 1) * OCTAVE, bottom + 4, octave_name(p, i, room));
	fputs("</svg>\n", out);
}
