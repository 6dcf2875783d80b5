/* SPDX-License-Identifier: Apache-2.0 */
/* The wake protocol of ipc/wake.c: is there a way for the sleeper to sleep for ever
 * while a record waits?  Spin looks at every interleaving; a sleep without end is
 * an invalid end state.
 *
 * The CPU may hold a store back while later loads go ahead: each side has a store
 * buffer of its own, emptied at any time, by a fence and by a system call.  The
 * sleep here has no timeout: in the code that is the second line of defence.
 *
 *   -DNO_F1, -DNO_F2   leave out the sleeper's or the waker's fence
 *   -DNO_RECHECK       the sleeper does not look again after it announced
 *   -DBELL_FIRST       the waker asks for a wake before it changes the bell */

#ifndef PUBLISHED
#define PUBLISHED 4
#endif

byte news;   /* [waker] records published */
byte sleeps; /* [sleeper] announcements: odd while asleep */
byte bell;   /* [waker] the announcement answered last */
bool asleep; /* the kernel's queue of the futex */

/* One pending store for each word, in order: news before bell, since the waker
 * fences between them; the sleeper has one word only. */
bool news_pending, bell_pending, sleeps_pending;
byte news_next, bell_next, sleeps_next;

inline flush_waker() {
	d_step {
		if
		:: news_pending -> news = news_next; news_pending = false
		:: else
		fi;
		if
		:: bell_pending -> bell = bell_next; bell_pending = false
		:: else
		fi
	}
}

inline flush_sleeper() {
	d_step {
		if
		:: sleeps_pending -> sleeps = sleeps_next; sleeps_pending = false
		:: else
		fi
	}
}

/* The buffers drain when they like, the older store first. */
active proctype memory() {
end:
	do
	:: atomic { news_pending -> news = news_next; news_pending = false }
	:: atomic { bell_pending && !news_pending -> bell = bell_next; bell_pending = false }
	:: atomic { sleeps_pending -> sleeps = sleeps_next; sleeps_pending = false }
	od
}

inline futex_wake() {
	flush_waker();
	asleep = false
}

active proctype waker() {
	byte number, own_bell;
	byte i = 0;

	do
	:: i < PUBLISHED ->
		i++;
		atomic { !news_pending -> news_next = i; news_pending = true };
#ifndef NO_F2
		flush_waker();
#endif
		number = sleeps;
		if
		:: number % 2 == 1 && own_bell != number ->
#ifdef BELL_FIRST
			futex_wake();
#endif
			own_bell = number;
			atomic { !bell_pending -> bell_next = number; bell_pending = true };
#ifndef BELL_FIRST
			futex_wake()
#endif
		:: else
		fi
	:: else -> break
	od
}

active proctype sleeper() {
	byte own_sleeps, consumed, value;

	do
	:: consumed == PUBLISHED -> break
	:: else ->
		consumed = news;
		if
		:: consumed == PUBLISHED -> break
		:: else
		fi;

		own_sleeps = own_sleeps + 1;
		atomic { !sleeps_pending -> sleeps_next = own_sleeps; sleeps_pending = true };
#ifndef NO_F1
		flush_sleeper();
#endif
#ifndef NO_RECHECK
		if
		:: news != consumed -> goto awake
		:: else
		fi;
#endif
		value = bell;
		if
		:: value == own_sleeps -> goto awake
		:: else
		fi;
		/* FUTEX_WAIT compares and queues in one step. */
		flush_sleeper();
		atomic {
			if
			:: bell == value -> asleep = true
			:: else -> goto awake
			fi
		};
		!asleep;
awake:
		own_sleeps = own_sleeps + 1;
		atomic { !sleeps_pending -> sleeps_next = own_sleeps; sleeps_pending = true }
	od
}
