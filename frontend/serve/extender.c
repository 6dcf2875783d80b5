/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/extender.h"

#include "frontend/base/log.h"
#include "frontend/base/probe.h"
#include "frontend/model/nodes/node_names.h"
#include "frontend/serve/grants.h"

#include <stdlib.h>
#include <string.h>

#define UNDER_WAY_MAX 32u          /* sent and not answered; the core accepts a few more */
#define PATIENCE_NS (2 * NS_PER_S) /* kube-scheduler waits 5 s by default */
#define RETRY_NS (NS_PER_MS / 4)   /* a pod that is not known yet may arrive any moment */

TAILQ_HEAD(job_list, extender_job);

struct extender {
	struct extender_config config;
	struct job_list jobs;
	size_t sent;
	uint32_t tickets; /* total */
	struct grants *grants;
	struct extender_counts counts;
};

struct extender *extender_new(const struct extender_config *config)
{
	struct extender *x = must_alloc(sizeof(*x));

	x->config = *config;
	x->grants = grants_new(&(struct grants_config){ .env = config->env,
	                                                .model = config->model,
	                                                .journal = config->journal,
	                                                .keep_ms = config->keep_ms,
	                                                .max = config->reservations_max });
	TAILQ_INIT(&x->jobs);
	return x;
}

/* How long the core shall reserve for the job's pod; 0: not at all. */
static uint32_t reserve_ms(struct extender *x, struct extender_job *job)
{
	enum unreserved why = UNRESERVED_UID;
	bool first = false;
	uint32_t ms = 0;

	if (job->question.verb != EXTENDER_FILTER)
		return 0;
	if (*job->question.uid)
		ms = grants_ask(x->grants, job->pod, job->pod_generation, &first, &why);
	x->counts.unreserved[why] += ms == 0;
	job->granted = job->granted || first;
	job->reserves = ms > 0;
	return ms;
}

static void finish(struct extender *x, struct extender_job *job, size_t chosen, const char *error)
{
	uint64_t took = env_now(x->config.env) - job->begun_ns;

	/* A pod that waits for capacity has its time once it gets some. */
	if (job->granted && chosen == EXTENDER_NOWHERE)
		grants_withdraw(x->grants, job->pod, job->pod_generation);
	TAILQ_REMOVE(&x->jobs, job, link);
	x->sent -= job->ticket != 0;
	job->answer = (struct extender_answer){ .chosen = chosen, .error = error };
	x->counts.placed += chosen != EXTENDER_NOWHERE;
	x->counts.nowhere += chosen == EXTENDER_NOWHERE && !error;
	x->counts.errors += error != NULL;
	x->counts.ns_sum += took;
	x->counts.ns_max = took > x->counts.ns_max ? took : x->counts.ns_max;
	job->done(job->context);
}

void extender_free(struct extender *x)
{
	struct extender_job *job;

	if (!x)
		return;
	while ((job = TAILQ_FIRST(&x->jobs)) != NULL)
		finish(x, job, EXTENDER_NOWHERE, "muster is stopping");
	grants_free(x->grants);
	free(x);
}

void extender_ask(struct extender *x, struct extender_job *job)
{
	job->begun_ns = env_now(x->config.env);
	job->ticket = 0;
	job->granted = job->reserves = job->writing = false;
	TAILQ_INSERT_TAIL(&x->jobs, job, link);
}

void extender_core_down(struct extender *x)
{
	struct extender_job *job;

	TAILQ_FOREACH (job, &x->jobs, link)
		job->ticket = 0;
	x->sent = 0;
}

void extender_core_up(struct extender *x)
{
	grants_core_up(x->grants);
}

void extender_adopt(struct extender *x, struct intent *line, pod_id pod, uint32_t generation)
{
	grants_adopt(x->grants, line, pod, generation);
}

void extender_find(struct extender_question *q, struct node_names *names, struct arena *arena)
{
	q->ids = arena_alloc(arena, q->nodes_n * sizeof(*q->ids));
	q->ids_version = node_names_find(names, q->names, q->nodes_n, q->ids);
}

/* With nodes that came and went since: a pod that muster does not know yet may be awaited. */
static void find_again(struct extender *x, struct extender_question *q)
{
	struct node_names *names = model_node_names(x->config.model);

	if (q->ids_version != node_names_version(names))
		q->ids_version = node_names_find(names, q->names, q->nodes_n, q->ids);
}

/* One bit for each node. */
static void set_fill(uint64_t *set, size_t words, const struct extender_question *q)
{
	memset(set, 0, words * sizeof(*set));
	for (size_t i = 0; i < q->nodes_n; i++)
		if (q->ids[i] / 64 < words) /* ID_NONE is not */
			set[q->ids[i] / 64] |= UINT64_C(1) << (q->ids[i] % 64);
}

enum sending { SENT, LATER, FINISHED };

static enum sending job_send(struct extender *x, struct extender_job *job,
                             const struct frontend_port *port, const struct limits *limits)
{
	struct extender_question *q = &job->question;
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
	find_again(x, q);
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
	set_fill((uint64_t *)(e + 1), words, q);
	PROBE(assume_sent, pod.id, pod.generation, job->ticket);
	return SENT;
}

/* Finishes the job once its line is durable, or will not be soon. */
static bool written(struct extender *x, struct extender_job *job, uint64_t now)
{
	const enum grant_line line = grants_line(x->grants, job->pod, job->pod_generation);

	if (line == GRANT_WAITS && now - job->begun_ns < PATIENCE_NS)
		return false;
	x->counts.unreserved[UNRESERVED_JOURNAL] += line != GRANT_DURABLE;
	finish(x, job, job->chosen, NULL);
	return true;
}

uint64_t extender_poll(struct extender *x, const struct frontend_port *port,
                       const struct limits *limits)
{
	uint64_t now = env_now(x->config.env), next = grants_poll(x->grants);
	struct extender_job *job, *after;
	bool sent = false;

	for (job = TAILQ_FIRST(&x->jobs); job; job = after) {
		enum sending rc = LATER;

		after = TAILQ_NEXT(job, link);
		if (job->writing) {
			if (!written(x, job, now) && job->begun_ns + PATIENCE_NS < next)
				next = job->begun_ns + PATIENCE_NS;
			continue;
		}
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

/* The core chose a node, and has reserved it if that was asked for. */
static void job_place(struct extender *x, struct extender_job *job, size_t chosen,
                      const struct cmd_assume *cmd)
{
	if (!job->reserves) {
		finish(x, job, chosen, NULL);
		return;
	}
	grants_place(x->grants, job->pod, job->pod_generation, cmd->node, cmd->node_generation);
	x->sent--;
	job->ticket = 0;
	job->writing = true;
	job->chosen = chosen;
	written(x, job, env_now(x->config.env));
}

/* Among the question's nodes; nodes_n: it is none of them.  Ids are of hashes, hence the name. */
static size_t node_index(const struct extender_question *q, node_id id, const char *name)
{
	const struct text wanted = text_of(name);
	size_t i = 0;

	while (i < q->nodes_n && !(q->ids[i] == id && text_equal(q->names[i], wanted)))
		i++;
	return i;
}

void extender_answered(struct extender *x, const struct cmd_assume *cmd)
{
	struct extender_job *job;
	const char *name;
	size_t chosen;

	TAILQ_FOREACH (job, &x->jobs, link)
		if (job->ticket != 0 && job->ticket == cmd->ticket)
			break;
	if (!job)
		return;
	PROBE(assume_answered, cmd->pod, cmd->pod_generation, cmd->ticket, cmd->node);
	name =
		cmd->node != ID_NONE ? model_node(x->config.model, cmd->node, cmd->node_generation) : NULL;
	chosen = name ? node_index(&job->question, cmd->node, name) : job->question.nodes_n;
	if (job->reserves && chosen == job->question.nodes_n)
		grants_place(x->grants, job->pod, job->pod_generation, ID_NONE, 0);
	if (cmd->reason.why == WAIT_REFUSED)
		finish(x, job, EXTENDER_NOWHERE, "the pod is gone");
	else if (chosen == job->question.nodes_n)
		finish(x, job, EXTENDER_NOWHERE, cmd->node != ID_NONE ? "the node is gone" : NULL);
	else
		job_place(x, job, chosen, cmd);
}

const struct extender_counts *extender_counts(const struct extender *x)
{
	return &x->counts;
}
