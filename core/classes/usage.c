/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/usage.h"
#include "core/classes/usage_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct usage *usage_new(const struct nodes *nodes)
{
	struct usage *t = must_alloc(sizeof(*t));

	t->nodes = nodes;
	t->has = must_array(nodes->limit, sizeof(struct node_has *));
	id_table_init(&t->ids, 0);
	id_table_init(&t->image_ids, 0);
	return t;
}

void usage_clear(struct usage *t)
{
	for (node_id id = 0; id < t->nodes->span; id++) {
		free(t->has[id]);
		t->has[id] = NULL;
	}
	id_table_clear(&t->ids);
	id_table_clear(&t->image_ids);
}

void usage_free(struct usage *t)
{
	if (!t)
		return;
	usage_clear(t);
	id_table_free(&t->ids);
	id_table_free(&t->image_ids);
	free(t->uses);
	free(t->images);
	free(t->has);
	free(t);
}

static uint32_t key_hash(const struct use_key *k)
{
	uint32_t hash = id_hash(id_hash(9, k->kind), k->node);

	return id_hash(id_hash(id_hash(hash, k->a), k->b), k->c);
}

static bool key_equal(const struct use_key *a, const struct use_key *b)
{
	return a->kind == b->kind && a->node == b->node && a->a == b->a && a->b == b->b && a->c == b->c;
}

uint32_t use_find(const struct usage *t, struct use_key key)
{
	uint32_t i = id_table_first(&t->ids, key_hash(&key));

	while (i != ID_TABLE_NONE && !key_equal(&t->uses[i].key, &key))
		i = id_table_next(&t->ids, i);
	return i;
}

/* Returns the count after it.  *at: index of the entry. */
static uint32_t use_add(struct usage *t, struct use_key key, uint32_t *at)
{
	uint32_t i = use_find(t, key);

	if (i == ID_TABLE_NONE) {
		id_table_reserve(&t->ids, 1);
		id_table_fit(&t->ids, &t->uses, &t->uses_cap, sizeof(*t->uses));
		i = id_table_add(&t->ids, key_hash(&key));
		t->uses[i] = (struct use){ .key = key, .previous = ID_TABLE_NONE, .next = ID_TABLE_NONE };
	}
	*at = i;
	return ++t->uses[i].count;
}

static uint32_t use_remove(struct usage *t, struct use_key key)
{
	uint32_t i = use_find(t, key);

	assert(i != ID_TABLE_NONE);
	assert(t->uses[i].count > 0);
	if (--t->uses[i].count > 0)
		return t->uses[i].count;
	id_table_remove(&t->ids, i);
	return 0;
}

static void volume_add(struct usage *t, node_id node, const struct attachment *a)
{
	uint32_t at;

	if (use_add(t, volume_key(node, a), &at) == 1)
		use_add(t, volumes_key(node, a->driver), &at);
}

static void volume_remove(struct usage *t, node_id node, const struct attachment *a)
{
	if (use_remove(t, volume_key(node, a)) == 0)
		use_remove(t, volumes_key(node, a->driver));
}

static struct use_key claim_key(node_id node, uint32_t item)
{
	return (struct use_key){ .kind = USE_CLAIM, .a = item, .node = node };
}

static void claim_add(struct usage *t, node_id node, uint32_t item)
{
	uint32_t head, at;

	if (use_add(t, claim_key(node, item), &at) > 1)
		return;
	use_add(t, claim_head_key(item), &head);
	t->uses[at].previous = head;
	t->uses[at].next = t->uses[head].next;
	if (t->uses[head].next != ID_TABLE_NONE)
		t->uses[t->uses[head].next].previous = at;
	t->uses[head].next = at;
}

static void claim_remove(struct usage *t, node_id node, uint32_t item)
{
	uint32_t at = use_find(t, claim_key(node, item));
	struct use old;

	assert(at != ID_TABLE_NONE);
	old = t->uses[at];
	if (use_remove(t, claim_key(node, item)) > 0)
		return;
	assert(old.previous != ID_TABLE_NONE);
	t->uses[old.previous].next = old.next;
	if (old.next != ID_TABLE_NONE)
		t->uses[old.next].previous = old.previous;
	use_remove(t, claim_head_key(item));
}

static void exclusive_add(struct usage *t, node_id node, const struct exclusive *e)
{
	uint32_t at;

	if (e->flags & EXCLUSIVE_CLAIM) {
		claim_add(t, node, e->item);
		return;
	}
	use_add(t, disk_key(node, e->item, false), &at);
	if (e->flags & EXCLUSIVE_SHARED)
		use_add(t, disk_key(node, e->item, true), &at);
}

static void exclusive_remove(struct usage *t, node_id node, const struct exclusive *e)
{
	if (e->flags & EXCLUSIVE_CLAIM) {
		claim_remove(t, node, e->item);
		return;
	}
	use_remove(t, disk_key(node, e->item, false));
	if (e->flags & EXCLUSIVE_SHARED)
		use_remove(t, disk_key(node, e->item, true));
}

void usage_add(struct usage *t, node_id node, const struct shape *s)
{
	uint32_t at;

	for (uint32_t i = 0; i < s->body->ports_n; i++) {
		use_add(t, port_key(node, &s->parts.ports[i]), &at);
		use_add(t, port_any_key(node, &s->parts.ports[i]), &at);
	}
	for (uint32_t i = 0; i < s->body->exclusives_n; i++)
		exclusive_add(t, node, &s->parts.exclusives[i]);
	for (uint32_t i = 0; i < s->volumes_n; i++)
		volume_add(t, node, &s->volumes[i]);
}

void usage_remove(struct usage *t, node_id node, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->ports_n; i++) {
		use_remove(t, port_key(node, &s->parts.ports[i]));
		use_remove(t, port_any_key(node, &s->parts.ports[i]));
	}
	for (uint32_t i = 0; i < s->body->exclusives_n; i++)
		exclusive_remove(t, node, &s->parts.exclusives[i]);
	for (uint32_t i = 0; i < s->volumes_n; i++)
		volume_remove(t, node, &s->volumes[i]);
}

static size_t bytes_of(uint32_t n, size_t bytes)
{
	return (size_t)n * bytes;
}

static struct node_has *has_new(const struct node_record *record)
{
	const struct event_node *e = record->body;
	const size_t images = bytes_of(e->images_n, sizeof(struct node_image));
	const size_t limits = bytes_of(e->limits_n, sizeof(struct attach_limit));
	const size_t attached = bytes_of(e->attached_n, sizeof(struct attachment));
	struct node_has *has = must_alloc(sizeof(*has) + images + limits + attached);

	*has = (struct node_has){ .images_n = e->images_n,
		                      .limits_n = e->limits_n,
		                      .attached_n = e->attached_n };
	has->images = (struct node_image *)(void *)(has + 1);
	has->limits = (struct attach_limit *)(void *)((char *)has->images + images);
	has->attached = (struct attachment *)(void *)((char *)has->limits + limits);
	if (images > 0)
		memcpy(has->images, record->images, images);
	if (limits > 0)
		memcpy(has->limits, record->limits, limits);
	if (attached > 0)
		memcpy(has->attached, record->attached, attached);
	return has;
}

static bool has_equal(const struct node_has *a, const struct node_has *b)
{
	if (!a || !b)
		return a == b;
	return a->images_n == b->images_n && a->limits_n == b->limits_n &&
	       a->attached_n == b->attached_n &&
	       memcmp(a->images, b->images, bytes_of(a->images_n, sizeof(*a->images))) == 0 &&
	       memcmp(a->limits, b->limits, bytes_of(a->limits_n, sizeof(*a->limits))) == 0 &&
	       memcmp(a->attached, b->attached, bytes_of(a->attached_n, sizeof(*a->attached))) == 0;
}

uint32_t image_find(const struct usage *t, uint32_t image)
{
	uint32_t i = id_table_first(&t->image_ids, id_hash(10, image));

	while (i != ID_TABLE_NONE && t->images[i].image != image)
		i = id_table_next(&t->image_ids, i);
	return i;
}

static void image_add(struct usage *t, const struct node_image *n)
{
	uint32_t i = image_find(t, n->image);

	if (i == ID_TABLE_NONE) {
		id_table_reserve(&t->image_ids, 1);
		id_table_fit(&t->image_ids, &t->images, &t->images_cap, sizeof(*t->images));
		i = id_table_add(&t->image_ids, id_hash(10, n->image));
		t->images[i] = (struct image){ .image = n->image, .bytes = n->bytes };
	}
	t->images[i].nodes++;
}

static void image_remove(struct usage *t, uint32_t image)
{
	uint32_t i = image_find(t, image);

	assert(i != ID_TABLE_NONE && t->images[i].nodes > 0);
	if (--t->images[i].nodes == 0)
		id_table_remove(&t->image_ids, i);
}

static void node_clear(struct usage *t, node_id node)
{
	struct node_has *has = t->has[node];

	if (!has)
		return;
	for (uint32_t i = 0; i < has->images_n; i++)
		image_remove(t, has->images[i].image);
	for (uint32_t i = 0; i < has->attached_n; i++)
		volume_remove(t, node, &has->attached[i]);
	free(has);
	t->has[node] = NULL;
}

/* A node that is not present has nothing. */
bool usage_node_set(struct usage *t, const struct node_record *record)
{
	const struct event_node *e = record->body;
	const bool any =
		(e->flags & NODE_PRESENT) && (e->images_n > 0 || e->limits_n > 0 || e->attached_n > 0);
	struct node_has *has = any ? has_new(record) : NULL;

	if (has_equal(has, t->has[e->node])) {
		free(has);
		return false;
	}
	node_clear(t, e->node);
	t->has[e->node] = has;
	for (uint32_t i = 0; has && i < has->images_n; i++)
		image_add(t, &has->images[i]);
	for (uint32_t i = 0; has && i < has->attached_n; i++)
		volume_add(t, e->node, &has->attached[i]);
	return true;
}

void usage_node_drop(struct usage *t, node_id node)
{
	assert(node < t->nodes->limit);
	node_clear(t, node);
}
