/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/text.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* The invariant is the word before the colon. */
static bool same_kind(const char *a, const char *b)
{
	size_t n = strcspn(a, ":");

	return n == strcspn(b, ":") && memcmp(a, b, n) == 0;
}

static void copy(const struct script *from, struct script *to)
{
	*to = *from;
	to->at = as_alloc((from->n + 1) * sizeof(*to->at));
	memcpy(to->at, from->at, from->n * sizeof(*to->at));
}

/* Leave out `n` actions from `first` on; false when it does not fail so any more. */
static bool without(struct script *best, size_t first, size_t n, const char *why)
{
	struct script trial;
	struct outcome o;

	copy(best, &trial);
	memmove(trial.at + first, trial.at + first + n, (trial.n - first - n) * sizeof(*trial.at));
	trial.n -= n;
	sim_run(&trial, false, false, &o);
	if (!o.failed || !same_kind(o.why, why)) {
		script_free(&trial);
		return false;
	}
	free(best->at);
	*best = trial;
	return true;
}

void script_shrink(const struct script *plan, const char *why, unsigned runs_max,
                   struct script *out)
{
	unsigned runs = 0;
	bool again = true;

	copy(plan, out);
	while (again && runs < runs_max) {
		again = false;
		for (size_t part = out->n / 2 > 0 ? out->n / 2 : 1; part > 0 && runs < runs_max; part /= 2)
			for (size_t at = 0; at + part <= out->n && runs < runs_max; runs++) {
				if (without(out, at, part, why))
					again = true;
				else
					at += part;
			}
	}
}
