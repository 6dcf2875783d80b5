/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of objects in one block of memory, in two passes over the same code: the first counts
 * bytes, the second copies and points each pointer to the copy. */
#include "frontend/volume/volume_impl.h"

#include "ipc/memory.h"

#include <string.h>

struct pack {
	char *at; /* NULL: only count */
	size_t used;
};

static void *pack_bytes(struct pack *p, const void *from, size_t bytes)
{
	char *to = NULL;

	p->used = (p->used + 7) & ~(size_t)7;
	if (p->at && bytes > 0) {
		to = p->at + p->used;
		memcpy(to, from, bytes);
	}
	p->used += bytes;
	return to;
}

static void pack_text(struct pack *p, struct text *t)
{
	if (p->at) {
		if (t->bytes > 0)
			memcpy(p->at + p->used, t->at, t->bytes);
		t->at = p->at + p->used;
	}
	p->used += t->bytes;
}

/* The copy of the array; while counting, the original, which is not changed. */
static void *pack_array(struct pack *p, void *from, size_t n, size_t item_bytes)
{
	void *to = pack_bytes(p, from, n * item_bytes);

	return p->at ? to : from;
}

static void pack_texts(struct pack *p, struct texts *t)
{
	t->at = pack_array(p, t->at, t->n, sizeof(*t->at));
	for (size_t i = 0; i < t->n; i++)
		pack_text(p, &t->at[i]);
}

static void pack_pairs(struct pack *p, struct pairs *pairs)
{
	pairs->at = pack_array(p, pairs->at, pairs->n, sizeof(*pairs->at));
	for (size_t i = 0; i < pairs->n; i++) {
		pack_text(p, &pairs->at[i].key);
		pack_text(p, &pairs->at[i].value);
	}
}

static void pack_term(struct pack *p, struct node_term *term)
{
	term->rules = pack_array(p, term->rules, term->n, sizeof(*term->rules));
	for (size_t i = 0; i < term->n; i++) {
		struct node_rule *r = &term->rules[i];

		pack_text(p, &r->key);
		r->values = pack_array(p, r->values, r->values_n, sizeof(*r->values));
		for (size_t v = 0; v < r->values_n; v++)
			pack_text(p, &r->values[v]);
	}
}

static struct node_term *pack_terms(struct pack *p, struct node_term *terms, size_t n)
{
	terms = pack_array(p, terms, n, sizeof(*terms));
	for (size_t i = 0; i < n; i++)
		pack_term(p, &terms[i]);
	return terms;
}

static void pack_claim(struct pack *p, struct claim_object *c)
{
	pack_text(p, &c->class);
	pack_text(p, &c->volume);
	pack_text(p, &c->owner_uid);
	pack_text(p, &c->selected_node);
	pack_text(p, &c->attributes_class);
	pack_term(p, &c->selector.rules);
}

static void pack_volume(struct pack *p, struct pv_object *v)
{
	pack_text(p, &v->class);
	pack_text(p, &v->attributes_class);
	pack_text(p, &v->claim_namespace);
	pack_text(p, &v->claim_name);
	pack_text(p, &v->claim_uid);
	pack_text(p, &v->source.driver);
	pack_text(p, &v->source.handle);
	v->terms = pack_terms(p, v->terms, v->terms_n);
	pack_pairs(p, &v->labels);
}

static void pack_csi_node(struct pack *p, struct csi_node_object *n)
{
	n->limits = pack_array(p, n->limits, n->limits_n, sizeof(*n->limits));
	for (size_t i = 0; i < n->limits_n; i++)
		pack_text(p, &n->limits[i].driver);
}

static void pack_any(struct pack *p, enum volume_kind kind, union volume_any *o)
{
	pack_text(p, &o->head.namespace);
	pack_text(p, &o->head.name);
	pack_text(p, &o->head.uid);
	pack_text(p, &o->head.version);
	switch (kind) {
	case VOLUME_KIND_CLAIM:
		pack_claim(p, &o->claim);
		break;
	case VOLUME_KIND_VOLUME:
		pack_volume(p, &o->pv);
		break;
	case VOLUME_KIND_CLASS:
		pack_text(p, &o->class.provisioner);
		o->class.topologies = pack_terms(p, o->class.topologies, o->class.topologies_n);
		break;
	case VOLUME_KIND_NODE:
		pack_csi_node(p, &o->csi_node);
		break;
	case VOLUME_KIND_CAPACITY:
		pack_text(p, &o->capacity.class);
		pack_term(p, &o->capacity.nodes.rules);
		break;
	case VOLUME_KIND_ATTACHMENT:
		pack_text(p, &o->attachment.attacher);
		pack_text(p, &o->attachment.node);
		pack_text(p, &o->attachment.volume);
		break;
	default:
		break;
	}
}

static size_t kind_bytes(enum volume_kind kind)
{
	switch (kind) {
	case VOLUME_KIND_CLAIM:
		return sizeof(struct claim_object);
	case VOLUME_KIND_VOLUME:
		return sizeof(struct pv_object);
	case VOLUME_KIND_CLASS:
		return sizeof(struct class_object);
	case VOLUME_KIND_NODE:
		return sizeof(struct csi_node_object);
	case VOLUME_KIND_DRIVER:
		return sizeof(struct driver_object);
	case VOLUME_KIND_CAPACITY:
		return sizeof(struct capacity_object);
	default:
		return sizeof(struct attachment_object);
	}
}

void *volume_pack(enum volume_kind kind, const union volume_any *from)
{
	union volume_any copy = *from;
	struct pack p = { NULL, kind_bytes(kind) };

	pack_any(&p, kind, &copy);
	p.at = must_alloc(p.used);
	p.used = kind_bytes(kind);
	pack_any(&p, kind, &copy);
	memcpy(p.at, &copy, kind_bytes(kind));
	return p.at;
}

static void pack_pod(struct pack *p, struct volume_pod *pod)
{
	pack_text(p, &pod->namespace);
	pack_text(p, &pod->name);
	pack_text(p, &pod->uid);
	pod->volumes.at = pack_array(p, pod->volumes.at, pod->volumes.n, sizeof(*pod->volumes.at));
	for (size_t i = 0; i < pod->volumes.n; i++) {
		pack_text(p, &pod->volumes.at[i].name);
		pack_text(p, &pod->volumes.at[i].pool);
		pack_texts(p, &pod->volumes.at[i].monitors);
	}
}

size_t volumes_bytes(const struct pod_volumes *volumes)
{
	size_t bytes = volumes->n * VOLUME_BYTES;

	for (size_t i = 0; i < volumes->n; i++) {
		const struct volume_object *v = &volumes->at[i];

		bytes += v->name.bytes + v->pool.bytes;
		for (size_t k = 0; k < v->monitors.n; k++)
			bytes += sizeof(struct text) + v->monitors.at[k].bytes;
	}
	return bytes;
}

struct volume_pod *volume_pack_pod(const struct pod_object *pod)
{
	struct volume_pod copy = { pod->meta.namespace, pod->meta.name, pod->meta.uid, *pod->volumes };
	struct pack p = { NULL, sizeof(copy) };

	if (copy.namespace.bytes == 0)
		copy.namespace = text_of("default");
	pack_pod(&p, &copy);
	p.at = must_alloc(p.used);
	p.used = sizeof(copy);
	pack_pod(&p, &copy);
	memcpy(p.at, &copy, sizeof(copy));
	return (struct volume_pod *)(void *)p.at;
}

static void pack_node(struct pack *p, struct volume_node_labels *n)
{
	pack_text(p, &n->name);
	pack_pairs(p, &n->labels);
}

struct volume_node_labels *volume_pack_node(struct text name, const struct pairs *labels)
{
	struct volume_node_labels copy = { name, labels ? *labels : (struct pairs){ NULL, 0, 0 } };
	struct pack p = { NULL, sizeof(copy) };

	pack_node(&p, &copy);
	p.at = must_alloc(p.used);
	p.used = sizeof(copy);
	pack_node(&p, &copy);
	memcpy(p.at, &copy, sizeof(copy));
	return (struct volume_node_labels *)(void *)p.at;
}
