/* SPDX-License-Identifier: Apache-2.0 */
/* Images on nodes: the core is told of those alone that some shape asks for.  Once it
 * was told of one it goes on to be, as long as a node has it: so a pod of a known image
 * makes no node dirty. */
#include "frontend/model/model_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for -------------------------------------------------------------- */

static int uses_reserve(struct model *m)
{
	size_t wanted = m->image_uses_n > 0 ? m->image_uses_n * 2 : 64;
	struct image_use *grown;

	if (m->images.pool.n < m->image_uses_n)
		return 0;
	grown = realloc(m->image_uses, wanted * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + m->image_uses_n, 0, (wanted - m->image_uses_n) * sizeof(*grown));
	m->image_uses = grown;
	m->image_uses_n = wanted;
	return 0;
}

int image_take(struct model *m, struct text name, uint32_t *number, const char **flag)
{
	int rc = uses_reserve(m);

	if (rc == 0)
		rc = model_intern(m, &m->images, name, number, flag);
	/* Held by nobody else: no node has it, no shape asks for it. */
	if (rc == 0 && intern_refs(&m->images, *number) == 1)
		m->image_uses[*number] = (struct image_use){ 0 };
	return rc;
}

void image_ask(struct model *m, uint32_t image)
{
	struct image_use *u = &m->image_uses[image];

	if (u->sent)
		return;
	u->sent = true;
	u->fresh = true;
	m->images_due = true;
}

void images_sight(struct model *m)
{
	if (!m->images_due)
		return;
	m->images_due = false;
	for (uint32_t i = 0; i < m->nodes.n; i++) {
		const struct node_entry *n = node_at(m, i);
		bool any = false;

		for (uint32_t k = 0; n->slot.live && n->body && !any && k < n->images_n; k++)
			any = m->image_uses[n->images[k].image].fresh;
		if (any)
			list_push(&m->nodes_dirty, &m->nodes, i);
	}
	for (size_t i = 0; i < m->image_uses_n; i++)
		m->image_uses[i].fresh = false;
}

/* ---- what nodes have ------------------------------------------------------------------ */

static void images_give(struct model *m, struct image_on_node *images, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		intern_give(&m->images, images[i].image);
	free(images);
}

void node_clear_images(struct model *m, uint32_t node)
{
	struct node_entry *e = node_at(m, node);

	images_give(m, e->images, e->images_n);
	e->images = NULL;
	e->images_n = 0;
}

static int image_order(const void *a, const void *b)
{
	const struct image_on_node *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->reserved < y->reserved ? -1 : x->reserved > y->reserved;
}

/* Sorted; of two entries of one name the last one counts. */
static uint32_t sort_images(struct model *m, struct image_on_node *images, uint32_t n)
{
	uint32_t kept = 0;

	qsort(images, n, sizeof(*images), image_order);
	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n && images[i + 1].image == images[i].image)
			intern_give(&m->images, images[i].image);
		else
			images[kept++] = images[i];
	}
	for (uint32_t i = 0; i < kept; i++)
		images[i].reserved = 0;
	return kept;
}

/* The next one from *at on that the core is told of, or NULL. */
static const struct image_on_node *
next_sent(const struct model *m, const struct image_on_node *images, uint32_t n, uint32_t *at)
{
	while (*at < n) {
		const struct image_on_node *i = &images[(*at)++];

		if (m->image_uses[i->image].sent)
			return i;
	}
	return NULL;
}

static bool same_sent(const struct model *m, const struct node_entry *e,
                      const struct image_on_node *images, uint32_t n)
{
	uint32_t a = 0, b = 0;

	for (;;) {
		const struct image_on_node *x = next_sent(m, e->images, e->images_n, &a);
		const struct image_on_node *y = next_sent(m, images, n, &b);

		if (!x || !y)
			return x == y;
		if (x->image != y->image || x->bytes != y->bytes)
			return false;
	}
}

int node_set_images(struct model *m, uint32_t node, const struct node_object *object, bool *changed)
{
	struct image_on_node *images = NULL;
	struct node_entry *e;
	uint32_t n = 0;
	const char *flag;
	int rc;

	if (object->images_n > 0) {
		images = calloc(object->images_n, sizeof(*images));
		if (!images)
			return -ENOMEM;
	}
	for (size_t i = 0; i < object->images_n; i++) {
		rc = image_take(m, object->images[i].name, &images[n].image, &flag);
		if (rc < 0) {
			images_give(m, images, n);
			return -ENOMEM; /* there are as many numbers as there is memory for */
		}
		images[n].reserved = (uint32_t)i; /* until they are sorted */
		images[n++].bytes = object->images[i].bytes > 0 ? object->images[i].bytes : 0;
	}
	if (n > 0)
		n = sort_images(m, images, n);
	e = node_at(m, node);
	*changed = !same_sent(m, e, images, n);
	node_clear_images(m, node);
	e->images = images;
	e->images_n = n;
	return 0;
}
