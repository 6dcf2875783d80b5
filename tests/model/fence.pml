/* SPDX-License-Identifier: Apache-2.0 */
/* The fence of frontend/bind/binding.c: can a pod be bound to a node that the core has given up?
 *
 * A Binding reaches the server at any time after it was sent, also when its sender has long heard that it
 * failed, or never; the answer comes at any time after the effect, or never.  It names the pod's version, and
 * the server takes it only while the pod has that version and no node.  Others write to the pod as they like.
 *
 * The writer has one Binding after another under way for the same node, and may give the node up at any time.
 * It tells the core so, which then chooses another node, only when none of them can land any more: when a
 * look at the pod shows a version that is not the one they name.  If none does, it moves the version itself.
 *
 *   -DNO_FENCE     a look that shows no node is enough
 *   -DNO_LOOK      the fence was written, so they are dead; nobody looks
 *   -DOLD_LOOK     the look may be answered from the past
 *   -DNO_VERSION   the server does not compare versions */

#define POSTS 3 /* under way at once */
#define LAST 7  /* versions end here */

byte version = 1, node; /* the pod; node 0: none */
byte target = 1;        /* where the core wants it */
byte old_version = 1;   /* a state it had before, without a node */

byte to[POSTS], made_for[POSTS]; /* Bindings under way; to 0: none */

#ifdef NO_VERSION
#define TAKEN(i) (node == 0)
#else
#define TAKEN(i) (node == 0 && made_for[i] == version)
#endif

#define MAY_LAND(i) (to[i] != 0 && TAKEN(i))

inline move() {
	old_version = version;
	version++
}

inline arrive(i) {
	d_step {
		if
		:: TAKEN(i) ->
			assert(to[i] == target);
			node = to[i];
			move()
		:: else
		fi;
		to[i] = 0
	}
}

active proctype network() {
end:
	do
	:: to[0] != 0 && version < LAST -> arrive(0)
	:: to[1] != 0 && version < LAST -> arrive(1)
	:: to[2] != 0 && version < LAST -> arrive(2)
	:: to[0] != 0 -> to[0] = 0 /* lost */
	:: to[1] != 0 -> to[1] = 0
	:: to[2] != 0 -> to[2] = 0
	od
}

/* A user's label, a condition, the garbage collector. */
active proctype others() {
	byte n;

end:
	do
	:: n < 2 && version < LAST -> d_step { move(); n++ }
	od
}

active proctype writer() {
	byte known = 1;   /* the version that the next Binding names */
	byte seen_version, seen_node;
	bool maybe;       /* one of ours may land that names `known` */
	bool give_up;

post:	if
	:: version >= LAST -> goto done
	:: to[0] == 0 -> d_step { to[0] = target; made_for[0] = known }
	:: to[0] != 0 && to[1] == 0 -> d_step { to[1] = target; made_for[1] = known }
	:: to[0] != 0 && to[1] != 0 && to[2] == 0 -> d_step { to[2] = target; made_for[2] = known }
	fi;
	/* Whatever is heard of it, or nothing: the pod is read. */
	maybe = true;
	if
	:: give_up = true
	:: skip
	fi;

look:	skip;
	d_step {
		seen_version = version;
		seen_node = node
	};
#ifdef OLD_LOOK
	if
	:: d_step { seen_version = old_version; seen_node = 0 }
	:: skip
	fi;
#endif
	if
	:: seen_node != 0 -> assert(seen_node == target); goto done /* bound */
	:: else
	fi;
	if
	:: seen_version != known -> maybe = false; known = seen_version
	:: else
	fi;
#ifdef NO_FENCE
	maybe = false;
#endif
	if
	:: !give_up -> goto post
	:: give_up && !maybe -> goto refused
	:: else
	fi;
	/* The fence: it takes effect, or is lost, or the version moved on without it. */
	if
	:: version < LAST -> d_step {
		if
		:: version == known -> move()
		:: else
		fi
	}
	:: skip
	fi;
#ifdef NO_LOOK
	goto refused;
#endif
	if
	:: version >= LAST -> goto done
	:: else -> goto look
	fi;

refused:
	skip;
	d_step {
		assert(!MAY_LAND(0) && !MAY_LAND(1) && !MAY_LAND(2));
		target = 3 - target; /* the core's next choice */
		give_up = false;
		maybe = false
	};
	goto post;
done:	skip
}
