/* SPDX-License-Identifier: Apache-2.0 */
/* The hand-over of ipc/ring.c: records of one or two cells in a ring of few, pads
 * at the end, positions cached on both sides, published and released in batches.
 * Every record arrives once, whole and in order; nobody waits for ever; and S1 and
 * S2 of ring.c hold at each step.
 *
 * Positions are stored when the model says so, which is what release and acquire
 * give; the variants store them too early, as a CPU may without:
 *
 *   -DNO_R1   a tail may be seen before the cells that it counts
 *   -DNO_R2   a head may be seen before the cells that it frees were copied
 *   -DNO_PUBLISH_BEFORE_WAIT   the producer waits for room with records unpublished */

#ifndef CELLS
#define CELLS 4
#endif
#ifndef RECORDS
#define RECORDS 6
#endif
#define PAD 255

byte cell[CELLS];
byte tail; /* [producer] */
byte head; /* [consumer] */

/* Private positions, global for the invariants alone. */
byte tail_private, tail_published, head_seen;
byte head_private, head_released, tail_seen;

#define S1 (head_seen <= tail_published && tail_published <= tail_private && tail_private <= head_seen + CELLS)
#define S2 (head_released <= head_private && head_private <= tail_seen && tail_seen <= head_released + CELLS)

inline publish() {
	tail_published = tail_private;
	tail = tail_published
}

/* A record's cells say its number and length: number x 4 + length. */
inline write_cells(number, length) {
	at = 0;
	do
	:: at < length -> cell[(tail_private - length + at) % CELLS] = number * 4 + length; at++
	:: else -> break
	od
}

active proctype producer() {
	byte number = 1, length, pad, at;

	do
	:: number <= RECORDS ->
		if
		:: length = 1
		:: length = 2
		fi;
		pad = CELLS - tail_private % CELLS;
		pad = (length > pad -> pad : 0);
		do
		:: tail_private - head_seen + pad + length <= CELLS -> break
		:: else ->
#ifndef NO_PUBLISH_BEFORE_WAIT
			publish();
#endif
			atomic { head != head_seen -> head_seen = head };
			assert(S1)
		od;
		if
		:: pad > 0 -> cell[tail_private % CELLS] = PAD; tail_private = tail_private + pad
		:: else
		fi;
		tail_private = tail_private + length;
#ifdef NO_R1
		if
		:: publish(); write_cells(number, length)
		:: write_cells(number, length)
		fi;
#else
		write_cells(number, length);
#endif
		if
		:: publish()
		:: skip
		fi;
		assert(S1);
		number++
	:: else -> publish(); break
	od
}

inline release() {
	head_released = head_private;
	head = head_released
}

active proctype consumer() {
	byte expected = 1, value, at;

	do
	:: expected <= RECORDS ->
		if
		:: head_private == tail_seen ->
			release();
			atomic { tail != tail_seen -> tail_seen = tail };
			assert(S2)
		:: else
		fi;
		value = cell[head_private % CELLS];
		if
		:: value == PAD ->
			head_private = head_private + CELLS - head_private % CELLS;
			value = cell[head_private % CELLS]
		:: else
		fi;
		assert(value / 4 == expected);
		at = 1;
		head_private = head_private + value % 4;
#ifdef NO_R2
		if
		:: release()
		:: skip
		fi;
#endif
		do
		:: at < value % 4 -> assert(cell[(head_private - value % 4 + at) % CELLS] == value); at++
		:: else -> break
		od;
		assert(head_private <= tail_seen);
		if
		:: release()
		:: skip
		fi;
		assert(S2);
		expected++
	:: else -> break
	od
}
