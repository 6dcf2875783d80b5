/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/volume_bind_impl.h"

#include "ipc/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AVOID_NS (60 * NS_PER_S)
#define AGAIN_MS 20u /* the next plan knows more */
#define WRITES_AT_ONCE 32u
#define PREFIX "running PreBind plugin \"VolumeBinding\": binding volumes: "

/* A pod and its claims. */
struct member_work {
	node_id node;
	const char *node_name; /* of struct prebind_member */
	bool undone;
	size_t n;
	struct claim_work *claims[];
};

static bool is(struct text t, const char *text)
{
	return text_is(t, text);
}

void claim_fail(struct claim_work *c, const char *format, ...)
{
	int n = snprintf(c->why.text, sizeof(c->why.text), PREFIX);
	va_list args;

	va_start(args, format);
	vsnprintf(c->why.text + n, sizeof(c->why.text) - (size_t)n, format, args);
	va_end(args);
	c->failed = true;
	c->vb->counts.failed++;
}

static struct volume_choice choice_of(const struct claim_work *c)
{
	return (struct volume_choice){ .namespace = text_of(c->namespace),
		                           .claim = text_of(c->name),
		                           .claim_uid = text_of(c->uid),
		                           .volume = text_of(c->volume) };
}

static void avoid_node(const struct claim_work *c)
{
	const struct volume_choice it = choice_of(c);

	volumes_avoid(c->vb->volumes, &it, VOLUME_PLACE_NODE, text_of(c->node_name),
	              env_now(c->vb->env) + AVOID_NS);
}

static bool is_ours(const struct claim_work *c, const struct volume_view *v)
{
	return v->has_claim && is(v->claim, c->name) && is(v->claim_namespace, c->namespace) &&
	       is(v->claim_uid, c->uid);
}

static enum claim_want judge_volume(struct claim_work *c)
{
	struct volume_view v;

	if (!volumes_volume(c->vb->volumes, text_of(c->volume), &v)) {
		claim_fail(c, "persistentvolume \"%s\" not found", c->volume);
	} else if (is_ours(c, &v)) {
		c->written = true;
	} else if (c->written) {
		claim_fail(c, "ClaimRef got reset for pv \"%s\"", c->volume);
	} else if (v.has_claim) {
		claim_fail(c, "pv \"%s\" was bound to another claim in the meantime", c->volume);
		c->why.retry_ms = AGAIN_MS;
	} else {
		return WANT_WRITE;
	}
	return WANT_NOTHING;
}

static enum claim_want judge_provision(struct claim_work *c, const struct volume_claim_view *v)
{
	if (v->has_selected_node && is(v->selected_node, c->node_name)) {
		c->written = true;
	} else if (c->written) {
		/* So says a provisioner that failed. */
		claim_fail(c, "provisioning failed for PVC \"%s\"", c->name);
		avoid_node(c);
	} else if (v->has_selected_node) {
		claim_fail(c, "selectedNode annotation of PVC \"%s\" was set to another node", c->name);
		c->why.retry_ms = AGAIN_MS;
	} else {
		return WANT_WRITE;
	}
	return WANT_NOTHING;
}

static enum claim_want judge_undo(struct claim_work *c, const struct volume_claim_view *v)
{
	struct volume_view pv;

	if (v->volume.bytes == 0 && c->volume[0] &&
	    volumes_volume(c->vb->volumes, text_of(c->volume), &pv) && is_ours(c, &pv))
		return WANT_UNDO;
	if (v->volume.bytes == 0 && !c->volume[0] && v->has_selected_node &&
	    is(v->selected_node, c->node_name))
		return WANT_UNDO;
	c->undone = true;
	return WANT_NOTHING;
}

/* By what is known of the claim's objects; sets written, failed or undone. */
static enum claim_want claim_judge(struct claim_work *c)
{
	struct volume_claim_view v;
	bool known;

	if (c->call || c->to_read || (claim_undoes(c) ? c->undone : c->failed || !c->started))
		return WANT_NOTHING;
	known = volumes_claim(c->vb->volumes, text_of(c->namespace), text_of(c->name), &v) &&
	        is(v.uid, c->uid);
	if (claim_undoes(c)) {
		if (known)
			return judge_undo(c, &v);
		c->undone = true;
		return WANT_NOTHING;
	}
	if (!known) {
		claim_fail(c, "persistentvolumeclaim \"%s\" not found", c->name);
		return WANT_NOTHING;
	}
	if (v.bound) {
		c->vb->counts.bound += !c->counted;
		c->counted = true;
		return WANT_NOTHING;
	}
	return c->volume[0] ? judge_volume(c) : judge_provision(c, &v);
}

static bool any(void *context)
{
	return volumes_waiting(((const struct volume_bind *)context)->volumes) > 0;
}

static bool wants(void *context, pod_id pod, uint32_t generation)
{
	return volumes_pod_waits(((const struct volume_bind *)context)->volumes, pod);
}

static char *copy(struct text t)
{
	char *to = must_alloc(t.bytes + 1);

	if (t.bytes > 0)
		memcpy(to, t.at, t.bytes);
	return to;
}

/* NULL: none that goes on.  Most claims are of one member: the list is not looked through for them,
 * or a gang whose members have many claims would take long. */
static struct claim_work *claim_find(const struct volume_bind *vb, struct text uid)
{
	struct claim_work *c;

	if (!volumes_are_busy(vb->volumes, uid))
		return NULL;
	TAILQ_FOREACH (c, &vb->claims, link)
		if (is(uid, c->uid) && !c->failed && c->undoers == 0)
			return c;
	return NULL;
}

/* The claim's work, with one more user; the first one says what it gets. */
static struct claim_work *claim_take(struct volume_bind *vb, const struct volume_choice *choice,
                                     const struct prebind_member *m)
{
	struct claim_work *c = claim_find(vb, choice->claim_uid);

	if (c) {
		c->users++;
		return c;
	}
	c = must_alloc(sizeof(*c));
	c->vb = vb;
	c->namespace = copy(choice->namespace);
	c->name = copy(choice->claim);
	c->uid = copy(choice->claim_uid);
	c->volume = copy(choice->volume);
	c->node_name = must_copy(m->node_name);
	c->node = m->node;
	c->users = 1;
	c->backoff = (struct backoff){ .first_ns = 20 * NS_PER_MS,
		                           .cap_ns = 5 * NS_PER_S,
		                           .reset_ns = 60 * NS_PER_S };
	if (c->volume[0])
		volumes_assume_for(vb->volumes, text_of(c->volume), text_of(c->uid));
	volumes_busy(vb->volumes, choice, true);
	c->space = choice->space;
	c->size = choice->size;
	if (c->space)
		volumes_plan_space(vb->volumes, c->space, c->size, true);
	TAILQ_INSERT_TAIL(&vb->claims, c, link);
	return c;
}

static void claim_give(struct claim_work *c)
{
	struct volume_bind *vb = c->vb;
	const struct volume_choice it = choice_of(c);

	if (--c->users > 0)
		return;
	if (c->call) {
		vb->env->transport->ops->cancel(vb->env->transport, c->call);
		vb->flying--;
	}
	if (c->volume[0])
		volumes_unassume(vb->volumes, text_of(c->volume), text_of(c->uid));
	if (c->space)
		volumes_plan_space(vb->volumes, c->space, c->size, false);
	volumes_busy(vb->volumes, &it, false);
	TAILQ_REMOVE(&vb->claims, c, link);
	free(c->namespace);
	free(c->name);
	free(c->uid);
	free(c->volume);
	free(c->node_name);
	free(c);
}

static struct member_work *member_make(struct volume_bind *vb, const struct prebind_member *m,
                                       enum filter_reason *why)
{
	struct volume_choice *choices;
	struct member_work *w;
	size_t n;

	arena_reset(&vb->arena);
	if (volumes_choose(vb->volumes, m->pod, m->node, &vb->arena, &choices, &n, why) < 0)
		return NULL;
	w = must_alloc(sizeof(*w) + n * sizeof(struct claim_work *));
	w->node = m->node;
	w->node_name = m->node_name;
	w->n = n;
	for (size_t i = 0; i < n; i++)
		w->claims[i] = claim_take(vb, &choices[i], m);
	return w;
}

/* There was a choice when the gang was planned: others took it meanwhile. */
static void *prepare(void *context, const struct prebind_member *m, struct prebind_why *why)
{
	struct volume_bind *vb = context;
	enum filter_reason reason;
	struct member_work *w = member_make(vb, m, &reason);

	if (w)
		return w;
	arena_reset(&vb->arena);
	volumes_avoid_assumed(vb->volumes, m->pod, m->node, &vb->arena, env_now(vb->env) + AVOID_NS);
	why->retry_ms = AGAIN_MS;
	return NULL;
}

static void *find_written(void *context, const struct prebind_member *m)
{
	enum filter_reason reason;

	return member_make(context, m, &reason);
}

static void start(void *context, void *work)
{
	const struct member_work *w = work;

	for (size_t i = 0; i < w->n; i++)
		w->claims[i]->started = true;
}

static enum prebind_state look_undone(const struct member_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct claim_work *c = w->claims[i];

		if (claim_undoes(c) && (claim_judge(c) != WANT_NOTHING || !c->undone))
			return PREBIND_BUSY;
	}
	return PREBIND_DONE;
}

/* The claim's volume can be used where this member is, which may not be what it was made for. */
static bool is_reached(const struct member_work *w, const struct claim_work *c,
                       const struct volume_claim_view *v, struct prebind_why *why)
{
	if (volumes_reaches(c->vb->volumes, v->volume, w->node))
		return true;
	snprintf(why->text, sizeof(why->text),
	         PREFIX "pv \"%.*s\" node affinity doesn't match node \"%s\": no matching "
	                "NodeSelectorTerms",
	         (int)v->volume.bytes, v->volume.at, w->node_name);
	why->retry_ms = AGAIN_MS;
	return false;
}

static enum prebind_state look(void *context, void *work, struct prebind_why *why)
{
	const struct volume_bind *vb = context;
	const struct member_work *w = work;
	enum prebind_state state = PREBIND_DONE;

	if (w->undone)
		return look_undone(w);
	for (size_t i = 0; i < w->n; i++) {
		struct claim_work *c = w->claims[i];
		struct volume_claim_view v;

		claim_judge(c);
		if (c->failed) {
			*why = c->why;
			return PREBIND_FAILED;
		}
		if (!volumes_claim(vb->volumes, text_of(c->namespace), text_of(c->name), &v) || !v.bound ||
		    !volumes_volume(vb->volumes, v.volume, &(struct volume_view){ 0 }))
			state = PREBIND_BUSY;
		else if (!is_reached(w, c, &v, why))
			return PREBIND_FAILED;
	}
	return state;
}

static void undo(void *context, void *work)
{
	struct member_work *w = work;

	w->undone = true;
	for (size_t i = 0; i < w->n; i++)
		w->claims[i]->undoers++;
}

static void member_free(void *context, void *work)
{
	struct member_work *w = work;

	for (size_t i = 0; i < w->n; i++) {
		w->claims[i]->undoers -= w->undone;
		claim_give(w->claims[i]);
	}
	free(w);
}

static uint64_t send_due(void *context)
{
	struct volume_bind *vb = context;
	const uint64_t now = env_now(vb->env);
	uint64_t next = volumes_expire(vb->volumes, now);
	struct claim_work *c;

	TAILQ_FOREACH (c, &vb->claims, link) {
		const enum claim_want want = claim_judge(c);

		if (c->call || (want == WANT_NOTHING && !c->to_read))
			continue;
		if (c->due_ns > now) {
			next = c->due_ns < next ? c->due_ns : next;
			continue;
		}
		if (vb->flying >= WRITES_AT_ONCE)
			break;
		if (c->to_read)
			claim_read(c);
		else
			claim_write(c, want);
	}
	return next;
}

struct volume_bind *volume_bind_new(const struct env *env, struct model *model, uint64_t timeout_ns)
{
	struct volume_bind *vb = must_alloc(sizeof(*vb));

	vb->env = env;
	vb->model = model;
	vb->volumes = model_volumes(model);
	TAILQ_INIT(&vb->claims);
	vb->kind = (struct prebind_kind){ .name = "volumes",
		                              .context = vb,
		                              .timeout_ns = timeout_ns,
		                              .late = PREFIX "context deadline exceeded",
		                              .any = any,
		                              .wants = wants,
		                              .prepare = prepare,
		                              .start = start,
		                              .look = look,
		                              .undo = undo,
		                              .recover = find_written,
		                              .free = member_free,
		                              .poll = send_due };
	return vb;
}

void volume_bind_free(struct volume_bind *vb)
{
	if (!vb)
		return;
	arena_free(&vb->arena);
	jsonout_free(&vb->path);
	jsonout_free(&vb->body);
	free(vb);
}

const struct prebind_kind *volume_bind_kind(const struct volume_bind *vb)
{
	return &vb->kind;
}

const struct volume_bind_counts *volume_bind_counts(const struct volume_bind *vb)
{
	return &vb->counts;
}
