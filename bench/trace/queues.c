/* SPDX-License-Identifier: Apache-2.0 */
/* Queues for the users of a log. */
#include "bench/trace/queues.h"

#include "bench/trace/world.h"

#include "ctl/objects/read.h"
#include "frontend/base/bytes.h"
#include "frontend/queues/queues.h"
#include "frontend/queues/unshared.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLI 1000

/* A list with a queue for each user; jobs without one go to `default`. */
static void users_list(const struct trace *t, struct bytes *out)
{
	const bool has_default = trace_user(t, "default") < t->users_n;
	bool first = true;

	bytes_put(out, "{\"queues\":[");
	for (uint32_t i = 0; i < t->users_n; i++) {
		const char *name = t->users[i][0] != '\0' ? t->users[i] : "default";

		if (t->users[i][0] == '\0' && has_default)
			continue;
		bytes_put(out, first ? "{\"name\":" : ",{\"name\":");
		bytes_quote(out, name, strlen(name));
		bytes_put(out, "}");
		first = false;
	}
	bytes_put(out, "]}");
}

static bool tree_read(struct trace_queues *q, const struct trace *t, const char *what)
{
	char error[1024] = "";
	struct bytes text = { 0 };
	bool ok = true;

	q->read = queues_new(QUEUES_CONFIG);
	if (strcmp(what, "users") == 0)
		users_list(t, &text);
	else
		ok = read_whole(what, &text, error, sizeof(error));
	ok =
		ok &&
		queues_read_config(q->read, what, (struct text){ text.at, text.n }, error, sizeof(error)) &&
		queues_arrange(q->read, true, error, sizeof(error));
	bytes_free(&text);
	if (!ok)
		fprintf(stderr, "muster-bench: --queues: %s\n", error);
	return ok;
}

static uint32_t places_find(const void *context, const char *resource)
{
	const struct trace *t = context;

	for (uint32_t i = 0; t->world && i < t->world->columns_n; i++)
		if (strcmp(resource, t->world->columns[i]) == 0)
			return i;
	if (t->world)
		return UINT32_MAX;
	return strcmp(resource, t->gpus ? "nvidia.com/gpu" : "cpu") == 0 ? RESOURCE_CPU : UINT32_MAX;
}

/* GPUs are counted in whole ones, places in thousandths as cpu is. */
static int64_t places(const struct trace *t, int64_t value)
{
	if (!t->gpus || value == QUEUE_NO_LIMIT || value == QUEUE_ALL)
		return value;
	return value < QUEUE_NO_LIMIT / MILLI ? value * MILLI : QUEUE_NO_LIMIT - 1;
}

static void scale(struct queue_amount *a, const struct trace *t)
{
	a->guarantee = places(t, a->guarantee);
	a->reserved = places(t, a->reserved);
	a->limit = places(t, a->limit);
}

/* Of the resource that is measured; what is not listed has no guarantee and no limit. */
static void measured_fill(struct trace_queue *q, const struct trace *t)
{
	q->amount = (struct queue_amount){ .limit = QUEUE_NO_LIMIT, .weight = q->event.weight };
	for (uint32_t i = 0; i < q->event.amounts_n; i++)
		if (q->amounts[i].resource == t->world->measured)
			q->amount = q->amounts[i];
	scale(&q->amount, t);
}

static void amounts_fill(struct trace_queues *q, uint32_t i, const struct trace *t)
{
	const struct queue_read *r = &q->read->queues[i];
	struct trace_queue *out = &q->at[i];
	struct queue_amount *all = t->world ? &q->amounts[i * RESOURCES_MAX] : &out->amount;

	out->amount = (struct queue_amount){ .limit = QUEUE_NO_LIMIT, .weight = out->event.weight };
	out->amounts = all;
	out->event.amounts_n =
		queues_amounts(r, QUEUES_CONFIG, places_find, t, all, t->world ? t->world->columns_n : 1);
	if (t->world)
		measured_fill(out, t);
	else
		scale(&out->amount, t);
}

static void queue_fill(struct trace_queues *q, uint32_t i, const struct trace *t)
{
	const struct queue_read *r = &q->read->queues[i];
	struct trace_queue *out = &q->at[i];

	out->name = i == 0 ? "root" : r->name;
	out->leaf = true;
	out->event = (struct event_queue){
		.queue = i,
		.parent = i > 0 ? (uint32_t)queues_find(q->read, r->parent) : QUEUE_ROOT,
		.flags = (r->fifo ? QUEUE_FIFO : 0u) | (r->kept ? QUEUE_UNRECLAIMABLE : 0u),
		.priority = (int32_t)r->priority,
		.state = r->state,
		.source = QUEUES_CONFIG,
		.name_bytes = (uint32_t)strlen(out->name),
		.weight = queues_weight(r),
		.min_run_s = r->min_run_s,
		.max_run_s = r->max_run_s,
	};
	amounts_fill(q, i, t);
	if (i == 0)
		out->event.unshared = unshared_bits(NULL, 0, places_find, t);
	else
		q->at[out->event.parent].leaf = false;
}

static bool users_go(struct trace_queues *q, const struct trace *t)
{
	q->of_user = must_array(t->users_n, sizeof(*q->of_user));
	for (uint32_t i = 0; i < t->users_n; i++) {
		const char *user = t->users[i];
		const bool named = user[0] != '\0' && queues_find(q->read, user) != SIZE_MAX;
		const char *name = queues_name_of(q->read, named ? user : NULL, NULL, user, SIZE_MAX);
		const size_t queue = queues_find(q->read, name);

		if (queue == SIZE_MAX || !q->at[queue].leaf) {
			fprintf(stderr,
			        "muster-bench: --queues: user \"%s\" of the log goes to queue %s, which %s\n",
			        user, name, queue == SIZE_MAX ? "does not exist" : "has children");
			return false;
		}
		q->of_user[i] = (uint32_t)queue;
	}
	return true;
}

struct trace_queues *trace_queues_new(const struct trace *t, const char *what)
{
	struct trace_queues *q = must_alloc(sizeof(*q));

	if (!tree_read(q, t, what))
		goto free;
	q->n = (uint32_t)q->read->n;
	q->at = must_array(q->n, sizeof(*q->at));
	if (t->world)
		q->amounts = must_array((size_t)q->n * RESOURCES_MAX, sizeof(*q->amounts));
	for (uint32_t i = 0; i < q->n; i++) {
		if (strlen(q->read->queues[i].name) >= QUEUE_NAME_MAX) {
			fprintf(stderr, "muster-bench: --queues: the name of a queue has more than %u bytes\n",
			        QUEUE_NAME_MAX - 1);
			goto free;
		}
		queue_fill(q, i, t);
	}
	if (users_go(q, t))
		return q;

free:
	trace_queues_free(q);
	return NULL;
}

struct trace_queues *trace_queues_recorded(const struct trace *t)
{
	const struct world *w = t->world;
	struct trace_queues *q = must_alloc(sizeof(*q));

	q->n = w->queues_n;
	q->at = must_array(q->n, sizeof(*q->at));
	for (uint32_t i = 0; i < q->n; i++) {
		q->at[i] = (struct trace_queue){ .event = w->queues[i].body,
			                             .amounts = w->queues[i].amounts,
			                             .name = w->queues[i].name,
			                             .leaf = true };
		measured_fill(&q->at[i], t);
		if (i > 0)
			q->at[q->at[i].event.parent].leaf = false;
	}
	q->of_user = must_array(t->users_n + 1u, sizeof(*q->of_user));
	for (uint32_t i = 0; i < t->users_n; i++) {
		q->of_user[i] = w->queue_of_user[i];
		if (q->of_user[i] != KEYS_NONE)
			continue;
		fprintf(stderr,
		        "muster-bench: queue \"%s\" of the recording was not there at its end: --queues\n",
		        t->users[i]);
		trace_queues_free(q);
		return NULL;
	}
	return q;
}

void trace_queues_free(struct trace_queues *q)
{
	if (!q)
		return;
	if (q->read)
		queues_read_free(q->read);
	free(q->amounts);
	free(q->at);
	free(q->of_user);
	free(q);
}
