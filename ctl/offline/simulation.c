/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted results out of the tables of model and core. */
#include "ctl/offline/claims.h"
#include "ctl/offline/queues.h"
#include "ctl/offline/simulate.h"
#include "frontend/dialect/reason.h"
#include "ipc/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct building {
	struct simulation *s;
	const struct offline *o;
	size_t room;
	const char **refusals; /* by gang id: of its first refused member */
	const char **queues;   /* by gang id: what a member names; NULL: without queues */
	char **blocks;         /* by gang id: why it waits because of its queue; NULL */
	uint32_t *pending;     /* by gang id */
	uint32_t gangs_max;
};

static char *print_reason(const struct model *model, const struct reason *reason,
                          const struct reason_about *about)
{
	struct reason_names names = reason_names_of(model);
	size_t n;
	char *text;

	if (reason == NULL || reason->why == WAIT_NONE)
		return must_copy(about->refusal[0] != '\0' ? about->refusal : "not looked at");
	n = reason_text(reason, about, &names, NULL, 0);
	text = must_array(n + 1, 1);
	reason_text(reason, about, &names, text, n + 1);
	return text;
}

/* Why a gang is refused: its own object, or its first refused pod. */
static const char *gang_refusal(const struct building *b, gang_id id, const struct gang_view *gang)
{
	if (gang->refusal[0] != '\0')
		return gang->refusal;
	return b->refusals[id] != NULL ? b->refusals[id] : "";
}

static const struct gang_row *gang_row(const struct ledger *ledger, gang_id id)
{
	const char *base = (const char *)ledger;

	return (const struct gang_row *)(const void *)(base + ledger->gangs_offset) + id;
}

static void note_refusal(void *context, const struct pod_view *pod)
{
	struct building *b = context;

	if (b->queues != NULL && pod->gang_id < b->gangs_max && b->queues[pod->gang_id] == NULL) {
		b->queues[pod->gang_id] = queues_named(offline_queues(b->o), pod->id);
		b->blocks[pod->gang_id] = offline_queue_reason(b->o, pod);
	}
	if (pod->gang_id < b->gangs_max && pod->refusal[0] != '\0' && b->refusals[pod->gang_id] == NULL)
		b->refusals[pod->gang_id] = pod->refusal;
}

/* Why a pod waits, which may differ from its gang: the gang is placed without it. */
static char *pod_reason(const struct building *b, const struct pod_view *pod,
                        const struct gang_row *row, const struct placement *p)
{
	struct reason_about about = { .gang = p->gang, .refusal = pod->refusal };
	struct gang_view gang;

	const char *error =
		b->s->claims == NULL ? NULL : claims_error_of(b->s->claims, pod->namespace, pod->name);

	if (pod->deleting)
		return must_copy("is being deleted");
	if (error != NULL)
		return must_copy(error);
	if (row != NULL && !p->with_gang && (pod->refusal[0] != '\0' || pod->gated)) {
		about.gang = NULL;
		return print_reason(
			b->s->model, &(struct reason){ .why = pod->gated ? WAIT_GATED : WAIT_REFUSED }, &about);
	}
	if (b->queues != NULL) {
		const struct reason *r = offline_reason(b->o, pod);
		char *text = r != NULL && r->why == WAIT_QUEUE ? offline_queue_reason(b->o, pod) : NULL;

		if (text != NULL)
			return text;
	}
	if (row != NULL && model_gang(b->s->model, pod->gang_id, row->generation, &gang)) {
		about.texts = gang.texts;
		if (about.refusal[0] == '\0')
			about.refusal = gang_refusal(b, pod->gang_id, &gang);
	}
	return print_reason(b->s->model, offline_reason(b->o, pod), &about);
}

static void add_pod(void *context, const struct pod_view *pod)
{
	struct building *b = context;
	struct simulation *s = b->s;
	const struct gang_row *row =
		pod->gang_id < b->gangs_max ? gang_row(offline_ledger(b->o), pod->gang_id) : NULL;
	struct placement *p;

	if (!pod->ours || pod->node[0] != '\0')
		return;
	s->placements =
		must_reach(s->placements, &b->room, s->placements_n, 256, sizeof(*s->placements));
	p = &s->placements[s->placements_n++];
	if (row != NULL && !pod->deleting)
		b->pending[pod->gang_id]++;
	*p = (struct placement){
		.pod = ctl_print("%s/%s", pod->namespace, pod->name),
		.node = offline_node(b->o, pod->id),
		.queued = !pod->deleting && !pod->gated && pod->refusal[0] == '\0',
		.priority = pod->priority,
		.created_ns = pod->created_ns,
	};
	if (pod->gang[0] != '\0')
		p->gang = ctl_print("%s/%s", pod->namespace, pod->gang);
	if (b->queues != NULL)
		p->queue = queues_named(offline_queues(b->o), pod->id);
	if (s->claims != NULL)
		p->devices = claims_placed(s->claims, pod->namespace, pod->name);
	if (p->node != NULL)
		return;
	p->with_gang = row != NULL && row->placement != GANG_PLACED && !pod->deleting;
	p->reason = pod_reason(b, pod, row, p);
	if (pod->deleting)
		s->leaving_n++;
	else
		s->waiting_n++;
}

static void add_gang(struct building *b, gang_id id)
{
	struct simulation *s = b->s;
	const struct gang_row *row = gang_row(offline_ledger(b->o), id);
	struct gang_result *g = &s->gangs[s->gangs_n];
	struct reason_about about;
	struct gang_view view;

	if (row->generation == 0 || !model_gang(s->model, id, row->generation, &view))
		return;
	s->gangs_n++;
	*g = (struct gang_result){
		.gang = ctl_print("%s/%s", view.namespace, view.name),
		.dialect = view.dialect,
		.state = (enum gang_state)(row->members > 0 ? row->placement : row->state),
		.life = row->state,
		.quorum = row->quorum,
		.members = row->members,
		.placed = row->bound,
		.succeeded = row->succeeded,
		.failed = row->failed,
		.pending = b->pending[id],
		.priority = row->priority,
		.created_ns = row->created_ns,
		.band = (enum queue_band)row->band,
		.why = row->reason,
	};
	about = (struct reason_about){ .gang = g->gang,
		                           .refusal = gang_refusal(b, id, &view),
		                           .texts = view.texts };
	if (!gang_state_is_done(g->state) || (row->reason.why != WAIT_NONE && g->members > g->placed))
		g->reason = row->reason.why == WAIT_QUEUE && b->blocks != NULL && b->blocks[id] != NULL
		                ? must_copy(b->blocks[id])
		                : print_reason(s->model, &row->reason, &about);
	g->queue = b->queues != NULL ? b->queues[id] : NULL;
}

static int compare_placements(const void *a, const void *b)
{
	return strcmp(((const struct placement *)a)->pod, ((const struct placement *)b)->pod);
}

static int compare_gangs(const void *a, const void *b)
{
	return strcmp(((const struct gang_result *)a)->gang, ((const struct gang_result *)b)->gang);
}

struct simulation *simulation_new(const struct offline *o)
{
	struct simulation *s = must_alloc(sizeof(*s));
	struct building b = { .s = s, .o = o, .gangs_max = offline_ledger(o)->limits.gangs };

	s->model = offline_model(o);
	s->claims = offline_claims(o);
	s->evicts = offline_evicts(o);
	s->evictions = offline_evictions(o, &s->evictions_n);
	b.refusals = must_array(b.gangs_max, sizeof(*b.refusals));
	b.pending = must_array(b.gangs_max, sizeof(*b.pending));
	s->gangs = must_array(b.gangs_max, sizeof(*s->gangs));
	if (offline_queues(o) != NULL) {
		b.queues = must_array(b.gangs_max, sizeof(*b.queues));
		b.blocks = must_array(b.gangs_max, sizeof(*b.blocks));
	}
	model_each_pod(s->model, note_refusal, &b);
	model_each_pod(s->model, add_pod, &b);
	for (gang_id id = 0; id < b.gangs_max; id++)
		add_gang(&b, id);
	if (s->placements_n > 0)
		qsort(s->placements, s->placements_n, sizeof(*s->placements), compare_placements);
	if (s->gangs_n > 0)
		qsort(s->gangs, s->gangs_n, sizeof(*s->gangs), compare_gangs);
	for (gang_id id = 0; b.blocks != NULL && id < b.gangs_max; id++)
		free(b.blocks[id]);
	free(b.queues);
	free(b.blocks);
	free(b.refusals);
	free(b.pending);
	return s;
}

void simulation_free(struct simulation *s)
{
	for (size_t i = 0; i < s->placements_n; i++) {
		free(s->placements[i].pod);
		free(s->placements[i].gang);
		free(s->placements[i].reason);
	}
	for (size_t i = 0; i < s->gangs_n; i++) {
		free(s->gangs[i].gang);
		free(s->gangs[i].reason);
	}
	free(s->placements);
	free(s->gangs);
	free(s);
}
