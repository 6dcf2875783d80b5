/* SPDX-License-Identifier: Apache-2.0 */
/* The claim of a pod's extended resources: made, told in the pod's status, and deleted. */
#include "frontend/bind/claim_bind_impl.h"

#include "frontend/base/bytes.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE_MAX 58u /* of names that are generated, 63 with the suffix */
#define SUFFIX_CHARS 5u

uint32_t claim_served(const struct claim_bind *cb, pod_id pod, node_id node)
{
	uint32_t served = 0;
	const char *name;

	for (uint32_t group = 1; (name = live_resource(cb->live, pod, group)); group++)
		if (model_node_has(cb->model, node, name))
			served |= 1u << group;
	return served;
}

bool claim_extended_view(struct claim_item *c, struct live_claim_view *v)
{
	const struct pod_claims *w = c->work;
	const uint32_t n = live_claims_n(w->cb->live, w->pod);

	if (model_pod_generation(w->cb->model, w->pod) != w->generation)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!live_claim(w->cb->live, w->pod, i, v) || !v->extended ||
		    strcmp(v->name, c->name) != 0 || (c->uid && strcmp(v->uid, c->uid) != 0))
			continue;
		c->index = i;
		c->uid = c->uid ? c->uid : must_copy(v->uid);
		return true;
	}
	return false;
}

/* As the API server would for generateName, but known before the answer. */
static char *name_new(const struct claim_bind *cb, const char *pod)
{
	static const char chars[] = "bcdfghjklmnpqrstvwxz2456789";
	uint64_t random = cb->env->random(cb->env->context);
	char base[BASE_MAX + 1], *name = must_alloc(BASE_MAX + SUFFIX_CHARS + 1);
	size_t n;

	snprintf(base, sizeof(base), "%s-extended-resources-", pod);
	n = strlen(base);
	memcpy(name, base, n);
	for (uint32_t i = 0; i < SUFFIX_CHARS; i++, random /= sizeof(chars) - 1)
		name[n++] = chars[random % (sizeof(chars) - 1)];
	return name;
}

/* One that is allocated on the node goes on; others are left from earlier attempts. */
static bool adopt(struct pod_claims *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct claim_item *c = &w->items[i];
		struct live_claim_view v;

		if (!c->extended || !claim_extended_view(c, &v) || !v.allocated || v.deleting ||
		    strcmp(v.node, w->node) != 0)
			continue;
		c->drop = false;
		return true;
	}
	return false;
}

/* The node serves all of it.  A claim that an earlier attempt told is deleted, and kubelet would
 * wait for it for ever. */
static void untell_prepare(struct pod_claims *w)
{
	const char *told = live_extended_told(w->cb->live, w->pod);
	struct claim_item *c;

	if (!told[0])
		return;
	c = &w->items[w->n++];
	*c = claim_item_of(w);
	c->extended = c->drop = c->untell = true;
	c->name = must_copy(told);
}

void claim_extended_prepare(struct pod_claims *w, uint32_t served)
{
	struct bytes spec = { 0 };
	struct claim_item *c;

	w->served = served;
	if (adopt(w))
		return;
	if (!live_extended_spec(w->cb->live, w->pod, served, &spec)) {
		untell_prepare(w);
		return;
	}
	c = &w->items[w->n++];
	*c = claim_item_of(w);
	c->extended = true;
	c->name = name_new(w->cb, w->pod_name);
	c->spec = spec.at;
}

enum claim_want claim_extended_judge(struct claim_item *c)
{
	struct pod_claims *w = c->work;
	struct live_claim_view v;
	const bool there = claim_extended_view(c, &v);
	enum claim_want want;

	if (c->untell)
		return w->started && !w->failed && !w->undoing && !c->told ? WANT_TELL : WANT_NOTHING;
	if (c->drop || w->undoing) {
		if (!there)
			return w->undoing ? claim_item_judge_left(c) : WANT_NOTHING;
		if (v.finalizer)
			return WANT_UNFINALIZE;
		return v.deleting ? WANT_NOTHING : WANT_DELETE;
	}
	if (!w->started || w->failed)
		return WANT_NOTHING;
	if (!there && !c->uid && !c->collided)
		return WANT_CREATE;
	if (!there) {
		pod_claims_fail(w, "claim %s got deleted in the meantime", c->name);
		return WANT_NOTHING;
	}
	c->seen = c->seen || v.allocated;
	want = claim_item_needs(c, &v);
	if (want != WANT_NOTHING || w->failed)
		return want;
	c->told = c->told || strcmp(live_extended_told(w->cb->live, w->pod), c->name) == 0;
	return c->told ? WANT_NOTHING : WANT_TELL;
}

/* The requests. */

static void create_done(void *context, const struct http_answer *answer, const char *body,
                        size_t bytes)
{
	struct claim_item *c = context;

	claim_item_landed(c);
	if (answer->end == HTTP_ANSWERED && (answer->status == 201 || answer->status == 200)) {
		claim_item_put(c, body, bytes);
		backoff_reset(&c->backoff);
		return;
	}
	/* Ours, if an answer was lost. */
	c->collided = answer->end == HTTP_ANSWERED && answer->status == 409;
	claim_item_failed(c, answer, body, bytes);
}

static void delete_done(void *context, const struct http_answer *answer, const char *body,
                        size_t bytes)
{
	struct claim_item *c = context;

	claim_item_landed(c);
	if (answer->end == HTTP_ANSWERED && (answer->status == 200 || answer->status == 202))
		claim_item_gone(c);
	else
		claim_item_failed(c, answer, body, bytes);
}

static void tell_done(void *context, const struct http_answer *answer, const char *body,
                      size_t bytes)
{
	struct claim_item *c = context;

	claim_item_landed(c);
	if (answer->end == HTTP_ANSWERED && answer->status == 200)
		c->told = true;
	else
		claim_item_failed(c, answer, body, bytes);
}

static void create_body(const struct claim_item *c, struct jsonout *out)
{
	const struct pod_claims *w = c->work;

	jsonout_add(
		out,
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{"
		"\"namespace\":@s,\"name\":@s,\"generateName\":\"@r-extended-resources-\","
		"\"annotations\":{\"resource.kubernetes.io/extended-resource-claim\":\"true\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":@s,\"uid\":@s,"
		"\"controller\":true}]},\"spec\":{\"devices\":@r}}",
		w->namespace, c->name, w->pod_name, w->pod_name, w->pod_uid, c->spec);
}

static void tell_body(const struct claim_item *c, struct jsonout *out)
{
	const struct pod_claims *w = c->work;
	struct bytes list = { 0 };

	if (c->untell) {
		jsonout_add(out,
		            "{\"metadata\":{\"uid\":@s},\"status\":{\"extendedResourceClaimStatus\":null}}",
		            w->pod_uid);
		return;
	}
	live_extended_mappings(w->cb->live, w->pod, w->served, &list);
	jsonout_add(out,
	            "{\"metadata\":{\"uid\":@s},\"status\":{\"extendedResourceClaimStatus\":{"
	            "\"resourceClaimName\":@s,\"requestMappings\":[@r]}}}",
	            w->pod_uid, c->name, list.at);
	bytes_free(&list);
}

void claim_extended_write(struct claim_item *c, enum claim_want want)
{
	struct claim_bind *cb = c->work->cb;
	struct http_request request = { .content_type = "application/json",
		                            .lane = HTTP_BIND,
		                            .timeout_ms = CLAIM_TIMEOUT_MS };
	struct http_handler handler = { .context = c };

	jsonout_clear(&cb->body);
	jsonout_clear(&cb->path);
	if (want == WANT_CREATE) {
		request.method = "POST";
		handler.done = create_done;
		jsonout_add(&cb->path, "/apis/resource.k8s.io/v1/namespaces/@p/resourceclaims",
		            c->work->namespace);
		create_body(c, &cb->body);
	} else if (want == WANT_DELETE) {
		request.method = "DELETE";
		handler.done = delete_done;
		jsonout_add(&cb->path, "/apis/resource.k8s.io/v1/namespaces/@p/resourceclaims/@p",
		            c->work->namespace, c->name);
		jsonout_add(&cb->body,
		            "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{"
		            "\"uid\":@s}}",
		            c->uid);
		cb->counts.undone++;
	} else {
		request.method = "PATCH";
		request.content_type = "application/merge-patch+json";
		handler.done = tell_done;
		jsonout_add(&cb->path, "/api/v1/namespaces/@p/pods/@p/status", c->work->namespace,
		            c->work->pod_name);
		tell_body(c, &cb->body);
	}
	request.path = cb->path.at;
	request.body = cb->body.at;
	request.body_bytes = cb->body.bytes;
	claim_item_call(c, &request, &handler);
}
