/* Claims that wait for their first consumer, node by node, as VolumeBinding's binder
 * does it:
 *
 *   a claim with a selected node goes there or nowhere
 *   the others take the smallest volume that will do, small claims first
 *   what is left has to be provisioned: the class allows the node, and there is space
 *
 * The first claim that can be neither matched nor provisioned is the node's reason.
 * Labels alone can't say that when claims compete for volumes, so the rules name the
 * nodes. */
#include "frontend/volume_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A claim and what could be had for it anywhere. */
struct waiting {
	const struct claim_object *claim;
	const struct class_object *class;
	const struct pv_object *reserved; /* that is bound to it already: then this or none */
	const struct pv_object **volumes; /* the smallest first, then by name */
	size_t volumes_n, volumes_room;
	const struct capacity_object **capacities; /* that are large enough */
	size_t capacities_n, capacities_room;
	bool needs_space; /* its driver tells capacities */
	const struct pv_object *chosen; /* on the node at hand */
};

struct waitings {
	struct waiting *at;
	size_t n;
	size_t *by_size; /* indexes of those without a selected node */
	size_t by_size_n;
};

enum wait_answer { WAIT_FITS, WAIT_NO_VOLUME, WAIT_NO_SPACE };

/* ---- what there is for a claim ---------------------------------------------------------- */

static bool is_bound_to(const struct pv_object *pv, const struct claim_object *claim)
{
	return pv->has_claim && text_equal(pv->claim_name, claim->head.name) &&
	       text_equal(pv->claim_namespace, claim->head.namespace) &&
	       (pv->claim_uid.bytes == 0 || text_equal(pv->claim_uid, claim->head.uid));
}

static bool could_hold(const struct pv_object *pv, const struct claim_object *claim)
{
	return pv->capacity >= claim->request && pv->is_block == claim->is_block && !pv->deleting &&
	       text_equal(pv->attributes_class, claim->attributes_class);
}

static bool is_free_for(const struct pv_object *pv, const struct claim_object *claim)
{
	return !pv->has_claim && pv->is_available && (claim->modes & ~pv->modes) == 0 &&
	       (!claim->selector.is_given || volume_clauses_hold(&claim->selector.rules, &pv->labels));
}

static int name_order(struct text a, struct text b)
{
	size_t n = a.bytes < b.bytes ? a.bytes : b.bytes;
	int order = n > 0 ? memcmp(a.at, b.at, n) : 0;

	return order != 0 ? order : (a.bytes > b.bytes) - (a.bytes < b.bytes);
}

static int volume_order(const void *a, const void *b)
{
	const struct pv_object *x = *(const struct pv_object *const *)a, *y = *(const struct pv_object *const *)b;

	if (x->capacity != y->capacity)
		return x->capacity < y->capacity ? -1 : 1;
	return name_order(x->head.name, y->head.name);
}

static void find_volumes(struct volume_join *j, struct waiting *w)
{
	const union volume_any *o;
	uint32_t at = SLOT_NONE;

	while ((o = volume_look_group(j, VOLUME_KIND_VOLUME, w->claim->class, &at))) {
		const struct pv_object **grown, *pv = &o->pv;

		if (!could_hold(pv, w->claim))
			continue;
		if (is_bound_to(pv, w->claim)) {
			if (!w->reserved || name_order(pv->head.name, w->reserved->head.name) < 0)
				w->reserved = pv;
			continue;
		}
		if (!is_free_for(pv, w->claim))
			continue;
		grown = volume_more(j, w->volumes, w->volumes_n, &w->volumes_room, sizeof(const void *));
		if (!grown)
			return;
		w->volumes = grown;
		grown[w->volumes_n++] = pv;
	}
	if (w->volumes_n > 1)
		qsort(w->volumes, w->volumes_n, sizeof(const void *), volume_order);
}

/* kube-scheduler reads storageCapacity of a driver of that very name, migrated or not. */
static void find_capacities(struct volume_join *j, struct waiting *w)
{
	const union volume_any *o;
	uint32_t at = SLOT_NONE;

	o = volume_look(j, VOLUME_KIND_DRIVER, (struct text){ "", 0 }, w->class->provisioner);
	if (!o || !o->driver.tells_capacity || !w->claim->has_request)
		return;
	w->needs_space = true;
	while ((o = volume_look_group(j, VOLUME_KIND_CAPACITY, w->claim->class, &at))) {
		const struct capacity_object **grown;

		if (!o->capacity.has_limit ||
		    quantity_value(o->capacity.limit) < quantity_value(w->claim->request))
			continue;
		grown = volume_more(j, w->capacities, w->capacities_n, &w->capacities_room, sizeof(const void *));
		if (!grown)
			return;
		w->capacities = grown;
		grown[w->capacities_n++] = &o->capacity;
	}
}

/* -ENOMEM. */
static int find_all(struct volume_join *j, const struct claim_object *const *claims, size_t n, struct waitings *ws)
{
	*ws = (struct waitings){ arena_alloc(j->arena, n * sizeof(*ws->at)), n,
				 arena_alloc(j->arena, n * sizeof(*ws->by_size)), 0 };
	if (!ws->at || !ws->by_size)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct waiting *w = &ws->at[i];
		const union volume_any *class = volume_look(j, VOLUME_KIND_CLASS, (struct text){ "", 0 },
							    claims[i]->class);
		size_t k;

		*w = (struct waiting){ .claim = claims[i], .class = &class->class };
		find_capacities(j, w);
		if (claims[i]->has_selected_node)
			continue;
		find_volumes(j, w);
		for (k = ws->by_size_n++; k > 0; k--) {
			if (ws->at[ws->by_size[k - 1]].claim->request <= claims[i]->request)
				break;
			ws->by_size[k] = ws->by_size[k - 1];
		}
		ws->by_size[k] = i;
	}
	return j->rc;
}

/* ---- one node ------------------------------------------------------------------------------ */

static bool is_chosen(const struct waitings *ws, const struct pv_object *pv)
{
	for (size_t i = 0; i < ws->n; i++)
		if (ws->at[i].chosen == pv)
			return true;
	return false;
}

static bool is_reachable(const struct pv_object *pv, const struct volume_node_labels *node)
{
	return !pv->has_affinity || volume_terms_hold(pv->terms, pv->terms_n, &node->labels);
}

static const struct pv_object *choose(const struct waitings *ws, const struct waiting *w,
				      const struct volume_node_labels *node)
{
	if (w->reserved && !is_chosen(ws, w->reserved))
		return is_reachable(w->reserved, node) ? w->reserved : NULL;
	for (size_t i = 0; i < w->volumes_n; i++)
		if (!is_chosen(ws, w->volumes[i]) && is_reachable(w->volumes[i], node))
			return w->volumes[i];
	return NULL;
}

static enum wait_answer provision(const struct waiting *w, const struct volume_node_labels *node)
{
	const struct class_object *class = w->class;

	if (class->provisioner.bytes == 0 || text_is(class->provisioner, "kubernetes.io/no-provisioner"))
		return WAIT_NO_VOLUME;
	if (class->topologies_n > 0 && !volume_terms_hold(class->topologies, class->topologies_n, &node->labels))
		return WAIT_NO_VOLUME;
	if (!w->needs_space)
		return WAIT_FITS;
	for (size_t i = 0; i < w->capacities_n; i++)
		if (w->capacities[i]->nodes.is_given &&
		    volume_clauses_hold(&w->capacities[i]->nodes.rules, &node->labels))
			return WAIT_FITS;
	return WAIT_NO_SPACE;
}

/* Leaves in `chosen` what each claim would take; NULL: it would be provisioned. */
static enum wait_answer ask(struct waitings *ws, const struct volume_node_labels *node)
{
	enum wait_answer answer;

	for (size_t i = 0; i < ws->n; i++) {
		ws->at[i].chosen = NULL;
		if (ws->at[i].claim->has_selected_node && !text_equal(ws->at[i].claim->selected_node, node->name))
			return WAIT_NO_VOLUME;
	}
	for (size_t i = 0; i < ws->by_size_n; i++)
		ws->at[ws->by_size[i]].chosen = choose(ws, &ws->at[ws->by_size[i]], node);
	/* First those with a selected node, then the others by size. */
	for (size_t i = 0; i < ws->n; i++) {
		answer = ws->at[i].claim->has_selected_node ? provision(&ws->at[i], node) : WAIT_FITS;
		if (answer != WAIT_FITS)
			return answer;
	}
	for (size_t i = 0; i < ws->by_size_n; i++) {
		const struct waiting *w = &ws->at[ws->by_size[i]];

		answer = w->chosen ? WAIT_FITS : provision(w, node);
		if (answer != WAIT_FITS)
			return answer;
	}
	return WAIT_FITS;
}

/* ---- all nodes ------------------------------------------------------------------------------ */

static void node_rule(struct volume_join *j, struct pod_storage *out, enum node_why why, enum require_op op,
		      struct texts names)
{
	struct volume_rule_object *rule = volume_rule_add(j, out, why);
	struct node_term *term;

	if (op == REQUIRE_IN && names.n == 0)
		return; /* none will do */
	term = volume_term_add(j, rule);
	volume_clause_add(j, term, text_of("metadata.name"), op, names.at, names.n);
	if (term && term->n > 0)
		term->rules[0].is_field = true;
}

/* Say it with the shorter list. */
static void answer_rule(struct volume_join *j, struct pod_storage *out, enum node_why why,
			const struct volume_users *nodes, const uint8_t *answers, uint8_t bad)
{
	struct texts good_ones = { NULL, 0, 0 }, bad_ones = { NULL, 0, 0 }, *list;
	struct text *grown;

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct volume_node_labels *node = nodes->at[i].what;

		if (!node)
			continue;
		list = answers[i] == bad ? &bad_ones : &good_ones;
		grown = volume_more(j, list->at, list->n, &list->room, sizeof(*grown));
		if (!grown)
			return;
		list->at = grown;
		grown[list->n++] = node->name;
	}
	if (bad_ones.n == 0)
		return;
	if (bad_ones.n <= good_ones.n)
		node_rule(j, out, why, REQUIRE_NOT_IN, bad_ones);
	else
		node_rule(j, out, why, REQUIRE_IN, good_ones);
}

void volume_wait_rules(struct volume_join *j, const struct claim_object *const *claims, size_t n,
		       struct pod_storage *out)
{
	const struct volume_users *nodes = &j->vs->facts.users[1];
	uint8_t *answers = arena_alloc(j->arena, nodes->n + (size_t)1);
	struct waitings ws;

	if (!answers || find_all(j, claims, n, &ws) < 0) {
		j->rc = -ENOMEM;
		return;
	}
	volume_look_nodes(j);
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->at[i].what)
			answers[i] = (uint8_t)ask(&ws, nodes->at[i].what);
	answer_rule(j, out, NODE_WHY_VOLUME_BIND, nodes, answers, WAIT_NO_VOLUME);
	answer_rule(j, out, NODE_WHY_VOLUME_SPACE, nodes, answers, WAIT_NO_SPACE);
}

/* ---- the pod goes to a node ------------------------------------------------------------------- */

/* The volume goes to the claim, as if it were bound already. */
static int assume_volume(struct volume_join *j, const struct waiting *w, union volume_any *claim)
{
	union volume_any pv = { .pv = *w->chosen };
	const char *name = arena_copy(j->arena, pv.head.name);

	if (!name)
		return -ENOMEM;
	pv.pv.has_claim = true;
	pv.pv.is_available = false;
	pv.pv.claim_namespace = w->claim->head.namespace;
	pv.pv.claim_name = w->claim->head.name;
	pv.pv.claim_uid = w->claim->head.uid;
	claim->claim.volume = text_of(name);
	claim->claim.bind_completed = true;
	return volume_change(j->vs, VOLUME_KIND_VOLUME, &pv);
}

/* Each change frees the object that it replaces: w->chosen, then w->claim. */
static int assume_one(struct volume_join *j, const struct waiting *w, struct text node)
{
	union volume_any claim = { .claim = *w->claim };
	int rc = 0;

	if (w->chosen) {
		rc = assume_volume(j, w, &claim);
	} else {
		claim.claim.has_selected_node = true;
		claim.claim.selected_node = node;
	}
	return rc < 0 ? rc : volume_change(j->vs, VOLUME_KIND_CLAIM, &claim);
}

int volume_wait_assume(struct volume_join *j, const struct claim_object *const *claims, size_t n, uint32_t node)
{
	const struct volume_node_labels *where = volume_user(&j->vs->facts, true, node);
	struct waitings ws;
	int rc = 0;

	if (!where)
		return 0;
	if (find_all(j, claims, n, &ws) < 0)
		return -ENOMEM;
	if (ask(&ws, where) != WAIT_FITS)
		return 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = assume_one(j, &ws.at[i], where->name);
	return rc;
}
