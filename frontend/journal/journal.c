/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/journal/journal.h"

#include "frontend/api/apistatus.h"
#include "frontend/api/configmap.h"
#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/base/probe.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define GATHER_NS (20 * NS_PER_MS) /* between two PUTs ... */
#define GATHER_MOST 20u            /* ... unless so many intents wait */
#define REMOVE_NS NS_PER_S         /* a PUT that only removes intents */
/* Of a kind.  At half of it the next PUT fills it up, so that a long queue needs few PUTs. */
#define INTENTS_MAX 2048u
#define ASSUMED_MAX 1024u /* with those that wait */
#define ASSUMED_SPACE (64u << 10)
#define BYTES_MAX (900u << 10) /* the API server takes 1 MiB of data */
#define REQUEST_TIMEOUT_MS 4000u
#define FRESH_NS (60 * NS_PER_S)
#define FEW_NS NS_PER_S /* between two writes of few */

/* Written: in the PUT in flight, or in one whose outcome is not known, and so in every later one.
 */
enum intent_state { INTENT_WAITING, INTENT_WRITTEN, INTENT_DURABLE, INTENT_STATES };

struct intent {
	TAILQ_ENTRY(intent) link; /* in lists[state] */
	struct intent_line line;  /* texts follow the struct */
	enum intent_state state;
	uint64_t added_ns;
	uint64_t needs_put; /* its version is in this one and in those after it */
	char version[64];   /* of a renewed one */
	size_t bytes;
};
TAILQ_HEAD(intent_list, intent);

enum request { REQUEST_GET, REQUEST_CREATE, REQUEST_UPDATE, REQUEST_NAMESPACE };

struct journal {
	struct journal_config config;
	struct intent_list lists[INTENT_STATES];
	size_t n[INTENT_KINDS]; /* written and durable */
	size_t waiting_n, waiting_assumed;
	size_t bytes;    /* of those written and durable */
	uint64_t few_ns; /* when some were written while more than half were not over */
	struct http_call *call;
	enum request request;
	struct configmap object;
	bool homeless; /* it does not exist, since there is no namespace */
	bool claiming, open, lost;
	uint64_t epoch; /* the last seen; ours while open */
	enum intents_fence fence;
	uint64_t begun_ns; /* of the last PUT */
	uint64_t puts, put_accepted,
		renewed_put;   /* begun; the last that succeeded, and that is needed */
	uint64_t retry_ns; /* not before */
	uint64_t fresh_until_ns;
	uint64_t stale_ns; /* since then the object has what is over; NEVER_NS */
	bool is_full;
	struct backoff backoff;
	char fault[640];
	struct jsonout path, body;
	struct log_limit limit;
	struct journal_counts counts;
};

struct journal *journal_new(const struct journal_config *config)
{
	struct journal *j = must_alloc(sizeof(*j));

	j->config = *config;
	j->object = (struct configmap){ .namespace = config->namespace, .name = config->name };
	if (!j->config.gather_ns)
		j->config.gather_ns = GATHER_NS;
	if (!j->config.remove_ns)
		j->config.remove_ns = REMOVE_NS;
	if (!j->config.intents_most)
		j->config.intents_most = INTENTS_MAX;
	j->stale_ns = NEVER_NS;
	j->backoff = (struct backoff){ .first_ns = 50 * NS_PER_MS,
		                           .cap_ns = 5 * NS_PER_S,
		                           .reset_ns = 30 * NS_PER_S };
	for (int state = 0; state < INTENT_STATES; state++)
		TAILQ_INIT(&j->lists[state]);
	return j;
}

static void list_free(struct intent_list *list)
{
	struct intent *i;

	while ((i = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, i, link);
		free(i);
	}
}

void journal_free(struct journal *j)
{
	if (!j)
		return;
	if (j->call)
		j->config.env->transport->ops->cancel(j->config.env->transport, j->call);
	for (int state = 0; state < INTENT_STATES; state++)
		list_free(&j->lists[state]);
	configmap_forget(&j->object, false);
	jsonout_free(&j->path);
	jsonout_free(&j->body);
	free(j);
}

void journal_claim(struct journal *j)
{
	j->claiming = true;
}

bool journal_is_open(const struct journal *j)
{
	return j->open && !j->lost;
}

bool journal_is_lost(const struct journal *j)
{
	return j->lost;
}

const char *journal_fault(const struct journal *j)
{
	return j->fault[0] ? j->fault : NULL;
}

enum intents_fence journal_fence(const struct journal *j)
{
	return j->fence;
}

static void stale(struct journal *j)
{
	if (j->stale_ns == NEVER_NS)
		j->stale_ns = env_now(j->config.env);
}

void journal_fenced(struct journal *j)
{
	if (j->fence != INTENTS_FENCE_NONE)
		stale(j);
	j->fence = INTENTS_FENCE_NONE;
}

static const char *text_put(char **at, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = memcpy(*at, text, n);

	*at += n;
	return copy;
}

static struct intent *intent_new(struct journal *j, const struct intent_line *l)
{
	size_t texts = strlen(l->uid) + strlen(l->node) + strlen(l->node_uid) + strlen(l->version) + 4;
	struct intent *i = must_alloc(sizeof(*i) + texts);
	char *at = (char *)(i + 1);

	i->line = (struct intent_line){ .kind = l->kind,
		                            .uid = text_put(&at, l->uid),
		                            .node = text_put(&at, l->node),
		                            .node_uid = text_put(&at, l->node_uid),
		                            .version = text_put(&at, l->version) };
	i->bytes = intent_bytes(&i->line);
	i->added_ns = env_now(j->config.env);
	return i;
}

static void state_enter(struct journal *j, struct intent *i, enum intent_state state)
{
	const bool assumed = i->line.kind == INTENT_ASSUME;

	i->state = state;
	if (assumed && state == INTENT_WAITING)
		TAILQ_INSERT_HEAD(&j->lists[state], i, link);
	else
		TAILQ_INSERT_TAIL(&j->lists[state], i, link);
	if (state == INTENT_WAITING) {
		j->waiting_n++;
		j->waiting_assumed += assumed;
	} else {
		j->n[i->line.kind]++;
		j->bytes += i->bytes;
	}
}

static void state_leave(struct journal *j, struct intent *i)
{
	TAILQ_REMOVE(&j->lists[i->state], i, link);
	if (i->state == INTENT_WAITING) {
		j->waiting_n--;
		j->waiting_assumed -= i->line.kind == INTENT_ASSUME;
	} else {
		j->n[i->line.kind]--;
		j->bytes -= i->bytes;
	}
}

bool journal_takes_assumed(const struct journal *j)
{
	return journal_is_open(j) && !j->fault[0] && j->bytes <= BYTES_MAX - ASSUMED_SPACE &&
	       j->n[INTENT_ASSUME] + j->waiting_assumed < ASSUMED_MAX;
}

struct intent *journal_add(struct journal *j, const struct intent_line *line)
{
	struct intent *i = intent_new(j, line);

	state_enter(j, i, INTENT_WAITING);
	return i;
}

bool intent_is_durable(const struct journal *j, const struct intent *i)
{
	return i->state == INTENT_DURABLE && i->needs_put <= j->put_accepted;
}

void intent_renew(struct journal *j, struct intent *i, const char *version)
{
	size_t before = i->bytes;

	assert(strlen(version) < sizeof(i->version));
	strcpy(i->version, version);
	i->line.version = i->version;
	i->bytes = intent_bytes(&i->line);
	if (i->state != INTENT_WAITING)
		j->bytes = j->bytes - before + i->bytes;
	i->needs_put = j->renewed_put = j->puts + 1;
}

const struct intent_line *intent_line(const struct intent *i)
{
	return &i->line;
}

struct intent *journal_first(struct journal *j)
{
	return TAILQ_FIRST(&j->lists[INTENT_DURABLE]);
}

struct intent *journal_next(const struct intent *after)
{
	return TAILQ_NEXT(after, link);
}

void journal_remove(struct journal *j, struct intent *i)
{
	if (i->state != INTENT_WAITING)
		stale(j);
	state_leave(j, i);
	free(i);
}

bool journal_retain(struct journal *j, struct intent *i)
{
	const enum intent_state state = i->state;

	assert(i->line.kind == INTENT_BIND);
	if (j->n[INTENT_RETAIN] >= INTENTS_MAX) {
		journal_remove(j, i);
		return false;
	}
	state_leave(j, i);
	i->line.kind = INTENT_RETAIN;
	i->bytes = intent_bytes(&i->line);
	state_enter(j, i, state);
	stale(j);
	return true;
}

/* When few are written, though more than half of what there may be is not over: bindings that are
 * held for their volumes stay for minutes, and the others do not wait for them. */
static uint64_t few_due_ns(const struct journal *j, const struct intent *first)
{
	if (j->n[INTENT_BIND] <= j->config.intents_most / 2)
		return 0;
	return (first->added_ns > j->few_ns ? first->added_ns : j->few_ns) + FEW_NS;
}

/* How many of those that wait the next PUT may have. */
static size_t admissible(const struct journal *j)
{
	const size_t binds = j->n[INTENT_BIND], waiting = j->waiting_n - j->waiting_assumed;
	const size_t most = j->config.intents_most;
	const struct intent *first = TAILQ_FIRST(&j->lists[INTENT_WAITING]);

	if (!first || j->bytes + first->bytes > BYTES_MAX)
		return 0;
	if (binds + waiting <= most)
		return j->waiting_n;
	if (binds >= most || env_now(j->config.env) < few_due_ns(j, first))
		return j->waiting_assumed;
	return j->waiting_assumed + most - binds;
}

static void admit(struct journal *j, size_t n)
{
	struct intent *i;

	while (n-- > 0 && (i = TAILQ_FIRST(&j->lists[INTENT_WAITING])) != NULL) {
		if (j->bytes + i->bytes > BYTES_MAX)
			return;
		state_leave(j, i);
		state_enter(j, i, INTENT_WRITTEN);
	}
}

static void body_write(struct journal *j)
{
	const struct intents head = { .epoch = j->open ? j->epoch : j->epoch + 1,
		                          .writer = j->config.identity,
		                          .fence = j->fence };
	const struct intent *i;

	jsonout_clear(&j->body);
	configmap_begin(&j->object, j->request == REQUEST_CREATE, &j->body);
	intents_begin(&j->body, &head);
	for (int state = INTENT_WRITTEN; state < INTENT_STATES; state++)
		TAILQ_FOREACH (i, &j->lists[state], link)
			intents_add(&j->body, &i->line);
	intents_end(&j->body);
	jsonout_add(&j->body, "}");
}

static void data_write(struct journal *j)
{
	const size_t n = j->open ? admissible(j) : 0;

	j->begun_ns = env_now(j->config.env);
	if (n > j->waiting_assumed && j->n[INTENT_BIND] > j->config.intents_most / 2)
		j->few_ns = j->begun_ns;
	admit(j, n);
	body_write(j);
	j->puts++;
	j->stale_ns = NEVER_NS; /* set again by what is removed meanwhile, and by a failure */
}

static void namespace_write(struct journal *j)
{
	jsonout_clear(&j->body);
	jsonout_add(&j->body,
	            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":@s}}",
	            j->config.namespace);
}

static void on_done(void *context, const struct http_answer *answer, const char *body,
                    size_t body_bytes);

static void request_send(struct journal *j, enum request request)
{
	static const char *const methods[] = {
		[REQUEST_GET] = "GET",
		[REQUEST_CREATE] = "POST",
		[REQUEST_UPDATE] = "PUT",
		[REQUEST_NAMESPACE] = "POST",
	};
	const struct env *env = j->config.env;
	struct http_request r = { .method = methods[request],
		                      .lane = HTTP_JOURNAL,
		                      .timeout_ms = REQUEST_TIMEOUT_MS,
		                      .fresh_connection = env_now(env) < j->fresh_until_ns };
	struct http_handler handler = { .done = on_done, .context = j };

	j->request = request;
	jsonout_clear(&j->path);
	if (request == REQUEST_NAMESPACE)
		jsonout_add(&j->path, "/api/v1/namespaces");
	else
		configmap_path(&j->object, request == REQUEST_CREATE, &j->path);
	r.path = j->path.at;
	if (request == REQUEST_NAMESPACE)
		namespace_write(j);
	else if (request != REQUEST_GET)
		data_write(j);
	if (request != REQUEST_GET) {
		r.content_type = "application/json";
		r.body = j->body.at;
		r.body_bytes = j->body.bytes;
	}
	PROBE(journal_ask, (uint32_t)request, (uint32_t)j->n[INTENT_BIND]);
	j->call = env->transport->ops->start(env->transport, &r, &handler);
	if (!j->call)
		fatal_memory();
}

/* The intents of earlier instances replace those of an earlier read. */
static void adopt(struct journal *j, const struct intents *read)
{
	struct intent *i;

	while ((i = TAILQ_FIRST(&j->lists[INTENT_WRITTEN])) != NULL) {
		state_leave(j, i);
		free(i);
	}
	for (size_t n = 0; n < read->n; n++)
		state_enter(j, intent_new(j, &read->lines[n]), INTENT_WRITTEN);
	j->epoch = read->epoch;
	j->fence = read->fence;
}

static void lose(struct journal *j, const char *writer)
{
	env_log(j->config.env, "error",
	        "the journal %s/%s was taken by %.200s: another instance leads; without "
	        "--leader-elect only one may run, or each needs a --journal of its own",
	        j->config.namespace, j->config.name, writer);
	j->lost = true;
}

/* A read before the claim finds what earlier instances left; one after it whose epoch it has.  The
 * writer counts whatever else can't be read: it may be a later version, with lines of its own. */
static void data_judge(struct journal *j, struct text data)
{
	struct arena arena = { 0 };
	struct intents read;
	char why[300];
	const int rc = intents_read(data.at, data.bytes, &arena, &read, why, sizeof(why));
	const bool other = read.writer[0] && strcmp(read.writer, j->config.identity) != 0;

	if (rc < 0) {
		j->counts.unreadable++;
		env_log(j->config.env, "error", "the ConfigMap %s/%s is not a journal: %s; %s",
		        j->config.namespace, j->config.name, why,
		        !j->open ? "each waiting pod is fenced, as any may have a binding in flight"
		        : other  ? "its writer is another one"
		                 : "it is written again");
	}
	if (!j->open)
		adopt(j, &read);
	else if (other)
		lose(j, read.writer);
	else
		stale(j); /* edited by hand: written again */
	arena_free(&arena);
}

static void failed(struct journal *j, enum request request, const struct http_answer *answer,
                   const char *body, size_t bytes)
{
	const char *what = request == REQUEST_GET ? "read"
	                   : request == REQUEST_NAMESPACE
	                       ? "written, as its namespace does not exist and can't be created"
	                       : "written";
	struct apistatus s;

	j->counts.failures++;
	configmap_forget(&j->object, false);
	j->homeless = false;
	if (request != REQUEST_GET)
		stale(j);
	if (answer->end != HTTP_ANSWERED)
		j->fresh_until_ns = env_now(j->config.env) + FRESH_NS;
	else if (answer->status == 401)
		env_renew_credentials(j->config.env);
	apistatus_read(body ? body : "", bytes, &s);
	if (answer->end == HTTP_ANSWERED)
		snprintf(j->fault, sizeof(j->fault), "the journal %s/%s can't be %s: %d %.400s",
		         j->config.namespace, j->config.name, what, answer->status, s.message);
	else
		snprintf(j->fault, sizeof(j->fault), "the journal %s/%s can't be %s: %.400s",
		         j->config.namespace, j->config.name, what, answer->error);
	if (log_allowed(&j->limit, j->config.env, "journal"))
		env_log(j->config.env, "warn", "%s; no pod is bound without it", j->fault);
	j->retry_ns = env_now(j->config.env) + backoff_answer(&j->backoff, j->config.env, answer);
}

/* Another writer was faster, or an earlier PUT of ours whose answer was lost: the next read tells.
 */
static void conflict(struct journal *j)
{
	j->counts.conflicts++;
	configmap_forget(&j->object, false);
	stale(j);
	j->retry_ns = env_now(j->config.env) + backoff_failed(&j->backoff, j->config.env);
}

static void gone(struct journal *j, enum request request)
{
	if (j->open)
		env_log(j->config.env, "warn", "the journal %s/%s was deleted; it is created again",
		        j->config.namespace, j->config.name);
	else if (request == REQUEST_GET)
		adopt(j, &(struct intents){ .fence = INTENTS_FENCE_BEGUN });
	configmap_forget(&j->object, true);
	if (request != REQUEST_GET)
		stale(j);
}

static void accepted(struct journal *j, const char *body, size_t bytes)
{
	const uint64_t now = env_now(j->config.env);
	struct text data;
	struct intent *i;

	if (!configmap_take(&j->object, body, bytes, &data)) /* its version is unknown: read it */
		configmap_forget(&j->object, false);
	j->counts.writes++;
	j->put_accepted = j->puts;
	j->epoch += !j->open;
	j->open = true;
	while ((i = TAILQ_FIRST(&j->lists[INTENT_WRITTEN])) != NULL) {
		const uint64_t wait_ns = now - i->added_ns;

		state_leave(j, i);
		state_enter(j, i, INTENT_DURABLE);
		j->counts.intents++;
		j->counts.wait_ns_sum += wait_ns;
		if (wait_ns > j->counts.wait_ns_max)
			j->counts.wait_ns_max = wait_ns;
	}
	if (j->fault[0])
		env_log(j->config.env, "info", "the journal %s/%s is written again", j->config.namespace,
		        j->config.name);
	j->fault[0] = '\0';
	backoff_reset(&j->backoff);
}

static void on_done(void *context, const struct http_answer *answer, const char *body,
                    size_t body_bytes)
{
	struct journal *j = context;
	const enum request request = j->request;
	const bool answered = answer->end == HTTP_ANSWERED;
	const bool ok = answered && (answer->status == 200 || answer->status == 201);
	struct text data;

	j->call = NULL;
	PROBE(journal_answered, (uint32_t)request, answer->status);
	if (request == REQUEST_NAMESPACE && (ok || apistatus_says(answer, 409, body, body_bytes)))
		j->homeless = false;
	else if (ok && request != REQUEST_GET)
		accepted(j, body, body_bytes);
	else if (ok && configmap_take(&j->object, body, body_bytes, &data))
		data_judge(j, data);
	else if (request == REQUEST_CREATE && apistatus_says(answer, 404, body, body_bytes))
		j->homeless = true;
	else if (request != REQUEST_NAMESPACE && apistatus_says(answer, 404, body, body_bytes))
		gone(j, request);
	else if (request != REQUEST_GET && apistatus_says(answer, 409, body, body_bytes))
		conflict(j);
	else
		failed(j, request, answer, body, body_bytes);
}

/* Nothing more fits until others are over. */
static void full_note(struct journal *j)
{
	const struct intent *first = TAILQ_FIRST(&j->lists[INTENT_WAITING]);
	const bool full = first && j->bytes + first->bytes > BYTES_MAX;

	if (full && !j->is_full) {
		j->counts.full++;
		if (log_allowed(&j->limit, j->config.env, "journal"))
			env_log(j->config.env, "warn",
			        "the journal %s/%s is full: %zu intents wait until others are over",
			        j->config.namespace, j->config.name, j->waiting_n);
	}
	j->is_full = full;
}

/* When the next PUT is due; 0: at once. */
static uint64_t write_due_ns(struct journal *j)
{
	const struct intent *first = TAILQ_FIRST(&j->lists[INTENT_WAITING]);
	const size_t n = admissible(j);
	uint64_t due = j->stale_ns == NEVER_NS ? NEVER_NS : j->stale_ns + j->config.remove_ns;

	if (!j->open || !TAILQ_EMPTY(&j->lists[INTENT_WRITTEN]))
		return 0;
	full_note(j);
	if (j->renewed_put > j->put_accepted)
		due = j->begun_ns < due ? j->begun_ns : due;
	if (n >= GATHER_MOST || (n > 0 && j->waiting_assumed > 0))
		return 0;
	if (n > 0 && j->begun_ns + j->config.gather_ns < due)
		due = j->begun_ns + j->config.gather_ns;
	if (n == 0 && first && j->n[INTENT_BIND] < j->config.intents_most && !j->is_full &&
	    few_due_ns(j, first) < due)
		due = few_due_ns(j, first);
	return due;
}

uint64_t journal_poll(struct journal *j)
{
	const uint64_t now = env_now(j->config.env);
	uint64_t due;

	if (!j->claiming || j->lost || j->call)
		return NEVER_NS;
	if (now < j->retry_ns)
		return j->retry_ns;
	if (!j->object.metadata && !j->object.absent) {
		request_send(j, REQUEST_GET);
		return NEVER_NS;
	}
	due = write_due_ns(j);
	if (now < due)
		return due;
	if (j->homeless)
		request_send(j, REQUEST_NAMESPACE);
	else
		request_send(j, j->object.absent ? REQUEST_CREATE : REQUEST_UPDATE);
	return NEVER_NS;
}

bool journal_is_idle(const struct journal *j)
{
	return !j->call && j->waiting_n == 0 && TAILQ_EMPTY(&j->lists[INTENT_WRITTEN]) &&
	       j->stale_ns == NEVER_NS && j->renewed_put <= j->put_accepted;
}

size_t journal_size(const struct journal *j)
{
	size_t n = j->waiting_n;

	for (int kind = 0; kind < INTENT_KINDS; kind++)
		n += j->n[kind];
	return n;
}

const struct journal_counts *journal_counts(const struct journal *j)
{
	return &j->counts;
}

size_t journal_most(const struct journal *j)
{
	return j->config.intents_most;
}
