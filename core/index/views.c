/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of views, and what plans ask of it. */
#include "core/index/views.h"
#include "core/index/views_impl.h"

#include "core/base/span.h"
#include "core/classes/usage.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_NONE UINT32_MAX

static size_t whole_lines(size_t bytes)
{
	return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static uint32_t slots_number(size_t bytes)
{
	uint64_t n = VIEWS_BYTES / bytes;

	return n < VIEWS_LEAST ? VIEWS_LEAST : n > VIEWS_MOST ? VIEWS_MOST : (uint32_t)n;
}

/* The arrays of all views are one allocation, whose pages are not touched before a view uses
 * them. */
static void slots_init(struct views *vs, uint32_t nodes)
{
	const size_t keys = whole_lines(tree_bytes(nodes));
	const size_t counts = whole_lines((size_t)nodes * sizeof(uint32_t));
	const size_t points = whole_lines((size_t)nodes * sizeof(tree_key));
	const size_t bytes = keys + counts + points + 2 * whole_lines(nodes);
	unsigned char *at;

	vs->slots_n = slots_number(bytes);
	vs->slots_used = 0;
	/* With larger arrays there are fewer slots; what classes read stays a slot, which no view has.
	 */
	vs->slots = must_array(VIEWS_MOST, sizeof(*vs->slots));
	vs->last_used = must_array(vs->slots_n, sizeof(*vs->last_used));
	vs->kin = must_array(vs->slots_n, sizeof(*vs->kin));
	vs->memory = must_alloc(vs->slots_n * bytes + CACHE_LINE);
	at = (unsigned char *)vs->memory + CACHE_LINE - (uintptr_t)vs->memory % CACHE_LINE;
	for (uint32_t i = 0; i < vs->slots_n; i++, at += bytes) {
		struct view *v = &vs->slots[i];

		tree_open(&v->tree, at, nodes);
		v->counts = (uint32_t *)(void *)(at + keys);
		v->points = (tree_key *)(void *)(at + keys + counts);
		v->facts_of = at + keys + counts + points;
		v->images_of = v->facts_of + whole_lines(nodes);
		v->class = CLASS_NONE;
		v->made = UINT64_MAX; /* no class read it */
	}
}

void views_init(struct views *vs, const struct limits *limits, struct pod_counts *pod_counts,
                struct budget *budget, enum score_policy score)
{
	const size_t classes = pod_counts->pod_classes.limit;

	*vs = (struct views){ .pod_counts = pod_counts,
		                  .nodes = pod_counts->nodes,
		                  .budget = budget,
		                  .score = score,
		                  .most = limits->pods,
		                  .avx2 = simd_has_avx2() };
	slots_init(vs, vs->nodes->span);
	vs->of_class[0] = must_array(2 * classes, sizeof(*vs->of_class[0]));
	vs->of_class[1] = vs->of_class[0] + classes;
	vs->hold_nodes = must_array(span_words(limits->nodes), sizeof(*vs->hold_nodes));
	vs->hold_whole = must_array(span_words(limits->nodes), sizeof(*vs->hold_whole));
	vs->batch_at = must_array(limits->nodes, sizeof(*vs->batch_at));
	vs->batch = must_array(limits->nodes, sizeof(*vs->batch));
	columns_init(&vs->columns, limits);
	evaluation_init(&vs->evaluation, limits, false);
}

static void slots_free(struct views *vs)
{
	for (uint32_t i = 0; i < vs->slots_used; i++) {
		constraints_free(vs->slots[i].constraints);
		soft_free(vs->slots[i].soft);
		free(vs->slots[i].preferred);
	}
	free(vs->slots);
	free(vs->last_used);
	free(vs->kin);
	free(vs->memory);
}

void views_free(struct views *vs)
{
	slots_free(vs);
	free(vs->of_class[0]);
	free(vs->hold_nodes);
	free(vs->hold_whole);
	free(vs->batch_at);
	free(vs->batch);
	columns_free(&vs->columns);
	evaluation_free(&vs->evaluation);
	*vs = (struct views){ 0 };
}

static void evict(struct views *vs, uint32_t at)
{
	struct view *v = &vs->slots[at];

	assert(v->class != CLASS_NONE);
	v->class = CLASS_NONE;
	v->made = ++vs->makes;
	vs->last_used[at] = 0;
	v->masked = 0;
	constraints_free(v->constraints);
	soft_free(v->soft);
	free(v->preferred);
	v->constraints = NULL;
	v->soft = NULL;
	v->preferred = NULL;
}

static void evict_all(struct views *vs)
{
	for (uint32_t i = 0; i < vs->slots_used; i++)
		if (vs->slots[i].class != CLASS_NONE)
			evict(vs, i);
}

void views_reach(struct views *vs)
{
	evict_all(vs);
	slots_free(vs);
	slots_init(vs, vs->nodes->span);
}

void views_prepare(struct views *vs)
{
	nodes_sort(vs->nodes);
	columns_follow(&vs->columns, vs->nodes);
}

void views_clear(struct views *vs)
{
	evict_all(vs);
	vs->hold = (struct hold){ 0 };
}

/* The slot of the view that the class read, if that is still its view; SLOT_NONE. */
static uint32_t slot_read(const struct views *vs, bool behind, class_id class)
{
	const struct view_read *read = &vs->of_class[behind][class];

	return vs->slots[read->slot].made == read->made ? read->slot : SLOT_NONE;
}

void views_forget(struct views *vs, class_id class)
{
	assert(class < vs->pod_counts->pod_classes.limit);
	for (uint32_t i = 0; i < vs->hold.classes_n; i++)
		if (vs->hold.classes[i] == class)
			views_hold(vs, NULL, 0, NULL, NULL);
	for (int behind = 0; behind < 2; behind++) {
		const uint32_t slot = slot_read(vs, behind, class);

		if (slot != SLOT_NONE && vs->slots[slot].class == class)
			evict(vs, slot);
		vs->of_class[behind][class] = (struct view_read){ 0 };
	}
}

static uint32_t slot_least_recent(const struct views *vs)
{
	uint32_t at = 0;

	for (uint32_t i = 1; i < vs->slots_n && vs->last_used[at] > 0; i++)
		if (vs->last_used[i] < vs->last_used[at])
			at = i;
	return at;
}

/* Equal for classes that may share a view. */
static uint32_t kin_of(const struct views *vs, class_id class)
{
	return id_hash(shape_of(vs, class)->kin, vs->pod_counts->pod_classes.slots[class].match_set);
}

static uint32_t slot_new(struct views *vs, bool behind, class_id class)
{
	const uint32_t at = slot_least_recent(vs);
	struct view *v = &vs->slots[at];

	if (v->class != CLASS_NONE)
		evict(vs, at);
	if (at >= vs->slots_used)
		vs->slots_used = at + 1;
	v->facts.log_n = 0;
	v->class = class;
	v->made = ++vs->makes;
	v->hold = behind ? vs->hold.version : 0;
	v->order_version = vs->nodes->order_version - 1;
	v->nodes = 0;
	vs->kin[at] = kin_of(vs, class);
	return at;
}

/* True if the class may read the view of another one: they differ in images that no node has. */
static bool may_share(const struct views *vs, const struct view *v, class_id class)
{
	const struct pod_class *classes = vs->pod_counts->pod_classes.slots;
	const struct shape *s = shape_of(vs, class);

	return v->class != CLASS_NONE && !v->has_images &&
	       classes[v->class].match_set == classes[class].match_set &&
	       !class_links(vs->pod_counts, v->class) && shapes_are_kin(shape_of(vs, v->class), s) &&
	       !usage_has_image(vs->pod_counts->usage, s);
}

/* The slot of the view of such a class; SLOT_NONE. */
static uint32_t slot_shared(const struct views *vs, bool behind, class_id class)
{
	const uint32_t kin = kin_of(vs, class);

	for (uint32_t i = 0; i < vs->slots_used; i++)
		if (vs->kin[i] == kin && (vs->slots[i].hold > 0) == behind &&
		    may_share(vs, &vs->slots[i], class))
			return i;
	return SLOT_NONE;
}

/* Nearly all pods name images, and each workload another one.  Where no node has them, classes
 * that differ in nothing else read one view.  It is built again when a node gets an image, for the
 * class that reads it then; for the others it is not theirs any more. */
static uint32_t slot_of(struct views *vs, bool behind, class_id class)
{
	uint32_t slot = slot_read(vs, behind, class);

	if (slot == SLOT_NONE)
		slot = slot_shared(vs, behind, class);
	return slot != SLOT_NONE ? slot : slot_new(vs, behind, class);
}

/* The class that read it before, and its shape, may be dropped.  Constraints read theirs later
 * only for spreads, with which no view is shared. */
static void set_class(struct view *v, class_id class)
{
	v->class = class;
	if (v->soft)
		soft_set_class(v->soft, class);
}

/* Inline in views_get(), which is called for all that a plan reads. */
static inline __attribute__((always_inline)) bool
is_current(const struct views *vs, const struct view_scope *scope, const struct view *v)
{
	return !vs->nodes->order_old && v->position == vs->nodes->log_n &&
	       v->order_version == vs->nodes->order_version &&
	       v->rules_version == vs->pod_counts->rules_version && v->masked == scope->mask_version &&
	       !v->stale;
}

/* Brings the view up to date.  Out of line, as view_find(), so that views_get() saves no registers
 * for it. */
static __attribute__((noinline)) struct view *
view_bring(struct views *vs, const struct view_scope *scope, struct view *v, struct view_read *read)
{
	view_follow(vs, scope, v);
	*read = (struct view_read){ .slot = (uint32_t)(v - vs->slots), .made = v->made };
	return v;
}

/* views_get() for a class that reads another view than before, or one of another reservation. */
static __attribute__((noinline)) struct view *
view_find(struct views *vs, const struct view_scope *scope, class_id class)
{
	const bool behind = scope->behind && vs->hold.version > 0;
	const uint32_t at = slot_of(vs, behind, class);
	struct view *v = &vs->slots[at];

	if (v->class != class)
		set_class(v, class);
	if (behind && v->hold != vs->hold.version) {
		v->hold = vs->hold.version;
		v->order_version = vs->nodes->order_version - 1;
		v->nodes = 0;
	}
	vs->last_used[at] = ++vs->uses;
	vs->of_class[behind][class] = (struct view_read){ .slot = at, .made = v->made };
	return is_current(vs, scope, v) ? v : view_bring(vs, scope, v, &vs->of_class[behind][class]);
}

struct view *views_get(struct views *vs, const struct view_scope *scope, class_id class)
{
	const bool behind = scope->behind && vs->hold.version > 0;
	struct view_read *read = &vs->of_class[behind][class];
	struct view *v = &vs->slots[read->slot];

	if (v->made != read->made || v->class != class || (behind && v->hold != vs->hold.version))
		return view_find(vs, scope, class);
	vs->last_used[read->slot] = ++vs->uses;
	return is_current(vs, scope, v) ? v : view_bring(vs, scope, v, read);
}

void view_scope_mask(struct views *vs, struct view_scope *scope, const uint64_t *bits)
{
	scope->mask = bits;
	scope->mask_version = bits ? ++vs->masks : 0;
}

void views_hold(struct views *vs, const class_id *classes, uint32_t n, const uint64_t *within,
                const uint64_t *whole)
{
	for (uint32_t i = 0; i < vs->slots_used; i++)
		if (vs->slots[i].class != CLASS_NONE && vs->slots[i].hold > 0)
			evict(vs, i);
	vs->hold.classes_n = n < HOLD_CLASSES_MAX ? n : HOLD_CLASSES_MAX;
	for (uint32_t i = 0; i < vs->hold.classes_n; i++)
		vs->hold.classes[i] = classes[i];
	vs->hold.within = within != NULL;
	vs->hold.some_whole = whole != NULL;
	if (within)
		memcpy(vs->hold_nodes, within, span_words(vs->nodes->span) * sizeof(*within));
	if (whole)
		memcpy(vs->hold_whole, whole, span_words(vs->nodes->span) * sizeof(*whole));
	vs->hold.version = n > 0 ? ++vs->holds : 0;
}

static bool same_bits(const struct views *vs, bool has, const uint64_t *bits,
                      const uint64_t *others)
{
	return has == (others != NULL) &&
	       (!has || memcmp(bits, others, span_words(vs->nodes->span) * sizeof(*bits)) == 0);
}

bool views_holds_within(const struct views *vs, const uint64_t *within, const uint64_t *whole)
{
	return same_bits(vs, vs->hold.within, vs->hold_nodes, within) &&
	       same_bits(vs, vs->hold.some_whole, vs->hold_whole, whole);
}

uint32_t view_most_at(const struct view *v, uint32_t rank)
{
	return v->constraints ? constraints_most_at(v->constraints, rank, v->counts[rank])
	                      : v->counts[rank];
}

uint64_t view_bound(struct views *vs, const struct view *v)
{
	if (view_best(v) == TREE_NONE)
		return 0;
	if (!v->constraints)
		return v->capacity;
	budget_spend(vs->budget, vs->nodes->count / 4);
	return constraints_bound(v->constraints, v->counts);
}

uint32_t views_count_at(const struct views *vs, node_id id, class_id class)
{
	const struct shape *s = shape_of(vs, class);

	return shape_allows(s, id)
	           ? pod_counts_devices(vs->pod_counts, id, s, node_count(vs->nodes, id, s, vs->most))
	           : 0;
}

bool views_suffice(const struct views *vs, node_id id, class_id class)
{
	return views_suffice_shape(vs, id, shape_of(vs, class));
}

bool views_suffice_shape(const struct views *vs, node_id id, const struct shape *s)
{
	const uint32_t count = vs->hold.version > 0 ? node_count_behind(vs, id, s)
	                                            : node_count(vs->nodes, id, s, vs->most);

	return count > 0 && pod_counts_devices(vs->pod_counts, id, s, 1) > 0 &&
	       !(s->body->ports_n > 0 && usage_port_conflict(vs->pod_counts->usage, id, s));
}
