/* SPDX-License-Identifier: Apache-2.0 */
/* A list by pages beside the running watch, for objects that were left out for a limit.
 *
 * Events of all other objects go on meanwhile: such a list is repeated while a tenant keeps the
 * model at its limit, and takes seconds in a large cluster.  All its pages have the state of the
 * first one.  What the watch has changed or deleted since the list began is newer than that, and is
 * passed over.  Nothing is replaced: deletions come by the watch.
 *
 * A failure that does not pass is left to a list that replaces the watch. */
#include "frontend/watch/watch_impl.h"

#include "frontend/base/intern.h"
#include "frontend/base/probe.h"
#include "frontend/base/version.h"
#include "frontend/decode/extract.h"
#include "frontend/json/json.h"

#include <stdlib.h>
#include <string.h>

#define CHANGES_MOST (UINT32_C(1) << 17) /* objects: some 70 bytes and the name */

struct watch_beside {
	struct http_call *call;
	uint64_t begun_ns;
	uint64_t wait_until_ns; /* without a call */
	char *continue_token;
	char since[64];         /* the version of the watch at the start: the list is no older */
	unsigned failures;      /* of the current page */
	unsigned halvings;      /* of the objects in a page */
	struct backoff backoff; /* not the watch's, which works */
	struct intern changed;  /* "namespace/name" of what the watch has changed since the start */
	bool too_many;          /* of these */
	struct arena arena;     /* of one object's metadata */
};

static void page_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes);

static void page_ask(struct watch *w)
{
	const struct http_handler handler = { .done = page_done, .context = w };
	struct watch_beside *l = w->beside;

	l->call = watch_page_ask(w, watch_page_objects(w, l->halvings), l->continue_token, 0, &handler);
}

void watch_beside_start(struct watch *w)
{
	struct watch_beside *l = must_alloc(sizeof(*l));
	const uint64_t key[2] = { w->env->random(w->env->context), w->env->random(w->env->context) };

	PROBE(relist, w->index, (uint32_t)RELIST_ROOM);
	w->counts.relists++;
	w->counts.relists_for[RELIST_ROOM]++;
	w->relist_wanted = false;
	w->no_room = false;
	model_lacks_begin(w->model, w->index);
	l->begun_ns = env_now(w->env);
	l->backoff = BACKOFF_REFLECTOR;
	intern_init(&l->changed, key, CHANGES_MOST);
	memcpy(l->since, w->version, sizeof(l->since));
	w->beside = l;
	page_ask(w);
}

void watch_beside_end(struct watch *w)
{
	struct watch_beside *l = w->beside;

	if (!l)
		return;
	if (l->call)
		w->env->transport->ops->cancel(w->env->transport, l->call);
	intern_free(&l->changed);
	arena_free(&l->arena);
	free(l->continue_token);
	free(l);
	w->beside = NULL;
}

static void give_up(struct watch *w)
{
	watch_beside_end(w);
	watch_relist(w, RELIST_FAILED);
}

/* "namespace/name", valid until the next call; "" if the metadata cannot be read. */
static struct text key_of(struct watch_beside *l, const char *json, size_t bytes)
{
	struct decode_error error;
	struct meta meta;
	size_t n;
	char *at;

	arena_reset(&l->arena);
	if (extract_meta(json, bytes, &l->arena, &meta, &error) < 0)
		return (struct text){ "", 0 };
	n = meta.namespace.bytes + 1 + meta.name.bytes;
	at = arena_alloc(&l->arena, n);
	memcpy(at, meta.namespace.at, meta.namespace.bytes);
	at[meta.namespace.bytes] = '/';
	memcpy(at + meta.namespace.bytes + 1, meta.name.at, meta.name.bytes);
	return (struct text){ at, n };
}

void watch_beside_changed(struct watch *w, const char *json, size_t bytes)
{
	struct watch_beside *l = w->beside;
	const struct text key = key_of(l, json, bytes);
	uint32_t number;

	if (!intern_has(&l->changed, key) && intern_take(&l->changed, key, &number) < 0)
		l->too_many = true;
}

static int item_put(void *context, const char *json, size_t bytes, size_t *used)
{
	struct watch *w = context;
	struct watch_beside *l = w->beside;
	const size_t own = l->changed.pool.used > 0 ? json_value_bytes(json, bytes) : 0;

	if (own == 0 || !intern_has(&l->changed, key_of(l, json, own)))
		return watch_put_item(w, json, bytes, used);
	*used = own;
	return 0;
}

static void list_taken(struct watch *w)
{
	w->took_ns = env_now(w->env) - w->beside->begun_ns;
	w->error[0] = '\0';
	w->counts.lists++;
	model_lacks_end(w->model, w->index);
	watch_beside_end(w);
}

static void page_put(struct watch *w, const char *body, size_t body_bytes)
{
	struct watch_beside *l = w->beside;
	const uint64_t heard_ns = w->heard_ns;
	struct list_page page;
	int rc;

	if (l->too_many || list_page_read(body, body_bytes, &page) < 0 ||
	    version_newer(l->since, page.resource_version)) {
		give_up(w);
		return;
	}
	/* The time of a put is that of its bytes; that of the watch shows whether it is silent. */
	w->heard_ns = env_now(w->env);
	rc = list_page_items(&page, item_put, w);
	w->heard_ns = heard_ns;
	if (rc < 0) {
		give_up(w);
		return;
	}
	free(l->continue_token);
	l->continue_token = NULL;
	l->failures = 0;
	if (page.continue_token.bytes == 0) {
		list_taken(w);
		return;
	}
	l->continue_token = strndup(page.continue_token.at, page.continue_token.bytes);
	if (!l->continue_token)
		fatal_memory();
	page_ask(w);
}

static void page_done(void *context, const struct http_answer *answer, const char *body,
                      size_t body_bytes)
{
	struct watch *w = context;
	struct watch_beside *l = w->beside;

	l->call = NULL;
	if (w->went_back) {
		watch_beside_end(w);
		return;
	}
	if (answer->end == HTTP_ANSWERED && answer->status == 200) {
		page_put(w, body, body_bytes);
		return;
	}
	if (answer->too_long && watch_page_objects(w, l->halvings) > 1) {
		l->halvings++;
		l->wait_until_ns = 0;
		return;
	}
	watch_failed(w, "list", answer, body, body_bytes);
	if (watch_page_again(answer) && ++l->failures < WATCH_PAGE_TRIES)
		l->wait_until_ns = env_now(w->env) + backoff_answer(&l->backoff, w->env, answer);
	else
		give_up(w);
}

uint64_t watch_beside_poll(struct watch *w)
{
	struct watch_beside *l = w->beside;

	if (!l || l->call)
		return NEVER_NS;
	if (env_now(w->env) < l->wait_until_ns)
		return l->wait_until_ns;
	page_ask(w);
	return NEVER_NS;
}

uint64_t watch_beside_ns(const struct watch *w)
{
	return w->beside ? env_now(w->env) - w->beside->begun_ns : 0;
}
