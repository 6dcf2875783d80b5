/* SPDX-License-Identifier: Apache-2.0 */
/* Matching of claims that wait for their first consumer on one node, as VolumeBinding's binder does
 * it (volumebinding.volumeBinder.FindPodVolumes):
 *
 *   a claim with a selected node can only be provisioned there
 *   each other claim gets the smallest volume that matches, small claims first
 *   the rest has to be provisioned: the class allows the node, and it has the capacity
 *
 * The first claim that can be neither matched nor provisioned gives the reason of the node. */
#include "frontend/volume/volume_wait.h"

#include <stdlib.h>
#include <string.h>

bool volume_is_bound_to(const struct pv_object *pv, const struct claim_object *claim)
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

static int volume_order(const void *a, const void *b)
{
	const struct pv_object *x = *(const struct pv_object *const *)a,
						   *y = *(const struct pv_object *const *)b;

	if (x->capacity != y->capacity)
		return x->capacity < y->capacity ? -1 : 1;
	return text_order(x->head.name, y->head.name);
}

static void find_volumes(struct volume_join *j, struct waiting *w)
{
	const union volume_any *o;
	uint32_t at = SLOT_NONE;

	while ((o = volume_look_group(j, VOLUME_KIND_VOLUME, w->claim->class, &at))) {
		const struct pv_object *pv = &o->pv;

		if (!could_hold(pv, w->claim))
			continue;
		if (volume_is_bound_to(pv, w->claim) ||
		    (w->held && volume_is_assumed_for(j->vs, pv, w->claim))) {
			if (!w->reserved || text_order(pv->head.name, w->reserved->head.name) < 0)
				w->reserved = pv;
			continue;
		}
		if (is_free_for(pv, w->claim) && !volume_is_assumed(j->vs, pv) &&
		    !(w->held && volume_is_avoided(j->vs, w->claim, VOLUME_PLACE_VOLUME, pv->head.name)))
			*EXTRACT_ADD(j->arena, w->volumes, w->volumes_n, w->volumes_cap) = pv;
	}
	if (w->volumes_n > 1)
		qsort(w->volumes, w->volumes_n, sizeof(const void *), volume_order);
}

/* The only label rule of the volume's node affinity, or NULL. */
static const struct node_rule *only_rule(const struct pv_object *pv)
{
	const struct node_rule *rule;

	if (!pv->has_affinity || pv->terms_n != 1 || pv->terms[0].n != 1)
		return NULL;
	rule = &pv->terms[0].rules[0];
	return rule->op == REQUIRE_IN && !rule->is_field && !rule->is_void ? rule : NULL;
}

/* False if there are too many keys. */
static bool key_add(struct waiting *w, struct text key)
{
	for (size_t i = 0; i < w->keys_n; i++)
		if (text_equal(w->keys[i], key))
			return true;
	if (w->keys_n == WAIT_KEYS_MAX)
		return false;
	w->keys[w->keys_n++] = key;
	return true;
}

static int place_order(const void *a, const void *b)
{
	const struct wait_place *x = a, *y = b;
	int order = text_order(x->key, y->key);

	if (order == 0)
		order = text_order(x->value, y->value);
	return order != 0 ? order : (x->volume > y->volume) - (x->volume < y->volume);
}

static void place_volume(struct arena *arena, struct waiting *w, uint32_t volume)
{
	const struct node_rule *rule = only_rule(w->volumes[volume]);

	if (!rule || !key_add(w, rule->key)) {
		*EXTRACT_ADD(arena, w->loose, w->loose_n, w->loose_cap) = volume;
		return;
	}
	for (size_t i = 0; i < rule->values_n; i++)
		*EXTRACT_ADD(arena, w->places, w->places_n, w->places_cap) =
			(struct wait_place){ rule->key, rule->values[i], volume };
}

static void place_volumes(struct arena *arena, struct waiting *w)
{
	for (size_t i = 0; i < w->volumes_n; i++)
		place_volume(arena, w, (uint32_t)i);
	if (w->places_n > 1)
		qsort(w->places, w->places_n, sizeof(*w->places), place_order);
}

/* kube-scheduler reads storageCapacity of the driver with the provisioner's name, without migration
 * (volumebinding.hasEnoughCapacity). */
static void find_capacities(struct volume_join *j, struct waiting *w)
{
	const union volume_any *o;
	uint32_t at = SLOT_NONE;

	o = volume_look(j, VOLUME_KIND_DRIVER, (struct text){ "", 0 }, w->class->provisioner);
	if (!o || !o->driver.tells_capacity || !w->claim->has_request)
		return;
	w->needs_space = true;
	while ((o = volume_look_group(j, VOLUME_KIND_CAPACITY, w->claim->class, &at)))
		if (o->capacity.has_limit &&
		    quantity_value(o->capacity.limit) >= quantity_value(w->claim->request))
			*EXTRACT_ADD(j->arena, w->capacities, w->capacities_n, w->capacities_cap) =
				&o->capacity;
}

void wait_find(struct volume_join *j, const struct claim_object *const *claims, size_t n,
               struct waitings *ws)
{
	*ws = (struct waitings){ j->vs, arena_alloc(j->arena, n * sizeof(*ws->at)), n,
		                     arena_alloc(j->arena, n * sizeof(*ws->by_size)), 0 };
	for (size_t i = 0; i < n; i++) {
		struct waiting *w = &ws->at[i];
		const union volume_any *class =
			volume_look(j, VOLUME_KIND_CLASS, (struct text){ "", 0 }, claims[i]->class);
		size_t k;

		*w = (struct waiting){ .claim = claims[i],
			                   .class = &class->class,
			                   .held = volume_is_held(j->vs, claims[i]) };
		find_capacities(j, w);
		if (claims[i]->has_selected_node)
			continue;
		find_volumes(j, w);
		place_volumes(j->arena, w);
		for (k = ws->by_size_n++; k > 0; k--) {
			if (ws->at[ws->by_size[k - 1]].claim->request <= claims[i]->request)
				break;
			ws->by_size[k] = ws->by_size[k - 1];
		}
		ws->by_size[k] = i;
	}
}

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

/* The first of the places with that label and value. */
static size_t places_first(const struct waiting *w, struct text key, struct text value)
{
	const struct wait_place wanted = { key, value, 0 };
	size_t low = 0, high = w->places_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (place_order(&w->places[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first volume of the node's label, or `best` if that is before it. */
static uint32_t choose_place(const struct waitings *ws, const struct waiting *w, struct text key,
                             const struct volume_node_labels *node, uint32_t best)
{
	const struct text *value = volume_label(&node->labels, key);

	if (!value)
		return best;
	for (size_t i = places_first(w, key, *value); i < w->places_n && w->places[i].volume < best;
	     i++) {
		if (!text_equal(w->places[i].key, key) || !text_equal(w->places[i].value, *value))
			break;
		if (!is_chosen(ws, w->volumes[w->places[i].volume]))
			return w->places[i].volume;
	}
	return best;
}

static const struct pv_object *choose(const struct waitings *ws, const struct waiting *w,
                                      const struct volume_node_labels *node)
{
	uint32_t best = UINT32_MAX;

	if (w->reserved && !is_chosen(ws, w->reserved))
		return is_reachable(w->reserved, node) ? w->reserved : NULL;
	for (size_t i = 0; i < w->loose_n && best == UINT32_MAX; i++)
		if (!is_chosen(ws, w->volumes[w->loose[i]]) && is_reachable(w->volumes[w->loose[i]], node))
			best = w->loose[i];
	for (size_t k = 0; k < w->keys_n; k++)
		best = choose_place(ws, w, w->keys[k], node, best);
	return best == UINT32_MAX ? NULL : w->volumes[best];
}

bool wait_serves(const struct volumes *vs, const struct waiting *w,
                 const struct capacity_object *capacity, const struct volume_node_labels *node)
{
	return capacity->nodes.is_given && volume_clauses_hold(&capacity->nodes.rules, &node->labels) &&
	       !(w->held && volume_is_avoided(vs, w->claim, VOLUME_PLACE_SPACE, capacity->head.name));
}

static enum wait_answer provision(const struct volumes *vs, const struct waiting *w,
                                  const struct volume_node_labels *node)
{
	const struct class_object *class = w->class;

	if (class->provisioner.bytes == 0 ||
	    text_is(class->provisioner, "kubernetes.io/no-provisioner"))
		return WAIT_NO_VOLUME;
	if (class->topologies_n > 0 &&
	    !volume_terms_hold(class->topologies, class->topologies_n, &node->labels))
		return WAIT_NO_VOLUME;
	if (!w->needs_space)
		return WAIT_FITS;
	for (size_t i = 0; i < w->capacities_n; i++)
		if (wait_serves(vs, w, w->capacities[i], node))
			return WAIT_FITS;
	return WAIT_NO_SPACE;
}

enum wait_answer wait_ask(struct waitings *ws, const struct volume_node_labels *node)
{
	enum wait_answer answer;

	for (size_t i = 0; i < ws->n; i++) {
		ws->at[i].chosen = NULL;
		if (ws->at[i].claim->has_selected_node &&
		    !text_equal(ws->at[i].claim->selected_node, node->name))
			return WAIT_NO_VOLUME;
		if (ws->at[i].held &&
		    volume_is_avoided(ws->vs, ws->at[i].claim, VOLUME_PLACE_NODE, node->name))
			return WAIT_NO_VOLUME;
	}
	for (size_t i = 0; i < ws->by_size_n; i++)
		ws->at[ws->by_size[i]].chosen = choose(ws, &ws->at[ws->by_size[i]], node);
	/* First those with a selected node, then the others by size. */
	for (size_t i = 0; i < ws->n; i++) {
		answer =
			ws->at[i].claim->has_selected_node ? provision(ws->vs, &ws->at[i], node) : WAIT_FITS;
		if (answer != WAIT_FITS)
			return answer;
	}
	for (size_t i = 0; i < ws->by_size_n; i++) {
		const struct waiting *w = &ws->at[ws->by_size[i]];

		answer = w->chosen ? WAIT_FITS : provision(ws->vs, w, node);
		if (answer != WAIT_FITS)
			return answer;
	}
	return WAIT_FITS;
}
