/* SPDX-License-Identifier: Apache-2.0 */
/* The names of what a question asks for, for reasons. */
#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <string.h>

#define ARENA_STEP 16u /* of the core's arena, bytes */

static uint32_t room_of(uint32_t bytes)
{
	return (bytes + ARENA_STEP - 1) / ARENA_STEP * ARENA_STEP;
}

/* The attribute of the first matchAttribute that restricts the option; "-": none does. */
static struct text attribute_of(const struct live_question *q, const struct live_option *o)
{
	TREE_EACH(constraint, jsontree_get(q->claims[o->claim].spec, "constraints"))
	{
		const struct tree *match = jsontree_get(constraint, "matchAttribute");

		if (match->kind == TREE_TEXT &&
		    option_is_listed(jsontree_get(constraint, "requests"),
		                     &q->claims[o->claim].requests[o->request], o->entry))
			return jsontree_text(match);
	}
	return text_of("-");
}

/* As snprintf() returns.  No name has a space, but in files that no API server has checked. */
static int label_write(const struct live_question *q, const struct live_option *o, char *out,
                       size_t bytes)
{
	const struct request_entry *r = &q->claims[o->claim].requests[o->request];
	const struct text sub = r->prioritized ? o->entry->name : (struct text){ 0 };
	const struct text names[] = { r->name, sub, o->entry->class, attribute_of(q, o) };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].bytes > bytes ||
		    (names[i].bytes > 0 && memchr(names[i].at, ' ', names[i].bytes)))
			return snprintf(out, bytes, "? ? - ");
	return snprintf(out, bytes, "%.*s%s%.*s %.*s %.*s ", (int)names[0].bytes, names[0].at,
	                r->prioritized ? "/" : "", (int)sub.bytes, sub.bytes > 0 ? sub.at : "",
	                (int)names[2].bytes, names[2].at, (int)names[3].bytes, names[3].at);
}

uint32_t live_labels(const struct live *l, uint32_t question, char out[QUESTION_TEXT_MAX])
{
	const struct live_question *q = &l->questions[question];
	char one[QUESTION_TEXT_MAX];
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < q->options_n; i++) {
		const int n = label_write(q, &q->options[i], one, sizeof(one));

		if (n < 0 || (size_t)n >= sizeof(one) || (uint32_t)n > QUESTION_TEXT_MAX - bytes)
			break;
		memcpy(out + bytes, one, (size_t)n);
		bytes += (uint32_t)n;
	}
	return l->names_bytes - l->named[question] + room_of(bytes) <= l->names_most ? bytes : 0;
}

void live_labels_sent(struct live *l, uint32_t question, uint32_t bytes)
{
	l->names_bytes = l->names_bytes - l->named[question] + room_of(bytes);
	l->named[question] = room_of(bytes);
}

void live_names_limit(struct live *l, uint64_t most)
{
	l->names_most = most;
}

uint64_t live_names_bytes(const struct live *l)
{
	return l->names_bytes;
}

bool live_label(const struct live *l, uint32_t question, uint32_t option, char *out,
                size_t out_bytes)
{
	const struct live_question *q = question < QUESTIONS_MAX ? &l->questions[question] : NULL;

	if (!q || !q->text || option >= q->options_n)
		return false;
	label_write(q, &q->options[option], out, out_bytes);
	return true;
}

uint32_t live_asks(const struct live *l, uint32_t pod)
{
	const struct live_pod *p = live_pod_of(l, pod);

	return p && p->name ? p->question : LIVE_NONE;
}
