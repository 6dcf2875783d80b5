/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/files.h"

#include "frontend/base/bytes.h"
#include "ctl/term/ctl.h"
#include "ctl/objects/json_check.h"
#include "ctl/objects/read.h"
#include "frontend/json/yaml.h"
#include "ctl/term/print.h"
#include "frontend/json/json.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LISTS_IN_LISTS_MAX 4

struct files {
	struct bytes *texts; /* the objects are pieces of them */
	size_t texts_n, texts_room;
	struct object *objects;
	size_t objects_n, objects_room;
	const char *notes; /* NULL: none */
	struct arena arena;
};

/* The file that is being read. */
struct reading {
	struct files *files;
	const char *path;
	unsigned document;
	bool many;
	bool is_yaml;
	char *error;
	size_t error_bytes;
};

/* Fields of an object; texts are pieces of it. */
struct head {
	struct text api_version, kind, namespace, name;
	struct text metadata;
	struct text items; /* raw; `at` is NULL: no such field */
};

struct files *files_new(void)
{
	return must_alloc(sizeof(struct files));
}

void files_free(struct files *files)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < files->texts_n; i++)
		bytes_free(&files->texts[i]);
	free(files->texts);
	free(files->objects);
	arena_free(&files->arena);
	free(files);
}

const struct object *files_objects(const struct files *files, size_t *n)
{
	*n = files->objects_n;
	return files->objects;
}

static char *keep(struct files *files, struct text t)
{
	char *copy = arena_copy(&files->arena, t);

	if (copy == NULL)
		fatal_memory();
	return copy;
}

static struct bytes *keep_text(struct files *files, struct bytes text)
{
	files->texts =
		must_reach(files->texts, &files->texts_room, files->texts_n, 8, sizeof(*files->texts));
	files->texts[files->texts_n] = text;
	return &files->texts[files->texts_n++];
}

static struct object *new_object(struct files *files)
{
	files->objects = must_reach(files->objects, &files->objects_room, files->objects_n, 256,
	                            sizeof(*files->objects));
	return &files->objects[files->objects_n++];
}

static struct text kept_copy(struct files *files, struct text json)
{
	struct bytes copy = { 0 };

	bytes_add(&copy, json.at, json.bytes);
	keep_text(files, copy);
	return (struct text){ copy.at, copy.n };
}

void files_replace(struct files *files, size_t i, struct text json)
{
	files->objects[i].json = kept_copy(files, json);
}

void files_make(struct files *files, const struct object *from, const char *api_version,
                const char *kind, const char *name, struct text json)
{
	struct object made = *from;

	made.json = kept_copy(files, json);
	made.api_version = keep(files, text_of(api_version));
	made.kind = keep(files, text_of(kind));
	made.name = keep(files, text_of(name));
	*new_object(files) = made;
}

void files_note(struct files *files, struct text lines)
{
	files->notes =
		arena_printf(&files->arena, "%s%.*s", files_notes(files), (int)lines.bytes, lines.at);
}

const char *files_notes(const struct files *files)
{
	return files->notes != NULL ? files->notes : "";
}

const char *object_where(const struct object *object, char *out, size_t out_bytes)
{
	char document[32] = "", item[32] = "";

	if (object->many_documents)
		snprintf(document, sizeof(document), ": document %u", object->document);
	if (object->item >= 0)
		snprintf(item, sizeof(item), ": items[%ld]", object->item);
	snprintf(out, out_bytes, "%s%s%s", object->file, document, item);
	return out;
}

static bool fail(struct reading *r, long item, const char *text)
{
	struct object at = {
		.file = r->path, .document = r->document, .many_documents = r->many, .item = item
	};
	char where[512];

	snprintf(r->error, r->error_bytes, "%s: %s", object_where(&at, where, sizeof(where)), text);
	return false;
}

static const struct json_field metadata_fields[] = {
	JSON_FIELD("name", json_field_text, struct head, name),
	JSON_FIELD("namespace", json_field_text, struct head, namespace),
};

static void read_metadata(struct json *j, void *head)
{
	const char *from = json_blank(j->at, j->end);
	struct head *h = head;

	json_fields(j, metadata_fields, h);
	h->metadata = (struct text){ from, (size_t)(j->at - from) };
}

static const struct json_field head_fields[] = {
	JSON_FIELD("apiVersion", json_field_text, struct head, api_version),
	JSON_FIELD("kind", json_field_text, struct head, kind),
	JSON_FIELD("items", json_field_raw, struct head, items),
	JSON_WHOLE("metadata", read_metadata),
};

/* Kinds without a namespace. Any other object is in "default" unless it names one, as with
 * kubectl. */
static bool is_of_the_cluster(const char *kind)
{
	static const char *const kinds[] = {
		"Node",
		"Namespace",
		"PriorityClass",
		"RuntimeClass",
		"PersistentVolume",
		"StorageClass",
		"CSINode",
		"CSIDriver",
		"VolumeAttachment",
		"CustomResourceDefinition",
		"ClusterRole",
		"ClusterRoleBinding",
		"IngressClass",
		"APIService",
		"DeviceClass",
		"ResourceSlice",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], kind) == 0)
			return true;
	return false;
}

/* The same text with metadata.namespace "default" as its last member, which overrides an empty one
 * before it. */
static struct text with_namespace(struct files *files, struct text json, struct text metadata)
{
	static const char more[] = ",\"namespace\":\"default\"";
	size_t before = (size_t)(metadata.at - json.at) + metadata.bytes - 1;
	struct bytes text = { 0 };

	bytes_room(&text, json.bytes + sizeof(more));
	bytes_add(&text, json.at, before);
	bytes_put(&text, more);
	bytes_add(&text, json.at + before, json.bytes - before);
	keep_text(files, text);
	return (struct text){ text.at, text.n };
}

static bool add_object(struct reading *r, struct text json, const struct head *h,
                       const char *api_version, const char *kind, long item)
{
	struct files *files = r->files;
	struct object *o;

	if (h->name.bytes == 0) {
		char text[320];

		snprintf(text, sizeof(text), "%.250s: metadata.name is missing", kind);
		return fail(r, item, text);
	}
	o = new_object(files);
	*o = (struct object){
		.json = json,
		.file = r->path,
		.document = r->document,
		.many_documents = r->many,
		.item = item,
		.api_version = api_version,
		.kind = kind,
		.namespace = "",
		.name = keep(files, h->name),
	};
	if (is_of_the_cluster(kind))
		return true;
	if (h->namespace.bytes > 0) {
		o->namespace = keep(files, h->namespace);
	} else {
		o->namespace = "default";
		o->json = with_namespace(files, json, h->metadata);
	}
	return true;
}

static bool take(struct reading *r, struct text json, const struct head *outer, long item,
                 unsigned lists);

static bool take_items(struct reading *r, const struct head *list, unsigned lists)
{
	struct arena arena = { 0 };
	struct json j;
	long item = 0;
	bool ok = true;

	json_begin(&j, list->items.at, list->items.bytes, &arena);
	if (!json_array(&j)) {
		ok = json_end(&j) || fail(r, -1, "items: not an array");
		arena_free(&arena);
		return ok;
	}
	while (ok && json_item(&j)) {
		struct text raw;

		if (json_raw(&j, &raw))
			ok = take(r, raw, list, item++, lists);
	}
	arena_free(&arena);
	return ok;
}

static bool is_list(const struct head *h)
{
	return h->items.at != NULL && h->kind.bytes >= 4 &&
	       memcmp(h->kind.at + h->kind.bytes - 4, "List", 4) == 0;
}

/* An object, or the items of a list. Items of a typed list ("PodList") need no kind. */
static bool take_head(struct reading *r, struct text json, struct head *h, const struct head *outer,
                      long item, unsigned lists)
{
	if (is_list(h)) {
		if (lists == LISTS_IN_LISTS_MAX)
			return fail(r, item, "lists in lists in lists");
		return take_items(r, h, lists + 1);
	}
	if (h->kind.bytes == 0 && outer != NULL && outer->kind.bytes > 4) {
		h->kind = (struct text){ outer->kind.at, outer->kind.bytes - 4 };
		if (h->api_version.bytes == 0)
			h->api_version = outer->api_version;
	}
	if (h->kind.bytes == 0 || h->api_version.bytes == 0) {
		char text[320];

		snprintf(text, sizeof(text), "object %s%.*s: %s is missing",
		         h->name.bytes == 0 ? "without a name" : "",
		         h->name.bytes > 250 ? 250 : (int)h->name.bytes,
		         h->name.bytes == 0 ? "" : h->name.at, h->kind.bytes == 0 ? "kind" : "apiVersion");
		return fail(r, item, text);
	}
	return add_object(r, json, h, keep(r->files, h->api_version), keep(r->files, h->kind), item);
}

static bool take(struct reading *r, struct text json, const struct head *outer, long item,
                 unsigned lists)
{
	struct arena arena = { 0 };
	struct head h = { 0 };
	struct json j;
	bool ok;

	if (json.bytes == 0 || json.at[0] != '{') {
		char text[128];

		snprintf(text, sizeof(text), "%.*s is no object", json.bytes > 60 ? 60 : (int)json.bytes,
		         json.at);
		return fail(r, item, text);
	}
	json_begin(&j, json.at, json.bytes, &arena);
	json_fields(&j, head_fields, &h);
	if (json_end(&j)) {
		ok = take_head(r, json, &h, outer, item, lists);
	} else {
		char path[256], text[600];

		json_path(&j, path, sizeof(path));
		snprintf(text, sizeof(text), "%s: %s", path, j.error);
		ok = fail(r, item, text);
	}
	arena_free(&arena);
	return ok;
}

static bool fail_in_line(struct reading *r, size_t line, size_t column, const char *what)
{
	snprintf(r->error, r->error_bytes, "%s: line %zu, column %zu: %s", r->path, line, column, what);
	return false;
}

/* True for a separator of YAML documents. JSON may be such a document. */
static bool is_separator(const char *p, const char *start, const char *end)
{
	return p > start && p[-1] == '\n' && end - p >= 3 && memcmp(p, "---", 3) == 0;
}

/* False: an error was reported, or r->is_yaml. */
static bool check_json(struct reading *r, const char *p, const char *end)
{
	const char *start = p;
	unsigned documents = 0;

	for (p = json_blank(p, end); p < end; p = json_blank(p, end)) {
		const char *where, *what;
		size_t line = 1, column = 1;

		if (is_separator(p, start, end)) {
			r->is_yaml = true;
			return false;
		}
		p = json_check(p, end, &where, &what);
		if (p == NULL) {
			for (const char *q = start; q < where; q++) {
				column = *q == '\n' ? 1 : column + 1;
				line += *q == '\n';
			}
			return fail_in_line(r, line, column, what);
		}
		documents++;
	}
	r->many = documents > 1;
	return true;
}

/* Several documents of JSON, one after the other. */
static bool take_documents(struct reading *r, const char *p, const char *end)
{
	for (p = json_blank(p, end); p < end; p = json_blank(p, end)) {
		const char *where, *what, *from = p;

		p = json_check(p, end, &where, &what);
		if (p == NULL)
			return fail(r, -1, what);
		r->document++;
		if (!take(r, (struct text){ from, (size_t)(p - from) }, NULL, -1, 0))
			return false;
	}
	return true;
}

/* Converts the text to JSON. */
static bool unpack_yaml(struct reading *r, struct bytes *text)
{
	struct bytes json = { 0 };
	struct yaml_error e;

	if (!yaml_to_json(text->at, text->n, &json, NULL, &e)) {
		bytes_free(&json);
		return fail_in_line(r, e.line, e.column, e.text);
	}
	bytes_free(text);
	*text = json;
	return check_json(r, text->at, text->at + text->n);
}

static bool take_text(struct reading *r, struct bytes *text)
{
	static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */
	size_t skip = text->n >= 3 && memcmp(text->at, mark, 3) == 0 ? 3 : 0;
	const char *p = json_blank(text->at + skip, text->at + text->n);

	if (p == text->at + text->n)
		return fail(r, -1, "the file is empty");
	r->is_yaml = *p != '{';
	if (!r->is_yaml && !check_json(r, p, text->at + text->n) && !r->is_yaml)
		return false;
	if (r->is_yaml) {
		if (!unpack_yaml(r, text))
			return false;
		p = text->at;
	}
	return take_documents(r, p, text->at + text->n);
}

static bool read_one(struct files *files, const char *path, char *error, size_t error_bytes)
{
	struct reading r = {
		.files = files,
		.path = keep(files, text_of(strcmp(path, "-") == 0 ? "standard input" : path)),
		.error = error,
		.error_bytes = error_bytes,
	};
	struct bytes text = { 0 };
	char why[256];
	bool ok;

	if (!read_whole(path, &text, why, sizeof(why))) {
		bytes_free(&text);
		return fail(&r, -1, why);
	}
	ok = take_text(&r, &text);
	/* Kept even on failure: objects read so far point into it. */
	keep_text(files, text);
	return ok;
}

static int is_manifest(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL &&
	       (strcmp(dot, ".json") == 0 || strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static bool is_folder(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* As kubectl -f FOLDER: the manifests in it, by name, and none of the folders below. */
static bool read_folder(struct files *files, const char *path, char *error, size_t error_bytes)
{
	struct dirent **entries = NULL;
	const int n = scandir(path, &entries, is_manifest, alphasort);
	int folders = 0;
	bool ok = n >= 0;

	if (n < 0)
		snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		char *of = ctl_print("%s/%s", path, entries[i]->d_name);

		if (ok && is_folder(of))
			folders++;
		else
			ok = ok && read_one(files, of, error, error_bytes);
		free(of);
		free(entries[i]);
	}
	free(entries);
	if (ok && folders == n) {
		snprintf(error, error_bytes, "%s: no .json, .yaml or .yml file is in this folder", path);
		return false;
	}
	return ok;
}

bool files_read(struct files *files, const char *path, char *error, size_t error_bytes)
{
	return is_folder(path) ? read_folder(files, path, error, error_bytes)
	                       : read_one(files, path, error, error_bytes);
}

bool files_take(struct files *files, const char *name, const char *text, size_t bytes, char *error,
                size_t error_bytes)
{
	struct reading r = { .files = files,
		                 .path = keep(files, text_of(name)),
		                 .error = error,
		                 .error_bytes = error_bytes };
	struct bytes copy = { 0 };
	bool ok;

	bytes_add(&copy, text, bytes);
	ok = take_text(&r, &copy);
	keep_text(files, copy);
	return ok;
}

static size_t group_bytes(const struct object *o)
{
	const char *slash = strchr(o->api_version, '/');

	return slash != NULL ? (size_t)(slash - o->api_version) : 0;
}

static int compare_identity(const struct object *a, const struct object *b)
{
	size_t an = group_bytes(a), bn = group_bytes(b);
	int order = (an > bn) - (an < bn);

	if (order == 0)
		order = memcmp(a->api_version, b->api_version, an);
	if (order == 0)
		order = strcmp(a->kind, b->kind);
	if (order == 0)
		order = strcmp(a->namespace, b->namespace);
	return order != 0 ? order : strcmp(a->name, b->name);
}

/* Equal objects in the order in which they were read. */
static int compare_objects(const void *a, const void *b)
{
	const struct object *x = *(const struct object *const *)a;
	const struct object *y = *(const struct object *const *)b;
	int order = compare_identity(x, y);

	return order != 0 ? order : (x > y) - (x < y);
}

bool files_check(const struct files *files, char *error, size_t error_bytes)
{
	const struct object **sorted = must_array(files->objects_n, sizeof(struct object *));
	const struct object *first = NULL, *second = NULL;
	char where[512], other[512];

	for (size_t i = 0; i < files->objects_n; i++)
		sorted[i] = &files->objects[i];
	qsort(sorted, files->objects_n, sizeof(struct object *), compare_objects);
	for (size_t i = 1; i < files->objects_n; i++) {
		if (compare_identity(sorted[i - 1], sorted[i]) == 0 &&
		    (second == NULL || sorted[i] < second)) {
			first = sorted[i - 1];
			second = sorted[i];
		}
	}
	free(sorted);
	if (second == NULL)
		return true;
	snprintf(error, error_bytes, "%s: %s %s%s%s: metadata.name: the same object is at %s",
	         object_where(second, where, sizeof(where)), second->kind, second->namespace,
	         second->namespace[0] != '\0' ? "/" : "", second->name,
	         object_where(first, other, sizeof(other)));
	return false;
}
