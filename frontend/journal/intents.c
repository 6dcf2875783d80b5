/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/journal/intents.h"

#include "frontend/json/json.h"
#include "ipc/clean.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "1"
#define EPOCH_DIGITS 18u
#define FIELD_BYTES_MAX 253u /* a node's name */
#define VALUE_BYTES_SHOWN 120

static const char *const kinds[INTENT_KINDS] = { "bind", "retain", "assume", "evict", "nominate" };
static const char *const fences[] = { "", "begun", "all" };

size_t intent_bytes(const struct intent_line *l)
{
	return strlen(kinds[l->kind]) + strlen(l->uid) + strlen(l->node) + strlen(l->node_uid) +
	       strlen(l->version) + strlen("    \\n");
}

void intents_begin(struct jsonout *out, const struct intents *head)
{
	char epoch[24];

	snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)head->epoch);
	jsonout_add(out,
	            "{\"format\":\"" FORMAT "\",\"epoch\":@s,\"writer\":@s,\"fence\":@s,\"intents\":\"",
	            epoch, head->writer, fences[head->fence]);
}

/* Node names and uids of an API server need no escape; others were never written to a journal. */
void intents_add(struct jsonout *out, const struct intent_line *l)
{
	jsonout_add(out, "@r @r @r @r @r\\n", kinds[l->kind], l->uid, l->node, l->node_uid, l->version);
}

void intents_end(struct jsonout *out)
{
	jsonout_add(out, "\"}");
}

struct data {
	struct text format, epoch, writer, fence, intents;
};

static const struct json_field data_fields[] = {
	JSON_FIELD("format", json_field_text, struct data, format),
	JSON_FIELD("epoch", json_field_text, struct data, epoch),
	JSON_FIELD("writer", json_field_text, struct data, writer),
	JSON_FIELD("fence", json_field_text, struct data, fence),
	JSON_FIELD("intents", json_field_text, struct data, intents),
};

static bool fence_parse(struct text t, enum intents_fence *out)
{
	for (size_t i = 0; i < sizeof(fences) / sizeof(fences[0]); i++)
		if (text_is(t, fences[i])) {
			*out = (enum intents_fence)i;
			return true;
		}
	return false;
}

/* The next field of a line; false: none, too long, or a byte that no name has. */
static bool field_take(struct text *line, struct arena *arena, const char **out)
{
	size_t n = 0;

	while (n < line->bytes && line->at[n] != ' ') {
		if (line->at[n] <= ' ' || line->at[n] > '~' || line->at[n] == '"' || line->at[n] == '\\')
			return false;
		n++;
	}
	if (n == 0 || n > FIELD_BYTES_MAX)
		return false;
	*out = arena_copy(arena, (struct text){ line->at, n });
	n += n < line->bytes;
	line->at += n;
	line->bytes -= n;
	return true;
}

static bool line_read(struct text line, struct arena *arena, struct intent_line *out)
{
	const char *kind;

	if (!field_take(&line, arena, &kind) || !field_take(&line, arena, &out->uid) ||
	    !field_take(&line, arena, &out->node) || !field_take(&line, arena, &out->node_uid) ||
	    !field_take(&line, arena, &out->version) || line.bytes > 0)
		return false;
	for (int i = 0; i < INTENT_KINDS; i++)
		if (strcmp(kind, kinds[i]) == 0) {
			out->kind = (enum intent_kind)i;
			return true;
		}
	return false;
}

/* The beginning of the value, for a log. */
static int value_bad(char *why, size_t why_bytes, const char *name, struct text value)
{
	const int bytes = value.bytes < VALUE_BYTES_SHOWN ? (int)value.bytes : VALUE_BYTES_SHOWN;

	snprintf(why, why_bytes, "data.%s: \"%.*s\"", name, bytes, value.at ? value.at : "");
	clean_text(why);
	return -EINVAL;
}

/* Reads what it can; -EINVAL if a line is bad. */
static int lines_read(struct text text, struct arena *arena, struct intents *out, char *why,
                      size_t why_bytes)
{
	size_t lines = 1, number = 0;
	char name[40];
	int rc = 0;

	for (size_t i = 0; i < text.bytes; i++)
		lines += text.at[i] == '\n';
	out->lines = arena_alloc(arena, lines * sizeof(*out->lines));
	while (text.bytes > 0) {
		const char *end = memchr(text.at, '\n', text.bytes);
		struct text line = { text.at, end ? (size_t)(end - text.at) : text.bytes };

		number++;
		if (line_read(line, arena, &out->lines[out->n])) {
			out->n++;
		} else if (rc == 0) {
			snprintf(name, sizeof(name), "intents line %zu", number);
			rc = value_bad(why, why_bytes, name, line);
		}
		text.at += line.bytes + (end != NULL);
		text.bytes -= line.bytes + (end != NULL);
	}
	return rc;
}

static int data_read(const struct data *d, struct arena *arena, struct intents *out, char *why,
                     size_t why_bytes)
{
	out->writer = d->writer.at ? arena_copy(arena, d->writer) : "";
	if (!text_is(d->format, FORMAT))
		return value_bad(why, why_bytes, "format", d->format);
	if (!text_digits(d->epoch, EPOCH_DIGITS, &out->epoch))
		return value_bad(why, why_bytes, "epoch", d->epoch);
	if (d->writer.bytes == 0)
		return value_bad(why, why_bytes, "writer", d->writer);
	if (!fence_parse(d->fence, &out->fence))
		return value_bad(why, why_bytes, "fence", d->fence);
	return lines_read(d->intents, arena, out, why, why_bytes);
}

int intents_read(const char *json, size_t bytes, struct arena *arena, struct intents *out,
                 char *why, size_t why_bytes)
{
	struct data data = { 0 };
	struct json j;
	int rc;

	*out = (struct intents){ .writer = "" };
	if (bytes == 0) {
		out->fence = INTENTS_FENCE_BEGUN;
		return 0;
	}
	json_begin(&j, json, bytes, arena);
	json_fields(&j, data_fields, &data);
	if (!json_end(&j)) {
		snprintf(why, why_bytes, "data: %s", j.error);
		rc = -EINVAL;
	} else if (!data.format.at && !data.epoch.at && !data.writer.at && !data.intents.at) {
		out->fence = INTENTS_FENCE_BEGUN;
		return 0;
	} else {
		rc = data_read(&data, arena, out, why, why_bytes);
	}
	if (rc < 0)
		out->fence = INTENTS_FENCE_ALL;
	return rc;
}
