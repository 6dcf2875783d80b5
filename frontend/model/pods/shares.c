/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/shares.h"

#include "frontend/model/base/limits.h"

#include <assert.h>

#define NODE_MEMORY_BYTES 2048u /* of the record and the names of a usual one */

struct share_table share_table(const struct model *m, enum share_of of)
{
	switch (of) {
	case SHARE_PODS:
		return (struct share_table){ "--max-pods", m->limits.pods, m->pods.pool.used };
	case SHARE_GANGS:
		return (struct share_table){ "--max-gangs", m->limits.gangs, m->gangs.pool.used };
	case SHARE_SHAPES:
		return (struct share_table){ "--max-shapes", m->limits.shapes, m->shapes.pool.used };
	case SHARE_TERMS:
		return (struct share_table){ TERMS_LIMIT, terms_limit(&m->limits), m->terms };
	case SHARE_MEMORY:
		return (struct share_table){ "--max-memory", m->memory_limit,
			                         m->memory_used +
			                             (uint64_t)m->nodes.pool.used * NODE_MEMORY_BYTES };
	default:
		return (struct share_table){ "--max-name-bytes", m->limits.name_bytes,
			                         model_names_used(m) };
	}
}

uint64_t share_charged(const struct namespace_entry *e)
{
	uint64_t sum = 0;

	for (int i = 0; i < SHARES; i++)
		sum += e->used[i];
	return sum;
}

void share_charge(struct model *m, enum share_of of, uint32_t namespace, uint64_t n)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	m->tenants += share_charged(e) == 0 && n > 0;
	m->shared = m->shared || m->tenants > 1;
	e->used[of] += n;
}

void share_return(struct model *m, enum share_of of, uint32_t namespace, uint64_t n)
{
	struct namespace_entry *e = namespace_at(m, namespace);

	assert(e->used[of] >= n);
	e->used[of] -= n;
	m->tenants -= share_charged(e) == 0 && n > 0;
	namespace_release_if_unused(m, namespace);
}

uint64_t share_size(const struct model *m, enum share_of of, const struct namespace_entry *e)
{
	uint64_t n = m->tenants + (share_charged(e) == 0 || m->newcomer),
			 limit = share_table(m, of).limit;

	if (n == 1)
		return m->shared ? limit - limit / SHARE_RESERVE_PART : limit;
	return limit / n > 0 ? limit / n : 1;
}

bool share_admits(struct model *m, enum share_of of, uint32_t namespace, uint64_t n)
{
	const struct namespace_entry *e = namespace_at(m, namespace);
	const struct share_table t = share_table(m, of);
	const uint64_t reserve = t.limit / SHARE_RESERVE_PART;

	if (t.used + n + reserve <= t.limit)
		return true;
	m->shares_due = true;
	m->newcomer = m->newcomer || share_charged(e) == 0;
	if (of == SHARE_MEMORY && t.used + n > t.limit)
		return false; /* of the others the store knows */
	return e->used[of] + n <= share_size(m, of, e);
}

static const char *memory_text(struct model *m, struct arena *arena,
                               const struct namespace_entry *e)
{
	return arena_printf(
		arena,
		"the limit --max-memory is reached: objects of namespace %s take %llu of %llu "
		"KiB, its share is %llu KiB",
		intern_text(&m->values, e->name), (unsigned long long)e->used[SHARE_MEMORY] >> 10,
		(unsigned long long)m->memory_limit >> 10,
		(unsigned long long)share_size(m, SHARE_MEMORY, e) >> 10);
}

const char *share_text(struct model *m, struct arena *arena, const char *flag, uint32_t namespace)
{
	const struct namespace_entry *e = namespace_at(m, namespace);

	if (strcmp(flag, "--max-memory") == 0)
		return memory_text(m, arena, e);
	for (int i = 0; i < SHARES; i++) {
		const struct share_table t = share_table(m, (enum share_of)i);

		if (strcmp(flag, t.flag) == 0 && e->used[i] > 0)
			return arena_printf(arena,
			                    "the limit %s is reached: namespace %s has %llu of %llu, its share "
			                    "is %llu",
			                    flag, intern_text(&m->values, e->name),
			                    (unsigned long long)e->used[i], (unsigned long long)t.limit,
			                    (unsigned long long)share_size(m, (enum share_of)i, e));
	}
	return arena_printf(arena, "the limit %s is reached", flag);
}
