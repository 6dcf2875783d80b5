/* SPDX-License-Identifier: Apache-2.0 */
/* What an attempt begins with: kinds by size, nodes that take a piece, and which kinds may stand in
 * for which. */
#include "core/pack/pack_impl.h"

#include "ipc/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FILLINGS_BYTES ((size_t)64 << 20)
#define FILLINGS_FIRST 1024u /* allocated at once */

void pack_weigh(const struct pack_search *s, double *weights)
{
	const struct pack_problem *p = s->p;

	for (uint32_t r = 0; r < p->resources; r++) {
		double room = 0, need = 0;

		for (uint32_t i = 0; i < s->nodes; i++)
			room += (double)s->reach[(size_t)s->order[i] * p->resources + r];
		for (uint32_t k = 0; k < p->kinds; k++)
			need += (double)p->takes[(size_t)k * p->resources + r] * p->n[k];
		weights[r] = room > 0 && need > 0 ? need / room / room * s->nodes : 0;
	}
}

static int bigger_first(const void *a, const void *b, void *context)
{
	const double *sizes = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sizes[x] != sizes[y])
		return sizes[x] > sizes[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int more_first(const void *a, const void *b, void *context)
{
	const int64_t *amounts = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (amounts[x] != amounts[y])
		return amounts[x] > amounts[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* One of kind b may stand wherever one of kind a stands, and takes no more: they can change places.
 * Of two that are the same only the later one is replaced. */
static bool may_replace(const struct pack_search *s, uint32_t a, uint32_t b)
{
	const struct pack_problem *p = s->p;

	if (p->omit > 0 && p->role[s->sorted[a]] != p->role[s->sorted[b]])
		return false;
	for (uint32_t r = 0; r < p->resources; r++)
		if (pack_takes(s, b)[r] > pack_takes(s, a)[r])
			return false;
	for (uint32_t i = 0; i < p->nodes; i++) {
		const uint32_t *most = &s->most[(size_t)i * p->kinds];

		if (most[a] > 0 && most[b] < p->n[s->sorted[b]])
			return false;
	}
	return true;
}

static void smaller_find(struct pack_search *s)
{
	const uint32_t kinds = s->p->kinds;

	for (uint32_t a = 0; a < kinds; a++) {
		s->smaller[a] = 0;
		for (uint32_t b = a + 1; b < kinds; b++)
			s->smaller[a] |= (uint64_t)may_replace(s, a, b) << b;
	}
	pack_spend(s, (uint64_t)kinds * kinds * (s->p->resources + s->p->nodes / 4));
}

static void kinds_sort(struct pack_search *s)
{
	const struct pack_problem *p = s->p;
	double weights[PACK_RESOURCES], sizes[PACK_KINDS] = { 0 };
	int64_t amounts[PACK_KINDS];

	pack_weigh(s, weights);
	for (uint32_t k = 0; k < p->kinds; k++) {
		s->sorted[k] = k;
		for (uint32_t r = 0; r < p->resources; r++)
			sizes[k] += (double)p->takes[(size_t)k * p->resources + r] * weights[r];
	}
	qsort_r(s->sorted, p->kinds, sizeof(*s->sorted), bigger_first, sizes);
	for (uint32_t k = 0; k < p->kinds; k++) {
		s->size[k] = sizes[s->sorted[k]];
		s->left[k] = p->n[s->sorted[k]];
		s->left_n += s->left[k];
		memcpy(&s->takes[(size_t)k * p->resources], &p->takes[(size_t)s->sorted[k] * p->resources],
		       p->resources * sizeof(*s->takes));
	}
	for (uint32_t r = 0; r < p->resources; r++) {
		uint32_t *by_amount = &s->by_amount[(size_t)r * p->kinds];

		for (uint32_t k = 0; k < p->kinds; k++) {
			by_amount[k] = k;
			amounts[k] = pack_takes(s, k)[r];
		}
		qsort_r(by_amount, p->kinds, sizeof(*by_amount), more_first, amounts);
	}
}

/* How many of the kind the node takes by its room alone. */
static uint64_t room_for(const struct pack_search *s, uint32_t node, uint32_t kind)
{
	const int64_t *takes = pack_takes(s, kind);
	const int64_t *room = &s->p->room[(size_t)node * s->p->resources];
	uint64_t n = s->left[kind];

	for (uint32_t r = 0; r < s->p->resources; r++) {
		const uint64_t here = room[r] > 0 && takes[r] > 0 ? (uint64_t)(room[r] / takes[r]) : 0;

		n = takes[r] > 0 && here < n ? here : n;
	}
	return n;
}

/* A limit that is of the room alone is none: limits are by node and by kind. */
static bool node_look(struct pack_search *s, uint32_t node)
{
	const struct pack_problem *p = s->p;
	bool any = false;

	for (uint32_t k = 0; k < p->kinds; k++) {
		uint32_t most = p->most[(size_t)node * p->kinds + s->sorted[k]];
		const uint64_t room = room_for(s, node, k);

		most = room == 0 ? 0 : most >= room ? s->left[k] : most;
		s->most[(size_t)node * p->kinds + k] = most;
		any = any || most > 0;
	}
	return any;
}

static void nodes_look(struct pack_search *s)
{
	const struct pack_problem *p = s->p;

	s->nodes = p->nodes;
	for (size_t i = 0; i < (size_t)p->nodes * p->resources; i++)
		s->reach[i] = p->room[i] > 0 ? p->room[i] : 0;
	for (uint32_t i = 0; i < p->nodes; i++)
		s->order[i] = i;
	kinds_sort(s);
	s->nodes = 0;
	for (uint32_t i = 0; i < p->nodes; i++) {
		if (!node_look(s, i))
			continue;
		s->order[s->nodes++] = i;
		pack_reach(s, i);
	}
}

static bool within_limits(const struct pack_problem *p)
{
	if (p->kinds == 0 || p->kinds > PACK_KINDS || p->resources > PACK_RESOURCES ||
	    p->roles > PACK_ROLES || (uint64_t)p->nodes * (p->kinds + p->resources) > PACK_CELLS)
		return false;
	for (uint32_t k = 0; k < p->kinds; k++)
		if (p->n[k] > PACK_PIECES || p->n[k] == 0)
			return false;
	return true;
}

bool pack_begin(struct pack_search *s)
{
	const struct pack_problem *p = s->p;
	const size_t amounts = (size_t)p->kinds * p->resources + 1;

	if (!within_limits(p))
		return false;
	for (uint32_t k = 0; k < p->kinds; k++)
		assert(p->role[k] < p->roles);
	s->takes = must_array(amounts, sizeof(*s->takes));
	s->by_amount = must_array(amounts, sizeof(*s->by_amount));
	s->order = must_array(p->nodes + 1, sizeof(*s->order));
	s->most = must_array((size_t)p->nodes * p->kinds + 1, sizeof(*s->most));
	s->reach = must_array((size_t)p->nodes * p->resources + 1, sizeof(*s->reach));
	s->reach_sum = must_array((p->nodes + 1ul) * p->resources + 1, sizeof(*s->reach_sum));
	s->bigs = must_array((p->nodes + 1ul) * p->kinds, sizeof(*s->bigs));
	s->frames = must_array(p->nodes + 1, sizeof(*s->frames));
	s->filling_bytes = sizeof(struct pack_filling) + (p->kinds * sizeof(uint16_t) + 7) / 8 * 8;
	s->fillings_limit = FILLINGS_BYTES / s->filling_bytes;
	s->fillings = must_reach(NULL, &s->fillings_n, 0, FILLINGS_FIRST, s->filling_bytes);
	pack_dead_init(s);
	nodes_look(s);
	smaller_find(s);
	return true;
}

void pack_end(struct pack_search *s)
{
	free(s->takes);
	free(s->by_amount);
	free(s->order);
	free(s->most);
	free(s->reach);
	free(s->reach_sum);
	free(s->bigs);
	free(s->frames);
	free(s->fillings);
	free(s->dead);
}
