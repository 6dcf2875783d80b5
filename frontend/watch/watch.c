/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/watch/watch_impl.h"

#include "frontend/json/jsonout.h"

#include <stdio.h>
#include <stdlib.h>

struct watch *watch_new(const struct env *env, struct model *model, int index)
{
	size_t n;
	const struct resource *resources = model_resources(model, &n);
	struct watch *w = must_alloc(sizeof(*w));

	w->env = env;
	w->model = model;
	w->index = index;
	w->resource = resources[index];
	w->backoff = BACKOFF_REFLECTOR;
	w->frames.bytes_max = FRAME_BYTES_MAX;
	snprintf(w->name, sizeof(w->name), "%s%s%s", w->resource.plural,
	         w->resource.group[0] ? "." : "", w->resource.group);
	return w;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	if (w->call)
		w->env->transport->ops->cancel(w->env->transport, w->call);
	watch_beside_end(w);
	frames_free(&w->frames);
	bytes_free(&w->body);
	free(w->selector);
	free(w->continue_token);
	free(w);
}

void watch_select(struct watch *w, const char *label_selector)
{
	struct jsonout query = { 0 };

	jsonout_add(&query, "labelSelector=@p", label_selector);
	free(w->selector);
	w->selector = query.at;
}

void watch_share_outage(struct watch *w, struct watch_outage *outage)
{
	outage->refused.most = 1;
	outage->unreachable.most = 1;
	w->outage = outage;
}

void watch_stream_lists(struct watch *w)
{
	w->streams = true;
}

void watch_follow(struct watch *w, void (*put)(void *context, uint64_t heard_ns), void *context)
{
	w->put = put;
	w->put_context = context;
}

void watch_select_fields(struct watch *w, const char *field_selector)
{
	struct jsonout query = { 0 };

	jsonout_add(&query, "fieldSelector=@p", field_selector);
	free(w->selector);
	w->selector = query.at;
}

/* Starts the list that was asked for; one beside the watch waits for the last one's end. */
static void relist_start(struct watch *w)
{
	if (w->initial || (w->state != WATCH_WATCHING && w->state != WATCH_WATCH))
		return;
	if (w->relist_reason == RELIST_ROOM && w->beside)
		return;
	if (w->relist_reason == RELIST_ROOM && w->state == WATCH_WATCHING) {
		watch_beside_start(w);
		return;
	}
	if (w->call)
		w->env->transport->ops->cancel(w->env->transport, w->call);
	w->call = NULL;
	watch_list_again(w, w->relist_reason, 0);
}

static uint64_t own_poll(struct watch *w)
{
	const uint64_t now = env_now(w->env);

	if (w->body.n > 0)
		watch_list_put(w);
	if (w->relist_wanted)
		relist_start(w);
	if (w->state == WATCH_WATCHING && now >= watch_silence_deadline(w))
		watch_stream_silent(w);
	if (w->state == WATCH_LIST && now >= w->wait_until_ns)
		watch_list_start(w);
	else if (w->state == WATCH_WATCH && now >= w->wait_until_ns && w->suspect)
		watch_probe_start(w);
	else if (w->state == WATCH_WATCH && now >= w->wait_until_ns)
		watch_stream_start(w);
	if (w->state == WATCH_LISTING || w->state == WATCH_PROBING)
		return NEVER_NS;
	return w->state == WATCH_WATCHING ? watch_silence_deadline(w) : w->wait_until_ns;
}

uint64_t watch_poll(struct watch *w)
{
	uint64_t own, beside;

	if (w->went_back)
		return NEVER_NS;
	own = own_poll(w);
	beside = watch_beside_poll(w);
	return own < beside ? own : beside;
}

bool watch_synced(const struct watch *w)
{
	return w->synced;
}

bool watch_absent(const struct watch *w)
{
	return w->absent;
}

bool watch_refused_at_start(const struct watch *w)
{
	return w->refused_at_start;
}

bool watch_lacks_room(const struct watch *w)
{
	return w->no_room || model_lacks(w->model, w->index);
}

bool watch_went_back(const struct watch *w)
{
	return w->went_back;
}

void watch_limit_pages(struct watch *w, size_t bytes)
{
	w->page_bytes_max = bytes;
}

uint64_t watch_list_ns(const struct watch *w)
{
	const bool lists = w->state == WATCH_LISTING || w->replacing || w->initial;
	const uint64_t so_far = lists ? env_now(w->env) - w->begun_ns : watch_beside_ns(w);

	return so_far > w->took_ns ? so_far : w->took_ns;
}

uint64_t watch_listed_ns(const struct watch *w)
{
	return w->listed_ns;
}

const struct resource *watch_resource(const struct watch *w)
{
	return &w->resource;
}

uint64_t watch_silence_ns(const struct watch *w)
{
	return w->state == WATCH_WATCHING ? env_now(w->env) - w->heard_ns : 0;
}

const struct watch_counts *watch_counts(const struct watch *w)
{
	return &w->counts;
}

const char *watch_error(const struct watch *w)
{
	return w->error;
}
