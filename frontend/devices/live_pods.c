/* SPDX-License-Identifier: Apache-2.0 */
/* Pods with claims: what refuses them, and what they ask for. */
#include "frontend/devices/live_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPECS_BYTES_MAX 65536u /* of a pod's claims: a question keeps a copy */

void live_pod_judge_again(struct live *l, uint32_t pod)
{
	live_pod_note(l, pod);
}

bool live_next_pod(struct live *l, uint32_t *pod)
{
	while (l->due_n > 0) {
		*pod = l->due[l->due_first++];
		if (--l->due_n == 0)
			l->due_first = 0;
		if (!l->pods[*pod].name || !l->pods[*pod].due)
			continue;
		l->pods[*pod].due = false;
		return true;
	}
	return false;
}

void live_pods_note_all(struct live *l)
{
	for (uint32_t i = 0; i < l->pods_n; i++)
		live_pod_note(l, i);
}

void live_claim_note(struct live *l, uint32_t claim)
{
	const struct live_users *u;

	if (claim >= l->users_n)
		return;
	u = &l->users[claim];
	for (size_t i = 0; i < u->n; i++) {
		live_pod_note(l, u->at[i].pod);
		l->pods[u->at[i].pod].shared_changed |= u->n > 1;
	}
}

bool live_shared_changed(const struct live *l, uint32_t pod)
{
	return pod < l->pods_n && l->pods[pod].shared_changed;
}

void live_pod_landed(struct live *l, uint32_t pod, uint32_t claim)
{
	struct live_pod *p = &l->pods[pod];

	if (p->draws.n == 0)
		return;
	if (p->asks)
		live_draws_hold(l, &p->draws, -1);
	live_draws_landed(l, claim, &p->draws);
	if (p->asks)
		live_draws_hold(l, &p->draws, 1);
}

void live_claim_landed(struct live *l, uint32_t claim)
{
	for (size_t i = 0; claim < l->users_n && i < l->users[claim].n; i++)
		live_pod_landed(l, l->users[claim].at[i].pod, claim);
}

static void user_add(struct live *l, uint32_t pod, uint32_t ref)
{
	struct live_ref *r = &l->pods[pod].refs[ref];
	struct live_users *u;

	l->users = must_reach(l->users, &l->users_n, r->claim, 256, sizeof(*l->users));
	u = &l->users[r->claim];
	if (u->n == u->cap) {
		u->cap = u->cap * 2 + 1;
		u->at = must_grow(u->at, u->cap * sizeof(*u->at));
	}
	r->at = (uint32_t)u->n;
	u->at[u->n++] = (struct live_user){ pod, ref };
	/* It shares the claim now: live_claims_shared(). */
	if (u->n == 2)
		live_pod_note(l, u->at[0].pod);
}

/* In place of it the last one. */
static void user_remove(struct live *l, const struct live_ref *r)
{
	struct live_users *u = &l->users[r->claim];
	const struct live_user last = u->at[--u->n];

	u->at[r->at] = last;
	l->pods[last.pod].refs[last.ref].at = r->at;
	if (u->n == 1)
		live_pod_note(l, u->at[0].pod);
}

bool live_claims_shared(const struct live *l, uint32_t pod)
{
	const struct live_pod *p = live_pod_of(l, pod);

	for (uint32_t i = 0; p && i < p->refs_n; i++) {
		const struct live_claim *c = live_claim_at(l, p->refs[i].claim);
		const struct live_users *u = c ? &l->users[p->refs[i].claim] : NULL;

		for (size_t k = 0; c && !c->allocation && k < u->n; k++)
			if (u->at[k].pod != pod)
				return true;
	}
	return false;
}

void live_pod_free(struct live_pod *p)
{
	free(p->namespace);
	free(p->name);
	free(p->uid);
	free(p->refs);
	free(p->writing);
	free(p->draws.at);
	live_extended_free(p);
	*p = (struct live_pod){ .question = LIVE_NONE };
}

uint32_t live_pods(const struct live *l)
{
	return l->pods_live > 0 ? (uint32_t)l->pods_n : 0;
}

static void refs_drop(struct live *l, uint32_t pod)
{
	struct live_pod *p = &l->pods[pod];

	live_writings_count(l, p, -1);
	for (uint32_t i = 0; i < p->refs_n; i++) {
		if (p->refs[i].claim == LIVE_NONE)
			continue;
		user_remove(l, &p->refs[i]);
		intern_give(&l->claim_names, p->refs[i].claim);
	}
	free(p->refs);
	p->refs = NULL;
	p->refs_n = 0;
}

static void question_drop(struct live *l, struct live_pod *p)
{
	const uint32_t question = p->question;

	p->question = LIVE_NONE;
	if (question != LIVE_NONE)
		live_question_give(l, question);
}

static void unasked_set(struct live *l, struct live_pod *p, bool unasked)
{
	l->unasked_n += (uint32_t)unasked - p->unasked;
	p->unasked = unasked;
}

void live_pod_drop(struct live *l, uint32_t pod)
{
	if (pod >= l->pods_n || !l->pods[pod].name)
		return;
	live_writing_depart(l, pod);
	refs_drop(l, pod);
	unasked_set(l, &l->pods[pod], false);
	live_conflict_end(l, pod);
	question_drop(l, &l->pods[pod]);
	live_extended_drop(l, &l->pods[pod]);
	live_pod_free(&l->pods[pod]);
	l->pods_live--;
	live_names_recycle(l);
}

static void ref_read(struct live *l, uint32_t pod, const struct tree *t,
                     const struct tree *statuses)
{
	struct live_pod *p = &l->pods[pod];
	struct live_ref *ref = &p->refs[p->refs_n];
	struct text name = jsontree_text(jsontree_get(t, "resourceClaimName"));
	char key[1024];

	*ref = (struct live_ref){ .claim = LIVE_NONE };
	ref->owned = jsontree_get(t, "resourceClaimTemplateName")->kind != TREE_NULL;
	TREE_EACH(status, statuses)
	if (ref->owned && text_equal(jsontree_text(jsontree_get(status, "name")),
	                             jsontree_text(jsontree_get(t, "name")))) {
		name = jsontree_text(jsontree_get(status, "resourceClaimName"));
		ref->not_needed = name.bytes == 0;
		break;
	}
	p->refs_n++;
	if (name.bytes == 0)
		return;
	snprintf(key, sizeof(key), "%s/%.*s", p->namespace, (int)name.bytes, name.at);
	ref->claim = live_number(&l->claim_names, text_of(key));
	user_add(l, pod, p->refs_n - 1);
}

static char *text_copy(struct text t)
{
	char *copy = must_alloc(t.bytes + 1);

	if (t.bytes > 0)
		memcpy(copy, t.at, t.bytes);
	return copy;
}

static struct live_pod *pod_at(struct live *l, uint32_t pod)
{
	const size_t before = l->pods_n;

	l->pods = must_reach(l->pods, &l->pods_n, pod, 256, sizeof(*l->pods));
	for (size_t i = before; i < l->pods_n; i++)
		l->pods[i].question = LIVE_NONE;
	return &l->pods[pod];
}

bool live_pod_set(struct live *l, uint32_t pod, const char *json, size_t bytes)
{
	char error[200];
	const struct tree *t, *meta, *refs;
	struct live_pod *p;
	bool extended;

	arena_reset(&l->scratch);
	t = jsontree_read(json, bytes, &l->scratch, error, sizeof(error));
	if (!t) {
		live_pod_drop(l, pod);
		return false;
	}
	refs = jsontree_get(jsontree_get(t, "spec"), "resourceClaims");
	p = pod_at(l, pod);
	meta = jsontree_get(t, "metadata");
	if (p->name && !text_is(jsontree_text(jsontree_get(meta, "uid")), p->uid))
		live_pod_drop(l, pod);
	extended = live_extended_set(l, pod, t);
	if (refs->n == 0 && !extended) {
		live_pod_drop(l, pod);
		return false;
	}
	refs_drop(l, pod);
	l->pods_live += p->name == NULL;
	free(p->namespace);
	free(p->name);
	free(p->uid);
	p->namespace = text_copy(live_namespace(meta));
	p->name = text_copy(jsontree_text(jsontree_get(meta, "name")));
	p->uid = text_copy(jsontree_text(jsontree_get(meta, "uid")));
	p->refs = must_array(refs->n, sizeof(*p->refs));
	TREE_EACH(ref, refs)
	ref_read(l, pod, ref, jsontree_get(jsontree_get(t, "status"), "resourceClaimStatuses"));
	live_writings_count(l, p, 1);
	live_conflicts_freed(l, p->writing, p->writing_n); /* more of them may be ours now */
	return true;
}

/* Keeps the text. */
__attribute__((format(printf, 4, 5))) static void say(struct live *l, struct live_verdict *out,
                                                      bool kube, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	free(l->text);
	l->text = must_copy(text);
	out->refusal = l->text;
	out->refusal_is_kube = kube;
}

/* dynamicresources: foreachPodResourceClaim. */
static void ref_refused(struct live *l, const struct live_pod *p, const struct live_ref *ref,
                        struct live_verdict *out)
{
	const struct live_claim *c = live_claim_at(l, ref->claim);
	const char *name;

	if (ref->not_needed)
		return;
	if (ref->claim == LIVE_NONE) {
		say(l, out, true, "pod \"%s/%s\": ResourceClaim not created yet", p->namespace, p->name);
	} else if (!c) {
		name = intern_text(&l->claim_names, ref->claim);
		say(l, out, true, "could not find ResourceClaim \"%s\"", name);
	} else if (c->deleting) {
		say(l, out, true, "resourceclaim \"%s\" is being deleted", c->name);
	} else if (ref->owned && strcmp(c->owner, p->uid) != 0) {
		say(l, out, true, "ResourceClaim %s/%s was not created for Pod %s/%s (Pod is not owner)",
		    c->namespace, c->name, p->namespace, p->name);
	}
}

bool live_claims_exist(struct live *l, uint32_t pod)
{
	struct live_verdict v = { 0 };

	for (uint32_t i = 0; pod < l->pods_n && i < l->pods[pod].refs_n && !v.refusal; i++)
		ref_refused(l, &l->pods[pod], &l->pods[pod].refs[i], &v);
	return !v.refusal;
}

static void judge_allocated(struct live *l, struct live_pod *p, struct live_verdict *out)
{
	const struct live_claim *claims[POD_CLAIMS_MAX + 1];
	const uint32_t n = live_claims_of(l, p, true, claims);
	const char *device;

	out->selectors = l->selectors;
	for (uint32_t i = 0; i < n && !out->refusal; i++) {
		if (claims[i]->reserved_n >= 256 && !live_is_reserved(claims[i], p->uid))
			say(l, out, true, "resourceclaim in use");
		else if (claims[i]->conditions == LIVE_FAILED)
			out->node = "";
		else if ((device = live_conflict_wait(l, (uint32_t)(p - l->pods), claims[i])) != NULL)
			say(l, out, false, "device %s of resourceclaim \"%s\" was given to another claim too",
			    device, claims[i]->name);
		else if (claims[i]->selector)
			l->selectors[out->selectors_n++] = claims[i]->selector;
		else if (claims[i]->node[0])
			out->node = out->node && strcmp(out->node, claims[i]->node) != 0 ? "" : claims[i]->node;
	}
}

static void judge_question(struct live *l, struct live_pod *p, struct live_verdict *out)
{
	const struct live_claim *claims[POD_CLAIMS_MAX + 1];
	const uint32_t n = live_claims_of(l, p, false, claims), before = p->question;
	const struct live_question *q;
	size_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += strlen(claims[i]->spec);
	if (bytes > SPECS_BYTES_MAX) {
		say(l, out, false, "the specs of its resource claims have %zu bytes, more than %u", bytes,
		    SPECS_BYTES_MAX);
		question_drop(l, p);
		return;
	}
	out->one = n == 1 && live_claims_shared(l, (uint32_t)(p - l->pods));
	p->question = n > 0 ? live_question_of(l, p->namespace, claims, n, out->one) : LIVE_NONE;
	unasked_set(l, p, n > 0 && p->question == LIVE_NONE);
	if (before != LIVE_NONE)
		live_question_give(l, before);
	if (p->unasked)
		say(l, out, false,
		    "%u different resource claims wait, the most that are searched for, or those of its "
		    "namespace are more than its share",
		    QUESTIONS_MAX);
	if (p->question == LIVE_NONE)
		return;
	q = &l->questions[p->question];
	if (q->refusal)
		say(l, out, q->refusal_is_kube, "%s", q->refusal);
	else if (q->error && q->error_class)
		say(l, out, true,
		    "running \"DynamicResources\" filter plugin: class %s: selector #%u: CEL runtime error: "
		    "%s",
		    q->error_class, q->error_selector, q->error);
	else if (q->error)
		say(l, out, true,
		    "running \"DynamicResources\" filter plugin: claim %s/%s: selector #%u: CEL runtime "
		    "error: %s",
		    claims[q->error_claim]->namespace, claims[q->error_claim]->name, q->error_selector,
		    q->error);
	else
		out->devices = p->question + 1;
}

static void judge_waiting(struct live *l, struct live_pod *p, struct live_verdict *out)
{
	for (uint32_t i = 0; i < p->refs_n && !out->refusal; i++)
		ref_refused(l, p, &p->refs[i], out);
	if (!out->refusal && p->refs_n > POD_CLAIMS_MAX)
		say(l, out, false, "muster does not support more than %u resource claims of a pod",
		    POD_CLAIMS_MAX);
	if (!out->refusal && !live_extended_made(l, p) && p->extended && p->extended->too_many)
		say(l, out, false,
		    "muster does not support more than %u extended resources of a pod that devices serve",
		    DEVICE_GROUPS_MAX);
	if (!out->refusal)
		judge_allocated(l, p, out);
	if (!out->refusal)
		judge_question(l, p, out);
	else
		question_drop(l, p);
}

bool live_is_chosen(const struct live *l, uint32_t pod)
{
	return live_asks(l, pod) == LIVE_NONE || l->pods[pod].writing;
}

void live_judge(struct live *l, uint32_t pod, bool placed, struct live_verdict *out)
{
	struct live_pod *p = &l->pods[pod];

	*out = (struct live_verdict){ 0 };
	p->shared_changed = false;
	unasked_set(l, p, false);
	live_conflict_end(l, pod);
	if (!placed)
		judge_waiting(l, p, out);
	if (p->asks == (out->devices > 0 && !p->left))
		return;
	p->asks = !p->asks;
	live_draws_hold(l, &p->draws, p->asks ? 1 : -1);
}
