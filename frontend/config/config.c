/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/config.h"

#include "frontend/base/bytes.h"
#include "frontend/json/json.h"
#include "frontend/json/yaml.h"
#include "ipc/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES_MAX 160
#define SECTION_BYTES_MAX 64

/* What kube-scheduler's own configuration, and an `args:` block in it, begin with. */
#define FOREIGN_GROUP "kubescheduler.config.k8s.io/"
#define FOREIGN_KIND "KubeSchedulerConfiguration"
#define FOREIGN_SECTION "coscheduling"
#define FOREIGN_ARGS_KIND "CoschedulingArgs"

struct reader {
	const char *name; /* of the file */
	struct options *o;
	struct bytes text; /* the document as JSON */
	struct yaml_marks marks;
	struct arena arena;
	struct json j;
	bool has_version, has_kind;
	char *error;
	size_t error_bytes;
};

/* Reports an error of the key or value at this byte, or after it. */
__attribute__((format(printf, 3, 4))) static int wrong(struct reader *r, size_t at,
                                                       const char *format, ...)
{
	struct yaml_mark mark = yaml_mark_find(&r->marks, at);
	char text[800];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	clean_text(text);
	snprintf(r->error, r->error_bytes, "%s:%zu:%zu: %s", r->name, mark.line, mark.column, text);
	return -EINVAL;
}

/* The scanner's position. */
static size_t here(const struct reader *r)
{
	return (size_t)(r->j.at - r->text.at);
}

/* Reports a scanner error in a text: a NUL, for one. */
static int broken(struct reader *r, size_t at, const char *path)
{
	return wrong(r, at, "%s: %s", path, r->j.error);
}

static bool is_section(const char *path)
{
	for (size_t i = 0; i < settings_sections_n; i++)
		if (strcmp(settings_sections[i].name, path) == 0)
			return true;
	return false;
}

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* Searches all keys, this section first. */
static const char *nearest_path(const char *section, const char *key)
{
	const char *near[SETTINGS_MAX + SETTINGS_SECTIONS_MAX], *found;
	const char *paths[SETTINGS_MAX + SETTINGS_SECTIONS_MAX];

	for (int inside = 1; inside >= 0; inside--) {
		size_t n = 0;

		for (size_t i = 0; i < settings_n; i++) {
			size_t bytes = (size_t)(last_part(settings[i].path) - settings[i].path);
			bool same = bytes == strlen(section) && strncmp(settings[i].path, section, bytes) == 0;

			if (same != (inside == 1))
				continue;
			near[n] = last_part(settings[i].path);
			paths[n++] = settings[i].path;
		}
		for (size_t i = 0; i < settings_sections_n && inside == (*section == '\0'); i++) {
			near[n] = settings_sections[i].name;
			paths[n++] = settings_sections[i].name;
		}
		found = name_nearest(key, near, n);
		for (size_t i = 0; found && i < n; i++)
			if (near[i] == found)
				return paths[i];
	}
	return NULL;
}

static int unknown(struct reader *r, size_t at, const char *section, const char *path)
{
	const char *near = nearest_path(section, path + strlen(section)), *dot = strchr(path, '.');

	if (dot && setting_by_path(path, strlen(path)))
		return wrong(r, at, "%s: no such key; is %s in the mapping %.*s meant?", path, dot + 1,
		             (int)(dot - path), path);
	if (near)
		return wrong(r, at, "%s: no such key; is %s meant?", path, near);
	return wrong(r, at, "%s: no such key; see muster-frontend --help-config", path);
}

/* The type found there, for messages. */
static const char *type_of(char c)
{
	switch (c) {
	case '{':
		return "a mapping";
	case '[':
		return "a list";
	case '"':
		return "a text";
	case 't':
	case 'f':
		return "true or false";
	default:
		return "a number";
	}
}

static const char *type_wanted(const struct setting *s)
{
	return setting_is_number(s) ? "a number" : s->kind == SETTING_YES ? "true or false" : "a text";
}

/* Reads one value, or one item of a list. */
static int value_take(struct reader *r, const struct setting *s, const char *path)
{
	const char *wanted = type_wanted(s), *found = type_of(*r->j.at), *copy;
	bool bare = !strchr("{[\"", *r->j.at), ok;
	size_t at = here(r);
	struct text text;
	char why[500];

	if (strcmp(found, wanted) != 0)
		return wrong(r, at, "%s: %s is expected, not %s%s", path, wanted, found,
		             bare && strcmp(wanted, "a text") == 0 ? ": put it in quotes" : "");
	ok = *r->j.at == '"' ? json_string(&r->j, &text) : json_raw(&r->j, &text);
	if (!ok)
		return broken(r, at, path);
	copy = arena_copy(&r->arena, text);
	if (setting_put(s, r->o, copy, why, sizeof(why)) < 0)
		return wrong(r, at, "%s: \"%.100s\": %s", path, copy, why);
	return 0;
}

static int list_take(struct reader *r, const struct setting *s)
{
	char path[PATH_BYTES_MAX];
	size_t at = here(r);
	int rc = 0;

	if (*r->j.at != '[')
		return wrong(r, at, "%s: a list is expected, not %s", s->path, type_of(*r->j.at));
	setting_clear(s, r->o);
	json_array(&r->j);
	for (unsigned i = 0; rc == 0 && json_item(&r->j); i++) {
		snprintf(path, sizeof(path), "%s[%u]", s->path, i);
		if (*r->j.at == 'n')
			rc = wrong(r, here(r), "%s: a text is expected, not null", path);
		else
			rc = value_take(r, s, path);
	}
	if (rc == 0 && r->j.failed)
		rc = broken(r, at, s->path);
	if (rc == 0 && s->kind == SETTING_NAMES && s->initial && setting_list(s, r->o)->n == 0)
		rc = wrong(r, at, "%s: the list is empty", s->path);
	return rc;
}

static int setting_take(struct reader *r, const struct setting *s)
{
	int rc;

	if (json_null(&r->j))
		return 0;
	rc = setting_is_list(s) ? list_take(r, s) : value_take(r, s, s->path);
	if (rc == 0)
		r->o->from_file |= setting_bit(s);
	return rc;
}

/* Checks apiVersion and kind; sets *seen. */
static int fixed_take(struct reader *r, const char *key, const char *wanted, bool *seen)
{
	size_t at = here(r);
	struct text text;

	if (*r->j.at != '"')
		return wrong(r, at, "%s: \"%s\" is expected", key, wanted);
	if (!json_string(&r->j, &text))
		return broken(r, at, key);
	*seen = text_is(text, wanted);
	if (!*seen)
		return wrong(r, at, "%s: \"%.*s\": only \"%s\" is known", key,
		             (int)(text.bytes < 100 ? text.bytes : 100), text.at, wanted);
	return 0;
}

/* The type lines of an `args:` block that was copied whole from a KubeSchedulerConfiguration:
 * checked, so that the arguments of another plugin are not taken for Coscheduling's, and without
 * effect. */
static int args_type_take(struct reader *r, const char *path)
{
	bool is_kind = strcmp(path, FOREIGN_SECTION ".kind") == 0;
	const char *wanted = is_kind ? FOREIGN_ARGS_KIND : FOREIGN_GROUP;
	size_t bytes = strlen(wanted), at = here(r);
	struct text text;

	if (*r->j.at != '"')
		return wrong(r, at, "%s: a text is expected, not %s", path, type_of(*r->j.at));
	if (!json_string(&r->j, &text))
		return broken(r, at, path);
	if (text.bytes >= bytes && memcmp(text.at, wanted, bytes) == 0 &&
	    (!is_kind || text.bytes == bytes))
		return 0;
	return wrong(r, at,
	             "%s: \"%.*s\": only \"%s%s\", as in the args of the Coscheduling plugin, is known",
	             path, (int)(text.bytes < 100 ? text.bytes : 100), text.at, wanted,
	             is_kind ? "" : "VERSION");
}

static bool is_args_type(const char *path)
{
	return strcmp(path, FOREIGN_SECTION ".apiVersion") == 0 ||
	       strcmp(path, FOREIGN_SECTION ".kind") == 0;
}

static int mapping_take(struct reader *r, const char *section);

static setting_set dialect_bits(void)
{
	setting_set bits = 0;

	for (size_t i = 0; i < settings_n; i++)
		if (settings[i].kind == SETTING_DIALECTS)
			bits |= setting_bit(&settings[i]);
	return bits;
}

/* Reads the value of the key `path`, which is at `at`. */
static int member_take(struct reader *r, const char *section, const char *path, size_t at)
{
	const struct setting *s = setting_by_path(path, strlen(path));

	if (s && s->kind == SETTING_DIALECTS && (r->o->from_file & dialect_bits()))
		return wrong(r, at, "%s: only one of dialects and disabledDialects can be given", path);
	if (s)
		return setting_take(r, s);
	if (strcmp(path, "apiVersion") == 0)
		return fixed_take(r, path, CONFIG_API_VERSION, &r->has_version);
	if (strcmp(path, "kind") == 0)
		return fixed_take(r, path, CONFIG_KIND, &r->has_kind);
	if (is_args_type(path))
		return args_type_take(r, path);
	if (*section || !is_section(path))
		return unknown(r, at, section, path);
	if (json_null(&r->j))
		return 0;
	if (*r->j.at != '{')
		return wrong(r, here(r), "%s: a mapping is expected, not %s", path, type_of(*r->j.at));
	return mapping_take(r, path);
}

/* Reads the mapping at this point; `section` is "" at the top. */
static int mapping_take(struct reader *r, const char *section)
{
	char path[PATH_BYTES_MAX], prefix[SECTION_BYTES_MAX];
	struct text key;
	size_t at;
	int rc = 0;

	snprintf(prefix, sizeof(prefix), "%s%s", section, *section ? "." : "");
	json_object(&r->j);
	while (at = here(r), rc == 0 && json_key(&r->j, &key)) {
		snprintf(path, sizeof(path), "%s%.*s", prefix, (int)(key.bytes < 64 ? key.bytes : 64),
		         key.at);
		/* A key may not contain the dots of a path. */
		rc = memchr(key.at, '.', key.bytes) ? unknown(r, at, prefix, path)
		                                    : member_take(r, prefix, path, at);
	}
	return rc == 0 && r->j.failed ? broken(r, at, *section ? section : "a key") : rc;
}

static int whole_check(struct reader *r)
{
	if (!r->has_version)
		return wrong(r, 0, "apiVersion: missing; it is " CONFIG_API_VERSION);
	if (!r->has_kind)
		return wrong(r, 0, "kind: missing; it is " CONFIG_KIND);
	return 0;
}

/* A configuration of kube-scheduler is refused as what it is, whichever of its keys comes first. */
static int foreign_check(struct reader *r)
{
	size_t at = 0;
	bool foreign = false;
	struct text key, text = { 0 };

	json_object(&r->j);
	while (!foreign && json_key(&r->j, &key)) {
		bool is_kind = text_is(key, "kind"), is_version = text_is(key, "apiVersion");

		at = here(r);
		if ((!is_kind && !is_version) || *r->j.at != '"') {
			json_skip(&r->j);
			continue;
		}
		if (!json_string(&r->j, &text))
			break;
		foreign = is_kind ? text_is(text, FOREIGN_KIND)
		                  : text.bytes > strlen(FOREIGN_GROUP) &&
		                        memcmp(text.at, FOREIGN_GROUP, strlen(FOREIGN_GROUP)) == 0;
	}
	if (!foreign)
		return 0;
	return wrong(
		r, at,
		"\"%.*s\": a configuration of kube-scheduler, not of muster; docs/migration.md has "
		"what becomes of each key, muster-frontend --help-config the keys of muster",
		(int)(text.bytes < 100 ? text.bytes : 100), text.at);
}

static void scan_begin(struct reader *r, const char *end)
{
	json_begin(&r->j, r->text.at, (size_t)(end - r->text.at), &r->arena);
}

static int document_take(struct reader *r)
{
	const char *end = memchr(r->text.at, '\n', r->text.n);
	int rc;

	if (end + 1 < r->text.at + r->text.n)
		return wrong(r, (size_t)(end + 1 - r->text.at), "a second document; only one is read");
	if (*r->text.at != '{')
		return wrong(r, 0, "a mapping is expected, not %s", type_of(*r->text.at));
	scan_begin(r, end);
	rc = foreign_check(r);
	if (rc < 0)
		return rc;
	scan_begin(r, end);
	rc = mapping_take(r, "");
	return rc == 0 ? whole_check(r) : rc;
}

int config_read_text(const char *name, const char *text, size_t bytes, struct options *o,
                     char *error, size_t error_bytes)
{
	struct reader r = { .name = name, .o = o, .error = error, .error_bytes = error_bytes };
	struct yaml_error e = { 0 };
	int rc = -EINVAL;

	if (!yaml_to_json(text, bytes, &r.text, &r.marks, &e))
		snprintf(error, error_bytes, "%s:%zu:%zu: %s", name, e.line, e.column, e.text);
	else if (r.text.n == 0)
		snprintf(error, error_bytes, "%s:1:1: the file is empty", name);
	else
		rc = document_take(&r);
	bytes_free(&r.text);
	yaml_marks_free(&r.marks);
	arena_free(&r.arena);
	return rc;
}

static int fd_read(int fd, struct bytes *out)
{
	for (;;) {
		ssize_t got;

		if (out->n > CONFIG_BYTES_MAX)
			return -EFBIG;
		got = read(fd, bytes_room(out, 4096), 4096);
		if (got == 0)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		out->n += got > 0 ? (size_t)got : 0;
	}
}

int config_read(const char *path, struct options *o, char *error, size_t error_bytes)
{
	struct bytes text = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	rc = fd < 0 ? -errno : fd_read(fd, &text);
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		rc = config_read_text(path, text.at, text.n, o, error, error_bytes);
	else
		snprintf(error, error_bytes, "%s: %s", path, strerror(-rc));
	bytes_free(&text);
	return rc;
}
