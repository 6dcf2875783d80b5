/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl queues: what each queue has, of a live scheduler or of files. */
#include "ctl/live/live.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/queues.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"
#include "frontend/queues/queues.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct live live;
	struct arguments files;
	const char *source;
};

/* Of ids, as far as there are pages. */
struct tree {
	struct queue_copy *at;
	uint32_t n;
};

static struct tree tree_read(const struct live *l)
{
	struct tree t = { .n = observe_queues_there(&l->observer) };

	t.at = must_array(t.n + 1u, sizeof(*t.at));
	for (uint32_t id = 0; id < t.n; id++)
		if (!observe_queue(&l->observer, id, &t.at[id]))
			t.at[id].row.there = 0;
	return t;
}

static const struct queue_copy *queue_at(const struct tree *t, uint32_t id)
{
	return id < t->n && t->at[id].row.there ? &t->at[id] : NULL;
}

/* "root/eng/a", to be freed; a queue that is parked has no way to the root. */
static char *path_of(const struct tree *t, uint32_t id)
{
	char *path = must_copy(t->at[id].row.name);

	for (uint32_t depth = 0; id != QUEUE_ROOT && depth <= QUEUE_DEPTH_MAX; depth++) {
		const struct queue_copy *parent;
		char *longer;

		id = t->at[id].row.parent;
		parent = queue_at(t, id);
		if (!parent)
			break;
		longer = ctl_print("%s/%s", parent->row.name, path);
		free(path);
		path = longer;
	}
	return path;
}

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
	default:
		return a->used > a->guarantee ? a->used - a->guarantee : 0;
	}
}

static void add_amounts(cJSON *o, const struct live *l, const struct queue_copy *q)
{
	static const char *const rows[] = {
		"guarantee", "reserved", "limit", "used", "asked", "borrows"
	};

	for (int row = 0; row < 6; row++) {
		cJSON *amounts = json_checked(cJSON_AddObjectToObject(o, rows[row]));

		for (uint32_t r = 0; r < l->observer.places.limits.resources; r++) {
			const int64_t value = amount_of(&q->amounts[r], row);

			if (row == 2 ? value != QUEUE_NO_LIMIT : value != 0)
				json_add_number(amounts, live_name(l, r), value);
		}
	}
}

static void add_first(cJSON *o, const struct live *l, const struct tree *t,
                      const struct queue_row *q)
{
	static const char *const by[QUEUE_BYS] = { "",        "limit", "limit",    "kept", "state",
		                                       "missing", "two",   "children", "fifo", "parked" };
	struct gang_copy copy = { .row.reason = { .why = q->why,
		                                      .queue_by = q->by,
		                                      .queue = q->at,
		                                      .shortfalls_n = 1,
		                                      .shortfalls = { { .resource = q->resource,
		                                                        .need = q->need,
		                                                        .have = q->have } } } };
	cJSON *blocked;
	char *text, *path;

	if (q->first[0] == '\0')
		return;
	json_add_text(o, "first", q->first);
	if (q->why != WAIT_QUEUE || q->by >= QUEUE_BYS)
		return;
	copy.row.reason.queue_state = q->at < t->n ? t->at[q->at].row.state : 0;
	copy.row.dialect = UINT32_MAX;
	text = live_reason(l, &copy);
	json_add_text(o, "reason", text);
	free(text);
	blocked = json_checked(cJSON_AddObjectToObject(o, "blocked"));
	json_add_text(blocked, "by", by[q->by]);
	if (queue_at(t, q->at)) {
		path = path_of(t, q->at);
		json_add_text(blocked, "at", path);
		free(path);
	}
	if (q->by != QUEUE_BY_LIMIT && q->by != QUEUE_BY_NEVER && q->by != QUEUE_BY_KEPT)
		return;
	json_add_text(blocked, "resource", live_name(l, q->resource));
	json_add_number(blocked, "need", q->need);
	json_add_number(blocked, "have", q->have);
}

static cJSON *item_of(const struct live *l, const struct tree *t, uint32_t id)
{
	static const char *const states[QUEUE_STATES] = { "Open", "Closing", "Closed" };
	const struct queue_row *q = &t->at[id].row;
	cJSON *o = json_checked(cJSON_CreateObject());
	char *path = path_of(t, id);

	json_add_text(o, "queue", path);
	free(path);
	json_add_text(o, "source", q->source < QUEUE_SOURCES ? queue_sources[q->source] : "unknown");
	json_add_text(o, "state",
	              q->flags & QUEUE_ROW_PARKED ? "Parked" : states[q->state % QUEUE_STATES]);
	add_amounts(o, l, &t->at[id]);
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
	add_first(o, l, t, q);
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
	struct tree t = tree_read(l);
	cJSON **sorted = must_array(t.n + 1u, sizeof(*sorted)),
		  *items = json_checked(cJSON_CreateArray());
	size_t n = 0;

	for (uint32_t id = 0; id < t.n; id++)
		if (queue_at(&t, id))
			sorted[n++] = item_of(l, &t, id);
	if (n > 1)
		qsort(sorted, n, sizeof(*sorted), path_compare);
	for (size_t i = 0; i < n; i++) {
		if (is_named(cJSON_GetObjectItemCaseSensitive(sorted[i], "queue")->valuestring, wanted))
			cJSON_AddItemToArray(items, sorted[i]);
		else
			cJSON_Delete(sorted[i]);
	}
	free(sorted);
	free(t.at);
	if (wanted == NULL || items->child != NULL)
		return items;
	fprintf(stderr, "%s: no queue named %s\n", l->command, wanted);
	cJSON_Delete(items);
	return NULL;
}

static const char *field_text(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);

	return value != NULL && value->valuestring != NULL ? value->valuestring : "-";
}

static uint32_t resource_of(const char *name)
{
	return strcmp(name, "cpu") == 0                 ? RESOURCE_CPU
	       : strcmp(name, "memory") == 0            ? RESOURCE_MEMORY
	       : strcmp(name, "ephemeral-storage") == 0 ? RESOURCE_EPHEMERAL
	       : strcmp(name, "pods") == 0              ? RESOURCE_PODS
	                                                : RESOURCE_EXTENDED;
}

/* Pods are in JSON. */
static char *amounts_text(const cJSON *item, const char *field)
{
	const cJSON *amounts = cJSON_GetObjectItemCaseSensitive(item, field), *value;
	char *text = must_copy(""), amount[64];

	cJSON_ArrayForEach(value, amounts)
	{
		const uint32_t r = resource_of(value->string);
		char *longer;

		if (r == RESOURCE_PODS || value->valuestring == NULL)
			continue;
		longer = ctl_print("%s%s%s=%s", text, text[0] ? "," : "", value->string,
		                   units_amount(r, value->string, strtoll(value->valuestring, NULL, 10),
		                                amount, sizeof(amount)));
		free(text);
		text = longer;
	}
	if (text[0] != '\0')
		return text;
	free(text);
	return must_copy("-");
}

static void row_of(const cJSON *item, bool more, char **cells)
{
	const bool scaled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "scaled"));
	const char *reason = field_text(item, "reason"), *share = field_text(item, "share");
	char *guarantee = amounts_text(item, "guarantee");

	cells[0] = must_copy(field_text(item, "queue"));
	cells[1] = must_copy(field_text(item, "source"));
	cells[2] = must_copy(field_text(item, "state"));
	cells[3] = ctl_print("%s%s", guarantee, scaled ? " (scaled)" : "");
	free(guarantee);
	cells[4] = amounts_text(item, "used");
	cells[5] = amounts_text(item, "limit");
	cells[6] = strcmp(share, "-") == 0 ? must_copy("-") : ctl_print("%.2f", strtod(share, NULL));
	cells[7] = must_copy(field_text(item, "waiting"));
	cells[8] = must_copy(field_text(item, "placed"));
	cells[9] = ctl_print("%s%s%s", field_text(item, "first"), strcmp(reason, "-") == 0 ? "" : ": ",
	                     strcmp(reason, "-") == 0 ? "" : reason);
	if (!more)
		return;
	cells[10] = amounts_text(item, "reserved");
	cells[11] = amounts_text(item, "asked");
	cells[12] = amounts_text(item, "borrows");
}

static const struct list_kind kind = {
	.items = "queues",
	.name = "queue",
	.ignored = (const char *const[]){ NULL },
	.row = row_of,
	.heads = (const char *const[]){ "NAME", "SOURCE", "STATE", "GUARANTEE", "USED", "LIMIT",
	                                "SHARE", "WAITS", "RUNS", "FIRST", NULL },
	.wide_heads = (const char *const[]){ "RESERVED", "ASKED", "BORROWS", NULL },
	.right = "LLLLLLRRRLLLL",
};

static const struct flag flags[] = {
	FLAG_FILES(struct options, files),
	{ "queues", 0, "--queues SOURCE", "with -f: " QUEUES_HELP, NULL, option_text,
	  offsetof(struct options, source) },
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

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	int rc = command_read_flags(&queues_command, argc, argv, &o);
	const bool of_files = o.files.n > 0 || o.source != NULL;

	for (int i = optind; rc == -1 && of_files && i < argc; i++)
		arguments_add(&o.files, argv[i]);
	if (rc == -1 && of_files && (o.files.n == 0 || o.source == NULL))
		rc = ctl_usage(argv[0], "-f FILE and --queues SOURCE go together; see %s --help", argv[0]);
	if (rc == -1 && of_files && o.live.list.form != LIST_TEXT && o.live.list.form != LIST_JSON)
		rc = ctl_usage(argv[0], "of files -o json is the only form");
	if (rc == -1 && of_files)
		rc = queues_files(&o.files, o.source,
		                  o.live.list.form == LIST_JSON ? OUTPUT_JSON : OUTPUT_TEXT, argv[0]);
	if (rc == -1 && argc - optind > 1)
		rc = ctl_usage(argv[0], "one QUEUE at most");
	if (rc == -1)
		rc = run_live(&o, optind < argc ? argv[optind] : NULL, argv[0]);
	free(o.files.at);
	return rc;
}

const struct command queues_command = {
	.name = "queues",
	.summary = "what each queue has, live or once files are placed",
	.usage = "[QUEUE] [-o FORM] [--sort-by .FIELD] [--no-headers] [-w] [--socket PATH]\n"
			 "       musterctl queues -f FILE... --queues SOURCE [-o json]",
	.about =
		"What each queue of the live scheduler is guaranteed, uses and may use, its share (0: inside\n"
		"its guarantee), how many gangs and lone pods wait and run in it, and the first one that\n"
		"waits, with the reason.  With -f: the same once everything pending in these objects was\n"
		"placed, as simulate --queues does. In JSON cpu is in milli, memory in bytes.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.argument = "QUEUE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
