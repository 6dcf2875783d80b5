/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/nodes/images.h"

#include "frontend/model/base/limits.h"
#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>

uint32_t image_take(struct model *m, struct text name)
{
	uint32_t n = model_number(&m->images, name);

	m->image_uses = must_reach(m->image_uses, &m->image_uses_n, n, 64, sizeof(*m->image_uses));
	/* The only reference: no node has it and no shape names it. */
	if (intern_refs(&m->images, n) == 1)
		m->image_uses[n] = (struct image_use){ 0 };
	return n;
}

void image_ask(struct model *m, uint32_t image)
{
	struct image_use *u = &m->image_uses[image];

	assert(image < m->image_uses_n && intern_refs(&m->images, image) > 0);
	if (u->sent)
		return;
	u->sent = true;
	u->fresh = u->nodes > 0;
	m->images_due = m->images_due || u->fresh;
}

void images_give(struct model *m, struct image_on_node *images, uint32_t n)
{
	assert(n == 0 || images);
	for (uint32_t i = 0; i < n; i++) {
		assert(m->image_uses[images[i].image].nodes > 0);
		m->image_uses[images[i].image].nodes--;
		intern_give(&m->images, images[i].image);
	}
	free(images);
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

struct image_on_node *images_take(struct model *m, const struct node_object *object, uint32_t *n)
{
	struct image_on_node *images;

	*n = 0;
	if (object->images_n == 0)
		return NULL;
	images = must_array(object->images_n, sizeof(*images));
	for (size_t i = 0; i < object->images_n; i++) {
		images[i].image = image_take(m, object->images[i].name);
		images[i].reserved = (uint32_t)i; /* until they are sorted */
		images[i].bytes = object->images[i].bytes > 0 ? object->images[i].bytes : 0;
	}
	*n = sort_images(m, images, (uint32_t)object->images_n);
	for (uint32_t i = 0; i < *n; i++)
		m->image_uses[images[i].image].nodes++;
	return images;
}

/* The next one from *at on that the core gets, or NULL. */
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

bool images_equal_sent(const struct model *m, const struct image_on_node *a, uint32_t a_n,
                       const struct image_on_node *b, uint32_t b_n)
{
	uint32_t i = 0, k = 0;

	for (;;) {
		const struct image_on_node *x = next_sent(m, a, a_n, &i), *y = next_sent(m, b, b_n, &k);

		if (!x || !y)
			return x == y;
		if (x->image != y->image || x->bytes != y->bytes)
			return false;
	}
}
