/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/report/report_impl.h"

#include "frontend/dialect/dialects.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_FIRST 4u /* at once, if the config has no number */

static const struct item_ops *const kinds[ITEM_KINDS] = {
	[ITEM_POD] = &report_pod_ops,
	[ITEM_BIND] = &report_bind_ops,
	[ITEM_GROUP] = &report_group_ops,
};

struct report *report_new(const struct report_config *config)
{
	struct report *r = must_alloc(sizeof(*r));

	r->config = *config;
	r->ops = kinds;
	snprintf(r->instance, sizeof(r->instance), "%s", config->instance);
	r->config.instance = r->instance;
	if (r->config.connections == 0)
		r->config.connections = EVENTS_FIRST;
	window_init(&r->window,
	            config->connections_first ? config->connections_first : r->config.connections,
	            r->config.connections);
	r->tokens = config->per_second;
	r->tokens_ns = env_now(config->env);
	r->sweep_ns = r->tokens_ns + REPORT_SWEEP_NS;
	r->backoff = (struct backoff){ .first_ns = 500 * NS_PER_MS,
		                           .cap_ns = 30 * NS_PER_S,
		                           .reset_ns = 60 * NS_PER_S };
	for (int k = 0; k < ITEM_KINDS; k++)
		TAILQ_INIT(&r->queues[k]);
	TAILQ_INIT(&r->held);
	TAILQ_INIT(&r->kept);
	TAILQ_INIT(&r->recent);
	TAILQ_INIT(&r->flying);
	assert(dialects_n <= REPORT_DIALECTS_MAX);
	return r;
}

static void list_free(struct report *r, struct item_list *list)
{
	struct item *i;

	while ((i = TAILQ_FIRST(list)) != NULL) {
		report_item_unlist(i);
		if (i->call)
			r->config.env->transport->ops->cancel(r->config.env->transport, i->call);
		report_item_free(i);
	}
}

void report_free(struct report *r)
{
	if (!r)
		return;
	for (int k = 0; k < ITEM_KINDS; k++)
		list_free(r, &r->queues[k]);
	list_free(r, &r->held);
	list_free(r, &r->kept);
	list_free(r, &r->flying);
	for (size_t i = 0; i < r->by_pod_n; i++)
		if (r->by_pod[i])
			report_item_free(&r->by_pod[i]->item);
	free(r->by_pod);
	for (size_t i = 0; i < r->by_gang_n; i++)
		if (r->by_gang[i])
			report_item_free(&r->by_gang[i]->item);
	free(r->by_gang);
	jsonout_free(&r->text);
	jsonout_free(&r->path);
	jsonout_free(&r->body);
	free(r);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t report_poll(struct report *r, bool binds_waiting)
{
	uint64_t now = env_now(r->config.env), next;

	if (r->lists_in)
		report_groups_changed(r);
	next = report_sweep(r, now);
	next = sooner(next, report_recent(r, now));
	return sooner(next, report_send_due(r, now, binds_waiting));
}

void report_lists_in(struct report *r)
{
	r->lists_in = true;
}

size_t report_queued(const struct report *r)
{
	return report_waiting(r) + r->kept_n + r->flying_n;
}

unsigned report_window(const struct report *r)
{
	return r->window.size;
}

const struct report_counts *report_counts(const struct report *r)
{
	return &r->counts;
}
