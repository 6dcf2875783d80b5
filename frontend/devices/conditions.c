/* SPDX-License-Identifier: Apache-2.0 */
/* Binding conditions (KEP 5007): what a claim's status says of the devices that it was given. */
#include "frontend/devices/live_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT(t) (int)(t).bytes, (t).at

/* dynamicresources: isClaimReadyForBinding, but a failure counts whatever the others say. */
static enum live_conditions state_of(const struct tree *statuses, const struct tree *result,
                                     const struct tree **failed)
{
	const struct tree *types = jsontree_get(result, "bindingConditions");

	if (types->n == 0)
		return LIVE_MET;
	TREE_EACH(type, jsontree_get(result, "bindingFailureConditions"))
	{
		*failed = condition_true(statuses, result, jsontree_text(type));
		if (*failed)
			return LIVE_FAILED;
	}
	TREE_EACH(type, types)
	if (!condition_true(statuses, result, jsontree_text(type)))
		return LIVE_WAITS;
	return LIVE_MET;
}

/* 0: there is none. */
static int64_t seconds_of(struct text stamp)
{
	char copy[24] = "";
	struct tm tm = { 0 };

	if (stamp.bytes >= sizeof(copy))
		return 0;
	if (stamp.bytes > 0)
		memcpy(copy, stamp.at, stamp.bytes);
	return strptime(copy, "%Y-%m-%dT%H:%M:%SZ", &tm) ? (int64_t)timegm(&tm) : 0;
}

void live_conditions_read(struct live_claim *c, const struct tree *status)
{
	const struct tree *allocation = jsontree_get(status, "allocation");
	const struct tree *results = jsontree_get(jsontree_get(allocation, "devices"), "results");
	const struct tree *statuses = jsontree_get(status, "devices"), *failed = NULL;
	size_t i = 0;

	c->states = must_array(results->n + 1, sizeof(*c->states));
	c->allocated_s = seconds_of(jsontree_text(jsontree_get(allocation, "allocationTimestamp")));
	TREE_EACH(result, results)
	{
		const enum live_conditions state = state_of(statuses, result, &failed);

		if (state == LIVE_FAILED && !c->failure) {
			const struct text reason = jsontree_text(jsontree_get(failed, "reason"));
			const struct text message = jsontree_text(jsontree_get(failed, "message"));
			struct bytes text = { 0 };

			bytes_put(&text, "reason=");
			bytes_add(&text, reason.at, reason.bytes);
			bytes_put(&text, ", message=");
			bytes_quote(&text, message.at, message.bytes);
			bytes_add(&text, "", 1);
			c->failure = text.at;
		}
		c->conditions = state > c->conditions ? state : c->conditions;
		if (!jsontree_true(jsontree_get(result, "adminAccess")))
			c->states[i++] = (uint8_t)state;
	}
}

/* Devices that are avoided. */

static void avoid_add(struct live *l, uint32_t device, int sign)
{
	const uint32_t node = device < l->device_node_n ? l->device_node[device] : 0;

	l->avoided = must_reach(l->avoided, &l->avoided_n, device, 1024, sizeof(*l->avoided));
	l->avoided[device] = (uint8_t)(l->avoided[device] + sign);
	if (node & LIVE_COMMON)
		live_common_rematch(l, node & ~LIVE_COMMON);
	else if (node > 0)
		live_node_rematch(l, node - 1);
}

static void avoid_shift(struct live *l)
{
	avoid_add(l, l->avoids[0].device, -1);
	intern_give(&l->device_names, l->avoids[0].device);
	memmove(l->avoids, l->avoids + 1, --l->avoids_n * sizeof(*l->avoids));
}

bool live_avoid(struct live *l, uint32_t pod, uint32_t at, uint64_t until_ns)
{
	const struct live_pod *p = &l->pods[pod];
	const struct live_claim *c = live_claim_of(l, p, at);
	bool any = false;

	for (size_t i = 0; c && i < c->devices_n; i++) {
		if (c->states[i] == LIVE_MET)
			continue;
		any = true;
		if (live_is_avoided(l, c->devices[i]))
			continue;
		if (l->avoids_n == LIVE_AVOIDS_MAX)
			avoid_shift(l);
		intern_hold(&l->device_names, c->devices[i]);
		l->avoids[l->avoids_n++] = (struct live_avoid){ c->devices[i], until_ns };
		avoid_add(l, c->devices[i], 1);
	}
	return any;
}

uint64_t live_avoid_end(struct live *l, uint64_t now_ns)
{
	while (l->avoids_n > 0 && l->avoids[0].until_ns <= now_ns)
		avoid_shift(l);
	return l->avoids_n > 0 ? l->avoids[0].until_ns : UINT64_MAX;
}
