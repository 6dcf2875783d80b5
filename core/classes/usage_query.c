/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of the usage of nodes, and checks of it. */
#include "core/classes/usage.h"
#include "core/classes/usage_impl.h"

static bool port_taken(const struct usage *t, node_id node, const struct host_port *p)
{
	struct host_port every = *p;

	if (use_count(t, port_any_key(node, p)) == 0)
		return false;
	if (p->address == PORT_EVERY_ADDRESS || use_count(t, port_key(node, p)) > 0)
		return true;
	every.address = PORT_EVERY_ADDRESS;
	return use_count(t, port_key(node, &every)) > 0;
}

bool usage_port_conflict(const struct usage *t, node_id node, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->ports_n; i++)
		if (port_taken(t, node, &s->parts.ports[i]))
			return true;
	return false;
}

bool usage_disk_conflict(const struct usage *t, node_id node, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->exclusives_n; i++) {
		const struct exclusive *e = &s->parts.exclusives[i];
		uint32_t users, sharers;

		if (e->flags & EXCLUSIVE_CLAIM)
			continue;
		users = use_count(t, disk_key(node, e->item, false));
		sharers = e->flags & EXCLUSIVE_SHARED ? use_count(t, disk_key(node, e->item, true)) : 0;
		if (users > sharers)
			return true;
	}
	return false;
}

static bool claim_used(const struct usage *t, uint32_t item)
{
	uint32_t i = use_find(t, claim_head_key(item));

	if (i == ID_TABLE_NONE)
		return false;
	for (i = t->uses[i].next; i != ID_TABLE_NONE; i = t->uses[i].next)
		if (node_present(&t->nodes->slots[t->uses[i].key.node]))
			return true;
	return false;
}

bool usage_claim_conflict(const struct usage *t, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->exclusives_n; i++)
		if ((s->parts.exclusives[i].flags & EXCLUSIVE_CLAIM) &&
		    claim_used(t, s->parts.exclusives[i].item))
			return true;
	return false;
}

static uint64_t volumes_new(const struct usage *t, node_id node, const struct shape *s,
                            uint32_t driver)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->volumes_n; i++)
		n += s->volumes[i].driver == driver && use_count(t, volume_key(node, &s->volumes[i])) == 0;
	return n;
}

bool usage_attach_exceeded(const struct usage *t, node_id node, const struct shape *s)
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

bool usage_has_image(const struct usage *t, const struct shape *s)
{
	for (uint32_t i = 0; i < s->body->images_n; i++)
		if (image_find(t, s->parts.images[i]) != ID_TABLE_NONE)
			return true;
	return false;
}

bool usage_image(const struct usage *t, node_id node, uint32_t image, struct image_fact *out)
{
	const struct node_has *has = t->has[node];
	const struct image *found;

	if (!has || !has_image(has, image))
		return false;
	found = &t->images[image_find(t, image)];
	*out = (struct image_fact){ .bytes = found->bytes, .nodes = found->nodes };
	return true;
}

static void has_again(struct usage *again, node_id node, const struct node_has *has)
{
	const struct event_node body = { .node = node,
		                             .flags = NODE_PRESENT,
		                             .images_n = has->images_n,
		                             .limits_n = has->limits_n,
		                             .attached_n = has->attached_n };

	usage_node_set(again, &(struct node_record){ .body = &body,
	                                             .images = has->images,
	                                             .limits = has->limits,
	                                             .attached = has->attached });
}

struct usage *usage_of_nodes(const struct usage *t)
{
	struct usage *again = usage_new(t->nodes);

	for (node_id id = 0; id < t->nodes->used; id++)
		if (t->has[id])
			has_again(again, id, t->has[id]);
	return again;
}

static bool uses_within(const struct usage *a, const struct usage *b)
{
	for (uint32_t head = 0; head <= a->ids.mask; head++)
		for (uint32_t link = a->ids.heads[head]; link != 0; link = a->ids.links[link - 1].next)
			if (use_count(b, a->uses[link - 1].key) != a->uses[link - 1].count)
				return false;
	return true;
}

static bool images_within(const struct usage *a, const struct usage *b)
{
	for (uint32_t head = 0; head <= a->image_ids.mask; head++)
		for (uint32_t link = a->image_ids.heads[head]; link != 0;
		     link = a->image_ids.links[link - 1].next) {
			uint32_t other = image_find(b, a->images[link - 1].image);

			if (other == ID_TABLE_NONE || b->images[other].nodes != a->images[link - 1].nodes)
				return false;
		}
	return true;
}

bool usage_equal(const struct usage *a, const struct usage *b)
{
	return a->ids.count == b->ids.count && a->image_ids.count == b->image_ids.count &&
	       uses_within(a, b) && images_within(a, b);
}
