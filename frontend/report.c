#include "frontend/report_impl.h"

#include "frontend/reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_FLIGHT_MAX 4
#define REASON_BYTES_MAX 8192
#define SWEEP_NS (30 * NS_PER_S)

struct report *report_new(const struct report_config *config)
{
	struct report *r = must_alloc(sizeof(*r));

	r->config = *config;
	snprintf(r->instance, sizeof(r->instance), "%s", config->instance);
	r->config.instance = r->instance;
	r->tokens = config->per_second;
	r->tokens_ns = env_now(config->env);
	r->backoff = (struct backoff){.first_ns = 500 * NS_PER_MS, .cap_ns = 30 * NS_PER_S, .reset_ns = 60 * NS_PER_S};
	TAILQ_INIT(&r->reasons);
	TAILQ_INIT(&r->binds);
	TAILQ_INIT(&r->flying);
	return r;
}

struct note *report_note_new(const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct note *n = must_alloc(sizeof(*n) + bytes);

	n->users = 1;
	memcpy(n->text, text, bytes);
	return n;
}

struct note *report_note_use(struct note *n)
{
	n->users++;
	return n;
}

void report_note_drop(struct note **n)
{
	if (*n && --(*n)->users == 0)
		free(*n);
	*n = NULL;
}

/* Of an item that is in no list. */
void report_item_free(struct item *i)
{
	struct report *r = i->report;

	if (i->pod != ID_NONE && i->pod < r->by_pod_n && r->by_pod[i->pod] == i)
		r->by_pod[i->pod] = NULL;
	report_note_drop(&i->note);
	report_note_drop(&i->next_note);
	report_note_drop(&i->event_note);
	free(i->event_name);
	free(i->namespace);
	free(i->name);
	free(i->uid);
	free(i->scheduler);
	free(i);
}

void report_item_unlist(struct item *i)
{
	struct report *r = i->report;

	if (i->flying) {
		TAILQ_REMOVE(&r->flying, i, link);
		r->flying_n--;
	} else if (i->queued && i->pod == ID_NONE) {
		TAILQ_REMOVE(&r->binds, i, link);
		r->binds_n--;
	} else if (i->queued) {
		TAILQ_REMOVE(&r->reasons, i, link);
		r->reasons_n--;
	}
	i->queued = false;
	i->flying = false;
}

static void list_free(struct report *r, struct item_list *list)
{
	struct item *i;

	while ((i = TAILQ_FIRST(list)) != NULL) {
		report_item_unlist(i);
		if (i->call)
			r->config.env->transport->ops->cancel(r->config.env->transport, i->call);
		report_item_free(i);
	}
}

void report_free(struct report *r)
{
	if (!r)
		return;
	list_free(r, &r->reasons);
	list_free(r, &r->binds);
	list_free(r, &r->flying);
	for (size_t i = 0; i < r->by_pod_n; i++)
		if (r->by_pod[i])
			report_item_free(r->by_pod[i]);
	free(r->by_pod);
	jsonout_free(&r->path);
	jsonout_free(&r->body);
	free(r);
}

/* ---- queues ---------------------------------------------------------------- */

void report_item_queue(struct item *i)
{
	struct report *r = i->report;
	struct item_list *list = i->pod == ID_NONE ? &r->binds : &r->reasons;
	size_t *n = i->pod == ID_NONE ? &r->binds_n : &r->reasons_n;

	if (*n >= r->config.queue_max) {
		struct item *oldest = TAILQ_FIRST(list);

		report_item_unlist(oldest);
		r->counts.dropped++;
		if (oldest->pod == ID_NONE)
			report_item_free(oldest);
		else
			report_note_drop(&oldest->note);
	}
	TAILQ_INSERT_TAIL(list, i, link);
	(*n)++;
	i->queued = true;
}

static struct item *item_of_pod(struct report *r, pod_id pod, uint32_t generation)
{
	size_t n = r->by_pod_n ? r->by_pod_n : 1024;
	struct item *i;

	if (pod >= r->by_pod_n) {
		while (n <= pod)
			n *= 2;
		r->by_pod = must_grow(r->by_pod, n * sizeof(*r->by_pod));
		memset(r->by_pod + r->by_pod_n, 0, (n - r->by_pod_n) * sizeof(*r->by_pod));
		r->by_pod_n = n;
	}
	i = r->by_pod[pod];
	if (i && i->generation != generation) {
		/* Another pod has the slot now; a flying one ends by itself. */
		r->by_pod[pod] = NULL;
		if (!i->flying) {
			report_item_unlist(i);
			report_item_free(i);
		}
		i = NULL;
	}
	if (!i) {
		i = must_alloc(sizeof(*i));
		i->report = r;
		i->pod = pod;
		i->generation = generation;
		r->by_pod[pod] = i;
	}
	return i;
}

void report_item_say(struct item *i, struct note *note, const char *reason)
{
	struct report *r = i->report;

	if (i->flying) {
		if (i->next_note)
			r->counts.coalesced++;
		report_note_drop(&i->next_note);
		i->next_note = report_note_use(note);
		i->next_reason = reason;
		return;
	}
	if (i->queued)
		r->counts.coalesced++;
	report_note_drop(&i->note);
	i->note = report_note_use(note);
	i->reason = reason;
	i->step = STEP_CONDITION;
	i->tries = 0;
	if (i->queued)
		return;
	i->due_ns = env_now(r->config.env) + r->config.delay_ns;
	report_item_queue(i);
}

static const char *condition_reason(uint32_t why)
{
	return why == WHY_BIND_REFUSED ? "SchedulerError" : "Unschedulable";
}

static const char *name_of(const void *context, uint32_t id)
{
	return model_name(context, id);
}

struct telling {
	struct report *report;
	struct note *note;
	const char *reason;
	char refusal[1024]; /* the first refused member, or "" */
};

static void refused_member(void *context, const struct pod_view *pod)
{
	struct telling *t = context;

	if (!t->refusal[0] && pod->refusal[0])
		snprintf(t->refusal, sizeof(t->refusal), "pod %s: %s", pod->name, pod->refusal);
}

/* The API server itself says SchedulingGated of pods with gates. */
static void member_say(void *context, const struct pod_view *pod)
{
	struct telling *t = context;

	if (!pod->gated && !pod->deleting)
		report_item_say(item_of_pod(t->report, pod->id, pod->generation), t->note, t->reason);
}

static struct note *reason_note(struct report *r, const struct reason *reason, const char *gang, const char *refusal)
{
	struct reason_names names = {.resource = name_of, .taint = name_of, .context = r->config.model};
	char text[REASON_BYTES_MAX];

	reason_text(reason, gang, refusal, &names, text, sizeof(text));
	return report_note_new(text);
}

static void gang_reason(struct report *r, const struct cmd_reason *cmd)
{
	struct telling t = {.report = r, .reason = condition_reason(cmd->reason.why)};
	struct gang_view gang;
	char name[600];

	if (!model_gang(r->config.model, cmd->gang, cmd->gang_generation, &gang))
		return;
	snprintf(name, sizeof(name), "%s/%s", gang.namespace, gang.name);
	if (cmd->reason.why == WHY_REFUSED) {
		if (gang.refusal[0])
			snprintf(t.refusal, sizeof(t.refusal), "%s", gang.refusal);
		else
			model_gang_pending(r->config.model, cmd->gang, refused_member, &t);
	}
	t.note = reason_note(r, &cmd->reason, name, t.refusal);
	model_gang_pending(r->config.model, cmd->gang, member_say, &t);
	report_note_drop(&t.note);
}

void report_reason(struct report *r, const struct cmd_reason *cmd)
{
	struct pod_view pod;
	struct note *note;

	if (cmd->reason.why == WHY_NONE)
		return;
	if (cmd->gang != ID_NONE) {
		gang_reason(r, cmd);
		return;
	}
	if (!model_pod(r->config.model, cmd->pod, cmd->pod_generation, &pod) || pod.gated || pod.deleting || pod.node[0])
		return;
	note = reason_note(r, &cmd->reason, NULL, pod.refusal);
	report_item_say(item_of_pod(r, pod.id, pod.generation), note, condition_reason(cmd->reason.why));
	report_note_drop(&note);
}

void report_bind(struct report *r, const struct bind_notice *n)
{
	struct item *i = must_alloc(sizeof(*i));
	char text[1200];

	if (n->error)
		snprintf(text, sizeof(text), "%s", n->error);
	else
		snprintf(text, sizeof(text), "Successfully assigned %s/%s to %s", n->namespace, n->name, n->node);
	i->report = r;
	i->pod = ID_NONE;
	i->step = STEP_EVENT;
	i->bound = !n->error;
	i->note = report_note_new(text);
	i->namespace = must_copy(n->namespace);
	i->name = must_copy(n->name);
	i->uid = must_copy(n->uid);
	i->scheduler = must_copy(n->scheduler);
	report_item_queue(i);
}

/* ---- pace -------------------------------------------------------------------- */

static void tokens_fill(struct report *r)
{
	uint64_t now = env_now(r->config.env);
	double most = r->config.per_second > 10 ? r->config.per_second / 4.0 : 1;

	r->tokens += (double)(now - r->tokens_ns) * 1e-9 * r->config.per_second;
	if (r->tokens > most)
		r->tokens = most;
	r->tokens_ns = now;
}

/* Reasons first.  Those of pods wait equally long, so the first is the first due;
 * one that goes on with its event is due anyhow. */
static struct item *next_item(struct report *r)
{
	struct item *i = TAILQ_FIRST(&r->reasons);

	return i && i->due_ns <= env_now(r->config.env) ? i : TAILQ_FIRST(&r->binds);
}

static bool send_one(struct report *r)
{
	struct item *i = next_item(r);

	if (!i)
		return false;
	report_item_unlist(i);
	report_item_send(i);
	return true;
}

/* What is remembered of pods that don't wait any more is forgotten. */
static void sweep(struct report *r)
{
	struct pod_view pod;

	for (size_t i = 0; i < r->by_pod_n; i++) {
		struct item *item = r->by_pod[i];

		if (item && !item->queued && !item->flying &&
		    (!model_pod(r->config.model, item->pod, item->generation, &pod) || pod.node[0]))
			report_item_free(item);
	}
}

uint64_t report_poll(struct report *r, bool binds_waiting)
{
	uint64_t now = env_now(r->config.env);
	size_t most = binds_waiting ? 1 : IN_FLIGHT_MAX;

	if (now >= r->sweep_ns) {
		sweep(r);
		r->sweep_ns = now + SWEEP_NS;
	}
	if (r->reasons_n + r->binds_n == 0)
		return NEVER_NS;
	if (now < r->pause_until_ns)
		return r->pause_until_ns;
	tokens_fill(r);
	while (r->flying_n < most && r->tokens >= 1 && send_one(r))
		continue;
	if (r->reasons_n + r->binds_n == 0 || r->flying_n >= most)
		return NEVER_NS;
	if (r->tokens >= 1) /* no more is due */
		return TAILQ_FIRST(&r->reasons)->due_ns;
	return now + (uint64_t)((1 - r->tokens) / r->config.per_second * 1e9) + 1;
}

size_t report_queued(const struct report *r)
{
	return r->reasons_n + r->binds_n + r->flying_n;
}

const struct report_counts *report_counts(const struct report *r)
{
	return &r->counts;
}
