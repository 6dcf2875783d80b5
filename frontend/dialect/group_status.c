/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/dialect/group_status.h"

#include "frontend/base/arena.h"
#include "frontend/json/json.h"

#include <errno.h>
#include <stdlib.h>
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
	.others = "",
	.conditions = { NO_CONDITION, NO_CONDITION },
};

/* ---- reading -------------------------------------------------------------------- */

static void read_text(struct json *j, const char **out)
{
	struct text t;

	if (!json_string(j, &t))
		return;
	*out = arena_copy(j->arena, t);
	if (*out)
		return;
	*out = "";
	json_no_memory(j);
}

static void read_count(struct json *j, uint32_t *out)
{
	int64_t value;

	if (json_int64(j, &value))
		*out = value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (uint32_t)value;
}

static void read_condition_members(struct json *j, struct group_condition *c, const char **type)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "type"))
			read_text(j, type);
		else if (text_is(name, "status"))
			read_text(j, &c->status);
		else if (text_is(name, "reason"))
			read_text(j, &c->reason);
		else if (text_is(name, "message"))
			read_text(j, &c->message);
		else if (text_is(name, "lastTransitionTime"))
			read_text(j, &c->turned);
		else
			json_skip(j);
	}
}

/* Conditions of other types, as they are written. */
struct others {
	char *at; /* OTHERS_BYTES_MAX + 1, once there is one */
	size_t bytes;
};

static void keep_other(struct json *j, struct text raw, struct others *others,
                       struct group_status *out)
{
	const size_t comma = others->bytes > 0;

	if (out->crowded || raw.bytes + comma > OTHERS_BYTES_MAX - others->bytes) {
		out->crowded = true;
		out->others = "";
		return;
	}
	if (!others->at)
		others->at = arena_alloc(j->arena, OTHERS_BYTES_MAX + 1);
	if (!others->at) {
		json_no_memory(j);
		return;
	}
	if (comma)
		others->at[others->bytes] = ',';
	memcpy(others->at + others->bytes + comma, raw.at, raw.bytes);
	others->bytes += comma + raw.bytes;
	others->at[others->bytes] = '\0';
	out->others = others->at;
}

/* A list that is merged by type, or never written, needs none of other types. */
static bool keeps_others(const struct dialect_status *dialect)
{
	return !dialect->strategic && dialect->conditions[0];
}

/* One of our types, or kept as it is written. */
static void read_condition(struct json *j, const struct dialect_status *dialect,
                           struct others *others, struct group_status *out)
{
	struct group_condition c = NO_CONDITION;
	const char *type = "";
	struct text raw;
	struct json own;

	if (!json_raw(j, &raw))
		return;
	json_begin(&own, raw.at, raw.bytes, j->arena);
	read_condition_members(&own, &c, &type);
	if (own.failed) {
		json_fail(j, "is not a condition");
		return;
	}
	for (size_t i = 0; i < GROUP_CONDITIONS_MAX; i++) {
		if (dialect->conditions[i] && strcmp(dialect->conditions[i], type) == 0) {
			out->conditions[i] = c;
			return;
		}
	}
	if (keeps_others(dialect))
		keep_other(j, raw, others, out);
}

static void read_conditions(struct json *j, const struct dialect_status *dialect,
                            struct group_status *out)
{
	struct others others = { 0 };

	out->others = "";
	out->crowded = false;
	if (json_array(j))
		while (json_item(j))
			read_condition(j, dialect, &others, out);
}

static void read_status(struct json *j, const struct dialect_status *dialect,
                        struct group_status *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "phase"))
			read_text(j, &out->phase);
		else if (text_is(name, "occupiedBy"))
			read_text(j, &out->occupied_by);
		else if (text_is(name, "scheduleStartTime"))
			read_text(j, &out->started);
		else if (text_is(name, "scheduled"))
			read_count(j, &out->scheduled);
		else if (text_is(name, "running"))
			read_count(j, &out->running);
		else if (text_is(name, "succeeded"))
			read_count(j, &out->succeeded);
		else if (text_is(name, "failed"))
			read_count(j, &out->failed);
		else if (text_is(name, "conditions"))
			read_conditions(j, dialect, out);
		else
			json_skip(j);
	}
}

int group_status_read(const struct dialect_status *dialect, const char *json, size_t bytes,
                      struct arena *arena, struct group_status *out)
{
	struct text name;
	struct json j;

	*out = group_status_empty;
	json_begin(&j, json, bytes, arena);
	if (json_object(&j)) {
		while (json_member(&j, &name)) {
			if (text_is(name, "status"))
				read_status(&j, dialect, out);
			else
				json_skip(&j);
		}
	}
	if (j.no_memory)
		return -ENOMEM;
	return j.failed ? -EINVAL : 0;
}

/* ---- keeping ----------------------------------------------------------------------- */

#define TEXTS_MAX (4 + 4 * GROUP_CONDITIONS_MAX)

/* Where its texts are. */
static size_t texts_of(struct group_status *s, const char **texts[TEXTS_MAX])
{
	size_t n = 0;

	texts[n++] = &s->phase;
	texts[n++] = &s->occupied_by;
	texts[n++] = &s->started;
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
	out = malloc(bytes);
	if (!out)
		return NULL;
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

/* ---- writing ------------------------------------------------------------------------- */

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
