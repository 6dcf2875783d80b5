/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classes/things_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ----------------------------------------------------------------- */

struct things *things_new(const struct nodes *nodes)
{
	struct things *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->nodes = nodes;
	t->has = calloc(nodes->limit, sizeof(struct node_has *));
	if (t->has && chains_init(&t->chains, 0) == 0 && chains_init(&t->image_chains, 0) == 0 &&
	    chains_fit(&t->chains, &t->uses, &t->uses_room, sizeof(*t->uses)) == 0 &&
	    chains_fit(&t->image_chains, &t->images, &t->images_room, sizeof(*t->images)) == 0)
		return t;
	things_free(t);
	return NULL;
}

void things_clear(struct things *t)
{
	for (node_id id = 0; id < t->nodes->limit; id++) {
		free(t->has[id]);
		t->has[id] = NULL;
	}
	chains_clear(&t->chains);
	chains_clear(&t->image_chains);
	t->reserved = 0;
}

void things_free(struct things *t)
{
	if (!t)
		return;
	if (t->has)
		things_clear(t);
	chains_free(&t->chains);
	chains_free(&t->image_chains);
	free(t->uses);
	free(t->images);
	free(t->has);
	free(t->coming);
	free(t);
}

/* ---- entries ---------------------------------------------------------------- */

static uint32_t key_hash(const struct use_key *k)
{
	uint32_t hash = chain_hash(chain_hash(9, k->kind), k->node);

	return chain_hash(chain_hash(chain_hash(hash, k->a), k->b), k->c);
}

static bool key_equal(const struct use_key *a, const struct use_key *b)
{
	return a->kind == b->kind && a->node == b->node && a->a == b->a && a->b == b->b && a->c == b->c;
}

uint32_t use_find(const struct things *t, struct use_key key)
{
	uint32_t i = chains_first(&t->chains, key_hash(&key));

	while (i != CHAIN_NONE && !key_equal(&t->uses[i].key, &key))
		i = chains_next(&t->chains, i);
	return i;
}

/* What the count is then.  The entry's number is in *at. */
static uint32_t use_add(struct things *t, struct use_key key, uint32_t *at)
{
	uint32_t i = use_find(t, key);

	if (i == CHAIN_NONE) {
		i = chains_new(&t->chains, key_hash(&key));
		t->uses[i] = (struct use){ .key = key, .previous = CHAIN_NONE, .next = CHAIN_NONE };
	}
	*at = i;
	return ++t->uses[i].count;
}

static uint32_t use_remove(struct things *t, struct use_key key)
{
	uint32_t i = use_find(t, key);

	assert(i != CHAIN_NONE);
	if (--t->uses[i].count > 0)
		return t->uses[i].count;
	chains_drop(&t->chains, i);
	return 0;
}

static int entries_reserve(struct things *t, uint64_t more)
{
	if (t->reserved + more >= CHAIN_NONE)
		return -ENOMEM;
	if (t->reserved + more > t->chains.count &&
	    (chains_reserve(&t->chains, (uint32_t)(t->reserved + more - t->chains.count)) < 0 ||
	     chains_fit(&t->chains, &t->uses, &t->uses_room, sizeof(*t->uses)) < 0))
		return -ENOMEM;
	t->reserved += more;
	return 0;
}

/* Each thing needs two at most: its own, and one that sums up. */
static uint64_t shape_entries(const struct shape *s)
{
	return 2 * ((uint64_t)s->body->ports_n + s->body->exclusives_n + s->body->attachments_n);
}

int things_reserve(struct things *t, const struct shape *s)
{
	return entries_reserve(t, shape_entries(s));
}

void things_release(struct things *t, const struct shape *s)
{
	t->reserved -= shape_entries(s);
}

/* ---- volumes and claims --------------------------------------------------------- */

static void volume_add(struct things *t, node_id node, const struct attachment *a)
{
	uint32_t at;

	if (use_add(t, volume_key(node, a), &at) == 1)
		use_add(t, volumes_key(node, a->driver), &at);
}

static void volume_remove(struct things *t, node_id node, const struct attachment *a)
{
	if (use_remove(t, volume_key(node, a)) == 0)
		use_remove(t, volumes_key(node, a->driver));
}

static struct use_key claim_key(node_id node, uint32_t thing)
{
	return (struct use_key){ .kind = USE_CLAIM, .a = thing, .node = node };
}

static void claim_add(struct things *t, node_id node, uint32_t thing)
{
	uint32_t head, at;

	if (use_add(t, claim_key(node, thing), &at) > 1)
		return;
	use_add(t, claim_head_key(thing), &head);
	t->uses[at].previous = head;
	t->uses[at].next = t->uses[head].next;
	if (t->uses[head].next != CHAIN_NONE)
		t->uses[t->uses[head].next].previous = at;
	t->uses[head].next = at;
}

static void claim_remove(struct things *t, node_id node, uint32_t thing)
{
	uint32_t at = use_find(t, claim_key(node, thing));
	struct use old;

	assert(at != CHAIN_NONE);
	old = t->uses[at];
	if (use_remove(t, claim_key(node, thing)) > 0)
		return;
	t->uses[old.previous].next = old.next;
	if (old.next != CHAIN_NONE)
		t->uses[old.next].previous = old.previous;
	use_remove(t, claim_head_key(thing));
}

/* ---- pods --------------------------------------------------------------------- */

static void exclusive_take(struct things *t, node_id node, const struct exclusive *e)
{
	uint32_t at;

	if (e->flags & EXCLUSIVE_CLAIM) {
		claim_add(t, node, e->thing);
		return;
	}
	use_add(t, disk_key(node, e->thing, false), &at);
	if (e->flags & EXCLUSIVE_SHARED)
		use_add(t, disk_key(node, e->thing, true), &at);
}

static void exclusive_give(struct things *t, node_id node, const struct exclusive *e)
{
	if (e->flags & EXCLUSIVE_CLAIM) {
		claim_remove(t, node, e->thing);
		return;
	}
	use_remove(t, disk_key(node, e->thing, false));
	if (e->flags & EXCLUSIVE_SHARED)
		use_remove(t, disk_key(node, e->thing, true));
}

void things_take(struct things *t, node_id node, const struct shape *s)
{
	uint32_t at;

	for (uint32_t i = 0; i < s->body->ports_n; i++) {
		use_add(t, port_key(node, &s->parts.ports[i]), &at);
		use_add(t, port_any_key(node, &s->parts.ports[i]), &at);
	}
	for (uint32_t i = 0; i < s->body->exclusives_n; i++)
		exclusive_take(t, node, &s->parts.exclusives[i]);
	for (uint32_t i = 0; i < s->volumes_n; i++)
		volume_add(t, node, &s->volumes[i]);
}

void things_give(struct things *t, node_id node, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->ports_n; i++) {
		use_remove(t, port_key(node, &s->parts.ports[i]));
		use_remove(t, port_any_key(node, &s->parts.ports[i]));
	}
	for (uint32_t i = 0; i < s->body->exclusives_n; i++)
		exclusive_give(t, node, &s->parts.exclusives[i]);
	for (uint32_t i = 0; i < s->volumes_n; i++)
		volume_remove(t, node, &s->volumes[i]);
}

/* ---- nodes -------------------------------------------------------------------- */

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
	struct node_has *has = malloc(sizeof(*has) + images + limits + attached);

	if (!has)
		return NULL;
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

uint32_t image_find(const struct things *t, uint32_t image)
{
	uint32_t i = chains_first(&t->image_chains, chain_hash(10, image));

	while (i != CHAIN_NONE && t->images[i].image != image)
		i = chains_next(&t->image_chains, i);
	return i;
}

static void image_add(struct things *t, const struct node_image *n)
{
	uint32_t i = image_find(t, n->image);

	if (i == CHAIN_NONE) {
		i = chains_new(&t->image_chains, chain_hash(10, n->image));
		t->images[i] = (struct image){ .image = n->image, .bytes = n->bytes };
	}
	t->images[i].nodes++;
}

static void image_remove(struct things *t, uint32_t image)
{
	uint32_t i = image_find(t, image);

	if (--t->images[i].nodes == 0)
		chains_drop(&t->image_chains, i);
}

static void node_clear(struct things *t, node_id node)
{
	struct node_has *has = t->has[node];

	if (!has)
		return;
	for (uint32_t i = 0; i < has->images_n; i++)
		image_remove(t, has->images[i].image);
	for (uint32_t i = 0; i < has->attached_n; i++)
		volume_remove(t, node, &has->attached[i]);
	t->reserved -= 2 * (uint64_t)has->attached_n;
	free(has);
	t->has[node] = NULL;
}

/* A node that does not exist has nothing. */
int things_prepare(struct things *t, const struct node_record *record, bool *differs)
{
	const struct event_node *e = record->body;
	const bool any =
		(e->flags & NODE_PRESENT) && (e->images_n > 0 || e->limits_n > 0 || e->attached_n > 0);

	t->coming = any ? has_new(record) : NULL;
	if (any && !t->coming)
		return -ENOMEM;
	t->coming_differs = *differs = !has_equal(t->coming, t->has[e->node]);
	if (!*differs || !any)
		return 0;
	if (chains_reserve(&t->image_chains, e->images_n) == 0 &&
	    chains_fit(&t->image_chains, &t->images, &t->images_room, sizeof(*t->images)) == 0 &&
	    entries_reserve(t, 2 * (uint64_t)e->attached_n) == 0)
		return 0;
	free(t->coming);
	t->coming = NULL;
	return -ENOMEM;
}

void things_cancel(struct things *t)
{
	if (t->coming && t->coming_differs)
		t->reserved -= 2 * (uint64_t)t->coming->attached_n;
	free(t->coming);
	t->coming = NULL;
}

void things_apply(struct things *t, node_id node)
{
	struct node_has *has = t->coming;

	if (!t->coming_differs) {
		things_cancel(t);
		return;
	}
	node_clear(t, node);
	t->has[node] = has;
	t->coming = NULL;
	for (uint32_t i = 0; has && i < has->images_n; i++)
		image_add(t, &has->images[i]);
	for (uint32_t i = 0; has && i < has->attached_n; i++)
		volume_add(t, node, &has->attached[i]);
}

void things_node_drop(struct things *t, node_id node)
{
	node_clear(t, node);
}
