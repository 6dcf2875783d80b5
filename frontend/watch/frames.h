/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON that comes out of a connection, cut into objects.
 *
 * A watch is a row of JSON objects; pieces of it arrive cut anywhere.  Objects
 * are found by their brackets and quotes, never by line ends.  What lies whole
 * in one piece is handed on where it is; only the rest of a piece is kept. */
#ifndef MUSTER_FRONTEND_FRAMES_H
#define MUSTER_FRONTEND_FRAMES_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_BYTES_MAX (4u << 20) /* etcd takes objects of 1.5 MiB at most */

/* All zero, with bytes_max set, is ready for the first piece. */
struct frames {
	size_t bytes_max; /* of one object */
	char *kept;       /* the beginning of an object that is not whole yet */
	size_t kept_bytes;
	size_t kept_room;
	uint32_t depth;
	bool in_string;
	bool escaped;
};

/* Takes one whole object; a negative value ends frames_feed() with it. */
typedef int (*frame_fn)(void *context, const char *json, size_t bytes);

/* Take a piece and call `each` for every object that is now whole.
 *
 *   -EMSGSIZE  an object is longer than bytes_max
 *   -EPROTO    something else than an object, or white space, between objects
 *   -ENOMEM
 *
 * After an error the stream can't be read on: frames_reset(). */
int frames_feed(struct frames *f, const char *bytes, size_t n, frame_fn each, void *context);

/* Is there a part of an object? */
bool frames_partial(const struct frames *f);

void frames_reset(struct frames *f); /* for the next stream; keeps the memory */
void frames_free(struct frames *f);

/* One event of a watch. */
struct watch_event {
	struct text type;   /* "ADDED", ... */
	struct text object; /* its JSON */
};
int watch_event_read(const char *json, size_t bytes, struct watch_event *out); /* 0 or -EINVAL */

/* One page of a list.  Texts are pieces of the page. */
struct list_page {
	char resource_version[64];
	struct text continue_token; /* "" on the last page */
	struct text items;          /* the array, or "" when there is none */
};
int list_page_read(const char *json, size_t bytes, struct list_page *out); /* 0 or -EINVAL */

/* Call `each` for every item, in order.  0, -EINVAL, or what `each` said. */
int list_page_items(const struct list_page *page, frame_fn each, void *context);

/* metadata.resourceVersion of an object, "" when it has none.
 * 0, or -EINVAL when it can't be found out. */
int object_version_read(const char *json, size_t bytes, char *out, size_t out_bytes);

#endif
