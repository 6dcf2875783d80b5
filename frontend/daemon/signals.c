/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/daemon/daemon.h"

#include <stdatomic.h>
#include <unistd.h>

static _Atomic int stop; /* the signal; 0: none */

void daemon_wake(void *context)
{
	struct daemon *d = context;

	curl_transport_wake(d->curl);
}

static void stop_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
}

bool signals_stop_wanted(void)
{
	return atomic_load_explicit(&stop, memory_order_relaxed) != 0;
}

static void *signal_run(void *context)
{
	struct daemon *d = context;
	static uint64_t first_ns; /* as `stop` */
	sigset_t set;
	int signal;

	stop_signals(&set);
	for (;;) {
		if (sigwait(&set, &signal) != 0)
			continue;
		/* The second one does not wait for answers.  Within a second it is a copy of the first: a
		 * service manager sends SIGTERM to the whole group, and our parent in that group sends it
		 * again. */
		if (signals_stop_wanted() &&
		    (signal == SIGINT || system_monotonic_ns(NULL) - first_ns >= NS_PER_S))
			_exit(1);
		if (signals_stop_wanted())
			continue;
		first_ns = system_monotonic_ns(NULL);
		/* Relaxed: it publishes nothing else. */
		atomic_store_explicit(&stop, signal, memory_order_relaxed);
		daemon_wake(d);
	}
	return NULL;
}

void signals_block(void)
{
	sigset_t set;

	stop_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void signals_start(struct daemon *d)
{
	if (pthread_create(&d->signal_thread, NULL, signal_run, d) != 0)
		fatal_memory();
}
