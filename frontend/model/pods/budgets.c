/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/budgets.h"

#include "frontend/decode/eviction.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/pods/memory.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/base/objects.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of one record.  A selector with more matches every pod of the namespace and allows nothing; of
 * the names as many as fit are sent: the others' disruptions count twice. */
#define NAMES_BYTES_MAX 8192u
#define RULES_BYTES_MAX 2048u
/* Of all: what is above it is treated as too large, too.  A tenant may create as many as its quota
 * of objects lets it. */
#define BYTES_MAX (16u << 20)

void budget_free(struct budget_entry *e)
{
	free(e->rules);
	free(e->names);
}

static uint32_t budget_enter(struct model *m, const struct meta *meta)
{
	bool is_new;

	return named_enter(m, &m->budgets, 0, meta->namespace, meta->name, &is_new);
}

void budget_release_if_unused(struct model *m, uint32_t budget)
{
	const struct budget_entry *e = budget_at(m, budget);

	assert(e->entry.slot.live);
	if (e->entry.stamp || e->entry.slot.sent != 0)
		return;
	assert(!e->rules && !e->names);
	named_remove(m, &m->budgets, budget);
}

static size_t rules_bytes(const struct label_rules *r)
{
	return r ? r->n * sizeof(r->at[0]) + PADDED(r->values_n * sizeof(uint32_t)) : 0;
}

size_t budget_held_bytes(const struct budget_entry *e)
{
	return rules_bytes(e->rules) + (e->names ? strlen(e->names) + 1 : 0);
}

/* The names in one text; NULL: none. */
static char *names_make(const struct pairs *disrupted)
{
	size_t bytes = 0, n = 0;
	char *text;

	while (n < disrupted->n && bytes + disrupted->at[n].key.bytes + 1 <= NAMES_BYTES_MAX)
		bytes += disrupted->at[n++].key.bytes + 1;
	if (n == 0)
		return NULL;
	text = must_grow(NULL, bytes);
	bytes = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(text + bytes, disrupted->at[i].key.at, disrupted->at[i].key.bytes);
		bytes += disrupted->at[i].key.bytes;
		text[bytes++] = i + 1 < n ? '/' : '\0';
	}
	return text;
}

static void rules_drop(struct model *m, struct budget_entry *e)
{
	rules_free(m, e->rules);
	e->rules = NULL;
}

/* Replaces what it holds.  Not admitted: without the selector, as of one that is too large. */
static void content_set(struct model *m, struct budget_entry *e, const struct budget_object *o,
                        bool admitted)
{
	const size_t rules_n = o ? o->selector.rules.n : 0;

	m->budget_bytes -= budget_held_bytes(e);
	rules_drop(m, e);
	free(e->names);
	memory_payer(m, e->key.namespace);
	e->rules = o && admitted ? rules_make(m, o->selector.rules.rules, rules_n) : NULL;
	memory_payer(m, ID_NONE);
	e->names = o ? names_make(&o->disrupted) : NULL;
	e->matches_none = o && !o->selector.is_given;
	if (rules_bytes(e->rules) > RULES_BYTES_MAX ||
	    m->budget_bytes + rules_bytes(e->rules) > BYTES_MAX)
		rules_drop(m, e);
	if (m->budget_bytes + budget_held_bytes(e) > BYTES_MAX) {
		free(e->names);
		e->names = NULL;
	}
	m->budget_bytes += budget_held_bytes(e);
	e->allowed = o && (rules_n == 0 || e->rules) ? o->allowed : 0;
}

void budget_forget_object(struct model *m, uint32_t budget)
{
	struct budget_entry *e = budget_at(m, budget);

	if (!e->entry.stamp)
		return;
	stamp_clear(&e->entry);
	content_set(m, e, NULL, true);
	store_mark_dirty(&m->budgets, budget);
}

void budget_withdraw(struct model *m, uint32_t budget)
{
	struct budget_entry *e = budget_at(m, budget);

	m->budget_bytes -= budget_held_bytes(e);
	rules_drop(m, e);
	m->budget_bytes += budget_held_bytes(e);
	e->allowed = 0;
	e->entry.retry = true;
	store_mark_dirty(&m->budgets, budget);
	model_note_lack_of(m, ROLE_BUDGETS, 0);
}

int budget_put(struct model *m, int resource, const char *json, size_t bytes,
               struct decode_error *error)
{
	struct budget_object object;
	struct budget_entry *e;
	uint32_t budget;
	bool admitted;

	if (extract_budget(json, bytes, &m->arena, &object, error) < 0 ||
	    !model_names_valid(&object.meta, error)) {
		m->counts.objects_bad++;
		return -EINVAL;
	}
	budget = budget_enter(m, &object.meta);
	e = budget_at(m, budget);
	if (!e->entry.stamp && (budget >= BUDGETS_MAX || !referred_fits(m, &m->budgets))) {
		budget_release_if_unused(m, budget);
		m->preemption_due = m->preemption_due || !m->budgets_left_out;
		m->budgets_left_out = true;
		return referred_refuse(m, &object.meta, error);
	}
	if (object_is_known(m, resource, &e->entry, &object.meta))
		return 0;
	stamp_set(&e->entry.stamp, &object.meta);
	m->object_bytes = bytes;
	admitted = memory_admits(m, e->key.namespace);
	e->entry.retry = !admitted;
	content_set(m, e, &object, admitted);
	store_mark_dirty(&m->budgets, budget);
	return admitted ? 0 : memory_refuse(m, e->key.namespace, &object.meta, error);
}

void budget_remove(struct model *m, const struct meta *meta)
{
	const uint32_t budget = budget_enter(m, meta);
	const struct entry *e = &budget_at(m, budget)->entry;

	if (!e->stamp)
		budget_release_if_unused(m, budget);
	else if (!stamp_is_successor(m, e->stamp, meta))
		budget_forget_object(m, budget);
}

size_t budget_bytes(const struct budget_entry *e)
{
	return sizeof(struct event_budget) + rules_bytes(e->rules) + (e->names ? strlen(e->names) : 0);
}

void budget_write(const struct model *m, uint32_t budget, char *at)
{
	const struct budget_entry *b = budget_at(m, budget);
	const struct label_rules *r = b->rules;
	const struct event_budget e = {
		.budget = budget,
		.flags = !b->entry.stamp || b->matches_none ? BUDGET_GONE : 0,
		.namespace = namespace_at(m, b->key.namespace)->name,
		.allowed = b->allowed,
		.clauses_n = r ? r->n : 0,
		.values_n = r ? r->values_n : 0,
		.names_bytes = b->names ? (uint32_t)strlen(b->names) : 0,
	};

	memcpy(at, &e, sizeof(e));
	at += sizeof(e);
	if (r) {
		memcpy(at, r->at, r->n * sizeof(r->at[0]));
		at += r->n * sizeof(r->at[0]);
		memset(at, 0, PADDED(r->values_n * sizeof(uint32_t)));
		if (r->values_n > 0)
			memcpy(at, r->values, r->values_n * sizeof(uint32_t));
		at += PADDED(r->values_n * sizeof(uint32_t));
	}
	if (b->names)
		memcpy(at, b->names, strlen(b->names));
}
