/* SPDX-License-Identifier: Apache-2.0 */
/* metadata of an object. */
#include "frontend/decode/fields.h"

#include <stdlib.h>

static bool digits_at(const char *p, int n, int *out)
{
	*out = 0;
	for (int i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		*out = *out * 10 + (p[i] - '0');
	}
	return true;
}

/* Days from 1970-01-01 in the Gregorian calendar. */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = y / 400; /* y >= 0 */
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* The end of RFC 3339: fraction and zone. */
static bool zone_of(struct text t, int64_t *fraction_ns, int64_t *offset_s)
{
	int64_t digit = 100000000;
	size_t i = 0;
	int hours, minutes;

	*fraction_ns = 0;
	*offset_s = 0;
	if (i < t.bytes && t.at[i] == '.') {
		for (i++; i < t.bytes && t.at[i] >= '0' && t.at[i] <= '9'; i++, digit /= 10)
			*fraction_ns += digit * (t.at[i] - '0');
	}
	if (t.bytes - i == 1 && (t.at[i] == 'Z' || t.at[i] == 'z'))
		return true;
	if (t.bytes - i != 6 || (t.at[i] != '+' && t.at[i] != '-') || t.at[i + 3] != ':' ||
	    !digits_at(t.at + i + 1, 2, &hours) || !digits_at(t.at + i + 4, 2, &minutes))
		return false;
	*offset_s = (hours * 3600 + minutes * 60) * (t.at[i] == '-' ? -1 : 1);
	return true;
}

/* RFC 3339; times before 1970 are 0. */
bool extract_time_text(struct text t, uint64_t *out)
{
	int year, month, day, hour, minute, second;
	int64_t fraction_ns, offset_s, seconds;
	const char *p = t.at;

	if (t.bytes < 20 || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != 't') ||
	    p[13] != ':' || p[16] != ':')
		return false;
	if (!digits_at(p, 4, &year) || !digits_at(p + 5, 2, &month) || !digits_at(p + 8, 2, &day) ||
	    !digits_at(p + 11, 2, &hour) || !digits_at(p + 14, 2, &minute) ||
	    !digits_at(p + 17, 2, &second))
		return false;
	if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60)
		return false;
	if (!zone_of((struct text){ p + 19, t.bytes - 19 }, &fraction_ns, &offset_s))
		return false;
	seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset_s;
	if (seconds < 0)
		*out = 0;
	else if (seconds > INT64_MAX / 1000000000 - 1)
		*out = INT64_MAX;
	else
		*out = (uint64_t)(seconds * 1000000000 + fraction_ns);
	return true;
}

void extract_time(struct json *j, void *out)
{
	struct text t;

	if (!json_string(j, &t) || t.bytes == 0)
		return;
	if (!extract_time_text(t, out))
		json_fail(j, "\"%.*s\" is not a time", (int)(t.bytes < 60 ? t.bytes : 60), t.at);
}

void extract_deletion(struct json *j, void *out)
{
	struct meta *meta = out;

	meta->ends_ns = 0;
	meta->deleting = !json_null(j);
	if (meta->deleting)
		extract_time(j, &meta->ends_ns);
}

void extract_deletion_grace(struct json *j, void *out)
{
	int64_t seconds = 0;

	if (!json_null(j) && !json_int64(j, &seconds))
		return;
	*(uint32_t *)out = seconds < 0 ? 0 : seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

/* Sorted by key, then by place. */
struct pair_place {
	struct pair pair;
	size_t place;
};

static int pair_place_order(const void *a, const void *b)
{
	const struct pair_place *x = a, *y = b;
	int order = text_order(x->pair.key, y->pair.key);

	return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Sorts the pairs and keeps the last value of each key.  Kubernetes prints maps sorted: then
 * there is nothing to do. */
static void pairs_unique(struct arena *arena, struct pairs *p)
{
	struct pair_place *sorted;
	size_t n = 1;

	while (n < p->n && text_order(p->at[n - 1].key, p->at[n].key) < 0)
		n++;
	if (n >= p->n)
		return;
	sorted = arena_alloc(arena, p->n * sizeof(*sorted));
	for (size_t i = 0; i < p->n; i++)
		sorted[i] = (struct pair_place){ p->at[i], i };
	qsort(sorted, p->n, sizeof(*sorted), pair_place_order);
	n = 0;
	for (size_t i = 0; i < p->n; i++)
		if (i + 1 == p->n || !text_equal(sorted[i].pair.key, sorted[i + 1].pair.key))
			p->at[n++] = sorted[i].pair;
	p->n = n;
}

/* The pairs of an object; `read` reads their values. */
static void extract_pairs(struct json *j, struct pairs *out,
                          bool (*read)(struct json *j, struct text *value))
{
	struct text key;

	out->n = 0;
	if (!json_object(j))
		return;
	while (json_key(j, &key)) {
		struct pair *p = EXTRACT_ADD(j->arena, out->at, out->n, out->cap);

		p->key = key;
		read(j, &p->value);
	}
}

void extract_text_map(struct json *j, void *out)
{
	extract_pairs(j, out, json_string);
	if (!j->failed)
		pairs_unique(j->arena, out);
}

void extract_raw_map(struct json *j, void *out)
{
	extract_pairs(j, out, json_raw);
}

const char *extract_annotation(struct text raw, struct arena *arena)
{
	struct json j;
	struct text value;

	json_begin(&j, raw.at, raw.bytes, arena);
	if (!json_string(&j, &value))
		return NULL;
	return arena_copy(arena, value);
}

const char *annotation_find(const struct pairs *annotations, const char *key, struct arena *arena)
{
	const struct text *raw = pairs_find(annotations, key);

	return raw ? extract_annotation(*raw, arena) : NULL;
}

void extract_meta_start(struct meta *out)
{
	*out = (struct meta){ .api_version = TEXT_NONE,
		                  .kind = TEXT_NONE,
		                  .namespace = TEXT_NONE,
		                  .name = TEXT_NONE,
		                  .uid = TEXT_NONE,
		                  .version = TEXT_NONE };
}

struct owner_read {
	struct owner_object owner;
	bool controls;
};

static const struct json_field owner_fields[] = {
	JSON_FIELD("apiVersion", json_field_text, struct owner_read, owner.api_version),
	JSON_FIELD("kind", json_field_text, struct owner_read, owner.kind),
	JSON_FIELD("name", json_field_text, struct owner_read, owner.name),
	JSON_FIELD("uid", json_field_text, struct owner_read, owner.uid),
	JSON_FIELD("controller", json_field_bool, struct owner_read, controls),
};

static void extract_owner(struct json *j, void *object)
{
	struct owner_object *out = object;
	struct owner_read r = { .owner = EXTRACT_OWNER_NONE };

	if (!json_fields(j, owner_fields, &r))
		return;
	if (!j->failed && r.owner.name.bytes > 0)
		*EXTRACT_ADD(j->arena, out->all.at, out->all.n, out->all.cap) = r.owner.name;
	if (r.controls && r.owner.kind.bytes > 0 && out->kind.bytes == 0) {
		r.owner.all = out->all;
		*out = r.owner;
	}
}

void extract_owners(struct json *j, void *out)
{
	*(struct owner_object *)out = (struct owner_object)EXTRACT_OWNER_NONE;
	json_items(j, extract_owner, out);
}

struct meta_only {
	struct meta meta;
};

static const struct json_field metadata_fields[] = { EXTRACT_METADATA_FIELDS(struct meta_only,
	                                                                         meta) };

void extract_metadata(struct json *j, void *out)
{
	json_fields(j, metadata_fields, out);
}
