/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/what_if.h"

#include "core/cycle/reclaim.h"
#include "core/devices/inventory.h"
#include "core/lifecycle/state.h"
#include "core/step/core.h"
#include "core/world/keeper_impl.h"
#include "core/world/live_gang.h"
#include "core/world/ticket_search.h"
#include "core/world/victims_row.h"
#include "core/world/what_if_lone.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIXED (NAME_BYTES_MAX + 16u) /* bytes of a name and what is added to it */

struct asked {
	const struct keeper *k;
	const struct core *world;
	const struct live_question *q;
	const struct keeper_hooks *hooks;
	struct live_answer *out;
	bool is_new;                             /* the world does not have the gang */
	struct lone_pods *lone;                  /* NULL: it is about a gang */
	uint32_t left_out[QUESTION_CHANGES_MAX]; /* pods, by change */
};

static const char *change_fault(const struct question_change *c, const struct limits *limits)
{
	const bool named = c->name[0] != '\0';

	if (!memchr(c->name, '\0', sizeof(c->name)))
		return "a name has no end";
	switch (c->kind) {
	case CHANGE_NODES:
		return c->number < 1 || c->number > (int32_t)QUESTION_NODES_MAX ||
		               (uint32_t)c->number > limits->nodes
		           ? "the number of nodes is out of bounds"
		           : NULL;
	case CHANGE_PRIORITY:
		return NULL;
	case CHANGE_WITHOUT_POD:
		return strchr(c->name, '/') ? NULL : "the name of a pod has no namespace";
	case CHANGE_WITHOUT_NAMESPACE:
		return named && !strchr(c->name, '/') ? NULL : "this is no name of a namespace";
	default:
		return "a change of an unknown kind";
	}
}

static const char *verdict_fault(const struct live_question *q)
{
	if (!memchr(q->pod, '\0', sizeof(q->pod)))
		return "a name has no end";
	return q->number == 0 && !strchr(q->pod, '/') ? "the name of a pod has no namespace" : NULL;
}

const char *question_fault(const struct live_question *q, const struct limits *limits)
{
	const char *fault = NULL;

	if (q->version != QUESTION_VERSION)
		return "another version of questions";
	if (q->about >= ABOUT_KINDS)
		return "a question of an unknown kind";
	if (q->about == ABOUT_POD)
		return verdict_fault(q);
	if (q->gang >= limits->gangs || q->generation == 0)
		return "a gang is out of bounds";
	if (q->changes_n > QUESTION_CHANGES_MAX)
		return "too many changes";
	for (uint32_t i = 0; !fault && i < q->changes_n; i++)
		fault = change_fault(&q->changes[i], limits);
	return fault;
}

void answer_refuse(struct live_answer *out, const char *format, ...)
{
	va_list args;

	out->verdict = QUESTION_REFUSED;
	va_start(args, format);
	vsnprintf(out->text, sizeof(out->text), format, args);
	va_end(args);
}

static bool is_left_out(const struct question_change *c, const struct pod_record *pod)
{
	const size_t n = strlen(c->name), bytes = pod->body->name_bytes;

	if (c->kind == CHANGE_WITHOUT_POD)
		return bytes == n && memcmp(pod->name, c->name, n) == 0;
	return c->kind == CHANGE_WITHOUT_NAMESPACE && bytes > n && pod->name[n] == '/' &&
	       memcmp(pod->name, c->name, n) == 0;
}

static bool pod_edit(struct asked *a, struct record *r)
{
	struct event_pod *e = (struct event_pod *)(void *)(r + 1);
	const struct pod_record pod = pod_record_of(r);
	bool stays = true;

	for (uint32_t i = 0; i < a->q->changes_n; i++) {
		const struct question_change *c = &a->q->changes[i];

		if (is_left_out(c, &pod)) {
			a->left_out[i]++;
			stays = false;
		}
		if (c->kind == CHANGE_PRIORITY && e->gang == a->q->gang)
			e->priority = c->number;
	}
	a->out->without += !stays;
	return stays;
}

static bool edit(void *context, struct record *r)
{
	struct asked *a = context;
	struct event_gang *g = (struct event_gang *)(void *)(r + 1);

	if (r->kind == EVENT_POD)
		return pod_edit(a, r);
	for (uint32_t i = 0; r->kind == EVENT_GANG && i < a->q->changes_n; i++)
		if (g->gang == a->q->gang && a->q->changes[i].kind == CHANGE_PRIORITY)
			g->priority = a->q->changes[i].number;
	return true;
}

static bool ends(void *context)
{
	const struct asked *a = context;

	return a->hooks && a->hooks->ends && a->hooks->ends(a->hooks->context);
}

static int64_t amount_of(const struct node_record *n, uint32_t resource)
{
	for (uint32_t i = 0; i < n->body->amounts_n; i++)
		if (n->amounts[i].resource == resource)
			return n->amounts[i].value;
	return 0;
}

static bool is_larger(const struct node_record *a, const struct node_record *b, uint32_t first)
{
	const uint32_t order[] = { first, RESOURCE_CPU, RESOURCE_MEMORY };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (amount_of(a, order[i]) != amount_of(b, order[i]))
			return amount_of(a, order[i]) > amount_of(b, order[i]);
	return false;
}

/* The node of that name; of "" the one with the most of what the gang lacks first, else of cpu. */
static const struct record *node_like(const struct asked *a, const char *name)
{
	const struct record_table *t = &a->k->tables[KEPT_NODES];
	const struct reason *why = &a->world->ledger.gangs[a->q->gang].reason;
	const uint32_t first = why->shortfalls_n > 0 ? why->shortfalls[0].resource : RESOURCE_CPU;
	const struct record *found = NULL;
	struct node_record n, best = { 0 };

	for (node_id id = 0; id < t->used; id++) {
		if (!t->at[id] || record_node(t->at[id], &a->k->limits, &n) ||
		    !(n.body->flags & NODE_PRESENT))
			continue;
		if (*name != '\0'
		        ? n.body->name_bytes != strlen(name) ||
		              memcmp(n.name, name, n.body->name_bytes) != 0
		        : (n.body->flags & NODE_CORDONED) || (found && !is_larger(&n, &best, first)))
			continue;
		found = t->at[id];
		best = n;
	}
	return found;
}

/* `r`, of RECORD_BYTES_MAX + SUFFIXED + 8, becomes a node like that one, with another name and
 * nothing attached. */
static void node_copy(const struct asked *a, const struct record *like, uint32_t number, node_id id,
                      struct record *r)
{
	struct event_node *e = (struct event_node *)(void *)(r + 1);
	struct node_record n;
	char *name;
	int bytes;

	memset(r, 0, RECORD_BYTES_MAX + SUFFIXED + 8);
	memcpy(r, like, like->bytes);
	if (record_node(like, &a->k->limits, &n))
		return; /* it was accepted */
	name = (char *)r + ((const char *)n.attached - (const char *)like);
	bytes = snprintf(name, SUFFIXED, "%.*s+%u", (int)n.body->name_bytes, n.name, number);
	memset(name + bytes, 0, 8);
	e->node = id;
	e->generation = 1;
	e->attached_n = 0;
	e->name_bytes = (uint32_t)bytes;
	r->bytes = (uint32_t)(name - (char *)r) + ((uint32_t)bytes + 7) / 8 * 8;
}

static bool nodes_add(struct asked *a, const struct question_change *c, struct kept *kept)
{
	const struct record *like = node_like(a, c->name);
	struct record *r;
	uint32_t made = 0;

	if (!like)
		return answer_refuse(a->out, "there is no node %s", c->name), false;
	r = must_alloc(RECORD_BYTES_MAX + SUFFIXED + 8);
	memcpy(&a->out->like, like + 1, sizeof(a->out->like));
	for (node_id id = 0; id < a->k->limits.nodes && made < (uint32_t)c->number; id++) {
		if (id < kept->core->nodes.used && kept->core->nodes.slots[id].generation != 0)
			continue;
		node_copy(a, like, made + 1, id, r);
		if (kept_apply(kept, a->world, r) < 0)
			break;
		if (kept->core->pod_counts.inventory)
			inventory_node_like(kept->core->pod_counts.inventory, a->out->like, id);
		made++;
	}
	free(r);
	if (made < (uint32_t)c->number)
		answer_refuse(a->out, "there is room for %u more nodes only, by --max-nodes of muster-core",
		              made);
	return made == (uint32_t)c->number;
}

/* Everything but pods, which were changed as the core was made. */
static bool change(struct asked *a, struct kept *kept)
{
	for (uint32_t i = 0; i < a->q->changes_n; i++) {
		const struct question_change *c = &a->q->changes[i];
		const bool leaves_out =
			c->kind == CHANGE_WITHOUT_POD || c->kind == CHANGE_WITHOUT_NAMESPACE;

		if (c->kind == CHANGE_NODES && !nodes_add(a, c, kept))
			return false;
		if (leaves_out && a->left_out[i] == 0)
			return answer_refuse(a->out, "there is no pod %s%s",
			                     c->kind == CHANGE_WITHOUT_POD ? "" : "in the namespace ", c->name),
			       false;
	}
	return true;
}

/* True if the gang, or each of the lone pods, has been looked at. */
static bool tried(const struct asked *a, const struct core *c)
{
	if (a->lone)
		return lone_tried(a->lone, c);
	return gang_quorum_met(&c->gangs.slots[a->q->gang]) ||
	       c->ledger.gangs[a->q->gang].reason.why != WAIT_NONE;
}

/* Plans until that is so. */
static bool plan(const struct asked *a, struct kept *kept)
{
	struct record r;

	for (uint32_t n = 0; n < WHAT_IF_PLANS && !ends((void *)(uintptr_t)a); n++) {
		if (tried(a, kept->core))
			return true;
		if (!core_wants_plan(kept->core))
			break;
		r = (struct record){ .bytes = sizeof(r), .kind = EVENT_PLAN };
		if (kept_apply(kept, a->world, &r) < 0)
			break;
	}
	return tried(a, kept->core);
}

/* Members with a node, and how many there are on each. */
static uint32_t members_count(const struct asked *a, const struct core *c, uint32_t *members)
{
	uint32_t n = 0;

	if (a->lone)
		return lone_count(a->lone, c, members);
	for (pod_id id = c->gangs.slots[a->q->gang].first; id != ID_NONE; id = c->pods.slots[id].next)
		if (c->pods.slots[id].node != ID_NONE) {
			members[c->pods.slots[id].node]++;
			n++;
		}
	return n;
}

static void places_fill(const struct asked *a, const struct core *c)
{
	struct live_answer *out = a->out;
	uint32_t *members = must_array(c->nodes.limit, sizeof(*members));
	uint32_t number = 0;

	out->members = members_count(a, c, members);
	for (node_id id = 0; id < c->nodes.used; id++) {
		const bool is_new = id >= a->world->nodes.used || a->world->nodes.slots[id].generation == 0;

		number += is_new && c->nodes.slots[id].generation != 0;
		if (members[id] == 0)
			continue;
		if (out->nodes < QUESTION_PLACES)
			out->places[out->nodes] = (struct question_place){ .node = is_new ? ID_NONE : id,
				                                               .number = is_new ? number : 0,
				                                               .members = members[id] };
		out->nodes++;
	}
	free(members);
}

/* Subtracts what the changes took from the use of queues in the world, and adds what they let start
 * before the gang; or undoes that (`undo`).  What ends is subtracted by reclaim_marks(). */
static void changes_suppose(const struct asked *a, const struct core *made, bool undo)
{
	const struct core *world = a->world;

	for (pod_id id = 0; id < world->pods.used; id++) {
		const struct pod *p = &world->pods.slots[id], *there = pods_find(&made->pods, id);

		if (p->generation == 0)
			continue;
		if (!there && p->node != ID_NONE && !p->evicted && !(p->flags & POD_DELETING))
			reclaim_suppose(world, id, !undo);
		else if (there && there->node != ID_NONE && p->node == ID_NONE)
			reclaim_suppose_start(world, id, !undo);
	}
}

/* A gang that the world has is of a queue there. */
static int victims_search(const struct asked *a, struct kept *kept, struct gang_search *found)
{
	const bool supposes = !a->is_new && a->q->changes_n > 0 && reclaim_is_on(a->world);
	int rc;

	if (supposes)
		changes_suppose(a, kept->core, false);
	rc = kept_search(kept, a->is_new ? kept->core : a->world, a->q->gang, found);
	if (supposes)
		changes_suppose(a, kept->core, true);
	return rc;
}

/* Why it waits in that core, and who would have to go. */
static void waits_fill(struct asked *a, struct kept *kept)
{
	const struct gang *g = &kept->core->gangs.slots[a->q->gang];
	struct gang_search found;

	a->out->verdict = QUESTION_WAITS;
	a->out->reason = kept->core->ledger.gangs[a->q->gang].reason;
	if (!waits_for_capacity(a->out->reason.why))
		return;
	if (victims_search(a, kept, &found) < 0)
		return;
	victims_row_set(&a->out->victims, &(struct victims_found){
										  .core = kept->core,
										  .facts = &kept->facts,
										  .search = &found,
										  .gang = a->q->gang,
										  .generation = g->generation,
										  .young = kept->young,
										  .budgets_unknown = (keeper_flags(a->k) &
	                                                          PREEMPTION_BUDGETS_UNKNOWN) != 0 });
	gang_search_free(&found);
}

/* What that core does not know and the loop does. */
static void beside_fill(const struct asked *a, const struct core *made)
{
	const uint32_t owner = a->world->backfill.gang;
	struct reason r;

	a->out->queue_waits = core_share_reason(a->world, a->q->gang, &r);
	if (owner == ID_NONE || owner == a->q->gang || owner >= a->k->limits.gangs ||
	    !gangs_group(&made->gangs, owner) || gang_quorum_met(&made->gangs.slots[owner]) ||
	    !gang_before(&made->gangs, owner, a->q->gang))
		return;
	a->out->reserved_gang = owner;
}

/* Each lone pod starts when it can. */
static void lone_answer(struct asked *a, struct kept *kept)
{
	places_fill(a, kept->core);
	a->out->verdict = QUESTION_STARTS;
	if (a->out->members < a->lone->put.pods_n)
		lone_waits_fill(a->lone, kept, (keeper_flags(a->k) & PREEMPTION_BUDGETS_UNKNOWN) != 0,
		                a->out);
}

static void answer(struct asked *a, struct kept *kept)
{
	const struct gang *g = gangs_group(&kept->core->gangs, a->q->gang);

	if (!g && !a->lone)
		return answer_refuse(a->out, "the gang is gone");
	if (!change(a, kept))
		return;
	kept->facts.steps_most = WHAT_IF_STEPS;
	kept->facts.ends = ends;
	kept->facts.context = a;
	if (!plan(a, kept)) {
		a->out->verdict = QUESTION_GAVE_UP;
	} else if (a->lone) {
		lone_answer(a, kept);
	} else if (gang_quorum_met(g)) {
		a->out->verdict = QUESTION_STARTS;
		places_fill(a, kept->core);
	} else {
		waits_fill(a, kept);
	}
	if (!a->is_new)
		beside_fill(a, kept->core);
}

static bool leaves_out(const struct live_question *q)
{
	for (uint32_t i = 0; i < q->changes_n; i++)
		if (q->changes[i].kind == CHANGE_WITHOUT_POD ||
		    q->changes[i].kind == CHANGE_WITHOUT_NAMESPACE)
			return true;
	return false;
}

/* Why nothing can be answered of that gang; NULL: it can. */
static const char *named_fault(const struct core *world, const struct live_question *q)
{
	const struct gang *g = gangs_group(&world->gangs, q->gang);

	if (!g || g->generation != q->generation)
		return "the gang is gone";
	if (gang_quorum_met(g))
		return "the gang does not wait: its quorum has nodes";
	if (search_asks_for_devices(world, g) && leaves_out(q))
		return "members of the gang ask for devices, and which ones a pod would leave is not known "
			   "here";
	return NULL;
}

static bool take(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct asked *a = context;

	if (kind == CMD_REASON && a->lone)
		lone_reason(a->lone, body);
	return true;
}

/* The core of the question is made; with a gang that the world does not have, which a->q names
 * then, or with pods, in *lone.  0, or -ECANCELED. */
static int make(struct asked *a, const struct live_gang *gang, struct live_question *q,
                struct lone_pods *lone, struct kept *kept)
{
	const struct keeper_hooks own = { .devices = true,
		                              .whole = gang != NULL,
		                              .ends = ends,
		                              .edit = gang ? NULL : edit,
		                              .emit = gang ? take : NULL,
		                              .context = a };
	const char *fault;
	int rc;

	a->lone = lone;
	rc = keeper_make(a->k, a->world, &own, kept);

	if (rc < 0 && rc != -ECANCELED)
		answer_refuse(a->out, "the records that are kept make no core: error %d", -rc);
	if (rc < 0 || !gang)
		return rc;
	*q = (struct live_question){ .generation = 1 };
	a->q = q;
	a->is_new = true;
	rc = live_gang_put(gang, kept, &own, &lone->put, &fault);
	q->gang = lone->put.gang;
	if (q->gang != ID_NONE)
		a->lone = NULL;
	if (rc < 0 && rc != -ECANCELED)
		answer_refuse(a->out, "%s", fault);
	if (rc < 0)
		kept_free(kept);
	return rc;
}

void what_if(const struct what_if_of *of, const struct live_question *q, struct live_answer *out)
{
	struct asked a = {
		.k = of->keeper, .world = of->world, .q = q, .hooks = of->hooks, .out = out
	};
	struct live_question own;
	struct lone_pods *lone = NULL;
	struct kept kept;
	const char *fault;
	int rc;

	*out = (struct live_answer){ .version = QUESTION_VERSION,
		                         .reserved_gang = ID_NONE,
		                         .like = ID_NONE };
	if (!of->world->synced || !keeper_is_on(of->keeper)) {
		answer_refuse(out,
		              "muster-frontend does not ask for searches: --preemption is off, or it is "
		              "not there");
		return;
	}
	fault = of->gang ? NULL : named_fault(of->world, q);
	if (fault) {
		answer_refuse(out, "%s", fault);
		return;
	}
	if (of->gang)
		lone = must_alloc(sizeof(*lone));
	rc = make(&a, of->gang, &own, lone, &kept);
	if (rc == -ECANCELED)
		out->verdict = QUESTION_GAVE_UP;
	if (rc == 0) {
		answer(&a, &kept);
		kept_free(&kept);
	}
	free(lone);
}
