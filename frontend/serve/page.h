/* SPDX-License-Identifier: Apache-2.0 */
/* The page at /: frontend/serve/page.html, compiled in, and its Content-Security-Policy. */
#ifndef MUSTER_FRONTEND_PAGE_H
#define MUSTER_FRONTEND_PAGE_H

#include <stddef.h>

struct page {
	const char *html;
	size_t bytes;
	/* Content-Security-Policy: the page's script and style by their hashes, requests to its origin,
	 * and nothing else. */
	char policy[512];
};

/* Made at the first call; callable from any thread. */
const struct page *page_get(void);

#endif
