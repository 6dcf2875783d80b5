/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl gangs: state of each gang and why it waits. */
#include "ctl/term/table.h"
#include "ctl/live/live.h"
#include "ctl/term/print.h"
#include "ctl/live/rows.h"
#include "ctl/term/units.h"
#include "frontend/dialect/dialects.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dialect_text(uint32_t dialect)
{
	return dialect < dialects_n ? dialects[dialect]->name : "unknown";
}

static void print_json(const struct live *l, const struct gangs *gangs)
{
	fputs("{\"gangs\": [", stdout);
	for (size_t i = 0; i < gangs->n; i++) {
		const struct gang_copy *g = &gangs->at[i];
		cJSON *o = json_checked(cJSON_CreateObject());

		json_add_text(o, "gang", g->name);
		json_add_text(o, "dialect", dialect_text(g->row.dialect));
		json_add_number(o, "quorum", g->row.quorum);
		json_add_number(o, "members", g->row.members);
		json_add_number(o, "placed", g->row.bound);
		json_add_number(o, "succeeded", g->row.succeeded);
		json_add_number(o, "failed", g->row.failed);
		json_add_text(o, "state", gang_state_text(g->row.state));
		json_add_text(o, "formerState", gang_state_former(g->row.state, g->row.placement));
		json_add_number(o, "priority", g->row.priority);
		json_add_number(o, "age_s",
		                (int64_t)(rows_gang_age_ns(g, live_wall_ns()) / UINT64_C(1000000000)));
		if (rows_gang_waits(g)) {
			char *reason = live_reason(l, g);

			json_add_text(o, "reason", reason);
			json_add_shortfalls(o, &g->row.reason, live_name, l);
			free(reason);
		}
		json_print_line(o, i == 0);
	}
	fputs("]}\n", stdout);
}

static void print_text(const struct live *l, const struct gangs *gangs)
{
	static const char *const heads[] = { "GANG",   "STATE",    "QUORUM", "MEMBERS",
		                                 "PLACED", "PRIORITY", "AGE",    "REASON" };
	struct text_table *t = text_table_new("LLRRRRRL");
	char age[32];

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		text_table_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < gangs->n; i++) {
		const struct gang_copy *g = &gangs->at[i];
		char *reason = rows_gang_waits(g) ? live_reason(l, g) : must_copy("");

		text_table_cell(t, "%s", g->name);
		text_table_cell(t, "%s", gang_state_text(g->row.state));
		text_table_cell(t, "%" PRIu32, g->row.quorum);
		text_table_cell(t, "%" PRIu32, g->row.members);
		text_table_cell(t, "%" PRIu32, g->row.bound);
		text_table_cell(t, "%" PRId32, g->row.priority);
		text_table_cell(t, "%s",
		                g->row.created_ns != 0
		                    ? units_age(rows_gang_age_ns(g, live_wall_ns()), age, sizeof(age))
		                    : "-");
		text_table_cell(t, "%s", reason);
		free(reason);
	}
	text_table_print(t, stdout);
	text_table_free(t);
}

static int show(struct live *l, const char *wanted)
{
	struct gangs gangs;
	int rc = EXIT_DONE;

	if (wanted != NULL && strchr(wanted, '/') == NULL)
		return ctl_usage(l->command, "\"%s\" is no NAMESPACE/GANG", wanted);
	gangs = rows_gangs(&l->observer, wanted);
	if (wanted != NULL && gangs.n == 0) {
		fprintf(stderr, "%s: no gang named %s\n", l->command, wanted);
		rc = EXIT_NO;
	} else if (l->output == OUTPUT_JSON) {
		print_json(l, &gangs);
	} else {
		print_text(l, &gangs);
	}
	free(gangs.at);
	return rc;
}

static int run(int argc, char **argv)
{
	return live_run(&gangs_command, argc, argv, show);
}

const struct command gangs_command = {
	.name = "gangs",
	.summary = "its gangs, and why they wait",
	.usage = "[NAMESPACE/GANG] [--socket PATH] [-o json]",
	.about = "The gangs of the live scheduler: the state of each one and why it waits.\n"
			 "With a name: that gang alone.\n",
	.exits = LIVE_EXITS,
	.flags = live_flags,
	.argument = "NAMESPACE/GANG",
	.arguments_max = 1,
	.run = run,
};
