/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that list things, with kubectl's names and meanings, and the forms in
 * which a list is printed.  A list is an array of JSON objects of one kind; the text is a table of
 * some of their fields. */
#ifndef MUSTER_CTL_LIST_H
#define MUSTER_CTL_LIST_H

#include "ctl/term/options.h"

#include <cjson/cJSON.h>

enum list_form { LIST_TEXT, LIST_WIDE, LIST_JSON, LIST_YAML, LIST_NAME, LIST_COLUMNS };

struct list_options {
	enum list_form form;
	const char *columns; /* LIST_COLUMNS: "HEAD:.field,..." */
	const char *sort_by; /* ".field"; NULL: as the command sorts */
	bool no_headers, watch;
	char left_out; /* by what is printed with --watch: of text_table_cut() */
};

bool option_list_form(const char *command, const char *text, void *to);

#define LIST_FLAGS(type, field)                                                                    \
	{ "output",                                                                                    \
	  'o',                                                                                         \
	  "-o, --output FORM",                                                                         \
	  "wide (all columns, whole lines), json, yaml, name or\n"                                     \
	  "custom-columns=HEAD:.field,... with the names of the JSON",                                 \
	  "wide|json|yaml|name|custom-columns=",                                                       \
	  option_list_form,                                                                            \
	  offsetof(type, field) },                                                                     \
		{ "sort-by", 0,           "--sort-by .FIELD",           "by a field of the JSON",          \
		  NULL,      option_text, offsetof(type, field.sort_by) },                                 \
		{ "no-headers",                                                                            \
		  0,                                                                                       \
		  "--no-headers",                                                                          \
		  "no line with the names of the columns",                                                 \
		  NULL,                                                                                    \
		  NULL,                                                                                    \
		  offsetof(type, field.no_headers) },                                                      \
	{                                                                                              \
		"watch", 'w', "-w, --watch", "then what changes, each second, until interrupted", NULL,    \
			NULL, offsetof(type, field.watch)                                                      \
	}

/* How a list is printed. */
struct list_kind {
	const char *items;           /* the member with the array in -o json: "gangs" */
	const char *name;            /* the field with the name: "gang" */
	const char *const *ignored;  /* fields whose change is no change to --watch, then NULL */
	const char *const *optional; /* fields that all items may lack, then NULL; NULL: none */
	const char *none;            /* the sentence where there is no item; NULL: "No ITEMS found." */
	void (*row)(const cJSON *item, bool wide, char **cells); /* text for each column, to be freed */
	/* Then NULL.  Those of -o wide come before the last one, which is long. */
	const char *const *heads, *const *wide_heads;
	const char *right; /* of text_table_new(), for all columns: heads, then wide_heads */
	const char *spare; /* of text_table_cut(), for heads; NULL: none */
};

/* Sorts `items` by --sort-by; false, and a message: items of the kind have no such field. */
bool list_sort(const char *command, const struct list_options *o, const struct list_kind *kind,
               cJSON *items);

/* Prints the items.  `before`: what was printed last, with --watch: then only what differs; NULL:
 * all.  Sets o->left_out.  EXIT_DONE, or EXIT_USAGE after a message. */
int list_print(const char *command, struct list_options *o, const struct list_kind *kind,
               const cJSON *items, const cJSON *before);

#endif
