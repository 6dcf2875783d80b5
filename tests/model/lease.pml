/* SPDX-License-Identifier: Apache-2.0 */
/* The lease of frontend/api/lease.c: can two instances act at the same moment?
 *
 * Time is in whole steps that pass whenever they like, also between any two steps of an instance: a
 * process may stand still for as long as it is stopped or cut off.  A request reaches the server at any
 * time after it was sent, also when its sender has given it up; its answer comes at any time after that,
 * or never.  The server takes a write only over the version that it was made for.
 *
 * A write of the leader to anything else goes out only while now < until.
 *
 *   -DUNTIL_FROM_ANSWER   the deadline counts from the answer, not from the sending
 *   -DRENEW=4             the renew deadline is as long as the lease
 *   -DTRUST_FIRST_SIGHT   a follower takes a record for as old as its first look says
 *   -DNO_VERSION          the server takes every write */

#ifndef LEASE
#define LEASE 3
#endif
#ifndef RENEW
#define RENEW 2
#endif
#define END 7 /* time ends here */
#define NOBODY 2

byte now = 1;
byte holder = NOBODY; /* the object */
byte version;
byte until[2];        /* an instance may act before that; 0: never led */

#define ACTS(i) (now < until[i])

active proctype clock() {
end:
	do
	:: now < END -> now++
	:: ACTS(0) && ACTS(1) -> assert(false)
	od
}

active [2] proctype instance() {
	byte seen_version = 255, seen_holder, observed, sent, made_for, version_taken;
	bool taken;

end:
	do
	/* Look: the record as it is now. */
	:: now < END -> d_step {
		if
		:: seen_version != version ->
			seen_version = version;
			seen_holder = holder;
#ifdef TRUST_FIRST_SIGHT
			observed = 0
#else
			observed = now
#endif
		:: else
		fi
	   }
	/* A leader that is too late is one no more, and ends. */
	:: until[_pid - 1] > 0 && !ACTS(_pid - 1) -> break
	/* Claim it, once a step: it is free, our own, or has not changed for its duration. */
	:: now < END && now > sent && seen_version != 255 &&
	   (seen_holder == NOBODY || seen_holder == _pid - 1 || now >= observed + LEASE) ->
		made_for = seen_version;
		sent = now;
		/* Any time may pass: the server takes it, or somebody was faster. */
		d_step {
#ifdef NO_VERSION
			taken = true;
#else
			taken = version == made_for;
#endif
			if
			:: taken -> holder = _pid - 1; version++; version_taken = version
			:: else
			fi;
			made_for = 0
		}
		if
		:: taken -> d_step { /* the answer */
#ifdef UNTIL_FROM_ANSWER
				until[_pid - 1] = now + RENEW;
#else
				until[_pid - 1] = sent + RENEW;
#endif
				seen_version = version_taken;
				seen_holder = _pid - 1;
				observed = now;
				taken = false;
				version_taken = 0
			}
		:: d_step { taken = false; version_taken = 0 } /* it never comes, or says no */
		fi
	:: now >= END -> break
	od
}
