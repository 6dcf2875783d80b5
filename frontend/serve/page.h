/* SPDX-License-Identifier: Apache-2.0 */
/* The page at /: frontend/serve/page.html, compiled in, and what a browser may do with it. */
#ifndef MUSTER_FRONTEND_PAGE_H
#define MUSTER_FRONTEND_PAGE_H

#include <stddef.h>

struct page {
	const char *html;
	size_t bytes;
	/* Content-Security-Policy: the script and the style of the page, by their hashes, questions to
	 * where it came from, and nothing else. */
	char policy[512];
};

/* Made at the first call; from any thread. */
const struct page *page_get(void);

#endif
