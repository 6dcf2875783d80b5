/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl gangs: who waits, and why. */
#include "ctl/live/live.h"
#include "ctl/live/rows.h"
#include "ctl/term/grid.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"
#include "frontend/dialect/dialect.h"
#include "ipc/states.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"musterctl gangs [NAMESPACE/GANG] [--socket PATH] [-o json]\n"
	"\n"
	"The gangs that the live scheduler knows, where each one stands and why it waits.\n"
	"With a name: that one alone.\n";

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
		json_add_text(o, "state", gang_state_text(g->row.state));
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
	struct grid *t = grid_new("LLRRRRRL");
	char age[32];

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		grid_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < gangs->n; i++) {
		const struct gang_copy *g = &gangs->at[i];
		char *reason = rows_gang_waits(g) ? live_reason(l, g) : ctl_copy("");

		grid_cell(t, "%s", g->name);
		grid_cell(t, "%s", gang_state_text(g->row.state));
		grid_cell(t, "%" PRIu32, g->row.quorum);
		grid_cell(t, "%" PRIu32, g->row.members);
		grid_cell(t, "%" PRIu32, g->row.bound);
		grid_cell(t, "%" PRId32, g->row.priority);
		grid_cell(t, "%s",
		          g->row.created_ns != 0
		              ? units_age(rows_gang_age_ns(g, live_wall_ns()), age, sizeof(age))
		              : "-");
		grid_cell(t, "%s", reason);
		free(reason);
	}
	grid_print(t, stdout);
	grid_free(t);
}

static int show(struct live *l, const char *wanted)
{
	struct gangs gangs = rows_gangs(&l->observer, wanted);
	int rc = EXIT_DONE;

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

int gangs_main(int argc, char **argv)
{
	struct live l = { 0 };
	const char *wanted;
	int rc = live_options(&l, argc, argv, help);

	if (rc == -1 && optind + 1 < argc)
		rc = ctl_usage(argv[0], "unexpected argument \"%s\"", argv[optind + 1]);
	if (rc != -1)
		return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
	wanted = argv[optind];
	if (wanted != NULL && strchr(wanted, '/') == NULL)
		return ctl_usage(argv[0], "\"%s\" is no NAMESPACE/GANG", wanted);
	rc = live_open(&l);
	if (rc != EXIT_DONE)
		return rc;
	rc = show(&l, wanted);
	live_close(&l);
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
