/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the byte stream of a connection into JSON objects.
 *
 * A watch is a sequence of objects that arrive in arbitrary pieces. Object boundaries are found by
 * brackets and quotes, never by line ends. An object that lies within one piece is passed on in
 * place; only the incomplete rest of a piece is copied. The memory of a large one is released with
 * it. */
#ifndef MUSTER_FRONTEND_FRAMES_H
#define MUSTER_FRONTEND_FRAMES_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* etcd accepts objects of at most 1.5 MiB, and an API server that writes JSON makes 6 bytes of '<',
 * '>', '&' and control characters: 9 MiB. */
#define FRAME_BYTES_MAX (10u << 20)

/* Zeroed, with bytes_max set, it is ready for the first piece. */
struct frames {
	size_t bytes_max; /* of one object */
	char *kept;       /* the start of an incomplete object */
	size_t kept_bytes;
	size_t kept_cap;
	uint32_t depth;
	bool in_string;
	bool escaped;
};

/* Receives one complete object; a negative return value ends frames_feed() with it. */
typedef int (*frame_fn)(void *context, const char *json, size_t bytes);

/* Takes a piece and calls `each` for every object that is now complete.
 *
 *   -EMSGSIZE  an object is longer than bytes_max
 *   -EPROTO    neither an object nor white space between objects
 *
 * After an error the stream cannot be continued: frames_reset(). */
int frames_feed(struct frames *f, const char *bytes, size_t n, frame_fn each, void *context);

/* True while an incomplete object is buffered. */
bool frames_partial(const struct frames *f);

void frames_reset(struct frames *f); /* for the next stream; keeps a little memory */
void frames_free(struct frames *f);

/* One event of a watch. */
struct watch_event {
	struct text type;   /* "ADDED", ... */
	struct text object; /* its JSON */
};
int watch_event_read(const char *json, size_t bytes, struct watch_event *out); /* 0 or -EINVAL */

/* One page of a list. The texts point into the page. */
struct list_page {
	char resource_version[64];
	struct text continue_token; /* "" on the last page */
	struct text text;           /* all of it */
};

/* 0 or -EINVAL. Where the items follow the metadata, as kube-apiserver writes its own types,
 * nothing behind the metadata is read: the items are scanned once, by list_page_items(). */
int list_page_read(const char *json, size_t bytes, struct list_page *out);

/* Receives the text that begins with an item, and sets *used to how long that is; left 0, it is
 * scanned for. A negative return value ends list_page_items() with it. */
typedef int (*item_fn)(void *context, const char *json, size_t bytes, size_t *used);

/* Calls `each` for every item in order. Returns 0, the first negative value of `each`, or -EINVAL:
 * the page is malformed, and items before the fault, or the one with it, were passed on. */
int list_page_items(const struct list_page *page, item_fn each, void *context);

/* A bookmark: its resourceVersion, "" if it has none, and whether it ends the initial events of a
 * streaming list (annotation k8s.io/initial-events-end). 0, or -EINVAL. */
int bookmark_read(const char *json, size_t bytes, char *out, size_t out_bytes, bool *initial_end);

/* metadata.resourceVersion of an object, "" if it has none. 0, or -EINVAL if it cannot be read. */
int object_version_read(const char *json, size_t bytes, char *out, size_t out_bytes);

#endif
