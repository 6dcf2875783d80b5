/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl gangs: state of each gang and why it waits. */
#include "ctl/live/cluster.h"
#include "ctl/live/live.h"
#include "ctl/offline/lack.h"
#include "ctl/term/print.h"
#include "ctl/term/table.h"
#include "ctl/live/rows.h"
#include "ctl/live/starts.h"
#include "ctl/term/units.h"
#include "frontend/api/label_selector.h"
#include "frontend/dialect/dialects.h"
#include "ipc/order.h"
#include "ipc/states.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct live live;
	struct access_options access;
	struct arguments schedulers;
	const char *selector;
	bool singles;
};

static const char *dialect_text(uint32_t dialect)
{
	return dialect < dialects_n ? dialects[dialect]->name : "unknown";
}

/* Places in the scheduling queue, by the key with which the core orders it. */
static bool is_queued(const struct gang_row *row)
{
	return gang_is_queued(row->placement, row->reason.why);
}

static int queue_order(const void *a, const void *b)
{
	const struct gang_copy *x = *(const struct gang_copy *const *)a;
	const struct gang_copy *y = *(const struct gang_copy *const *)b;
	const struct gang_key left = { .band = x->row.band,
		                           .priority = x->row.priority,
		                           .age_ns = x->row.created_ns };
	const struct gang_key right = { .band = y->row.band,
		                            .priority = y->row.priority,
		                            .age_ns = y->row.created_ns };
	const int order = gang_key_compare(&left, &right);

	return order != 0 ? order : strcmp(x->name, y->name);
}

/* positions[i] of gangs->at[i], from 1; 0: it is not in the queue.  To be freed. */
static size_t *positions_find(const struct gangs *gangs)
{
	const struct gang_copy **queue = must_array(gangs->n + 1, sizeof(*queue));
	size_t *positions = must_array(gangs->n + 1, sizeof(*positions)), n = 0;

	for (size_t i = 0; i < gangs->n; i++)
		if (is_queued(&gangs->at[i].row))
			queue[n++] = &gangs->at[i];
	if (n > 1)
		qsort(queue, n, sizeof(*queue), queue_order);
	for (size_t i = 0; i < n; i++)
		positions[queue[i] - gangs->at] = i + 1;
	free(queue);
	return positions;
}

static int64_t seconds_since(uint64_t ns, uint64_t now_ns)
{
	return ns != 0 && ns < now_ns ? (int64_t)((now_ns - ns) / UINT64_C(1000000000)) : 0;
}

static void add_reason(const struct live *l, const struct gang_copy *g, cJSON *o)
{
	struct reason_names names;
	char *reason;

	if (l->from_cluster) {
		const char *told = cluster_reason(l->cluster, g->name);

		if (told != NULL)
			json_add_text(o, "reason", told);
		return;
	}
	reason = live_reason(l, g);
	json_add_text(o, "reason", reason);
	json_add_shortfalls(o, &g->row.reason, true, live_name, l);
	names = live_names(l);
	json_add_devices(o, &g->row.reason, &names);
	free(reason);
}

static void add_queue(const struct live *l, const struct gang_copy *g, cJSON *o)
{
	char *name = l->from_cluster || g->row.queue == QUEUE_MISSING
	                 ? must_copy("")
	                 : live_queue_name(l, g->row.queue);

	if (name[0] != '\0')
		json_add_text(o, "queue", name);
	else
		json_checked(cJSON_AddNullToObject(o, "queue"));
	free(name);
}

/* What the reason of a waiting gang has of its promised start. */
static void start_add(const struct live *l, const struct gang_copy *g, cJSON *o)
{
	const struct promised *p = &g->row.reason.promised;

	if (l->from_cluster || !rows_gang_waits(g) || p->at_ns == 0)
		json_checked(cJSON_AddNullToObject(o, "start"));
	else
		cJSON_AddItemToObject(o, "start", start_json(&l->observer, p));
}

static cJSON *item_of(const struct live *l, const struct gang_copy *g, size_t position)
{
	cJSON *o = json_checked(cJSON_CreateObject());
	const uint64_t now = live_wall_ns();

	json_add_text(o, "gang", g->name);
	json_add_text(o, "dialect", dialect_text(g->row.dialect));
	json_add_number(o, "quorum", g->row.quorum);
	json_add_number(o, "members", g->row.members);
	json_add_number(o, "placed", g->row.bound);
	json_add_number(o, "succeeded", g->row.succeeded);
	json_add_number(o, "failed", g->row.failed);
	json_add_text(o, "state", gang_state_text(g->row.state));
	json_add_text(o, "former_state", gang_state_former(g->row.state, g->row.placement));
	json_add_number(o, "priority", g->row.priority);
	json_add_number(o, "age_s", (int64_t)(rows_gang_age_ns(g, now) / UINT64_C(1000000000)));
	add_queue(l, g, o);
	if (position > 0)
		json_add_number(o, "position", (int64_t)position);
	else
		json_checked(cJSON_AddNullToObject(o, "position"));
	if (g->row.waiting_since_ns > 0)
		json_add_number(o, "waited_s", seconds_since(g->row.waiting_since_ns, now));
	else
		json_checked(cJSON_AddNullToObject(o, "waited_s"));
	start_add(l, g, o);
	if (rows_gang_waits(g))
		add_reason(l, g, o);
	return o;
}

static const char *field_text(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);

	return value != NULL && value->valuestring != NULL ? value->valuestring : "-";
}

static char *age_of(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);
	char text[32];

	if (value == NULL || value->valuestring == NULL)
		return must_copy("-");
	return must_copy(units_age(strtoull(value->valuestring, NULL, 10) * UINT64_C(1000000000), text,
	                           sizeof(text)));
}

enum { REASON_CELL = 10 };

/* The time of day of a promised start, UTC as all times. */
static char *start_of(const cJSON *item)
{
	const cJSON *start = cJSON_GetObjectItemCaseSensitive(item, "start");
	const cJSON *at = start ? cJSON_GetObjectItemCaseSensitive(start, "at") : NULL;

	if (at == NULL || at->valuestring == NULL || strlen(at->valuestring) < 20)
		return must_copy("-");
	return ctl_print("%.8s", at->valuestring + strlen("2026-11-22T"));
}

static void row_of(const cJSON *item, bool wide, char **cells)
{
	static const char *const fields[] = { "gang",   "state",    "position", "quorum",    "members",
		                                  "placed", "priority", NULL,       NULL,        NULL,
		                                  "reason", "queue",    "dialect",  "succeeded", "failed" };
	const size_t n = sizeof(fields) / sizeof(fields[0]) - (wide ? 0 : 4);

	for (size_t i = 0; i < n; i++)
		if (fields[i] != NULL && i != REASON_CELL)
			cells[i] = must_copy(field_text(item, fields[i]));
	cells[REASON_CELL] = ctl_reason_turned(field_text(item, "gang"), field_text(item, "reason"));
	cells[7] = age_of(item, "age_s");
	cells[8] = age_of(item, "waited_s");
	cells[9] = start_of(item);
	if (strcmp(cells[REASON_CELL], "-") == 0 && !wide)
		cells[REASON_CELL][0] = '\0';
}

static const struct list_kind kind = {
	.items = "gangs",
	.name = "gang",
	.ignored = (const char *const[]){ "age_s", "waited_s", NULL },
	.optional = (const char *const[]){ "reason", "shortfall", "devices", "pods", NULL },
	.row = row_of,
	.heads = (const char *const[]){ "GANG", "STATE", "POSITION", "QUORUM", "MEMBERS", "PLACED",
	                                "PRIORITY", "AGE", "WAITED", "STARTS", "REASON", NULL },
	.wide_heads = (const char *const[]){ "QUEUE", "DIALECT", "SUCCEEDED", "FAILED", NULL },
	.right = "LLRRRRRRRLLLLRR",
	.spare = "00617523040", /* last: the position and the number of members */
};

static bool is_wanted(const struct live *l, const struct gang_copy *g, const char *wanted)
{
	const size_t n = l->namespace != NULL && !l->all_namespaces ? strlen(l->namespace) : 0;

	if (wanted != NULL)
		return strcmp(wanted, g->name) == 0;
	if (l->state != NULL && g->row.state != gang_state_find(l->state))
		return false;
	if (l->selects && !cluster_selects(l->cluster, g->name))
		return false;
	return n == 0 || (strncmp(g->name, l->namespace, n) == 0 && g->name[n] == '/');
}

static struct gangs gangs_of(const struct live *l)
{
	return l->from_cluster ? cluster_gangs(l->cluster) : rows_gangs(&l->observer, NULL);
}

static cJSON *list(struct live *l, const char *wanted)
{
	struct gangs gangs = gangs_of(l), one = { 0 };
	/* The queue is the ledger's: who may read one namespace does not see who else waits. */
	size_t *positions =
		l->from_cluster ? must_array(gangs.n + 1, sizeof(size_t)) : positions_find(&gangs);
	cJSON *items = json_checked(cJSON_CreateArray());

	for (size_t i = 0; i < gangs.n; i++)
		if (is_wanted(l, &gangs.at[i], wanted))
			cJSON_AddItemToArray(items, item_of(l, &gangs.at[i], positions[i]));
	/* A group without a member of ours is shown by its name. */
	if (wanted != NULL && items->child == NULL && !l->from_cluster)
		one = rows_gangs(&l->observer, wanted);
	for (size_t i = 0; i < one.n; i++)
		cJSON_AddItemToArray(items, item_of(l, &one.at[i], 0));
	if (wanted != NULL && items->child != NULL && l->cluster != NULL)
		cJSON_AddItemToObject(items->child, "pods", cluster_members(l->cluster, wanted));
	if (wanted != NULL && items->child == NULL) {
		fprintf(stderr, "%s: no gang named %s\n", l->command, wanted);
		cJSON_Delete(items);
		items = NULL;
	}
	free(positions);
	free(gangs.at);
	free(one.at);
	return items;
}

/* The members below the row of their gang. */
static void print_members(const struct live *l, const char *gang)
{
	cJSON *pods = cluster_members(l->cluster, gang);
	struct text_table *t = text_table_new("LLLR");
	const cJSON *pod;

	if (!l->list.no_headers)
		for (size_t i = 0; i < 4; i++)
			text_table_cell(t, "%s", (const char *const[]){ "POD", "NODE", "STAGE", "AGE" }[i]);
	cJSON_ArrayForEach(pod, pods)
	{
		char *age = age_of(pod, "age_s");

		text_table_cell(t, "%s", field_text(pod, "pod"));
		text_table_cell(t, "%s", *field_text(pod, "node") ? field_text(pod, "node") : "-");
		text_table_cell(t, "%s", field_text(pod, "stage"));
		text_table_cell(t, "%s", age);
		free(age);
	}
	putchar('\n');
	text_table_print(t, stdout);
	text_table_free(t);
	cJSON_Delete(pods);
}

static int show(struct live *l, const char *wanted)
{
	const int rc = live_list(l, &kind, wanted, list);

	if (rc == EXIT_DONE && wanted != NULL && l->list.form == LIST_WIDE && l->cluster != NULL)
		print_members(l, wanted);
	else if (rc == EXIT_DONE && wanted != NULL && l->list.form == LIST_WIDE &&
	         !l->list.no_headers && !l->list.watch)
		puts("\nIts members are the API server's: --kubeconfig names one.");
	return rc;
}

static bool names_server(const struct options *o)
{
	return o->access.kubeconfig != NULL || o->access.context != NULL;
}

/* The gangs are those of a ledger if there is one; else the API server's. */
static bool wants_cluster(const struct options *o)
{
	return o->singles ||
	       (o->live.socket == NULL &&
	        (names_server(o) || (!live_is_served(&o->live) && access_is_there(&o->access))));
}

/* True if pods are wanted beside a ledger, which has none: a selector needs them; members are shown
 * if an API server is named, so that a ledger is enough where none answers. */
static bool wants_pods(const struct options *o, const char *wanted)
{
	return o->selector != NULL || (wanted != NULL && o->live.list.form == LIST_WIDE &&
	                               names_server(o) && !o->live.list.watch);
}

/* Lists what the caller may see, of one namespace if one is named. */
static int ask_cluster(struct options *o, const char *wanted)
{
	const char *slash = wanted != NULL ? strchr(wanted, '/') : NULL;
	char *namespace = slash != NULL ? ctl_print("%.*s", (int)(slash - wanted), wanted) : NULL;
	const struct cluster_question q = {
		.access = &o->access,
		.namespace = namespace != NULL        ? namespace
		             : o->live.all_namespaces ? NULL
		                                      : o->live.namespace,
		.selector = o->selector,
		.schedulers = &o->schedulers,
	};

	if (o->live.list.watch)
		return free(namespace),
		       ctl_usage(o->live.command, "--watch goes with a live scheduler, and without -l");
	o->live.cluster = cluster_new(o->live.command, &q);
	o->live.selects = o->selector != NULL;
	free(namespace);
	return o->live.cluster != NULL ? EXIT_DONE : EXIT_USAGE;
}

static int ask(struct options *o, const char *wanted)
{
	int rc = EXIT_DONE;

	o->live.from_cluster = wants_cluster(o);
	if (!o->live.from_cluster)
		rc = live_open(&o->live);
	if (rc != EXIT_DONE)
		return rc;
	if (o->live.from_cluster || wants_pods(o, wanted))
		rc = ask_cluster(o, wanted);
	if (rc == EXIT_DONE)
		rc = o->singles ? singles_show(&o->live) : show(&o->live, wanted);
	if (o->live.cluster != NULL)
		cluster_free(o->live.cluster);
	if (!o->live.from_cluster)
		live_close(&o->live);
	return rc;
}

static int check(const struct options *o, const char *argument)
{
	char why[512];

	if (o->singles && (argument != NULL || o->live.state != NULL || o->live.socket != NULL))
		return ctl_usage(
			o->live.command,
			"--singles lists pods of the API server: it goes without --socket, --state "
			"and a name; musterctl explain takes the name of a pod");
	if (o->live.state != NULL && gang_state_find(o->live.state) == GANG_STATES)
		return ctl_usage(o->live.command,
		                 "--state %s: Pending, Waiting, Binding, Running, Degraded, "
		                 "Failed and Finished are what there is",
		                 o->live.state);
	if (o->selector != NULL && label_selector_check(o->selector, why, sizeof(why)) < 0)
		return ctl_usage(o->live.command, "-l %s: %s", o->selector, why);
	return -1;
}

static const struct flag flags[] = {
	FLAG_SOCKET(struct options, live.socket),
	FLAG_KUBECONFIG(struct options, access),
	FLAG_CONTEXT(struct options, access),
	{ "scheduler-name", 0, "--scheduler-name NAME",
	  "of the API server's pods: those of this scheduler; may be repeated\n(default muster)", NULL,
	  option_texts, offsetof(struct options, schedulers) },
	{ "namespace", 'n', "-n, --namespace NAMESPACE", "only its gangs", NULL, option_text,
	  offsetof(struct options, live.namespace) },
	{ "all-namespaces", 'A', "-A, --all-namespaces", "of all namespaces (default)", NULL, NULL,
	  offsetof(struct options, live.all_namespaces) },
	{ "selector", 'l', "-l, --selector LABELS",
	  "only gangs with a pod that has these labels; asks the API server", NULL, option_text,
	  offsetof(struct options, selector) },
	{ "state", 0, "--state STATE",
	  "only gangs in that state: pending, waiting, binding, running,\ndegraded, failed or finished",
	  "pending|waiting|binding|running|degraded|failed|finished", option_text,
	  offsetof(struct options, live.state) },
	{ "singles", 0, "--singles", "instead, pods without a gang; asks the API server", NULL, NULL,
	  offsetof(struct options, singles) },
	LIST_FLAGS(struct options, live.list),
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct options o = { .live = { .command = argv[0] } };
	const char *argument;
	char *wanted = NULL;
	int rc = command_read_flags(&gangs_command, argc, argv, &o);

	if (rc == -1)
		rc = check(&o, argv[optind]);
	argument = rc == -1 ? argv[optind] : NULL;
	if (argument != NULL)
		wanted = ctl_gang_named(argument, o.live.namespace);
	if (rc == -1)
		rc = ask(&o, wanted);
	free(wanted);
	free(o.schedulers.at);
	return rc;
}

const struct command gangs_command = {
	.name = "gangs",
	.summary = "its gangs, and why they wait",
	.usage =
		"[NAMESPACE/GANG] [-n NAMESPACE | -A] [-l LABELS] [--state STATE | --singles] [-o FORM]\n"
		"                [--sort-by .FIELD] [--no-headers] [-w]\n"
		"                [--socket PATH | --kubeconfig FILE [--context NAME]]",
	.about =
		"The gangs of the live scheduler: the state of each one and why it waits; its position\n"
		"in the queue, for how long it has waited for capacity, and the start that it is promised\n"
		"(UTC). With a name: that gang alone; a name without a namespace is of -n, else of\n"
		"default. With a name and -o wide also its members, if the API server is asked.\n"
		"\n"
		"Where no muster-core runs, or with --kubeconfig or --context, the API server is asked\n"
		"with the caller's rights: who may read one namespace sees that one, with -n. What\n"
		"only muster-core knows, position and time waited, is not shown then.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.argument = "NAMESPACE/GANG",
	.arguments_max = 1,
	.run = run,
};
