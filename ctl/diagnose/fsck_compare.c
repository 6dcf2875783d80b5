/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/ctl.h"
#include "ctl/diagnose/fsck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ledger_look_take(const struct observer *o, struct ledger_look *out)
{
	uint64_t bound = observe_count(&o->ledger->gauges.pods_bound), on_nodes = 0;

	out->nodes = rows_nodes(o);
	out->gangs = rows_gangs(o, NULL);
	for (uint32_t r = 0; r < out->nodes.resources; r++)
		observe_name(o, r, out->names[r]);
	for (size_t i = 0; i < out->nodes.n; i++)
		on_nodes += out->nodes.at[i].pods;
	out->in_flight = on_nodes > bound ? on_nodes - bound : 0;
}

void ledger_look_free(struct ledger_look *look)
{
	free(look->nodes.at);
	free(look->gangs.at);
	*look = (struct ledger_look){ 0 };
}

/* A value in the live ledger before and after, and the expected one. */
struct value {
	int64_t before, after, relisted;
};

static void compare(struct findings *f, enum finding_kind kind, const char *name, const char *what,
                    const char *of, uint32_t resource, struct value v)
{
	struct finding *x;

	if (v.before != v.after) {
		f->moving++;
		return;
	}
	if (v.after == v.relisted)
		return;
	f->at = must_grow(f->at, (f->n + 1) * sizeof(*f->at));
	x = &f->at[f->n++];
	*x = (struct finding){
		.kind = kind, .resource = resource, .live = v.after, .relisted = v.relisted
	};
	snprintf(x->name, sizeof(x->name), "%s", name);
	snprintf(x->field, sizeof(x->field), "%s%s%.400s", what, *of ? " " : "", of);
}

static int64_t is_present(const struct node_view *n)
{
	return n != NULL && (n->flags & NODE_PRESENT) != 0;
}

static int64_t amount(const int64_t *amounts, uint32_t resource)
{
	return amounts != NULL && resource != ID_NONE ? amounts[resource] : 0;
}

/* The column of that resource; ID_NONE: there is none. */
static uint32_t column(const struct ledger_look *look, const char *name)
{
	for (uint32_t r = 0; r < look->nodes.resources; r++)
		if (strcmp(look->names[r], name) == 0)
			return r;
	return ID_NONE;
}

static void compare_resource(struct findings *f, const char *node, const char *name,
                             const uint32_t r[3], const struct node_view *const n[3])
{
	int64_t used[3], all[3];

	for (int i = 0; i < 3; i++) {
		used[i] = amount(n[i] != NULL ? n[i]->used : NULL, r[i]);
		all[i] = amount(n[i] != NULL ? n[i]->allocatable : NULL, r[i]);
	}
	compare(f, FINDING_NODE, node, "used", name, r[1], (struct value){ used[0], used[1], used[2] });
	compare(f, FINDING_NODE, node, "allocatable", name, r[1],
	        (struct value){ all[0], all[1], all[2] });
}

/* NULL: not found. */
static void compare_node(struct findings *f, const struct ledger_look *const looks[3],
                         const struct node_view *const n[3])
{
	const char *name = n[1] != NULL ? n[1]->name : n[2]->name;

	compare(f, FINDING_NODE, name, "present", "", ID_NONE,
	        (struct value){ is_present(n[0]), is_present(n[1]), is_present(n[2]) });
	/* The resource of that name in the column of each ledger. */
	for (uint32_t r = 0; r < looks[1]->nodes.resources; r++) {
		const char *resource = looks[1]->names[r];
		uint32_t of[3] = { r, r, column(looks[2], resource) };

		if (*resource)
			compare_resource(f, name, resource, of, n);
	}
	for (uint32_t r = 0; r < looks[2]->nodes.resources; r++) {
		const char *resource = looks[2]->names[r];
		uint32_t of[3] = { ID_NONE, ID_NONE, r };

		if (*resource && column(looks[1], resource) == ID_NONE)
			compare_resource(f, name, resource, of, n);
	}
}

static int name_order(const void *name, const void *row_name)
{
	return strcmp(name, row_name);
}

static int node_order(const void *name, const void *node)
{
	return name_order(name, ((const struct node_view *)node)->name);
}

static int gang_order(const void *name, const void *gang)
{
	return name_order(name, ((const struct gang_copy *)gang)->name);
}

static const struct node_view *find_node(const struct ledger_look *look, const char *name)
{
	return look->nodes.n == 0
	           ? NULL
	           : bsearch(name, look->nodes.at, look->nodes.n, sizeof(*look->nodes.at), node_order);
}

static int64_t gang_bound(const struct ledger_look *look, const char *name)
{
	const struct gang_copy *g = look->gangs.n == 0 ? NULL
	                                               : bsearch(name, look->gangs.at, look->gangs.n,
	                                                         sizeof(*look->gangs.at), gang_order);

	return g != NULL ? g->row.bound : 0;
}

static void compare_gang(struct findings *f, const struct ledger_look *const looks[3],
                         const char *name)
{
	compare(f, FINDING_GANG, name, "bound", "", ID_NONE,
	        (struct value){ gang_bound(looks[0], name), gang_bound(looks[1], name),
	                        gang_bound(looks[2], name) });
}

static int finding_order(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int order = (int)x->kind - (int)y->kind;

	if (order == 0)
		order = strcmp(x->name, y->name);
	return order != 0 ? order : strcmp(x->field, y->field);
}

void findings_make(const struct ledger_look *before, const struct ledger_look *after,
                   const struct ledger_look *relisted, struct findings *out)
{
	const struct ledger_look *const looks[3] = { before, after, relisted };

	*out = (struct findings){ 0 };
	for (size_t i = 0; i < after->nodes.n; i++) {
		const char *name = after->nodes.at[i].name;
		const struct node_view *const n[3] = { find_node(before, name), &after->nodes.at[i],
			                                   find_node(relisted, name) };

		compare_node(out, looks, n);
	}
	for (size_t i = 0; i < relisted->nodes.n; i++) {
		const char *name = relisted->nodes.at[i].name;
		const struct node_view *const n[3] = { find_node(before, name), NULL,
			                                   &relisted->nodes.at[i] };

		if (find_node(after, name) == NULL)
			compare_node(out, looks, n);
	}
	for (size_t i = 0; i < after->gangs.n; i++)
		compare_gang(out, looks, after->gangs.at[i].name);
	for (size_t i = 0; i < relisted->gangs.n; i++) {
		const char *name = relisted->gangs.at[i].name;

		if (after->gangs.n == 0 || bsearch(name, after->gangs.at, after->gangs.n,
		                                   sizeof(*after->gangs.at), gang_order) == NULL)
			compare_gang(out, looks, name);
	}
	if (out->n > 1)
		qsort(out->at, out->n, sizeof(*out->at), finding_order);
}

void findings_confirm(struct findings *f, const struct findings *earlier)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *before =
			earlier->n == 0
				? NULL
				: bsearch(&f->at[i], earlier->at, earlier->n, sizeof(*earlier->at), finding_order);

		if (before != NULL && before->live - before->relisted == f->at[i].live - f->at[i].relisted)
			f->at[kept++] = f->at[i];
	}
	f->n = kept;
}

static bool is_pods(const struct finding *x)
{
	return x->kind == FINDING_NODE && strcmp(x->field, "used pods") == 0;
}

/* True if each use of this finding's node is more than what is bound, pods included. */
static bool node_explained(const struct findings *f, size_t at)
{
	const char *name = f->at[at].name;
	bool pods = false;

	while (at > 0 && f->at[at - 1].kind == FINDING_NODE && strcmp(f->at[at - 1].name, name) == 0)
		at--;
	for (; at < f->n && f->at[at].kind == FINDING_NODE && strcmp(f->at[at].name, name) == 0; at++) {
		const struct finding *x = &f->at[at];

		if (x->live < x->relisted || strncmp(x->field, "used ", 5) != 0)
			return false;
		pods = pods || is_pods(x);
	}
	return pods;
}

void findings_set_in_flight(struct findings *f, uint64_t in_flight)
{
	uint64_t on_nodes = 0, in_gangs = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];

		if (x->live <= x->relisted)
			continue;
		if (is_pods(x) && node_explained(f, i))
			on_nodes += (uint64_t)(x->live - x->relisted);
		else if (x->kind == FINDING_GANG)
			in_gangs += (uint64_t)(x->live - x->relisted);
	}
	for (size_t i = 0; i < f->n; i++) {
		struct finding *x = &f->at[i];

		if (x->kind == FINDING_NODE)
			x->in_flight = on_nodes <= in_flight && node_explained(f, i);
		else
			x->in_flight = in_gangs <= in_flight && x->live > x->relisted;
	}
}

void findings_free(struct findings *f)
{
	free(f->at);
	*f = (struct findings){ 0 };
}
