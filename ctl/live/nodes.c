/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl nodes: the nodes and their usage. */
#include "ctl/term/table.h"
#include "ctl/live/live.h"
#include "ctl/term/print.h"
#include "ctl/live/rows.h"
#include "ctl/term/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_amounts(const struct live *l, const struct nodes *nodes, cJSON *o, const char *name,
                        const int64_t *amounts)
{
	cJSON *list = json_checked(cJSON_AddObjectToObject(o, name));

	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r])
			json_add_number(list, live_name(l, r), amounts[r]);
}

static cJSON *item_of(const struct live *l, const struct nodes *nodes, const struct node_view *n)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "node", n->name);
	json_checked(cJSON_AddBoolToObject(o, "present", (n->flags & NODE_PRESENT) != 0));
	json_checked(cJSON_AddBoolToObject(o, "cordoned", (n->flags & NODE_CORDONED) != 0));
	json_add_number(o, "pods", n->pods);
	add_amounts(l, nodes, o, "allocatable", n->allocatable);
	add_amounts(l, nodes, o, "used", n->used);
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

static void print_text(const struct live *l, const struct nodes *nodes)
{
	char columns[2 + RESOURCES_MAX + 1] = "LL";
	struct text_table *t;

	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r])
			strcat(columns, "R");
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
	text_table_print(t, stdout);
	text_table_free(t);
}

static cJSON *list(struct live *l, const char *wanted)
{
	struct nodes nodes = rows_nodes(&l->observer);
	cJSON *items = json_checked(cJSON_CreateArray());

	for (size_t i = 0; i < nodes.n; i++)
		if (wanted == NULL || strcmp(wanted, nodes.at[i].name) == 0)
			cJSON_AddItemToArray(items, item_of(l, &nodes, &nodes.at[i]));
	free(nodes.at);
	if (wanted == NULL || items->child != NULL)
		return items;
	fprintf(stderr, "%s: no node named %s\n", l->command, wanted);
	cJSON_Delete(items);
	return NULL;
}

/* The columns of text are the resources of the cluster: not those of a table of fields. */
static int show_text(struct live *l, const char *wanted)
{
	struct nodes nodes = rows_nodes(&l->observer);
	size_t n = 0;

	for (size_t i = 0; i < nodes.n; i++)
		if (wanted == NULL || strcmp(wanted, nodes.at[i].name) == 0)
			nodes.at[n++] = nodes.at[i];
	nodes.n = n;
	if (n > 0 || wanted == NULL)
		print_text(l, &nodes);
	else
		fprintf(stderr, "%s: no node named %s\n", l->command, wanted);
	free(nodes.at);
	return n > 0 || wanted == NULL ? EXIT_DONE : EXIT_NO;
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

static const struct flag flags[] = {
	FLAG_SOCKET(struct live, socket),
	LIST_FLAGS(struct live, list),
	{ 0 },
};

static int run(int argc, char **argv)
{
	return live_run(&nodes_command, argc, argv, show);
}

const struct command nodes_command = {
	.name = "nodes",
	.summary = "its nodes, and what is used of them",
	.usage = "[NODE] [-o FORM] [--sort-by .FIELD] [--no-headers] [-w] [--socket PATH]",
	.about = "The nodes of the live scheduler, and how much of each resource is used by pods that\n"
			 "run there or have capacity reserved. In JSON cpu is in milli, memory in bytes.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.argument = "NODE",
	.arguments_max = 1,
	.run = run,
};
