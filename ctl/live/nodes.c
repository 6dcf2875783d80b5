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

static void print_json(const struct live *l, const struct nodes *nodes)
{
	fputs("{\"nodes\": [", stdout);
	for (size_t i = 0; i < nodes->n; i++) {
		const struct node_view *n = &nodes->at[i];
		cJSON *o = json_checked(cJSON_CreateObject());

		json_add_text(o, "node", n->name);
		json_checked(cJSON_AddBoolToObject(o, "present", (n->flags & NODE_PRESENT) != 0));
		json_checked(cJSON_AddBoolToObject(o, "cordoned", (n->flags & NODE_CORDONED) != 0));
		json_add_number(o, "pods", n->pods);
		add_amounts(l, nodes, o, "allocatable", n->allocatable);
		add_amounts(l, nodes, o, "used", n->used);
		json_print_line(o, i == 0);
	}
	fputs("]}\n", stdout);
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
	text_table_cell(t, "NODE");
	text_table_cell(t, "STATE");
	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r])
			text_table_cell(t, "%s", live_name(l, r));
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

static int show(struct live *l, const char *argument)
{
	struct nodes nodes = rows_nodes(&l->observer);

	(void)argument;
	if (l->output == OUTPUT_JSON)
		print_json(l, &nodes);
	else
		print_text(l, &nodes);
	free(nodes.at);
	return EXIT_DONE;
}

static int run(int argc, char **argv)
{
	return live_run(&nodes_command, argc, argv, show);
}

const struct command nodes_command = {
	.name = "nodes",
	.summary = "its nodes, and what is used of them",
	.usage = "[--socket PATH] [-o json]",
	.about = "The nodes of the live scheduler, and how much of each resource is used by pods that\n"
			 "run there or have capacity reserved. In JSON cpu is in milli, memory in bytes.\n",
	.exits = LIVE_EXITS,
	.flags = live_flags,
	.run = run,
};
