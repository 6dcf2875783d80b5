/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/faults.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[AS_FAULTS] = {
	[AS_FAULT_NONE] = "",
	[AS_FAULT_BIND_500_BEFORE] = "bind-500-before",
	[AS_FAULT_BIND_500_AFTER] = "bind-500-after",
	[AS_FAULT_BIND_504_AFTER] = "bind-504-after",
	[AS_FAULT_BIND_409_BEFORE] = "bind-409-before",
	[AS_FAULT_BIND_409_AFTER] = "bind-409-after",
	[AS_FAULT_BIND_429] = "bind-429",
	[AS_FAULT_BIND_CUT_BEFORE] = "bind-cut-before",
	[AS_FAULT_BIND_CUT_AFTER] = "bind-cut-after",
	[AS_FAULT_BIND_LATE] = "bind-late",
	[AS_FAULT_DELAY] = "delay",
	[AS_FAULT_ERROR_500] = "error-500",
	[AS_FAULT_DENY_ACCESS] = "deny-access",
	[AS_FAULT_CUT_WATCHES] = "cut-watches",
	[AS_FAULT_COMPACT] = "compact",
};

enum as_fault as_fault_named(const char *name)
{
	for (int f = AS_FAULT_NONE + 1; f < AS_FAULTS; f++)
		if (strcmp(names[f], name) == 0)
			return (enum as_fault)f;
	return AS_FAULT_NONE;
}

const char *as_fault_name(enum as_fault fault)
{
	return names[fault];
}

bool as_fault_take(struct as_faults *f, enum as_fault fault)
{
	if (f->armed[fault].count == 0)
		return false;
	f->armed[fault].count--;
	return true;
}

enum as_fault as_fault_take_bind(struct as_faults *f)
{
	for (int i = AS_FAULT_BIND_500_BEFORE; i <= AS_FAULT_BIND_LATE; i++)
		if (as_fault_take(f, (enum as_fault)i))
			return (enum as_fault)i;
	return AS_FAULT_NONE;
}

struct as_json *as_faults_json(const struct as_faults *f, struct as_arena *a)
{
	struct as_json *o = as_json_new(a, AS_OBJECT);
	struct as_json *armed = as_json_member(a, o, "armed", AS_OBJECT);
	int64_t late = 0;

	for (int i = AS_FAULT_NONE + 1; i < AS_FAULTS; i++)
		if (f->armed[i].count > 0)
			as_json_set_integer(a, armed, names[i], (int64_t)f->armed[i].count);
	for (const struct as_late *l = f->late; l != NULL; l = l->next)
		late++;
	as_json_set_integer(a, o, "late", late);
	return o;
}

void as_faults_clear(struct as_faults *f)
{
	while (f->late != NULL) {
		struct as_late *next = f->late->next;

		free(f->late->target);
		free(f->late->body);
		free(f->late);
		f->late = next;
	}
	memset(f, 0, sizeof(*f));
}
