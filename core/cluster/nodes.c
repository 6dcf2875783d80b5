/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/nodes.h"

#include "core/base/probe.h"
#include "core/base/span.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STRIDE_FIRST (2 * AMOUNTS_BLOCK) /* resources: one cache line */

void nodes_init(struct nodes *ns, const struct limits *limits, struct ledger_view *ledger)
{
	const size_t n = limits->nodes;

	*ns = (struct nodes){ .ledger = ledger,
		                  .limit = limits->nodes,
		                  .span = span_first(limits),
		                  .resources = limits->resources,
		                  .most = INT64_MAX / limits->pods,
		                  .columns = RESOURCE_EXTENDED,
		                  .freed_version = 1,
		                  .facts_version = 1,
		                  .log_n = 1 };
	ns->slots = must_array(n, sizeof(*ns->slots));
	ns->stride = STRIDE_FIRST;
	ns->free = must_lines(n * ns->stride * sizeof(*ns->free), &ns->free_memory);
	ns->fits = must_lines(n * sizeof(*ns->fits), &ns->fits_memory);
	ns->scored = must_array(n * SCORED_N, sizeof(*ns->scored));
	ns->order = must_array(n, sizeof(*ns->order));
	ns->ranks = must_array(n, sizeof(*ns->ranks));
	ns->behind = must_array(n, sizeof(*ns->behind));
	ledger_reach_resources(ledger, ns->columns);
}

static void node_forget(struct node *n)
{
	free(n->rules);
	n->rules = NULL;
}

static void wide_sums_free(struct wide_sums *w)
{
	if (!w)
		return;
	free(w->memory);
	free(w->scored);
	free(w);
}

void nodes_free(struct nodes *ns)
{
	for (node_id id = 0; id < ns->used; id++)
		node_forget(&ns->slots[id]);
	free(ns->slots);
	free(ns->free_memory);
	wide_sums_free(ns->wide_sums);
	free(ns->fits_memory);
	free(ns->scored);
	free(ns->order);
	free(ns->ranks);
	free(ns->behind);
	*ns = (struct nodes){ 0 };
}

void nodes_clear(struct nodes *ns)
{
	for (node_id id = 0; id < ns->used; id++) {
		struct node *n = &ns->slots[id];

		node_forget(n);
		memset(n, 0, sizeof(*n));
		memset(&ns->free[(size_t)id * ns->stride], 0, ns->stride * sizeof(*ns->free));
		ns->fits[id] = (struct node_fit){ 0 };
		memset(&ns->scored[(size_t)id * SCORED_N], 0, SCORED_N * sizeof(*ns->scored));
	}
	wide_sums_free(ns->wide_sums);
	ns->wide_sums = NULL;
	memset(ns->free_sum, 0, sizeof(ns->free_sum));
	ns->used = ns->count = ns->present = ns->behind_n = 0;
	ns->columns = RESOURCE_EXTENDED;
	ns->order_old = ns->order_lost = true;
	/* All views are now further behind than the log. */
	ns->log_n += NODE_LOG + 1;
	ns->freed_version++;
}

static void changed(struct nodes *ns, node_id id)
{
	struct node *n = &ns->slots[id];
	uint32_t *before = &ns->log[n->logged % NODE_LOG];

	/* Only the last change of a node counts. */
	if (*before == id)
		*before = ID_NONE;
	n->logged = (uint32_t)ns->log_n;
	ns->log[ns->log_n++ % NODE_LOG] = id;
	if (n->changed)
		return;
	n->changed = true;
	ns->behind[ns->behind_n++] = id;
}

static int64_t free_part(int64_t free)
{
	return free > 0 ? free : 0;
}

static void free_set(struct nodes *ns, node_id id, uint32_t resource, int64_t now)
{
	int64_t *free = &ns->free[(size_t)id * ns->stride + resource];

	if (node_present(&ns->slots[id]))
		ns->free_sum[resource] += (wide)free_part(now) - free_part(*free);
	*free = now;
}

static void balance_update(struct node_fit *f, bool exact)
{
	exact = exact && f->cpu_scored < FIT_MOST && f->memory_scored < FIT_MOST &&
	        f->cpu_used < FIT_MOST && f->memory_used < FIT_MOST && f->pods_left > -FIT_MOST;
	f->balance = exact ? (double)fit_balance(f, f->cpu_used, f->memory_used) : -1;
}

/* Computes all numbers of the line. */
static void fit_update(struct nodes *ns, node_id id)
{
	struct node_fit *f = &ns->fits[id];
	bool exact;

	f->cpu = (double)nodes_allocatable(ns, id, RESOURCE_CPU);
	f->memory = (double)nodes_allocatable(ns, id, RESOURCE_MEMORY);
	f->cpu_scored = (double)wide_cut(nodes_scored(ns, id, SCORED_CPU));
	f->memory_scored = (double)wide_cut(nodes_scored(ns, id, SCORED_MEMORY));
	f->cpu_used = (double)wide_cut(nodes_sum(ns, id, RESOURCE_CPU));
	f->memory_used = (double)wide_cut(nodes_sum(ns, id, RESOURCE_MEMORY));
	f->pods_left = (double)ns->free[(size_t)id * ns->stride + RESOURCE_PODS];
	exact = f->cpu > 0 && f->memory > 0 && f->cpu < FIT_MOST && f->memory < FIT_MOST &&
	        f->pods_left < FIT_MOST;
	balance_update(f, exact);
}

/* `by` pods more or less: whole numbers below 2^53 stay exact, and numbers over FIT_MOST are
 * detected. */
static void fit_add(struct node_fit *f, const struct shape_fit *s, double by)
{
	f->cpu_scored += by * s->cpu_scored;
	f->memory_scored += by * s->memory_scored;
	f->cpu_used += by * s->cpu_used;
	f->memory_used += by * s->memory_used;
	f->pods_left -= by;
	balance_update(f, true);
}

static void fit_change(struct nodes *ns, node_id id, const struct shape_fit *s, double by)
{
	struct node_fit *f = &ns->fits[id];

	if (!fit_exact(f) || !s->exact)
		fit_update(ns, id);
	else
		fit_add(f, s, by);
}

/* A copy with longer rows; *memory is freed and replaced. */
static void *rows_grown(const struct nodes *ns, const void *rows, size_t bytes, uint32_t stride,
                        void **memory)
{
	void *old = *memory;
	char *grown = must_lines((size_t)ns->limit * stride * bytes, memory);

	for (node_id id = 0; id < ns->used; id++)
		memcpy(grown + (size_t)id * stride * bytes,
		       (const char *)rows + (size_t)id * ns->stride * bytes, ns->stride * bytes);
	free(old);
	return grown;
}

void nodes_reach(struct nodes *ns, uint32_t resources)
{
	struct wide_sums *w = ns->wide_sums;
	uint32_t stride = ns->stride;

	assert(resources <= ns->resources);
	ledger_reach_resources(ns->ledger, resources);
	while (stride < resources)
		stride *= 2;
	if (stride > ns->stride) {
		ns->free = rows_grown(ns, ns->free, sizeof(*ns->free), stride, &ns->free_memory);
		if (w)
			w->sums = rows_grown(ns, w->sums, sizeof(*w->sums), stride, &w->memory);
		ns->stride = stride;
	}
	if (resources > ns->columns)
		ns->columns = resources;
}

/* While no request exceeds INT64_MAX / limits.pods, no sum can saturate, since each pod is in it
 * once at most: then a sum is allocatable - free.  The first shape with a larger request adds sums
 * in full width for all nodes, until nodes_clear(). */

static bool is_large(const struct nodes *ns, const struct shape_record *record)
{
	const struct event_shape *e = record->body;

	for (uint32_t i = 0; i < e->amounts_n; i++)
		if (record->amounts[i].resource < ns->resources && record->amounts[i].value > ns->most)
			return true;
	return (wide)e->scored_cpu_milli + e->placed_cpu_milli > ns->most ||
	       (wide)e->scored_memory_bytes + e->placed_memory_bytes > ns->most;
}

void nodes_widen(struct nodes *ns, const struct shape_record *record)
{
	struct wide_sums *w;

	if (ns->wide_sums || !is_large(ns, record))
		return;
	w = must_alloc(sizeof(*w));
	w->sums = must_lines((size_t)ns->limit * ns->stride * sizeof(*w->sums), &w->memory);
	w->scored = must_array((size_t)ns->limit * SCORED_N, sizeof(*w->scored));
	for (node_id id = 0; id < ns->used; id++) {
		for (uint32_t r = 0; r < ns->columns; r++)
			w->sums[(size_t)id * ns->stride + r] = nodes_sum(ns, id, r);
		for (uint32_t i = 0; i < SCORED_N; i++)
			w->scored[(size_t)id * SCORED_N + i] = nodes_scored(ns, id, i);
	}
	ns->wide_sums = w;
}

static void wide_add(struct nodes *ns, node_id id, const struct shape *s, int64_t n)
{
	wide *sums = &ns->wide_sums->sums[(size_t)id * ns->stride];

	for (uint32_t i = 0; i < s->sums_n; i++) {
		const uint32_t r = s->requests[i].resource;
		const wide by = (wide)s->requests[i].value * n;

		assert(sums[r] + by >= 0);
		if (sums[r] <= INT64_MAX && sums[r] + by > INT64_MAX)
			ns->saturated++;
		sums[r] += by;
		free_set(ns, id, r, amount_free(nodes_allocatable(ns, id, r), sums[r]));
	}
}

/* n pods of the shape more (or less). */
static void sums_add(struct nodes *ns, node_id id, const struct shape *s, int64_t n)
{
	int64_t *row = &ns->free[(size_t)id * ns->stride];
	const int64_t counts = node_present(&ns->slots[id]) ? -1 : 0; /* as a mask */

	if (ns->wide_sums) {
		wide_add(ns, id, s, n);
		return;
	}
	for (uint32_t i = 0; i < s->sums_n; i++) {
		const uint32_t r = s->requests[i].resource;
		const int64_t was = row[r], now = was - s->requests[i].value * n;

		assert(n > 0 || now <= nodes_allocatable(ns, id, r));
		row[r] = now;
		ns->free_sum[r] += (free_part(now) - free_part(was)) & counts;
	}
}

/* n pods of the shape more (or less). */
static void scored_add(struct nodes *ns, node_id id, const struct shape *s, int64_t n)
{
	const size_t at = (size_t)id * SCORED_N;

	if (ns->wide_sums) {
		ns->wide_sums->scored[at + SCORED_CPU] += shape_placed_cpu(s) * n;
		ns->wide_sums->scored[at + SCORED_MEMORY] += shape_placed_memory(s) * n;
	} else {
		ns->scored[at + SCORED_CPU] += (int64_t)shape_placed_cpu(s) * n;
		ns->scored[at + SCORED_MEMORY] += (int64_t)shape_placed_memory(s) * n;
	}
}

void nodes_allocate(struct nodes *ns, node_id id, const struct shape *s)
{
	sums_add(ns, id, s, 1);
	scored_add(ns, id, s, 1);
	fit_change(ns, id, &s->placed, 1);
	ns->slots[id].pods++;
	changed(ns, id);
}

/* The same for n pods that all fit: then free capacity stays positive. */
static void sums_fill(struct nodes *ns, node_id id, const struct shape *s, int64_t n)
{
	int64_t *row = &ns->free[(size_t)id * ns->stride];
	const int64_t counts = node_present(&ns->slots[id]) ? -1 : 0; /* as a mask */

	for (uint32_t i = 0; i < s->sums_n; i++) {
		const uint32_t r = s->requests[i].resource;
		const int64_t taken = s->requests[i].value * n;

		row[r] -= taken;
		ns->free_sum[r] -= taken & counts;
	}
}

void nodes_allocate_many(struct nodes *ns, node_id id, const struct shape *s, uint32_t n)
{
	const int64_t *row = &ns->free[(size_t)id * ns->stride];
	bool fit = true;

	assert(n > 0);
	for (uint32_t i = 0; i < s->sums_n; i++) {
		int64_t taken;

		fit = fit && !__builtin_mul_overflow(s->requests[i].value, (int64_t)n, &taken) &&
		      taken <= row[s->requests[i].resource];
	}
	if (!fit) {
		while (n-- > 0)
			nodes_allocate(ns, id, s);
		return;
	}
	if (ns->wide_sums)
		sums_add(ns, id, s, (int64_t)n);
	else
		sums_fill(ns, id, s, (int64_t)n);
	scored_add(ns, id, s, (int64_t)n);
	fit_change(ns, id, &s->placed, n);
	ns->slots[id].pods += n;
	changed(ns, id);
}

void nodes_release(struct nodes *ns, node_id id, const struct shape *s)
{
	sums_add(ns, id, s, -1);
	scored_add(ns, id, s, -1);
	fit_change(ns, id, &s->placed, -1);
	assert(ns->slots[id].pods > 0);
	ns->slots[id].pods--;
	changed(ns, id);
}

void nodes_touch(struct nodes *ns, node_id id)
{
	ns->freed_version++;
	changed(ns, id);
}

bool nodes_fit(const struct nodes *ns, node_id id, const struct shape *s)
{
	if (!node_present(&ns->slots[id]) || !shape_allows(s, id))
		return false;
	for (uint32_t i = 0; i < s->requests_n; i++)
		if (!amount_fits(nodes_free_amount(ns, id, s->requests[i].resource), s->requests[i].value))
			return false;
	return true;
}

static void present_set(struct nodes *ns, node_id id, uint32_t flags)
{
	struct node *n = &ns->slots[id];
	bool was = node_present(n), is = flags & NODE_PRESENT;

	assert(ns->present <= ns->count);
	n->flags = (uint8_t)flags;
	if (was == is)
		return;
	ns->present = is ? ns->present + 1 : ns->present - 1;
	for (uint32_t r = 0; r < ns->columns; r++) {
		int64_t part = free_part(nodes_free_amount(ns, id, r));

		ns->free_sum[r] += is ? (wide)part : -(wide)part;
	}
}

/* Returns true if anything changed. */
static bool allocatable_set(struct nodes *ns, node_id id, const struct node_record *record)
{
	int64_t values[RESOURCES_MAX] = { 0 };
	bool differs = false;

	for (uint32_t i = 0; i < record->body->amounts_n; i++) {
		values[record->amounts[i].resource] = record->amounts[i].value;
		assert(record->amounts[i].resource < ns->stride);
	}
	for (uint32_t r = 0; r < ns->columns; r++)
		differs = differs || nodes_allocatable(ns, id, r) != values[r];
	if (!differs)
		return false;
	row_begin(&ns->ledger->nodes[id].version);
	for (uint32_t r = 0; r < ns->columns; r++) {
		const wide sum = nodes_sum(ns, id, r);

		ledger_amounts(ns->ledger, id, r)->allocatable[r % AMOUNTS_BLOCK] = values[r];
		free_set(ns, id, r, amount_free(values[r], sum));
	}
	fit_update(ns, id);
	row_end(&ns->ledger->nodes[id].version);
	return true;
}

static void rules_set(struct node *n, const struct node_record *record)
{
	node_forget(n);
	n->rules = node_rules_make(record->labels, record->body->labels_n, record->taints,
	                           record->body->taints_n);
}

static int node_new(struct nodes *ns, const struct node_record *record)
{
	const struct event_node *e = record->body;
	struct node *n = &ns->slots[e->node];
	struct name name;
	int rc = name_add(ns->ledger, record->name, e->name_bytes, &name);

	if (rc < 0)
		return rc;
	n->name_step = (uint32_t)(name.offset / NAME_STEP);
	n->name_bytes = (uint16_t)name.bytes;
	n->generation = e->generation;
	ns->count++;
	nodes_order_enter(ns, e->node);
	if (e->node >= ns->used)
		ns->used = e->node + 1;
	return 0;
}

int nodes_set(struct nodes *ns, const struct node_record *record, bool *rules)
{
	const struct event_node *e = record->body;
	struct node *n = &ns->slots[e->node];
	bool fresh = n->generation == 0, differs;
	int rc;

	assert(e->node < ns->span);
	if (!fresh && (n->generation != e->generation ||
	               node_name_compare(ns, n, record->name, e->name_bytes) != 0))
		return -EPROTO;
	*rules = fresh || n->flags != e->flags ||
	         !node_rules_are(n->rules, record->labels, e->labels_n, record->taints, e->taints_n);
	if (fresh) {
		rc = node_new(ns, record);
		if (rc < 0)
			return rc;
	}
	if (*rules)
		rules_set(n, record);
	present_set(ns, e->node, e->flags);
	differs = allocatable_set(ns, e->node, record);
	if (differs || *rules) {
		ns->facts_version++;
		ns->freed_version++;
		changed(ns, e->node);
	}
	return 0;
}

void nodes_drop(struct nodes *ns, node_id id)
{
	struct node *n = &ns->slots[id];
	const struct event_node nothing = { .node = id };
	struct node_row *row = &ns->ledger->nodes[id];
	struct name name = node_name(n);

	assert(ns->count > 0);
	assert(n->generation > 0 && n->pods == 0);
	allocatable_set(ns, id, &(struct node_record){ .body = &nothing });
	present_set(ns, id, 0);
	ns->facts_version++;
	ns->freed_version++; /* its domain no longer counts for spreads */
	changed(ns, id);
	ns->log[n->logged % NODE_LOG] = ID_NONE; /* nothing to look at */
	nodes_order_leave(ns, id);
	node_forget(n);
	/* The row is cleared before its name, whose memory name_drop() writes to. */
	row_begin(&row->version);
	row->generation = 0;
	row_end(&row->version);
	name_drop(ns->ledger, &name);
	n->name_bytes = 0;
	n->generation = 0;
	ns->count--;
}

static void used_publish(const struct nodes *ns, node_id id)
{
	const int64_t *free = &ns->free[(size_t)id * ns->stride];
	int64_t left[AMOUNTS_BLOCK] __attribute__((uninitialized));
	struct node_amounts *a = &ns->ledger->amounts[id];

	for (uint32_t r = 0; r < ns->columns; r += AMOUNTS_BLOCK, a += ns->ledger->limits.nodes) {
		memcpy(left, free + r, sizeof(left)); /* a->used does not alias the copy */
		if (ns->wide_sums)
			for (uint32_t i = 0; i < AMOUNTS_BLOCK; i++)
				a->used[i] = wide_cut(ns->wide_sums->sums[(size_t)id * ns->stride + r + i]);
		else
			for (uint32_t i = 0; i < AMOUNTS_BLOCK; i++)
				a->used[i] = a->allocatable[i] - left[i];
	}
}

void nodes_publish(struct nodes *ns)
{
	for (uint32_t i = 0; i < ns->behind_n; i++) {
		node_id id = ns->behind[i];
		struct node *n = &ns->slots[id];
		struct node_row *row = &ns->ledger->nodes[id];

		n->changed = false;
		row_begin(&row->version);
		PROBE(node_row_open, id);
		row->generation = n->generation;
		row->flags = n->flags;
		row->pods = n->pods;
		row->name_offset = node_name(n).offset;
		row->name_bytes = n->name_bytes;
		used_publish(ns, id);
		row_end(&row->version);
	}
	ns->behind_n = 0;
}
