/* SPDX-License-Identifier: Apache-2.0 */
/* Pods with claims: what refuses them, what they ask for, and what is written for them. */
#include "frontend/devices/live_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POD_CLAIMS_MAX 64u
#define SPECS_BYTES_MAX 65536u /* of a pod's claims: a question keeps a copy */
#define UNASKED_ONCE 16u

void live_pod_note(struct live *l, uint32_t pod)
{
	struct live_pod *p = &l->pods[pod];

	if (!p->name || p->due)
		return;
	p->due = true;
	if (l->due_first > 0 && l->due_first + l->due_n == l->due_cap) {
		memmove(l->due, l->due + l->due_first, l->due_n * sizeof(*l->due));
		l->due_first = 0;
	}
	if (l->due_n == l->due_cap) {
		l->due_cap = l->due_cap * 2 + 64;
		l->due = must_grow(l->due, l->due_cap * sizeof(*l->due));
	}
	l->due[l->due_first + l->due_n++] = pod;
}

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
	if (claim >= l->users_n)
		return;
	for (size_t i = 0; i < l->users[claim].n; i++)
		live_pod_note(l, l->users[claim].at[i].pod);
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
}

/* In place of it the last one. */
static void user_remove(struct live *l, const struct live_ref *r)
{
	struct live_users *u = &l->users[r->claim];
	const struct live_user last = u->at[--u->n];

	u->at[r->at] = last;
	l->pods[last.pod].refs[last.ref].at = r->at;
}

void live_pod_free(struct live_pod *p)
{
	free(p->namespace);
	free(p->name);
	free(p->uid);
	free(p->refs);
	free(p->writing);
	*p = (struct live_pod){ .question = LIVE_NONE };
}

uint32_t live_pods(const struct live *l)
{
	return l->pods_live > 0 ? (uint32_t)l->pods_n : 0;
}

static void refs_drop(struct live *l, uint32_t pod)
{
	struct live_pod *p = &l->pods[pod];

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

/* Some at a time: each costs a comparison with all questions. */
void live_unasked_note(struct live *l)
{
	uint32_t left = UNASKED_ONCE;

	for (size_t i = 0; l->unasked_n > 0 && left > 0 && i < l->pods_n; i++) {
		l->unasked_at = (l->unasked_at + 1) % (uint32_t)l->pods_n;
		if (!l->pods[l->unasked_at].unasked)
			continue;
		live_pod_note(l, l->unasked_at);
		left--;
	}
}

void live_pod_drop(struct live *l, uint32_t pod)
{
	if (pod >= l->pods_n || !l->pods[pod].name)
		return;
	live_written(l, pod);
	refs_drop(l, pod);
	unasked_set(l, &l->pods[pod], false);
	question_drop(l, &l->pods[pod]);
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

bool live_pod_set(struct live *l, uint32_t pod, const char *json, size_t bytes)
{
	char error[200];
	const struct tree *t, *meta, *refs;
	struct live_pod *p;

	arena_reset(&l->scratch);
	t = jsontree_read(json, bytes, &l->scratch, error, sizeof(error));
	refs = t ? jsontree_get(jsontree_get(t, "spec"), "resourceClaims") : NULL;
	if (!refs || refs->n == 0) {
		live_pod_drop(l, pod);
		return false;
	}
	if (pod >= l->pods_n) {
		const size_t before = l->pods_n;

		l->pods = must_reach(l->pods, &l->pods_n, pod, 256, sizeof(*l->pods));
		for (size_t i = before; i < l->pods_n; i++)
			l->pods[i].question = LIVE_NONE;
	}
	p = &l->pods[pod];
	meta = jsontree_get(t, "metadata");
	if (p->name && !text_is(jsontree_text(jsontree_get(meta, "uid")), p->uid))
		live_pod_drop(l, pod);
	refs_drop(l, pod);
	l->pods_live += p->name == NULL;
	free(p->namespace);
	free(p->name);
	free(p->uid);
	p->namespace = text_copy(jsontree_text(jsontree_get(meta, "namespace")));
	p->name = text_copy(jsontree_text(jsontree_get(meta, "name")));
	p->uid = text_copy(jsontree_text(jsontree_get(meta, "uid")));
	p->refs = must_array(refs->n, sizeof(*p->refs));
	TREE_EACH(ref, refs)
	ref_read(l, pod, ref, jsontree_get(jsontree_get(t, "status"), "resourceClaimStatuses"));
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

	for (uint32_t i = 0; i < live_claims_n(l, pod) && !v.refusal; i++)
		ref_refused(l, &l->pods[pod], &l->pods[pod].refs[i], &v);
	return !v.refusal;
}

static bool is_reserved(const struct live_claim *c, const char *uid)
{
	for (size_t i = 0; i < c->reserved_n; i++)
		if (strcmp(c->reserved[i], uid) == 0)
			return true;
	return false;
}

/* The claims of the pod in their order, each once; of those that are allocated the node. */
static uint32_t claims_of(const struct live *l, const struct live_pod *p, bool allocated,
                          const struct live_claim **out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->refs_n && n < POD_CLAIMS_MAX; i++) {
		const struct live_claim *c = live_claim_at(l, p->refs[i].claim);
		bool known = !c || p->refs[i].not_needed || (c->allocation != NULL) != allocated;

		for (uint32_t k = 0; !known && k < n; k++)
			known = out[k] == c;
		if (!known)
			out[n++] = c;
	}
	return n;
}

static void judge_allocated(struct live *l, const struct live_pod *p, struct live_verdict *out)
{
	const struct live_claim *claims[POD_CLAIMS_MAX];
	const uint32_t n = claims_of(l, p, true, claims);

	for (uint32_t i = 0; i < n && !out->refusal; i++) {
		if (claims[i]->reserved_n >= 256 && !is_reserved(claims[i], p->uid))
			say(l, out, true, "resourceclaim in use");
		else if (!claims[i]->node[0])
			say(l, out, false,
			    "muster does not support claims that are allocated on several nodes");
		else
			out->node = out->node && strcmp(out->node, claims[i]->node) != 0 ? "" : claims[i]->node;
	}
}

static void judge_question(struct live *l, struct live_pod *p, struct live_verdict *out)
{
	const struct live_claim *claims[POD_CLAIMS_MAX];
	const uint32_t n = claims_of(l, p, false, claims), before = p->question;
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
	p->question = n > 0 ? live_question_of(l, p->namespace, claims, n) : LIVE_NONE;
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

void live_judge(struct live *l, uint32_t pod, bool placed, struct live_verdict *out)
{
	struct live_pod *p = &l->pods[pod];

	*out = (struct live_verdict){ 0 };
	unasked_set(l, p, false);
	if (placed)
		return;
	for (uint32_t i = 0; i < p->refs_n && !out->refusal; i++)
		ref_refused(l, p, &p->refs[i], out);
	if (!out->refusal && p->refs_n > POD_CLAIMS_MAX)
		say(l, out, false, "muster does not support more than %u resource claims of a pod",
		    POD_CLAIMS_MAX);
	if (!out->refusal)
		judge_allocated(l, p, out);
	if (!out->refusal)
		judge_question(l, p, out);
	else
		question_drop(l, p);
}

/* Writes. */

uint32_t live_claims_n(const struct live *l, uint32_t pod)
{
	return pod < l->pods_n ? l->pods[pod].refs_n : 0;
}

static const char *others_of(const struct live *l, const struct live_claim *c, const char *uid)
{
	struct live *at = (struct live *)(uintptr_t)l;
	struct bytes list = { 0 };

	for (size_t i = 0; i < c->reserved_n; i++) {
		if (strcmp(c->reserved[i], uid) == 0)
			continue;
		bytes_put(&list, list.n > 0 ? "," : "");
		bytes_put(&list, c->consumers[i]);
	}
	bytes_add(&list, "", 1);
	free(at->text);
	at->text = list.at;
	return list.at;
}

bool live_claim(const struct live *l, uint32_t pod, uint32_t i, struct live_claim_view *out)
{
	const struct live_pod *p = pod < l->pods_n ? &l->pods[pod] : NULL;
	const struct live_claim *c =
		p && i < p->refs_n && !p->refs[i].not_needed ? live_claim_at(l, p->refs[i].claim) : NULL;

	if (!c)
		return false;
	*out = (struct live_claim_view){
		.name = c->name,
		.uid = c->uid,
		.version = c->version,
		.allocated = c->allocation != NULL,
		.reserved = is_reserved(c, p->uid),
		.owned = strcmp(c->owner, p->uid) == 0,
		.deleting = c->deleting,
		.finalizer = c->finalizer,
		.node = c->node,
	};
	out->others = c->reserved_n > (out->reserved ? 1u : 0u);
	out->finalizers = c->finalizers;
	out->consumers = others_of(l, c, p->uid);
	return true;
}

static const struct option_entry *option_of(const struct live_question *q,
                                            const struct device_pick *k)
{
	const struct request_entry *r;

	if (k->claim >= q->claims_n || k->request >= q->claims[k->claim].requests_n)
		return NULL;
	r = &q->claims[k->claim].requests[k->request];
	return k->option < r->options_n ? &r->options[k->option] : NULL;
}

/* adminAccess takes nothing: such a device may be in use, but is in a claim once. */
static bool picks_clash(const struct live_question *q, const struct device_pick *a,
                        const struct device_pick *b)
{
	return a->device == b->device &&
	       (a->claim == b->claim || (!option_of(q, a)->admin && !option_of(q, b)->admin));
}

static bool picks_hold(const struct live *l, const struct live_node *n, const struct live_pod *p,
                       const struct cmd_devices *cmd, const struct device_pick *picks)
{
	const struct live_question *q;
	uint32_t taken[DEVICE_PICKS_MAX], taken_n = 0;

	if (!n || n->relaid || n->layout != cmd->layout || cmd->question != p->question ||
	    p->question == LIVE_NONE || cmd->picks_n == 0 || cmd->picks_n > DEVICE_PICKS_MAX)
		return false;
	q = &l->questions[p->question];
	for (uint32_t i = 0; i < cmd->picks_n; i++) {
		const struct device_pick *k = &picks[i];
		const struct option_entry *o = option_of(q, k);

		if (!o || k->device >= n->devices_n || (!o->admin && l->taken[n->keys[k->device]] > 0))
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (picks_clash(q, &picks[j], k))
				return false;
		if (!o->admin)
			taken[taken_n++] = k->device;
	}
	return live_counters_suffice(l, n, taken, taken_n);
}

/* asked.h, of the question's claims on the node. */
static void asked_fill(struct live *l, const struct live_node *n, struct live_question *q,
                       struct node_entry *node, struct claim_entry **claims)
{
	struct asked *a = l->store->asked;
	struct arena arena = a->arena;

	arena_reset(&arena);
	*node = (struct node_entry){ .name = text_of(n->name) };
	for (uint32_t i = 0; i < q->claims_n; i++)
		claims[i] = &q->claims[i];
	*a = (struct asked){ .arena = arena,
		                 .node = node,
		                 .claims = claims,
		                 .claims_n = q->claims_n,
		                 .devices = n->devices,
		                 .devices_n = n->devices_n };
}

/* Claims that came since with the same names may ask for something else. */
static bool question_holds(const struct live_question *q, const struct live_claim *const *claims,
                           uint32_t n)
{
	bool same = n == q->claims_n;

	for (uint32_t i = 0; same && i < n; i++)
		same = text_is(q->claims[i].spec->raw, claims[i]->spec[0] ? claims[i]->spec : "{}");
	return same;
}

bool live_writing(struct live *l, uint32_t pod, const char *node_name,
                  const struct cmd_devices *cmd, const struct device_pick *picks,
                  void (*each)(void *context, const char *claim, const char *allocation),
                  void *context)
{
	const uint32_t number = intern_find(&l->node_names, text_of(node_name));
	const struct live_node *n = number < l->nodes_n ? l->nodes[number] : NULL;
	struct live_pod *p = pod < l->pods_n ? &l->pods[pod] : NULL;
	const struct live_claim *claims[POD_CLAIMS_MAX];
	struct claim_entry *entries[POD_CLAIMS_MAX];
	struct devices_pick full[DEVICE_PICKS_MAX];
	struct live_question *q;
	struct node_entry node;

	if (!p || !p->name || p->writing || !picks_hold(l, n, p, cmd, picks))
		return false;
	q = &l->questions[p->question];
	if (!question_holds(q, claims, claims_of(l, p, false, claims)))
		return false;
	asked_fill(l, n, q, &node, entries);
	p->writing = must_array(cmd->picks_n, sizeof(*p->writing));
	for (uint32_t i = 0; i < cmd->picks_n; i++) {
		full[i] = (struct devices_pick){
			picks[i].claim, picks[i].request, picks[i].option, picks[i].device, NULL, { 0, i }
		};
		if (option_of(q, &picks[i])->admin)
			continue;
		p->writing[p->writing_n++] = n->keys[picks[i].device];
		intern_hold(&l->device_names, n->keys[picks[i].device]);
		live_device_take(l, n->keys[picks[i].device]);
	}
	for (uint32_t i = 0; i < q->claims_n; i++) {
		struct bytes json = { 0 };

		allocation_write(l->store, full, cmd->picks_n, i, &json);
		bytes_add(&json, "", 1);
		each(context, claims[i]->name, json.at);
		bytes_free(&json);
	}
	return true;
}

void live_written(struct live *l, uint32_t pod)
{
	struct live_pod *p = pod < l->pods_n ? &l->pods[pod] : NULL;

	for (uint32_t i = 0; p && i < p->writing_n; i++) {
		live_device_give(l, p->writing[i]);
		intern_give(&l->device_names, p->writing[i]);
	}
	if (!p)
		return;
	free(p->writing);
	p->writing = NULL;
	p->writing_n = 0;
	live_pod_note(l, pod);
}

const char *live_conflict(const struct live *l, uint32_t pod, uint32_t i)
{
	const struct live_pod *p = &l->pods[pod];
	const struct live_claim *c =
		i < p->refs_n && !p->refs[i].not_needed ? live_claim_at(l, p->refs[i].claim) : NULL;

	for (size_t k = 0; c && k < c->devices_n; k++) {
		uint32_t ours = 1;

		for (uint32_t w = 0; w < p->writing_n; w++)
			ours += p->writing[w] == c->devices[k];
		if (l->taken[c->devices[k]] > ours)
			return intern_text(&l->device_names, c->devices[k]);
	}
	return NULL;
}
