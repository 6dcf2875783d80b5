/* SPDX-License-Identifier: Apache-2.0 */
/* Packings: random small problems against every placement there is, and large ones at the edge. */
#include "core/pack/pack.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

TestSuite(pack);

enum { PROBLEMS = 1000, NODES = 4, KINDS = 4, RESOURCES = 2, ROLES = 2 };

struct small {
	int64_t takes[KINDS * RESOURCES], room[NODES * RESOURCES];
	uint32_t n[KINDS], role[KINDS], most[NODES * KINDS], omits[ROLES];
	struct pack_problem p;
};

static void small_make(struct small *s, struct random *r)
{
	const uint32_t nodes = 1 + random_below(r, NODES), kinds = 1 + random_below(r, KINDS);
	const uint32_t resources = 1 + random_below(r, RESOURCES), size = 4 + random_below(r, 12);
	const bool free = random_below(r, 2) == 0;

	*s = (struct small){ .p = { .nodes = nodes, .kinds = kinds, .resources = resources } };
	for (uint32_t i = 0; i < kinds * resources; i++)
		s->takes[i] = random_below(r, 8) == 0 ? 0 : 1 + random_below(r, size / 2);
	for (uint32_t i = 0; i < nodes * resources; i++)
		s->room[i] = (int64_t)random_below(r, size + 1) - (random_below(r, 8) == 0 ? 3 : 0);
	for (uint32_t k = 0; k < kinds; k++) {
		s->n[k] = 1 + random_below(r, 3);
		s->role[k] = random_below(r, ROLES);
		for (uint32_t i = 0; i < nodes; i++)
			s->most[i * kinds + k] = free || random_below(r, 3) ? 9 : random_below(r, 3);
	}
	for (uint32_t i = 0; i < ROLES; i++)
		s->omits[i] = random_below(r, 3);
	s->p.omit = random_below(r, 3) == 0 ? 1 + random_below(r, 3) : 0;
	s->p.roles = ROLES;
	s->p.takes = s->takes;
	s->p.room = s->room;
	s->p.n = s->n;
	s->p.role = s->role;
	s->p.most = s->most;
	s->p.omits = s->omits;
}

/* Piece by piece; pieces of a kind go to nodes in rising order, those left out come last. */
static bool brute(struct small *s, uint32_t kind, uint32_t piece, uint32_t from)
{
	const struct pack_problem *p = &s->p;

	if (kind == p->kinds)
		return true;
	if (piece == s->n[kind])
		return brute(s, kind + 1, 0, 0);
	for (uint32_t i = from; i < p->nodes; i++) {
		const int64_t *takes = &s->takes[kind * p->resources];
		int64_t *room = &s->room[i * p->resources];
		bool fits = s->most[i * p->kinds + kind] > 0, found;

		for (uint32_t r = 0; r < p->resources; r++)
			fits = fits && (takes[r] == 0 || takes[r] <= room[r]);
		if (!fits)
			continue;
		s->most[i * p->kinds + kind]--;
		for (uint32_t r = 0; r < p->resources; r++)
			room[r] -= takes[r];
		found = brute(s, kind, piece + 1, i);
		s->most[i * p->kinds + kind]++;
		for (uint32_t r = 0; r < p->resources; r++)
			room[r] += takes[r];
		if (found)
			return true;
	}
	if (s->p.omit > 0 && s->omits[s->role[kind]] > 0) {
		bool found;

		s->p.omit--;
		s->omits[s->role[kind]]--;
		found = brute(s, kind, piece + 1, p->nodes);
		s->p.omit++;
		s->omits[s->role[kind]]++;
		return found;
	}
	return false;
}

/* True if the packing keeps every limit. */
static bool sound(const struct pack_problem *p, const uint16_t *placed)
{
	uint64_t left = 0, by_role[PACK_ROLES] = { 0 };

	for (uint32_t k = 0; k < p->kinds; k++) {
		uint64_t there = 0;

		for (uint32_t i = 0; i < p->nodes; i++) {
			if (placed[i * p->kinds + k] > p->most[i * p->kinds + k])
				return false;
			there += placed[i * p->kinds + k];
		}
		if (there > p->n[k])
			return false;
		left += p->n[k] - there;
		by_role[p->role[k]] += p->n[k] - there;
	}
	for (uint32_t i = 0; i < p->nodes * p->resources; i++) {
		const uint32_t node = i / p->resources, r = i % p->resources;
		int64_t used = 0;

		for (uint32_t k = 0; k < p->kinds; k++)
			used += placed[node * p->kinds + k] * p->takes[k * p->resources + r];
		if (used > 0 && used > p->room[i])
			return false;
	}
	for (uint32_t i = 0; i < p->roles; i++)
		if (left > 0 && by_role[i] > p->omits[i])
			return false;
	return left <= p->omit;
}

Test(pack, is_every_placement)
{
	struct random r = random_start("pack.brute");
	uint32_t placed_n = 0, impossible = 0, omitted = 0;

	for (uint32_t i = 0; i < PROBLEMS; i++) {
		uint16_t placed[NODES * KINDS];
		uint64_t steps = UINT64_C(100000000);
		struct small s;
		enum pack_answer answer;
		bool expected;

		small_make(&s, &r);
		expected = brute(&s, 0, 0, 0);
		answer = pack(&s.p, &steps, placed);
		cr_assert_eq(answer, expected ? PACK_PLACED : PACK_IMPOSSIBLE, "problem %u: %u", i, answer);
		cr_assert(!expected || sound(&s.p, placed), "problem %u: not a packing", i);
		placed_n += expected;
		impossible += !expected;
		omitted += expected && s.p.omit > 0;
	}
	fprintf(stderr, "%u placed (%u with pieces that may be left out), %u impossible\n", placed_n,
	        omitted, impossible);
	cr_assert(placed_n > PROBLEMS / 10 && impossible > PROBLEMS / 10 && omitted > PROBLEMS / 40);
}

/* Nodes with exactly the room of 3 or 4 pieces of 8 kinds, and `spare` per cent more. */
static enum pack_answer at_the_edge(uint32_t nodes, uint32_t spare, uint64_t *steps,
                                    struct random *r)
{
	uint32_t n[8] = { 0 }, role[8] = { 0 }, most[100 * 8], omits[1] = { 0 };
	int64_t takes[8], room[100];
	uint16_t placed[100 * 8];
	struct pack_problem p = { nodes, 8, 1, 1, takes, n, role, room, most, 0, omits };
	enum pack_answer answer;

	for (uint32_t k = 0; k < 8; k++) {
		takes[k] = 2000 + 1000 * k;
		n[k] = 1; /* one of each on the first nodes */
	}
	for (uint32_t i = 0; i < nodes; i++) {
		room[i] = i < 2 ? takes[4 * i] + takes[4 * i + 1] + takes[4 * i + 2] + takes[4 * i + 3] : 0;
		for (uint32_t piece = i < 2 ? 0 : 3 + random_below(r, 2); piece > 0; piece--) {
			const uint32_t k = random_below(r, 8);

			n[k]++;
			room[i] += takes[k];
		}
		room[i] += room[i] * spare / 100;
	}
	for (uint32_t i = 0; i < nodes * 8; i++)
		most[i] = UINT32_MAX;
	answer = pack(&p, steps, placed);
	cr_assert(answer != PACK_PLACED || sound(&p, placed));
	return answer;
}

Test(pack, is_found_at_the_edge)
{
	const uint32_t sizes[] = { 4, 6, 10, 20, 100 };
	struct random r = random_start("pack.edge");

	for (uint32_t i = 0; i < 5; i++)
		for (uint32_t spare = 0; spare < 2; spare++)
			for (uint32_t round = 0; round < 20; round++) {
				uint64_t steps = UINT64_C(100000000);

				cr_assert_eq(at_the_edge(sizes[i], spare, &steps, &r), PACK_PLACED,
				             "%u nodes, %u %% to spare, %u", sizes[i], spare, round);
				cr_assert(steps > 0 && steps < UINT64_C(100000000));
			}
}

Test(pack, gives_up_without_steps)
{
	struct random r = random_start("pack.steps");
	uint64_t steps = 200;

	cr_assert_eq(at_the_edge(100, 0, &steps, &r), PACK_GAVE_UP);
	cr_assert_eq(steps, 0);
}

/* Eight of more than half a node each on seven nodes: proved without a search. */
Test(pack, counts_of_big_pieces_prove)
{
	uint32_t n[8], role[8] = { 0 }, most[7 * 8], omits[1] = { 0 };
	int64_t takes[8], room[7];
	uint16_t placed[7 * 8];
	uint64_t steps = 100000;

	for (uint32_t k = 0; k < 8; k++) {
		n[k] = 1;
		takes[k] = 501 + k;
	}
	for (uint32_t i = 0; i < 7; i++)
		room[i] = 1500 - (i > 0) * 500;
	for (uint32_t i = 0; i < 7 * 8; i++)
		most[i] = 8;
	cr_assert_eq(pack(&(struct pack_problem){ 7, 8, 1, 1, takes, n, role, room, most, 0, omits },
	                  &steps, placed),
	             PACK_PLACED);
	room[0] = 1000;
	cr_assert_eq(pack(&(struct pack_problem){ 7, 8, 1, 1, takes, n, role, room, most, 0, omits },
	                  &steps, placed),
	             PACK_IMPOSSIBLE);
	cr_assert(steps > 50000);
}

/* Three kinds of 4 pieces, of which two may each stand on some nodes only: one order of the nodes
 * leaves the same pieces to the last node and to the last two. */
Test(pack, what_fits_on_no_node_that_is_left_may_fit_on_more)
{
	const uint32_t n[3] = { 1, 1, 2 }, role[3] = { 0 }, omits[1] = { 0 };
	const uint32_t most[4 * 3] = { 9, 0, 0, 9, 0, 1, 9, 9, 1, 9, 9, 0 };
	const int64_t takes[3] = { 4, 1, 4 }, room[4] = { 4, 4, 5, 4 };
	const struct pack_problem p = { 4, 3, 1, 1, takes, n, role, room, most, 0, omits };
	uint64_t steps = 100000;
	uint16_t placed[4 * 3];

	cr_assert_eq(pack(&p, &steps, placed), PACK_PLACED);
	cr_assert(sound(&p, placed));
}

/* The first node has more fillings than a first attempt tries, and the second is filled exactly. */
Test(pack, what_was_not_tried_is_not_impossible)
{
	const uint32_t n[10] = { 2, 1, 2, 1, 1, 2, 1, 2, 1, 1 }, role[10] = { 0 }, omits[1] = { 0 };
	const int64_t takes[10 * 2] = { 1777, 2408, 6987, 8855, 1917, 4685, 4009, 4594, 7060, 3772,
		                            2278, 8591, 5450, 8974, 1502, 4414, 1581, 3875, 8557, 2193 };
	const int64_t room[3 * 2] = { 44268, 46809, 7639, 25471, 1777, 2408 };
	uint32_t most[3 * 10];
	const struct pack_problem p = { 3, 10, 2, 1, takes, n, role, room, most, 0, omits };
	uint64_t steps = 10000000;
	uint16_t placed[3 * 10];

	for (uint32_t i = 0; i < 3 * 10; i++)
		most[i] = UINT32_MAX;
	cr_assert_eq(pack(&p, &steps, placed), PACK_PLACED);
	cr_assert(sound(&p, placed));
}

Test(pack, refuses_what_is_too_large)
{
	uint32_t n[1] = { PACK_PIECES + 1 }, role[1] = { 0 }, most[1] = { 1 }, omits[1] = { 0 };
	int64_t takes[1] = { 1 }, room[1] = { 1 };
	uint16_t placed[1];
	uint64_t steps = 1000;
	struct pack_problem p = { 1, 1, 1, 1, takes, n, role, room, most, 0, omits };

	cr_assert_eq(pack(&p, &steps, placed), PACK_GAVE_UP);
	n[0] = 1;
	cr_assert_eq(pack(&p, &steps, placed), PACK_PLACED);
	p.kinds = PACK_KINDS + 1;
	cr_assert_eq(pack(&p, &steps, placed), PACK_GAVE_UP);
}

/* A node with more fillings than are counted, and with less than no room for one resource. */
Test(pack, room_below_nothing_takes_none_from_others)
{
	uint32_t n[9], role[9] = { 0 }, most[2 * 9], omits[1] = { 0 };
	int64_t takes[9 * 2] = { 0 }, room[2 * 2] = { 1000, -5, 0, 1 };
	uint16_t placed[2 * 9];
	uint64_t steps = UINT64_C(10000000);

	for (uint32_t k = 0; k < 9; k++) {
		n[k] = k < 8 ? 20 : 1;
		takes[2 * k] = k < 8 ? 1 + k : 0;
		takes[2 * k + 1] = k == 8;
	}
	for (uint32_t i = 0; i < 2 * 9; i++)
		most[i] = UINT32_MAX;
	cr_assert_eq(pack(&(struct pack_problem){ 2, 9, 2, 1, takes, n, role, room, most, 0, omits },
	                  &steps, placed),
	             PACK_PLACED);
}
