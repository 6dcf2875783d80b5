/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that lie in files: what `kubectl get ... -o json` or `-o yaml`
 * prints.  A List, one object, or many documents, packed or not.
 *
 * An object from JSON is the very text of the file: no number goes through a
 * double.  One from YAML is turned into JSON text (frontend/json/yaml.h). */
#ifndef MUSTER_CTL_FILES_H
#define MUSTER_CTL_FILES_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct object {
	struct text json;
	const char *file;
	unsigned document;       /* of the file, from 1 */
	bool many_documents;     /* the file has more than one */
	long item;               /* in a List, from 0; -1: not in one */
	const char *api_version; /* "v1", "scheduling.x-k8s.io/v1alpha1" */
	const char *kind;
	const char *namespace; /* "default" when none is given, "" for kinds without a namespace */
	const char *name;
};

struct files;

struct files *files_new(void);
void files_free(struct files *files);

/* Reads one file, or the .json, .yaml and .yml files of a folder. False: `error` has the file, the
 * place, the object, the field and what is wrong. */
bool files_read(struct files *files, const char *path, char *error, size_t error_bytes);

/* The same of a text, which is copied; `name` is for messages. */
bool files_take(struct files *files, const char *name, const char *text, size_t bytes, char *error,
                size_t error_bytes);

/* After the last file. False: two objects are the same one. */
bool files_check(const struct files *files, char *error, size_t error_bytes);

/* In the order in which they were read; good until files_free(). */
const struct object *files_objects(const struct files *files, size_t *n);

/* One more object, which stands for `from` in messages: the text is copied, so are the names. */
void files_make(struct files *files, const struct object *from, const char *api_version,
                const char *kind, const char *name, struct text json);

/* Another text for the object at `i`: it is copied. */
void files_replace(struct files *files, size_t i, struct text json);

/* More lines about what was made of the objects; "" when there are none. */
void files_note(struct files *files, struct text lines);
const char *files_notes(const struct files *files);

/* "FILE: document 2: items[3]", as far as known. */
const char *object_where(const struct object *object, char *out, size_t out_bytes);

#endif
