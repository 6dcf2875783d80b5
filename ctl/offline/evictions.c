/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/evictions.h"

#include "core/world/search_again.h"
#include "ctl/offline/offline_impl.h"
#include "ctl/offline/queues.h"
#include "ctl/term/ctl.h"
#include "ctl/term/print.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* After an answer that was of no use a gang waits, and others have its ticket: a round of the
 * core's reasons each.  So many without a new question end it. */
#define ROUND_NS UINT64_C(2000000000)
#define IDLE_ROUNDS 64u

struct evictions {
	struct search_again *again;
	struct limits limits;
	uint64_t *asked; /* by gang, then by lone pod: offline.changes + 1 at its last search */
	struct cmd_evict *due;
	size_t due_n, due_room;
	struct eviction *all;
	size_t n, room;
};

bool evictions_read(const struct evictions_flags *f, bool queues, const char *command,
                    uint32_t *out)
{
	const char *preemption = f->preemption != NULL ? f->preemption : "off",
			   *reclaim = f->reclaim != NULL ? f->reclaim : "off";
	const bool on = strcmp(preemption, "on") == 0, fair = strcmp(reclaim, "fair") == 0,
			   reclaims = fair || strcmp(reclaim, "guarantee") == 0;

	*out = 0;
	if (!on && strcmp(preemption, "off") != 0)
		return ctl_usage(command, "--preemption %s: off or on", preemption), false;
	if (!reclaims && strcmp(reclaim, "off") != 0)
		return ctl_usage(command, "--reclaim %s: off, guarantee or fair", reclaim), false;
	if (reclaims && (!on || !queues))
		return ctl_usage(command, "--reclaim %s: --queues and --preemption on are missing",
		                 reclaim),
		       false;
	if (on)
		*out = PREEMPTION_ON | (reclaims ? PREEMPTION_RECLAIM : 0u) | (fair ? PREEMPTION_FAIR : 0u);
	return true;
}

struct evictions *evictions_new(const struct limits *limits)
{
	struct evictions *e = must_alloc(sizeof(*e));

	e->again = search_again_new(limits);
	e->limits = *limits;
	e->asked = must_array((size_t)limits->gangs + limits->pods, sizeof(*e->asked));
	return e;
}

void evictions_free(struct evictions *e)
{
	if (e == NULL)
		return;
	for (size_t i = 0; i < e->n; i++) {
		free(e->all[i].pod);
		free(e->all[i].gang);
		free(e->all[i].taker);
	}
	search_again_free(e->again);
	free(e->asked);
	free(e->due);
	free(e->all);
	free(e);
}

const struct eviction *evictions_all(const struct evictions *e, size_t *n)
{
	*n = e->n;
	return e->all;
}

void evictions_follow(struct evictions *e, const struct record *record, int rc)
{
	search_again_follow(e->again, record, rc);
}

void evictions_due(struct evictions *e, const struct cmd_evict *c)
{
	e->due = must_reach(e->due, &e->due_room, e->due_n, 64, sizeof(*e->due));
	e->due[e->due_n++] = *c;
}

/* The gang, or the lone pod; to be freed. */
static char *taker_name(const struct model *m, const struct cmd_evict *c)
{
	struct gang_view gang;
	struct pod_view lone;

	if (model_gang(m, c->gang, c->gang_generation, &gang))
		return ctl_print("%s/%s", gang.namespace, gang.name);
	if (model_waiting_pod(m, c->gang, c->gang_generation, &lone))
		return ctl_print("%s/%s", lone.namespace, lone.name);
	return must_copy("");
}

static const char *taker_queue(const struct offline *o, const struct cmd_evict *c)
{
	const char *base = (const char *)o->ledger + o->ledger->gangs_offset;

	if (c->gang >= o->limits.gangs)
		return queues_named(o->queues, c->gang - o->limits.gangs);
	return queues_name(o->queues, ((const struct gang_row *)(const void *)base)[c->gang].queue);
}

static void note(struct evictions *e, const struct offline *o, const struct cmd_evict *c,
                 const struct pod_view *pod)
{
	const char *queue = o->queues != NULL ? queues_named(o->queues, pod->id) : NULL;

	e->all = must_reach(e->all, &e->room, e->n, 64, sizeof(*e->all));
	e->all[e->n++] = (struct eviction){
		.pod = ctl_print("%s/%s", pod->namespace, pod->name),
		.gang = pod->gang[0] != '\0' ? ctl_print("%s/%s", pod->namespace, pod->gang) : NULL,
		.taker = taker_name(o->model, c),
		.node = offline_node_name(o, c->node),
		.queue = queue,
		.reclaimed = queue != NULL && (o->config.evicts & PREEMPTION_RECLAIM) &&
		             strcmp(queue, taker_queue(o, c)) != 0,
	};
}

/* It is deleted, and nothing keeps it. */
static bool pod_remove(struct offline *o, const struct pod_view *pod)
{
	const int pods = model_resource_index(o->model, "v1", "Pod");
	cJSON *object = json_checked(cJSON_CreateObject());
	cJSON *meta = json_checked(cJSON_AddObjectToObject(object, "metadata"));
	struct decode_error error;
	char *text;
	int rc;

	json_add_text(meta, "namespace", pod->namespace);
	json_add_text(meta, "name", pod->name);
	text = cJSON_PrintUnformatted(object);
	if (text == NULL)
		fatal_memory();
	rc = model_remove(o->model, pods, text, strlen(text), &error);
	free(text);
	cJSON_Delete(object);
	return rc == 0;
}

static void evict(struct evictions *e, struct offline *o, const struct cmd_evict *c)
{
	struct {
		struct record record;
		struct evict_result result;
	} sent = { .result = { .ticket = c->ticket,
		                   .pod = c->pod,
		                   .generation = c->pod_generation,
		                   .node = c->node } };
	struct pod_view pod;

	if (!model_pod(o->model, c->pod, c->pod_generation, &pod))
		return; /* it was a victim of two */
	note(e, o, c, &pod);
	offline_step(o, RESULT_EVICT_SENT, &sent.record, sizeof(sent.result));
	search_again_spend(e->again, o->core, c->pod);
	if ((!pod_remove(o, &pod) || !offline_flush(o)) && o->failed == 0)
		o->failed = -EPROTO;
	o->changes++;
}

void evictions_make(struct evictions *e, struct offline *o)
{
	for (size_t i = 0; i < e->due_n && o->failed == 0; i++)
		evict(e, o, &e->due[i]);
	e->due_n = 0;
}

/* What a search would say that was made before, when nothing has changed since. */
static struct record *no_answer(const struct search_ticket *t, uint64_t position)
{
	struct record *r = must_alloc(sizeof(*r) + sizeof(struct event_answer));
	struct event_answer *body = (void *)(r + 1);

	r->bytes = (uint32_t)(sizeof(*r) + sizeof(*body));
	*body = (struct event_answer){ .ticket = t->number,
		                           .position = position,
		                           .gang = t->gang,
		                           .generation = t->generation,
		                           .verdict = ANSWER_GAVE_UP };
	return r;
}

/* Answers the open tickets, with all that follows.  True: somebody was asked about for the first
 * time in this state of the cluster. */
static bool tickets_answer(struct evictions *e, struct offline *o)
{
	struct search_ticket t;
	bool any = false;

	while (o->failed == 0 && search_again_open(o->core, &t)) {
		const bool again = e->asked[t.gang] == o->changes + 1;
		struct record *r = again ? NULL : search_again(e->again, o->core, t.number, o->sequence);

		any = any || !again;
		e->asked[t.gang] = o->changes + 1;
		if (r == NULL)
			r = no_answer(&t, o->sequence);
		offline_step(o, EVENT_ANSWER, r, r->bytes - sizeof(*r));
		free(r);
		offline_plan(o);
	}
	return any;
}

void evictions_search(struct evictions *e, struct offline *o)
{
	uint32_t idle = 0;

	while (o->failed == 0 && idle < IDLE_ROUNDS) {
		struct record tick;

		idle = tickets_answer(e, o) ? 0 : idle + 1;
		o->now_ns += ROUND_NS;
		offline_step(o, EVENT_TICK, &tick, 0);
		offline_plan(o);
	}
}
