/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl latency: where the time of pods went, as muster-frontend recorded it. */
#include "ctl/live/latency.h"

#include "ctl/term/options.h"
#include "ctl/term/edge.h"
#include "ctl/term/table.h"
#include "ctl/live/http.h"
#include "ipc/clock.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 5000L
#define LAST_MOST_S 3600

struct options {
	const char *command;
	const char *listen;
	const char *svg;
	const char *trace;
	enum trace_format format;
	bool formatted;   /* --format was given */
	uint64_t last_ns; /* 0: since the start */
	bool follow;
	enum output output;
};

static bool option_last(const char *command, const char *text, void *to)
{
	uint64_t n;

	if (!option_digits(text, &n) || n < 1 || n > LAST_MOST_S) {
		ctl_usage(command, "--last \"%s\" is no number of seconds from 1 to %d", text, LAST_MOST_S);
		return false;
	}
	*(uint64_t *)to = n * NS_PER_S;
	return true;
}

static bool option_format(const char *command, const char *text, void *to)
{
	struct options *o = to;

	o->formatted = true;
	o->format = strcmp(text, "otlp") == 0 ? TRACE_OTLP : TRACE_EVENTS;
	if (o->format == TRACE_OTLP || strcmp(text, "perfetto") == 0)
		return true;
	ctl_usage(command, "--format \"%s\" is neither perfetto nor otlp", text);
	return false;
}

static const struct flag flags[] = {
	{ "listen", 0, "--listen ADDR:PORT",
	  "where muster-frontend serves /latency (default " HTTP_LISTEN ")", NULL, option_text,
	  offsetof(struct options, listen) },
	FLAG_OUTPUT(struct options, output, "the server's JSON, unchanged; times in ns"),
	{ "follow", 0, "--follow", "again each second, until interrupted", NULL, NULL,
	  offsetof(struct options, follow) },
	{ "last", 0, "--last SECONDS", "wait for SECONDS, and show only the pods placed in that time",
	  NULL, option_last, offsetof(struct options, last_ns) },
	{ "trace", 0, "--trace NAMESPACE/GANG",
	  "write the members of one gang as trace events for Perfetto or chrome://tracing instead",
	  NULL, option_text, offsetof(struct options, trace) },
	{ "format", 0, "--format FORMAT",
	  "with --trace: perfetto (the default), or otlp, the spans of OTLP/HTTP as JSON", NULL,
	  option_format, 0 },
	{ "svg", 0, "--svg FILE", "also write a picture of it; it needs nothing else", NULL,
	  option_text, offsetof(struct options, svg) },
	{ 0 },
};

/* The text goes to a terminal and into SVG: whatever either would interpret becomes "?". */
static void take_text(const cJSON *o, const char *name, char *out, size_t out_bytes)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));

	snprintf(out, out_bytes, "%s", text != NULL ? text : "");
	for (; *out; out++)
		if (*out < ' ' || *out > '~' || strchr("<>&\"", *out) != NULL)
			*out = '?';
}

static uint64_t number_of(const cJSON *value)
{
	double d = cJSON_IsNumber(value) ? value->valuedouble : 0;

	return d <= 0 ? 0 : d >= 1.8e19 ? UINT64_MAX : (uint64_t)d;
}

static uint64_t take_number(const cJSON *o, const char *name)
{
	return number_of(cJSON_GetObjectItemCaseSensitive(o, name));
}

/* Returns how many there were. */
static uint32_t take_numbers(const cJSON *array, uint64_t *out, uint32_t most)
{
	uint32_t n = 0;
	const cJSON *item;

	cJSON_ArrayForEach(item, array) if (n < most) out[n++] = number_of(item);
	return n;
}

static void take_fine(const cJSON *pairs, struct histogram *h)
{
	const cJSON *pair;

	cJSON_ArrayForEach(pair, pairs)
	{
		const uint64_t k = number_of(cJSON_GetArrayItem(pair, 0)),
					   n = number_of(cJSON_GetArrayItem(pair, 1));

		if (k > HISTOGRAM_BOUNDS_MAX)
			continue;
		h->counts[k] = n;
		h->n += n;
	}
}

static void take_stage(const cJSON *o, struct latency_stage *s)
{
	take_text(o, "stage", s->name, sizeof(s->name));
	take_text(o, "text", s->text, sizeof(s->text));
	s->n = take_number(o, "count");
	s->p50 = take_number(o, "p50");
	s->p90 = take_number(o, "p90");
	s->p99 = take_number(o, "p99");
	s->p999 = take_number(o, "p999");
	s->p9999 = take_number(o, "p9999");
	s->max = take_number(o, "max");
	take_numbers(cJSON_GetObjectItemCaseSensitive(o, "counts"), s->counts, LATENCY_OCTAVES_MAX);
	take_fine(cJSON_GetObjectItemCaseSensitive(o, "fine"), &s->fine);
}

static void take_pod(const cJSON *o, const struct latency_page *page, struct latency_pod *p)
{
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(o, "stages");

	take_text(o, "namespace", p->namespace, sizeof(p->namespace));
	take_text(o, "pod", p->name, sizeof(p->name));
	take_text(o, "gang", p->gang, sizeof(p->gang));
	take_text(o, "node", p->node, sizeof(p->node));
	p->attempts = take_number(o, "attempts");
	p->ago_ns = take_number(o, "ago");
	for (uint32_t i = 0; i < page->stages_n; i++)
		p->ns[i] = take_number(stages, page->stages[i].name);
}

static bool take_page(const char *text, size_t bytes, struct latency_page *p)
{
	cJSON *o = cJSON_ParseWithLength(text, bytes);
	const cJSON *item, *fine = cJSON_GetObjectItemCaseSensitive(o, "fine");

	memset(p, 0, sizeof(*p));
	p->fine.first = take_number(fine, "first");
	p->fine.steps = (uint32_t)take_number(fine, "steps");
	p->fine.n = (uint32_t)take_number(fine, "n");
	if (p->fine.n > HISTOGRAM_BOUNDS_MAX || p->fine.steps == 0 || p->fine.first < p->fine.steps ||
	    p->fine.first > UINT32_MAX || p->fine.n / p->fine.steps >= 32)
		p->fine = (struct buckets){ 0 };
	p->not_followed = take_number(o, "not_followed");
	p->bounds_n = take_numbers(cJSON_GetObjectItemCaseSensitive(o, "bounds"), p->bounds,
	                           LATENCY_OCTAVES_MAX - 1);
	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(o, "stages")) if (p->stages_n <
	                                                                            LATENCY_STAGES_MAX)
		take_stage(item, &p->stages[p->stages_n++]);
	cJSON_ArrayForEach(
		item, cJSON_GetObjectItemCaseSensitive(o, "slowest")) if (p->pods_n < LATENCY_STORIES_MAX)
		take_pod(item, p, &p->pods[p->pods_n++]);
	cJSON_Delete(o);
	return p->stages_n > 0 && p->bounds_n > 0;
}

/* True for the stages that each placed pod has: all but "watch", which comes after their end, and
 * "serve", which is before their beginning. */
static bool pods_have(const struct latency_page *p, uint32_t stage)
{
	return strcmp(p->stages[stage].name, "watch") != 0 &&
	       strcmp(p->stages[stage].name, "serve") != 0;
}

static bool any_placed(const struct latency_page *p)
{
	for (uint32_t i = 0; i < p->stages_n; i++)
		if (p->stages[i].n > 0 && pods_have(p, i))
			return true;
	return false;
}

static void print_stages(const struct latency_page *p)
{
	static const char *const heads[] = { "STAGE", "PODS",   "P50", "P90", "P99",
		                                 "P99.9", "P99.99", "MAX", "" };
	struct text_table *t = text_table_new("LRRRRRRRL");
	char room[16];

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		text_table_cell(t, "%s", heads[i]);
	for (uint32_t i = 0; i < p->stages_n; i++) {
		const struct latency_stage *s = &p->stages[i];
		const uint64_t ns[] = { s->p50, s->p90, s->p99, s->p999, s->p9999, s->max };

		text_table_cell(t, "%s", s->name);
		text_table_cell(t, "%" PRIu64, s->n);
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++)
			text_table_cell(t, "%s", s->n > 0 ? latency_time(ns[k], room) : "-");
		text_table_cell(t, "%s", s->text);
	}
	text_table_cut(t, edge_columns(stdout), NULL, NULL);
	text_table_print(t, stdout);
	text_table_free(t);
}

static void print_pods(const struct latency_page *p)
{
	char columns[LATENCY_STAGES_MAX + 8] = "LLLRR", room[16];
	struct text_table *t;

	for (uint32_t i = 0; i < p->stages_n; i++)
		if (pods_have(p, i))
			strcat(columns, "R");
	t = text_table_new(columns);
	text_table_cell(t, "SLOWEST PODS");
	text_table_cell(t, "GANG");
	text_table_cell(t, "NODE");
	text_table_cell(t, "AGO");
	text_table_cell(t, "ATTEMPTS");
	for (uint32_t i = 0; i < p->stages_n; i++)
		if (pods_have(p, i))
			text_table_cell(t, "%s", p->stages[i].name);
	for (uint32_t k = 0; k < p->pods_n; k++) {
		const struct latency_pod *pod = &p->pods[k];

		text_table_cell(t, "%s/%s", pod->namespace, pod->name);
		text_table_cell(t, "%s", *pod->gang ? pod->gang : "-");
		text_table_cell(t, "%s", pod->node);
		text_table_cell(t, "%s", latency_time(pod->ago_ns, room));
		text_table_cell(t, "%" PRIu64, pod->attempts);
		for (uint32_t i = 0; i < p->stages_n; i++)
			if (pods_have(p, i))
				text_table_cell(t, "%s", latency_time(pod->ns[i], room));
	}
	text_table_cut(t, edge_columns(stdout), NULL, NULL);
	text_table_print(t, stdout);
	text_table_free(t);
}

static void print_page(const struct latency_page *p, bool blocks)
{
	print_stages(p);
	if (p->not_followed > 0)
		printf("\n%" PRIu64 " pod%s not followed: too many at once.\n", p->not_followed,
		       p->not_followed == 1 ? " was" : "s were");
	if (!any_placed(p)) {
		puts("\nNothing was placed yet.");
		return;
	}
	putchar('\n');
	latency_plot(p, blocks, stdout);
	if (p->pods_n == 0)
		return;
	putchar('\n');
	print_pods(p);
}

static bool write_svg(const struct options *o, const struct latency_page *p)
{
	FILE *out = fopen(o->svg, "we");

	if (out != NULL) {
		latency_svg(p, out);
		if (ferror(out) == 0 && fclose(out) == 0)
			return true;
	}
	ctl_usage(o->command, "%s: %s", o->svg, strerror(errno));
	return false;
}

static int fetch(const struct options *o, const char *path, struct bytes *body)
{
	char error[800], url[1200];

	http_url(o->listen, path, url, sizeof(url));
	if (!http_get(url, TIMEOUT_MS, false, body, error, sizeof(error)))
		return ctl_usage(o->command, "%s; is muster-frontend there? See --listen", error);
	return EXIT_DONE;
}

static int read_page(const struct options *o, struct bytes *body, struct latency_page *page)
{
	int code = fetch(o, "/latency", body);

	if (code == EXIT_DONE && !take_page(body->at, body->n, page))
		return ctl_usage(o->command, "%s: the answer is not muster-frontend's", o->listen);
	return code;
}

static int trace(const struct options *o, struct bytes *body)
{
	char path[600];
	int code;

	if (strspn(o->trace, "abcdefghijklmnopqrstuvwxyz0123456789-./") != strlen(o->trace) ||
	    !strchr(o->trace, '/') || strlen(o->trace) > 500)
		return ctl_usage(o->command, "--trace \"%s\" is no NAMESPACE/GANG", o->trace);
	snprintf(path, sizeof(path), "/gang.json?name=%s", o->trace);
	code = fetch(o, path, body);
	if (code != EXIT_DONE)
		return code;
	code = latency_trace(body->at, body->n, o->format, stdout) > 0 ? EXIT_DONE : EXIT_NO;
	return ctl_flush(o->command) ? code : EXIT_USAGE;
}

static int show(const struct options *o, bool blocks, struct bytes *body)
{
	static struct latency_page page, before; /* too large for a stack */
	int code = o->last_ns > 0 ? read_page(o, body, &before) : EXIT_DONE;

	if (code != EXIT_DONE)
		return code;
	if (o->last_ns > 0)
		sleep((unsigned)(o->last_ns / NS_PER_S));
	code = read_page(o, body, &page);
	if (code != EXIT_DONE)
		return code;
	if (o->last_ns > 0 && !latency_since(&page, &before, o->last_ns))
		return ctl_usage(o->command, "%s: muster-frontend was started meanwhile, or is too old",
		                 o->listen);
	if (o->svg != NULL && !write_svg(o, &page))
		return EXIT_USAGE;
	if (o->output == OUTPUT_JSON) {
		fwrite(body->at, 1, body->n, stdout);
	} else {
		if (o->follow && isatty(STDOUT_FILENO))
			fputs("\033[H\033[J", stdout);
		print_page(&page, blocks);
	}
	if (!ctl_flush(o->command))
		return EXIT_USAGE;
	return any_placed(&page) ? EXIT_DONE : EXIT_NO;
}

static int run(int argc, char **argv)
{
	struct bytes body = { 0 };
	struct options o = { .command = argv[0], .listen = HTTP_LISTEN };
	int code = command_read_flags(&latency_command, argc, argv, &o);
	bool blocks;

	if (code >= 0)
		return code;
	setlocale(LC_CTYPE, "");
	blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (o.last_ns > 0 && o.output == OUTPUT_JSON)
		return ctl_usage(o.command, "-o json is the server's own answer: no --last");
	if (o.formatted && !o.trace)
		return ctl_usage(o.command, "--format is that of --trace");
	if (o.trace) {
		code = trace(&o, &body);
		bytes_free(&body);
		return code;
	}
	while ((code = show(&o, blocks, &body)) != EXIT_USAGE && o.follow) {
		if (!isatty(STDOUT_FILENO) && o.output == OUTPUT_TEXT)
			putchar('\n');
		if (o.last_ns == 0)
			sleep(1);
	}
	bytes_free(&body);
	return code;
}

const struct command latency_command = {
	.name = "latency",
	.summary = "where the time of pods went, stage by stage",
	.usage =
		"[--listen ADDR:PORT] [-o json] [--last SECONDS] [--follow] [--svg FILE]\n"
		"musterctl latency --trace NAMESPACE/GANG [--format perfetto|otlp] [--listen ADDR:PORT]",
	.about =
		"How long each stage took for the pods that the live scheduler placed: percentiles, from\n"
		"the bytes of the watch to the watch that shows the pod bound, their distribution,\n"
		"and the slowest pods of the last minutes, each with its own stages.\n",
	.exits = "0 done, 1 nothing was placed yet, 2 usage, or no answer.",
	.flags = flags,
	.run = run,
};
