/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/taken.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

void taken_clear(struct taken *t)
{
	for (uint32_t i = 0; t->gone && i < TAKEN_GONE_MAX; i++)
		free(t->gone[i].name);
	free(t->marks);
	free(t->gone);
	*t = (struct taken){ 0 };
}

void taken_copy(struct taken *t, const struct taken *from, uint32_t gangs)
{
	taken_clear(t);
	if (!from->marks)
		return;
	*t = (struct taken){ .changes = from->changes,
		                 .marks = must_array(gangs, sizeof(*t->marks)),
		                 .gone = must_array(TAKEN_GONE_MAX, sizeof(*t->gone)),
		                 .gone_n = from->gone_n };
	memcpy(t->marks, from->marks, gangs * sizeof(*t->marks));
	memcpy(t->gone, from->gone, TAKEN_GONE_MAX * sizeof(*t->gone));
	for (uint32_t i = 0; i < TAKEN_GONE_MAX; i++) {
		if (!from->gone[i].name)
			continue;
		t->gone[i].name = must_alloc(from->gone[i].bytes > 0 ? from->gone[i].bytes : 1);
		memcpy(t->gone[i].name, from->gone[i].name, from->gone[i].bytes);
	}
}

void taken_evict(struct taken *t, uint32_t gangs, uint32_t gang, const struct taken_by *by)
{
	if (!t->marks) {
		t->marks = must_array(gangs, sizeof(*t->marks));
		t->gone = must_array(TAKEN_GONE_MAX, sizeof(*t->gone));
	}
	t->marks[gang].away = true;
	if (by) {
		t->marks[gang].at = t->changes + 1;
		t->marks[gang].whole = true;
		t->marks[gang].by = *by;
	}
}

void taken_stands(struct taken *t, uint32_t gang)
{
	struct taken_mark *m = &t->marks[gang];

	if (m->whole) {
		m->at = 0;
		m->by = (struct taken_by){ 0 };
	}
	m->away = m->whole = false;
}

static void forget(struct taken_by *by, const bool *gone, uint32_t n)
{
	if (by->queue < n && gone[by->queue])
		by->queue = QUEUE_MISSING;
}

void taken_forget(struct taken *t, uint32_t gangs, const bool *gone, uint32_t n)
{
	if (!t->marks)
		return;
	for (uint32_t i = 0; i < gangs; i++)
		forget(&t->marks[i].by, gone, n);
	for (uint32_t i = 0; i < TAKEN_GONE_MAX; i++)
		forget(&t->gone[i].by, gone, n);
}

/* FNV-1a. */
static uint32_t hash_of(const char *name, size_t bytes)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash;
}

void taken_drop(struct taken *t, uint32_t gang, const char *name, size_t bytes)
{
	const struct taken_mark *m = &t->marks[gang];
	struct taken_gone *g = &t->gone[t->gone_n % TAKEN_GONE_MAX];

	if (m->away) {
		free(g->name);
		*g = (struct taken_gone){ .name = must_alloc(bytes > 0 ? bytes : 1),
			                      .bytes = (uint32_t)bytes,
			                      .hash = hash_of(name, bytes),
			                      .at = m->at,
			                      .by = m->by };
		memcpy(g->name, name, bytes);
		t->gone_n++;
	}
	t->marks[gang] = (struct taken_mark){ 0 };
}

void taken_begin(struct taken *t, uint32_t gang, const char *name, size_t bytes)
{
	const uint32_t hash = hash_of(name, bytes);

	t->marks[gang] = (struct taken_mark){ 0 };
	for (uint32_t i = 0; i < TAKEN_GONE_MAX && i < t->gone_n; i++) {
		struct taken_gone *g = &t->gone[i];

		if (!g->name || g->hash != hash || g->bytes != bytes || memcmp(g->name, name, bytes) != 0)
			continue;
		t->marks[gang] = (struct taken_mark){ .at = g->at, .away = true, .by = g->by };
		free(g->name);
		g->name = NULL;
		return;
	}
}
