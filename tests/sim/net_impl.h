/* SPDX-License-Identifier: Apache-2.0 */
/* What net.c and fate.c share: a request on its way, and the network it is in. */
#ifndef MUSTER_TESTS_NET_IMPL_H
#define MUSTER_TESTS_NET_IMPL_H

#include "tests/apisim/text.h"
#include "tests/sim/sim.h"

enum call_state { CALL_SENT, CALL_ANSWERED, CALL_STREAMS, CALL_OVER };

struct http_call {
	struct http_call *next;
	uint64_t serial;
	enum call_state state;
	enum fate fate;
	bool orphan;  /* no client gets its answer any more */
	bool arrived; /* it reached the server */
	bool dropped; /* the server ends it without an effect */
	uint64_t arrive_ns, answer_ns, deadline_ns;
	bool lease; /* it is about the lease */
	struct http_handler handler;
	char *method, *path, *type, *body;
	size_t body_bytes;

	struct http_answer answer;
	struct as_text said; /* body of the answer */

	struct as_watch *watch;
	uint64_t speaks_ns; /* when the next piece arrives; NEVER: the server has none */
	/* At that version the server has nothing to send before that time (of as_watch_due_ns()).  0:
	 * it was not asked since the last piece. */
	uint64_t quiet_version, quiet_ns;
	bool silent;         /* half open */
	bool cut;            /* broken, and the client is suspended */
	struct as_text line; /* the last event, for FATE_TWICE */
};

struct net {
	struct transport transport; /* first */
	struct sim *sim;
	struct http_call *calls, **end;
	uint64_t serial;
	uint64_t faults;
	uint32_t instance;
	bool (*may_write)(void *context);
	void *context;
	uint64_t down_until_ns;
	uint64_t slow_until_ns;
	uint64_t frozen_until_ns; /* the client */
	struct {
		uint64_t until_ns;
		unsigned percent;
		bool bindings; /* no other requests */
	} window[FATES];
};

uint64_t net_random_ns(struct net *n, uint64_t most);

bool call_is_watch(const struct http_call *c);
bool call_is_binding(const struct http_call *c);
bool call_is_eviction(const struct http_call *c); /* or the deletion of a pod */

/* Does that fate make sense for the call? */
bool fate_suits(const struct http_call *c, enum fate fate);
/* When the request arrives and is answered, by its fate. */
void fate_delay(struct net *n, struct http_call *c);
/* True if the server handles the request, or will. */
bool fate_has_effect(const struct http_call *c);
/* The client learns for certain that it had no effect. */
bool fate_refuses(const struct http_call *c);
/* The answer that the client gets in place of the server's. */
void fate_answer(struct net *n, struct http_call *c);

#endif
