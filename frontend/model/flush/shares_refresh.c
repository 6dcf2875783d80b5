/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/flush/shares_refresh.h"

#include "frontend/model/groups/declared_spec.h"
#include "frontend/model/groups/gangs.h"
#include "frontend/model/put/group_objects.h"
#include "frontend/model/groups/group_pods.h"
#include "frontend/model/base/labels.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/groups/members.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/pods/budgets.h"
#include "frontend/model/pods/owners.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/pods/policies.h"
#include "frontend/model/shapes/shapes.h"
#include "frontend/model/pods/memory.h"
#include "frontend/volume/volume.h"
#include "ipc/memory.h"

#include <stdlib.h>

#define DONORS_MOST 16u /* namespaces that give way in one refresh */

/* The pod has no shape until it is put again. */
static void pod_withdraw_shape(struct model *m, uint32_t pod, const char *flag)
{
	struct pod_entry *p = pod_at(m, pod);
	const char *text = share_text(m, &m->scratch, flag, p->namespace);

	pod_unshape(m, pod);
	shape_hold(m, m->shape_empty);
	shape_give(m, p->shape);
	p->shape = m->shape_empty;
	pod_refuse_until_put(m, pod, text);
}

static void pod_withdraw_gang(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	const char *text = share_text(m, &m->scratch, "--max-gangs", p->namespace);
	uint32_t declared = p->declared_spec;

	gang_phase_uncount(m, p);
	gang_place(m, pod, ID_NONE, 0, ID_NONE);
	if (declared != ID_NONE)
		declared_spec_give(m, declared);
	if (p->role != ID_NONE)
		intern_give(&m->values, p->role);
	p->role = ID_NONE;
	pod_refuse_until_put(m, pod, text);
}

/* Shapes that some pod keeps: `busy` by shape. */
static void find_busy(const struct model *m, uint32_t namespace, bool *busy)
{
	STORE_EACH(&m->pods, i)
	{
		const struct pod_entry *p = pod_at(m, i);

		if (p->namespace != namespace || !pod_gives_way(m, p))
			busy[p->shape] = true;
	}
}

/* Until so many units of `of` are free, which are shapes or their terms. */
static uint64_t withdraw_shapes(struct model *m, enum share_of of, uint32_t namespace, uint64_t n)
{
	const char *flag = share_table(m, of).flag;
	const uint32_t shapes_n = m->shapes.pool.n;
	bool *busy = must_array(shapes_n, sizeof(*busy)), *gone = must_array(shapes_n, sizeof(*gone));
	uint64_t freed = 0;

	find_busy(m, namespace, busy);
	for (uint32_t i = shapes_n; i-- > 0 && freed < n;) {
		const struct shape_entry *s = shape_at(m, i);

		gone[i] = s->entry.slot.live && s->entry.refs > 0 && s->namespace == namespace &&
		          !busy[i] && (of == SHARE_SHAPES || s->terms > 0);
		if (gone[i])
			freed += of == SHARE_SHAPES ? 1 : s->terms;
	}
	arena_reset(&m->scratch);
	STORE_EACH(&m->pods, i)
	if (gone[pod_at(m, i)->shape])
		pod_withdraw_shape(m, i, flag);
	free(busy);
	free(gone);
	return freed;
}

static bool gang_gives_way(const struct model *m, uint32_t gang)
{
	const struct gang_entry *g = gang_at(m, gang);

	if (g->bound > 0 || g->entry.slot.list == STORE_DEAD)
		return false;
	for (uint32_t p = g->members_first; p != SLOT_NONE; p = pod_at(m, p)->gang_link.next)
		if (!pod_gives_way(m, pod_at(m, p)))
			return false;
	return true;
}

static void withdraw_gang(struct model *m, uint32_t gang)
{
	uint32_t next, p = gang_at(m, gang)->members_first;

	arena_reset(&m->scratch);
	gang_forget_objects(m, gang);
	for (; p != SLOT_NONE; p = next) {
		next = pod_at(m, p)->gang_link.next;
		pod_withdraw_gang(m, p);
	}
}

/* Until so many units of `of` are free, which are gangs or bytes of their names. */
static uint64_t withdraw_gangs(struct model *m, enum share_of of, uint32_t namespace, uint64_t n)
{
	uint64_t freed = 0;

	for (uint32_t i = m->gangs.pool.n; i-- > 0 && freed < n;) {
		const struct gang_entry *g = gang_at(m, i);

		if (!g->entry.slot.live || g->namespace != namespace || !gang_gives_way(m, i))
			continue;
		freed += of == SHARE_GANGS ? 1 : name_bytes_of(strlen(g->name));
		withdraw_gang(m, i);
	}
	return freed;
}

/* There is no entry left to have a reason. */
static uint64_t withdraw_pods(struct model *m, uint32_t namespace, uint64_t n)
{
	uint64_t freed = 0;

	for (uint32_t i = m->pods.pool.n; i-- > 0 && freed < n;) {
		const struct pod_entry *p = pod_at(m, i);

		if (!p->entry.slot.live || p->namespace != namespace || !pod_gives_way(m, p))
			continue;
		pod_forget(m, i);
		m->counts.limits_hit++;
		model_note_lack(m, RESOURCE_INDEX_PODS);
		freed++;
	}
	return freed;
}

#define DETAIL_LEAST 256u /* bytes: less is shared with others, or not worth a list */

/* Bytes of its volumes that go with its details. */
static size_t volumes_given(const struct model *m, uint32_t pod)
{
	const struct pod_entry *p = pod_at(m, pod);
	const size_t bytes = p->has_volumes ? volumes_pod_bytes(m->volumes, pod) : 0;

	return p->node == ID_NONE || bytes > POD_BARE_VOLUMES ? bytes : 0;
}

/* What the pod's labels and rules take, divided by those that share them. */
static uint64_t detail_bytes(const struct model *m, uint32_t pod)
{
	const struct pod_entry *p = pod_at(m, pod);
	uint64_t bytes = volumes_given(m, pod);

	if (p->shape != m->shape_empty)
		bytes += shape_part_bytes(m, p->shape);
	for (uint32_t i = 0; i < p->labels_n; i++)
		bytes += sizeof(*p->labels) + intern_part_bytes(&m->keys, p->labels[i].key) +
		         intern_part_bytes(&m->values, p->labels[i].value);
	return bytes;
}

/* A bound pod counts by its requests from now on, until it is put again. */
static void pod_strip(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	const struct shape_payer payer = { p->namespace, true, false };
	struct shape_trouble trouble;
	uint32_t shape;

	if (shape_strip(m, p->shape, &payer, &shape, &trouble) == 0) {
		shape_give(m, p->shape);
		p->shape = shape;
	}
	p->entry.retry = true;
	store_mark_dirty(&m->pods, pod);
	model_note_lack(m, RESOURCE_INDEX_PODS);
}

static void withdraw_detail(struct model *m, uint32_t pod)
{
	struct pod_entry *p = pod_at(m, pod);
	const size_t volumes = volumes_given(m, pod);
	const size_t bytes = p->labels_n * sizeof(*p->labels) + volumes;

	if (volumes > 0)
		pod_set_storage(m, pod, NULL);
	arena_reset(&m->scratch);
	if (p->node != ID_NONE)
		pod_strip(m, pod);
	else
		pod_withdraw_shape(m, pod, "--max-memory");
	pod_labels_give(m, p->labels, p->labels_n);
	p->bytes -= (uint32_t)bytes;
	memory_pay_back(m, p->namespace, bytes);
	p->labels = NULL;
	p->labels_n = 0;
	p->bare = true;
}

/* Whose details go, in this order. */
enum stage { STAGE_WAITING, STAGE_BOUND, STAGE_MEMBERS };

static bool is_of_stage(const struct model *m, const struct pod_entry *p, enum stage stage)
{
	if (stage == STAGE_MEMBERS) /* of a gang that is partially bound; else it would keep all */
		return p->node == ID_NONE && p->binding == ID_NONE;
	return stage == STAGE_BOUND ? p->node != ID_NONE : pod_gives_way(m, p);
}

static uint64_t withdraw_details(struct model *m, uint32_t namespace, enum stage stage, uint64_t n)
{
	uint64_t freed = 0, bytes;

	for (uint32_t i = m->pods.pool.n; i-- > 0 && freed < n;) {
		const struct pod_entry *p = pod_at(m, i);

		if (!p->entry.slot.live || p->namespace != namespace || p->bare ||
		    !is_of_stage(m, p, stage))
			continue;
		bytes = detail_bytes(m, i);
		if (bytes < DETAIL_LEAST)
			continue;
		m->counts.limits_hit += p->node != ID_NONE; /* else it is refused, and counted */
		withdraw_detail(m, i);
		memory_lack(m, namespace, bytes);
		freed += bytes;
	}
	return freed;
}

static void selector_lacks(struct model *m, uint32_t namespace, uint64_t bytes)
{
	m->counts.limits_hit++;
	memory_lack(m, namespace, bytes);
}

/* What services and controllers select by, then policies, then budgets, which protect pods. */
static uint64_t withdraw_selectors(struct model *m, uint32_t namespace, uint64_t n)
{
	uint64_t freed = 0, bytes;

	STORE_EACH(&m->owners, i)
	{
		if (freed >= n || owner_at(m, i)->key.namespace != namespace)
			continue;
		bytes = rules_part_bytes(m, owner_at(m, i)->rules);
		if (bytes < DETAIL_LEAST)
			continue;
		owner_withdraw(m, i);
		selector_lacks(m, namespace, bytes);
		freed += bytes;
	}
	STORE_EACH(&m->policies, i)
	{
		if (freed >= n || policy_at(m, i)->key.namespace != namespace)
			continue;
		bytes = policy_part_bytes(m, i);
		if (bytes < DETAIL_LEAST)
			continue;
		arena_reset(&m->arena);
		policy_withdraw(m, i, share_text(m, &m->arena, "--max-memory", namespace));
		selector_lacks(m, namespace, bytes);
		freed += bytes;
	}
	STORE_EACH(&m->budgets, i)
	{
		if (freed >= n || budget_at(m, i)->key.namespace != namespace)
			continue;
		bytes = rules_part_bytes(m, budget_at(m, i)->rules);
		if (bytes < DETAIL_LEAST)
			continue;
		budget_withdraw(m, i);
		selector_lacks(m, namespace, bytes);
		freed += bytes;
	}
	return freed;
}

static uint64_t withdraw_memory(struct model *m, uint32_t namespace, uint64_t n)
{
	uint64_t freed = withdraw_details(m, namespace, STAGE_WAITING, n);

	if (freed < n)
		freed += withdraw_details(m, namespace, STAGE_BOUND, n - freed);
	if (freed < n)
		freed += withdraw_selectors(m, namespace, n - freed);
	if (freed < n)
		freed += withdraw_details(m, namespace, STAGE_MEMBERS, n - freed);
	m->texts_due = m->texts_due || freed > 0;
	return freed;
}

static uint64_t withdraw(struct model *m, enum share_of of, uint32_t namespace, uint64_t n)
{
	if (of == SHARE_PODS)
		return withdraw_pods(m, namespace, n);
	if (of == SHARE_MEMORY)
		return withdraw_memory(m, namespace, n);
	if (of == SHARE_SHAPES || of == SHARE_TERMS)
		return withdraw_shapes(m, of, namespace, n);
	return withdraw_gangs(m, of, namespace, n);
}

/* The namespace that is the most above its share and was not chosen before; SLOT_NONE. */
static uint32_t find_donor(const struct model *m, enum share_of of, const bool *chosen,
                           uint64_t *excess)
{
	uint32_t donor = SLOT_NONE;

	*excess = 0;
	STORE_EACH(&m->namespaces, i)
	{
		const struct namespace_entry *e = namespace_at(m, i);
		uint64_t own = share_charged(e) > 0 ? share_size(m, of, e) : UINT64_MAX;

		if (chosen[i] || e->used[of] <= own || e->used[of] - own <= *excess)
			continue;
		*excess = e->used[of] - own;
		donor = i;
	}
	return donor;
}

#define REFRESHES_REST 64u /* after one in which nothing of the memory could give way */

#define MEMORY_SLACK_PART 64u /* what withdrawn details free is known about, not exactly */

/* True if some were withdrawn. */
static bool refresh_table(struct model *m, enum share_of of)
{
	const struct share_table t = share_table(m, of);
	uint64_t wanted = t.used + t.limit / SHARE_RESERVE_PART, excess, freed = 0;
	bool *chosen;

	if (wanted <= t.limit + (of == SHARE_MEMORY ? t.limit / MEMORY_SLACK_PART : 0))
		return false;
	wanted -= t.limit;
	chosen = must_array(m->namespaces.pool.n, sizeof(*chosen));
	for (uint32_t i = 0; i < DONORS_MOST && freed < wanted; i++) {
		uint32_t donor = find_donor(m, of, chosen, &excess);

		if (donor == SLOT_NONE)
			break;
		chosen[donor] = true;
		freed += withdraw(m, of, donor, wanted - freed < excess ? wanted - freed : excess);
	}
	free(chosen);
	if (of == SHARE_MEMORY && freed == 0)
		m->memory_rest = REFRESHES_REST;
	m->counts.withdrawn += freed > 0;
	return freed > 0;
}

/* True if it is due again.  Where nothing could give way each pod that is refused would cost a pass
 * over all pods: some refreshes go by before the next one. */
static bool refresh_memory(struct model *m)
{
	if (m->memory_limit == 0)
		return false;
	if (m->memory_rest == 0)
		return refresh_table(m, SHARE_MEMORY);
	m->memory_rest--;
	return true;
}

void shares_refresh(struct model *m)
{
	if (m->shares_due)
		shapes_idle_limit(m);
	if (m->shares_due && memory_is_short(m))
		shapes_idle_end(m);
	/* Entries whose drop is not sent yet still count as used. */
	if (!m->shares_due || (!m->shared && !m->newcomer) || m->shapes.dead.first != SLOT_NONE ||
	    m->gangs.dead.first != SLOT_NONE || m->texts_due)
		return;
	m->shares_due = false;
	for (int of = 0; of < SHARE_MEMORY && !m->shares_due; of++)
		m->shares_due = refresh_table(m, (enum share_of)of);
	m->shares_due = m->shares_due || refresh_memory(m);
	m->newcomer = false;
}
