/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl nodes: the nodes and their usage. */
#include "ctl/live/live.h"
#include "ctl/live/machines.h"
#include "ctl/term/print.h"
#include "ctl/term/edge.h"
#include "ctl/term/table.h"
#include "ctl/live/rows.h"
#include "ctl/term/units.h"
#include "frontend/api/label_selector.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct live live; /* first: live_list() passes it on */
	struct access_options access;
	struct arguments schedulers;
	const char *selector;
	bool detail;
	struct machines *machines; /* NULL: the API server is not asked */
	bool has_pods;             /* ... about pods */
};

static void add_amounts(const struct live *l, const struct nodes *nodes, cJSON *o, const char *name,
                        const int64_t *amounts)
{
	cJSON *list = json_checked(cJSON_AddObjectToObject(o, name));

	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r])
			json_add_number(list, live_name(l, r), amounts[r]);
}

static cJSON *item_of(const struct options *q, const struct nodes *nodes, const struct node_view *n)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "node", n->name);
	json_checked(cJSON_AddBoolToObject(o, "present", (n->flags & NODE_PRESENT) != 0));
	json_checked(cJSON_AddBoolToObject(o, "cordoned", (n->flags & NODE_CORDONED) != 0));
	json_add_number(o, "pods", n->pods);
	add_amounts(&q->live, nodes, o, "allocatable", n->allocatable);
	add_amounts(&q->live, nodes, o, "used", n->used);
	if (q->machines != NULL)
		cJSON_AddItemToObject(o, "labels", machines_labels(q->machines, n->name));
	if (q->has_pods)
		cJSON_AddItemToObject(o, "pods_on_it", machines_pods(q->machines, n->name));
	return o;
}

static const char *node_state(const struct node_view *n)
{
	if ((n->flags & NODE_PRESENT) == 0)
		return "gone"; /* deleted; pods still refer to it */
	return (n->flags & NODE_CORDONED) != 0 ? "cordoned" : "ready";
}

static void print_amount(const struct live *l, struct text_table *t, const struct node_view *n,
                         uint32_t r)
{
	const char *name = live_name(l, r);
	char used[32], all[32];

	text_table_cell(t, "%s/%s", units_amount(r, name, n->used[r], used, sizeof(used)),
	                units_amount(r, name, n->allocatable[r], all, sizeof(all)));
}

/* For text_table_cut(): extended resources are the scarce ones. */
static char spare_of(uint32_t r)
{
	static const char spare[RESOURCE_EXTENDED] = { [RESOURCE_EPHEMERAL] = '1',
		                                           [RESOURCE_PODS] = '2',
		                                           [RESOURCE_MEMORY] = '3',
		                                           [RESOURCE_CPU] = '4' };

	return r < RESOURCE_EXTENDED ? spare[r] : '0';
}

static void print_text(const struct live *l, const struct nodes *nodes)
{
	char columns[2 + RESOURCES_MAX + 1] = "LL", spare[2 + RESOURCES_MAX + 1] = "00";
	struct text_table *t;
	size_t n = 2;

	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r]) {
			spare[n] = spare_of(r);
			columns[n++] = 'R';
		}
	spare[n - 1] = '0'; /* the last column stays */
	t = text_table_new(columns);
	if (!l->list.no_headers) {
		text_table_cell(t, "NODE");
		text_table_cell(t, "STATE");
		for (uint32_t r = 0; r < nodes->resources; r++)
			if (nodes->shown[r])
				text_table_cell(t, "%s", live_name(l, r));
	}
	for (size_t i = 0; i < nodes->n; i++) {
		text_table_cell(t, "%s", nodes->at[i].name);
		text_table_cell(t, "%s", node_state(&nodes->at[i]));
		for (uint32_t r = 0; r < nodes->resources; r++)
			if (nodes->shown[r])
				print_amount(l, t, &nodes->at[i], r);
	}
	if (l->list.form == LIST_TEXT)
		text_table_cut(t, edge_columns(stdout), spare, NULL);
	text_table_print(t, stdout);
	text_table_free(t);
}

static const struct options *options_of(const struct live *l)
{
	return (const struct options *)(const void *)l;
}

static bool is_wanted(const struct options *o, const struct node_view *n, const char *wanted)
{
	return (wanted == NULL || strcmp(wanted, n->name) == 0) &&
	       (o->selector == NULL || machines_have(o->machines, n->name));
}

/* Those that are wanted; n is 0 after a message if there is none of that name. */
static struct nodes nodes_of(const struct live *l, const char *wanted)
{
	struct nodes nodes = rows_nodes(&l->observer);
	size_t n = 0;

	for (size_t i = 0; i < nodes.n; i++)
		if (is_wanted(options_of(l), &nodes.at[i], wanted))
			nodes.at[n++] = nodes.at[i];
	nodes.n = n;
	if (n == 0 && wanted != NULL)
		fprintf(stderr, "%s: no node named %s\n", l->command, wanted);
	return nodes;
}

static cJSON *list(struct live *l, const char *wanted)
{
	struct nodes nodes = nodes_of(l, wanted);
	cJSON *items = json_checked(cJSON_CreateArray());

	for (size_t i = 0; i < nodes.n; i++)
		cJSON_AddItemToArray(items, item_of(options_of(l), &nodes, &nodes.at[i]));
	free(nodes.at);
	if (wanted == NULL || items->child != NULL)
		return items;
	cJSON_Delete(items);
	return NULL;
}

static void print_resources(const struct live *l, const struct nodes *nodes,
                            const struct node_view *n)
{
	struct text_table *t = text_table_new("LRRR");
	static const char *const heads[] = { "RESOURCE", "USED", "FREE", "ALLOCATABLE" };

	for (size_t i = 0; i < 4; i++)
		text_table_cell(t, "%s", heads[i]);
	for (uint32_t r = 0; r < nodes->resources; r++) {
		const int64_t amounts[] = { n->used[r], n->allocatable[r] - n->used[r], n->allocatable[r] };
		char text[32];

		if (n->used[r] == 0 && n->allocatable[r] == 0)
			continue;
		text_table_cell(t, "%s", live_name(l, r));
		for (size_t i = 0; i < 3; i++)
			text_table_cell(t, "%s",
			                units_amount(r, live_name(l, r), amounts[i], text, sizeof(text)));
	}
	putchar('\n');
	text_table_print(t, stdout);
	text_table_free(t);
}

static const char *text_of_field(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);

	return value != NULL && value->valuestring != NULL && *value->valuestring ? value->valuestring
	                                                                          : "-";
}

static void print_pods(const struct machines *m, const char *node)
{
	struct text_table *t = text_table_new("LLLRL");
	static const char *const heads[] = { "POD", "GANG", "STAGE", "AGE", "SCHEDULER" };
	cJSON *pods = machines_pods(m, node);
	const cJSON *pod;

	for (size_t i = 0; i < 5; i++)
		text_table_cell(t, "%s", heads[i]);
	cJSON_ArrayForEach(pod, pods)
	{
		const char *namespace = text_of_field(pod, "namespace"), *gang = text_of_field(pod, "gang");
		char age[32];

		text_table_cell(t, "%s/%s", namespace, text_of_field(pod, "pod"));
		if (strcmp(gang, "-") == 0)
			text_table_cell(t, "-");
		else
			text_table_cell(t, "%s/%s", namespace, gang);
		text_table_cell(t, "%s", text_of_field(pod, "stage"));
		text_table_cell(
			t, "%s",
			units_age(strtoull(text_of_field(pod, "age_s"), NULL, 10) * UINT64_C(1000000000), age,
		              sizeof(age)));
		text_table_cell(t, "%s", text_of_field(pod, "scheduler"));
	}
	putchar('\n');
	text_table_print(t, stdout);
	text_table_free(t);
	cJSON_Delete(pods);
}

static void print_detail(const struct options *o, const struct nodes *nodes)
{
	cJSON *labels;
	const cJSON *label;

	print_resources(&o->live, nodes, nodes->at);
	if (o->machines == NULL) {
		puts("\nIts labels and pods are the API server's: --kubeconfig names one.");
		return;
	}
	labels = machines_labels(o->machines, nodes->at[0].name);
	if (labels->child != NULL)
		puts("\nLABELS");
	cJSON_ArrayForEach(label, labels) ctl_say("%s=%s\n", label->string, label->valuestring);
	cJSON_Delete(labels);
	print_pods(o->machines, nodes->at[0].name);
}

/* The columns of text are the resources of the cluster: not those of a table of fields. */
static int show_text(struct live *l, const char *wanted)
{
	const struct options *o = options_of(l);
	struct nodes nodes = nodes_of(l, wanted);
	const bool found = nodes.n > 0 || wanted == NULL;

	if (found)
		print_text(l, &nodes);
	if (nodes.n > 0 && wanted != NULL && (o->detail || o->has_pods))
		print_detail(o, &nodes);
	else if (nodes.n > 0 && wanted != NULL && !l->list.no_headers)
		puts("\nIts resources are shown with --detail, its labels and pods with --kubeconfig.");
	free(nodes.at);
	return found ? EXIT_DONE : EXIT_NO;
}

static const struct list_kind kind = {
	.items = "nodes",
	.name = "node",
	.ignored = (const char *const[]){ NULL },
};

static int show(struct live *l, const char *argument)
{
	const bool text = l->list.form == LIST_TEXT || l->list.form == LIST_WIDE;

	if (text && (l->list.sort_by != NULL || l->list.watch))
		return ctl_usage(l->command, "--sort-by and --watch go with -o name and custom-columns");
	return text ? show_text(l, argument) : live_list(l, &kind, argument, list);
}

static bool names_server(const struct options *o)
{
	return o->access.kubeconfig != NULL || o->access.context != NULL;
}

/* The API server knows labels, and pods by node; a ledger has neither. Without a ledger the nodes
 * are its as well. */
static bool wants_machines(const struct options *o, const char *wanted)
{
	return o->live.from_cluster || o->selector != NULL ||
	       (wanted != NULL && (names_server(o) || (o->detail && access_is_there(&o->access))));
}

static int ask(struct options *o, const char *wanted)
{
	const struct machines_question q = {
		.access = &o->access,
		.name = wanted,
		.selector = o->selector,
		.pods = wanted != NULL || o->live.from_cluster,
		.schedulers = &o->schedulers,
	};

	if (o->live.list.watch)
		return ctl_usage(o->live.command, "--watch goes with a live scheduler, and without -l");
	o->machines = machines_new(o->live.command, &q);
	o->has_pods = wanted != NULL;
	return o->machines != NULL ? EXIT_DONE : EXIT_USAGE;
}

static int open_and_show(struct options *o, const char *wanted)
{
	int rc = EXIT_DONE;
	bool opened = false;

	o->live.from_cluster =
		o->live.socket == NULL &&
		(names_server(o) || (!live_is_served(&o->live) && access_is_there(&o->access)));
	if (!o->live.from_cluster) {
		rc = live_open(&o->live);
		opened = rc == EXIT_DONE;
	}
	if (rc == EXIT_DONE && wants_machines(o, wanted))
		rc = ask(o, wanted);
	if (rc == EXIT_DONE && o->live.from_cluster) {
		live_own(&o->live, machines_ledger(o->machines));
		opened = true;
	}
	if (rc == EXIT_DONE)
		rc = show(&o->live, wanted);
	if (opened)
		live_close(&o->live);
	if (o->machines != NULL)
		machines_free(o->machines);
	return rc;
}

static const struct flag flags[] = {
	FLAG_SOCKET(struct options, live.socket),
	FLAG_KUBECONFIG(struct options, access),
	FLAG_CONTEXT(struct options, access),
	{ "scheduler-name", 0, "--scheduler-name NAME",
	  "of the API server's pods: the gangs of this scheduler; may be repeated\n(default muster)",
	  NULL, option_texts, offsetof(struct options, schedulers) },
	{ "selector", 'l', "-l, --selector LABELS",
	  "only nodes that have these labels; asks the API server", NULL, option_text,
	  offsetof(struct options, selector) },
	{ "detail", 0, "--detail",
	  "with a name: its resources, labels, and pods with their gangs; as\ndescribe node NAME", NULL,
	  NULL, offsetof(struct options, detail) },
	LIST_FLAGS(struct options, live.list),
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct options o = { .live = { .command = argv[0] } };
	int rc = command_read_flags(&nodes_command, argc, argv, &o);
	char why[512];

	if (rc == -1 && o.selector != NULL && label_selector_check(o.selector, why, sizeof(why)) < 0)
		rc = ctl_usage(argv[0], "-l %s: %s", o.selector, why);
	if (rc == -1 && o.detail && argv[optind] == NULL)
		rc = ctl_usage(argv[0], "--detail goes with the name of a node: describe node NAME");
	if (rc == -1)
		rc = open_and_show(&o, argv[optind]);
	free(o.schedulers.at);
	return rc;
}

const struct command nodes_command = {
	.name = "nodes",
	.summary = "its nodes, and what is used of them",
	.usage = "[NODE [--detail]] [-l LABELS] [-o FORM] [--sort-by .FIELD] [--no-headers] [-w]\n"
			 "                [--socket PATH | --kubeconfig FILE [--context NAME]]",
	.about = "The nodes of the live scheduler, and how much of each resource is used by pods that\n"
			 "run there or have capacity reserved. In JSON cpu is in milli, memory in bytes.\n"
			 "With a name also its labels and its pods with their gangs, if --kubeconfig or\n"
			 "--context names an API server; --detail finds one as kubectl does.\n"
			 "\n"
			 "Where no muster-core runs, or with --kubeconfig or --context, nodes and what their\n"
			 "pods use are the API server's, read with the caller's rights.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.argument = "NODE",
	.arguments_max = 1,
	.run = run,
};
