/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/former.h"

#include "ctl/term/ctl.h"

#include <stdbool.h>
#include <string.h>

/* Of 0.1; all of it goes with the version after the next one.  CHANGELOG.md lists them. */
static const struct {
	const char *name, *former;
} renamed[] = {
	{ "before_pods", "beforePods" },
	{ "budgets_unknown", "budgetsUnknown" },
	{ "former_state", "formerState" },
	{ "gangs_in_all", "gangsInAll" },
	{ "instead_of", "insteadOf" },
	{ "instead_of_pods", "insteadOfPods" },
	{ "kinds_cut", "kindsCut" },
	{ "largest_free", "largestFree" },
	{ "lone_pods", "lonePods" },
	{ "most_alike", "mostAlike" },
	{ "most_on_a_node", "mostOnANode" },
	{ "nodes_count", "nodesCount" },
	{ "nodes_like", "nodesLike" },
	{ "pods_assumed", "podsAssumed" },
	{ "pods_assumed", "podsClaimed" },
	{ "pods_binding", "podsBinding" },
	{ "pods_on_it", "podsOnIt" },
	{ "pods_without", "podsWithout" },
	{ "queue_waits", "queueWaits" },
	{ "replay_equal", "replayEqual" },
	{ "room_held_for", "roomHeldFor" },
	{ "searched_unix_s", "searched_s" },
	{ "starts_now", "startsNow" },
	{ "victims_listed", "victimsListed" },
	{ "what_if", "whatIf" },
	{ "without_counters", "withoutCounters" },
};

void json_add_former(cJSON *value)
{
	const cJSON *last = cJSON_GetArraySize(value) > 0 ? value->child->prev : NULL;
	const bool object = cJSON_IsObject(value);

	for (cJSON *child = value->child; child != NULL; child = child->next) {
		/* The names of labels are the cluster's. */
		if (!object || strcmp(child->string, "labels") != 0)
			json_add_former(child);
		for (size_t i = 0; object && i < sizeof(renamed) / sizeof(renamed[0]); i++)
			if (strcmp(child->string, renamed[i].name) == 0 &&
			    !cJSON_AddItemReferenceToObject(value, renamed[i].former, child))
				fatal_memory();
		/* Those after it were added here. */
		if (child == last)
			break;
	}
}
