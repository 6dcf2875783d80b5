/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plan/reason.h"

#include "core/cluster/rule_node.h"
#include "core/filter/evaluate.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	uint32_t whys[FILTER_REASONS];
	uint32_t short_of[RESOURCES_MAX];
	uint32_t absent; /* nodes short of resources that no node has */
	uint32_t names;
	uint32_t tainted[]; /* by name */
};

struct tally *tally_new(const struct limits *limits)
{
	struct tally *t = must_alloc(sizeof(*t) + limits->names * sizeof(t->tainted[0]));

	t->names = limits->names;
	return t;
}

void tally_free(struct tally *tally)
{
	free(tally);
}

void reason_begin(struct reason *r, const struct gang *g, const struct nodes *ns)
{
	memset(r, 0, offsetof(struct reason, promised));
	r->promised.at_ns = 0;
	r->quorum = g->declared;
	r->members = gang_members(g) + gang_ended_count(g);
	r->gated = g->counts[MEMBER_GATED];
	r->bound = gang_have(g);
	r->need = gang_quorum_met(g) ? gang_pending(g) > 0 : gang_missing(g);
	r->nodes = ns->present;
	r->unpromised = g->unpromised;
}

void reason_role(struct reason *r, const struct gang *g)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < gang_roles_n(g); i++) {
		const struct gang_role *role = &g->parts->roles[i];
		uint32_t members = counts_pending(g->parts->counts[i]) + counts_have(g->parts->counts[i]);

		if (members >= role->quorum || role->quorum - members <= most)
			continue;
		most = role->quorum - members;
		r->role = role->role;
		r->role_quorum = role->quorum;
		r->role_members = members;
	}
}

static void tally_rules(struct tally *t, enum filter_reason why, uint32_t arg)
{
	if (why == FILTER_TAINT)
		t->tainted[arg]++;
	else if (why != FILTER_INSUFFICIENT)
		t->whys[why]++;
}

/* noderesources.Fit: the node is short of the resources that run out first (`lacks`: no other
 * filter rejects it). */
static void tally_capacity(struct tally *t, const struct nodes *ns, node_id id,
                           const struct shape *s, uint64_t members[RESOURCES_MAX], bool lacks)
{
	uint32_t counts[RESOURCES_MAX], least = s->absent_n > 0 ? 0 : UINT32_MAX;

	for (uint32_t i = 0; i < s->sums_n; i++) {
		const struct request *q = &s->requests[i];

		counts[i] = UINT32_MAX;
		if (nodes_leave_to_devices(ns, id, q))
			continue;
		counts[i] =
			amount_count(nodes_free_amount(ns, id, q->resource), q->value, q->inverse, UINT32_MAX);
		members[q->resource] += counts[i];
		least = counts[i] < least ? counts[i] : least;
	}
	t->absent += lacks && s->absent_n > 0;
	for (uint32_t i = 0; i < s->sums_n; i++)
		if (lacks && counts[i] == least)
			t->short_of[s->requests[i].resource]++;
}

static int most_nodes_first(const void *a, const void *b)
{
	const struct filter_count *left = a, *right = b;

	if (left->nodes != right->nodes)
		return left->nodes > right->nodes ? -1 : 1;
	if (left->why != right->why)
		return left->why < right->why ? -1 : 1;
	return left->arg < right->arg ? -1 : left->arg > right->arg;
}

/* Adds to the last taint that is counted; kube-scheduler's text is the same for all taints. */
static bool count_other_taint(struct facts *f, uint32_t nodes)
{
	for (uint32_t i = f->counts_n; i-- > 0;) {
		if (f->counts[i].why == FILTER_TAINT) {
			f->counts[i].nodes += nodes;
			return true;
		}
	}
	return false;
}

/* Keeps the most frequent reasons; the last one counts all that are rarer.  Taints are added last
 * and displace no other reason. */
static void count_add(struct facts *f, enum filter_reason why, uint32_t arg, uint32_t nodes)
{
	struct filter_count one = { .why = why, .arg = arg, .nodes = nodes };
	struct filter_count *last = &f->counts[FILTER_COUNTS_MAX - 1];

	if (nodes == 0)
		return;
	if (f->counts_n < FILTER_COUNTS_MAX) {
		f->counts[f->counts_n++] = one;
		return;
	}
	if (why == FILTER_TAINT && count_other_taint(f, nodes))
		return;
	qsort(f->counts, FILTER_COUNTS_MAX - 1, sizeof(one), most_nodes_first);
	if (most_nodes_first(&one, last - 1) < 0) {
		struct filter_count rarer = last[-1];

		last[-1] = one;
		one = rarer;
	}
	one.nodes += last->nodes;
	if (most_nodes_first(last, &one) < 0) {
		one.why = last->why;
		one.arg = last->arg;
	}
	*last = one;
}

/* On a feasible node devices run out before resources. */
static bool devices_lack(const struct views *vs, class_id class, node_id id)
{
	const struct shape *s = class_shape(vs->pod_counts, class);

	return s->body->devices > 0 && vs->pod_counts->inventory &&
	       pod_counts_served(vs->pod_counts, id, s) == 0 &&
	       pod_counts_devices(vs->pod_counts, id, s, vs->most) <= views_count_at(vs, id, class);
}

/* Feasible nodes would take more pods than there are devices for, since several nodes list some. */
static bool commons_lack(const struct views *vs, class_id class)
{
	const struct shape *s = class_shape(vs->pod_counts, class);
	struct common_bound bound = { 0 };
	uint64_t sum = 0;

	if (!pod_counts_commons(vs->pod_counts, s))
		return false;
	for (node_id id = 0; id < vs->nodes->used; id++) {
		const uint32_t count = node_present(&vs->nodes->slots[id]) && vs->evaluation.whys[id] == 0
		                           ? views_count_at(vs, id, class)
		                           : 0;

		sum += count;
		if (count > 0)
			inventory_bound(vs->pod_counts->inventory, id, s->body->devices - 1, count, &bound);
	}
	return common_bound_pods(&bound) < sum;
}

/* By the evaluation of each node. */
static void tally_evaluated(struct tally *t, const struct views *vs, class_id class,
                            uint64_t members[RESOURCES_MAX])
{
	const struct evaluation *j = &vs->evaluation;
	const struct nodes *ns = vs->nodes;
	const struct shape *s = class_shape(vs->pod_counts, class);
	const bool common = commons_lack(vs, class);

	for (node_id id = 0; id < ns->used; id++) {
		uint32_t whys = j->whys[id];

		if (!node_present(&ns->slots[id]))
			continue;
		if (whys == 0) {
			const bool devices = common || devices_lack(vs, class, id);

			t->whys[FILTER_DEVICES] += devices;
			tally_capacity(t, ns, id, s, members, !devices);
			continue;
		}
		if (shape_allows(s, id))
			tally_capacity(t, ns, id, s, members, false);
		for (uint32_t bits = whys; bits; bits &= bits - 1)
			tally_rules(t, (enum filter_reason)__builtin_ctz(bits),
			            whys & FILTER_BIT(FILTER_TAINT) ? j->taint[id] : 0);
		t->absent += whys & FILTER_BIT(FILTER_INSUFFICIENT) && s->absent_n > 0;
		for (uint64_t bits = whys & FILTER_BIT(FILTER_INSUFFICIENT) ? j->short_of[id] : 0; bits;
		     bits &= bits - 1)
			t->short_of[__builtin_ctzll(bits)]++;
	}
}

static void tally_barred(struct tally *t, const struct nodes *ns, const struct shape *s, node_id id)
{
	uint32_t arg;
	enum filter_reason why = shape_filter(s, &ns->slots[id], &arg);

	tally_rules(t, why, arg);
}

static void tally_allowed(struct tally *t, const struct views *vs, const struct shape *s,
                          node_id id, uint64_t members[RESOURCES_MAX])
{
	if (s->body->ports_n > 0 && usage_port_conflict(vs->pod_counts->usage, id, s))
		tally_rules(t, FILTER_PORTS, 0);
	else
		tally_capacity(t, vs->nodes, id, s, members, true);
}

/* tainttoleration.Filter for sets of nodes with the same taints: finds the sets that the shape does
 * not tolerate; how many. */
static uint32_t tally_tainted(struct tally *t, const struct shapes *ss, const struct shape *s,
                              const uint64_t *counted[TAINT_SETS_MOST])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++) {
		const struct taint_set *set = &ss->tainted.at[i];
		const struct taint *taint =
			set->count > 0 ? taints_bar(s, set->taints, set->taints_n) : NULL;

		if (!taint)
			continue;
		t->tainted[taint->name] += set->count;
		counted[n++] = set->nodes;
	}
	return n;
}

/* The same for a class without rules between pods and without volumes: all its filters of one node
 * come before noderesources.Fit, and an untainted node can fail only nodeaffinity. */
static void tally_plain(struct tally *t, const struct views *vs, const struct shape *s,
                        uint64_t members[RESOURCES_MAX])
{
	const struct shapes *ss = vs->pod_counts->shapes;
	const uint64_t *counted[TAINT_SETS_MOST] = { NULL };
	const uint32_t counted_n = tally_tainted(t, ss, s, counted);

	for (uint32_t word = 0; word < ss->words; word++) {
		const uint64_t there = ss->open[word] | ss->barred[word];
		uint64_t barred = ss->barred[word] & ~s->allowed[word];

		for (uint32_t i = 0; i < counted_n; i++)
			barred &= ~counted[i][word];
		t->whys[FILTER_AFFINITY] +=
			(uint32_t)__builtin_popcountll(ss->open[word] & ~s->allowed[word]);
		for (uint64_t bits = barred; bits; bits &= bits - 1)
			tally_barred(t, vs->nodes, s, word * 64 + (uint32_t)__builtin_ctzll(bits));
		for (uint64_t bits = there & s->allowed[word]; bits; bits &= bits - 1)
			tally_allowed(t, vs, s, word * 64 + (uint32_t)__builtin_ctzll(bits), members);
	}
}

static bool is_simple(const struct view *v, const struct shape *s)
{
	return v->mode == VIEW_PLAIN && s->named == FILTER_PASSED && s->body->volume_rules_n == 0 &&
	       s->body->devices == 0 && !(s->body->flags & SHAPE_NODE_RULES);
}

static void facts_work_out(struct facts *f, struct tally *t, struct views *vs, const struct view *v)
{
	const struct nodes *ns = vs->nodes;
	const struct shape *s = class_shape(vs->pod_counts, v->class);

	memset(f, 0, sizeof(*f));
	memset(t, 0, sizeof(*t) - sizeof(t->names));
	memset(t->tainted, 0, t->names * sizeof(t->tainted[0]));
	if (is_simple(v, s)) {
		tally_plain(t, vs, s, f->members);
	} else {
		evaluate(vs->pod_counts, v->class, vs->score, &vs->evaluation);
		tally_evaluated(t, vs, v->class, f->members);
	}
	for (uint32_t why = 0; why < FILTER_REASONS; why++)
		count_add(f, (enum filter_reason)why, 0, t->whys[why]);
	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		count_add(f, FILTER_INSUFFICIENT, r, t->short_of[r]);
	for (uint32_t i = 0; i < s->absent_n; i++)
		count_add(f, FILTER_INSUFFICIENT, s->absent[i].resource, t->absent);
	for (uint32_t name = 0; name < t->names; name++)
		count_add(f, FILTER_TAINT, name, t->tainted[name]);
	qsort(f->counts, f->counts_n, sizeof(f->counts[0]), most_nodes_first);
	if (t->whys[FILTER_CONFLICT] > 0)
		f->counts[0].nodes = 0; /* of the pod as a whole, so without a number */
	f->log_n = ns->log_n;
	f->rules_version = vs->pod_counts->rules_version;
	budget_spend(vs->budget, 3 * (uint64_t)ns->count + t->names / 8);
}

void reason_short(struct reason *r, uint32_t resource, int64_t need, int64_t have)
{
	if (r->shortfalls_n == SHORTFALLS_MAX)
		return;
	r->shortfalls[r->shortfalls_n++] =
		(struct shortfall){ .resource = resource, .need = need, .have = have };
}

/* No member has what no node has. */
static void absent_short(struct reason *r, const struct shape *s, uint32_t wanted)
{
	for (uint32_t i = 0; i < s->absent_n; i++)
		reason_short(r, s->absent[i].resource, amount_times(s->absent[i].value, wanted), 0);
}

static void counts_set(struct reason *r, const struct filter_count *counts, uint32_t n)
{
	r->counts_n = n < FILTER_COUNTS_MAX ? n : FILTER_COUNTS_MAX;
	memcpy(r->counts, counts, r->counts_n * sizeof(counts[0]));
}

static void lacks_set(struct reason *r, const struct plan *plan)
{
	r->shortfalls_n = plan->lacks_n;
	memcpy(r->shortfalls, plan->lacks, plan->lacks_n * sizeof(plan->lacks[0]));
}

void reason_capacity(struct reason *r, struct tally *tally, struct views *vs,
                     const struct plan *plan, uint32_t need, uint32_t fit)
{
	const struct shape *s = class_shape(vs->pod_counts, plan->failed);
	struct view *v = views_get(vs, &plan->scope, plan->failed);
	struct facts *f = &v->facts;
	uint32_t wanted = plan->failed_need;

	if (f->log_n != vs->nodes->log_n || f->rules_version != vs->pod_counts->rules_version)
		facts_work_out(f, tally, vs, v);
	r->why = WAIT_ROOM;
	r->need = need;
	r->fit = fit;
	if (plan->counts_n > 0)
		counts_set(r, plan->counts, plan->counts_n);
	else
		counts_set(r, f->counts, f->counts_n);
	if (plan->lacks_known)
		lacks_set(r, plan);
	for (uint32_t i = 0; !plan->lacks_known && i < s->sums_n; i++) {
		const struct request *q = &s->requests[i];

		if (q->group == 0 && f->members[q->resource] < wanted)
			reason_short(r, q->resource, amount_times(q->value, wanted),
			             amount_times(q->value, f->members[q->resource]));
	}
	absent_short(r, s, wanted);
}

void reason_devices(struct reason *r, const struct views *vs, const struct plan *plan)
{
	const struct inventory *inventory = vs->pod_counts->inventory;
	const struct shape *s = class_shape(vs->pod_counts, plan->failed);
	const uint32_t question = s->body->devices - 1; /* UINT32_MAX: it asks for none */
	bool lacks = false;
	uint32_t n;

	for (uint32_t i = 0; i < r->counts_n; i++)
		lacks = lacks || r->counts[i].why == FILTER_DEVICES;
	if (!lacks || !inventory)
		return;
	n = inventory_options(inventory, question);
	for (; r->lacks_n < n && r->lacks_n < DEVICE_LACKS_MAX; r->lacks_n++) {
		inventory_supply(inventory, vs->nodes->used, question, r->lacks_n, &r->lacks[r->lacks_n]);
		/* One of them all is enough. */
		r->lacks[r->lacks_n].members =
			inventory_is_one(inventory, question) ? 1 : plan->failed_need;
		budget_spend(vs->budget, vs->nodes->used);
	}
}

/* What the nodes of the closest domain are short of. */
static void domain_shortfalls(struct reason *r, const struct views *vs, const struct plan *plan)
{
	const struct shape *s = class_shape(vs->pod_counts, plan->failed);
	const struct nodes *ns = vs->nodes;
	uint64_t members[RESOURCES_MAX] = { 0 };

	for (uint32_t rank = 0; rank < ns->count; rank++) {
		const node_id id = ns->order[rank];

		if (!domain_has(&plan->domains, plan->closest, rank) || !shape_allows(s, id))
			continue;
		for (uint32_t i = 0; i < s->sums_n; i++) {
			const struct request *q = &s->requests[i];

			members[q->resource] += amount_count(nodes_free_amount(ns, id, q->resource), q->value,
			                                     q->inverse, UINT32_MAX);
		}
	}
	r->shortfalls_n = 0;
	memset(r->shortfalls, 0, sizeof(r->shortfalls));
	for (uint32_t i = 0; i < s->sums_n; i++) {
		const struct request *q = &s->requests[i];

		if (q->group == 0 && members[q->resource] < plan->failed_need)
			reason_short(r, q->resource, amount_times(q->value, plan->failed_need),
			             amount_times(q->value, members[q->resource]));
	}
	absent_short(r, s, plan->failed_need);
}

void reason_domain(struct reason *r, const struct views *vs, const struct plan *plan)
{
	const struct domains *d = &plan->domains;
	const struct topology *t = &vs->pod_counts->topologies.slots[d->topologies[d->required - 1]];

	r->why = WAIT_TOPOLOGY;
	r->domain_key = t->key;
	r->domain_value = ID_NONE;
	for (uint32_t i = 0; i < d->n; i++)
		r->domains += d->at[i].depth == d->required;
	if (plan->closest == OUTSIDE)
		return;
	r->domain_value = t->values[d->at[plan->closest].number];
	r->domain_fit = r->fit;
	if (!plan->lacks_known)
		domain_shortfalls(r, vs, plan);
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t word;

	assert(n % sizeof(word) == 0);
	for (size_t i = 0; i < n; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

uint64_t reason_hash(const struct reason *r)
{
	uint64_t hash = mix(1, r, offsetof(struct reason, counts));

	/* Not on which nodes and after whom: those change with each end. */
	if (r->promised.at_ns > 0)
		hash = mix(hash, &r->promised, offsetof(struct promised, nodes_n));
	hash = mix(hash, r->counts, r->counts_n * sizeof(r->counts[0]));
	hash = mix(hash, r->shortfalls, r->shortfalls_n * sizeof(r->shortfalls[0]));
	hash = mix(hash, r->lacks, r->lacks_n * sizeof(r->lacks[0]));
	return hash ? hash : 1;
}
