/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/taken.h"

#include "ipc/memory.h"

#include <stdlib.h>

void taken_clear(struct taken *t)
{
	free(t->marks);
	free(t->gone);
	*t = (struct taken){ 0 };
}

void taken_evict(struct taken *t, uint32_t gangs, uint32_t gang, bool reclaimed)
{
	if (!t->marks) {
		t->marks = must_array(gangs, sizeof(*t->marks));
		t->gone = must_array(TAKEN_GONE_MAX, sizeof(*t->gone));
	}
	t->marks[gang].away = true;
	if (reclaimed) {
		t->marks[gang].at = t->changes + 1;
		t->marks[gang].whole = true;
	}
}

void taken_stands(struct taken *t, uint32_t gang)
{
	struct taken_mark *m = &t->marks[gang];

	if (m->whole)
		m->at = 0;
	m->away = m->whole = false;
}

/* FNV-1a; never 0. */
static uint64_t hash_of(const char *name, size_t bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
	return hash > 0 ? hash : 1;
}

void taken_drop(struct taken *t, uint32_t gang, const char *name, size_t bytes)
{
	if (t->marks[gang].away)
		t->gone[t->gone_n++ % TAKEN_GONE_MAX] =
			(struct taken_gone){ .name = hash_of(name, bytes), .at = t->marks[gang].at };
	t->marks[gang] = (struct taken_mark){ 0 };
}

void taken_begin(struct taken *t, uint32_t gang, const char *name, size_t bytes)
{
	const uint64_t hash = hash_of(name, bytes);

	t->marks[gang] = (struct taken_mark){ 0 };
	for (uint32_t i = 0; i < TAKEN_GONE_MAX && i < t->gone_n; i++)
		if (t->gone[i].name == hash) {
			t->marks[gang] = (struct taken_mark){ .at = t->gone[i].at, .away = true };
			t->gone[i].name = 0;
			return;
		}
}
