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
 *   -DDOORBELL_FIRST       the waker asks for a wake before it changes the doorbell */

#ifndef PUBLISHED
#define PUBLISHED 4
#endif

byte news;   /* [waker] records published */
byte parked; /* [sleeper] announcements: odd while asleep */
byte doorbell;   /* [waker] the announcement answered last */
bool asleep; /* the kernel's queue of the futex */

/* One pending store for each word, in order: news before doorbell, since the waker
 * fences between them; the sleeper has one word only. */
bool news_pending, doorbell_pending, parked_pending;
byte news_next, doorbell_next, parked_next;

inline flush_waker() {
	d_step {
		if
		:: news_pending -> news = news_next; news_pending = false
		:: else
		fi;
		if
		:: doorbell_pending -> doorbell = doorbell_next; doorbell_pending = false
		:: else
		fi
	}
}

inline flush_sleeper() {
	d_step {
		if
		:: parked_pending -> parked = parked_next; parked_pending = false
		:: else
		fi
	}
}

/* The buffers drain when they like, the older store first. */
active proctype memory() {
end:
	do
	:: atomic { news_pending -> news = news_next; news_pending = false }
	:: atomic { doorbell_pending && !news_pending -> doorbell = doorbell_next; doorbell_pending = false }
	:: atomic { parked_pending -> parked = parked_next; parked_pending = false }
	od
}

inline futex_wake() {
	flush_waker();
	asleep = false
}

active proctype waker() {
	byte number, own_doorbell;
	byte i = 0;

	do
	:: i < PUBLISHED ->
		i++;
		atomic { !news_pending -> news_next = i; news_pending = true };
#ifndef NO_F2
		flush_waker();
#endif
		number = parked;
		if
		:: number % 2 == 1 && own_doorbell != number ->
#ifdef DOORBELL_FIRST
			futex_wake();
#endif
			own_doorbell = number;
			atomic { !doorbell_pending -> doorbell_next = number; doorbell_pending = true };
#ifndef DOORBELL_FIRST
			futex_wake()
#endif
		:: else
		fi
	:: else -> break
	od
}

active proctype sleeper() {
	byte own_parked, consumed, value;

	do
	:: consumed == PUBLISHED -> break
	:: else ->
		consumed = news;
		if
		:: consumed == PUBLISHED -> break
		:: else
		fi;

		own_parked = own_parked + 1;
		atomic { !parked_pending -> parked_next = own_parked; parked_pending = true };
#ifndef NO_F1
		flush_sleeper();
#endif
#ifndef NO_RECHECK
		if
		:: news != consumed -> goto awake
		:: else
		fi;
#endif
		value = doorbell;
		if
		:: value == own_parked -> goto awake
		:: else
		fi;
		/* FUTEX_WAIT compares and queues in one step. */
		flush_sleeper();
		atomic {
			if
			:: doorbell == value -> asleep = true
			:: else -> goto awake
			fi
		};
		!asleep;
awake:
		own_parked = own_parked + 1;
		atomic { !parked_pending -> parked_next = own_parked; parked_pending = true }
	od
}
