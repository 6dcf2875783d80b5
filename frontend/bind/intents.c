/* SPDX-License-Identifier: Apache-2.0 */
/* The binder and the journal: the intent of each binding, those of earlier instances, and those of
 * refused members. */
#include "frontend/bind/binder_impl.h"

#include "frontend/base/probe.h"
#include "frontend/bind/takeover.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_NS NS_PER_S
#define RENEW_NS (10 * NS_PER_MS) /* about as long as a PUT */

static struct intent *adopted_take(struct binder *w, pod_id pod, uint32_t generation)
{
	struct intent *i;

	if (pod >= w->adopted_n || w->adopted[pod].generation != generation)
		return NULL;
	i = w->adopted[pod].intent;
	w->adopted[pod] = (struct adopted){ 0 };
	w->intents_kept--;
	return i;
}

static struct intent *intent_add(const struct bind *b)
{
	const struct binder *w = b->binder;
	const char *node_uid = model_node_uid(w->config.model, b->cmd.node);
	const struct intent_line line = { .kind = INTENT_BIND,
		                              .uid = b->uid,
		                              .node = b->node,
		                              .node_uid = *node_uid ? node_uid : "-",
		                              .version = b->version };

	return journal_add(w->config.journal, &line);
}

/* A Binding that an earlier instance intended may be in flight, whatever the command is.  One for
 * another node replaces it, since the core has resolved it; to send none needs no intent. */
void intent_begin(struct bind *b)
{
	struct binder *w = b->binder;
	struct intent *found;

	if (!w->config.journal)
		return;
	found = adopted_take(w, b->cmd.pod, b->cmd.pod_generation);
	b->earlier = b->earlier || found;
	if (found && strcmp(intent_line(found)->node, b->node) != 0) {
		journal_remove(w->config.journal, found);
		found = NULL;
	}
	b->intent = found;
}

void intent_need(struct bind *b)
{
	if (b->binder->config.journal && !b->intent && !b->withdrawn)
		b->intent = intent_add(b);
}

/* False if the intent names another version of the pod: it does not any more, and b waits for the
 * PUT.  One that was sent before may still land, and so is not among those that can be dropped. */
bool intent_permits(struct bind *b)
{
	struct binder *w = b->binder;

	if (!b->intent)
		return true;
	if (strcmp(intent_line(b->intent)->version, b->version) != 0)
		intent_renew(w->config.journal, b->intent, b->version);
	if (intent_is_durable(w->config.journal, b->intent))
		return true;
	if (b->begun) {
		binder_later(b, STEP_POST, RENEW_NS);
	} else {
		w->queued++;
		TAILQ_INSERT_TAIL(&w->unwritten, b, link);
	}
	return false;
}

void intent_end(struct bind *b)
{
	if (b->intent)
		journal_remove(b->binder->config.journal, b->intent);
	b->intent = NULL;
}

/* True if the gang of the pod is partially bound, and so retains capacity.  Of its other members'
 * bindings the model knows a little later. */
static bool gang_retains(const struct binder *w, pod_id pod, const struct refused_at *at)
{
	struct pod_view view;
	struct gang_view gang;

	if (!model_pod(w->config.model, pod, at->generation, &view) || view.gang_id == ID_NONE)
		return false;
	return binder_now(w) < at->since_ns + LOOK_NS ||
	       (model_gang(w->config.model, view.gang_id,
	                   model_gang_generation(w->config.model, view.gang_id), &gang) &&
	        gang.pods.bound > 0 && gang.pods.bound < gang.quorum);
}

void intent_retain(struct bind *b, struct refused_at *at)
{
	struct binder *w = b->binder;

	at->since_ns = binder_now(w);
	if (!b->intent || !gang_retains(w, b->cmd.pod, at))
		return;
	if (journal_retain(w->config.journal, b->intent)) {
		at->intent = b->intent;
		w->intents_kept++;
	}
	b->intent = NULL;
}

void intent_forget_refused(struct binder *w, struct refused_at *at)
{
	if (!at->intent)
		return;
	journal_remove(w->config.journal, at->intent);
	w->intents_kept--;
	at->intent = NULL;
}

/* Not in the order of the list: a binding whose group was read is behind others, and its intent may
 * be before theirs.  A journal that is full of such intents takes theirs only when these end. */
void intents_ready(struct binder *w)
{
	struct bind *b, *after;
	uint64_t durable;

	if (TAILQ_EMPTY(&w->unwritten))
		return;
	durable = journal_counts(w->config.journal)->writes;
	if (w->durable_seen == durable)
		return;
	w->durable_seen = durable;
	for (b = TAILQ_FIRST(&w->unwritten); b; b = after) {
		after = TAILQ_NEXT(b, link);
		if (!intent_is_durable(w->config.journal, b->intent))
			continue;
		TAILQ_REMOVE(&w->unwritten, b, link);
		TAILQ_INSERT_TAIL(&w->queue, b, link);
	}
}

/* False once no Binding of an earlier instance can be applied to the pod, and the core did not
 * answer it. */
static bool adopted_waits(const struct binder *w, pod_id id, const struct adopted *a)
{
	struct pod_view pod;

	return model_pod(w->config.model, id, a->generation, &pod) && !pod.node[0] && !pod.deleting &&
	       !pod.gated;
}

uint64_t intents_look(struct binder *w)
{
	const uint64_t now = binder_now(w);

	if (w->intents_kept == 0)
		return NEVER_NS;
	if (now < w->intents_look_ns)
		return w->intents_look_ns;
	w->intents_look_ns = now + LOOK_NS;
	for (pod_id id = 0; id < w->adopted_n; id++) {
		const struct adopted *a = &w->adopted[id];

		if (a->generation == 0 || adopted_waits(w, id, a))
			continue;
		model_bind_end(w->config.model, id, a->generation);
		journal_remove(w->config.journal, adopted_take(w, id, a->generation));
	}
	for (pod_id id = 0; id < w->refused_n; id++) {
		struct refused_at *at = &w->refused[id];

		if (at->intent && (!refused_waits(w, id, at) || !gang_retains(w, id, at)))
			intent_forget_refused(w, at);
	}
	return w->intents_look_ns;
}

/* The intents of earlier instances with their pods. */

struct found {
	struct intent *intent;
	pod_id pod;
	uint32_t generation; /* 0: no such pod */
};

struct search {
	struct found *at; /* by uid */
	size_t n;
	struct takeover *takeover;
	intent_take *take;
	void *context;
};

static int by_uid(const void *a, const void *b)
{
	const struct found *left = a, *right = b;

	return strcmp(intent_line(left->intent)->uid, intent_line(right->intent)->uid);
}

/* A Binding after the refusal of one before it. */
static int by_uid_retained_first(const void *a, const void *b)
{
	const struct found *left = a, *right = b;
	const int order = by_uid(a, b);

	return order ? order
	             : (int)intent_line(right->intent)->kind - (int)intent_line(left->intent)->kind;
}

static void pod_match(void *context, const struct pod_view *pod)
{
	const struct search *s = context;
	size_t from = 0, to = s->n;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (strcmp(intent_line(s->at[middle].intent)->uid, pod->uid) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < s->n && strcmp(intent_line(s->at[from].intent)->uid, pod->uid) == 0; from++) {
		s->at[from].pod = pod->id;
		s->at[from].generation = pod->generation;
	}
}

static void keep_adopted(struct binder *w, const struct found *f)
{
	struct intent *before;

	w->adopted = must_reach(w->adopted, &w->adopted_n, f->pod, 1024, sizeof(*w->adopted));
	before = adopted_take(w, f->pod, f->generation);
	if (before)
		journal_remove(w->config.journal, before);
	if (f->pod < w->refused_n)
		binder_forget_refused(w, f->pod);
	w->adopted[f->pod] = (struct adopted){ .generation = f->generation, .intent = f->intent };
	w->intents_kept++;
}

static void keep_refused(struct binder *w, const struct found *f, node_id node)
{
	w->refused = must_reach(w->refused, &w->refused_n, f->pod, 1024, sizeof(*w->refused));
	binder_forget_refused(w, f->pod);
	w->refused[f->pod] =
		(struct refused_at){ .generation = f->generation,
		                     .node = node,
		                     .node_generation = model_node_generation(w->config.model, node),
		                     .intent = f->intent };
	w->intents_kept++;
}

/* By name: a Binding names no uid.  Another uid means another machine, for which the plan was not
 * made: the Binding is not sent again. */
static void resolve_on(struct binder *w, const struct found *f, node_id node)
{
	const struct intent_line *line = intent_line(f->intent);
	const bool same = strcmp(line->node_uid, "-") == 0 ||
	                  strcmp(line->node_uid, model_node_uid(w->config.model, node)) == 0;
	uint32_t intent = same ? POD_INTENT_BIND : POD_INTENT_CANCEL;

	if (line->kind == INTENT_RETAIN) {
		if (!same) {
			journal_remove(w->config.journal, f->intent);
			return;
		}
		intent = POD_INTENT_RETAIN;
		keep_refused(w, f, node);
	} else {
		keep_adopted(w, f);
	}
	PROBE(intent_found, f->pod, f->generation, node, intent);
	model_intend(w->config.model, f->pod, f->generation, node, intent);
}

/* Of a pod that is ours meanwhile no other scheduler's reservation is kept, and of one that is not
 * no nomination. */
static void resolve_taken(struct binder *w, const struct search *s, const struct found *f,
                          bool ours)
{
	if (s->take && ours == (intent_line(f->intent)->kind == INTENT_NOMINATE))
		s->take(s->context, f->intent, f->pod, f->generation);
	else
		journal_remove(w->config.journal, f->intent);
}

static void resolve(struct binder *w, const struct search *s, const struct found *f)
{
	const struct intent_line *line = intent_line(f->intent);
	struct pod_view pod;
	node_id node;

	if (f->generation == 0 || !model_pod(w->config.model, f->pod, f->generation, &pod) ||
	    pod.node[0] || pod.deleting || pod.gated) {
		journal_remove(w->config.journal, f->intent);
		return;
	}
	if (line->kind == INTENT_ASSUME || line->kind == INTENT_NOMINATE) {
		resolve_taken(w, s, f, pod.ours);
		return;
	}
	node = model_node_id(w->config.model,
	                     (struct text){ .at = line->node, .bytes = strlen(line->node) });
	if (node != ID_NONE) {
		resolve_on(w, f, node);
	} else if (line->kind == INTENT_BIND && pod.ours) {
		keep_adopted(w, f);
		w->adopted[f->pod].nowhere = true; /* binder_fenced() */
		takeover_add(s->takeover, &pod);
	} else {
		journal_remove(w->config.journal, f->intent);
	}
}

void binder_fenced(struct binder *w)
{
	for (pod_id id = 0; id < w->adopted_n; id++)
		if (w->adopted[id].generation != 0 && w->adopted[id].nowhere)
			journal_remove(w->config.journal, adopted_take(w, id, w->adopted[id].generation));
}

void binder_take_over(struct binder *w, struct takeover *t, intent_take *take, void *context)
{
	struct search s = { .takeover = t, .take = take, .context = context };
	size_t cap = 0;

	for (struct intent *i = journal_first(w->config.journal); i; i = journal_next(i)) {
		s.at = must_reach(s.at, &cap, s.n, 64, sizeof(*s.at));
		s.at[s.n++].intent = i;
	}
	if (s.n == 0)
		return;
	qsort(s.at, s.n, sizeof(*s.at), by_uid_retained_first);
	model_each_pod(w->config.model, pod_match, &s);
	for (size_t i = 0; i < s.n; i++)
		resolve(w, &s, &s.at[i]);
	env_log(w->config.env, "info",
	        "the journal had %zu intents of an earlier instance, %zu may be in flight", s.n,
	        journal_size(w->config.journal));
	free(s.at);
}
