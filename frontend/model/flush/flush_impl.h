/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the flush share.  Each flush_*() sends all entries of its table that changed;
 * false: the sink is full, and the next flush goes on where this one ended. */
#ifndef MUSTER_FRONTEND_MODEL_FLUSH_IMPL_H
#define MUSTER_FRONTEND_MODEL_FLUSH_IMPL_H

#include "frontend/model/base/state.h"

struct flush {
	struct model *m;
	const struct model_sink *sink;
};

/* Space for a body of so many bytes, its padding zeroed; NULL: the sink is full. */
char *flush_reserve(const struct flush *f, enum record_kind kind, size_t bytes);

/* One record; false: the sink is full. */
bool flush_record(const struct flush *f, enum record_kind kind, const void *body, size_t bytes);
bool flush_drop(const struct flush *f, enum record_kind kind, uint32_t id, uint32_t generation);

bool flush_nodes(const struct flush *f);
/* After the nodes, and before the pods that ask for them. */
bool flush_questions(const struct flush *f);
bool flush_devices(const struct flush *f);
bool flush_gangs(const struct flush *f);
bool flush_pods(const struct flush *f);
bool flush_facts(const struct flush *f);
/* What an earlier instance promised, once for each core, before EVENT_SYNCED. */
bool flush_promised(const struct flush *f);

#endif
