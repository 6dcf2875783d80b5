/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/stats.h"

#include <stdio.h>
#include <string.h>

void as_stats_count(struct as_stats *s, const char *method, const char *what, int status)
{
	char name[sizeof(s->requests[0].name)];

	snprintf(name, sizeof(name), "%s %s %d", method, what, status);
	for (size_t i = 0; i < s->requests_n; i++) {
		if (strcmp(s->requests[i].name, name) == 0) {
			s->requests[i].n++;
			return;
		}
	}
	if (s->requests_n == AS_COUNTED_MAX)
		return;
	snprintf(s->requests[s->requests_n].name, sizeof(name), "%s", name);
	s->requests[s->requests_n++].n = 1;
}

struct as_json *as_stats_json(const struct as_stats *s, struct as_arena *a)
{
	const struct {
		const char *name;
		uint64_t value;
	} figures[] = {
		{ "binds", s->binds },
		{ "bindConflicts", s->bind_conflicts },
		{ "doubleBindAttempts", s->double_binds },
		{ "overcommitted", s->overcommitted },
		{ "boundToUnknownNode", s->unknown_node },
		{ "kubeletStarted", s->kubelet_started },
		{ "kubeletFinished", s->kubelet_finished },
		{ "kubeletRejected", s->kubelet_rejected },
		{ "kubeletRemoved", s->kubelet_removed },
		{ "watchesOpen", s->watches_open },
		{ "watchesLagged", s->watches_lagged },
		{ "watchEvents", s->watch_events },
	};
	struct as_json *o = as_json_new(a, AS_OBJECT), *requests;

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		as_json_set_integer(a, o, figures[i].name, (int64_t)figures[i].value);
	requests = as_json_member(a, o, "requests", AS_OBJECT);
	for (size_t i = 0; i < s->requests_n; i++)
		as_json_set_integer(a, requests, s->requests[i].name, (int64_t)s->requests[i].n);
	return o;
}
