/* SPDX-License-Identifier: Apache-2.0 */
/* Converts values of settings between text and struct options. */
#include "frontend/dialect/dialects.h"
#include "frontend/api/label_selector.h"
#include "frontend/base/log.h"
#include "frontend/base/table.h"
#include "frontend/queues/unshared.h"
#include "frontend/serve/address.h"
#include "frontend/config/settings.h"
#include "ipc/size.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_BYTES_MAX 253

static void *field(const struct setting *s, struct options *o)
{
	return (char *)o + s->at;
}

static const void *field_of(const struct setting *s, const struct options *o)
{
	return (const char *)o + s->at;
}

bool setting_is_list(const struct setting *s)
{
	return s->kind == SETTING_NAMES || s->kind == SETTING_RESOURCES || s->kind == SETTING_DIALECTS;
}

bool setting_is_number(const struct setting *s)
{
	return s->kind == SETTING_NUMBER || s->kind == SETTING_POWER;
}

bool setting_of_core(const struct setting *s)
{
	return strncmp(s->path, "core.", 5) == 0;
}

setting_set setting_bit(const struct setting *s)
{
	return (setting_set)1 << (s - settings);
}

static bool is_path(const char *name, const char *path, size_t bytes)
{
	return name && strlen(name) == bytes && memcmp(name, path, bytes) == 0;
}

const struct setting *setting_by_path(const char *path, size_t bytes)
{
	for (size_t i = 0; i < settings_n; i++)
		if (is_path(settings[i].path, path, bytes) || is_path(settings[i].former_path, path, bytes))
			return &settings[i];
	return NULL;
}

const struct setting *setting_by_flag(const char *flag)
{
	for (size_t i = 0; i < settings_n; i++)
		if (settings[i].flag && !setting_of_core(&settings[i]) &&
		    strcmp(settings[i].flag, flag) == 0)
			return &settings[i];
	return NULL;
}

/* "a, b or c" */
static void words_print(const char *const *words, size_t n, char *out, size_t out_bytes)
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < n && at < out_bytes; i++)
		at += (size_t)snprintf(out + at, out_bytes - at, "%s%s",
		                       i == 0      ? ""
		                       : i + 1 < n ? ", "
		                                   : " or ",
		                       words[i]);
}

static size_t words_count(const char *const *words)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n;
}

static size_t dialect_names(const char *names[TEXT_LIST_MAX])
{
	size_t n = dialects_n < TEXT_LIST_MAX ? dialects_n : TEXT_LIST_MAX;

	for (size_t i = 0; i < n; i++)
		names[i] = dialects[i]->name;
	return n;
}

void setting_range(const struct setting *s, char *out, size_t out_bytes)
{
	const char *names[TEXT_LIST_MAX] = { NULL };

	out[0] = '\0';
	if (s->kind == SETTING_WORD)
		words_print(s->words, words_count(s->words), out, out_bytes);
	else if (s->kind == SETTING_DIALECTS)
		words_print(names, dialect_names(names), out, out_bytes);
	else if (s->kind == SETTING_YES)
		snprintf(out, out_bytes, "true or false");
	else if (s->kind == SETTING_BYTES)
		snprintf(out, out_bytes, MAX_MEMORY_RANGE);
	else if (setting_is_number(s))
		snprintf(out, out_bytes, "%s%" PRId64 " to %" PRId64,
		         s->kind == SETTING_POWER ? "a power of two, " : "", s->least, s->most);
}

__attribute__((format(printf, 3, 4))) static int no(char *why, size_t why_bytes, const char *format,
                                                    ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_bytes, format, args);
	va_end(args);
	return -EINVAL;
}

static const char *keep(struct options *o, const char *text)
{
	const char *copy = arena_copy(&o->texts, text_of(text));

	if (!copy)
		fatal_memory();
	return copy;
}

static int number_put(const struct setting *s, int64_t *out, const char *text, char *why,
                      size_t why_bytes)
{
	char range[96], *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (s->argument && strcmp(s->argument, "SECONDS") == 0 && strcmp(end, "s") == 0)
		end++; /* as in kube-scheduler's flags */
	/* No blanks or sign before it. */
	if (errno || *text < '0' || *text > '9' || *end || n < s->least || n > s->most) {
		setting_range(s, range, sizeof(range));
		return no(why, why_bytes, "not a number from %s",
		          range + (s->kind == SETTING_POWER ? 16 : 0));
	}
	if (s->kind == SETTING_POWER && (n & (n - 1)))
		return no(why, why_bytes, "not a power of two");
	*out = n;
	return 0;
}

static int yes_put(bool *out, const char *text, char *why, size_t why_bytes)
{
	bool yes = strcmp(text, "true") == 0;

	if (!yes && strcmp(text, "false") != 0)
		return no(why, why_bytes, "not true or false");
	*out = yes;
	return 0;
}

static int word_check(const struct setting *s, const char *text, char *why, size_t why_bytes)
{
	char words[200];

	for (const char *const *w = s->words; *w; w++)
		if (strcmp(*w, text) == 0)
			return 0;
	words_print(s->words, words_count(s->words), words, sizeof(words));
	return no(why, why_bytes, "not one of %s", words);
}

static int dialect_check(const char *text, char *why, size_t why_bytes)
{
	const char *names[TEXT_LIST_MAX] = { NULL }, *near;
	char words[400];
	size_t n;

	if (dialect_find(text) >= 0)
		return 0;
	n = dialect_names(names);
	near = name_nearest(text, names, n);
	if (near)
		return no(why, why_bytes, "no dialect; is %s meant?", near);
	words_print(names, n, words, sizeof(words));
	return no(why, why_bytes, "no dialect; there %s %s", n == 1 ? "is" : "are", words);
}

/* A namespace, a slash and a name, of about what names are made of; *out unless NULL. */
static bool journal_split(const char *text, struct journal_place *out)
{
	const char *slash = strchr(text, '/');
	const size_t n = slash ? (size_t)(slash - text) : 0;

	if (n == 0 || n > 63 || !slash[1] || strlen(slash + 1) > 253 || strchr(slash + 1, '/'))
		return false;
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-./", *at))
			return false;
	if (out) {
		snprintf(out->namespace, sizeof(out->namespace), "%.*s", (int)n, text);
		snprintf(out->name, sizeof(out->name), "%s", slash + 1);
	}
	return true;
}

/* Of what divides a cluster among instances that don't elect a leader; 0 for the defaults.  The key
 * is constant: the next version finds the same journal. */
static uint32_t division_of(const struct options *o)
{
	const struct text_list *names = &o->scheduler_names;
	const bool selects = o->node_selector && *o->node_selector;
	uint64_t key[2] = { 0 };

	if (o->leader_elect || (!selects && names->n == 1 && strcmp(names->at[0], "muster") == 0))
		return 0;
	for (size_t i = 0; i < names->n; i++)
		key[0] = siphash(key, names->at[i], strlen(names->at[i]));
	if (selects)
		key[1] = siphash(key, o->node_selector, strlen(o->node_selector));
	return (uint32_t)(key[0] ^ key[1]);
}

/* After the Lease, at most 253 bytes. */
static void name_divided(const struct options *o, const char *what, char *out, size_t out_bytes)
{
	const uint32_t division = division_of(o);
	const int room = 242 - (int)strlen(what);

	if (division == 0)
		snprintf(out, out_bytes, "%.*s-%s", room, o->lease_name, what);
	else
		snprintf(out, out_bytes, "%.*s-%s-%08x", room, o->lease_name, what, division);
}

bool options_journal(const struct options *o, struct journal_place *out)
{
	if (o->journal)
		return journal_split(o->journal, out);
	snprintf(out->namespace, sizeof(out->namespace), "%s", o->lease_namespace);
	name_divided(o, "journal", out->name, sizeof(out->name));
	return true;
}

bool options_past(const struct options *o, struct journal_place *out)
{
	if (o->history_factor == 0 || strcmp(o->queues, "none") == 0)
		return false;
	if (!o->journal || !journal_split(o->journal, out))
		snprintf(out->namespace, sizeof(out->namespace), "%s", o->lease_namespace);
	name_divided(o, "queue-history", out->name, sizeof(out->name));
	return true;
}

void options_queues_place(const struct options *o, struct journal_place *out)
{
	*out = (struct journal_place){ 0 };
	journal_split(o->queues_configmap, out);
}

int options_queues(const struct options *o)
{
	const char *const *words = NULL;
	int n = 0;

	for (size_t i = 0; i < settings_n; i++)
		if (settings[i].at == offsetof(struct options, queues))
			words = settings[i].words;
	while (words && words[n] && strcmp(words[n], o->queues) != 0)
		n++;
	return n;
}

static int text_check(const struct setting *s, const char *text, char *why, size_t why_bytes)
{
	union address address;
	uint64_t bytes;

	switch (s->kind) {
	case SETTING_LISTEN:
		return address_is_off(text) ? 0 : address_read(text, &address, why, why_bytes);
	case SETTING_SELECTOR:
		return label_selector_check(text, why, why_bytes);
	case SETTING_JOURNAL:
		if (strcmp(text, "off") == 0 || journal_split(text, NULL))
			return 0;
		return no(why, why_bytes, "neither NAMESPACE/NAME of a ConfigMap nor \"off\"");
	case SETTING_OBJECT:
		if (journal_split(text, NULL))
			return 0;
		return no(why, why_bytes, "not NAMESPACE/NAME of an object");
	case SETTING_WORD:
		return word_check(s, text, why, why_bytes);
	case SETTING_BYTES:
		if (max_memory_read(text, &bytes))
			return 0;
		return no(why, why_bytes, "not bytes from " MAX_MEMORY_RANGE ", such as 1Gi");
	case SETTING_RESOURCES:
		return unshared_check(text, why, why_bytes) ? 0 : -EINVAL;
	case SETTING_DIALECTS:
		return dialect_check(text, why, why_bytes);
	default:
		return *text ? 0 : no(why, why_bytes, "empty");
	}
}

static int list_add(const struct setting *s, struct options *o, const char *text, char *why,
                    size_t why_bytes)
{
	struct text_list *l = field(s, o);

	if (s->kind != SETTING_DIALECTS && strlen(text) > NAME_BYTES_MAX)
		return no(why, why_bytes, "longer than %d bytes", NAME_BYTES_MAX);
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->at[i], text) == 0)
			return 0;
	if (l->n == TEXT_LIST_MAX)
		return no(why, why_bytes, "one of more than %d", TEXT_LIST_MAX);
	l->at[l->n++] = keep(o, text);
	return 0;
}

int setting_put(const struct setting *s, struct options *o, const char *text, char *why,
                size_t why_bytes)
{
	int rc;

	if (setting_is_number(s))
		return number_put(s, field(s, o), text, why, why_bytes);
	if (s->kind == SETTING_YES)
		return yes_put(field(s, o), text, why, why_bytes);
	rc = text_check(s, text, why, why_bytes);
	if (rc < 0)
		return rc;
	if (setting_is_list(s))
		return list_add(s, o, text, why, why_bytes);
	*(const char **)field(s, o) = keep(o, text);
	return 0;
}

void setting_clear(const struct setting *s, struct options *o)
{
	assert(setting_is_list(s));
	((struct text_list *)field(s, o))->n = 0;
}

const char *setting_get(const struct setting *s, const struct options *o, char cap[24])
{
	assert(!setting_is_list(s));
	if (s->kind == SETTING_YES)
		return *(const bool *)field_of(s, o) ? "true" : "false";
	if (!setting_is_number(s))
		return *(const char *const *)field_of(s, o);
	if (*(const int64_t *)field_of(s, o) < 0)
		return NULL;
	snprintf(cap, 24, "%" PRId64, *(const int64_t *)field_of(s, o));
	return cap;
}

const struct text_list *setting_list(const struct setting *s, const struct options *o)
{
	assert(setting_is_list(s));
	return field_of(s, o);
}

/* Of a list each name between commas. */
static bool initial_put(const struct setting *s, struct options *o)
{
	char why[200], name[NAME_BYTES_MAX + 1];
	const char *at = s->initial;

	if (!setting_is_list(s))
		return setting_put(s, o, at, why, sizeof(why)) == 0;
	for (size_t n; *at != '\0'; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		if (setting_put(s, o, name, why, sizeof(why)) < 0)
			return false;
	}
	return true;
}

void options_start(struct options *o)
{
	*o = (struct options){ 0 };
	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *s = &settings[i];

		if (setting_is_number(s))
			*(int64_t *)field(s, o) = -1;
		if (s->initial && !initial_put(s, o))
			assert(!"a default that is none");
	}
}

void options_free(struct options *o)
{
	arena_free(&o->texts);
	*o = (struct options){ 0 };
}

static bool list_has(const struct text_list *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->at[i], text) == 0)
			return true;
	return false;
}

void options_settle(struct options *o)
{
	bool listed = o->from_file & setting_bit(setting_by_path("dialects", strlen("dialects")));
	struct text_list on = { .n = 0 }, off = { .n = 0 };

	assert(dialects_n <= TEXT_LIST_MAX);
	for (size_t i = 0; i < dialects_n; i++) {
		const char *name = dialects[i]->name;

		if (listed ? list_has(&o->dialects, name) : !list_has(&o->dialects_off, name))
			on.at[on.n++] = name;
		else
			off.at[off.n++] = name;
	}
	o->dialects = on;
	o->dialects_off = off;
}

uint64_t options_off(const struct options *o)
{
	uint64_t off = 0;

	for (size_t i = 0; i < dialects_n; i++)
		if (list_has(&o->dialects_off, dialects[i]->name))
			off |= UINT64_C(1) << i;
	return off;
}

#define NEAR_BYTES_MAX 64

/* The edit distance, ignoring case. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NEAR_BYTES_MAX + 1], a_n = strlen(a), b_n = strlen(b);

	if (a_n > NEAR_BYTES_MAX || b_n > NEAR_BYTES_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= b_n; k++)
		row[k] = k;
	for (size_t i = 1; i <= a_n; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t k = 1; k <= b_n; k++) {
			size_t same = corner + (strncasecmp(a + i - 1, b + k - 1, 1) != 0);

			corner = row[k];
			row[k] = row[k - 1] < row[k] ? row[k - 1] + 1 : row[k] + 1;
			if (same < row[k])
				row[k] = same;
		}
	}
	return row[b_n];
}

const char *name_nearest(const char *text, const char *const *names, size_t n)
{
	size_t best = strlen(text) / 3 + 1;
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(text, names[i]);

		if (d < best || (d == best && !found)) {
			best = d;
			found = names[i];
		}
	}
	return found;
}
