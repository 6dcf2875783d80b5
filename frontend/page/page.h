/* SPDX-License-Identifier: Apache-2.0 */
/* The page at /: page.html with its style and scripts, which are compiled in, as one document, and
 * its Content-Security-Policy. */
#ifndef MUSTER_FRONTEND_PAGE_H
#define MUSTER_FRONTEND_PAGE_H

#include "frontend/serve/serve.h"

/* Made at the first call; callable from any thread. */
const struct page *page_get(void);

#endif
