/* SPDX-License-Identifier: Apache-2.0 */
/* Order of resourceVersions of one resource: decimal numbers of any length without leading zeros.
 */
#ifndef MUSTER_FRONTEND_VERSION_H
#define MUSTER_FRONTEND_VERSION_H

#include <stdbool.h>
#include <string.h>

static inline bool version_newer(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);

	return na != nb ? na > nb : strcmp(a, b) > 0;
}

#endif
