/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs and reservations of a live scheduler, from its ledger alone: rows are copied under their
 * sequence counters, so that muster-core neither waits nor notices. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/live/live.h"
#include "ctl/live/rows.h"
#include "frontend/dialect/dialects.h"
#include "ipc/queue_names.h"

#include <stdlib.h>
#include <string.h>

struct explain_live {
	struct gangs rows;
	struct gang_result *gangs;
	struct reservations reservations;
	char *reason; /* of the gang to explain */
	char *reclaimed_by;
	struct usage_figures usage;
	struct gang_copy held; /* owner of the backfill reservation */
	struct explain_victims victims;
};

static struct gang_result result_of(struct gang_copy *g)
{
	const struct gang_row *row = &g->row;

	return (struct gang_result){
		.gang = g->name,
		.dialect = row->dialect < dialects_n ? dialects[row->dialect]->name : "unknown",
		.state = row->placement < GANG_STATES ? (enum gang_state)row->placement : GANG_NONE,
		.life = row->state,
		.quorum = row->quorum,
		.members = row->members,
		.placed = row->bound,
		.succeeded = row->succeeded,
		.failed = row->failed,
		.pending = row->members > row->bound ? row->members - row->bound : 0,
		.priority = row->priority,
		.created_ns = row->created_ns,
		.waiting_since_ns = row->waiting_since_ns,
		.band = (enum queue_band)row->band,
		.why = row->reason,
	};
}

static void reservations_read(const struct live *l, struct explain_live *picture)
{
	const struct core_gauges *gauges = &l->observer.ledger->gauges;
	uint64_t held = observe_count(&gauges->reserved_gang);

	picture->reservations.pods_binding = observe_count(&gauges->pods_binding);
	picture->reservations.pods_assumed = observe_count(&gauges->pods_assumed);
	if (held > 0 && held <= l->observer.places.limits.gangs &&
	    observe_gang(&l->observer, (gang_id)(held - 1), &picture->held))
		picture->reservations.held = picture->held.name;
}

static void reclaim_read(const struct live *l, const struct gang_row *row,
                         struct explain_live *picture, struct explanation *x)
{
	struct queue_names names;

	x->reclaimed_ns = row->reclaimed_ns;
	if (row->reclaimed_ns == 0)
		return;
	names = queue_names_read(&l->observer);
	if (queue_names_find(&names, row->reclaimed_by))
		x->reclaimed_by = picture->reclaimed_by = queue_names_path(&names, row->reclaimed_by, NULL);
	queue_names_free(&names);
}

struct explain_live *explain_live_take(const struct live *l, struct explanation *x)
{
	struct explain_live *picture = must_alloc(sizeof(*picture));

	picture->rows = rows_gangs(&l->observer, NULL);
	picture->gangs = must_array(picture->rows.n + 1, sizeof(*picture->gangs));
	for (size_t i = 0; i < picture->rows.n; i++)
		picture->gangs[i] = result_of(&picture->rows.at[i]);
	reservations_read(l, picture);
	x->gangs = picture->gangs;
	x->gangs_n = picture->rows.n;
	x->names = live_names(l);
	x->reservations = &picture->reservations;
	x->observer = &l->observer;
	usage_read(&picture->usage, &l->observer);
	x->usage = &picture->usage;
	for (size_t i = 0; i < picture->rows.n; i++) {
		if (strcmp(picture->gangs[i].gang, x->gang) != 0)
			continue;
		if (rows_gang_waits(&picture->rows.at[i]))
			picture->gangs[i].reason = picture->reason = live_reason(l, &picture->rows.at[i]);
		x->result = &picture->gangs[i];
		reclaim_read(l, &picture->rows.at[i].row, picture, x);
		if (picture->gangs[i].state == GANG_WAITING &&
		    explain_victims_take(l, x->gang, &picture->victims))
			x->victims = &picture->victims;
	}
	return picture;
}

void explain_live_free(struct explain_live *picture)
{
	free(picture->reason);
	free(picture->reclaimed_by);
	free(picture->gangs);
	free(picture->rows.at);
	free(picture);
}
