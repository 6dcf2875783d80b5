/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/things.h"
#include "core/filter/judge_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------ */

static struct judge_scratch *scratch_new(size_t nodes)
{
	struct judge_scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->sums = calloc(nodes, sizeof(*s->sums));
	s->counted = calloc(nodes, sizeof(*s->counted));
	s->facts = calloc(nodes, sizeof(*s->facts));
	s->marks = calloc(nodes, sizeof(*s->marks));
	s->raw = calloc(nodes, sizeof(*s->raw));
	s->real = calloc(nodes, sizeof(*s->real));
	return s;
}

static bool scratch_whole(const struct judge_scratch *s)
{
	return s && s->sums && s->counted && s->facts && s->marks && s->raw && s->real;
}

static void scratch_free(struct judge_scratch *s)
{
	if (!s)
		return;
	free(s->sums);
	free(s->counted);
	free(s->facts);
	free(s->marks);
	free(s->raw);
	free(s->real);
	free(s);
}

int judgement_init(struct judgement *out, const struct limits *limits, bool parts)
{
	const size_t nodes = limits->nodes;

	*out = (struct judgement){ .limit = limits->nodes };
	out->whys = calloc(nodes, sizeof(*out->whys));
	out->taint = calloc(nodes, sizeof(*out->taint));
	out->short_of = calloc(nodes, sizeof(*out->short_of));
	out->scores = calloc(nodes, sizeof(*out->scores));
	out->parts = parts ? calloc(nodes * SCORE_PARTS, sizeof(*out->parts)) : NULL;
	out->scratch = scratch_new(nodes);
	if (out->whys && out->taint && out->short_of && out->scores && (out->parts || !parts) &&
	    scratch_whole(out->scratch))
		return 0;
	judgement_free(out);
	return -ENOMEM;
}

void judgement_free(struct judgement *out)
{
	free(out->whys);
	free(out->taint);
	free(out->short_of);
	free(out->scores);
	free(out->parts);
	scratch_free(out->scratch);
	*out = (struct judgement){ 0 };
}

/* ---- filters over one node ------------------------------------------------------------ */

static uint32_t judge_room(const struct judging *j, node_id id)
{
	uint64_t short_of = 0;

	for (uint32_t i = 0; i < j->shape->requests_n; i++) {
		const struct request *q = &j->shape->requests[i];

		if (!amount_fits(nodes_room(j->nodes, id, q->resource), q->value))
			short_of |= UINT64_C(1) << q->resource;
	}
	j->out->short_of[id] = short_of;
	return short_of ? WHY_BIT(NODE_WHY_INSUFFICIENT) : 0;
}

/* Disks, claims and volumes that are in use, then what volumes want of the node: VolumeBinding
 * alone may give several reasons. */
static uint32_t judge_volumes(const struct judging *j, node_id id)
{
	static const uint32_t binding = WHY_BIT(NODE_WHY_VOLUME_NODE) | WHY_BIT(NODE_WHY_VOLUME_BIND) |
	                                WHY_BIT(NODE_WHY_VOLUME_SPACE) | WHY_BIT(NODE_WHY_VOLUME_GONE);
	const struct things *things = j->cs->things;
	uint32_t broken;

	if (things_disk_conflict(things, id, j->shape))
		return WHY_BIT(NODE_WHY_DISK);
	if (j->claim_in_use)
		return WHY_BIT(NODE_WHY_CLAIM_IN_USE);
	if (things_attach_exceeded(things, id, j->shape))
		return WHY_BIT(NODE_WHY_ATTACH);
	broken = rule_volumes(j->shape, &j->nodes->slots[id]);
	return broken & binding ? broken & binding : broken;
}

static uint32_t judge_node(const struct judging *j, node_id id)
{
	const struct node *n = &j->nodes->slots[id];
	const struct taint *taint = rule_taint(j->shape, n);
	bool affinity = rule_affinity(j->shape, n);
	uint32_t whys;

	/* Topology spread wants to know of nodes that are out already. */
	j->scratch->facts[id] = (uint8_t)((taint ? 0 : FACT_TAINTS) | (affinity ? FACT_AFFINITY : 0));
	if (j->shape->named == NODE_WHY_NOT_NAMED && !rule_named(j->shape, n))
		return WHY_BIT(NODE_WHY_NOT_NAMED);
	if ((n->flags & NODE_CORDONED) && !(j->shape->body->flags & SHAPE_TOLERATES_CORDON))
		return WHY_BIT(NODE_WHY_CORDONED);
	if (taint) {
		j->out->taint[id] = taint->name;
		return WHY_BIT(NODE_WHY_TAINT);
	}
	if (!affinity)
		return WHY_BIT(NODE_WHY_AFFINITY);
	if (things_port_conflict(j->cs->things, id, j->shape))
		return WHY_BIT(NODE_WHY_PORTS);
	whys = judge_room(j, id);
	return whys ? whys : judge_volumes(j, id);
}

static void judge_features(const struct judging *j)
{
	for (node_id id = 0; id < j->nodes->used; id++)
		if (judging_open(j, id) && !rule_features(j->shape, &j->nodes->slots[id]))
			j->out->whys[id] = WHY_BIT(NODE_WHY_FEATURES);
}

/* ---- the whole ------------------------------------------------------------------------ */

static void judge_filters(const struct judging *j)
{
	struct judgement *out = j->out;

	/* One that isn't there is not open either. */
	for (node_id id = 0; id < j->nodes->used; id++)
		if (!node_present(&j->nodes->slots[id]))
			out->whys[id] = WHY_BIT(NODE_FITS);
		else
			out->whys[id] = out->whole ? WHY_BIT(out->whole) : judge_node(j, id);
	if (out->whole)
		return;
	judge_spread(j);
	judge_pods(j);
	judge_features(j);
	judge_policy(j);
	for (node_id id = 0; id < j->nodes->used; id++)
		out->feasible += judging_open(j, id);
}

void judge(const struct census *cs, kind_id kind, enum score_policy score, struct judgement *out)
{
	const shape_id shape = cs->kinds.slots[kind].shape;
	const struct judging j = { .cs = cs,
		                       .nodes = cs->nodes,
		                       .shape = &cs->shapes->slots[shape],
		                       .links = cs->links[shape],
		                       .kind = kind,
		                       .claim_in_use =
		                           things_claim_conflict(cs->things, &cs->shapes->slots[shape]),
		                       .out = out,
		                       .scratch = out->scratch };

	out->feasible = 0;
	out->skipped = 0;
	out->whole = j.shape->named == NODE_WHY_CONFLICT ? NODE_WHY_CONFLICT : NODE_FITS;
	judge_filters(&j);
	if (out->feasible > 0)
		judge_scores(&j, score);
}

/* ---- counts --------------------------------------------------------------------------- */

static void count_node(const struct judgement *j, node_id id, uint32_t whys[NODE_WHY_KINDS],
                       uint32_t short_of[RESOURCES_MAX])
{
	for (uint32_t bits = j->whys[id]; bits; bits &= bits - 1)
		whys[__builtin_ctz(bits)]++;
	if (!(j->whys[id] & WHY_BIT(NODE_WHY_INSUFFICIENT)))
		return;
	for (uint64_t bits = j->short_of[id]; bits; bits &= bits - 1)
		short_of[__builtin_ctzll(bits)]++;
}

uint32_t judgement_counts(const struct judgement *j, const struct nodes *ns, struct why_count *out)
{
	uint32_t whys[NODE_WHY_KINDS] = { 0 }, short_of[RESOURCES_MAX] = { 0 }, n = 0;

	if (j->whole != NODE_FITS) {
		out[0] = (struct why_count){ .why = j->whole };
		return 1;
	}
	for (node_id id = 0; id < ns->used; id++)
		if (node_present(&ns->slots[id]))
			count_node(j, id, whys, short_of);
	for (uint32_t why = 0; why < NODE_WHY_KINDS; why++) {
		if (why != NODE_WHY_INSUFFICIENT && whys[why] > 0)
			out[n++] = (struct why_count){ .why = why, .nodes = whys[why] };
		for (uint32_t r = 0; why == NODE_WHY_INSUFFICIENT && r < RESOURCES_MAX; r++)
			if (short_of[r] > 0)
				out[n++] = (struct why_count){ .why = why, .arg = r, .nodes = short_of[r] };
	}
	return n;
}
