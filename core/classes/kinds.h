/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds: pods that every rule treats alike.
 *
 *   shape      what the pod asks for
 *   class      which selectors of live shapes match its labels
 *   kind       both
 *
 * Labels that no selector asks about make no difference, so the members of a gang,
 * each with its own index label, are one kind.
 *
 * A kind that lost its last pod stays for a while, so that what is kept by kind (views) is there
 * for the next gang of its sort; `gone` is called when its number may become another's. */
#ifndef MUSTER_CORE_KINDS_H
#define MUSTER_CORE_KINDS_H

#include "core/classes/selectors.h"
#include "core/cluster/shapes.h"

#define KIND_NONE UINT32_MAX
#define CLASS_EMPTY 0u /* no selector; always there */

typedef uint32_t kind_id;

struct class
{
	uint32_t refs; /* kinds and label sets; 0: unused */
	uint32_t n;
	selector_id *matched; /* sorted */
};

struct kind {
	uint32_t pods;  /* that are of it */
	shape_id shape; /* ID_NONE: unused */
	uint32_t class;
	uint32_t idle_previous, idle_next; /* of those without pods, the oldest first */
	uint32_t mark;                     /* scratch of the planner: group of the gang at hand */
	uint32_t wait; /* of gangs that need room for it, if there is one; core/queue/waits.h */
};

struct kinds {
	struct kind *slots;
	uint32_t limit;     /* limits.shapes + limits.pods: never reached before the pods' own */
	uint32_t idle_most; /* limits.shapes */
	uint32_t idle_n, idle_first, idle_last;
	struct chains chains;
	struct class *classes;
	uint32_t classes_room;
	struct chains class_chains;
	void (*gone)(void *context, kind_id kind); /* may be NULL */
	void *context;
};

/* Kinds are below this number. */
static inline uint32_t kinds_used(const struct kinds *ks)
{
	return ks->chains.used;
}

static inline const struct class *kind_class(const struct kinds *ks, kind_id kind)
{
	return &ks->classes[ks->slots[kind].class];
}

/* Does the selector match pods of that kind?  A search in a sorted list. */
bool kind_matches(const struct kinds *ks, kind_id kind, selector_id selector);
bool class_has(const struct class *class, selector_id selector);

/* -ENOMEM */
int kinds_init(struct kinds *ks, const struct limits *limits);
void kinds_clear(struct kinds *ks);
void kinds_free(struct kinds *ks);

/* The kind of that shape and class, held by one pod more.  Never fails: there is one for each pod.
 */
kind_id kind_take(struct kinds *ks, shape_id shape, uint32_t class);
void kind_give(struct kinds *ks, kind_id kind);
/* The shape, or the selector, is about to go: kinds with it that have no pods are forgotten. */
void kinds_forget_shape(struct kinds *ks, shape_id shape);
void kinds_forget_selector(struct kinds *ks, selector_id selector);

/* The class of exactly those selectors (sorted), held once more; and given back.  -ENOMEM */
int class_take(struct kinds *ks, const selector_id *matched, uint32_t n, uint32_t *out);
void class_hold(struct kinds *ks, uint32_t class);
void class_give(struct kinds *ks, uint32_t class);

#endif
