/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/shapes.h"

#include "core/base/id_table.h"
#include "core/base/span.h"
#include "core/cluster/nodes.h"
#include "core/cluster/rule_node.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SELECTED_MOST 4u /* label values up to which a walk over the column for each is faster */
/* Keys of a nodeSelector, of which tenants write thousands: a column reads each node. */
#define SELECTED_KEYS_MOST (COLUMNS_MOST / 2)

/* The common case: no rule over nodes but taints; no taint and not cordoned. */
static bool shape_is_plain(const struct shape *s)
{
	const struct event_shape *e = s->body;

	return e->requirements_n == 0 && e->terms_n == 0 && e->volume_rules_n == 0 &&
	       !(e->flags & SHAPE_NODE_RULES);
}

static bool node_is_plain(const struct node *n)
{
	return rules_taints_n(n->rules) == 0 && !(n->flags & NODE_CORDONED);
}

static bool allows(const struct shape *s, const struct node *n)
{
	uint32_t arg;

	if (!node_present(n))
		return false;
	if (node_is_plain(n) && shape_is_plain(s))
		return true;
	return shape_filter(s, n, &arg) == FILTER_PASSED && shape_filter_last(s, n) == FILTER_PASSED;
}

static void node_evaluate(const struct shape *s, node_id id, const struct node *n)
{
	uint64_t bit = UINT64_C(1) << (id % 64);

	if (allows(s, n))
		s->allowed[id / 64] |= bit;
	else
		s->allowed[id / 64] &= ~bit;
}

static void nodes_evaluate_set(const struct shape *s, const uint64_t *set, uint32_t words,
                               const struct node *nodes)
{
	for (uint32_t word = 0; word < words; word++)
		for (uint64_t bits = set[word]; bits; bits &= bits - 1) {
			node_id node = word * 64 + (uint32_t)__builtin_ctzll(bits);

			node_evaluate(s, node, &nodes[node]);
		}
}

/* A required In requirement: nodes without one of its values are not allowed.  NULL: none. */
static const struct requirement *selects_by(const struct shape *s)
{
	const struct requirement *q = s->parts.requirements;

	for (uint32_t i = 0; i < s->body->requirements_n; i++) {
		/* Term 0 (nodeSelector) must match; of the others one, and some may have no requirement. */
		if (q[i].op == REQUIRE_IN && (q[i].term == 0 || s->body->terms_n == 1))
			return &q[i];
	}
	return NULL;
}

static uint32_t value_of(const struct node *n, uint32_t key)
{
	const struct node_label *label = rules_label(n->rules, key);

	return label ? label->value : NO_VALUE;
}

static const uint32_t *column_of(struct shapes *ss, uint32_t key, const struct node *nodes,
                                 uint32_t nodes_used)
{
	struct label_column *c = &ss->columns[0];

	for (uint32_t i = 0; i < COLUMNS_MOST; i++) {
		if (ss->columns[i].values && ss->columns[i].key == key) {
			ss->columns[i].last_used = ++ss->uses;
			return ss->columns[i].values;
		}
		if (ss->columns[i].last_used < c->last_used)
			c = &ss->columns[i];
	}
	if (!c->values)
		c->values = must_array((size_t)ss->words * 64, sizeof(*c->values));
	c->key = key;
	c->last_used = ++ss->uses;
	for (node_id node = 0; node < nodes_used; node++)
		c->values[node] = value_of(&nodes[node], key);
	return c->values;
}

/* Without an early exit, so that compilers vectorize it. */
static bool word_has(const uint32_t column[64], uint32_t value)
{
	uint32_t some = 0;

	for (uint32_t i = 0; i < 64; i++)
		some |= column[i] == value;
	return some;
}

/* The nodes of the word that have one of the values. */
static uint64_t word_matches(const uint32_t column[64], const uint32_t *values, uint32_t n)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!word_has(column, values[i]))
			continue;
		for (uint32_t node = 0; node < 64; node++)
			bits |= (uint64_t)(column[node] == values[i]) << node;
	}
	return bits;
}

/* Takes the nodes out of the set that do not meet an In requirement; false: it is empty. */
static bool set_select(struct shapes *ss, const struct shape *s, const struct requirement *q,
                       const struct node *nodes, uint32_t nodes_used, uint64_t *set)
{
	const uint32_t *column = column_of(ss, q->key, nodes, nodes_used);
	uint64_t left = 0;

	for (uint32_t word = 0; word * 64 < nodes_used; word++) {
		if (set[word])
			set[word] &= word_matches(column + (size_t)word * 64, &s->parts.values[q->values_first],
			                          q->values_n);
		left |= set[word];
	}
	return left != 0;
}

/* Sets allowed to the nodes that meet the rules over taints, but for those of `single`: each of
 * these is evaluated by itself. */
static void nodes_evaluate_taints(const struct shapes *ss, const struct shape *s)
{
	memcpy(s->allowed, ss->open, ss->words * sizeof(*ss->open));
	for (uint32_t i = 0; i < TAINT_SETS_MOST; i++) {
		const struct taint_set *set = &ss->tainted.at[i];

		if (set->count == 0 || taints_bar(s, set->taints, set->taints_n))
			continue;
		for (uint32_t word = 0; word < ss->words; word++)
			s->allowed[word] |= set->nodes[word];
	}
}

/* True if the nodes that the shape allows are those that tolerations and labels of its nodeSelector
 * leave. */
static bool shape_only_selects(const struct shape *s)
{
	const struct event_shape *e = s->body;

	if (e->terms_n > 0 || e->volume_rules_n > 0 || (e->flags & SHAPE_NODE_RULES) ||
	    s->named != FILTER_PASSED || e->requirements_n > SELECTED_KEYS_MOST)
		return false;
	for (uint32_t i = 0; i < e->requirements_n; i++)
		if (s->parts.requirements[i].op != REQUIRE_IN ||
		    s->parts.requirements[i].values_n > SELECTED_MOST)
			return false;
	for (uint32_t i = 0; i < e->values_n; i++)
		if (s->parts.values[i] == NO_VALUE)
			return false;
	return true;
}

/* A nodeSelector is the common rule, and of a zone or pool with many nodes: by sets of nodes, which
 * reads no node. */
static void nodes_evaluate_all(struct shapes *ss, const struct shape *s, const struct node *nodes,
                               uint32_t nodes_used)
{
	const struct requirement *q = selects_by(s);
	bool some = true;

	if (shape_only_selects(s)) {
		nodes_evaluate_taints(ss, s);
		for (uint32_t i = 0; some && i < s->body->requirements_n; i++)
			some = set_select(ss, s, &s->parts.requirements[i], nodes, nodes_used, s->allowed);
		nodes_evaluate_set(s, ss->single, ss->words, nodes);
		return;
	}
	if (q && q->values_n <= SELECTED_MOST) {
		for (uint32_t word = 0; word < ss->words; word++)
			s->allowed[word] = ss->open[word] | ss->barred[word];
		set_select(ss, s, q, nodes, nodes_used, s->allowed);
		nodes_evaluate_set(s, s->allowed, ss->words, nodes);
		return;
	}
	for (node_id node = 0; node < nodes_used; node++)
		node_evaluate(s, node, &nodes[node]);
}

static void sets_new(struct shapes *ss)
{
	ss->open = must_array(4 * (size_t)ss->words, sizeof(*ss->open));
	ss->barred = ss->open + ss->words;
	ss->soft = ss->barred + ss->words;
	ss->single = ss->soft + ss->words;
}

void shapes_init(struct shapes *ss, const struct limits *limits)
{
	*ss = (struct shapes){ .limit = limits->shapes,
		                   .words = span_words(span_first(limits)),
		                   .resources = limits->resources };
	ss->slots = must_array(limits->shapes, sizeof(*ss->slots));
	ss->kin = must_array(limits->shapes, sizeof(*ss->kin));
	sets_new(ss);
	taint_sets_init(&ss->tainted, ss->words);
}

void shapes_reach(struct shapes *ss, uint32_t span)
{
	const uint32_t words = span_words(span), old_words = ss->words;
	uint64_t *old = ss->open;

	if (words == old_words)
		return;
	for (uint32_t i = 0; i < COLUMNS_MOST; i++) {
		struct label_column *c = &ss->columns[i];

		if (c->values)
			c->values = must_extend(c->values, old_words * (size_t)64, words * (size_t)64,
			                        sizeof(*c->values));
	}
	ss->words = words;
	sets_new(ss);
	for (uint32_t set = 0; set < 4; set++)
		memcpy(ss->open + (size_t)set * words, old + (size_t)set * old_words,
		       old_words * sizeof(*old));
	free(old);
	taint_sets_reach(&ss->tainted, words);
	for (shape_id id = 0; id < ss->used; id++) {
		struct shape *s = &ss->slots[id];

		if (s->body)
			s->allowed = must_extend(s->allowed, old_words, words, sizeof(*s->allowed));
	}
}

static void shape_clear(struct shape *s)
{
	free(s->body);
	free(s->requests);
	free(s->volumes);
	free(s->allowed);
	memset(s, 0, sizeof(*s));
}

void shapes_clear(struct shapes *ss)
{
	for (shape_id id = 0; id < ss->used; id++)
		shape_clear(&ss->slots[id]);
	ss->used = 0;
	ss->count = 0;
	for (uint32_t i = 0; i < COLUMNS_MOST; i++) {
		free(ss->columns[i].values);
		ss->columns[i] = (struct label_column){ 0 };
	}
	taint_sets_clear(&ss->tainted);
	memset(ss->open, 0, 4 * (size_t)ss->words * sizeof(*ss->open));
	ss->soft_n = 0;
}

void shapes_free(struct shapes *ss)
{
	shapes_clear(ss);
	free(ss->slots);
	free(ss->kin);
	free(ss->open);
	ss->slots = NULL;
	ss->open = NULL;
}

static void request_add(struct shape *s, uint32_t resource, int64_t value, uint32_t flags)
{
	s->requests[s->requests_n++] = (struct request){ .resource = resource,
		                                             .devices = flags & AMOUNT_DEVICES,
		                                             .group = (uint8_t)device_group(flags),
		                                             .value = value,
		                                             .inverse = 1.0 / (double)value };
}

/* Of a resource that no node has, and that devices don't serve. */
static void absent_set(struct shape *s, uint32_t i, uint32_t n)
{
	if (device_group(s->parts.amounts[i].flags) > 0)
		return;
	s->absent = &s->parts.amounts[i];
	s->absent_n = n - i;
}

/* Each pod requests one of RESOURCE_PODS, whatever its record has. */
static void requests_fill(struct shape *s, uint32_t columns)
{
	int64_t values[RESOURCES_MAX] = { 0 };
	uint32_t flags[RESOURCES_MAX] = { 0 }, n;

	for (uint32_t i = 0; i < s->body->amounts_n && s->absent_n == 0; i++) {
		const struct amount *a = &s->parts.amounts[i];

		if (a->resource < columns) {
			values[a->resource] = a->value;
			flags[a->resource] = a->flags;
		} else {
			absent_set(s, i, s->body->amounts_n);
		}
	}
	values[RESOURCE_PODS] = 1;
	flags[RESOURCE_PODS] = 0;
	for (uint32_t r = 0; r < RESOURCES_MAX; r++)
		if (values[r] > 0 && (s->absent_n > 0 || device_group(flags[r]) == 0))
			request_add(s, r, values[r], flags[r]);
	n = s->requests_n;
	for (uint32_t r = 0; r < RESOURCES_MAX && s->absent_n == 0; r++)
		if (values[r] > 0 && device_group(flags[r]) > 0)
			request_add(s, r, values[r], flags[r]);
	s->sums_n = s->requests_n;
	s->requests_n = n;
	if (s->absent_n > 0)
		request_add(s, RESOURCE_PODS, INT64_MAX, 0); /* saturated: fits nowhere */
}

static struct shape_fit fit_of(const struct shape *s, wide cpu_scored, wide memory_scored)
{
	struct shape_fit f = { .cpu_scored = (double)cpu_scored,
		                   .memory_scored = (double)memory_scored };

	for (uint32_t i = 0; i < s->requests_n; i++) {
		if (s->requests[i].resource == RESOURCE_CPU)
			f.cpu_used = (double)s->requests[i].value;
		if (s->requests[i].resource == RESOURCE_MEMORY)
			f.memory_used = (double)s->requests[i].value;
	}
	f.balances = f.cpu_used > 0 || f.memory_used > 0;
	f.exact = f.cpu_scored < FIT_MOST && f.memory_scored < FIT_MOST && f.cpu_used < FIT_MOST &&
	          f.memory_used < FIT_MOST;
	return f;
}

/* A pointer into the record, relocated to the copy. */
static const void *moved(const struct shape *s, const struct shape_record *record, const void *part)
{
	return part ? (const char *)s->body + ((const char *)part - (const char *)record->body) : NULL;
}

static void parts_fill(struct shape *s, const struct shape_record *record)
{
	s->parts = (struct shape_record){
		.body = s->body,
		.amounts = moved(s, record, record->amounts),
		.requirements = moved(s, record, record->requirements),
		.values = moved(s, record, record->values),
		.tolerations = moved(s, record, record->tolerations),
		.clauses = moved(s, record, record->clauses),
		.preferences = moved(s, record, record->preferences),
		.alternatives = moved(s, record, record->alternatives),
		.volume_rules = moved(s, record, record->volume_rules),
		.pod_terms = moved(s, record, record->pod_terms),
		.spreads = moved(s, record, record->spreads),
		.ports = moved(s, record, record->ports),
		.images = moved(s, record, record->images),
		.attachments = moved(s, record, record->attachments),
		.exclusives = moved(s, record, record->exclusives),
		.policies = moved(s, record, record->policies),
		.shares = moved(s, record, record->shares),
		.bytes = record->bytes,
	};
}

static int attachment_compare(const void *a, const void *b)
{
	const struct attachment *left = a, *right = b;

	if (left->driver != right->driver)
		return left->driver < right->driver ? -1 : 1;
	return (left->volume > right->volume) - (left->volume < right->volume);
}

static void volumes_fill(struct shape *s)
{
	const uint32_t n = s->body->attachments_n;

	if (n == 0)
		return;
	s->volumes = must_array(n, sizeof(*s->volumes));
	memcpy(s->volumes, s->parts.attachments, n * sizeof(*s->volumes));
	qsort(s->volumes, n, sizeof(*s->volumes), attachment_compare);
	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || attachment_compare(&s->volumes[s->volumes_n - 1], &s->volumes[i]) != 0)
			s->volumes[s->volumes_n++] = s->volumes[i];
}

/* The body without its id and its images: the head, and what is before and behind the images. */
struct kin_parts {
	struct event_shape head;
	const char *before, *behind;
	size_t before_bytes, behind_bytes;
};

static struct kin_parts kin_parts(const struct shape *s)
{
	const char *begin = (const char *)(s->body + 1), *end = (const char *)s->body + s->body_bytes,
			   *images = (const char *)s->parts.images, *next = (const char *)s->parts.attachments;
	struct kin_parts p = { .head = *s->body,
		                   .before = begin,
		                   .behind = next,
		                   .before_bytes = (size_t)(images - begin),
		                   .behind_bytes = (size_t)(end - next) };

	assert(begin <= images && images <= next && next <= end);
	p.head.shape = 0;
	p.head.images_n = 0;
	p.head.image_containers = 0;
	return p;
}

static uint32_t words_hash(uint32_t hash, const void *words, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
		uint32_t word;

		memcpy(&word, (const char *)words + at, sizeof(word));
		hash = id_hash(hash, word);
	}
	return hash;
}

static uint32_t kin_hash(const struct shape *s)
{
	const struct kin_parts p = kin_parts(s);

	return words_hash(words_hash(words_hash(1, &p.head, sizeof(p.head)), p.before, p.before_bytes),
	                  p.behind, p.behind_bytes);
}

bool shapes_are_kin(const struct shape *a, const struct shape *b)
{
	const struct kin_parts p = kin_parts(a), q = kin_parts(b);

	return a->kin == b->kin && memcmp(&p.head, &q.head, sizeof(p.head)) == 0 &&
	       memcmp(p.before, q.before, p.before_bytes) == 0 &&
	       memcmp(p.behind, q.behind, p.behind_bytes) == 0;
}

static void shape_fill(struct shape *s, const struct shape_record *record, const struct shapes *ss)
{
	s->body = must_alloc(record->bytes);
	s->requests = must_array(record->body->amounts_n + 2u, sizeof(*s->requests));
	s->allowed = must_array(ss->words, sizeof(*s->allowed));
	memcpy(s->body, record->body, record->bytes);
	s->body_bytes = record->bytes;
	parts_fill(s, record);
	s->named = rule_names(s);
	requests_fill(s, ss->resources);
	s->fit = fit_of(s, s->body->scored_cpu_milli, s->body->scored_memory_bytes);
	s->placed = fit_of(s, shape_placed_cpu(s), shape_placed_memory(s));
	volumes_fill(s);
	s->kin = kin_hash(s);
}

/* A shape that allows the same nodes, or NULL. */
static const struct shape *find_kin(const struct shapes *ss, const struct shape *s)
{
	for (shape_id id = 0; id < ss->used; id++)
		if (ss->kin[id] == s->kin && ss->slots[id].body && shapes_are_kin(&ss->slots[id], s))
			return &ss->slots[id];
	return NULL;
}

int shapes_make(struct shapes *ss, const struct shape_record *record, const struct node *nodes,
                uint32_t nodes_used, struct shape *out)
{
	const struct shape *old = shapes_find(ss, record->body->shape), *kin;
	struct shape fresh = { 0 };

	assert(record->body->shape < ss->limit);
	assert(nodes_used <= ss->words * 64);
	if (old && old->body_bytes == record->bytes &&
	    memcmp(old->body, record->body, record->bytes) == 0)
		return 1;
	if (old && old->pods > 0)
		return -EPROTO;
	shape_fill(&fresh, record, ss);
	kin = find_kin(ss, &fresh);
	if (kin)
		memcpy(fresh.allowed, kin->allowed, ss->words * sizeof(*fresh.allowed));
	else
		nodes_evaluate_all(ss, &fresh, nodes, nodes_used);
	*out = fresh;
	return 0;
}

void shapes_put(struct shapes *ss, const struct shape *s)
{
	shape_id id = s->body->shape;

	assert(id < ss->limit);
	if (shapes_find(ss, id))
		shapes_drop(ss, id);
	ss->slots[id] = *s;
	ss->kin[id] = s->kin;
	ss->count++;
	if (id >= ss->used)
		ss->used = id + 1;
}

void shapes_unmake(struct shape *s)
{
	shape_clear(s);
}

void shapes_drop(struct shapes *ss, shape_id id)
{
	assert(id < ss->limit);
	assert(ss->count > 0);
	assert(ss->slots[id].body && ss->slots[id].pods == 0);
	shape_clear(&ss->slots[id]);
	ss->count--;
}

static bool is_soft(const struct node *n)
{
	const struct taint *taints = rules_taints(n->rules);
	const uint32_t taints_n = rules_taints_n(n->rules);

	for (uint32_t i = 0; i < taints_n; i++)
		if (taints[i].effect == EFFECT_PREFER_NO_SCHEDULE)
			return true;
	return false;
}

static void bit_set(uint64_t *set, node_id id, bool value)
{
	const uint64_t bit = UINT64_C(1) << (id % 64);

	set[id / 64] = value ? set[id / 64] | bit : set[id / 64] & ~bit;
}

static bool in_set(struct shapes *ss, node_id id, const struct node *n)
{
	if (!node_present(n) || (n->flags & NODE_CORDONED)) {
		taint_sets_put(&ss->tainted, id, NULL, 0);
		return false;
	}
	return taint_sets_put(&ss->tainted, id, rules_taints(n->rules), rules_taints_n(n->rules));
}

void shapes_follow(struct shapes *ss, node_id id, const struct node *n)
{
	const bool soft = node_present(n) && is_soft(n), was_soft = ss->soft[id / 64] >> (id % 64) & 1;

	assert(id / 64 < ss->words);
	for (uint32_t i = 0; i < COLUMNS_MOST; i++)
		if (ss->columns[i].values)
			ss->columns[i].values[id] = value_of(n, ss->columns[i].key);
	bit_set(ss->open, id, node_present(n) && node_is_plain(n));
	bit_set(ss->barred, id, node_present(n) && !node_is_plain(n));
	bit_set(ss->soft, id, soft);
	bit_set(ss->single, id, !in_set(ss, id, n) && node_present(n));
	ss->soft_n = ss->soft_n + soft - was_soft;
	for (shape_id shape = 0; shape < ss->used; shape++)
		if (ss->slots[shape].body)
			node_evaluate(&ss->slots[shape], id, n);
}
