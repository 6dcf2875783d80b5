/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes say about the reason of a gang: capacity that is free in pieces, and labels that its
 * nodeSelector or required node affinity asks for and no node has. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"
#include "ipc/observe.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_SHOWN 8
#define LABELS_LOOKED 100u /* looks at all nodes: a pod may ask for thousands of labels */

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
		json_add_text(item, "unit", units_of(r->shortfalls[i].resource, row->name));
		json_add_number(item, "free", (int64_t)row->free);
		json_add_number(item, "usable", r->shortfalls[i].have);
		json_add_number(item, "largest_free", (int64_t)row->largest_free);
		cJSON_AddItemToArray(list, item);
	}
}

/* The object of a member without a node, or of a pod of that name without a gang. */
struct search {
	const char *gang; /* or the pod: "ns/name" */
	bool single;      /* it is the pod */
	char *namespace, *name;
};

static void note_member(void *context, const struct pod_view *pod)
{
	struct search *s = context;
	const size_t bytes = strlen(pod->namespace);

	if (s->name != NULL || !pod->ours || pod->node[0] != '\0' ||
	    s->single != (pod->gang[0] == '\0') || strncmp(s->gang, pod->namespace, bytes) != 0 ||
	    s->gang[bytes] != '/' ||
	    strcmp(s->gang + bytes + 1, s->single ? pod->name : pod->gang) != 0)
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
	v->at = must_reach(v->at, &v->room, v->n, 64, sizeof(*v->at));
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

/* What is looked for on nodes. */
struct looking {
	const struct files *files;
	uint32_t left; /* looks; when none is left a label counts as met */
};

static void look(struct looking *l, const char *key, const cJSON *wanted, struct values *v)
{
	size_t n;
	const struct object *objects = files_objects(l->files, &n);

	*v = (struct values){ .met = l->left == 0 };
	l->left -= l->left > 0;
	for (size_t i = 0; i < n && !v->met; i++) {
		cJSON *node;

		if (strcmp(objects[i].kind, "Node") != 0)
			continue;
		node = parsed(&objects[i]);
		add_value(v,
		          cJSON_GetObjectItemCaseSensitive(
					  cJSON_GetObjectItemCaseSensitive(node, "metadata"), "labels"),
		          key, wanted);
		cJSON_Delete(node);
	}
}

static void values_free(struct values *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->at[i]);
	free(v->at);
}

static void print_unmet(struct looking *l, const char *key, const cJSON *wanted)
{
	struct values v;

	look(l, key, wanted, &v);
	if (v.n > 1)
		qsort(v.at, v.n, sizeof(*v.at), ctl_compare_texts);
	if (!v.met)
		print_values(&v, key, wanted);
	values_free(&v);
}

static void print_selector(struct looking *l, const cJSON *spec)
{
	const cJSON *one;

	cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(spec, "nodeSelector"))
	{
		if (one->string != NULL && cJSON_IsString(one))
			print_unmet(l, one->string, one);
	}
}

/* The label that has to be there for the expression, and the values it may have (NULL: any); NULL
 * for the other operators. */
static const char *label_of(const cJSON *expression, const cJSON **values)
{
	const char *how =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(expression, "operator"));
	const char *key = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(expression, "key"));

	*values = cJSON_GetObjectItemCaseSensitive(expression, "values");
	if (how != NULL && strcmp(how, "Exists") == 0)
		*values = NULL;
	else if (how == NULL || strcmp(how, "In") != 0 || !cJSON_IsArray(*values))
		return NULL;
	return key;
}

/* No node has one of its labels. */
static bool is_unmet(struct looking *l, const cJSON *term)
{
	const cJSON *one, *values;
	bool unmet = false;

	cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(term, "matchExpressions"))
	{
		const char *key = label_of(one, &values);
		struct values v;

		if (unmet || key == NULL)
			continue;
		look(l, key, values, &v);
		unmet = !v.met;
		values_free(&v);
	}
	return unmet;
}

/* One term is enough: labels of the others keep nothing waiting. */
static void print_affinity(struct looking *l, const cJSON *spec)
{
	const cJSON *affinity = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(spec, "affinity"), "nodeAffinity");
	const cJSON *terms = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(affinity,
	                                     "requiredDuringSchedulingIgnoredDuringExecution"),
		"nodeSelectorTerms");
	const cJSON *term, *one, *values;

	cJSON_ArrayForEach(term, terms)
	{
		if (!is_unmet(l, term))
			return;
	}
	cJSON_ArrayForEach(term, terms)
	{
		cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(term, "matchExpressions"))
		{
			const char *key = label_of(one, &values);

			if (key != NULL)
				print_unmet(l, key, values);
		}
	}
}

void explain_selector_print(const struct explanation *x)
{
	struct search s = { .gang = x->gang, .single = x->result == NULL };
	struct looking l = { .left = LABELS_LOOKED };
	const cJSON *spec;
	cJSON *pod;

	if (x->config == NULL || x->now.offline == NULL)
		return;
	model_each_pod(offline_model(x->now.offline), note_member, &s);
	pod = pod_of(x->config->files, &s);
	spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
	l.files = x->config->files;
	print_selector(&l, spec);
	print_affinity(&l, spec);
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
