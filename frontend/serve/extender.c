/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/extender.h"

#include "frontend/base/log.h"
#include "frontend/base/probe.h"

#include <stdlib.h>
#include <string.h>

#define UNDER_WAY_MAX 32u          /* sent and not answered; the core accepts a few more */
#define PATIENCE_NS (2 * NS_PER_S) /* kube-scheduler waits 5 s by default */
#define RETRY_NS (NS_PER_MS / 4)   /* a pod that is not known yet may arrive any moment */

TAILQ_HEAD(job_list, extender_job);

#define SWEEP_NS (100 * NS_PER_MS) /* between two sweeps of the grants */

/* A pod for which the core was asked to reserve. */
struct grant {
	pod_id pod;
	uint32_t generation;
	uint64_t first_ns;
};

struct extender {
	struct extender_config config;
	struct job_list jobs;
	size_t sent;
	uint32_t tickets; /* total */
	uint64_t *set;    /* scratch: one bit for each node */
	size_t set_words;
	struct grant *grants; /* reservations_max of them, in no order */
	size_t grants_n;
	uint64_t swept_ns;
	struct extender_counts counts;
};

struct extender *extender_new(const struct extender_config *config)
{
	struct extender *x = must_alloc(sizeof(*x));

	x->config = *config;
	x->grants = must_array(config->reservations_max, sizeof(*x->grants));
	TAILQ_INIT(&x->jobs);
	return x;
}

static struct grant *grant_find(struct extender *x, pod_id pod, uint32_t generation)
{
	for (size_t i = 0; i < x->grants_n; i++)
		if (x->grants[i].pod == pod && x->grants[i].generation == generation)
			return &x->grants[i];
	return NULL;
}

static void grant_remove(struct extender *x, struct grant *g)
{
	*g = x->grants[--x->grants_n];
}

/* Removes those of pods that are bound or gone, and of which all times are over; the oldest of
 * which only the second one runs if there is none. */
static void grants_sweep(struct extender *x, uint64_t now)
{
	const uint64_t keep_ns = x->config.keep_ms * NS_PER_MS;
	struct grant *oldest = NULL;
	struct pod_view pod;

	for (size_t i = x->grants_n; i > 0; i--) {
		struct grant *g = &x->grants[i - 1];

		if (now - g->first_ns >= 2 * keep_ns ||
		    !model_pod(x->config.model, g->pod, g->generation, &pod) || pod.node[0])
			grant_remove(x, g);
	}
	if (x->grants_n < x->config.reservations_max)
		return;
	for (size_t i = 0; i < x->grants_n; i++)
		if (now - x->grants[i].first_ns >= keep_ns &&
		    (!oldest || x->grants[i].first_ns < oldest->first_ns))
			oldest = &x->grants[i];
	if (oldest)
		grant_remove(x, oldest);
}

static bool grant_has_space(struct extender *x, uint64_t now)
{
	if (x->grants_n == x->config.reservations_max && now - x->swept_ns >= SWEEP_NS) {
		x->swept_ns = now;
		grants_sweep(x, now);
	}
	return x->grants_n < x->config.reservations_max;
}

/* How long the core shall reserve for the job's pod; 0: not at all. */
static uint32_t reserve_ms(struct extender *x, struct extender_job *job)
{
	const uint64_t now = env_now(x->config.env), keep_ns = x->config.keep_ms * NS_PER_MS;
	struct grant *g = grant_find(x, job->pod, job->pod_generation);

	if (job->question.verb != EXTENDER_FILTER)
		return 0;
	if (!*job->question.uid) {
		x->counts.unreserved[UNRESERVED_UID]++;
		return 0;
	}
	if (g && now - g->first_ns < keep_ns)
		return (uint32_t)((keep_ns - (now - g->first_ns) + NS_PER_MS - 1) / NS_PER_MS);
	if (g && now - g->first_ns < 2 * keep_ns) {
		x->counts.unreserved[UNRESERVED_TIME]++;
		return 0;
	}
	if (!g && !grant_has_space(x, now)) {
		x->counts.unreserved[UNRESERVED_LIMIT]++;
		return 0;
	}
	g = g ? g : &x->grants[x->grants_n++];
	*g = (struct grant){ job->pod, job->pod_generation, now };
	job->granted = true;
	return x->config.keep_ms;
}

static void finish(struct extender *x, struct extender_job *job, size_t chosen, const char *error)
{
	uint64_t took = env_now(x->config.env) - job->begun_ns;
	struct grant *g = job->granted ? grant_find(x, job->pod, job->pod_generation) : NULL;

	/* A pod that waits for capacity has its time once it gets some. */
	if (g && chosen == EXTENDER_NOWHERE)
		grant_remove(x, g);
	TAILQ_REMOVE(&x->jobs, job, link);
	x->sent -= job->ticket != 0;
	job->answer = (struct extender_answer){ .chosen = chosen, .error = error };
	x->counts.placed += chosen != EXTENDER_NOWHERE;
	x->counts.nowhere += chosen == EXTENDER_NOWHERE && !error;
	x->counts.errors += error != NULL;
	x->counts.ns_sum += took;
	x->counts.ns_max = took > x->counts.ns_max ? took : x->counts.ns_max;
	job->done(job);
}

void extender_free(struct extender *x)
{
	struct extender_job *job;

	if (!x)
		return;
	while ((job = TAILQ_FIRST(&x->jobs)) != NULL)
		finish(x, job, EXTENDER_NOWHERE, "muster is stopping");
	free(x->set);
	free(x->grants);
	free(x);
}

void extender_ask(struct extender *x, struct extender_job *job)
{
	job->begun_ns = env_now(x->config.env);
	job->ticket = 0;
	job->granted = false;
	TAILQ_INSERT_TAIL(&x->jobs, job, link);
}

void extender_core_down(struct extender *x)
{
	struct extender_job *job;

	TAILQ_FOREACH (job, &x->jobs, link)
		job->ticket = 0;
	x->sent = 0;
}

static void set_fill(struct extender *x, const struct extender_question *q, size_t words)
{
	if (words > x->set_words) {
		x->set = must_grow(x->set, words * sizeof(*x->set));
		x->set_words = words;
	}
	memset(x->set, 0, words * sizeof(*x->set));
	for (size_t i = 0; i < q->nodes_n; i++) {
		node_id id = model_node_id(x->config.model, q->nodes[i].name);

		if (id != ID_NONE && id / 64 < words)
			x->set[id / 64] |= UINT64_C(1) << (id % 64);
	}
}

enum sending { SENT, LATER, FINISHED };

static enum sending job_send(struct extender *x, struct extender_job *job,
                             const struct frontend_port *port, const struct limits *limits)
{
	const struct extender_question *q = &job->question;
	const size_t words = (limits->nodes + (size_t)63) / 64, bytes = words * sizeof(uint64_t);
	struct event_assume *e;
	struct pod_view pod;

	if (sizeof(struct record) + sizeof(*e) + bytes > RECORD_BYTES_MAX) {
		finish(x, job, EXTENDER_NOWHERE,
		       "--max-nodes of muster-core is too large for its extender");
		return FINISHED;
	}
	if (!model_pod_by_name(x->config.model, q->namespace, q->name, &pod) ||
	    (*q->uid && strcmp(pod.uid, q->uid) != 0))
		return LATER;
	if (pod.ours || pod.node[0]) {
		finish(x, job, EXTENDER_NOWHERE,
		       pod.ours ? "muster places this pod itself" : "the pod is bound already");
		return FINISHED;
	}
	set_fill(x, q, words);
	e = port->event(port->context, EVENT_ASSUME, (uint32_t)(sizeof(*e) + bytes));
	if (!e)
		return LATER;
	if (++x->tickets == 0)
		x->tickets = 1;
	job->ticket = x->tickets;
	job->pod = pod.id;
	job->pod_generation = pod.generation;
	x->sent++;
	*e = (struct event_assume){ .pod = pod.id,
		                        .pod_generation = pod.generation,
		                        .ticket = job->ticket,
		                        .words = (uint32_t)words,
		                        .keep_ms = reserve_ms(x, job) };
	memcpy(e + 1, x->set, bytes);
	PROBE(assume_sent, pod.id, pod.generation, job->ticket);
	return SENT;
}

uint64_t extender_poll(struct extender *x, const struct frontend_port *port,
                       const struct limits *limits)
{
	uint64_t now = env_now(x->config.env), next = NEVER_NS;
	struct extender_job *job, *after;
	bool sent = false;

	for (job = TAILQ_FIRST(&x->jobs); job; job = after) {
		enum sending rc = LATER;

		after = TAILQ_NEXT(job, link);
		if (now - job->begun_ns >= PATIENCE_NS) {
			finish(x, job, EXTENDER_NOWHERE,
			       !port         ? "muster-core is not ready"
			       : job->ticket ? "muster-core does not answer"
			                     : "muster does not know the pod yet");
			continue;
		}
		if (!job->ticket && port && x->sent < UNDER_WAY_MAX)
			rc = job_send(x, job, port, limits);
		sent = sent || rc == SENT;
		if (rc == LATER && !job->ticket && port && now + RETRY_NS < next)
			next = now + RETRY_NS;
		if (rc != FINISHED && job->begun_ns + PATIENCE_NS < next)
			next = job->begun_ns + PATIENCE_NS;
	}
	if (sent)
		port->publish(port->context);
	return next;
}

void extender_answered(struct extender *x, const struct cmd_assume *cmd)
{
	struct extender_job *job;
	const char *name;
	size_t chosen = 0;

	TAILQ_FOREACH (job, &x->jobs, link)
		if (job->ticket == cmd->ticket)
			break;
	if (!job)
		return;
	PROBE(assume_answered, cmd->pod, cmd->pod_generation, cmd->ticket, cmd->node);
	name =
		cmd->node != ID_NONE ? model_node(x->config.model, cmd->node, cmd->node_generation) : NULL;
	while (name && chosen < job->question.nodes_n &&
	       !text_is(job->question.nodes[chosen].name, name))
		chosen++;
	if (cmd->reason.why == WAIT_REFUSED)
		finish(x, job, EXTENDER_NOWHERE, "the pod is gone");
	else if (!name || chosen == job->question.nodes_n)
		finish(x, job, EXTENDER_NOWHERE, cmd->node != ID_NONE ? "the node is gone" : NULL);
	else
		finish(x, job, chosen, NULL);
}

const struct extender_counts *extender_counts(const struct extender *x)
{
	return &x->counts;
}
