/* SPDX-License-Identifier: Apache-2.0 */
/* Promised starts (struct promised) of gangs and lone pods that wait: which pod carries the
 * annotation, and the Events StartPromised, StartMovedEarlier and StartSlipped.
 *
 * The annotation is written with the condition of the oldest member that waits, in one patch of its
 * status: no right but that of conditions is needed, and a time that the condition has not as well
 * is not believed by the next instance (frontend/model/pods/ends.h).  It is written within the
 * delay of reports after the core sent the time; an instance that dies before loses that move
 * alone. */
#include "frontend/report/report_impl.h"

#include "ipc/promises.h"

#include <stdio.h>
#include <string.h>

#define MOVED_LEAST_NS (60 * UINT64_C(1000000000))

/* The oldest member that waits; of equally old ones the first by id. */
struct oldest {
	struct pod_view pod;
	bool found;
};

static void oldest_find(void *context, const struct pod_view *pod)
{
	struct oldest *o = context;

	if (pod->gated || pod->deleting)
		return;
	if (o->found && (pod->created_ns > o->pod.created_ns ||
	                 (pod->created_ns == o->pod.created_ns && pod->id > o->pod.id)))
		return;
	o->pod = *pod;
	o->found = true;
}

/* "default/a", "node n7", or what can be said of one of another namespace. */
static void who_text(const struct report *r, const struct promised_by *by, char *out,
                     size_t out_bytes)
{
	const size_t tenant = strlen(by->tenant);
	const char *node;
	struct gang_view gang;
	struct pod_view pod;
	bool lone = by->who >= by->gangs;

	out[0] = '\0';
	if (by->who == ID_NONE)
		return;
	if (by->is_node) {
		node =
			model_node(r->config.model, by->who, model_node_generation(r->config.model, by->who));
		snprintf(out, out_bytes, " %s", node ? node : "of a node that is gone");
	} else if (lone && model_pod_at(r->config.model, by->who - by->gangs, &pod)) {
		snprintf(out, out_bytes, " %s/%s", pod.namespace, pod.name);
	} else if (!lone && model_gang(r->config.model, by->who,
	                               model_gang_generation(r->config.model, by->who), &gang)) {
		snprintf(out, out_bytes, " %s/%s", gang.namespace, gang.name);
	}
	if (!by->is_node && out[0] != '\0' &&
	    (strncmp(out + 1, by->tenant, tenant) != 0 || out[1 + tenant] != '/'))
		snprintf(out, out_bytes, " of another namespace");
}

/* The Event for what changed since the last report; REPORT_HAPPENINGS: none. */
static enum report_happening change_of(const struct start_published *last, const struct promised *p,
                                       uint64_t now_ns)
{
	uint64_t gain;

	if (p->at_ns == 0)
		return REPORT_HAPPENINGS;
	if (last->at_ns == 0)
		return REPORT_START_PROMISED;
	if (p->later > last->later && p->moves_n > 0)
		return REPORT_START_SLIPPED;
	if (p->at_ns >= last->at_ns)
		return REPORT_HAPPENINGS;
	gain = last->at_ns - p->at_ns;
	return gain >= MOVED_LEAST_NS || (last->at_ns > now_ns && gain * 10 >= last->at_ns - now_ns)
	           ? REPORT_START_EARLIER
	           : REPORT_HAPPENINGS;
}

static void change_text(const struct report *r, enum report_happening what,
                        const struct promised *p, const struct start_published *last,
                        const char *tenant, char *out, size_t bytes)
{
	char at[PROMISE_TIME_BYTES], before[PROMISE_TIME_BYTES], who[600];
	const struct promised_moved *m = p->moves_n > 0 ? &p->moves[p->moves_n - 1] : NULL;

	promise_time_text(p->at_ns, at);
	promise_time_text(last->at_ns, before);
	if (what == REPORT_START_SLIPPED && m) {
		const struct promised_by by = { .who = m->who,
			                            .is_node = m->why == MOVE_NODE_LOST,
			                            .gangs = model_gangs_most(r->config.model),
			                            .tenant = tenant };

		who_text(r, &by, who, sizeof(who));
		snprintf(out, bytes, "starts at %s, %llu s later than promised: %s%s", at,
		         (unsigned long long)((m->to_ns - m->from_ns) / NS_PER_S),
		         promise_move_name(m->why), who);
	} else if (what == REPORT_START_EARLIER) {
		snprintf(out, bytes, "starts at %s, %llu s earlier than promised", at,
		         (unsigned long long)((last->at_ns - p->at_ns) / NS_PER_S));
	} else {
		snprintf(out, bytes, "starts at %s (promised)%s", at,
		         p->flags & PROMISE_SOFT ? ", if those end who are expected to" : "");
	}
}

/* Brings `last` up to date; the Event goes to the pod, and to the group's object if it has one. */
static void start_publish(struct report *r, struct start_published *last, const struct promised *p,
                          const struct pod_view *pod, const struct gang_view *gang)
{
	enum report_happening what;
	char text[1000], version[300];
	struct report_event e = { .namespace = pod->namespace,
		                      .name = pod->name,
		                      .uid = pod->uid,
		                      .scheduler = pod->scheduler_name,
		                      .note = text };

	/* An earlier instance published it. */
	if (last->at_ns == 0 && pod->promised_s > 0) {
		last->at_ns = pod->promised_s * NS_PER_S;
		last->later = 0;
	}
	what = change_of(last, p, r->config.env->wall_ns(r->config.env->context));
	if (what != REPORT_HAPPENINGS) {
		change_text(r, what, p, last, pod->namespace, text, sizeof(text));
		e.what = what;
		report_happened(r, &e);
	}
	if (what != REPORT_HAPPENINGS && gang && gang->resource) {
		snprintf(version, sizeof(version), "%s/%s", gang->resource->group, gang->resource->version);
		e.name = gang->name;
		e.uid = gang->uid;
		e.api_version = version;
		e.kind = gang->resource->kind;
		report_happened(r, &e);
	}
	if (what != REPORT_HAPPENINGS || p->at_ns == 0)
		last->at_ns = p->at_ns;
	last->later = p->later;
}

void report_start_gang(struct report *r, const struct cmd_reason *cmd, const struct gang_view *gang,
                       struct note *note)
{
	const struct promised *p = &cmd->reason.promised;
	struct oldest o = { 0 };

	if (p->at_ns == 0)
		return;
	model_gang_pending(r->config.model, cmd->gang, oldest_find, &o);
	if (!o.found)
		return;
	note->promised_pod = o.pod.id;
	note->promised_s = (uint32_t)(p->at_ns / NS_PER_S);
	start_publish(r, report_group_start(r, cmd->gang, cmd->gang_generation), p, &o.pod, gang);
}

void report_start_pod(struct report *r, const struct cmd_reason *cmd, const struct pod_view *pod,
                      struct note *note)
{
	const struct promised *p = &cmd->reason.promised;

	if (p->at_ns == 0)
		return;
	note->promised_pod = pod->id;
	note->promised_s = (uint32_t)(p->at_ns / NS_PER_S);
	start_publish(r, &report_item_of_pod(r, pod->id, pod->generation)->start, p, pod, NULL);
}
