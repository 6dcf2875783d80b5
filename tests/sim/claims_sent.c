/* SPDX-License-Identifier: Apache-2.0 */
/* Claims at the moment at which a Binding leaves, as its sender has them.  It reads the sender's
 * model, and so belongs to its version (version.c). */
#include "frontend/devices/live.h"
#include "frontend/model/model.h"
#include "tests/sim/claims_impl.h"

#include <stdio.h>
#include <string.h>

/* By what the instance has heard of the claim, which may be behind.  NULL: the pod may be bound
 * with it. */
static const char *fault_heard(const struct live *l, pod_id pod, uint32_t i)
{
	struct live_claim_view v;

	if (!live_claim(l, pod, i, &v))
		return "does not exist";
	if (!v.allocated || !v.reserved)
		return !v.allocated ? "is not allocated" : "is not reserved for it";
	if (live_conflict(l, pod, i) != NULL)
		return "has a device that is in another claim too";
	return v.conditions != LIVE_MET ? "has a device that is not ready" : NULL;
}

void claims_judge_sent(struct sim *s, struct model *m, const char *path, const char *body)
{
	char namespace[NAME_BYTES], name[NAME_BYTES];
	struct pod_view pod;

	if (s->claims == NULL || m == NULL ||
	    sscanf(path, "/api/v1/namespaces/%63[^/]/pods/%63[^/]", namespace, name) != 2 ||
	    !model_pod_by_name(m, namespace, name, &pod) || strstr(body, pod.uid) == NULL)
		return; /* or it is for an earlier pod of that name: the server refuses it by its uid */
	for (uint32_t i = 0; i < live_claims_n(model_live(m), pod.id); i++) {
		const char *fault = fault_heard(model_live(m), pod.id, i);

		if (fault != NULL)
			sim_fail(s, "sent: the Binding of %s, whose claim, as the sender knows, %s", name,
			         fault);
	}
}
