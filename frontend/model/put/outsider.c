/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/put/outsider_impl.h"

#include "frontend/json/jsontree.h"
#include "frontend/model/base/columns.h"
#include "frontend/model/shapes/held.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/put/pod_state.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/shapes/shape_draft.h"
#include "frontend/model/shapes/shapes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct outsider_before outsider_begin(struct model *m)
{
	const struct outsider_before b = { .counts = m->counts,
		                               .scheduler_names_n = m->scheduler_names_n,
		                               .lacks = m->lacks,
		                               .shared = m->shared,
		                               .shares_due = m->shares_due,
		                               .newcomer = m->newcomer,
		                               .columns_due = m->columns_due };

	arena_reset(&m->arena);
	m->scheduler_names_n = 0;
	m->outside = true;
	m->last_put = SLOT_NONE;
	return b;
}

void outsider_end(struct model *m, const struct outsider_before *b)
{
	m->last_put = SLOT_NONE;
	m->outside = false;
	m->counts = b->counts;
	m->scheduler_names_n = b->scheduler_names_n;
	m->lacks = b->lacks;
	m->shared = b->shared;
	m->shares_due = b->shares_due;
	m->newcomer = b->newcomer;
	m->columns_due = b->columns_due;
}

static int fails(const struct pod_object *pod, struct decode_error *error, const char *field,
                 const char *text)
{
	decode_error_set(error, &pod->meta, field, "%s", text);
	return -EINVAL;
}

/* Names the first claim of the pod, by which it is found in a file. */
static int claims_fail(struct model *m, const char *json, size_t bytes, const struct meta *meta,
                       struct decode_error *error)
{
	char unread[200];
	const struct tree *t = jsontree_read(json, bytes, &m->arena, unread, sizeof(unread));
	const struct tree *ref =
		t ? jsontree_get(jsontree_get(t, "spec"), "resourceClaims")->first : NULL;
	struct text name = { 0 }, of = { 0 };
	const char *kind = "ResourceClaimTemplate";

	if (ref) {
		name = jsontree_text(jsontree_get(ref, "name"));
		of = jsontree_text(jsontree_get(ref, "resourceClaimTemplateName"));
	}
	if (ref && of.bytes == 0) {
		kind = "ResourceClaim";
		of = jsontree_text(jsontree_get(ref, "resourceClaimName"));
	}
	decode_error_set(error, meta, "spec.resourceClaims[0]",
	                 "devices are known for pods of the cluster alone, and %.*s is of the %s %.*s",
	                 (int)name.bytes, name.bytes > 0 ? name.at : "", kind, (int)of.bytes,
	                 of.bytes > 0 ? of.at : "");
	return -EINVAL;
}

int outsider_read(struct model *m, const char *json, size_t bytes, struct pod_object *pod,
                  struct decode_error *error)
{
	m->object_bytes = bytes;
	if (extract_pod(json, bytes, &m->arena, pod, error) < 0 ||
	    !model_names_valid(&pod->meta, error))
		return -EINVAL;
	if (pod->node_name.bytes > 0)
		return fails(pod, error, "spec.nodeName", "is set, only a pending pod is judged");
	if (pod->ended)
		return fails(pod, error, "status.phase", "the pod has ended");
	if (pod_find(m, pod->meta.namespace, pod->meta.name) != SLOT_NONE)
		return fails(pod, error, "metadata.name",
		             "the cluster has a pod of this name: ask for that without -f");
	if (pod->asks & ASKS_RESOURCE_CLAIM)
		return claims_fail(m, json, bytes, &pod->meta, error);
	return 0;
}

int outsider_count(struct model *m, const struct meta *meta, struct decode_error *error)
{
	if (m->outsiders == OUTSIDERS_UNSENT) {
		decode_error_set(error, meta, "", "muster-core has not taken all records yet; ask again");
		return -ENOSPC;
	}
	m->outsiders++;
	return 0;
}

const char *outsider_refusal(struct model *m, const struct pod_entry *e)
{
	const char *text = e->texts;
	const enum pod_rare rare = pod_rare(e, POD_STORAGE_REFUSAL)  ? POD_STORAGE_REFUSAL
	                           : pod_rare(e, POD_POLICY_REFUSAL) ? POD_POLICY_REFUSAL
	                                                             : POD_LIMIT_REFUSAL;

	if (!(e->flags & POD_REFUSED))
		return NULL;
	for (int i = 0; i < 4; i++)
		text += strlen(text) + 1;
	return arena_printf(&m->arena, "%s", *text ? text : pod_rare(e, rare));
}

void *outsider_record(unsigned char *at, size_t room, enum record_kind kind, size_t body,
                      uint32_t *bytes)
{
	const size_t whole = PADDED(sizeof(struct record) + body);
	struct record *r = (void *)at;

	if (whole > room)
		return NULL;
	memset(r, 0, whole);
	r->bytes = *bytes = (uint32_t)whole;
	r->kind = kind;
	return r + 1;
}

size_t outsider_pod_bytes(const struct pod_entry *p)
{
	const size_t namespace = strlen(p->texts), name = strlen(p->texts + namespace + 1);

	return sizeof(struct event_pod) + p->labels_n * sizeof(*p->labels) + namespace + 1 + name;
}

static uint32_t name_add(struct model *m, struct outsider_name *names, uint32_t n,
                         uint32_t resource)
{
	const name_id id = resource_on_wire(m, resource);

	for (uint32_t i = 0; i < n; i++)
		if (names[i].id == id)
			return n;
	if (n == RESOURCES_MAX)
		return n;
	names[n] =
		(struct outsider_name){ id, arena_printf(&m->arena, "%s", resource_text(m, resource)) };
	return n + 1;
}

uint32_t outsider_names_add(struct model *m, struct outsider_name *names, uint32_t n,
                            const struct amount *amounts, uint32_t amounts_n)
{
	for (uint32_t i = 0; i < amounts_n; i++)
		if (amounts[i].resource >= RESOURCES_MAX)
			n = name_add(m, names, n, amounts[i].resource);
	return n;
}

void outsider_shape_write(struct model *m, uint32_t shape, uint32_t number, struct event_shape *e)
{
	const struct shape_entry *s = shape_at(m, shape);

	memcpy(e, s->body, s->bytes);
	e->shape = number;
	amounts_to_wire(m, (void *)(e + 1), e->amounts_n);
}

static bool shape_write(struct model *m, uint32_t shape, struct outsider_records *out)
{
	const struct shape_entry *s = shape_at(m, shape);
	const struct event_shape *body = (const void *)s->body;
	struct event_shape *e = outsider_record(out->pod.records, QUESTION_RECORDS, EVENT_SHAPE,
	                                        s->bytes, &out->pod.shape_bytes);

	if (!e)
		return false;
	out->names_n =
		outsider_names_add(m, out->names, out->names_n, (const void *)(body + 1), body->amounts_n);
	outsider_shape_write(m, shape, 0, e);
	return true;
}

static bool pod_write(struct model *m, uint32_t pod, struct outsider_records *out)
{
	const struct pod_entry *p = pod_at(m, pod);
	const size_t namespace = strlen(p->texts), name = strlen(p->texts + namespace + 1);
	const uint32_t used = out->pod.shape_bytes;
	struct event_pod *e = outsider_record(out->pod.records + used, QUESTION_RECORDS - used,
	                                      EVENT_POD, outsider_pod_bytes(p), &out->pod.pod_bytes);

	if (!e)
		return false;
	*e = (struct event_pod){ .generation = 1,
		                     .flags = POD_OURS,
		                     .gang = ID_NONE,
		                     .node = ID_NONE,
		                     .priority = p->priority,
		                     .name_bytes = (uint32_t)(namespace + 1 + name),
		                     .labels_n = p->labels_n,
		                     .namespace = namespace_at(m, p->namespace)->name,
		                     .role = ID_NONE,
		                     .queue = QUEUE_MISSING,
		                     .run_s = jobs_run_s(m, pod, p->run_s),
		                     .expected_s = p->expected_s };
	pod_tail_write(p, namespace, e->name_bytes, (char *)(e + 1));
	return true;
}

void outsider_hold(struct model *m, const struct pod_entry *p)
{
	shape_visit(shape_at(m, p->shape)->body, held_add, m);
	for (uint32_t i = 0; i < p->labels_n; i++) {
		held_add(m, NUMBER_KEY, p->labels[i].key);
		held_add(m, NUMBER_VALUE, p->labels[i].value);
	}
	held_add(m, NUMBER_VALUE, namespace_at(m, p->namespace)->name);
}

static int records_write(struct model *m, const struct pod_object *object,
                         struct outsider_records *out, struct decode_error *error)
{
	const struct pod_entry *p = pod_at(m, m->last_put);
	const struct event_shape *shape = (const void *)shape_at(m, p->shape)->body;

	out->refusal = outsider_refusal(m, p);
	if (out->refusal)
		return 0;
	if (shape->devices != 0)
		return fails(object, error, "spec.containers",
		             "ask for devices, which are known for pods of the cluster alone");
	if (!shape_write(m, p->shape, out) || !pod_write(m, m->last_put, out))
		return fails(object, error, "spec", "its rules are too long for a question to muster-core");
	held_begin(m);
	outsider_hold(m, p);
	return 0;
}

int model_outsider(struct model *m, const char *json, size_t bytes, struct outsider_records *out,
                   struct decode_error *error)
{
	const struct outsider_before before = outsider_begin(m);
	struct pod_object object;
	int rc = outsider_read(m, json, bytes, &object, error);

	if (rc == 0)
		rc = outsider_count(m, &object.meta, error);
	memset(out, 0, sizeof(*out));
	out->pod.version = QUESTION_VERSION;
	if (rc == 0) {
		rc = pod_accept(m, SLOT_NONE, &object, error);
		if (m->last_put != SLOT_NONE) {
			if (m->live)
				pod_set_claims(m, m->last_put, pod_may_claim(&object) ? json : NULL, bytes);
			rc = records_write(m, &object, out, error);
		}
	}
	if (m->last_put != SLOT_NONE)
		pod_forget(m, m->last_put);
	outsider_end(m, &before);
	return rc;
}
