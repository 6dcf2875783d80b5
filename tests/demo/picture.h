/* SPDX-License-Identifier: Apache-2.0 */
/* The demo on a terminal: drawn ten times a second; the terminal is restored in any case. Piped: a
 * plain line about once a second. */
#ifndef MUSTER_DEMO_PICTURE_H
#define MUSTER_DEMO_PICTURE_H

#include "tests/demo/view.h"

#include <stdbool.h>
#include <stdint.h>

struct moment {
	const struct trace *trace;
	const struct view *view;
	double seconds; /* since the first pod was sent */
	size_t pods_sent;
	size_t pods_bound; /* by the API server */
	double pods_per_s; /* bound, over the last second */
	bool over;         /* the last pod is bound */
};

/* Draws on a terminal; anything else, or `plain`, gets lines. */
void picture_begin(bool plain);
void picture_show(const struct moment *m);

/* Restores the terminal; may be called from anywhere, more than once. */
void picture_end(void);

#endif
