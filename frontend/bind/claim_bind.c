/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/claim_bind_impl.h"

#include "frontend/bind/binder.h"
#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (60 * NS_PER_S)
#define AGAIN_MS 20u    /* the next plan knows more */
#define OTHERS_MS 5000u /* what stands in the way is not given back */
#define BUSY_MS 1000u
#define WRITES_AT_ONCE 32u
#define LOOK_NS NS_PER_S
#define PREFIX "running PreBind plugin \"DynamicResources\": "

void pod_claims_fail(struct pod_claims *w, const char *format, ...)
{
	int n = snprintf(w->why.text, sizeof(w->why.text), PREFIX);
	va_list args;

	if (w->failed)
		return;
	va_start(args, format);
	vsnprintf(w->why.text + n, sizeof(w->why.text) - (size_t)n, format, args);
	va_end(args);
	w->failed = true;
	w->cb->counts.failed++;
}

bool claim_item_view(struct claim_item *c, struct live_claim_view *v)
{
	const struct pod_claims *w = c->work;

	if (c->extended)
		return claim_extended_view(c, v);
	/* What is reserved for another pod that has the slot by now is not ours. */
	return model_pod_generation(w->cb->model, w->pod) == w->generation &&
	       live_claim(w->cb->live, w->pod, c->index, v) && strcmp(v->uid, c->uid) == 0;
}

/* The allocation that it has now is of the nodes of the one that was written, as far as the API
 * server's own fields let that be compared. */
static bool is_as_written(const struct claim_item *c, const struct live_claim_view *v)
{
	char *node = c->allocation && v->node ? live_allocated_node(c->allocation) : NULL;
	const bool same = node && strcmp(v->node, node) == 0;

	free(node);
	return same;
}

static enum claim_want judge_undo(const struct claim_item *c, const struct live_claim_view *v)
{
	const bool ours =
		c->unready || is_as_written(c, v) || (c->work->recovered && (v->owned || v->reserved));

	if (!v->allocated)
		return (c->work->recovered || c->unsure) && !c->fenced ? WANT_FENCE : WANT_NOTHING;
	if (v->reserved)
		return ours && !v->others ? WANT_CLEAR : WANT_UNRESERVE;
	return ours && !v->others && (v->owned || c->unready) ? WANT_CLEAR : WANT_NOTHING;
}

/* By another scheduler, for nodes of which none is ours. */
static bool is_elsewhere(const struct pod_claims *w, const struct live_claim_view *v)
{
	if (v->node[0])
		return strcmp(v->node, w->node) != 0;
	return v->selector && !live_selector_takes(w->cb->live, v->selector, w->node);
}

enum claim_want claim_item_needs(struct claim_item *c, const struct live_claim_view *v)
{
	struct pod_claims *w = c->work;

	if (v->deleting) {
		pod_claims_fail(w, "claim %s got deleted in the meantime", c->name);
	} else if (!v->allocated && (c->seen || !c->allocation)) {
		pod_claims_fail(w, "claim %s got deallocated in the meantime", c->name);
	} else if (v->allocated && is_elsewhere(w, v)) {
		pod_claims_fail(w, "claim %s got allocated elsewhere in the meantime", c->name);
		w->why.retry_ms = AGAIN_MS;
	} else if (!v->finalizer) {
		return WANT_FINALIZER;
	} else if (!v->allocated) {
		return WANT_ALLOCATE;
	} else if (!v->reserved) {
		return WANT_RESERVE;
	}
	return WANT_NOTHING;
}

bool claim_item_left(const struct claim_item *c, struct live_claim_view *v)
{
	const struct pod_claims *w = c->work;

	return c->uid && live_claim_named(w->cb->live, w->namespace, c->name, w->pod_uid, v) &&
	       strcmp(v->uid, c->uid) == 0;
}

enum claim_want claim_item_judge_left(struct claim_item *c)
{
	struct live_claim_view v;

	if (!c->work->undoing)
		pod_claims_fail(c->work, "claim %s got deleted in the meantime", c->name);
	else if (c->unsure && !c->fenced && claim_item_left(c, &v) && !v.allocated)
		return WANT_FENCE;
	return WANT_NOTHING;
}

/* By what is known of the claim. */
static enum claim_want claim_item_judge(struct claim_item *c)
{
	struct live_claim_view v;

	if (c->call || c->to_read || c->refused)
		return WANT_NOTHING;
	if (c->extended)
		return claim_extended_judge(c);
	if (!claim_item_view(c, &v))
		return claim_item_judge_left(c);
	/* What was given back since may be another's: it is not written again. */
	c->seen = c->seen || v.allocated;
	if (c->work->undoing)
		return judge_undo(c, &v);
	return c->work->started && !c->work->failed ? claim_item_needs(c, &v) : WANT_NOTHING;
}

/* Devices by command. */

void claim_bind_devices(struct claim_bind *cb, const struct cmd_devices *cmd,
                        const struct device_pick *picks)
{
	struct kept_devices *k = must_alloc(sizeof(*k) + cmd->picks_n * sizeof(*picks));

	k->head = *cmd;
	memcpy(k->picks, picks, cmd->picks_n * sizeof(*picks));
	cb->kept = must_reach(cb->kept, &cb->kept_n, cmd->pod, 256, sizeof(struct kept_devices *));
	free(cb->kept[cmd->pod]);
	cb->kept[cmd->pod] = k;
}

static void kept_forget(struct claim_bind *cb, pod_id pod)
{
	if (pod >= cb->kept_n)
		return;
	free(cb->kept[pod]);
	cb->kept[pod] = NULL;
}

/* The kind. */

static bool any(void *context)
{
	return live_pods(((const struct claim_bind *)context)->live) > 0;
}

static bool wants(void *context, pod_id pod, uint32_t generation)
{
	return live_wants(((const struct claim_bind *)context)->live, pod);
}

struct claim_item claim_item_of(struct pod_claims *w)
{
	return (struct claim_item){
		.work = w,
		.backoff = { .first_ns = 20 * NS_PER_MS, .cap_ns = 5 * NS_PER_S, .reset_ns = 60 * NS_PER_S }
	};
}

/* All claims of the pod that exist. */
static struct pod_claims *work_make(struct claim_bind *cb, const struct prebind_member *m)
{
	const uint32_t n = live_claims_n(cb->live, m->pod);
	struct pod_claims *w = must_alloc(sizeof(*w) + (n + 1) * sizeof(w->items[0]));

	w->cb = cb;
	w->pod = m->pod;
	w->generation = m->generation;
	w->namespace = must_copy(m->namespace);
	w->pod_name = must_copy(m->name);
	w->pod_uid = must_copy(m->uid);
	w->node = must_copy(m->node_name);
	for (uint32_t i = 0; i < n; i++) {
		struct claim_item *c = &w->items[w->n];
		struct live_claim_view v;
		bool known = false;

		if (!live_claim(cb->live, m->pod, i, &v))
			continue;
		for (uint32_t k = 0; k < w->n; k++)
			known = known || strcmp(w->items[k].uid, v.uid) == 0;
		if (known)
			continue;
		*c = claim_item_of(w);
		c->index = i;
		c->name = must_copy(v.name);
		c->uid = must_copy(v.uid);
		c->extended = c->drop = v.extended;
		w->n++;
	}
	TAILQ_INSERT_TAIL(&cb->works, w, link);
	return w;
}

static void work_free(struct pod_claims *w)
{
	struct claim_bind *cb = w->cb;

	for (uint32_t i = 0; i < w->n; i++) {
		struct claim_item *c = &w->items[i];

		if (c->call) {
			cb->env->transport->ops->cancel(cb->env->transport, c->call);
			cb->flying--;
		}
		free(c->name);
		free(c->uid);
		free(c->spec);
		free(c->allocation);
	}
	if (!w->recovered)
		live_written(cb->live, w->pod, w->pod_uid);
	TAILQ_REMOVE(&cb->works, w, link);
	free(w->namespace);
	free(w->pod_name);
	free(w->pod_uid);
	free(w->node);
	free(w);
}

static void allocation_take(void *context, const char *claim, const char *allocation)
{
	struct pod_claims *w = context;

	for (uint32_t i = 0; i < w->n; i++)
		if (w->items[i].spec ? strcmp(claim, LIVE_EXTENDED_NAME) == 0
		                     : strcmp(w->items[i].name, claim) == 0)
			w->items[i].allocation = must_copy(allocation);
}

/* The first work for the same claim, which several pods name, of which it is true; NULL: none. */
static const struct claim_item *consumer_find(const struct claim_item *c,
                                              bool (*is)(const struct claim_item *c))
{
	const struct claim_bind *cb = c->work->cb;
	const struct pod_claims *w;

	if (c->extended || live_claim_pods(cb->live, c->work->pod, c->index) < 2)
		return NULL;
	TAILQ_FOREACH (w, &cb->works, link)
		for (uint32_t i = 0; i < w->n; i++)
			if (is(&w->items[i]) && w->items[i].uid && strcmp(w->items[i].uid, c->uid) == 0)
				return &w->items[i];
	return NULL;
}

static bool is_allocating(const struct claim_item *c)
{
	return c->allocation != NULL;
}

static bool is_in_flight(const struct claim_item *c)
{
	return c->call != NULL;
}

/* Another pod's work has allocated the claim: the pod that gives back last clears it. */
static void allocation_share(struct claim_item *c)
{
	const struct claim_item *other = c->allocation ? NULL : consumer_find(c, is_allocating);

	if (!other)
		return;
	c->allocation = must_copy(other->allocation);
	c->seen = true; /* it is not written: the devices are not held for this pod */
}

/* Every claim exists or is to be made, and is allocated or gets an allocation. */
static bool is_served(struct pod_claims *w)
{
	bool all = live_claims_exist(w->cb->live, w->pod);

	for (uint32_t i = 0; i < w->n; i++) {
		struct claim_item *c = &w->items[i];
		struct live_claim_view v;

		if (c->spec)
			all = all && c->allocation;
		else if (!c->drop)
			all = all && claim_item_view(c, &v) && (v.allocated || c->allocation);
	}
	return all;
}

static bool is_busy(const struct claim_bind *cb, pod_id pod)
{
	const struct pod_claims *w;

	TAILQ_FOREACH (w, &cb->works, link)
		if (w->pod == pod)
			return true;
	return false;
}

/* The model may have changed since the core chose; then it chooses again.  Nothing begins while
 * claims of the pod are being taken back: what that sees allocated it clears. */
static void *prepare(void *context, const struct prebind_member *m, struct prebind_why *why)
{
	struct claim_bind *cb = context;
	const struct kept_devices *k = m->pod < cb->kept_n ? cb->kept[m->pod] : NULL;
	const struct env *env = cb->env;
	struct pod_claims *w;

	if (is_busy(cb, m->pod)) {
		kept_forget(cb, m->pod);
		why->retry_ms = BUSY_MS;
		return NULL;
	}
	w = work_make(cb, m);
	claim_extended_prepare(w, claim_served(cb, m->pod, m->node));
	if (k && k->head.pod_generation == m->generation && k->head.node == m->node)
		live_writing(cb->live, m->pod, m->node_name, &k->head, k->picks, w->served,
		             (const uint64_t[]){ env->random(env->context), env->random(env->context) },
		             allocation_take, w);
	kept_forget(cb, m->pod);
	if (!is_served(w)) {
		why->retry_ms = AGAIN_MS;
	} else if (!pod_claims_start_unready(w, why)) {
		for (uint32_t i = 0; i < w->n; i++)
			allocation_share(&w->items[i]);
		return w;
	}
	work_free(w);
	return NULL;
}

static void start(void *context, void *work)
{
	struct pod_claims *w = work;

	w->started = true;
	w->written_ns = env_now(w->cb->env);
}

static bool look_undone(struct pod_claims *w)
{
	bool done = true;

	for (uint32_t i = 0; i < w->n; i++) {
		struct claim_item *c = &w->items[i];

		done = done && !c->call && !c->to_read && claim_item_judge(c) == WANT_NOTHING;
	}
	return done;
}

static bool has_others(struct claim_item *c)
{
	struct live_claim_view v;

	return claim_item_view(c, &v) && v.others;
}

/* kube-scheduler and others may allocate from the same slices, and the API server does not compare
 * claims: it is seen on the watch. */
bool claim_item_conflicts(struct claim_item *c)
{
	struct pod_claims *w = c->work;
	const char *device = c->drop ? NULL : live_conflict(w->cb->live, w->pod, c->index);

	if (!device)
		return false;
	w->cb->counts.conflicts++;
	if (log_allowed(&w->cb->limit, w->cb->env, "claims"))
		env_log(w->cb->env, "warn",
		        "device %s of resourceclaim %s/%s was given to another claim too, not by muster",
		        device, w->namespace, c->name);
	pod_claims_fail(w, "device %s of claim %s got allocated elsewhere in the meantime", device,
	                c->name);
	w->why.retry_ms = has_others(c) ? OTHERS_MS : AGAIN_MS;
	c->unready = true;
	return true;
}

static bool conflicts(struct pod_claims *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (claim_item_conflicts(&w->items[i]))
			return true;
	return false;
}

static enum prebind_state look(void *context, void *work, struct prebind_why *why)
{
	struct pod_claims *w = work;
	bool done = true;

	if (w->undoing)
		return look_undone(w) ? PREBIND_DONE : PREBIND_BUSY;
	for (uint32_t i = 0; i < w->n && !w->failed; i++) {
		struct claim_item *c = &w->items[i];

		done = done && !c->call && !c->to_read && claim_item_judge(c) == WANT_NOTHING;
	}
	if (done)
		w->written_ns = env_now(w->cb->env);
	else if (!w->suspended && env_now(w->cb->env) - w->written_ns >= TIMEOUT_NS)
		pod_claims_fail(w, "context deadline exceeded");
	if (!w->failed && done && !conflicts(w) && pod_claims_ready(w))
		return PREBIND_DONE;
	if (!w->failed)
		return PREBIND_BUSY;
	*why = w->why;
	return PREBIND_FAILED;
}

static void suspend(void *context, void *work, bool suspended)
{
	struct pod_claims *w = work;

	w->suspended = suspended;
	w->written_ns = env_now(w->cb->env);
}

static void undo(void *context, void *work)
{
	((struct pod_claims *)work)->undoing = true;
}

static void *find_written(void *context, const struct prebind_member *m)
{
	struct pod_claims *w = work_make(context, m);

	w->recovered = true;
	return w;
}

/* What the stage has given up to wait for is still taken back, and its devices stay taken. */
static void member_free(void *context, void *work)
{
	struct pod_claims *w = work;

	if (!w->undoing || look_undone(w)) {
		work_free(w);
		return;
	}
	w->own = true;
	/* The slot may be another pod's by now. */
	if (!w->recovered && model_pod_generation(w->cb->model, w->pod) == w->generation)
		live_writing_left(w->cb->live, w->pod);
}

/* Claims that are left. */

/* Made for extended resources; or allocated, and reserved for this pod; or without other consumers,
 * and made for this pod or of no use to any: its devices failed.  Pods that share a claim and all
 * wait give their reservations back one by one, and the last one the allocation. */
static bool has_left(const struct claim_bind *cb, pod_id pod)
{
	const uint32_t n = live_claims_n(cb->live, pod);
	struct live_claim_view v;

	for (uint32_t i = 0; i < n; i++)
		if (live_claim(cb->live, pod, i, &v) && !v.deleting &&
		    (v.extended ||
		     (v.allocated &&
		      (v.reserved || (!v.others && (v.owned || v.conditions == LIVE_FAILED))))))
			return true;
	return false;
}

static void give_back(struct claim_bind *cb, const struct pod_view *pod)
{
	const struct prebind_member m = { .pod = pod->id,
		                              .generation = pod->generation,
		                              .node_name = "",
		                              .namespace = pod->namespace,
		                              .name = pod->name,
		                              .uid = pod->uid };
	struct pod_claims *w = work_make(cb, &m);

	env_log(cb->env, "info",
	        "pod %s/%s waits, and its claims have been allocated for %u s: they are taken back",
	        pod->namespace, pod->name, CLAIM_KEPT_MS / 1000);
	w->recovered = w->undoing = w->own = true;
	for (uint32_t i = 0; i < w->n; i++) {
		struct live_claim_view v;

		w->items[i].fenced = true; /* nothing is in flight */
		w->items[i].unready = claim_item_view(&w->items[i], &v) && v.conditions == LIVE_FAILED;
		live_avoid(cb->live, w->pod, w->items[i].index,
		           env_now(cb->env) + CLAIM_AVOID_MS * NS_PER_MS);
	}
}

static void look_at(struct claim_bind *cb, const struct binder *binder, pod_id id, uint64_t now)
{
	uint32_t generation = model_pod_generation(cb->model, id);
	struct pod_view pod;

	cb->since = must_reach(cb->since, &cb->since_n, id, 256, sizeof(*cb->since));
	if (generation == 0 || !model_pod(cb->model, id, generation, &pod) || pod.node[0] ||
	    !pod.ours || binder_has(binder, id, generation) || model_pod_binds(cb->model, id) ||
	    is_busy(cb, id) || !has_left(cb, id)) {
		cb->since[id] = 0;
		return;
	}
	if (cb->since[id] == 0)
		cb->since[id] = now;
	else if (now - cb->since[id] > CLAIM_KEPT_MS * NS_PER_MS)
		give_back(cb, &pod);
}

static void look_each_second(struct claim_bind *cb, const struct binder *binder)
{
	const uint64_t now = env_now(cb->env);

	if (now < cb->look_ns)
		return;
	cb->look_ns = now + LOOK_NS;
	live_avoid_end(cb->live, now);
	for (pod_id id = 0; id < live_pods(cb->live); id++)
		if (live_claims_n(cb->live, id) > 0)
			look_at(cb, binder, id, now);
}

static void own_ended(struct claim_bind *cb)
{
	struct pod_claims *w, *after;

	for (w = TAILQ_FIRST(&cb->works); w; w = after) {
		after = TAILQ_NEXT(w, link);
		if (w->own && look_undone(w))
			work_free(w);
	}
}

/* Consumers of one claim write one after the other: each of their writes is of the version that the
 * one before has made. */
static bool is_behind(const struct claim_item *c)
{
	return consumer_find(c, is_in_flight) != NULL;
}

static uint64_t poll(void *context)
{
	struct claim_bind *cb = context;
	const uint64_t now = env_now(cb->env);
	uint64_t next = live_pods(cb->live) > 0 ? cb->look_ns : NEVER_NS;
	struct pod_claims *w;

	TAILQ_FOREACH (w, &cb->works, link)
		for (uint32_t i = 0; i < w->n && !w->suspended; i++) {
			struct claim_item *c = &w->items[i];
			enum claim_want want;

			if (c->due_ns > now) {
				next = c->due_ns < next ? c->due_ns : next;
				continue;
			}
			if (cb->flying >= WRITES_AT_ONCE)
				return next;
			if (c->to_read && !c->call)
				claim_item_read(c);
			else if ((want = claim_item_judge(c)) != WANT_NOTHING && !is_behind(c))
				claim_item_write(c, want);
		}
	own_ended(cb);
	return next;
}

uint64_t claim_bind_poll(struct claim_bind *cb, const struct binder *binder)
{
	if (live_pods(cb->live) > 0)
		look_each_second(cb, binder);
	return poll(cb);
}

void claim_bind_on_wait(struct claim_bind *cb, claim_waits_fn *fn, void *context)
{
	cb->waits = fn;
	cb->waits_context = context;
}

struct claim_bind *claim_bind_new(const struct env *env, struct model *model,
                                  uint64_t conditions_ns)
{
	struct claim_bind *cb = must_alloc(sizeof(*cb));

	cb->env = env;
	cb->model = model;
	cb->conditions_ns = conditions_ns;
	cb->live = model_live(model);
	cb->resource = model_resource_index(model, "resource.k8s.io/v1", "ResourceClaim");
	TAILQ_INIT(&cb->works);
	cb->kind = (struct prebind_kind){
		.name = "claims",
		.context = cb,
		.any = any,
		.wants = wants,
		.prepare = prepare,
		.start = start,
		.look = look,
		.suspend = suspend,
		.undo = undo,
		.recover = find_written,
		.free = member_free,
		.poll = poll,
	};
	return cb;
}

void claim_bind_free(struct claim_bind *cb)
{
	struct pod_claims *w;

	if (!cb)
		return;
	while ((w = TAILQ_FIRST(&cb->works)) != NULL)
		work_free(w);
	for (size_t i = 0; i < cb->kept_n; i++)
		free(cb->kept[i]);
	free(cb->kept);
	free(cb->since);
	jsonout_free(&cb->path);
	jsonout_free(&cb->body);
	free(cb);
}

const struct prebind_kind *claim_bind_kind(const struct claim_bind *cb)
{
	return &cb->kind;
}

const struct claim_bind_counts *claim_bind_counts(const struct claim_bind *cb)
{
	return &cb->counts;
}
