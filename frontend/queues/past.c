/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/queues/past.h"

#include "frontend/json/json.h"
#include "ipc/clean.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>

#define FORMAT "1"
#define BYTES_MAX                                                                                  \
	(700u << 10)   /* of queues, with their quotes escaped: the API server takes 1 MiB */
#define DIGITS 10u /* after the point: a unit is less than one of QUEUE_PAST_ONE */
#define DIGITS_ONE UINT64_C(10000000000)
#define TEXT_SHOWN 100

struct queues_past *past_new(uint64_t at_s, uint32_t half_life_s)
{
	struct queues_past *p = must_alloc(sizeof(*p));

	*p = (struct queues_past){ .at_s = at_s, .half_life_s = half_life_s };
	return p;
}

void past_free(struct queues_past *p)
{
	if (!p)
		return;
	free(p->queues);
	free(p->amounts);
	arena_free(&p->texts);
	free(p);
}

void past_add_queue(struct queues_past *p, const char *name)
{
	p->queues = must_reach(p->queues, &p->room, p->n, 64, sizeof(*p->queues));
	p->queues[p->n++] = (struct past_queue){ .name = arena_copy(&p->texts, text_of(name)) };
}

void past_add_amount(struct queues_past *p, const char *resource, int64_t value, uint32_t part)
{
	if (value >= PAST_MOST) {
		value = PAST_MOST;
		part = 0;
	}
	if (value < 0 || part >= QUEUE_PAST_ONE || (value == 0 && part == 0))
		return;
	p->amounts = must_reach(p->amounts, &p->amounts_room, p->amounts_n, 64, sizeof(*p->amounts));
	p->amounts[p->amounts_n++] =
		(struct past_amount){ .resource = resource, .value = value, .part = part };
	p->queues[p->n - 1].amounts_n++;
}

/* Rounded up, so that reading it, which rounds down, gives the same part. */
static void amount_write(const struct past_amount *a, char *out, size_t out_bytes)
{
	const uint64_t one = (uint64_t)QUEUE_PAST_ONE;
	const uint64_t digits = (a->part * DIGITS_ONE + one - 1) / one; /* part < 2^30 < 2^64 / 10^10 */

	if (digits == 0)
		snprintf(out, out_bytes, "%lld", (long long)a->value);
	else
		snprintf(out, out_bytes, "%lld.%0*llu", (long long)a->value, (int)DIGITS,
		         (unsigned long long)digits);
}

static void queue_write(const struct past_queue *q, const struct past_amount *amounts,
                        struct jsonout *out)
{
	char number[48];

	jsonout_add(out, "@s:{", q->name);
	for (size_t i = 0; i < q->amounts_n; i++) {
		amount_write(&amounts[i], number, sizeof(number));
		jsonout_add(out, "@r@s:@s", i > 0 ? "," : "", amounts[i].resource, number);
	}
	jsonout_add(out, "}");
}

static size_t escaped_bytes(const struct jsonout *o)
{
	size_t n = o->bytes;

	for (size_t i = 0; i < o->bytes; i++)
		n += o->at[i] == '"' || o->at[i] == '\\';
	return n;
}

size_t past_write(const struct queues_past *p, struct jsonout *out)
{
	struct jsonout queues = { 0 }, one = { 0 };
	const struct past_amount *amounts = p->amounts;
	size_t left_out = 0, bytes = 0;
	char at[24], half_life[16];

	jsonout_add(&queues, "{");
	for (size_t i = 0; i < p->n; amounts += p->queues[i++].amounts_n) {
		if (p->queues[i].amounts_n == 0)
			continue;
		jsonout_clear(&one);
		queue_write(&p->queues[i], amounts, &one);
		if (bytes + escaped_bytes(&one) > BYTES_MAX) {
			left_out++;
			continue;
		}
		jsonout_add(&queues, "@r@r", bytes > 0 ? "," : "", one.at);
		bytes += escaped_bytes(&one) + 1;
	}
	jsonout_add(&queues, "}");
	snprintf(at, sizeof(at), "%llu", (unsigned long long)p->at_s);
	snprintf(half_life, sizeof(half_life), "%u", p->half_life_s);
	jsonout_add(
		out, "{\"format\":\"" FORMAT "\",\"unixSeconds\":@s,\"halfLifeSeconds\":@s,\"queues\":@s}",
		at, half_life, queues.at);
	jsonout_free(&queues);
	jsonout_free(&one);
	return left_out;
}

struct data {
	struct text format, at, half_life, queues;
};

static const struct json_field data_fields[] = {
	JSON_FIELD("format", json_field_text, struct data, format),
	JSON_FIELD("unixSeconds", json_field_text, struct data, at),
	JSON_FIELD("halfLifeSeconds", json_field_text, struct data, half_life),
	JSON_FIELD("queues", json_field_text, struct data, queues),
};

struct reading {
	struct queues_past *past;
	char *why;
	size_t why_bytes;
};

static bool bad(const struct reading *r, const char *field, struct text value, const char *wanted)
{
	const int bytes = value.bytes < TEXT_SHOWN ? (int)value.bytes : TEXT_SHOWN;

	snprintf(r->why, r->why_bytes, "data.%s: \"%.*s\" is not %s", field, bytes,
	         value.at ? value.at : "", wanted);
	clean_text(r->why);
	return false;
}

/* Digits alone; false: none, others, or above `most`. */
static bool whole_read(struct text t, uint64_t most, uint64_t *out)
{
	return text_digits(t, 19, out) && *out <= most;
}

/* Whole, or with a point and up to DIGITS digits. */
static bool amount_read(struct text t, int64_t *value, uint32_t *part)
{
	const char *point = t.bytes > 0 ? memchr(t.at, '.', t.bytes) : NULL;
	struct text whole = t, digits = { 0 };
	uint64_t n, rest = 0;

	if (point) {
		whole.bytes = (size_t)(point - t.at);
		digits = (struct text){ point + 1, t.bytes - whole.bytes - 1 };
	}
	if (!whole_read(whole, (uint64_t)PAST_MOST, &n) ||
	    (point && !text_digits(digits, DIGITS, &rest)))
		return false;
	for (size_t i = digits.bytes; i < DIGITS; i++)
		rest *= 10;
	*value = (int64_t)n;
	*part = (uint32_t)(((unsigned __int128)rest << 30) / DIGITS_ONE);
	return n < (uint64_t)PAST_MOST || rest == 0;
}

static bool amounts_read(const struct reading *r, struct json *j, const char *queue)
{
	struct queues_past *p = r->past;
	struct text resource, value;
	char field[400];
	int64_t amount;
	uint32_t part;

	past_add_queue(p, queue);
	if (!json_object(j))
		return !j->failed;
	while (json_key(j, &resource)) {
		if (!json_scalar(j, &value))
			return false;
		snprintf(field, sizeof(field), "queues, queue %.150s, resource %.*s", queue,
		         resource.bytes < TEXT_SHOWN ? (int)resource.bytes : TEXT_SHOWN, resource.at);
		if (resource.bytes == 0 || !amount_read(value, &amount, &part))
			return bad(r, field, value,
			           "a number from 0 to 2^60 with at most 10 digits after a point");
		past_add_amount(p, arena_copy(&p->texts, resource), amount, part);
	}
	return !j->failed;
}

static bool queues_read_past(const struct reading *r, struct text text, struct arena *arena)
{
	struct json j;
	struct text name;
	bool good = true;

	json_begin(&j, text.at, text.bytes, arena);
	if (json_object(&j))
		while (good && json_key(&j, &name)) {
			if (name.bytes == 0 || name.bytes >= QUEUE_NAME_MAX)
				return bad(r, "queues", name, "the name of a queue");
			good = amounts_read(r, &j, arena_copy(arena, name));
		}
	if (j.failed || (good && !json_end(&j))) {
		char path[200];

		json_path(&j, path, sizeof(path));
		snprintf(r->why, r->why_bytes, "data.queues%s%s: %s", path[0] ? " at " : "", path, j.error);
		clean_text(r->why);
		return false;
	}
	return good;
}

static bool data_read(const struct reading *r, const struct data *d, uint64_t now_s,
                      struct arena *arena)
{
	uint64_t half_life;

	if (!text_is(d->format, FORMAT))
		return bad(r, "format", d->format, "\"" FORMAT "\"");
	if (!whole_read(d->at, now_s + PAST_AHEAD_S, &r->past->at_s))
		return bad(r, "unixSeconds", d->at, "a time in seconds that has passed");
	if (!whole_read(d->half_life, QUEUE_HALF_LIFE_MAX_S, &half_life) || half_life == 0)
		return bad(r, "halfLifeSeconds", d->half_life, "a number from 1 to 7776000");
	r->past->half_life_s = (uint32_t)half_life;
	if (!d->queues.at)
		return bad(r, "queues", d->queues, "a JSON object");
	return queues_read_past(r, d->queues, arena);
}

struct queues_past *past_read(const char *json, size_t bytes, uint64_t now_s, char *why,
                              size_t why_bytes)
{
	struct reading r = { .past = past_new(0, 0), .why = why, .why_bytes = why_bytes };
	struct arena arena = { 0 };
	struct data data = { 0 };
	struct json j;
	bool good;

	json_begin(&j, json, bytes, &arena);
	json_fields(&j, data_fields, &data);
	if (!json_end(&j)) {
		snprintf(why, why_bytes, "data: %s", j.error);
		good = false;
	} else {
		good = data_read(&r, &data, now_s, &arena);
	}
	arena_free(&arena);
	if (good)
		return r.past;
	past_free(r.past);
	return NULL;
}
