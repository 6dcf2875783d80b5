#include "core/things.h"

#include "core/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum use_kind {
	USE_PORT,        /* address, protocol, number */
	USE_PORT_ANY,    /* 0, protocol, number: at whatever address */
	USE_DISK,        /* thing */
	USE_DISK_SHARED, /* thing: by those who share */
	USE_CLAIM,       /* thing */
	USE_CLAIM_HEAD,  /* thing, of no node: begins the list of the uses of a claim */
	USE_VOLUME,      /* driver, volume: by pods and the node's own record */
	USE_VOLUMES,     /* driver: distinct volumes */
};

struct use_key {
	uint32_t kind; /* enum use_kind */
	uint32_t a, b, c;
	node_id node;
};

struct use {
	struct use_key key;
	uint32_t count;
	uint32_t previous, next; /* of a claim: its uses on other nodes */
};

/* What a node's record says it has. */
struct node_has {
	uint32_t images_n, limits_n, attached_n;
	struct node_image *images; /* sorted */
	struct attach_limit *limits;
	struct attachment *attached;
};

struct image {
	uint32_t image;
	uint32_t nodes;
	int64_t bytes;
};

struct things {
	const struct nodes *nodes;
	struct chains chains;
	struct use *uses;
	uint32_t uses_room;
	uint64_t reserved; /* entries that pods and nodes may need */
	struct chains image_chains;
	struct image *images;
	uint32_t images_room;
	struct node_has **has; /* by node; NULL: nothing */
	/* Between things_prepare() and what follows. */
	struct node_has *coming;
	bool coming_differs;
};

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

static uint32_t use_find(const struct things *t, struct use_key key)
{
	uint32_t i = chains_first(&t->chains, key_hash(&key));

	while (i != CHAIN_NONE && !key_equal(&t->uses[i].key, &key))
		i = chains_next(&t->chains, i);
	return i;
}

static uint32_t use_count(const struct things *t, struct use_key key)
{
	uint32_t i = use_find(t, key);

	return i == CHAIN_NONE ? 0 : t->uses[i].count;
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

static struct use_key volume_key(node_id node, const struct attachment *a)
{
	return (struct use_key){ .kind = USE_VOLUME, .a = a->driver, .b = a->volume, .node = node };
}

static struct use_key volumes_key(node_id node, uint32_t driver)
{
	return (struct use_key){ .kind = USE_VOLUMES, .a = driver, .node = node };
}

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

static struct use_key claim_head_key(uint32_t thing)
{
	return (struct use_key){ .kind = USE_CLAIM_HEAD, .a = thing, .node = ID_NONE };
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

static struct use_key port_key(node_id node, const struct host_port *p)
{
	return (struct use_key){ .kind = USE_PORT, .a = p->address, .b = p->protocol, .c = p->port, .node = node };
}

static struct use_key port_any_key(node_id node, const struct host_port *p)
{
	return (struct use_key){ .kind = USE_PORT_ANY, .b = p->protocol, .c = p->port, .node = node };
}

static struct use_key disk_key(node_id node, uint32_t thing, bool shared)
{
	return (struct use_key){ .kind = shared ? USE_DISK_SHARED : USE_DISK, .a = thing, .node = node };
}

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
	*has = (struct node_has){ .images_n = e->images_n, .limits_n = e->limits_n, .attached_n = e->attached_n };
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
	return a->images_n == b->images_n && a->limits_n == b->limits_n && a->attached_n == b->attached_n &&
	       memcmp(a->images, b->images, bytes_of(a->images_n, sizeof(*a->images))) == 0 &&
	       memcmp(a->limits, b->limits, bytes_of(a->limits_n, sizeof(*a->limits))) == 0 &&
	       memcmp(a->attached, b->attached, bytes_of(a->attached_n, sizeof(*a->attached))) == 0;
}

static uint32_t image_find(const struct things *t, uint32_t image)
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
	const bool any = (e->flags & NODE_PRESENT) && (e->images_n > 0 || e->limits_n > 0 || e->attached_n > 0);

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

/* ---- questions ------------------------------------------------------------------ */

static bool port_taken(const struct things *t, node_id node, const struct host_port *p)
{
	struct host_port every = *p;

	if (use_count(t, port_any_key(node, p)) == 0)
		return false;
	if (p->address == PORT_EVERY_ADDRESS || use_count(t, port_key(node, p)) > 0)
		return true;
	every.address = PORT_EVERY_ADDRESS;
	return use_count(t, port_key(node, &every)) > 0;
}

bool things_port_conflict(const struct things *t, node_id node, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->ports_n; i++)
		if (port_taken(t, node, &s->parts.ports[i]))
			return true;
	return false;
}

bool things_disk_conflict(const struct things *t, node_id node, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->exclusives_n; i++) {
		const struct exclusive *e = &s->parts.exclusives[i];
		uint32_t users, sharers;

		if (e->flags & EXCLUSIVE_CLAIM)
			continue;
		users = use_count(t, disk_key(node, e->thing, false));
		sharers = e->flags & EXCLUSIVE_SHARED ? use_count(t, disk_key(node, e->thing, true)) : 0;
		if (users > sharers)
			return true;
	}
	return false;
}

static bool claim_used(const struct things *t, uint32_t thing)
{
	uint32_t i = use_find(t, claim_head_key(thing));

	if (i == CHAIN_NONE)
		return false;
	for (i = t->uses[i].next; i != CHAIN_NONE; i = t->uses[i].next)
		if (node_present(&t->nodes->slots[t->uses[i].key.node]))
			return true;
	return false;
}

bool things_claim_conflict(const struct things *t, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->exclusives_n; i++)
		if ((s->parts.exclusives[i].flags & EXCLUSIVE_CLAIM) && claim_used(t, s->parts.exclusives[i].thing))
			return true;
	return false;
}

static uint64_t volumes_new(const struct things *t, node_id node, const struct shape *s, uint32_t driver)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->volumes_n; i++)
		n += s->volumes[i].driver == driver && use_count(t, volume_key(node, &s->volumes[i])) == 0;
	return n;
}

bool things_attach_exceeded(const struct things *t, node_id node, const struct shape *s)
{
	const struct node_has *has = s->volumes_n > 0 ? t->has[node] : NULL;

	for (uint32_t k = 0; has && k < has->limits_n; k++) {
		uint64_t more = volumes_new(t, node, s, has->limits[k].driver);

		if (more > 0 && use_count(t, volumes_key(node, has->limits[k].driver)) + more > has->limits[k].most)
			return true;
	}
	return false;
}

static bool has_image(const struct node_has *has, uint32_t image)
{
	uint32_t low = 0, high = has->images_n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (has->images[middle].image < image)
			low = middle + 1;
		else
			high = middle;
	}
	return low < has->images_n && has->images[low].image == image;
}

bool things_image(const struct things *t, node_id node, uint32_t image, struct image_fact *out)
{
	const struct node_has *has = t->has[node];
	const struct image *found;

	if (!has || !has_image(has, image))
		return false;
	found = &t->images[image_find(t, image)];
	*out = (struct image_fact){ .bytes = found->bytes, .nodes = found->nodes };
	return true;
}

/* ---- checks ---------------------------------------------------------------------- */

static int has_again(struct things *again, node_id node, const struct node_has *has)
{
	const struct event_node body = { .node = node, .flags = NODE_PRESENT, .images_n = has->images_n,
		                         .limits_n = has->limits_n, .attached_n = has->attached_n };
	const struct node_record record = { .body = &body, .images = has->images, .limits = has->limits,
		                            .attached = has->attached };
	bool differs;
	int rc = things_prepare(again, &record, &differs);

	if (rc == 0)
		things_apply(again, node);
	return rc;
}

struct things *things_again(const struct things *t)
{
	struct things *again = things_new(t->nodes);

	for (node_id id = 0; again && id < t->nodes->limit; id++)
		if (t->has[id] && has_again(again, id, t->has[id]) < 0) {
			things_free(again);
			return NULL;
		}
	return again;
}

static bool uses_within(const struct things *a, const struct things *b)
{
	for (uint32_t head = 0; head <= a->chains.mask; head++)
		for (uint32_t link = a->chains.heads[head]; link != 0; link = a->chains.links[link - 1].next)
			if (use_count(b, a->uses[link - 1].key) != a->uses[link - 1].count)
				return false;
	return true;
}

static bool images_within(const struct things *a, const struct things *b)
{
	for (uint32_t head = 0; head <= a->image_chains.mask; head++)
		for (uint32_t link = a->image_chains.heads[head]; link != 0; link = a->image_chains.links[link - 1].next) {
			uint32_t other = image_find(b, a->images[link - 1].image);

			if (other == CHAIN_NONE || b->images[other].nodes != a->images[link - 1].nodes)
				return false;
		}
	return true;
}

bool things_equal(const struct things *a, const struct things *b)
{
	return a->reserved == b->reserved && a->chains.count == b->chains.count &&
	       a->image_chains.count == b->image_chains.count && uses_within(a, b) && images_within(a, b);
}
