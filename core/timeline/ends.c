/* SPDX-License-Identifier: Apache-2.0 */
/* Known ends, sorted by time and pod. */
#include "core/timeline/timeline_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint32_t ends_find(const struct timeline *t, uint64_t end_ns, pod_id pod)
{
	uint32_t low = 0, high = t->ends_n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct known_end *e = &t->ends[middle];

		if (e->end_ns < end_ns || (e->end_ns == end_ns && e->pod < pod))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t ends_until(const struct timeline *t, uint64_t at_ns)
{
	return at_ns == TIME_NEVER ? t->ends_n : ends_find(t, at_ns + 1, 0);
}

static void end_put(struct timeline *t, pod_id pod)
{
	const struct stay *s = &t->stays[pod];
	const uint32_t at = ends_find(t, s->end_ns, pod);

	if (t->ends_n == t->ends_room) {
		t->ends_room = t->ends_room * 2 + 256;
		t->ends = must_grow(t->ends, t->ends_room * sizeof(*t->ends));
	}
	memmove(&t->ends[at + 1], &t->ends[at], (t->ends_n - at) * sizeof(*t->ends));
	t->ends[at] =
		(struct known_end){ .end_ns = s->end_ns, .pod = pod, .node = s->node, .shape = s->shape };
	t->ends_n++;
}

static void end_take(struct timeline *t, pod_id pod)
{
	const uint32_t at = ends_find(t, t->stays[pod].end_ns, pod);

	assert(at < t->ends_n && t->ends[at].pod == pod);
	memmove(&t->ends[at], &t->ends[at + 1], (t->ends_n - at - 1) * sizeof(*t->ends));
	t->ends_n--;
}

static void note(struct timeline *t)
{
	t->changed = true;
	t->profile_old = true;
}

static void suspect(struct timeline *t, enum promise_move why, uint32_t who)
{
	if (t->suspect != MOVE_NONE && t->suspect != why)
		who = ID_NONE;
	t->suspect = why;
	t->suspect_who = who;
}

static uint64_t end_of(const struct timeline *t, const struct stay *s, uint32_t run_s)
{
	const uint64_t late_ns = s->bound ? 0 : late_start_ns(t);

	if (run_s == 0)
		return TIME_NEVER;
	return time_grain(t, time_add(time_add(s->since_ns, late_ns), run_s * NS_PER_S));
}

/* Sets when the stay ends, of a pod that has a node. */
static void stay_end(struct timeline *t, pod_id pod)
{
	struct stay *s = &t->stays[pod];
	const uint64_t before_ns = s->end_ns;

	if (before_ns != TIME_NEVER)
		end_take(t, pod);
	s->hard_ns = end_of(t, s, s->run_s);
	s->end_ns = end_of(t, s, s->expected_s);
	s->soft = s->end_ns < s->hard_ns;
	s->end_ns = s->due_ns = s->soft ? s->end_ns : s->hard_ns;
	if (s->evicted_ns > 0 && time_grain(t, s->evicted_ns) < s->end_ns) {
		s->end_ns = s->due_ns = time_grain(t, s->evicted_ns);
		s->soft = false;
	}
	if (s->end_ns != TIME_NEVER)
		end_put(t, pod);
	if (before_ns != TIME_NEVER && s->end_ns > before_ns)
		suspect(t, MOVE_END_OVERRUN, s->gang);
	t->profile_old = true;
}

void timeline_pod_set(struct timeline *t, pod_id pod, uint32_t run_s, uint32_t expected_s,
                      uint32_t since_s)
{
	struct stay *s = &t->stays[pod];
	/* One that has no node may be of a slot that another pod had. */
	const bool known = since_s > 0 || s->node == ID_NONE;
	const uint64_t since_ns = known ? since_s * NS_PER_S : s->since_ns;
	const bool bound = known ? since_s > 0 : s->bound;
	const uint64_t before_ns = s->end_ns;

	assert(pod < t->pods);
	if (s->run_s == run_s && s->expected_s == expected_s && s->since_ns == since_ns &&
	    s->bound == bound)
		return;
	s->run_s = run_s;
	s->expected_s = expected_s;
	s->since_ns = since_ns;
	s->bound = bound;
	if (s->node == ID_NONE)
		return;
	stay_end(t, pod);
	t->changed = true;
	t->edited = t->edited || s->end_ns != before_ns;
}

uint32_t timeline_length_s(const struct timeline *t, uint32_t run_s, uint32_t expected_s)
{
	return t->by_soft && expected_s > 0 && (run_s == 0 || expected_s < run_s) ? expected_s : run_s;
}

uint32_t timeline_run_s(const struct timeline *t, pod_id pod)
{
	return timeline_length_s(t, t->stays[pod].run_s, t->stays[pod].expected_s);
}

void timeline_pod_enter(struct timeline *t, const struct timeline_entry *entry, uint64_t now_ns)
{
	struct stay *s = &t->stays[entry->pod];

	assert(entry->pod < t->pods && entry->node != ID_NONE);
	assert(s->node == ID_NONE && s->end_ns == TIME_NEVER);
	s->node = entry->node;
	s->shape = entry->shape;
	s->gang = entry->gang;
	s->since_ns = s->since_ns > 0 ? s->since_ns : now_ns;
	stay_end(t, entry->pod);
	if (!entry->ours)
		suspect(t, MOVE_ROOM_TAKEN, s->gang);
}

void timeline_pod_leave(struct timeline *t, pod_id pod)
{
	struct stay *s = &t->stays[pod];

	assert(pod < t->pods);
	if (s->node == ID_NONE)
		return;
	if (s->end_ns != TIME_NEVER)
		end_take(t, pod);
	s->node = ID_NONE;
	s->end_ns = TIME_NEVER;
	s->since_ns = s->evicted_ns = 0;
	s->bound = false;
	note(t);
}

void timeline_pod_retain(struct timeline *t, pod_id pod)
{
	const struct stay *s = &t->stays[pod];

	if (s->node != ID_NONE && s->end_ns != TIME_NEVER)
		suspect(t, MOVE_END_OVERRUN, s->gang);
	timeline_pod_leave(t, pod);
}

void timeline_retained_end(struct timeline *t)
{
	note(t);
}

struct timeline_begun timeline_pod_begun(const struct timeline *t, pod_id pod)
{
	const struct stay *s = &t->stays[pod];

	return (struct timeline_begun){ .since_ns = s->since_ns,
		                            .evicted_ns = s->evicted_ns,
		                            .end_ns = s->end_ns,
		                            .due_ns = s->due_ns,
		                            .bound = s->bound };
}

void timeline_pod_goes_on(struct timeline *t, pod_id pod, const struct timeline_begun *begun)
{
	struct stay *s = &t->stays[pod];

	if (s->node == ID_NONE || (s->since_ns == begun->since_ns && s->bound == begun->bound &&
	                           s->evicted_ns == begun->evicted_ns))
		return;
	s->since_ns = begun->since_ns;
	s->bound = begun->bound;
	s->evicted_ns = begun->evicted_ns;
	stay_end(t, pod);
	if (s->end_ns == TIME_NEVER || s->due_ns != begun->due_ns || s->end_ns >= begun->end_ns)
		return;
	end_take(t, pod); /* it had outlived its end before */
	s->end_ns = begun->end_ns;
	if (s->end_ns != TIME_NEVER)
		end_put(t, pod);
}

void timeline_pod_evict(struct timeline *t, pod_id pod, uint64_t by_ns)
{
	struct stay *s = &t->stays[pod];

	assert(pod < t->pods);
	if (s->node == ID_NONE || s->evicted_ns == by_ns)
		return;
	s->evicted_ns = by_ns;
	stay_end(t, pod);
	t->changed = true;
}

void timeline_overran(struct timeline *t, uint32_t gang)
{
	suspect(t, MOVE_END_OVERRUN, gang);
}

static uint64_t time_floor(const struct timeline *t, uint64_t ns)
{
	return ns - ns % t->grain_ns;
}

static enum overrun overrun_of(const struct timeline *t, const struct stay *s)
{
	if (s->evicted_ns > 0 && s->due_ns == time_grain(t, s->evicted_ns))
		return OVERRUN_EVICTED;
	return s->soft ? OVERRUN_SOFT : OVERRUN_HARD;
}

/* A pod that outlives its end by a time is expected to stay for as long again, so that its end is
 * moved O(log) times; one that was only expected to end, not longer than the enforced one. */
void ends_overrun(struct timeline *t, uint64_t now_ns)
{
	t->overran_ns = now_ns;
	while (t->ends_n > 0 && t->ends[0].end_ns <= now_ns) {
		const pod_id pod = t->ends[0].pod;
		struct stay *s = &t->stays[pod];
		const uint64_t over_ns = now_ns - s->due_ns;

		end_take(t, pod);
		if (s->end_ns == s->due_ns && s->due_ns > t->counted_ns) /* else it was counted */
			t->counts.overruns[overrun_of(t, s)]++;
		s->end_ns = time_add(time_floor(t, now_ns),
		                     over_ns > t->grain_ns ? time_floor(t, over_ns) : t->grain_ns);
		if (s->soft && s->hard_ns > now_ns && s->hard_ns <= s->end_ns) {
			s->end_ns = s->due_ns = s->hard_ns;
			s->soft = false;
		}
		if (s->end_ns != TIME_NEVER)
			end_put(t, pod);
		suspect(t, MOVE_END_OVERRUN, s->gang);
		note(t);
	}
}

struct timeline *timeline_new(const struct limits *limits, const struct nodes *nodes,
                              const struct shapes *shapes, struct budget *budget, uint32_t depth,
                              uint64_t grain_ns, uint64_t window_ns, bool by_soft)
{
	struct timeline *t = must_alloc(sizeof(*t));

	assert(depth > 0 && grain_ns > 0 && window_ns > 0);
	t->nodes = nodes;
	t->shapes = shapes;
	t->budget = budget;
	t->depth = depth;
	t->grain_ns = grain_ns;
	t->window_ns = window_ns;
	t->by_soft = by_soft;
	t->pods = limits->pods;
	t->stays = must_array(limits->pods, sizeof(*t->stays));
	t->marks = must_array(limits->nodes / 64 + 1u, sizeof(*t->marks));
	t->slots = must_array((size_t)limits->gangs + limits->pods, sizeof(*t->slots));
	timeline_clear(t, 0);
	return t;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	free(t->stays);
	free(t->marks);
	free(t->slots);
	free(t->ends);
	for (uint32_t i = 0; i < t->promises_n; i++)
		free(t->promises[i].places);
	free(t->promises);
	free(t->profile.times);
	free(t->profile.free);
	free(t->free);
	free(t->starts);
	free(t->places);
	free(t->standing);
	free(t->fits);
	free(t->order);
	for (uint32_t i = 0; i < ROOMY_SHAPES; i++)
		free(t->roomy[i].nodes);
	free(t);
}

void timeline_clear(struct timeline *t, uint64_t now_ns)
{
	for (pod_id pod = 0; pod < t->pods; pod++)
		t->stays[pod] =
			(struct stay){ .end_ns = TIME_NEVER, .hard_ns = TIME_NEVER, .node = ID_NONE };
	for (uint32_t i = 0; i < t->promises_n; i++) {
		t->slots[t->promises[i].ask.gang] = 0;
		free(t->promises[i].places);
	}
	t->promises_n = t->ends_n = t->untold = t->order_n = t->order_at = 0;
	/* The new epoch lists the same pods.  In the first one, what had ended before is of an earlier
	 * core, which has counted it. */
	t->overran_ns = t->overran_ns > 0 ? t->overran_ns : now_ns;
	t->counted_ns = t->overran_ns;
	t->edited = t->queues_edited = false;
	t->suspect = MOVE_NONE;
	t->facts_version = 0;
	t->window_due_ns = TIME_NEVER;
	note(t);
}
