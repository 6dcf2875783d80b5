/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl nodes: what there is, and what is used of it. */
#include "ctl/live/live.h"
#include "ctl/live/rows.h"
#include "ctl/term/grid.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"musterctl nodes [--socket PATH] [-o json]\n"
	"\n"
	"The nodes that the live scheduler knows, and how much of each resource is used by\n"
	"pods that run there or have the room reserved. In JSON cpu is in milli, memory in\n"
	"bytes.\n";

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
		return "gone"; /* pods still name it */
	return (n->flags & NODE_CORDONED) != 0 ? "cordoned" : "ready";
}

static void print_amount(const struct live *l, struct grid *t, const struct node_view *n,
                         uint32_t r)
{
	const char *name = live_name(l, r);
	char used[32], all[32];

	grid_cell(t, "%s/%s", units_amount(r, name, n->used[r], used, sizeof(used)),
	          units_amount(r, name, n->allocatable[r], all, sizeof(all)));
}

static void print_text(const struct live *l, const struct nodes *nodes)
{
	char columns[2 + RESOURCES_MAX + 1] = "LL";
	struct grid *t;

	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r])
			strcat(columns, "R");
	t = grid_new(columns);
	grid_cell(t, "NODE");
	grid_cell(t, "STATE");
	for (uint32_t r = 0; r < nodes->resources; r++)
		if (nodes->shown[r])
			grid_cell(t, "%s", live_name(l, r));
	for (size_t i = 0; i < nodes->n; i++) {
		grid_cell(t, "%s", nodes->at[i].name);
		grid_cell(t, "%s", node_state(&nodes->at[i]));
		for (uint32_t r = 0; r < nodes->resources; r++)
			if (nodes->shown[r])
				print_amount(l, t, &nodes->at[i], r);
	}
	grid_print(t, stdout);
	grid_free(t);
}

int nodes_main(int argc, char **argv)
{
	struct live l = { 0 };
	struct nodes nodes;
	int rc = live_options(&l, argc, argv, help);

	if (rc == -1 && optind < argc)
		rc = ctl_usage(argv[0], "unexpected argument \"%s\"", argv[optind]);
	if (rc != -1)
		return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
	rc = live_open(&l);
	if (rc != EXIT_DONE)
		return rc;
	nodes = rows_nodes(&l.observer);
	if (l.output == OUTPUT_JSON)
		print_json(&l, &nodes);
	else
		print_text(&l, &nodes);
	free(nodes.at);
	live_close(&l);
	return ctl_flush(argv[0]) ? EXIT_DONE : EXIT_USAGE;
}
