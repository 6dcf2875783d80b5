/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/dialect/group_status.h"

#include "frontend/base/arena.h"
#include "frontend/json/json.h"
#include "ipc/memory.h"

#include <errno.h>
#include <string.h>

#define OTHERS_BYTES_MAX 32768u

#define NO_CONDITION                                                                               \
	{                                                                                              \
		.status = "", .reason = "", .message = "", .turned = ""                                    \
	}

const struct group_status group_status_empty = {
	.phase = "",
	.occupied_by = "",
	.started = "",
	.queue = "",
	.others = "",
	.conditions = { NO_CONDITION, NO_CONDITION },
};

static void read_text(struct json *j, void *out)
{
	struct text t;

	if (json_string(j, &t))
		*(const char **)out = arena_copy(j->arena, t);
}

static void read_count(struct json *j, void *out)
{
	int64_t value;

	if (json_int64(j, &value))
		*(uint32_t *)out = value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (uint32_t)value;
}

struct typed_condition {
	struct group_condition c;
	const char *type;
};

static const struct json_field condition_fields[] = {
	JSON_FIELD("type", read_text, struct typed_condition, type),
	JSON_FIELD("status", read_text, struct typed_condition, c.status),
	JSON_FIELD("reason", read_text, struct typed_condition, c.reason),
	JSON_FIELD("message", read_text, struct typed_condition, c.message),
	JSON_FIELD("lastTransitionTime", read_text, struct typed_condition, c.turned),
};

/* A status while it is read. */
struct status_read {
	struct group_status s;
	const struct dialect_status *dialect;
	char *others; /* conditions of other types, as raw JSON: OTHERS_BYTES_MAX + 1; NULL: none yet */
	size_t others_bytes;
};

static void keep_other(struct arena *arena, struct text raw, struct status_read *r)
{
	const size_t comma = r->others_bytes > 0;

	if (r->s.crowded || raw.bytes + comma > OTHERS_BYTES_MAX - r->others_bytes) {
		r->s.crowded = true;
		r->s.others = "";
		return;
	}
	if (!r->others)
		r->others = arena_alloc(arena, OTHERS_BYTES_MAX + 1);
	if (comma)
		r->others[r->others_bytes] = ',';
	memcpy(r->others + r->others_bytes + comma, raw.at, raw.bytes);
	r->others_bytes += comma + raw.bytes;
	r->others[r->others_bytes] = '\0';
	r->s.others = r->others;
}

/* Conditions of other types are needed only if the list is written, and as a whole. */
static bool keeps_others(const struct dialect_status *dialect)
{
	return !dialect->strategic && dialect->conditions[0];
}

static void read_condition(struct json *j, void *status)
{
	struct typed_condition typed = { .c = NO_CONDITION, .type = "" };
	struct status_read *r = status;
	struct text raw;
	struct json own;

	if (!json_raw(j, &raw))
		return;
	json_begin(&own, raw.at, raw.bytes, j->arena);
	json_fields(&own, condition_fields, &typed);
	if (own.failed) {
		json_fail(j, "is not a condition");
		return;
	}
	for (size_t i = 0; i < GROUP_CONDITIONS_MAX; i++) {
		if (r->dialect->conditions[i] && strcmp(r->dialect->conditions[i], typed.type) == 0) {
			r->s.conditions[i] = typed.c;
			return;
		}
	}
	if (keeps_others(r->dialect))
		keep_other(j->arena, raw, r);
}

static void read_conditions(struct json *j, void *status)
{
	struct status_read *r = status;

	r->others = NULL;
	r->others_bytes = 0;
	r->s.others = "";
	r->s.crowded = false;
	json_items(j, read_condition, r);
}

#define QUEUE_BYTES_MAX 253u /* of an object's name */

/* Kept for each gang, so no longer than a queue's name may be, and one byte, which matches none. */
static void read_queue(struct json *j, void *out)
{
	struct text t;

	if (json_string(j, &t))
		*(const char **)out = arena_copy(
			j->arena,
			(struct text){ t.at, t.bytes <= QUEUE_BYTES_MAX ? t.bytes : QUEUE_BYTES_MAX + 1 });
}

static const struct json_field status_fields[] = {
	JSON_FIELD("phase", read_text, struct status_read, s.phase),
	JSON_FIELD("occupiedBy", read_text, struct status_read, s.occupied_by),
	JSON_FIELD("scheduleStartTime", read_text, struct status_read, s.started),
	JSON_FIELD("scheduled", read_count, struct status_read, s.scheduled),
	JSON_FIELD("running", read_count, struct status_read, s.running),
	JSON_FIELD("succeeded", read_count, struct status_read, s.succeeded),
	JSON_FIELD("failed", read_count, struct status_read, s.failed),
	JSON_WHOLE("conditions", read_conditions),
};

static const struct json_field object_fields[] = { JSON_NESTED("status", status_fields) };

static const struct json_field spec_fields[] = {
	JSON_FIELD("queue", read_queue, struct status_read, s.queue),
};
static const struct json_field queued_fields[] = {
	JSON_NESTED("spec", spec_fields),
	JSON_NESTED("status", status_fields),
};

int group_status_read(const struct dialect_status *dialect, const char *json, size_t bytes,
                      struct arena *arena, struct group_status *out)
{
	struct status_read r = { .s = group_status_empty, .dialect = dialect };
	struct json j;

	json_begin(&j, json, bytes, arena);
	if (dialect->queues)
		json_fields(&j, queued_fields, &r);
	else
		json_fields(&j, object_fields, &r);
	*out = r.s;
	return j.failed ? -EINVAL : 0;
}

#define TEXTS_MAX (5 + 4 * GROUP_CONDITIONS_MAX)

/* Addresses of its texts. */
static size_t texts_of(struct group_status *s, const char **texts[TEXTS_MAX])
{
	size_t n = 0;

	texts[n++] = &s->phase;
	texts[n++] = &s->occupied_by;
	texts[n++] = &s->started;
	texts[n++] = &s->queue;
	texts[n++] = &s->others;
	for (size_t i = 0; i < GROUP_CONDITIONS_MAX; i++) {
		texts[n++] = &s->conditions[i].status;
		texts[n++] = &s->conditions[i].reason;
		texts[n++] = &s->conditions[i].message;
		texts[n++] = &s->conditions[i].turned;
	}
	return n;
}

struct group_status *group_status_copy(const struct group_status *s)
{
	struct group_status copy = *s, *out;
	const char **texts[TEXTS_MAX];
	size_t n = texts_of(&copy, texts), bytes = sizeof(copy), length;
	char *p;

	for (size_t i = 0; i < n; i++)
		bytes += **texts[i] ? strlen(*texts[i]) + 1 : 0;
	out = must_alloc(bytes);
	p = (char *)(out + 1);
	for (size_t i = 0; i < n; i++) {
		if (!**texts[i]) {
			*texts[i] = "";
			continue;
		}
		length = strlen(*texts[i]) + 1;
		memcpy(p, *texts[i], length);
		*texts[i] = p;
		p += length;
	}
	*out = copy;
	return out;
}

static bool condition_equal(const struct group_condition *a, const struct group_condition *b)
{
	return strcmp(a->status, b->status) == 0 && strcmp(a->reason, b->reason) == 0 &&
	       strcmp(a->message, b->message) == 0;
}

static bool conditions_equal(const struct group_status *a, const struct group_status *b)
{
	for (size_t i = 0; i < GROUP_CONDITIONS_MAX; i++)
		if (!condition_equal(&a->conditions[i], &b->conditions[i]))
			return false;
	return true;
}

bool group_status_equal(const struct group_status *a, const struct group_status *b)
{
	if (!a->crowded && !conditions_equal(a, b))
		return false;
	return strcmp(a->phase, b->phase) == 0 && strcmp(a->occupied_by, b->occupied_by) == 0 &&
	       strcmp(a->started, b->started) == 0 && a->scheduled == b->scheduled &&
	       a->running == b->running && a->succeeded == b->succeeded && a->failed == b->failed;
}

static void separate(struct jsonout *out)
{
	const char last = out->at[out->bytes - 1];

	if (last != '{' && last != '[')
		jsonout_add(out, ",");
}

static void write_text(struct jsonout *out, const char *name, const char *has, const char *want)
{
	if (strcmp(has, want) == 0)
		return;
	separate(out);
	jsonout_add(out, "@s:@s", name, want);
}

static void write_count(struct jsonout *out, const char *name, uint32_t has, uint32_t want)
{
	if (has == want)
		return;
	separate(out);
	jsonout_add(out, "@s:@u", name, (unsigned long long)want);
}

static void write_condition(struct jsonout *out, const char *type,
                            const struct group_condition *has, const struct group_condition *want,
                            const char *now)
{
	bool turned = strcmp(has->status, want->status) != 0 || !*has->turned;

	separate(out);
	jsonout_add(
		out, "{\"type\":@s,\"status\":@s,\"reason\":@s,\"message\":@s,\"lastTransitionTime\":@s}",
		type, want->status, want->reason, want->message, turned ? now : has->turned);
}

static void write_conditions(struct jsonout *out, const struct dialect_status *dialect,
                             const struct group_status *has, const struct group_status *want,
                             const char *now)
{
	if (has->crowded || conditions_equal(has, want))
		return;
	separate(out);
	jsonout_add(out, "\"conditions\":[");
	if (!dialect->strategic)
		jsonout_add(out, "@r", has->others);
	for (size_t i = 0; i < GROUP_CONDITIONS_MAX; i++) {
		const struct group_condition *h = &has->conditions[i], *w = &want->conditions[i];

		if (*w->status && !(dialect->strategic && condition_equal(h, w)))
			write_condition(out, dialect->conditions[i], h, w, now);
	}
	jsonout_add(out, "]");
}

void group_status_write(const struct dialect_status *dialect, const struct group_status *has,
                        const struct group_status *want, const char *now, struct jsonout *out)
{
	jsonout_add(out, "{");
	write_text(out, "phase", has->phase, want->phase);
	write_text(out, "occupiedBy", has->occupied_by, want->occupied_by);
	write_text(out, "scheduleStartTime", has->started, want->started);
	write_count(out, "scheduled", has->scheduled, want->scheduled);
	write_count(out, "running", has->running, want->running);
	write_count(out, "succeeded", has->succeeded, want->succeeded);
	write_count(out, "failed", has->failed, want->failed);
	write_conditions(out, dialect, has, want, now);
	jsonout_add(out, "}");
}
