/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/trace/latency.h"

#include "frontend/base/log.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_NS (300 * NS_PER_S)
#define PART 1024u /* slots */

enum mark {
	MARK_READ,
	MARK_TAKEN,
	MARK_SENT,
	MARK_BEGUN,
	MARK_PUBLISHED,
	MARK_COMMANDED,
	MARK_POSTED,
	MARK_ANSWERED,
	MARKS
};

/* SLOT_FREE: the pod of that slot is not tracked.  SLOT_SEEN: nor is this one any more, and its
 * times can still be read. */
enum slot_state { SLOT_FREE, SLOT_SEEN, SLOT_WAITS, SLOT_BINDS, SLOT_BOUND };

struct latency_slot {
	pod_id id;
	uint32_t generation;
	node_id node;   /* its target, while it binds and afterwards */
	uint32_t tries; /* before this one */
	uint8_t state;
	uint8_t queue;      /* enum pod_queue, while it waits */
	bool seen;          /* bound on the watch before the answer came */
	uint64_t at[MARKS]; /* 0: not yet */
};

struct latency {
	struct latency_figures figures;
	struct latency_slot *parts[LATENCY_SLOTS / PART]; /* made as ids are used */
};

const char *const stage_names[STAGES] = {
	[STAGE_EXTRACT] = "extract", [STAGE_SEND] = "send",   [STAGE_WAIT] = "wait",
	[STAGE_PLAN] = "plan",       [STAGE_RING] = "ring",   [STAGE_QUEUE] = "queue",
	[STAGE_BIND] = "bind",       [STAGE_WATCH] = "watch", [STAGE_OURS] = "ours",
	[STAGE_TOTAL] = "total",     [STAGE_SERVE] = "serve",
};
const char *const stage_texts[STAGES] = {
	[STAGE_EXTRACT] = "from the bytes of the watch to an object",
	[STAGE_SEND] = "until the core can see it",
	[STAGE_WAIT] = "for its gang's members and for room",
	[STAGE_PLAN] = "plan and reserve, with the others of its turn",
	[STAGE_RING] = "until the frontend read the binding",
	[STAGE_QUEUE] = "for a connection to the API server",
	[STAGE_BIND] = "until the API server answered",
	[STAGE_WATCH] = "until the watch shows it bound",
	[STAGE_OURS] = "from the watch to the answer, without wait",
	[STAGE_TOTAL] = "from the watch to the answer",
	[STAGE_SERVE] = "from the second of its creation to the watch",
};
const char *const pod_queue_names[POD_QUEUES] = {
	[QUEUE_ACTIVE] = "active",
	[QUEUE_BACKOFF] = "backoff",
	[QUEUE_UNSCHEDULABLE] = "unschedulable",
	[QUEUE_GATED] = "gated",
	[QUEUE_INCOMPLETE] = "incomplete",
};
const char *const attempt_names[ATTEMPTS] = {
	[ATTEMPT_SCHEDULED] = "scheduled",
	[ATTEMPT_UNSCHEDULABLE] = "unschedulable",
	[ATTEMPT_ERROR] = "error",
};

struct latency *latency_new(void)
{
	return must_alloc(sizeof(struct latency));
}

void latency_free(struct latency *l)
{
	for (size_t i = 0; i < sizeof(l->parts) / sizeof(l->parts[0]); i++)
		free(l->parts[i]);
	free(l);
}

const struct latency_figures *latency_figures(const struct latency *l)
{
	return &l->figures;
}

/* NULL: no id of that part was used yet. */
static struct latency_slot *slot_at(const struct latency *l, pod_id id)
{
	struct latency_slot *part = l->parts[id % LATENCY_SLOTS / PART];

	return part ? &part[id % PART] : NULL;
}

static struct latency_slot *slot_make(struct latency *l, pod_id id)
{
	struct latency_slot **part = &l->parts[id % LATENCY_SLOTS / PART];

	if (!*part)
		*part = must_array(PART, sizeof(**part));
	return slot_at(l, id);
}

static struct latency_slot *slot_of(struct latency *l, pod_id id, uint32_t generation)
{
	struct latency_slot *s = slot_at(l, id);

	return s && s->state > SLOT_SEEN && s->id == id && s->generation == generation ? s : NULL;
}

static void slot_leave_queue(struct latency *l, const struct latency_slot *s)
{
	if (s->state == SLOT_WAITS)
		l->figures.pending[s->queue]--;
}

static void slot_wait(struct latency *l, struct latency_slot *s, enum pod_queue queue)
{
	slot_leave_queue(l, s);
	s->state = SLOT_WAITS;
	s->queue = (uint8_t)queue;
	l->figures.pending[queue]++;
}

static void slot_free(struct latency *l, struct latency_slot *s)
{
	slot_leave_queue(l, s);
	s->state = SLOT_FREE;
}

static void slot_begin(struct latency *l, const struct pod_put *p, uint64_t heard_ns,
                       uint64_t now_ns)
{
	struct latency_slot *s = slot_make(l, p->id);

	if (s->state > SLOT_SEEN) {
		/* The same id with another generation: its last pod is gone, and its drop follows. */
		if (s->id != p->id) {
			l->figures.not_followed++;
			return;
		}
		slot_free(l, s);
	}
	*s = (struct latency_slot){ .id = p->id, .generation = p->generation, .node = ID_NONE };
	slot_wait(l, s, p->gated ? QUEUE_GATED : QUEUE_ACTIVE);
	s->at[MARK_READ] = heard_ns;
	s->at[MARK_TAKEN] = now_ns;
}

static uint64_t between(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void stages_of(const struct latency_slot *s, uint64_t ns[STAGES])
{
	for (int i = STAGE_EXTRACT; i <= STAGE_BIND; i++)
		ns[i] = between(s->at[i], s->at[i + 1]);
	ns[STAGE_TOTAL] = between(s->at[MARK_READ], s->at[MARK_ANSWERED]);
	ns[STAGE_OURS] = between(ns[STAGE_WAIT], ns[STAGE_TOTAL]);
}

static void stage_add(struct latency *l, enum stage stage, uint64_t ns)
{
	histogram_add(&l->figures.stages[stage], &buckets_fine, ns);
}

static void node_check(struct latency *l, const struct latency_slot *s, node_id seen)
{
	l->figures.checks++;
	l->figures.wrong += seen != s->node;
}

static struct latency_story *slowest_place(struct latency *l, const uint64_t ns[STAGES],
                                           uint64_t now_ns)
{
	struct latency_slowest *w = &l->figures.slowest[0];
	uint32_t at;

	if (now_ns - w->since_ns >= WINDOW_NS) {
		if (now_ns - w->since_ns < 2 * WINDOW_NS)
			l->figures.slowest[1] = *w;
		else
			l->figures.slowest[1].n = 0;
		w->n = 0;
		w->since_ns = now_ns;
	}
	for (at = w->n; at > 0 && w->at[at - 1].ns[STAGE_OURS] < ns[STAGE_OURS]; at--)
		;
	if (at == LATENCY_SLOWEST)
		return NULL;
	if (w->n < LATENCY_SLOWEST)
		w->n++;
	memmove(&w->at[at + 1], &w->at[at], (w->n - 1 - at) * sizeof(w->at[0]));
	memset(&w->at[at], 0, sizeof(w->at[at]));
	return &w->at[at];
}

static struct latency_profile *profile_of(struct latency *l, const char *scheduler)
{
	struct latency_figures *f = &l->figures;

	for (uint32_t i = 0; i < f->profiles_n; i++)
		if (strcmp(f->profiles[i].name, scheduler) == 0)
			return &f->profiles[i];
	if (f->profiles_n == LATENCY_PROFILES)
		return &f->profiles[LATENCY_PROFILES - 1];
	snprintf(f->profiles[f->profiles_n].name, sizeof(f->profiles[0].name), "%s", scheduler);
	return &f->profiles[f->profiles_n++];
}

void latency_put(struct latency *l, const struct pod_put *p, uint64_t heard_ns, uint64_t now_ns)
{
	struct latency_slot *s = slot_of(l, p->id, p->generation);

	if (!s) {
		if (!p->ours || p->node != ID_NONE)
			return;
		slot_begin(l, p, heard_ns, now_ns);
		if (p->served_ns != LATENCY_NOT_SERVED)
			stage_add(l, STAGE_SERVE, p->served_ns);
		return;
	}
	if (p->node == ID_NONE) {
		if (s->state == SLOT_WAITS && s->queue == QUEUE_GATED && !p->gated)
			slot_begin(l, p, heard_ns, now_ns); /* schedulable from now on */
		return;
	}
	if (s->state == SLOT_BINDS) {
		s->seen = true; /* the answer is still missing */
		node_check(l, s, p->node);
		return;
	}
	if (s->state == SLOT_BOUND) {
		node_check(l, s, p->node);
		stage_add(l, STAGE_WATCH, between(s->at[MARK_ANSWERED], heard_ns));
	} else {
		l->figures.elsewhere++;
		slot_free(l, s);
		return;
	}
	s->state = SLOT_SEEN;
}

void latency_sent(struct latency *l, pod_id id, uint32_t generation, uint64_t now_ns)
{
	struct latency_slot *s = slot_of(l, id, generation);

	if (s && s->at[MARK_SENT] == 0)
		s->at[MARK_SENT] = now_ns;
}

void latency_dropped(struct latency *l, pod_id id, uint32_t generation)
{
	struct latency_slot *s = slot_of(l, id, generation);

	if (s)
		slot_free(l, s);
}

static enum pod_queue queue_of(enum wait_reason why)
{
	switch (why) {
	case WAIT_GROUP_MISSING:
	case WAIT_MEMBERS:
	case WAIT_ROLE:
		return QUEUE_INCOMPLETE;
	case WAIT_GATED:
		return QUEUE_GATED;
	case WAIT_BIND_REFUSED:
		return QUEUE_BACKOFF;
	default:
		return QUEUE_UNSCHEDULABLE;
	}
}

void latency_told(struct latency *l, pod_id id, uint32_t generation, enum wait_reason why,
                  const char *scheduler)
{
	struct latency_slot *s = slot_of(l, id, generation);

	/* A scheduling gate is the pod's own; while a gang waits for the gates of others, its pods
	 * count as incomplete. */
	if (!s || s->state != SLOT_WAITS || s->queue == QUEUE_GATED)
		return;
	slot_wait(l, s, why == WAIT_GATED ? QUEUE_INCOMPLETE : queue_of(why));
	s->tries++;
	profile_of(l, scheduler)->attempts[ATTEMPT_UNSCHEDULABLE]++;
}

void latency_commanded(struct latency *l, const struct cmd_bind *cmd, uint64_t begun_ns,
                       uint64_t published_ns, uint64_t now_ns)
{
	struct latency_slot *s = slot_of(l, cmd->pod, cmd->pod_generation);

	if (!s || s->state != SLOT_WAITS)
		return;
	slot_leave_queue(l, s);
	s->state = SLOT_BINDS;
	s->node = cmd->node;
	s->seen = false;
	if (begun_ns < s->at[MARK_SENT]) /* a plan that had started when it arrived */
		begun_ns = s->at[MARK_SENT];
	s->at[MARK_BEGUN] = begun_ns = begun_ns < now_ns ? begun_ns : now_ns;
	if (published_ns < begun_ns)
		published_ns = begun_ns;
	s->at[MARK_PUBLISHED] = published_ns < now_ns ? published_ns : now_ns;
	s->at[MARK_COMMANDED] = now_ns;
	s->at[MARK_POSTED] = 0;
}

void latency_posted(struct latency *l, const struct cmd_bind *cmd, uint64_t now_ns)
{
	struct latency_slot *s = slot_of(l, cmd->pod, cmd->pod_generation);

	if (s && s->state == SLOT_BINDS && s->at[MARK_POSTED] == 0)
		s->at[MARK_POSTED] = now_ns;
}

void latency_refused(struct latency *l, const struct cmd_bind *cmd, bool error,
                     const char *scheduler)
{
	struct latency_slot *s = slot_of(l, cmd->pod, cmd->pod_generation);

	if (error)
		profile_of(l, scheduler)->attempts[ATTEMPT_ERROR]++;
	if (!s || s->state != SLOT_BINDS)
		return;
	s->tries++;
	slot_wait(l, s, QUEUE_BACKOFF);
}

struct latency_story *latency_bound(struct latency *l, const struct cmd_bind *cmd,
                                    const char *scheduler, uint64_t now_ns)
{
	struct latency_slot *s = slot_of(l, cmd->pod, cmd->pod_generation);
	struct latency_profile *profile = profile_of(l, scheduler);
	struct latency_story *story;
	uint64_t ns[STAGES] = { 0 };
	uint32_t tries;

	profile->attempts[ATTEMPT_SCHEDULED]++;
	if (!s || s->state != SLOT_BINDS)
		return NULL;
	s->at[MARK_ANSWERED] = now_ns;
	if (s->at[MARK_POSTED] == 0) /* already in place when it was to be sent */
		s->at[MARK_POSTED] = now_ns;
	stages_of(s, ns);
	for (int i = 0; i < STAGES; i++)
		if (i != STAGE_WATCH && i != STAGE_SERVE)
			stage_add(l, (enum stage)i, ns[i]);
	tries = s->tries + 1;
	histogram_add(&l->figures.tries, &buckets_tries, tries);
	histogram_add(&l->figures.sli[(tries < LATENCY_TRIES ? tries : LATENCY_TRIES) - 1],
	              &buckets_sli, ns[STAGE_TOTAL]);
	histogram_add(&profile->took, &buckets_attempt, between(s->at[MARK_BEGUN], now_ns));
	if (s->seen) {
		stage_add(l, STAGE_WATCH, 0);
		s->state = SLOT_SEEN;
	} else {
		s->state = SLOT_BOUND;
	}
	story = slowest_place(l, ns, now_ns);
	if (!story)
		return NULL;
	memcpy(story->ns, ns, sizeof(ns));
	story->ended_ns = now_ns;
	story->tries = tries;
	return story;
}

uint64_t latency_read_ns(const struct latency *l, pod_id id, uint32_t generation)
{
	const struct latency_slot *s = slot_at(l, id);

	return s && s->state > SLOT_SEEN && s->id == id && s->generation == generation
	           ? s->at[MARK_READ]
	           : 0;
}

bool latency_times(const struct latency *l, pod_id id, uint32_t generation, uint64_t now_ns,
                   struct latency_times *out)
{
	const struct latency_slot *s = slot_at(l, id);
	int mark = MARK_TAKEN, last;

	if (!s || s->state == SLOT_FREE || s->id != id || s->generation != generation)
		return false;
	*out = (struct latency_times){ .read_ns = s->at[MARK_READ] };
	/* Marks of an attempt that was refused stay until the next one. */
	last = s->state == SLOT_WAITS ? MARK_SENT : MARK_ANSWERED;
	for (; mark <= last && s->at[mark] != 0; mark++)
		out->ns[mark - 1] = between(s->at[mark - 1], s->at[mark]);
	out->stage = (uint32_t)mark - 1;
	if (mark <= MARK_ANSWERED)
		out->ns[mark - 1] = between(s->at[mark - 1], now_ns);
	return true;
}
