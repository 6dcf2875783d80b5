/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the journal for held bindings, which keep them for minutes: at most half of what it has
 * for bindings, so that those that are not held always find some, and of that half
 *
 *   up to 7/8         first come, first served
 *   the last eighth   namespaces that stay within their share: the half divided by the namespaces
 *                     that have held bindings; all of it while there is only one
 *
 * as with the tables that tenants fill (decision 049).  While a namespace waits for lines within
 * its share, the others get none above theirs, and those above give way: their youngest held
 * bindings are undone and refused.  The members of a gang get lines together, once they are a
 * quorum.  Those that an earlier instance wrote count, and may exceed it.  Decision 077. */
#include "frontend/bind/prebind_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS 10000u

struct held_share {
	TAILQ_ENTRY(held_share) link;
	char *namespace;
	size_t stages; /* 0: it is freed */
	size_t lines;  /* of held bindings */
	size_t going;  /* of these, while it is looked who has to give way: what is being undone */
};

size_t prebind_lines_most(const struct binder *w)
{
	return w->config.journal ? journal_most(w->config.journal) / 2 : SIZE_MAX;
}

static size_t share_size(const struct binder *w)
{
	return prebind_lines_most(w) / (w->shares_n ? w->shares_n : 1);
}

struct held_share *prebind_share(struct binder *w, const char *namespace)
{
	struct held_share *s;

	TAILQ_FOREACH (s, &w->shares, link)
		if (strcmp(s->namespace, namespace) == 0)
			break;
	if (!s) {
		s = must_alloc(sizeof(*s));
		s->namespace = must_copy(namespace);
		TAILQ_INSERT_TAIL(&w->shares, s, link);
		w->shares_n++;
	}
	s->stages++;
	return s;
}

void prebind_unshare(struct binder *w, struct held_share *s)
{
	if (--s->stages > 0)
		return;
	TAILQ_REMOVE(&w->shares, s, link);
	w->shares_n--;
	free(s->namespace);
	free(s);
}

void prebind_line_count(struct bind *b)
{
	if (!b->intent || b->held->lined)
		return;
	b->held->lined = true;
	b->held->stage->share->lines++;
	b->binder->held_lines++;
}

void prebind_line_return(struct bind *b)
{
	if (!b->held->lined)
		return;
	b->held->lined = false;
	b->held->stage->share->lines--;
	b->binder->held_lines--;
}

static bool is_within_share(const struct prebind_stage *s, size_t n)
{
	return s->share->lines + n <= share_size(s->binder);
}

static bool admits(const struct prebind_stage *s, size_t n)
{
	const struct binder *w = s->binder;
	const size_t most = prebind_lines_most(w);

	if (n > most || w->held_lines > most - n)
		return false;
	if (is_within_share(s, n))
		return true;
	return !w->lines_short && !w->lines_were_short &&
	       w->held_lines + n <= most - most / SHARE_RESERVE_PART;
}

static size_t lines_going(struct binder *w)
{
	struct prebind_stage *s;
	struct held_share *share;
	const struct bind *b;
	size_t n = 0;

	TAILQ_FOREACH (share, &w->shares, link)
		share->going = 0;
	TAILQ_FOREACH (s, &w->stages, link)
		TAILQ_FOREACH (b, &s->binds, link)
			if (b->held->lined && b->held->failed) {
				s->share->going++;
				n++;
			}
	return n;
}

void prebind_lines_say(const struct prebind_stage *s, struct prebind_why *why)
{
	const struct binder *w = s->binder;

	why->retry_ms = AGAIN_MS;
	snprintf(why->text, sizeof(why->text),
	         "namespace %.253s has %zu of the %zu bindings that may wait for volumes or devices, "
	         "its share is %zu",
	         s->share->namespace, s->share->lines, prebind_lines_most(w), share_size(w));
}

/* Those above their share, the youngest first, until there will be n lines.  A gang goes whole, so
 * a namespace may come below its share. */
static void give_way(struct binder *w, size_t n)
{
	size_t going = lines_going(w);
	struct prebind_stage *s;
	const struct bind *b;
	struct prebind_why why;

	TAILQ_FOREACH_REVERSE(s, &w->stages, prebind_stages, link)
	{
		size_t lines = 0;

		if (w->held_lines - going + n <= prebind_lines_most(w))
			return;
		if (s->share->lines - s->share->going <= share_size(w))
			continue;
		TAILQ_FOREACH (b, &s->binds, link)
			lines += b->held->lined && !b->held->failed;
		if (lines == 0)
			continue;
		prebind_lines_say(s, &why);
		prebind_fail_all(s, &why);
		s->share->going += lines;
		going += lines;
	}
}

/* Members without lines: all, or as many as make the quorum; of a gang that has it bound, one. */
static size_t lacking(const struct prebind_stage *s, bool all)
{
	struct gang_view gang;
	const struct bind *b;
	size_t n = 0, there = 0, needed;

	TAILQ_FOREACH (b, &s->binds, link) {
		n += !b->held->failed && !b->held->lined;
		there += !b->held->failed && b->held->lined;
	}
	if (all || s->gang == ID_NONE ||
	    !model_gang(s->binder->config.model, s->gang, s->generation, &gang))
		return n;
	needed = gang.quorum > gang.pods.bound ? gang.quorum - gang.pods.bound : 1;
	needed = needed > there ? needed - there : 0;
	return needed < n ? needed : n;
}

static void give_lines(struct prebind_stage *s, size_t n)
{
	struct bind *b;

	TAILQ_FOREACH (b, &s->binds, link) {
		if (n == 0)
			return;
		if (b->held->failed || b->held->lined)
			continue;
		intent_need(b);
		prebind_line_count(b);
		n--;
	}
}

void prebind_lines_take(struct prebind_stage *s)
{
	struct binder *w = s->binder;
	size_t n = w->config.journal ? lacking(s, true) : 0;

	if (n == 0)
		return;
	if (!admits(s, n))
		n = lacking(s, false);
	if (n == 0) /* the quorum has its lines */
		return;
	if (admits(s, n)) {
		give_lines(s, n);
	} else if (!w->lines_short && is_within_share(s, n)) {
		w->lines_short = true; /* once in a turn: who comes first is served first */
		give_way(w, n);
	}
}

bool prebind_lines_due(const struct prebind_stage *s)
{
	return is_within_share(s, lacking(s, false));
}
