/* SPDX-License-Identifier: Apache-2.0 */
/* /state.json: figures, resources, states. */
#include "frontend/page/answer_impl.h"

#include "ipc/states.h"

#include <stdio.h>
#include <stdlib.h>

static void add_figures(const struct metrics *m, struct jsonout *out)
{
	const struct metrics_core *c = &m->core;
	const struct {
		const char *name;
		uint64_t value;
	} figures[] = {
		{ "events", c->stats.events },
		{ "plans", c->stats.plans },
		{ "plans_placed", c->stats.plans_placed },
		{ "plans_refused", c->stats.plans_refused },
		{ "plan_ns_sum", c->stats.plan_ns_sum },
		{ "plan_ns_max", c->stats.plan_ns_max },
		{ "binds_accepted", c->stats.binds_accepted },
		{ "binds_refused", c->stats.binds_refused },
		{ "nodes", c->gauges.nodes },
		{ "pods", c->gauges.pods },
		{ "pods_pending", c->gauges.pods_pending },
		{ "pods_bound", c->gauges.pods_bound },
		{ "posts", m->binder.posts },
		{ "post_ns_sum", m->binder.post_ns_sum },
		{ "binds_queued", m->binds_queued },
		{ "binds_in_flight", m->binds_in_flight },
		{ "progress", c->progress },
	};

	jsonout_add(out, ",\"figures\":{");
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		jsonout_add(out, i > 0 ? ",@s:@u" : "@s:@u", figures[i].name, (ull)figures[i].value);
	jsonout_add(out, "}");
}

static void add_amount(struct jsonout *out, const char *name, double value)
{
	char text[64];

	snprintf(text, sizeof(text), "%.0f", value);
	jsonout_add(out, ",@s:@r", name, text);
}

/* What nodes have, and what of the free part is in pieces, or of use to none that waits. */
static void add_resources(const struct usage_figures *u, const struct gang_list *gangs,
                          struct jsonout *out)
{
	bool first = true;

	jsonout_add(out, ",\"resources\":[");
	for (uint32_t r = 0; r < u->n; r++) {
		const struct usage_row *row = &u->rows[r];

		if (row->name[0] == '\0' || (row->allocatable == 0 && row->used == 0))
			continue;
		jsonout_add(out, first ? "{\"name\":@s" : ",{\"name\":@s", row->name);
		first = false;
		add_amount(out, "allocatable", row->allocatable);
		add_amount(out, "used", row->used);
		add_amount(out, "free", row->free);
		add_amount(out, "fragmented", row->fragmented);
		add_amount(out, "largest_free", row->largest_free);
		if (gangs->usable[r] >= 0)
			add_amount(out, "usable", (double)gangs->usable[r]);
		jsonout_add(out, "}");
	}
	jsonout_add(out, "]");
}

static void add_reserved(const struct observer *o, struct jsonout *out)
{
	const uint64_t index = observe_count(&o->ledger->gauges.reserved_gang);
	struct gang_copy *held = must_alloc(sizeof(*held));

	if (index == 0 || index > o->places.limits.gangs ||
	    !observe_gang(o, (gang_id)(index - 1), held))
		held->name[0] = '\0';
	/* held: the former name */
	jsonout_add(out, ",\"reserved_for\":@s,\"held\":@s", held->name, held->name);
	free(held);
}

static void add_ledger(const struct answer_source *s, struct jsonout *out)
{
	struct usage_figures *usage = must_alloc(sizeof(*usage));
	struct gang_list gangs = gang_list_read(s->ledger);

	usage_read(usage, s->ledger);
	add_reserved(s->ledger, out);
	add_resources(usage, &gangs, out);
	jsonout_add(out, ",\"gangs_n\":@u,\"queued\":@u,\"states\":{", (ull)gangs.n, (ull)gangs.queued);
	for (uint32_t state = GANG_INCOMPLETE; state < GANG_STATES; state++)
		jsonout_add(out, state > GANG_INCOMPLETE ? ",@s:@u" : "@s:@u", gang_state_text(state),
		            (ull)gangs.states[state]);
	jsonout_add(out, "}");
	gang_list_free(&gangs);
	free(usage);
}

void answer_state(const struct answer_source *s, struct jsonout *out)
{
	const struct metrics *m = s->metrics;
	char text[1000];
	const char *why = metrics_not_ready(m, text, sizeof(text));
	const char *stuck = metrics_not_live(m);

	jsonout_add(out, "{\"version\":@s,\"wall_ms\":@u,\"taken_ms\":@u,\"not_ready\":@b",
	            MUSTER_VERSION, (ull)(s->wall_ns / NS_PER_MS), (ull)(m->taken_ns / NS_PER_MS),
	            why ? why : "");
	jsonout_add(out, ",\"stuck\":@b", stuck ? stuck : "");
	add_figures(m, out);
	if (answer_shares(s))
		jsonout_add(out, ",\"shares\":true");
	if (s->ledger)
		add_ledger(s, out);
	jsonout_add(out, "}\n");
}
