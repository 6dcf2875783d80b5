/* SPDX-License-Identifier: Apache-2.0 */
/* The condition of a PodGroup of scheduling.k8s.io: PodGroupInitiallyScheduled, or
 * PodGroupScheduled in v1alpha2.  Once True it stays.  Groups whose pods are of other
 * schedulers are theirs. */
#include "frontend/dialect/group_status.h"

#include <string.h>

enum { INITIALLY_SCHEDULED, SCHEDULED };

static void native_want(const struct group_facts *f, struct group_status *out)
{
	const struct gang_view *g = f->gang;
	struct group_condition *c = &out->conditions[INITIALLY_SCHEDULED];

	if (g->resource && strcmp(g->resource->version, "v1alpha2") == 0)
		c = &out->conditions[SCHEDULED];
	if (g->pods.ours == 0 || strcmp(c->status, "True") == 0)
		return;
	if (g->pods.bound >= group_quorum(g)) {
		c->status = "True";
		c->reason = "Scheduled";
		c->message = "";
	} else if (f->why != WAIT_NONE) {
		c->status = "False";
		c->reason = f->reason;
		c->message = f->message;
	}
}

static bool native_was_whole(const struct group_status *s)
{
	return strcmp(s->conditions[INITIALLY_SCHEDULED].status, "True") == 0 ||
	       strcmp(s->conditions[SCHEDULED].status, "True") == 0;
}

const struct dialect_status status_native = {
	.conditions = { "PodGroupInitiallyScheduled", "PodGroupScheduled" },
	.strategic = true,
	.want = native_want,
	.was_whole = native_was_whole,
};
