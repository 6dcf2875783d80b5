/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl queues: what each queue has, of a live scheduler or of files. */
#include "ctl/live/live.h"
#include "ctl/offline/evictions.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/queues.h"
#include "ctl/offline/queues_import.h"
#include "ctl/offline/queues_row.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"
#include "frontend/queues/queues.h"
#include "ipc/queue_names.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct live live;
	struct arguments files, unshared;
	const char *source;
	struct evictions_flags evictions;
	bool order;
};

static int64_t amount_of(const struct queue_amounts *a, int row)
{
	switch (row) {
	case 0:
		return a->guarantee;
	case 1:
		return a->reserved;
	case 2:
		return a->limit;
	case 3:
		return a->used;
	case 4:
		return a->asked;
	case 5:
		return a->history;
	default:
		return a->used > a->guarantee ? a->used - a->guarantee : 0;
	}
}

static bool has_history(const struct live *l, const struct queue_copy *q)
{
	bool has = false;

	for (uint32_t r = 0; r < l->observer.places.limits.resources; r++)
		has = has || q->amounts[r].history > 0 || q->amounts[r].history_part > 0;
	return has;
}

static void add_amounts(cJSON *o, const struct live *l, const struct queue_copy *q)
{
	static const char *const rows[] = { "guarantee", "reserved", "limit",  "used",
		                                "asked",     "history",  "borrows" };

	for (int row = 0; row < 7; row++) {
		cJSON *amounts;

		if (row == 5 && !has_history(l, q))
			continue;
		amounts = json_checked(cJSON_AddObjectToObject(o, rows[row]));
		for (uint32_t r = 0; r < l->observer.places.limits.resources; r++) {
			const int64_t value = amount_of(&q->amounts[r], row);

			if (row == 2 ? value != QUEUE_NO_LIMIT : value != 0)
				json_add_number(amounts, live_name(l, r), value);
		}
	}
}

static void add_first(cJSON *o, const struct live *l, const struct queue_names *names,
                      const struct queue_row *q)
{
	static const char *const by[QUEUE_BYS] = { "",      "limit",   "limit", "kept",
		                                       "state", "missing", "two",   "children",
		                                       "fifo",  "parked",  "run" };
	struct gang_copy copy = { .row.reason = { .why = q->why,
		                                      .queue_by = q->by,
		                                      .queue = q->at,
		                                      .queue_run_s = (uint32_t)q->need,
		                                      .queue_most_s = (uint32_t)q->have,
		                                      .shortfalls_n = 1,
		                                      .shortfalls = { { .resource = q->resource,
		                                                        .need = q->need,
		                                                        .have = q->have } } } };
	const struct queue_name *refuses = queue_names_find(names, q->at);
	cJSON *blocked;
	char *text, *path;

	if (q->first[0] == '\0')
		return;
	json_add_text(o, "first", q->first);
	if (q->why != WAIT_QUEUE || q->by >= QUEUE_BYS)
		return;
	copy.row.reason.queue_state = refuses ? refuses->state : 0;
	copy.row.dialect = UINT32_MAX;
	text = live_reason(l, &copy);
	json_add_text(o, "reason", text);
	free(text);
	blocked = json_checked(cJSON_AddObjectToObject(o, "blocked"));
	json_add_text(blocked, "by", by[q->by]);
	if (refuses) {
		path = queue_names_path(names, q->at, NULL);
		json_add_text(blocked, "at", path);
		free(path);
	}
	if (q->by == QUEUE_BY_RUN) {
		json_add_number(blocked, "need_s", q->need);
		json_add_number(blocked, "have_s", q->have);
	}
	if (q->by != QUEUE_BY_LIMIT && q->by != QUEUE_BY_NEVER && q->by != QUEUE_BY_KEPT)
		return;
	json_add_text(blocked, "resource", live_name(l, q->resource));
	json_add_text(blocked, "unit", units_of(q->resource, live_name(l, q->resource)));
	json_add_number(blocked, "need", q->need);
	json_add_number(blocked, "have", q->have);
}

static cJSON *item_of(const struct live *l, const struct queue_names *names, uint32_t id,
                      const struct queue_copy *copy)
{
	static const char *const states[QUEUE_STATES] = { "Open", "Closing", "Closed" };
	const struct queue_row *q = &copy->row;
	cJSON *o = json_checked(cJSON_CreateObject());
	char *path = queue_names_path(names, id, NULL);

	json_add_text(o, "queue", path);
	free(path);
	json_add_text(o, "source", q->source < QUEUE_SOURCES ? queue_sources[q->source] : "unknown");
	json_add_text(o, "state",
	              q->flags & QUEUE_ROW_PARKED ? "Parked" : states[q->state % QUEUE_STATES]);
	add_amounts(o, l, copy);
	json_add_number(o, "min_run_s", q->min_run_s);
	json_add_number(o, "max_run_s", q->max_run_s);
	json_checked(cJSON_AddBoolToObject(o, "scaled", (q->flags & QUEUE_ROW_SCALED) != 0));
	if (q->share == QUEUE_SHARE_INFINITE) {
		json_checked(cJSON_AddNullToObject(o, "share"));
	} else {
		char share[40];

		snprintf(share, sizeof(share), "%.6g", (double)q->share / (double)QUEUE_SHARE_ONE);
		json_checked(cJSON_AddRawToObject(o, "share", share));
	}
	json_add_number(o, "waiting", q->waiting);
	json_add_number(o, "placed", q->placed);
	add_first(o, l, names, q);
	return o;
}

static int path_compare(const void *a, const void *b)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(*(cJSON *const *)a, "queue");
	const cJSON *y = cJSON_GetObjectItemCaseSensitive(*(cJSON *const *)b, "queue");

	return strcmp(x->valuestring, y->valuestring);
}

static bool is_named(const char *path, const char *wanted)
{
	const char *slash = strrchr(path, '/');

	return wanted == NULL || strcmp(path, wanted) == 0 ||
	       (slash != NULL && strcmp(slash + 1, wanted) == 0);
}

/* By their paths: each below its parent. */
static cJSON *list(struct live *l, const char *wanted)
{
	struct queue_names names = queue_names_read(&l->observer);
	struct queue_copy *copy = must_alloc(sizeof(*copy));
	cJSON **sorted = must_array(names.n + 1u, sizeof(*sorted)),
		  *items = json_checked(cJSON_CreateArray());
	size_t n = 0;

	for (uint32_t id = 0; id < names.n; id++)
		if (queue_names_find(&names, id) && observe_queue(&l->observer, id, copy))
			sorted[n++] = item_of(l, &names, id, copy);
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), path_compare);
	for (size_t i = 0; i < n; i++) {
		if (is_named(cJSON_GetObjectItemCaseSensitive(sorted[i], "queue")->valuestring, wanted))
			cJSON_AddItemToArray(items, sorted[i]);
		else
			cJSON_Delete(sorted[i]);
	}
	free(sorted);
	free(copy);
	queue_names_free(&names);
	if (wanted == NULL || items->child != NULL)
		return items;
	fprintf(stderr, "%s: no queue named %s\n", l->command, wanted);
	cJSON_Delete(items);
	return NULL;
}

static const struct list_kind kind = {
	.items = "queues",
	.name = "queue",
	.ignored = (const char *const[]){ NULL },
	.optional = (const char *const[]){ "first", "reason", "blocked", NULL },
	.none =
		"No queues found: muster-frontend --queues names where they come from (docs/fairness.md).",
	.row = queues_row,
	.heads = queues_heads,
	.wide_heads = (const char *const[]){ "RESERVED", "ASKED", "BORROWS", "HISTORY", "MINRUN",
	                                     "MAXRUN", NULL },
	.right = "LLLLLLRRRLLLLLRR",
	.spare = queues_spare,
};

static const struct flag flags[] = {
	FLAG_FILES(struct options, files),
	{ "queues", 0, "--queues SOURCE", "with -f: " QUEUES_HELP, NULL, option_text,
	  offsetof(struct options, source) },
	FLAG_UNSHARED(struct options, unshared),
	FLAGS_EVICTIONS(struct options, evictions),
	{ "order", 0, "--order",
	  "with -f: the next 20 of the gangs that wait, in the order of their turns", NULL, NULL,
	  offsetof(struct options, order) },
	FLAG_SOCKET(struct options, live.socket),
	LIST_FLAGS(struct options, live.list),
	{ 0 },
};

static int run_live(struct options *o, const char *argument, const char *command)
{
	int rc;

	o->live.command = command;
	rc = live_open(&o->live);
	if (rc != EXIT_DONE)
		return rc;
	rc = live_list(&o->live, &kind, argument, list);
	live_close(&o->live);
	return rc;
}

static enum output output_of(enum list_form form)
{
	return form == LIST_JSON ? OUTPUT_JSON : form == LIST_WIDE ? OUTPUT_WIDE : OUTPUT_TEXT;
}

/* "import SOURCE FILE"; a queue may be named import. */
static bool imports(int argc, char **argv)
{
	return argc - optind == 3 && strcmp(argv[optind], "import") == 0;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	int rc = command_read_flags(&queues_command, argc, argv, &o);
	uint32_t evicts = 0;
	const bool of_files = o.files.n > 0 || o.source != NULL;

	if (rc == -1 && !of_files && imports(argc, argv))
		return queues_import(argv[optind + 1], argv[optind + 2], argv[0]);
	for (int i = optind; rc == -1 && of_files && i < argc; i++)
		arguments_add(&o.files, argv[i]);
	if (rc == -1 && of_files && (o.files.n == 0 || o.source == NULL))
		rc = ctl_usage(argv[0], "-f FILE and --queues SOURCE go together; see %s --help", argv[0]);
	if (rc == -1 && of_files && o.live.list.form > LIST_JSON)
		rc = ctl_usage(argv[0], "of files -o json and wide are the other forms of output");
	if (rc == -1 && o.order && !of_files)
		rc = ctl_usage(argv[0], "--order: -f FILE is missing");
	if (rc == -1 && o.unshared.n > 0 && !of_files)
		rc = ctl_usage(argv[0], "--unshared-resource: -f FILE is missing");
	if (rc == -1 && !evictions_read(&o.evictions, of_files, argv[0], &evicts))
		rc = EXIT_USAGE;
	if (rc == -1 && of_files)
		rc = queues_files(&o.files, o.source, &o.unshared, evicts, o.order,
		                  output_of(o.live.list.form), argv[0]);
	if (rc == -1 && argc - optind > 1)
		rc = ctl_usage(argv[0], "one QUEUE at most");
	if (rc == -1)
		rc = run_live(&o, optind < argc ? argv[optind] : NULL, argv[0]);
	free(o.files.at);
	free(o.unshared.at);
	return rc;
}

const struct command queues_command = {
	.name = "queues",
	.summary = "what each queue has, live or once files are placed",
	.usage =
		"[QUEUE] [-o FORM] [--sort-by .FIELD] [--no-headers] [-w] [--socket PATH]\n"
		"       musterctl queues -f FILE... --queues SOURCE\n"
		"                        [--preemption on [--reclaim guarantee|fair]] [--order] [-o json]\n"
		"       musterctl queues import yunikorn FILE",
	.about =
		"What each queue of the live scheduler is guaranteed, uses and may use, its share (0: inside\n"
		"its guarantee), how many gangs and lone pods wait and run in it, and the first one that\n"
		"waits, with the reason.  With -f: the same once everything pending in these objects was\n"
		"placed, as simulate --queues does. In JSON cpu is in milli, memory in bytes.\n"
		"\n"
		"import: prints the queues of YuniKorn's queues.yaml, or of a ConfigMap with it, as a file for\n"
		"--queues config, and in comments what muster has no field for.  Nothing is sent anywhere.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.argument = "QUEUE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
