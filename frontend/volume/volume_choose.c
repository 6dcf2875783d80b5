/* SPDX-License-Identifier: Apache-2.0 */
/* Live: what the waiting claims of a pod get on the node that the core chose. */
#include "frontend/volume/volume_wait.h"

#include <errno.h>

static const struct text none = { "", 0 };

bool volumes_pod_waits(const struct volumes *vs, uint32_t pod)
{
	const struct volume_users *pods = &vs->facts.users[0];

	return pod < pods->n && pods->at[pod].what && pods->at[pod].waits;
}

uint32_t volumes_waiting(const struct volumes *vs)
{
	return vs->waiting;
}

/* False if the pod or the node is not known. */
static bool ask(struct volume_join *j, uint32_t node, struct waitings *ws,
                const struct volume_node_labels **where)
{
	const struct volume_pod *who = volume_user(&j->vs->facts, false, j->user);
	const struct claim_object **claims;
	size_t n;

	*where = volume_user(&j->vs->facts, true, node);
	if (!who || !*where)
		return false;
	claims = volume_pod_waiting(j, who, &n);
	wait_find(j, claims, n, ws);
	return true;
}

/* What the pod's earlier claims take of the space. */
static nano_t chosen_before(const struct volume_choice *choices, size_t n, uint64_t space)
{
	nano_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += choices[i].space == space ? choices[i].size : 0;
	return sum;
}

/* The capacity that has room for the claim beside what is being provisioned; false: there is none.
 * kube-scheduler subtracts nothing. */
static bool choose_space(const struct volumes *vs, const struct waiting *w,
                         const struct volume_node_labels *where, struct volume_choice *choices,
                         size_t n)
{
	for (size_t i = 0; i < w->capacities_n; i++) {
		const struct capacity_object *c = w->capacities[i];
		const uint64_t space = volume_space(vs, c);

		if (!wait_serves(vs, w, c, where) ||
		    (c->has_total &&
		     volume_planned(vs, space) + chosen_before(choices, n, space) + w->claim->request >
		         c->total))
			continue;
		choices[n].space = space;
		choices[n].size = w->claim->request;
		return true;
	}
	return false;
}

int volumes_choose(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena,
                   struct volume_choice **out, size_t *n, enum filter_reason *why)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = pod };
	const struct volume_node_labels *where;
	enum wait_answer answer = WAIT_NO_VOLUME;
	struct waitings ws;

	if (ask(&j, node, &ws, &where))
		answer = wait_ask(&ws, where);
	*why = answer == WAIT_NO_SPACE ? FILTER_VOLUME_SPACE : FILTER_VOLUME_BIND;
	if (answer != WAIT_FITS)
		return -ENOENT;
	if (!volume_pod_reached(&j, volume_user(&vs->facts, false, pod), where)) {
		*why = FILTER_VOLUME_NODE;
		return -ENOENT;
	}
	*out = arena_alloc(arena, (ws.n + 1) * sizeof(**out));
	for (size_t i = 0; i < ws.n; i++) {
		const struct waiting *w = &ws.at[i];

		(*out)[i] = (struct volume_choice){ .namespace = w->claim->head.namespace,
			                                .claim = w->claim->head.name,
			                                .claim_uid = w->claim->head.uid,
			                                .volume = w->chosen ? w->chosen->head.name : none };
		if (!w->chosen && !w->claim->has_selected_node && w->needs_space &&
		    !choose_space(vs, w, where, *out, i)) {
			*why = FILTER_VOLUME_SPACE;
			return -ENOENT;
		}
	}
	*n = ws.n;
	return 0;
}

static void avoid_volumes(struct volume_join *j, const struct waiting *w,
                          const struct volume_node_labels *where, const struct volume_choice *it,
                          uint64_t until_ns)
{
	const union volume_any *o;
	uint32_t at = SLOT_NONE;

	while ((o = volume_look_group(j, VOLUME_KIND_VOLUME, w->claim->class, &at)))
		if (volume_is_assumed(j->vs, &o->pv) && !volume_is_assumed_for(j->vs, &o->pv, w->claim) &&
		    (!o->pv.has_affinity || volume_terms_hold(o->pv.terms, o->pv.terms_n, &where->labels)))
			volumes_avoid(j->vs, it, VOLUME_PLACE_VOLUME, o->pv.head.name, until_ns);
}

void volumes_avoid_assumed(struct volumes *vs, uint32_t pod, uint32_t node, struct arena *arena,
                           uint64_t until_ns)
{
	struct volume_join j = { .vs = vs, .arena = arena, .user = pod };
	const struct volume_node_labels *where;
	struct waitings ws;

	if (!ask(&j, node, &ws, &where))
		return;
	wait_ask(&ws, where);
	for (size_t i = 0; i < ws.n; i++) {
		const struct waiting *w = &ws.at[i];
		const struct volume_choice it = { .namespace = w->claim->head.namespace,
			                              .claim = w->claim->head.name,
			                              .claim_uid = w->claim->head.uid };

		if (w->chosen)
			continue;
		avoid_volumes(&j, w, where, &it, until_ns);
		for (size_t k = 0; k < w->capacities_n; k++)
			if (wait_serves(vs, w, w->capacities[k], where) &&
			    volume_planned(vs, volume_space(vs, w->capacities[k])) > 0)
				volumes_avoid(vs, &it, VOLUME_PLACE_SPACE, w->capacities[k]->head.name, until_ns);
	}
}

bool volumes_claim(const struct volumes *vs, struct text namespace, struct text name,
                   struct volume_claim_view *out)
{
	const union volume_any *o = volume_find(vs, VOLUME_KIND_CLAIM, namespace, name);

	if (!o)
		return false;
	*out =
		(struct volume_claim_view){ .uid = o->head.uid,
		                            .version = o->head.version,
		                            .volume = o->claim.volume,
		                            .selected_node = o->claim.selected_node,
		                            .has_selected_node = o->claim.has_selected_node,
		                            .bound = o->claim.volume.bytes > 0 && o->claim.bind_completed };
	return true;
}

bool volumes_volume(const struct volumes *vs, struct text name, struct volume_view *out)
{
	const union volume_any *o = volume_find(vs, VOLUME_KIND_VOLUME, none, name);

	if (!o)
		return false;
	*out = (struct volume_view){ .uid = o->head.uid,
		                         .version = o->head.version,
		                         .has_claim = o->pv.has_claim,
		                         .claim_namespace = o->pv.claim_namespace,
		                         .claim = o->pv.claim_name,
		                         .claim_uid = o->pv.claim_uid };
	return true;
}

bool volumes_reaches(const struct volumes *vs, struct text name, uint32_t node)
{
	const union volume_any *o = volume_find(vs, VOLUME_KIND_VOLUME, none, name);
	const struct volume_node_labels *where = volume_user(&vs->facts, true, node);

	return o && where &&
	       (!o->pv.has_affinity || volume_terms_hold(o->pv.terms, o->pv.terms_n, &where->labels));
}
