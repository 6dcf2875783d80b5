/* SPDX-License-Identifier: Apache-2.0 */
/* What /metrics has of live devices: sums over all of them, made for each scrape. */
#ifndef MUSTER_FRONTEND_DEVICE_FIGURES_H
#define MUSTER_FRONTEND_DEVICE_FIGURES_H

#include "frontend/devices/live.h"

#define DRIVERS_SHOWN                                                                              \
	32u /* in the order in which their devices are found; the others share a row */

/* Each device is in one of them: the first that holds of taken, shared, unusable, tainted. */
enum devices_in {
	DEVICES_FREE,
	DEVICES_TAKEN,
	DEVICES_SHARED,   /* allowMultipleAllocations, and at least one share is allocated */
	DEVICES_UNUSABLE, /* it has fields that muster does not know, or is avoided */
	DEVICES_TAINTED,  /* NoSchedule or NoExecute, whether a claim tolerates it or not */
	DEVICES_STATES
};

struct driver_figures {
	char name[64]; /* cut; "(others)" */
	uint64_t devices[DEVICES_STATES];
};

struct device_figures {
	uint32_t drivers_n;
	struct driver_figures drivers[DRIVERS_SHOWN + 1];
	uint64_t claims, claims_allocated;
	uint64_t questions, questions_refused;
};

/* Devices of nodes that muster has listed, those of several nodes once.  O(devices + claims). */
void device_figures_read(struct device_figures *out, const struct live *l);

#endif
