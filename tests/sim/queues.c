/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of a run: a ConfigMap that is edited meanwhile, and the limits that its text sets. */
#include "frontend/model/model.h"
#include "tests/sim/making.h"
#include "tests/sim/uses.h"

#include <stdio.h>
#include <string.h>

#define NAMESPACE "kube-system"
#define NAME "muster-queues"
#define CONFIG "/api/v1/namespaces/" NAMESPACE "/configmaps"
#define VARIANTS 4u
#define QUEUES 4u

#define FREE INT64_MAX /* it has no limit */

/* Limits in milli of cpu; 0: nothing starts, there is no such queue, or it has children or is
 * parked.  Run times: the least maxRunSeconds on the way to the root.  The text is that of a JSON
 * string. */
static const struct {
	const char *text;
	int64_t limits[QUEUES];
	int64_t run_s[QUEUES];
} variants[VARIANTS] = {
	{ "- {name: q0, limit: {cpu: 3}, guarantee: {cpu: 2}}\\n"
	  "- {name: q1, guarantee: {cpu: 4}, weight: 3, minRunSeconds: 20, maxRunSeconds: 25}\\n"
	  "- {name: q2, order: fifo, limit: {cpu: 4}}\\n",
	  { 3000, FREE, 4000, 0 },
	  { FREE, 25, FREE, 0 } },
	{ "- {name: up, limit: {cpu: 6}, guarantee: {cpu: 4}, maxRunSeconds: 20}\\n"
	  "- {name: q0, parent: up, limit: {cpu: 5}, guarantee: {cpu: 3}, reserved: {cpu: 1}}\\n"
	  "- {name: q1, parent: up, maxRunSeconds: 30}\\n"
	  "- {name: q2, limit: {cpu: 4}, weight: 2}\\n"
	  "- {name: q3, parent: nowhere}\\n",
	  { 5000, 6000, 4000, 0 },
	  { 20, 20, FREE, 0 } },
	{ "- {name: q0, limit: {cpu: 5}, reclaimable: false}\\n"
	  "- {name: q1, guarantee: {cpu: 8}, reserved: {cpu: 2}, minRunSeconds: 3}\\n"
	  "- {name: q3, limit: {cpu: 2}, order: fifo, maxRunSeconds: 15}\\n",
	  { 5000, FREE, 0, 2000 },
	  { FREE, FREE, 0, 15 } },
	{ "- {name: q0, limit: {cpu: 1}, parent: q2}\\n"
	  "- {name: q1}\\n"
	  "- {name: q2, limit: {cpu: 2}}\\n",
	  { 1000, FREE, 0, 0 },
	  { FREE, FREE, 0, 0 } },
};

const char *queues_label(const struct script *s, uint32_t pod, uint32_t group)
{
	static char label[40];

	if (!script_queues(s))
		return "";
	snprintf(label, sizeof(label), "%s\"muster.dev/queue\":\"q%u\"", group != SIM_NONE ? "," : "",
	         (group != SIM_NONE ? group : pod) % QUEUES);
	return label;
}

void queues_configure(const struct script *s, struct model_config *model)
{
	if (!script_queues(s))
		return;
	model->queues = MODEL_QUEUES_CONFIG;
	model->queues_namespace = NAMESPACE;
	model->queues_name = NAME;
	model->history_factor = script_history(s);
	model->history_half_life_s = 60;
}

void queues_start(struct sim *s)
{
	if (!script_queues(s->script))
		return;
	sim_user(s, "POST", CONFIG,
	         "{\"metadata\":{\"name\":\"" NAME "\"},\"data\":{\"queues.yaml\":\"%s\"}}",
	         variants[0].text);
	s->queue_variants = 1;
}

void queues_edit(struct sim *s, uint32_t variant)
{
	sim_user(s, "PATCH", CONFIG "/" NAME, "{\"data\":{\"queues.yaml\":\"%s\"}}",
	         variants[variant % VARIANTS].text);
	s->queue_variants |= 1u << variant % VARIANTS;
}

/* The most of a number of the queue's in the texts so far. */
static int64_t most_of(const struct sim *s, const char *queue, bool run)
{
	const uint32_t q = (uint32_t)(queue[1] - '0');
	int64_t most = 0;

	for (uint32_t i = 0; i < VARIANTS; i++) {
		const int64_t value = run ? variants[i].run_s[q] : variants[i].limits[q];

		if ((s->queue_variants >> i & 1) != 0 && value > most)
			most = value;
	}
	return most;
}

int64_t queues_limit(const struct sim *s, const char *queue)
{
	return most_of(s, queue, false);
}

int64_t queues_max_run_s(const struct sim *s, const char *queue)
{
	return most_of(s, queue, true);
}

/* True if a pod that names `of` counts in queue `in`: in its own one and all above it, or in the
 * root alone if there is none of that name. */
static bool counts_in(const struct core *c, const char *of, uint32_t in)
{
	struct uses_queue q;
	uint32_t at = 0;

	while (uses_queue(c, at, &q) && strcmp(q.name, of) != 0)
		at++;
	if (!uses_queue(c, at, &q))
		return in == 0;
	while (at != in && at != 0) {
		uses_queue(c, at, &q);
		at = q.parent;
	}
	return at == in;
}

bool queues_at_rest(const struct sim *s, const struct core *c, char *why, size_t why_bytes)
{
	struct uses_queue q;

	for (uint32_t at = 0; uses_queue(c, at, &q); at++) {
		struct invariants_pod pod;
		int64_t cpu = 0;

		for (size_t i = 0; invariants_pod(s->invariants, i, &pod); i++)
			if (pod.placed && counts_in(c, pod.queue, at))
				cpu += pod.cpu_milli;
		if (q.cpu_milli == cpu)
			continue;
		snprintf(why, why_bytes, "used: queue %s has %lld milli of cpu, its pods have %lld", q.name,
		         (long long)q.cpu_milli, (long long)cpu);
		return false;
	}
	return true;
}

void making_queues(struct making *m)
{
	for (uint32_t n = making_below(m, 4); n > 0; n--)
		making_add(m, sim_below(&m->random, m->p->end_ns), ACTION_QUEUES, making_below(m, VARIANTS),
		           0, 0);
}
