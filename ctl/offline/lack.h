/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices the members of a gang that waits lack, in numbers (frontend/devices/live.h). */
#ifndef MUSTER_CTL_LACK_H
#define MUSTER_CTL_LACK_H

#include "ctl/offline/offline.h"

#include <cjson/cJSON.h>

/* Of one request, or of one of its alternatives. */
struct device_lack {
	char *request, *class;
	char *attribute; /* NULL: none is to be the same */
	uint32_t pods;   /* members that ask for it */
	uint32_t count;  /* of each; 0: all of a node */
	uint32_t match, taken, tainted, shut, free, nodes, most, alike;
};

/* Of `pods` members that ask for what this one asks for; *n of them, to be freed with lacks_free().
 * None: it asks for no devices, or claims are not allocated by records. */
struct device_lack *lacks_of(const struct offline *o, uint32_t pod, uint32_t pods, size_t *n);
void lacks_free(struct device_lack *lacks, size_t n);
/* The number of what a pod asks for; UINT32_MAX: nothing. */
uint32_t lacks_question(const struct offline *o, uint32_t pod);

/* "r: 8 devices of class gpu are needed, 7 are free on 2 nodes (8 match, 1 is taken)"; to be freed.
 */
char *lack_text(const struct device_lack *l);
/* "devices": [{"request", "class", "needed", "free", ...}] */
void lacks_json(cJSON *o, const struct device_lack *lacks, size_t n);

#endif
