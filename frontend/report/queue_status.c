/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/report/queue_status.h"

#include "frontend/api/apipath.h"
#include "frontend/api/apistatus.h"
#include "frontend/base/backoff.h"
#include "frontend/base/log.h"
#include "frontend/json/json.h"
#include "frontend/json/jsonout.h"
#include "frontend/report/event.h"

#include <stdlib.h>
#include <string.h>

#define MANAGER "muster"
#define OTHERS_NS (600 * NS_PER_S) /* another manager's field is left alone for so long */
#define GAP_NS (50 * NS_PER_MS)    /* between two requests */
#define LATER_NS (10 * NS_PER_S)
#define REFUSED_NS (60 * NS_PER_S) /* a missing right, or another manager */
/* What is written is read again: the object may be another one by then, or overwritten. */
#define AGAIN_NS (600 * NS_PER_S)   /* all of them */
#define AGAIN_GAP_NS (NS_PER_S / 5) /* between two, at least */
#define REQUEST_TIMEOUT_MS 4000u
#define OBJECT_BYTES_MAX (1u << 20)

struct entry {
	char *name, *used;
	uint64_t due_ns; /* NEVER_NS: written, or in flight */
};

struct queue_status {
	const struct env *env;
	const struct model *model;
	struct entry *entries; /* by row */
	size_t n, next;
	size_t used_n;     /* entries that have a name */
	size_t again;      /* the entry that is read again next */
	uint64_t again_ns; /* ... and when */
	struct http_call *call;
	bool patches;        /* ... a PATCH */
	bool whole;          /* ... of the object, not of its status */
	size_t object_bytes; /* of the path that are the object's */
	uint32_t current;
	const struct resource *of; /* of its object */
	const char *field;
	/* Koordinator's CRD has no status subresource, scheduler-plugins' of the same name has one. */
	bool no_subresource; /* of ElasticQuotas */
	uint64_t pause_ns;   /* nothing is sent before */
	uint64_t wake_ns;    /* nothing is due before */
	struct backoff backoff;
	struct log_limit limit, others_limit;
	struct jsonout path, body;
};

struct queue_status *queue_status_new(const struct env *env, const struct model *model)
{
	struct queue_status *s = must_alloc(sizeof(*s));

	*s = (struct queue_status){
		.env = env,
		.model = model,
		.wake_ns = NEVER_NS,
		.backoff = { .first_ns = NS_PER_S, .cap_ns = 30 * NS_PER_S, .reset_ns = 60 * NS_PER_S }
	};
	return s;
}

void queue_status_free(struct queue_status *s)
{
	if (!s)
		return;
	if (s->call)
		s->env->transport->ops->cancel(s->env->transport, s->call);
	for (size_t i = 0; i < s->n; i++) {
		free(s->entries[i].name);
		free(s->entries[i].used);
	}
	free(s->entries);
	jsonout_free(&s->path);
	jsonout_free(&s->body);
	free(s);
}

void queue_status_drop(struct queue_status *s, uint32_t id)
{
	struct entry *e = id < s->n ? &s->entries[id] : NULL;

	if (!e || !e->name)
		return;
	if (s->call && s->current == id) {
		s->env->transport->ops->cancel(s->env->transport, s->call);
		s->call = NULL;
	}
	free(e->name);
	free(e->used);
	*e = (struct entry){ 0 };
	s->used_n--;
}

static uint64_t again_after(const struct queue_status *s)
{
	const uint64_t each_ns = AGAIN_NS / (s->used_n > 0 ? s->used_n : 1);

	return env_now(s->env) + (each_ns > AGAIN_GAP_NS ? each_ns : AGAIN_GAP_NS);
}

void queue_status_put(struct queue_status *s, uint32_t id, const char *name, const char *used)
{
	struct entry *e;

	if (id >= s->n)
		s->entries = must_reach(s->entries, &s->n, id, 64, sizeof(*s->entries));
	e = &s->entries[id];
	if (e->name && strcmp(e->name, name) == 0 && strcmp(e->used, used) == 0)
		return;
	if (e->name && strcmp(e->name, name) != 0)
		queue_status_drop(s, id);
	if (!e->name) {
		e->name = must_copy(name);
		if (s->used_n++ == 0)
			s->again_ns = again_after(s);
	}
	free(e->used);
	e->used = must_copy(used);
	e->due_ns = env_now(s->env);
	s->wake_ns = e->due_ns;
}

/* The object as it was read. */
struct seen {
	struct text version, managers, allocated, used;
};

static const struct json_field seen_metadata[] = {
	JSON_FIELD("resourceVersion", json_field_text, struct seen, version),
	JSON_FIELD("managedFields", json_field_raw, struct seen, managers),
};
static const struct json_field seen_status[] = {
	JSON_FIELD("allocated", json_field_raw, struct seen, allocated),
	JSON_FIELD("used", json_field_raw, struct seen, used),
};
static const struct json_field seen_object[] = {
	JSON_NESTED("metadata", seen_metadata),
	JSON_NESTED("status", seen_status),
};

/* One of metadata.managedFields. */
struct manager {
	struct text name, time, allocated, used;
};

static const struct json_field manager_status[] = {
	JSON_FIELD("f:allocated", json_field_raw, struct manager, allocated),
	JSON_FIELD("f:used", json_field_raw, struct manager, used),
};
static const struct json_field manager_fields[] = {
	JSON_NESTED("f:status", manager_status),
};
static const struct json_field manager_object[] = {
	JSON_FIELD("manager", json_field_text, struct manager, name),
	JSON_FIELD("time", json_field_text, struct manager, time),
	JSON_NESTED("fieldsV1", manager_fields),
};

struct others {
	const char *field, *since; /* RFC 3339 in UTC, as the server writes: texts compare as times */
	struct text name;          /* of one that wrote the field later; at NULL: none did */
};

static void manager_read(struct json *j, void *out)
{
	struct others *o = out;
	struct manager m = { 0 };

	if (json_fields(j, manager_object, &m) &&
	    (strcmp(o->field, "used") == 0 ? m.used.at : m.allocated.at) && !text_is(m.name, MANAGER) &&
	    text_order(m.time, text_of(o->since)) > 0)
		o->name = m.name;
}

static struct text others_find(const struct queue_status *s, struct text managers,
                               struct arena *arena)
{
	const uint64_t wall_ns = s->env->wall_ns(s->env->context);
	char since[EVENT_TIME_BYTES];
	struct others o = { .field = s->field, .since = since };
	struct json j;

	if (!managers.at)
		return o.name;
	event_time(since, sizeof(since), wall_ns > OTHERS_NS ? wall_ns - OTHERS_NS : 0, false);
	json_begin(&j, managers.at, managers.bytes, arena);
	json_items(&j, manager_read, &o);
	return o.name;
}

/* Resources that the queue uses. */
struct used_keys {
	struct text at[RESOURCES_MAX];
	size_t n;
};

static void keys_read(struct used_keys *keys, const char *used, struct arena *arena)
{
	struct json j;

	keys->n = 0;
	json_begin(&j, used, strlen(used), arena);
	if (json_object(&j))
		while (keys->n < RESOURCES_MAX && json_key(&j, &keys->at[keys->n])) {
			keys->n++;
			json_skip(&j);
		}
}

static bool has_key(const struct used_keys *keys, struct text key)
{
	for (size_t i = 0; i < keys->n; i++)
		if (text_equal(keys->at[i], key))
			return true;
	return false;
}

/* Appends `"key":null` for each amount of the object that isn't used; *same: it has `used`. */
static bool amounts_compare(struct text amounts, const char *used, struct arena *arena,
                            struct jsonout *gone, bool *same)
{
	struct jsonout theirs = { 0 };
	struct used_keys keys;
	struct text key, value;
	struct json j;
	bool good = true;

	*same = false;
	if (!amounts.at || text_is(amounts, "null"))
		return true;
	keys_read(&keys, used, arena);
	jsonout_add(&theirs, "{");
	json_begin(&j, amounts.at, amounts.bytes, arena);
	if (json_object(&j))
		while (json_key(&j, &key) && json_scalar(&j, &value)) {
			const char *name = arena_copy(arena, key);

			jsonout_add(&theirs, "@r@s:@s", theirs.bytes > 1 ? "," : "", name,
			            arena_copy(arena, value));
			if (!has_key(&keys, key))
				jsonout_add(gone, "@r@s:null", gone->bytes > 0 ? "," : "", name);
		}
	good = json_end(&j);
	jsonout_add(&theirs, "}");
	*same = good && strcmp(theirs.at, used) == 0;
	jsonout_free(&theirs);
	return good;
}

static void later(struct queue_status *s, uint64_t ns)
{
	struct entry *e = &s->entries[s->current];

	if (e->due_ns == NEVER_NS)
		e->due_ns = env_now(s->env) + ns;
}

static void on_done(void *context, const struct http_answer *answer, const char *body,
                    size_t bytes);

static void request_send(struct queue_status *s, bool patches)
{
	const struct http_request r = { .method = patches ? "PATCH" : "GET",
		                            .path = s->path.at,
		                            .content_type = patches ? "application/merge-patch+json" : NULL,
		                            .body = patches ? s->body.at : NULL,
		                            .body_bytes = patches ? s->body.bytes : 0,
		                            .lane = HTTP_REPORT,
		                            .timeout_ms = REQUEST_TIMEOUT_MS,
		                            .answer_bytes_max = OBJECT_BYTES_MAX };
	const struct http_handler handler = { .done = on_done, .context = s };

	s->patches = patches;
	s->call = s->env->transport->ops->start(s->env->transport, &r, &handler);
	if (!s->call)
		fatal_memory();
}

static bool is_quota(const struct queue_status *s)
{
	return strcmp(s->field, "used") == 0;
}

/* The PATCH in s->body, of the object or of its status. */
static void patch_start(struct queue_status *s, bool whole)
{
	s->whole = whole;
	s->path.bytes = s->object_bytes;
	jsonout_add(&s->path, "@r?fieldManager=" MANAGER, whole ? "" : "/status");
	request_send(s, true);
}

static void patch_send(struct queue_status *s, struct text version, const char *gone,
                       struct arena *arena)
{
	const char *used = s->entries[s->current].used;

	jsonout_clear(&s->body);
	jsonout_add(&s->body, "{\"metadata\":{\"resourceVersion\":@s},\"status\":{@s:{",
	            arena_copy(arena, version), s->field);
	jsonout_add(&s->body, "@r@r", arena_copy(arena, (struct text){ used + 1, strlen(used) - 2 }),
	            used[1] != '}' && *gone ? "," : "");
	jsonout_add(&s->body, "@r}}}", gone);
	s->entries[s->current].due_ns = NEVER_NS; /* what came since is in it */
	patch_start(s, is_quota(s) && s->no_subresource);
}

/* The answer of the GET. */
static void object_judge(struct queue_status *s, const char *body, size_t bytes)
{
	const struct entry *e = &s->entries[s->current];
	struct jsonout gone = { 0 };
	struct arena arena = { 0 };
	struct seen o = { 0 };
	struct text other;
	struct json j;
	bool same = false;

	json_begin(&j, body ? body : "", bytes, &arena);
	json_fields(&j, seen_object, &o);
	if (!json_end(&j) || o.version.bytes == 0 ||
	    !amounts_compare(is_quota(s) ? o.used : o.allocated, e->used, &arena, &gone, &same)) {
		if (log_allowed(&s->limit, s->env, "queue status"))
			env_log(s->env, "warn", "the status of %s %s can't be read: %s", s->of->kind, e->name,
			        j.error[0] ? j.error : "it is no such object");
	} else if (!same && (other = others_find(s, o.managers, &arena)).at) {
		later(s, REFUSED_NS);
		if (log_allowed(&s->others_limit, s->env, "queue status"))
			env_log(s->env, "warn",
			        "status.%s of %s %s is not written: %.100s wrote it in the last ten minutes",
			        s->field, s->of->kind, e->name, arena_copy(&arena, other));
	} else if (!same) {
		patch_send(s, o.version, gone.at ? gone.at : "", &arena);
	}
	jsonout_free(&gone);
	arena_free(&arena);
}

static void failed(struct queue_status *s, const struct http_answer *answer, const char *body,
                   size_t bytes)
{
	const bool answered = answer->end == HTTP_ANSWERED;
	uint64_t pause_ns = 0;
	struct apistatus status;

	apistatus_read(body ? body : "", bytes, &status);
	if (answered && answer->status == 403)
		pause_ns = REFUSED_NS;
	else if (!apistatus_is_final(answer) && !answer->too_long)
		pause_ns = backoff_answer(&s->backoff, s->env, answer);
	if (answered && answer->status == 401)
		env_renew_credentials(s->env);
	if (pause_ns > 0) {
		later(s, pause_ns);
		s->pause_ns = env_now(s->env) + pause_ns;
	}
	if (log_allowed(&s->limit, s->env, "queue status"))
		env_log(s->env, "warn", "status.%s of %s %s can't be %s: %d %s%s", s->field, s->of->kind,
		        s->entries[s->current].name, s->patches ? "written" : "read", answer->status,
		        answered ? status.message : answer->error,
		        answered && answer->status == 403 ? " (deploy/queue-status has the right)" : "");
}

static void on_done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct queue_status *s = context;
	const bool ok = answer->end == HTTP_ANSWERED && answer->status == 200;

	s->call = NULL;
	s->wake_ns = s->pause_ns = env_now(s->env) + GAP_NS;
	if (ok)
		backoff_reset(&s->backoff);
	if (ok && !s->patches) {
		object_judge(s, body, bytes);
	} else if (s->patches && is_quota(s) && !s->whole && apistatus_says(answer, 404, body, bytes)) {
		/* The subresource isn't there, or the object that was a moment ago: this PATCH shows. */
		patch_start(s, true);
	} else if (ok && is_quota(s)) {
		s->no_subresource = s->whole;
	} else if (apistatus_says(answer, 409, body, bytes)) {
		later(s, LATER_NS);
	} else if (!ok && !apistatus_says(answer, 404, body, bytes)) {
		failed(s, answer, body, bytes);
	}
}

/* False: it has no object that is ours to write. */
static bool entry_begin(struct queue_status *s, uint32_t id)
{
	struct entry *e = &s->entries[id];
	const char *namespace = model_queue_object(s->model, e->name, &s->of, &s->field);

	e->due_ns = NEVER_NS;
	if (!namespace)
		return false;
	s->current = id;
	jsonout_clear(&s->path);
	apipath_one(&s->path, s->of, namespace, e->name);
	s->object_bytes = s->path.bytes;
	request_send(s, false);
	return true;
}

/* Reads one of the written entries again, in turns. */
static bool again_begin(struct queue_status *s)
{
	s->again_ns = again_after(s);
	for (size_t i = 0; i < s->n; i++) {
		const size_t at = s->again++ % s->n;

		if (s->entries[at].name && s->entries[at].due_ns == NEVER_NS &&
		    entry_begin(s, (uint32_t)at))
			return true;
	}
	return false;
}

uint64_t queue_status_poll(struct queue_status *s)
{
	const uint64_t now = env_now(s->env);
	uint64_t wake_ns = NEVER_NS;

	if (s->call)
		return NEVER_NS;
	if (now < s->wake_ns || now < s->pause_ns)
		return s->wake_ns > s->pause_ns ? s->wake_ns : s->pause_ns;
	for (size_t i = 0; i < s->n; i++) {
		const size_t at = (s->next + i) % s->n;
		const struct entry *e = &s->entries[at];

		if (!e->name)
			continue;
		if (e->due_ns <= now && entry_begin(s, (uint32_t)at)) {
			s->next = at + 1;
			return NEVER_NS;
		}
		wake_ns = e->due_ns < wake_ns ? e->due_ns : wake_ns;
	}
	if (s->used_n > 0) {
		if (s->again_ns <= now && again_begin(s))
			return NEVER_NS;
		wake_ns = s->again_ns < wake_ns ? s->again_ns : wake_ns;
	}
	s->wake_ns = wake_ns;
	return wake_ns;
}
