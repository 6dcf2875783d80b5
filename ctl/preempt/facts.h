/* SPDX-License-Identifier: Apache-2.0 */
/* Input of a search for victims in addition to the core (core/search/search.h), read from the
 * objects of files: starts, budgets, modes of gangs, nominations, and which pods are excluded. */
#ifndef MUSTER_CTL_FACTS_H
#define MUSTER_CTL_FACTS_H

#include "core/search/search.h"
#include "ctl/offline/offline.h"

struct facts_policy {
	bool all;     /* victims of every scheduler name; else of the preemptor's */
	bool respect; /* no budget is exceeded */
	uint64_t steps_most;
};

struct facts;

/* For a started core.  Of the files nothing is kept, of `o` the ids.  NULL and `error`: file,
 * object, field and value. */
struct facts *facts_new(const struct offline *o, const struct files *files,
                        const struct facts_policy *policy, char *error, size_t error_bytes);
void facts_free(struct facts *f);

/* For a preemptor of that scheduler name; good until the next call. */
const struct search_facts *facts_for(struct facts *f, const char *scheduler);

#endif
