/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/memory.h"

#include <assert.h>
#include <errno.h>

static void text_pay(void *context, uint32_t payer, uint64_t bytes)
{
	memory_pay(context, payer, bytes);
}

static void text_pay_back(void *context, uint32_t payer, uint64_t bytes)
{
	memory_pay_back(context, payer, bytes);
}

void memory_start(struct model *m, uint64_t limit)
{
	m->memory_limit = limit;
	memory_lacks_anew(m);
	m->payer = (struct intern_payer){ ID_NONE, text_pay, text_pay_back, m };
	if (limit > 0)
		m->keys.payer = m->values.payer = m->images.payer = &m->payer;
}

void memory_pay(struct model *m, uint32_t namespace, uint64_t bytes)
{
	if (m->memory_limit == 0)
		return;
	m->memory_used += bytes;
	if (namespace != ID_NONE)
		share_charge(m, SHARE_MEMORY, namespace, bytes);
}

/* True if the smallest object of the namespace that lacks some would be admitted once it has
 * `bytes` less, though the last eighth is in use. */
static bool share_has_space(const struct model *m, uint32_t namespace, uint64_t bytes)
{
	const struct namespace_entry *e = namespace_at(m, namespace);
	const struct share_table t = share_table(m, SHARE_MEMORY);

	return e->lack_round == m->lack_round && e->memory_lack <= t.limit &&
	       t.used + e->memory_lack <= t.limit &&
	       e->used[SHARE_MEMORY] - bytes + e->memory_lack <= share_size(m, SHARE_MEMORY, e);
}

void memory_pay_back(struct model *m, uint32_t namespace, uint64_t bytes)
{
	if (m->memory_limit == 0)
		return;
	assert(m->memory_used >= bytes);
	m->memory_used -= bytes;
	if (namespace == ID_NONE)
		return;
	m->share_freed = m->share_freed || share_has_space(m, namespace, bytes);
	share_return(m, SHARE_MEMORY, namespace, bytes);
}

void memory_lack(struct model *m, uint32_t namespace, uint64_t bytes)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	m->counts.memory_hit++;
	if (bytes < m->memory_lack)
		m->memory_lack = bytes;
	if (e->lack_round != m->lack_round || bytes < e->memory_lack)
		e->memory_lack = bytes;
	e->lack_round = m->lack_round;
}

void memory_lacks_anew(struct model *m)
{
	m->memory_lack = UINT64_MAX;
	m->lack_round++;
	m->share_freed = false;
}

bool memory_has_space(const struct model *m)
{
	const struct share_table t = share_table(m, SHARE_MEMORY);
	const uint64_t reserve = t.limit / SHARE_RESERVE_PART;

	return m->share_freed ||
	       (m->memory_lack < t.limit && t.used + m->memory_lack + reserve <= t.limit);
}

/* Rounded, so that the number stands still while it is around seven eighths, where namespaces give
 * way and are read again. */
uint64_t memory_parts(const struct model *m)
{
	const uint64_t part = m->memory_limit / MEMORY_PARTS + 1;

	return m->memory_limit > 0 ? (m->memory_used + part / 2) / part : 0;
}

bool memory_is_short(const struct model *m)
{
	const struct share_table t = share_table(m, SHARE_MEMORY);

	return t.limit > 0 && t.used + t.limit / SHARE_RESERVE_PART > t.limit;
}

int memory_refuse(struct model *m, uint32_t namespace, const struct meta *meta,
                  struct decode_error *error)
{
	m->counts.limits_hit++;
	memory_lack(m, namespace, m->object_bytes);
	decode_error_set(error, meta, "", "%s", share_text(m, &m->arena, "--max-memory", namespace));
	return -ENOSPC;
}

bool memory_fits(const struct model *m)
{
	const struct share_table t = share_table(m, SHARE_MEMORY);

	return t.limit == 0 || t.used + m->object_bytes <= t.limit;
}
