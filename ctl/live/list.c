/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/list.h"

#include "ctl/term/edge.h"
#include "ctl/term/print.h"
#include "ctl/term/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 64

bool option_list_form(const char *command, const char *text, void *to)
{
	static const char custom[] = "custom-columns=";
	static const struct {
		const char *name;
		enum list_form form;
	} forms[] = {
		{ "wide", LIST_WIDE }, { "json", LIST_JSON }, { "yaml", LIST_YAML }, { "name", LIST_NAME }
	};
	struct list_options *o = to;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(text, forms[i].name) == 0) {
			o->form = forms[i].form;
			return true;
		}
	if (strncmp(text, custom, sizeof(custom) - 1) == 0) {
		o->form = LIST_COLUMNS;
		o->columns = text + sizeof(custom) - 1;
		return true;
	}
	return ctl_usage(command,
	                 "-o %s: wide, json, yaml, name and custom-columns=HEAD:.field are "
	                 "what there is",
	                 text),
	       false;
}

/* The value at ".a.b", "{.a.b}" or "a.b"; NULL: none. */
static const cJSON *field_of(const cJSON *item, const char *path, size_t bytes)
{
	char name[256];

	while (bytes > 0 && (*path == '{' || *path == '.')) {
		path++;
		bytes--;
	}
	bytes -= bytes > 0 && path[bytes - 1] == '}';
	/* Names of resources have dots: the whole rest is tried first. */
	for (size_t n = bytes; n > 0 && item != NULL; n--) {
		const cJSON *found;

		if ((n != bytes && path[n] != '.') || n >= sizeof(name))
			continue;
		memcpy(name, path, n);
		name[n] = '\0';
		found = cJSON_GetObjectItemCaseSensitive(item, name);
		if (found != NULL)
			return n == bytes ? found : field_of(found, path + n + 1, bytes - n - 1);
	}
	return NULL;
}

/* As a cell of a table; to be freed. */
static char *value_text(const cJSON *value)
{
	char *printed, *text;

	if (value == NULL || cJSON_IsNull(value))
		return must_copy("<none>");
	if (cJSON_IsString(value))
		return must_copy(value->valuestring);
	printed = cJSON_PrintUnformatted(value);
	if (printed == NULL)
		fatal_memory();
	text = must_copy(printed);
	cJSON_free(printed);
	return text;
}

/* Numbers are raw texts (json_add_number()). */
static bool value_number(const cJSON *value, double *out)
{
	const char *text = cJSON_IsRaw(value) ? value->valuestring : NULL;
	char *end;

	*out = cJSON_IsNumber(value) ? value->valuedouble : 0;
	if (text == NULL)
		return cJSON_IsNumber(value);
	*out = strtod(text, &end);
	return end != text && *end == '\0';
}

struct sorted {
	cJSON *item;
	const cJSON *value;
	size_t at;
};

/* What has no value comes last. */
static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	const bool none_x = x->value == NULL || cJSON_IsNull(x->value);
	const bool none_y = y->value == NULL || cJSON_IsNull(y->value);
	double m, n;
	int order = none_x - none_y;

	if (order == 0 && !none_x && value_number(x->value, &m) && value_number(y->value, &n))
		order = (m > n) - (m < n);
	else if (order == 0 && cJSON_IsString(x->value) && cJSON_IsString(y->value))
		order = strcmp(x->value->valuestring, y->value->valuestring);
	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static bool is_optional(const struct list_kind *kind, const char *path)
{
	bool found = false;

	path += strspn(path, "{.");
	for (size_t i = 0; kind->optional != NULL && kind->optional[i] != NULL && !found; i++)
		found = strncmp(path, kind->optional[i], strcspn(path, ".}")) == 0 &&
		        kind->optional[i][strcspn(path, ".}")] == '\0';
	return found;
}

/* Former names are those with capitals (ctl/term/former.h). */
static void say_fields(const char *command, const char *path, const struct list_kind *kind,
                       const cJSON *item)
{
	const cJSON *field;
	const char *comma = "";

	fprintf(stderr, "%s: --sort-by %s: the JSON has no such field; there are ", command, path);
	cJSON_ArrayForEach(field, item)
	{
		if (strpbrk(field->string, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != NULL ||
		    is_optional(kind, field->string))
			continue;
		fprintf(stderr, "%s%s", comma, field->string);
		comma = ", ";
	}
	for (size_t i = 0; kind->optional != NULL && kind->optional[i] != NULL; i++)
		fprintf(stderr, "%s%s", i == 0 && *comma == '\0' ? "" : ", ", kind->optional[i]);
	fputc('\n', stderr);
}

bool list_sort(const char *command, const struct list_options *o, const struct list_kind *kind,
               cJSON *items)
{
	const size_t n = (size_t)cJSON_GetArraySize(items);
	struct sorted *all;
	bool any = n == 0;

	if (o->sort_by == NULL)
		return true;
	all = must_array(n + 1, sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		all[i].item = cJSON_DetachItemFromArray(items, 0);
		all[i].value = field_of(all[i].item, o->sort_by, strlen(o->sort_by));
		all[i].at = i;
		any = any || all[i].value != NULL;
	}
	if (n > 1)
		qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(items, all[i].item);
	free(all);
	any = any || is_optional(kind, o->sort_by);
	if (!any)
		say_fields(command, o->sort_by, kind, items->child);
	return any;
}

/* Prints a JSON value on one line: scalars and empty lists of JSON are YAML. */
static void flow_print(const cJSON *value)
{
	char *text = cJSON_PrintUnformatted(value);

	if (text == NULL)
		fatal_memory();
	ctl_say("%s", text);
	cJSON_free(text);
}

static void yaml_key(const char *name)
{
	cJSON *quoted;

	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0') {
		printf("%s:", name);
		return;
	}
	quoted = json_checked(cJSON_CreateString(name));
	flow_print(quoted);
	putchar(':');
	cJSON_Delete(quoted);
}

/* The members of an object or array; `begun`: the first one continues a line. */
static void yaml_print(const cJSON *value, int depth, bool begun)
{
	const cJSON *child;

	cJSON_ArrayForEach(child, value)
	{
		const bool nested = (cJSON_IsObject(child) || cJSON_IsArray(child)) && child->child;

		printf("%*s", begun ? 0 : depth * 2, "");
		begun = false;
		if (cJSON_IsArray(value))
			putchar('-');
		else
			yaml_key(child->string);
		if (!nested || cJSON_IsArray(value))
			putchar(' ');
		if (nested) {
			if (!cJSON_IsArray(value))
				putchar('\n');
			yaml_print(child, depth + 1, cJSON_IsArray(value));
		} else {
			flow_print(child);
			putchar('\n');
		}
	}
}

static const char *name_of(const struct list_kind *kind, const cJSON *item)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, kind->name));

	return name != NULL ? name : "";
}

/* True if the item of that name was there and only ignored fields differ. */
static bool is_unchanged(const struct list_kind *kind, const cJSON *item, const cJSON *before)
{
	const cJSON *was, *field;

	cJSON_ArrayForEach(was, before)
	{
		if (strcmp(name_of(kind, was), name_of(kind, item)) != 0)
			continue;
		cJSON_ArrayForEach(field, item)
		{
			bool counts = true;

			for (size_t i = 0; counts && kind->ignored[i] != NULL; i++)
				counts = strcmp(kind->ignored[i], field->string) != 0;
			if (counts &&
			    !cJSON_Compare(field, cJSON_GetObjectItemCaseSensitive(was, field->string), true))
				return false;
		}
		return true;
	}
	return false;
}

static void print_json(const struct list_kind *kind, const cJSON *items)
{
	const cJSON *item;
	bool first = true;

	printf("{\"%s\": [", kind->items);
	cJSON_ArrayForEach(item, items)
	{
		fputs(first ? "\n  " : ",\n  ", stdout);
		flow_print(item);
		first = false;
	}
	fputs("]}\n", stdout);
}

/* Which of the columns, heads and then wide_heads, is the i-th of -o wide: the last of heads comes
 * last. */
static size_t column_at(size_t i, size_t heads, size_t all)
{
	if (i + 1 < heads)
		return i;
	return i + 1 < all ? i + 1 : heads - 1;
}

static void print_table(struct list_options *o, const struct list_kind *kind, const cJSON *items,
                        const cJSON *before)
{
	const bool wide = o->form == LIST_WIDE;
	size_t heads = 0, all;
	char right[COLUMNS_MAX + 1] = "", *cells[COLUMNS_MAX];
	const cJSON *item;
	struct text_table *t;

	while (kind->heads[heads] != NULL)
		heads++;
	for (all = heads; wide && kind->wide_heads[all - heads] != NULL; all++)
		;
	for (size_t i = 0; i < all; i++)
		right[i] = kind->right[column_at(i, heads, all)];
	t = text_table_new(right);
	for (size_t i = 0; !o->no_headers && before == NULL && i < all; i++) {
		const size_t at = column_at(i, heads, all);

		text_table_cell(t, "%s", at < heads ? kind->heads[at] : kind->wide_heads[at - heads]);
	}
	cJSON_ArrayForEach(item, items)
	{
		if (is_unchanged(kind, item, before))
			continue;
		kind->row(item, wide, cells);
		for (size_t i = 0; i < all; i++) {
			const size_t at = column_at(i, heads, all);

			text_table_cell(t, "%s", cells[at]);
			free(cells[at]);
		}
	}
	if (!wide)
		text_table_cut(t, edge_columns(stdout), kind->spare, &o->left_out);
	text_table_print(t, stdout);
	text_table_free(t);
}

struct column {
	const char *head, *path;
	size_t head_bytes, path_bytes;
};

/* The number of columns, 0 after a message. */
static size_t columns_read(const char *command, const char *text, struct column out[COLUMNS_MAX])
{
	size_t n = 0;

	while (*text != '\0') {
		const size_t bytes = strcspn(text, ","), head = strcspn(text, ":");

		if (n == COLUMNS_MAX || head == 0 || head + 1 >= bytes)
			return ctl_usage(command, "-o custom-columns=%s: not HEAD:.field,..., %d at most", text,
			                 COLUMNS_MAX),
			       0;
		out[n++] = (struct column){ text, text + head + 1, head, bytes - head - 1 };
		text += bytes + (text[bytes] == ',');
	}
	if (n == 0)
		ctl_usage(command, "-o custom-columns=: no column is named");
	return n;
}

static int print_columns(const char *command, const struct list_options *o,
                         const struct list_kind *kind, const cJSON *items, const cJSON *before)
{
	struct column columns[COLUMNS_MAX];
	const size_t n = columns_read(command, o->columns, columns);
	char right[COLUMNS_MAX + 1] = "";
	struct text_table *t;
	const cJSON *item;

	if (n == 0)
		return EXIT_USAGE;
	memset(right, 'L', n);
	t = text_table_new(right);
	for (size_t i = 0; !o->no_headers && before == NULL && i < n; i++)
		text_table_cell(t, "%.*s", (int)columns[i].head_bytes, columns[i].head);
	cJSON_ArrayForEach(item, items)
	{
		for (size_t i = 0; !is_unchanged(kind, item, before) && i < n; i++) {
			char *text = value_text(field_of(item, columns[i].path, columns[i].path_bytes));

			text_table_cell(t, "%s", text);
			free(text);
		}
	}
	text_table_print(t, stdout);
	text_table_free(t);
	return EXIT_DONE;
}

int list_print(const char *command, struct list_options *o, const struct list_kind *kind,
               const cJSON *items, const cJSON *before)
{
	const cJSON *item;

	switch (o->form) {
	case LIST_JSON:
		print_json(kind, items);
		break;
	case LIST_YAML:
		printf("%s:%s\n", kind->items, items->child == NULL ? " []" : "");
		yaml_print(items, 0, false); /* an array: "- " at the margin */
		break;
	case LIST_NAME:
		cJSON_ArrayForEach(item, items) if (!is_unchanged(kind, item, before))
			ctl_say("%s/%s\n", kind->name, name_of(kind, item));
		break;
	case LIST_COLUMNS:
		return print_columns(command, o, kind, items, before);
	case LIST_TEXT:
	case LIST_WIDE:
		print_table(o, kind, items, before);
		break;
	}
	return EXIT_DONE;
}
