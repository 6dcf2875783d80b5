/* SPDX-License-Identifier: Apache-2.0 */
/* What musterctl top draws of a ledger's rows. */
#include "ctl/live/top.h"

#include "tests/unit/test.h"

#define GANGS 6

static struct gang_copy gangs[GANGS];
static char drawn[8192];

static void add(size_t i, const char *name, uint32_t standing, int32_t priority,
                uint64_t created_ns)
{
	gangs[i].row.state = GANG_WAITING;
	gangs[i].row.members = 4;
	gangs[i].row.band = standing;
	gangs[i].row.priority = priority;
	gangs[i].row.created_ns = created_ns;
	gangs[i].row.reason.why = WAIT_ROOM;
	gangs[i].row.reason.need = 4;
	snprintf(gangs[i].name, sizeof(gangs[i].name), "%s", name);
}

static const char *draw(size_t n, size_t wide, size_t high)
{
	struct live l = { .socket = "s" };
	struct top_look look = { .there = true, .synced = true, .gangs = { .at = gangs, .n = n } };
	struct top_view view = { .sort = TOP_QUEUE };
	struct styled_text s = { 0 };
	FILE *out = fmemopen(drawn, sizeof(drawn), "w");

	cr_assert(out != NULL);
	top_draw(&s, &l, &look, NULL, &view, wide, high);
	if (high > 0)
		cr_expect(s.n == high, "%zu lines, not %zu", s.n, high);
	styled_print(&s, 0, out);
	fclose(out);
	styled_clear(&s);
	return drawn;
}

/* As the core plans them: who has begun, the others, and those that come after others, oldest
 * first. */
Test(top, by_queue_is_the_order_of_planning)
{
	static const char *const order[GANGS] = { "\nns/begun ", "\nns/high ",     "\nns/old ",
		                                      "\nns/young ", "\nns/last-old ", "\nns/last-high " };
	const char *at = drawn;

	add(0, "ns/last-high", BAND_LAST, 9, 5);
	add(1, "ns/last-old", BAND_LAST, 1, 4);
	add(2, "ns/young", BAND_NORMAL, 2, 7);
	add(3, "ns/begun", BAND_STARTED, 0, 9);
	add(4, "ns/old", BAND_NORMAL, 2, 6);
	add(5, "ns/high", BAND_NORMAL, 3, 8);
	draw(GANGS, 100, 0);
	for (size_t i = 0; i < GANGS; i++) {
		at = strstr(at, order[i]);
		cr_assert(at != NULL, "%s isn't in its place:\n%s", order[i] + 1, drawn);
	}
}

/* A long name takes a third of a screen, and the reason goes below. */
Test(top, fits_a_small_screen)
{
	char name[80], wanted[100];

	snprintf(name, sizeof(name), "ns/%060d", 7);
	add(0, name, BAND_NORMAL, 0, 1);
	draw(1, 80, 24);
	snprintf(wanted, sizeof(wanted), "\n%.25s~   Waiting ", name);
	cr_expect(strstr(drawn, wanted) != NULL, "%s", drawn);
	snprintf(wanted, sizeof(wanted), "\n%s: ", name);
	cr_expect(strstr(drawn, wanted) != NULL, "%s", drawn);
	cr_expect(strstr(drawn, "/ filter  arrows\n") != NULL, "%s", drawn);
	cr_expect(
		strstr(
			drawn,
			"\nNODES by name, 1 to a cell: tenths used; . empty, # full, c cordoned, x gone\n") !=
			NULL,
		"%s", drawn);
	/* A wide one has room for all, and so has text. */
	draw(1, 400, 24);
	cr_expect(strstr(drawn, wanted) == NULL, "%s", drawn);
	cr_expect(strstr(drawn, "(again: reversed)") != NULL, "%s", drawn);
	snprintf(wanted, sizeof(wanted), "\n%s   Waiting ", name);
	draw(1, 80, 0);
	cr_expect(strstr(drawn, wanted) != NULL, "%s", drawn);
}

Test(top, any_size_is_drawn)
{
	for (size_t i = 0; i < GANGS; i++)
		add(i, "ns/one", BAND_NORMAL, 0, i);
	for (size_t wide = 0; wide < 40; wide += 13)
		for (size_t high = 12; high < 40; high++)
			draw(GANGS, wide, high);
}
