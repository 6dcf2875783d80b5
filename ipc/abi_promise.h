/* SPDX-License-Identifier: Apache-2.0 */
/* Promised starts of gangs that wait, as both processes and observers see them: a part of
 * ipc/abi.h, under its rules. */
#ifndef MUSTER_IPC_ABI_PROMISE_H
#define MUSTER_IPC_ABI_PROMISE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

/* Why the promised start of a gang moved later: ipc/promises.h has the names. */
enum promise_move {
	MOVE_NONE,
	MOVE_NODE_LOST,     /* a node went, was cordoned or tainted, shrank */
	MOVE_END_OVERRUN,   /* a known end passed, or became later */
	MOVE_ROOM_TAKEN,    /* pods that this core did not place */
	MOVE_OUTRANKED,     /* a gang of strictly higher priority, or of its queue and not borrowing */
	MOVE_GANG_CHANGED,  /* its own members or their requests */
	MOVE_RESTARTED,     /* the time of an earlier core or frontend could not be placed again */
	MOVE_RECLAIMED,     /* it borrows, and a gang inside the guarantee of another queue needs it */
	MOVE_QUEUE_CHANGED, /* queues were edited, and others come before it by that */
	MOVES
};

/* A promise is shown with its last PROMISE_MOVES_MAX moves, the first PROMISE_NODES_MAX of its
 * nodes, and the last PROMISE_WAITS_MAX gangs or pods whose ends it waits for. */
#define PROMISE_MOVES_MAX 3
#define PROMISE_NODES_MAX 8
#define PROMISE_WAITS_MAX 4

enum promise_flags {
	PROMISE_SOFT = 1u << 0,    /* it rests on an end that is only expected */
	PROMISE_BORROWS = 1u << 1, /* with reclaim: its queue is not inside its guarantee with it */
};

struct promised_moved {
	uint64_t from_ns, to_ns;
	uint32_t why; /* enum promise_move */
	uint32_t who; /* node; else gang, or limits.gangs + a lone pod; ID_NONE: not one alone */
};

struct promise_wait {
	uint64_t end_ns;
	uint32_t who;  /* gang, or limits.gangs + a lone pod */
	uint32_t pods; /* with that end, on its nodes */
};

/* The start that a waiting gang is promised (core/timeline/timeline.h), by the clock of the
 * records. */
struct promised {
	uint64_t at_ns;          /* 0: none */
	uint64_t first_ns;       /* as first promised */
	uint32_t flags;          /* enum promise_flags */
	uint32_t earlier, later; /* moves */
	uint32_t moves_n;        /* of moves[], the oldest first */
	uint32_t nodes_n;        /* all of them */
	uint32_t waits_n;        /* of waits[], by time */
	uint32_t nodes[PROMISE_NODES_MAX];
	struct promise_wait waits[PROMISE_WAITS_MAX];
	struct promised_moved moves[PROMISE_MOVES_MAX];
};

/* Promised starts so far.  Kept ones are counted by the time that the gang started after it was
 * first promised: errors[i] within the i-th of PROMISE_ERROR_BOUNDS seconds (ipc/promises.h), the
 * last is later. */
#define PROMISE_ERRORS 9

/* Which known end of a pod has passed while it stands. */
enum overrun {
	OVERRUN_HARD,    /* it is enforced */
	OVERRUN_SOFT,    /* it was expected */
	OVERRUN_EVICTED, /* it is being evicted, and its grace period is over */
	OVERRUNS
};

struct core_starts {
	_Atomic uint64_t standing; /* now */
	_Atomic uint64_t made;
	_Atomic uint64_t lost; /* no new time was found for them */
	_Atomic uint64_t earlier;
	_Atomic uint64_t later[12]; /* by enum promise_move */
	_Atomic uint64_t errors[PROMISE_ERRORS];
	_Atomic uint64_t late_s;     /* sums of what is counted in errors[]: started later ... */
	_Atomic uint64_t early_s;    /* ... and earlier */
	_Atomic uint64_t backfilled; /* gangs that started before one that was promised before them */
	_Atomic uint64_t overruns[OVERRUNS]; /* pods that outlived a known end, by enum overrun */
	_Atomic uint64_t reserved[1];
};

static_assert(sizeof(struct promised) ==
                  40 + 4 * PROMISE_NODES_MAX + 16 * PROMISE_WAITS_MAX + 24 * PROMISE_MOVES_MAX,
              "promised");
static_assert(MOVES <= 12, "struct core_starts");
static_assert(sizeof(struct core_starts) == 256, "four cache lines");

#endif
