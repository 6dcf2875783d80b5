/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes say about the reason of a gang: capacity that is free in pieces, and labels that its
 * nodeSelector asks for and no node has. */
#include "ctl/diagnose/explain.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"
#include "ipc/observe.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_SHOWN 8

static const struct usage_row *pieces_of(const struct explanation *x, const struct shortfall *s)
{
	return x->usage != NULL ? usage_pieces(x->usage, &x->result->why, s) : NULL;
}

void explain_pieces_print(const struct explanation *x)
{
	const struct reason *r = &x->result->why;
	char free_text[64], have[64], largest[64];

	for (uint32_t i = 0; i < r->shortfalls_n && i < SHORTFALLS_MAX; i++) {
		const struct shortfall *s = &r->shortfalls[i];
		const struct usage_row *row = pieces_of(x, s);

		if (row == NULL)
			continue;
		ctl_say(
			"%s: %s free, %s of it usable by these members; the largest free on one node: %s\n",
			row->name,
			units_amount(s->resource, row->name, (int64_t)row->free, free_text, sizeof(free_text)),
			units_amount(s->resource, row->name, s->have, have, sizeof(have)),
			units_amount(s->resource, row->name, (int64_t)row->largest_free, largest,
		                 sizeof(largest)));
	}
}

void explain_pieces_json(cJSON *o, const struct explanation *x)
{
	const struct reason *r = &x->result->why;
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "pieces"));

	for (uint32_t i = 0; i < r->shortfalls_n && i < SHORTFALLS_MAX; i++) {
		const struct usage_row *row = pieces_of(x, &r->shortfalls[i]);
		cJSON *item;

		if (row == NULL)
			continue;
		item = json_checked(cJSON_CreateObject());
		json_add_text(item, "resource", row->name);
		json_add_number(item, "free", (int64_t)row->free);
		json_add_number(item, "usable", r->shortfalls[i].have);
		json_add_number(item, "largestFree", (int64_t)row->largest_free);
		cJSON_AddItemToArray(list, item);
	}
}

/* The object of a member without a node, or of a pod of that name without a gang. */
struct search {
	const char *gang; /* or the pod: "ns/name" */
	char *namespace, *name;
};

static void note_member(void *context, const struct pod_view *pod)
{
	struct search *s = context;
	const size_t bytes = strlen(pod->namespace);

	if (s->name != NULL || !pod->ours || pod->node[0] != '\0' ||
	    strncmp(s->gang, pod->namespace, bytes) != 0 || s->gang[bytes] != '/' ||
	    strcmp(s->gang + bytes + 1, pod->gang[0] != '\0' ? pod->gang : pod->name) != 0)
		return;
	s->namespace = must_copy(pod->namespace);
	s->name = must_copy(pod->name);
}

static cJSON *parsed(const struct object *o)
{
	return cJSON_ParseWithLength(o->json.at, o->json.bytes);
}

static cJSON *pod_of(const struct files *files, const struct search *s)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; s->name != NULL && i < n; i++)
		if (strcmp(objects[i].kind, "Pod") == 0 && strcmp(objects[i].name, s->name) == 0 &&
		    strcmp(objects[i].namespace, s->namespace) == 0)
			return parsed(&objects[i]);
	return NULL;
}

struct values {
	char **at;
	size_t n, room;
	bool met; /* a node has one that is asked for */
};

/* What is asked for: a text, or an array of texts of which one is enough; NULL: any. */
static bool is_among(const cJSON *wanted, const char *text)
{
	const cJSON *one;

	if (wanted == NULL)
		return true;
	if (cJSON_IsString(wanted))
		return strcmp(wanted->valuestring, text) == 0;
	cJSON_ArrayForEach(one, wanted)
	{
		if (cJSON_IsString(one) && strcmp(one->valuestring, text) == 0)
			return true;
	}
	return false;
}

static void add_value(struct values *v, const cJSON *labels, const char *key, const cJSON *wanted)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, key));

	if (text == NULL)
		return;
	v->met = v->met || is_among(wanted, text);
	if (v->n == v->room) {
		v->room = v->room * 2 + 64;
		v->at = must_grow(v->at, v->room * sizeof(*v->at));
	}
	v->at[v->n++] = must_copy(text);
}

static void print_wanted(const char *key, const cJSON *wanted)
{
	const char *before = " in (";
	const cJSON *one;

	ctl_say("%s", key);
	if (cJSON_IsString(wanted))
		ctl_say("=%s", wanted->valuestring);
	if (!cJSON_IsArray(wanted))
		return;
	cJSON_ArrayForEach(one, wanted)
	{
		ctl_say("%s%s", before, cJSON_IsString(one) ? one->valuestring : "?");
		before = ", ";
	}
	ctl_say(")");
}

static void print_values(const struct values *v, const char *key, const cJSON *wanted)
{
	size_t kinds = 0;

	print_wanted(key, wanted);
	ctl_say(": no node has it; ");
	for (size_t i = 0; i < v->n; i++) {
		if (i > 0 && strcmp(v->at[i], v->at[i - 1]) == 0)
			continue;
		if (kinds++ < VALUES_SHOWN)
			ctl_say("%s%s", kinds == 1 ? "there are " : ", ", v->at[i]);
	}
	if (kinds > VALUES_SHOWN)
		ctl_say(" and %zu more\n", kinds - VALUES_SHOWN);
	else
		ctl_say("%s", kinds > 0 ? "\n" : "no node has that label\n");
}

static void print_unmet(const struct files *files, const char *key, const cJSON *wanted)
{
	struct values v = { 0 };
	size_t n;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; i < n && !v.met; i++) {
		cJSON *node;

		if (strcmp(objects[i].kind, "Node") != 0)
			continue;
		node = parsed(&objects[i]);
		add_value(&v,
		          cJSON_GetObjectItemCaseSensitive(
					  cJSON_GetObjectItemCaseSensitive(node, "metadata"), "labels"),
		          key, wanted);
		cJSON_Delete(node);
	}
	if (v.n > 1)
		qsort(v.at, v.n, sizeof(*v.at), ctl_compare_texts);
	if (!v.met)
		print_values(&v, key, wanted);
	for (size_t i = 0; i < v.n; i++)
		free(v.at[i]);
	free(v.at);
}

static void print_selector(const struct files *files, const cJSON *spec)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(spec, "nodeSelector"))
	{
		if (one->string != NULL && cJSON_IsString(one))
			print_unmet(files, one->string, one);
	}
}

/* Of the operators those that a label has to be there for. */
static void print_affinity(const struct files *files, const cJSON *spec)
{
	const cJSON *affinity = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(spec, "affinity"), "nodeAffinity");
	const cJSON *terms = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(affinity,
	                                     "requiredDuringSchedulingIgnoredDuringExecution"),
		"nodeSelectorTerms");
	const cJSON *term, *one;

	cJSON_ArrayForEach(term, terms)
	{
		cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(term, "matchExpressions"))
		{
			const cJSON *values = cJSON_GetObjectItemCaseSensitive(one, "values");
			const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "key"));
			const char *how =
				cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "operator"));

			if (key == NULL || how == NULL)
				continue;
			if (strcmp(how, "In") == 0 && cJSON_IsArray(values))
				print_unmet(files, key, values);
			else if (strcmp(how, "Exists") == 0)
				print_unmet(files, key, NULL);
		}
	}
}

void explain_selector_print(const struct explanation *x)
{
	struct search s = { .gang = x->gang };
	const cJSON *spec;
	cJSON *pod;

	if (x->config == NULL || x->now.offline == NULL)
		return;
	model_each_pod(offline_model(x->now.offline), note_member, &s);
	pod = pod_of(x->config->files, &s);
	spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
	print_selector(x->config->files, spec);
	print_affinity(x->config->files, spec);
	cJSON_Delete(pod);
	free(s.namespace);
	free(s.name);
}

struct usage_figures *explain_usage(const struct ledger *l)
{
	struct usage_figures *out = must_alloc(sizeof(*out));
	struct observer *o = must_alloc(sizeof(*o));

	observer_own(o, l);
	usage_read(out, o);
	free(o);
	return out;
}
