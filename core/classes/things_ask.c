/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about things in use, and checks of them. */
#include "core/classes/things_impl.h"

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
		if ((s->parts.exclusives[i].flags & EXCLUSIVE_CLAIM) &&
		    claim_used(t, s->parts.exclusives[i].thing))
			return true;
	return false;
}

static uint64_t volumes_new(const struct things *t, node_id node, const struct shape *s,
                            uint32_t driver)
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

		if (more > 0 &&
		    use_count(t, volumes_key(node, has->limits[k].driver)) + more > has->limits[k].most)
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
	const struct event_node body = { .node = node,
		                             .flags = NODE_PRESENT,
		                             .images_n = has->images_n,
		                             .limits_n = has->limits_n,
		                             .attached_n = has->attached_n };
	const struct node_record record = {
		.body = &body, .images = has->images, .limits = has->limits, .attached = has->attached
	};
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
		for (uint32_t link = a->chains.heads[head]; link != 0;
		     link = a->chains.links[link - 1].next)
			if (use_count(b, a->uses[link - 1].key) != a->uses[link - 1].count)
				return false;
	return true;
}

static bool images_within(const struct things *a, const struct things *b)
{
	for (uint32_t head = 0; head <= a->image_chains.mask; head++)
		for (uint32_t link = a->image_chains.heads[head]; link != 0;
		     link = a->image_chains.links[link - 1].next) {
			uint32_t other = image_find(b, a->images[link - 1].image);

			if (other == CHAIN_NONE || b->images[other].nodes != a->images[link - 1].nodes)
				return false;
		}
	return true;
}

bool things_equal(const struct things *a, const struct things *b)
{
	return a->reserved == b->reserved && a->chains.count == b->chains.count &&
	       a->image_chains.count == b->image_chains.count && uses_within(a, b) &&
	       images_within(a, b);
}
