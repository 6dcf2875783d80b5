/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/turns.h"

#include "core/shm/ledger.h"
#include "ipc/clock.h"
#include "ipc/plans.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void loop_turns_open(struct loop_turns *t, struct core_loop *shown)
{
	t->shown = shown;
	t->last_ns = clock_monotonic_ns();
	t->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC); /* proc(5) */
}

void loop_turns_close(struct loop_turns *t)
{
	if (t->schedstat >= 0)
		close(t->schedstat);
}

/* Its second number is the time spent waiting on a run queue, in ns. */
static void runqueue_look(struct loop_turns *t)
{
	char text[96], *end;
	ssize_t n = -1;

	if (t->schedstat >= 0 && lseek(t->schedstat, 0, SEEK_SET) == 0)
		n = read(t->schedstat, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = '\0';
	strtoull(text, &end, 10);
	stat_set(&t->shown->runqueue_ns, strtoull(end, NULL, 10));
}

void loop_turn_begin(struct loop_turns *t, uint64_t now_ns)
{
	t->last_ns = now_ns;
	if (now_ns - t->looked_ns < NS_PER_S)
		return;
	t->looked_ns = now_ns;
	runqueue_look(t);
}

void loop_part_end(struct loop_turns *t, enum loop_part part, uint64_t now_ns)
{
	const uint64_t took = now_ns - t->last_ns;

	stat_add(&t->shown->took[part][plans_bucket(took)], 1);
	stat_add(&t->shown->ns[part], took);
	loop_turn_begin(t, now_ns);
}
