#include "frontend/report.h"

#include "frontend/apistatus.h"
#include "frontend/backoff.h"
#include "frontend/event.h"
#include "frontend/jsonout.h"
#include "frontend/log.h"
#include "frontend/reason.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define IN_FLIGHT_MAX 4
#define TIMEOUT_MS 15000
#define TRIES_MAX 4
#define EVENT_GAP_NS (10 * NS_PER_S) /* between Events of one pod; its condition is always current */
#define REASON_BYTES_MAX 8192
#define SWEEP_NS (30 * NS_PER_S)

/* One text for all members of a gang. */
struct note {
	unsigned users;
	char text[];
};

enum step { STEP_CONDITION, STEP_EVENT, STEP_SERIES };

/* What is to be said about a pod; pods that wait keep theirs, to count equal
 * events. */
struct item {
	TAILQ_ENTRY(item) link;
	struct report *report;
	pod_id pod; /* ID_NONE: an event of a binding, said once */
	uint32_t generation;
	bool queued;
	bool flying;
	uint64_t due_ns; /* not before */
	enum step step;
	unsigned tries;
	struct note *note;
	struct note *next_note; /* came while it was flying */
	const char *reason;     /* of the condition */
	const char *next_reason;
	struct http_call *call;

	/* The last Event of this pod. */
	uint64_t event_ns;
	uint64_t event_count;
	struct note *event_note;
	char *event_name;

	/* Of a binding. */
	char *namespace, *name, *uid, *scheduler;
	bool bound;
};
TAILQ_HEAD(item_list, item);

struct report {
	struct report_config config;
	char instance[129];
	struct item_list reasons; /* waiting to be written */
	struct item_list binds;
	struct item_list flying;
	size_t reasons_n, binds_n, flying_n;
	struct item **by_pod;
	size_t by_pod_n;
	double tokens;
	uint64_t tokens_ns;
	uint64_t sweep_ns; /* when to look for pods that are bound or gone */
	uint64_t pause_until_ns;
	struct backoff backoff;
	struct jsonout path, body;
	struct report_counts counts;
	struct log_limit limit;
};

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

static struct note *note_new(const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct note *n = must_alloc(sizeof(*n) + bytes);

	n->users = 1;
	memcpy(n->text, text, bytes);
	return n;
}

static struct note *note_use(struct note *n)
{
	n->users++;
	return n;
}

static void note_drop(struct note **n)
{
	if (*n && --(*n)->users == 0)
		free(*n);
	*n = NULL;
}

/* Of an item that is in no list. */
static void item_free(struct item *i)
{
	struct report *r = i->report;

	if (i->pod != ID_NONE && i->pod < r->by_pod_n && r->by_pod[i->pod] == i)
		r->by_pod[i->pod] = NULL;
	note_drop(&i->note);
	note_drop(&i->next_note);
	note_drop(&i->event_note);
	free(i->event_name);
	free(i->namespace);
	free(i->name);
	free(i->uid);
	free(i->scheduler);
	free(i);
}

static void item_unlist(struct item *i)
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
		item_unlist(i);
		if (i->call)
			r->config.env->transport->ops->cancel(r->config.env->transport, i->call);
		item_free(i);
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
			item_free(r->by_pod[i]);
	free(r->by_pod);
	jsonout_free(&r->path);
	jsonout_free(&r->body);
	free(r);
}

/* ---- queues ---------------------------------------------------------------- */

static void item_queue(struct item *i)
{
	struct report *r = i->report;
	struct item_list *list = i->pod == ID_NONE ? &r->binds : &r->reasons;
	size_t *n = i->pod == ID_NONE ? &r->binds_n : &r->reasons_n;

	if (*n >= r->config.queue_max) {
		struct item *oldest = TAILQ_FIRST(list);

		item_unlist(oldest);
		r->counts.dropped++;
		if (oldest->pod == ID_NONE)
			item_free(oldest);
		else
			note_drop(&oldest->note);
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
			item_unlist(i);
			item_free(i);
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

static void item_say(struct item *i, struct note *note, const char *reason)
{
	struct report *r = i->report;

	if (i->flying) {
		if (i->next_note)
			r->counts.coalesced++;
		note_drop(&i->next_note);
		i->next_note = note_use(note);
		i->next_reason = reason;
		return;
	}
	if (i->queued)
		r->counts.coalesced++;
	note_drop(&i->note);
	i->note = note_use(note);
	i->reason = reason;
	i->step = STEP_CONDITION;
	i->tries = 0;
	if (i->queued)
		return;
	i->due_ns = env_now(r->config.env) + r->config.delay_ns;
	item_queue(i);
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
		item_say(item_of_pod(t->report, pod->id, pod->generation), t->note, t->reason);
}

static struct note *reason_note(struct report *r, const struct reason *reason, const char *gang, const char *refusal)
{
	struct reason_names names = {.resource = name_of, .taint = name_of, .context = r->config.model};
	char text[REASON_BYTES_MAX];

	reason_text(reason, gang, refusal, &names, text, sizeof(text));
	return note_new(text);
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
	note_drop(&t.note);
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
	item_say(item_of_pod(r, pod.id, pod.generation), note, condition_reason(cmd->reason.why));
	note_drop(&note);
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
	i->note = note_new(text);
	i->namespace = must_copy(n->namespace);
	i->name = must_copy(n->name);
	i->uid = must_copy(n->uid);
	i->scheduler = must_copy(n->scheduler);
	item_queue(i);
}

/* ---- requests --------------------------------------------------------------- */

static void item_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes);

static void item_fly(struct item *i, const char *method, const char *type)
{
	struct report *r = i->report;
	struct http_request request = {
		.method = method, .path = r->path.at, .content_type = type, .body = r->body.at, .body_bytes = r->body.bytes,
		.lane = HTTP_REPORT, .timeout_ms = TIMEOUT_MS,
	};
	struct http_handler handler = {.done = item_done, .context = i};

	i->call = r->config.env->transport->ops->start(r->config.env->transport, &request, &handler);
	if (!i->call)
		fatal_memory();
	i->flying = true;
	i->tries++;
	r->tokens -= 1;
	TAILQ_INSERT_TAIL(&r->flying, i, link);
	r->flying_n++;
}

static void condition_send(struct item *i, const struct pod_view *pod)
{
	struct report *r = i->report;
	bool turned = strcmp(pod->condition_status, "False") != 0;

	jsonout_add(&r->path, "/api/v1/namespaces/@p/pods/@p/status", pod->namespace, pod->name);
	condition_write(&r->body, pod->uid, i->reason, i->note->text, turned,
	                r->config.env->wall_ns(r->config.env->context));
	item_fly(i, "PATCH", "application/strategic-merge-patch+json");
}

static void event_send(struct item *i, const struct event_text *about)
{
	struct report *r = i->report;
	struct event_text e = *about;
	char name[256];

	e.wall_ns = r->config.env->wall_ns(r->config.env->context);
	event_name(name, sizeof(name), e.pod, e.wall_ns);
	free(i->event_name);
	i->event_name = must_copy(name);
	e.name = i->event_name;
	e.instance = r->instance;
	e.note = i->note->text;
	jsonout_add(&r->path, "/apis/events.k8s.io/v1/namespaces/@p/events", e.namespace);
	event_write(&r->body, &e);
	item_fly(i, "POST", "application/json");
}

static void series_send(struct item *i, const struct pod_view *pod)
{
	struct report *r = i->report;

	jsonout_add(&r->path, "/apis/events.k8s.io/v1/namespaces/@p/events/@p", pod->namespace, i->event_name);
	event_series_write(&r->body, i->event_count + 1, r->config.env->wall_ns(r->config.env->context));
	item_fly(i, "PATCH", "application/merge-patch+json");
}

/* Which Event, if any, follows the condition: an equal one counts the series
 * up, a new text makes a new one, and neither comes too often. */
static bool event_wanted(struct item *i)
{
	if (i->event_count > 0 && env_now(i->report->config.env) - i->event_ns < EVENT_GAP_NS)
		return false;
	if (i->step != STEP_SERIES)
		i->step = i->event_count > 0 && i->event_note && strcmp(i->event_note->text, i->note->text) == 0 ?
		          STEP_SERIES : STEP_EVENT;
	return true;
}

/* Send the next request of a pod that waits; false when there is nothing more
 * to say, the item is in no list then. */
static bool pod_send(struct item *i)
{
	struct report *r = i->report;
	struct event_text e = {.type = "Warning", .reason = "FailedScheduling", .action = "Scheduling"};
	struct pod_view pod;

	if (!model_pod(r->config.model, i->pod, i->generation, &pod) || pod.node[0] || pod.deleting)
		return false;
	if (i->step == STEP_CONDITION) {
		if (strcmp(pod.condition_status, "False") != 0 || strcmp(pod.condition_reason, i->reason) != 0 ||
		    strcmp(pod.condition_message, i->note->text) != 0) {
			condition_send(i, &pod);
			return true;
		}
		r->counts.unchanged++;
		i->step = STEP_EVENT;
	}
	if (!event_wanted(i))
		return false;
	if (i->step == STEP_SERIES) {
		series_send(i, &pod);
		return true;
	}
	e.namespace = pod.namespace;
	e.pod = pod.name;
	e.uid = pod.uid;
	e.controller = pod.scheduler_name;
	event_send(i, &e);
	return true;
}

static void bind_send(struct item *i)
{
	struct event_text e = {
		.namespace = i->namespace, .pod = i->name, .uid = i->uid, .controller = i->scheduler,
		.type = i->bound ? "Normal" : "Warning",
		.reason = i->bound ? "Scheduled" : "FailedScheduling",
		.action = i->bound ? "Binding" : "Scheduling",
	};

	event_send(i, &e);
}

/* All is said: a pod's item stays for its series, one of a binding goes. */
static void item_rest(struct item *i)
{
	struct report *r = i->report;
	struct pod_view pod;

	if (i->pod == ID_NONE || r->by_pod[i->pod] != i ||
	    !model_pod(r->config.model, i->pod, i->generation, &pod) || pod.node[0]) {
		item_free(i);
		return;
	}
	note_drop(&i->note);
	if (i->next_note) {
		struct note *note = i->next_note;

		i->next_note = NULL;
		item_say(i, note, i->next_reason);
		note_drop(&note);
	}
}

static void item_again(struct item *i, uint64_t pause_ns)
{
	struct report *r = i->report;
	uint64_t until = env_now(r->config.env) + pause_ns;

	if (until > r->pause_until_ns)
		r->pause_until_ns = until;
	if (i->tries >= TRIES_MAX) {
		r->counts.dropped++;
		item_rest(i);
		return;
	}
	item_queue(i);
}

static void item_written(struct item *i)
{
	struct report *r = i->report;

	backoff_reset(&r->backoff);
	i->tries = 0;
	if (i->step == STEP_CONDITION) {
		r->counts.conditions++;
		i->step = STEP_EVENT;
		if (i->next_note) /* that text is old already */
			item_rest(i);
		else
			item_queue(i);
		return;
	}
	r->counts.events++;
	i->event_count = i->step == STEP_SERIES ? i->event_count + 1 : 1;
	i->event_ns = env_now(r->config.env);
	note_drop(&i->event_note);
	i->event_note = note_use(i->note);
	item_rest(i);
}

static void item_refused(struct item *i, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct report *r = i->report;
	struct apistatus s;

	if (i->step == STEP_SERIES && answer->status == 404) {
		i->event_count = 0; /* it is too old to be counted up */
		i->step = STEP_EVENT;
		item_queue(i);
		return;
	}
	apistatus_read(body, body_bytes, &s);
	if (answer->status != 404 && log_allowed(&r->limit, r->config.env, "reports"))
		env_log(r->config.env, "warn", "can't write the %s of a pod: HTTP %d: %.300s",
		        i->step == STEP_CONDITION ? "condition (patch pods/status)" : "event (create and patch events)",
		        answer->status, s.message);
	r->counts.dropped++;
	/* A condition that is not taken does not keep the event from being told. */
	if (i->step == STEP_CONDITION && answer->status != 404) {
		i->step = STEP_EVENT;
		item_queue(i);
		return;
	}
	item_rest(i);
}

static void item_done(void *context, const struct http_answer *answer, const char *body, size_t body_bytes)
{
	struct item *i = context;
	struct report *r = i->report;
	struct transport *t = r->config.env->transport;

	i->call = NULL;
	item_unlist(i);
	if (answer->end != HTTP_ANSWERED || answer->status == 429 || answer->status >= 500) {
		item_again(i, backoff_answer(&r->backoff, r->config.env, answer));
	} else if (answer->status == 401) {
		if (t->ops->renew_credentials)
			t->ops->renew_credentials(t);
		item_again(i, i->tries > 1 ? backoff_failed(&r->backoff, r->config.env) : 0);
	} else if (answer->status >= 200 && answer->status < 300) {
		item_written(i);
	} else {
		item_refused(i, answer, body, body_bytes);
	}
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
	item_unlist(i);
	jsonout_clear(&r->path);
	jsonout_clear(&r->body);
	if (i->pod == ID_NONE)
		bind_send(i);
	else if (!pod_send(i))
		item_rest(i);
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
			item_free(item);
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
