/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about evictions and nominations, and what is said of them. */
#include "frontend/loop/frontend_impl.h"

#include "frontend/base/log.h"
#include "frontend/evict/evictor.h"
#include "frontend/evict/rights.h"
#include "frontend/model/model.h"
#include "frontend/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 600

/* "gang ns/name (uid)" or "pod uid". */
static void preemptor_text(const struct frontend *f, const struct cmd_evict *cmd, char *out,
                           size_t out_bytes)
{
	struct gang_object object;
	struct gang_view gang;
	struct pod_view pod;
	bool has_object;

	if (model_gang(f->model, cmd->gang, cmd->gang_generation, &gang)) {
		has_object = model_gang_object(f->model, cmd->gang, cmd->gang_generation, &object);
		snprintf(out, out_bytes, "gang %s/%s (%s)", gang.namespace, gang.name,
		         has_object ? object.uid : "no object");
	} else if (model_waiting_pod(f->model, cmd->gang, cmd->gang_generation, &pod)) {
		snprintf(out, out_bytes, "pod %s", pod.uid);
	} else {
		snprintf(out, out_bytes, "a pod");
	}
}

/* An Event on the object of the gang, if it has one. */
static void gang_happened(struct frontend *f, gang_id gang, uint32_t generation,
                          enum report_happening what, const char *note)
{
	const struct resource *resources, *r;
	struct gang_object object;
	struct gang_view view;
	char version[200];
	size_t n;

	if (!model_gang_object(f->model, gang, generation, &object) ||
	    !model_gang(f->model, gang, generation, &view))
		return;
	resources = model_resources(f->model, &n);
	r = &resources[object.index];
	snprintf(version, sizeof(version), "%s%s%s", r->group, *r->group ? "/" : "", r->version);
	report_happened(f->report,
	                &(struct report_event){ .what = what,
	                                        .namespace = object.namespace,
	                                        .name = object.name,
	                                        .uid = object.uid,
	                                        .api_version = version,
	                                        .kind = r->kind,
	                                        .scheduler = *view.scheduler_name ? view.scheduler_name
	                                                                          : f->config.scheduler,
	                                        .note = note });
}

/* Once for each ticket. */
static void preemptor_tell(struct frontend *f, const struct cmd_evict *cmd)
{
	struct pod_view pod;
	char note[200];

	if (f->told_ticket == cmd->ticket)
		return;
	f->told_ticket = cmd->ticket;
	if (cmd->gang < f->limits.gangs) {
		snprintf(note, sizeof(note), "evicts %u pods to make room for %u members", cmd->victims,
		         cmd->members);
		gang_happened(f, cmd->gang, cmd->gang_generation, REPORT_PREEMPTING, note);
		return;
	}
	if (!model_waiting_pod(f->model, cmd->gang, cmd->gang_generation, &pod))
		return;
	snprintf(note, sizeof(note), "evicts %u pods to make room", cmd->victims);
	frontend_pod_happened(f, &pod, REPORT_PREEMPTING, note);
}

void preempt_reason(struct frontend *f, const struct cmd_reason *cmd)
{
	const struct reason *r = &cmd->reason;
	struct stuck_told *told = &f->stuck[cmd->gang % (sizeof(f->stuck) / sizeof(f->stuck[0]))];
	const struct stuck_told now = { .gang = cmd->gang,
		                            .gang_generation = cmd->gang_generation,
		                            .pod_generation = r->stuck_generation,
		                            .pod = r->stuck_pod };
	struct pod_view pod;
	char note[1000];

	if (!f->evictor || cmd->gang == ID_NONE || r->stuck_generation == 0 ||
	    memcmp(told, &now, sizeof(now)) == 0 ||
	    !model_pod(f->model, r->stuck_pod, r->stuck_generation, &pod))
		return;
	*told = now;
	snprintf(note, sizeof(note), "pod %s/%s on node %s was evicted for it and does not go",
	         pod.namespace, pod.name, pod.node);
	gang_happened(f, cmd->gang, cmd->gang_generation, REPORT_PREEMPTION_STUCK, note);
}

static void reclaimed_text(const struct frontend *f, const struct evict_notice *n, const char *who,
                           char *out, size_t out_bytes)
{
	const struct evict_cause *c = &n->cmd->cause;

	snprintf(out, out_bytes,
	         "Reclaimed by queue %s from queue %s, by %s: %s uses %" PRId64
	         " %s of a guarantee of %" PRId64 " with %s, %s keeps %" PRId64 " (guarantee %" PRId64
	         "); on node %s, %u pods make room for %u members",
	         model_queue_name(f->model, c->taker), model_queue_name(f->model, c->giver),
	         c->rule == EVICT_FAIR ? "share" : "guarantee",
	         model_queue_name(f->model, c->taker_branch), c->taker_used,
	         model_name(f->model, c->resource), c->taker_guarantee, who,
	         model_queue_name(f->model, c->giver_branch), c->giver_used, c->giver_guarantee,
	         n->node, n->cmd->victims, n->cmd->members);
}

/* On the group of a member beyond its quorum. */
static void giver_tell(struct frontend *f, const struct evict_notice *n, const char *who)
{
	char note[1000];

	snprintf(note, sizeof(note), "gives back pod %s on node %s to %s", n->name, n->node, who);
	gang_happened(f, n->giver, n->giver_generation, REPORT_GIVEN_BACK, note);
}

/* A member beyond the quorum that goes for its own queue is given back; of another queue it is
 * reclaimed, and the note has the amounts. */
static enum report_happening happening_of(const struct evict_cause *cause)
{
	if (cause->rule != EVICT_PRIORITY)
		return REPORT_RECLAIMED;
	return cause->extra ? REPORT_GIVEN_BACK : REPORT_PREEMPTED;
}

static void victim_noticed(void *context, const struct evict_notice *n)
{
	struct frontend *f = context;
	const enum report_happening what = happening_of(&n->cmd->cause);
	char note[1000], who[NAME_BYTES];
	const struct log_field fields[] = { { "pod", n->name, 0 },
		                                { "namespace", n->namespace, 0 },
		                                { "uid", n->uid, 0 },
		                                { "node", n->node, 0 },
		                                { "for", who, 0 } };

	preemptor_text(f, n->cmd, who, sizeof(who));
	if (what == REPORT_RECLAIMED)
		reclaimed_text(f, n, who, note, sizeof(note));
	else if (what == REPORT_GIVEN_BACK)
		snprintf(
			note, sizeof(note),
			"Given back to %s, beyond the quorum of its gang; on node %s, %u pods make room for "
			"%u members",
			who, n->node, n->cmd->victims, n->cmd->members);
	/* For a lone pod kube-scheduler's text: framework/preemption, prepareCandidate. */
	else if (n->cmd->gang >= f->limits.gangs)
		snprintf(note, sizeof(note), "Preempted by %s on node %s", who, n->node);
	else
		snprintf(note, sizeof(note), "Preempted by %s on node %s: %u pods make room for %u members",
		         who, n->node, n->cmd->victims, n->cmd->members);
	env_tell(f->env, "info", "pod evicted", fields, sizeof(fields) / sizeof(fields[0]));
	report_happened(f->report, &(struct report_event){ .what = what,
	                                                   .namespace = n->namespace,
	                                                   .name = n->name,
	                                                   .uid = n->uid,
	                                                   .scheduler = n->scheduler,
	                                                   .note = note });
	if (n->cmd->cause.extra)
		giver_tell(f, n, who);
	preemptor_tell(f, n->cmd);
}

static void evict_forbidden(void *context)
{
	struct frontend *f = context;

	rights_doubt(f->rights);
}

static void nomination_lapsed(void *context, pod_id pod, uint32_t generation)
{
	struct frontend *f = context;

	report_nominate(f->report, pod, generation, NULL);
}

static void evict_result_keep(void *context, enum record_kind kind, const struct evict_result *r)
{
	frontend_result_keep(context, &(struct pending_result){ .kind = kind, .evict_result = *r });
}

void preempt_begin(struct frontend *f)
{
	const struct evictor_config config = {
		.env = f->env,
		.model = f->model,
		.journal = f->journal,
		.per_second = f->config.evictions_per_second,
		.deadline_ms = f->config.bind_deadline_ms,
		.best_effort = f->config.evicts_best_effort,
		.scheduler = f->config.scheduler,
		.result = evict_result_keep,
		.notice = victim_noticed,
		.forbidden = evict_forbidden,
		.lapsed = nomination_lapsed,
		.context = f,
	};

	if (!f->config.evicts)
		return;
	f->evictor = evictor_new(&config);
	f->rights = rights_new(f->env, f->config.evicts_best_effort ? RIGHTS_DELETE : RIGHTS_EVICT);
}

void preempt_end(struct frontend *f)
{
	evictor_free(f->evictor);
	rights_free(f->rights);
}

bool preempt_ready(const struct frontend *f)
{
	return !f->rights || rights_known(f->rights);
}

uint64_t preempt_poll(struct frontend *f, bool binds_waiting)
{
	uint64_t next, due;

	if (!f->evictor || !frontend_may_write(f))
		return NEVER_NS;
	next = rights_poll(f->rights);
	model_set_evicts(f->model, rights_granted(f->rights));
	if (!f->up || !f->synced || f->stopping)
		return next;
	due = evictor_poll(f->evictor, binds_waiting);
	return due < next ? due : next;
}

int preempt_evict(struct frontend *f, const struct cmd_evict *cmd)
{
	if (!f->evictor || cmd->pod >= f->limits.pods || cmd->pod_generation == 0 ||
	    cmd->node >= f->limits.nodes || cmd->cause.rule >= EVICT_RULES || cmd->cause.extra > 1 ||
	    cmd->gang >= (uint64_t)f->limits.gangs + f->limits.pods)
		return -EPROTO;
	return f->stopping ? 0 : evictor_evict(f->evictor, cmd);
}

int preempt_cancel(struct frontend *f, const struct cmd_cancel_evict *cmd)
{
	if (!f->evictor || cmd->pod >= f->limits.pods)
		return -EPROTO;
	evictor_cancel(f->evictor, cmd);
	return 0;
}

int preempt_nominate(struct frontend *f, const struct cmd_nominate *cmd)
{
	const char *node;

	if (!f->evictor || cmd->pod >= f->limits.pods || cmd->pod_generation == 0 ||
	    (cmd->node != ID_NONE && cmd->node >= f->limits.nodes))
		return -EPROTO;
	if (f->stopping)
		return 0;
	evictor_nominate(f->evictor, cmd);
	node = cmd->node != ID_NONE ? model_node(f->model, cmd->node, cmd->node_generation) : NULL;
	report_nominate(f->report, cmd->pod, cmd->pod_generation, node);
	return 0;
}

void preempt_metrics(const struct frontend *f, struct metrics *out)
{
	out->evicts = f->evictor != NULL;
	if (!f->evictor)
		return;
	out->evictor = *evictor_counts(f->evictor);
	out->evicts_granted = rights_granted(f->rights);
	out->evicts_best_effort = f->config.evicts_best_effort;
	out->evicts_queued = evictor_queued(f->evictor);
}
