/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/base/columns.h"

#include "frontend/model/base/limits.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static bool is_held(const struct model *m, uint32_t column)
{
	return column < RESOURCE_EXTENDED || m->column_nodes[column] > 0;
}

static bool is_absent(uint32_t id)
{
	return id >= RESOURCES_MAX;
}

int column_take(struct model *m, struct text name, uint32_t *id, const char **flag)
{
	int rc = model_intern(m, &m->columns, name, id, flag);

	if (rc < 0)
		return rc;
	if (!is_held(m, *id)) {
		m->columns_due = true;
		m->columns_taken++;
	}
	m->column_nodes[*id]++;
	return 0;
}

void column_give(struct model *m, uint32_t id)
{
	assert(m->column_nodes[id] > 0);
	m->column_nodes[id]--;
	m->columns_due = m->columns_due || !is_held(m, id);
	intern_give(&m->columns, id);
}

uint32_t column_leave_out(struct model *m, struct text name)
{
	m->columns_due = m->columns_due || !intern_has(&m->left_out, name);
	return model_number(&m->left_out, name);
}

void column_give_left_out(struct model *m, uint32_t number)
{
	intern_give(&m->left_out, number);
	m->columns_due = m->columns_due || intern_refs(&m->left_out, number) == 0;
}

/* Names of taints keep half of what there is: a node with a taint that finds none is not used. */
static bool absent_fits(const struct model *m, struct text name)
{
	uint64_t bytes = m->taints.text_bytes + name_bytes_of(name.bytes);

	return intern_has(&m->taints, name) ||
	       (m->taints.pool.used < m->taints.pool.limit / 2 && bytes <= m->limits.name_bytes / 2);
}

static int absent_take(struct model *m, struct text name, uint32_t *id, const char **flag)
{
	int rc = model_intern(m, &m->taints, name, id, flag);

	*id += RESOURCES_MAX;
	return rc;
}

uint32_t resource_find(const struct model *m, struct text name)
{
	uint32_t number = intern_find(&m->columns, name);

	if (number != SLOT_NONE && is_held(m, number))
		return number;
	number = intern_find(&m->taints, name);
	return number != SLOT_NONE ? RESOURCES_MAX + number : ID_NONE;
}

int resource_take(struct model *m, struct text name, uint32_t *id, const char **flag)
{
	*id = resource_find(m, name);
	if (*id != ID_NONE) {
		resource_hold(m, *id);
		return 0;
	}
	*flag = "--max-names";
	return absent_fits(m, name) ? absent_take(m, name, id, flag) : -ENOSPC;
}

void resource_hold(struct model *m, uint32_t id)
{
	if (is_absent(id))
		intern_hold(&m->taints, id - RESOURCES_MAX);
	else
		intern_hold(&m->columns, id);
}

void resource_give(struct model *m, uint32_t id)
{
	if (is_absent(id))
		intern_give(&m->taints, id - RESOURCES_MAX);
	else
		intern_give(&m->columns, id);
}

const char *resource_text(const struct model *m, uint32_t id)
{
	return is_absent(id) ? intern_text(&m->taints, id - RESOURCES_MAX)
	                     : intern_text(&m->columns, id);
}

const char *amounts_left_out(const struct model *m, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *name = resource_text(m, amounts[i].resource);
		uint32_t number =
			is_absent(amounts[i].resource) ? intern_find(&m->left_out, text_of(name)) : SLOT_NONE;

		if (number != SLOT_NONE && intern_refs(&m->left_out, number) > 0)
			return name;
	}
	return NULL;
}

static bool is_stale(const struct model *m, uint32_t id)
{
	uint32_t column;

	if (!is_absent(id))
		return !is_held(m, id);
	column = intern_find(&m->columns, text_of(resource_text(m, id)));
	return column != SLOT_NONE && is_held(m, column);
}

bool amounts_stale(const struct model *m, const struct amount *amounts, uint32_t n)
{
	bool stale = false;

	for (uint32_t i = 0; i < n && !stale; i++)
		stale = is_stale(m, amounts[i].resource);
	return stale;
}

int amount_order(const void *a, const void *b)
{
	const struct amount *x = a, *y = b;

	return x->resource < y->resource ? -1 : x->resource > y->resource;
}

void amounts_refresh(struct model *m, struct amount *amounts, uint32_t n)
{
	const char *flag;
	uint32_t id;

	for (uint32_t i = 0; i < n; i++) {
		const struct text name = text_of(resource_text(m, amounts[i].resource));

		if (!is_stale(m, amounts[i].resource))
			continue;
		id = resource_find(m, name);
		if (id != ID_NONE)
			resource_hold(m, id);
		else if (absent_take(m, name, &id, &flag) < 0)
			continue;
		resource_give(m, amounts[i].resource);
		amounts[i].resource = id;
	}
	if (n > 0)
		qsort(amounts, n, sizeof(*amounts), amount_order);
}

void amounts_to_wire(const struct model *m, struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		amounts[i].resource = resource_on_wire(m, amounts[i].resource);
}
