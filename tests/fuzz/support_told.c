/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/support_told.h"

#include "tests/fuzz/support_layout.h"

#include <string.h>

static uint64_t hash(const void *at, uint64_t bytes)
{
	const unsigned char *byte = at;
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ bytes;

	for (uint64_t i = 0; i < bytes; i++)
		h = (h ^ byte[i]) * UINT64_C(0x100000001b3);
	return h | 1;
}

static uint64_t last_text(const struct view_of *v)
{
	uint32_t i = v->layout->parts_n - 1;

	return hash(v->at[i], v->n[i]);
}

/* The first part is amounts in all kinds that have any. */
static bool amounts_named(const struct told *t, const struct view_of *v)
{
	const struct amount *a = (const void *)v->at[0];

	for (uint32_t i = 0; i < v->n[0]; i++)
		if (a[i].resource >= RESOURCE_EXTENDED && !t->names[a[i].resource])
			return false;
	return true;
}

static bool taints_named(const struct told *t, const struct view_of *v)
{
	const struct taint *taints = (const void *)v->at[2];

	for (uint32_t i = 0; i < v->n[2]; i++)
		if (!t->names[taints[i].name])
			return false;
	return true;
}

static bool node_has_pods(const struct told *t, uint32_t node)
{
	for (uint32_t i = 0; i < STREAM_PODS; i++)
		if (t->pods[i].generation != 0 && t->pod[i].node == node &&
		    (t->pod[i].flags & (POD_BINDING | POD_INTENTS)) == 0)
			return true;
	return false;
}

static bool gang_has_pods(const struct told *t, uint32_t gang)
{
	for (uint32_t i = 0; i < STREAM_PODS; i++)
		if (t->pods[i].generation != 0 && t->pod[i].gang == gang)
			return true;
	return false;
}

static bool shape_has_pods(const struct told *t, uint32_t shape)
{
	for (uint32_t i = 0; i < STREAM_PODS; i++)
		if (t->pods[i].generation != 0 && t->pod[i].shape == shape)
			return true;
	return false;
}

static const char *thing_fault(const struct told_thing *known, uint32_t generation, uint64_t name,
                               bool has_pods)
{
	if (known->generation == 0)
		return NULL;
	if (known->generation != generation)
		return has_pods ? "another in the place of one that has pods" : NULL;
	return known->name != name ? "another name" : NULL;
}

static const char *node_fault(const struct told *t, const struct view_of *v)
{
	const struct event_node *e = (const void *)v->body;

	if (!amounts_named(t, v) || !taints_named(t, v))
		return "what has no name";
	return thing_fault(&t->nodes[e->node], e->generation, last_text(v), node_has_pods(t, e->node));
}

static const char *shape_fault(const struct told *t, const struct record *r,
                               const struct view_of *v)
{
	const struct event_shape *e = (const void *)v->body;

	if (!amounts_named(t, v))
		return "what has no name";
	if (t->shapes[e->shape] != 0 && shape_has_pods(t, e->shape) &&
	    t->shapes[e->shape] != hash(r + 1, r->bytes - sizeof(*r)))
		return "a change of what pods have";
	return NULL;
}

static const char *gang_fault(const struct told *t, const struct view_of *v)
{
	const struct event_gang *e = (const void *)v->body;

	if (!amounts_named(t, v))
		return "what has no name";
	return thing_fault(&t->gangs[e->gang], e->generation, last_text(v), gang_has_pods(t, e->gang));
}

static const char *pod_fault(const struct told *t, const struct view_of *v)
{
	const struct event_pod *e = (const void *)v->body;

	if (t->shapes[e->shape] == 0 || (e->gang != ID_NONE && t->gangs[e->gang].generation == 0) ||
	    (e->node != ID_NONE && t->nodes[e->node].generation == 0))
		return "what is unknown";
	return thing_fault(&t->pods[e->pod], e->generation, last_text(v), false);
}

static const char *assume_fault(const struct told *t, const struct view_of *v)
{
	const struct event_assume *e = (const void *)v->body;

	if (t->pods[e->pod].generation == 0 || t->pods[e->pod].generation != e->pod_generation)
		return "what is unknown";
	return t->pod[e->pod].flags & POD_OURS ? "an assume request for a pod of muster" : NULL;
}

static const char *queue_fault(const struct told *t, const struct view_of *v)
{
	const struct queue_amount *a = (const void *)v->at[0];

	for (uint32_t i = 0; i < v->n[0]; i++)
		if (a[i].resource >= RESOURCE_EXTENDED && !t->names[a[i].resource])
			return "what has no name";
	return NULL;
}

static const char *node_devices_fault(const struct told *t, const struct view_of *v)
{
	const struct event_node_devices *e = (const void *)v->body;

	return e->generation != 0 && t->nodes[e->node].generation == e->generation ? NULL
	                                                                           : "what is unknown";
}

static const char *match_fault(const struct told *t, const struct view_of *v)
{
	const struct event_match *e = (const void *)v->body;
	const struct event_node_devices *d = &t->devices[e->node];
	const struct event_question *q = &t->questions[e->question];

	if (e->generation == 0 || t->nodes[e->node].generation != e->generation)
		return "what is unknown";
	if (d->generation == 0 || d->layout != e->layout || d->devices_n != e->devices_n ||
	    (e->capacities_n != 0 && e->capacities_n != d->capacities_n))
		return "other devices";
	return q->options_n == 0 || q->options_n != e->options_n || q->constraints_n != e->constraints_n
	           ? "another question"
	           : NULL;
}

static const char *drop_fault(const struct told *t, const struct record *r,
                              const struct event_drop *d)
{
	switch (r->kind) {
	case EVENT_NODE_DROP:
		return d->generation == 0 || t->nodes[d->id].generation != d->generation ? "what is unknown"
		       : node_has_pods(t, d->id)                                         ? "what has pods"
		                                                                         : NULL;
	case EVENT_SHAPE_DROP:
		return t->shapes[d->id] == 0      ? "what is unknown"
		       : shape_has_pods(t, d->id) ? "what has pods"
		                                  : NULL;
	case EVENT_GANG_DROP:
		return d->generation == 0 || t->gangs[d->id].generation != d->generation ? "what is unknown"
		       : gang_has_pods(t, d->id)                                         ? "what has pods"
		                                                                         : NULL;
	case EVENT_POD_DROP:
		return d->generation == 0 || t->pods[d->id].generation != d->generation ? "what is unknown"
		                                                                        : NULL;
	default:
		return NULL;
	}
}

const char *told_fault(const struct told *t, const struct record *r)
{
	struct view_of v = { 0 };

	if (r->kind == EVENT_BEGIN)
		return r->epoch == 0 ? "epoch 0" : NULL;
	if (t->epoch == 0 || r->epoch != t->epoch)
		return "another epoch";
	if (r->kind == EVENT_SYNCED)
		return t->synced ? "synced twice" : NULL;
	if (!layout_open(r, &v))
		return NULL;
	switch (r->kind) {
	case EVENT_NODE:
		return node_fault(t, &v);
	case EVENT_SHAPE:
		return shape_fault(t, r, &v);
	case EVENT_GANG:
		return gang_fault(t, &v);
	case EVENT_POD:
		return pod_fault(t, &v);
	case EVENT_ASSUME:
		return assume_fault(t, &v);
	case EVENT_QUEUE:
		return queue_fault(t, &v);
	case EVENT_NODE_DEVICES:
		return node_devices_fault(t, &v);
	case EVENT_MATCH:
		return match_fault(t, &v);
	case EVENT_PROMISED:
		return t->synced ? "a promise of before" : NULL;
	default:
		return drop_fault(t, r, (const void *)v.body);
	}
}

static void drop_add(struct told *t, const struct record *r, const struct event_drop *d)
{
	if (r->kind == EVENT_NODE_DROP) {
		t->nodes[d->id].generation = 0;
		t->devices[d->id].devices_n = 0; /* the layout stays */
	} else if (r->kind == EVENT_SHAPE_DROP)
		t->shapes[d->id] = 0;
	else if (r->kind == EVENT_GANG_DROP)
		t->gangs[d->id].generation = 0;
	else if (r->kind == EVENT_POD_DROP)
		t->pods[d->id].generation = 0;
	else if (r->kind == EVENT_QUESTION_DROP)
		t->questions[d->id].options_n = 0;
}

void told_add(struct told *t, const struct record *r)
{
	struct view_of v = { 0 };
	const void *body;

	if (r->kind == EVENT_BEGIN)
		*t = (struct told){ .epoch = r->epoch };
	else if (r->kind == EVENT_SYNCED)
		t->synced = true;
	if (!layout_open(r, &v))
		return;
	body = v.body;
	if (r->kind == EVENT_NAME) {
		t->names[((const struct event_name *)body)->id] = true;
	} else if (r->kind == EVENT_NODE) {
		const struct event_node *e = body;

		if (t->nodes[e->node].generation != 0 && t->nodes[e->node].generation != e->generation)
			t->devices[e->node].devices_n = t->devices[e->node].capacities_n = 0;
		t->nodes[e->node] = (struct told_thing){ e->generation, last_text(&v) };
	} else if (r->kind == EVENT_NODE_DEVICES) {
		const struct event_node_devices *e = body;

		t->devices[e->node] = *e;
	} else if (r->kind == EVENT_QUESTION) {
		const struct event_question *e = body;

		t->questions[e->question] = *e;
	} else if (r->kind == EVENT_SHAPE) {
		t->shapes[((const struct event_shape *)body)->shape] = hash(r + 1, r->bytes - sizeof(*r));
	} else if (r->kind == EVENT_GANG) {
		const struct event_gang *e = body;

		t->gangs[e->gang] = (struct told_thing){ e->generation, last_text(&v) };
	} else if (r->kind == EVENT_POD) {
		const struct event_pod *e = body;

		t->pods[e->pod] = (struct told_thing){ e->generation, last_text(&v) };
		t->pod[e->pod] = *e;
	} else {
		drop_add(t, r, body);
	}
}
