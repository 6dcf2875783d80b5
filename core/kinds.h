/* Kinds: pods that every rule treats alike.
 *
 *   shape      what the pod asks for
 *   class      which selectors of live shapes match its labels
 *   kind       both
 *
 * Labels that no selector asks about make no difference, so the members of a gang,
 * each with its own index label, are one kind. */
#ifndef MUSTER_CORE_KINDS_H
#define MUSTER_CORE_KINDS_H

#include "core/selectors.h"
#include "core/shapes.h"

#define KIND_NONE UINT32_MAX

typedef uint32_t kind_id;

struct class {
	uint32_t refs;
	uint32_t n;
	uint32_t hash;
	selector_id *matched; /* sorted */
};

struct kind {
	uint32_t pods; /* that are of it; 0: unused */
	shape_id shape;
	uint32_t class;
};

struct kinds {
	struct kind *slots;
	uint32_t limit; /* limits.shapes + limits.pods: never reached before the pods' own */
	uint32_t used;
	struct class *classes;
	uint32_t classes_n;
	struct kinds_index *index; /* core/kinds.c */
};

static inline const struct class *kind_class(const struct kinds *ks, kind_id kind)
{
	return &ks->classes[ks->slots[kind].class];
}

/* Does the selector match pods of that kind?  A search in a sorted list. */
bool kind_matches(const struct kinds *ks, kind_id kind, selector_id selector);

/* -ENOMEM */
int kinds_init(struct kinds *ks, const struct limits *limits);
void kinds_clear(struct kinds *ks);
void kinds_free(struct kinds *ks);

/* The kind of that shape and class, held by one pod more. */
int kind_take(struct kinds *ks, shape_id shape, uint32_t class, kind_id *out);
/* True when it was the last pod: views of it are to be forgotten. */
bool kind_give(struct kinds *ks, kind_id kind);

/* The class of exactly those selectors (sorted), held once more; and given back. */
int class_take(struct kinds *ks, const selector_id *matched, uint32_t n, uint32_t *out);
void class_give(struct kinds *ks, uint32_t class);

#endif
