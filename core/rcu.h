/* Grace periods, by liburcu's qsbr flavour; the only file that includes it.
 *
 * A thread that reads is started, rests now and then, and is stopped.  Whatever it got
 * from a snapshot is good until it next rests.  While it sleeps or waits for anything it
 * is away: else rcu_grace() waits for it.  rcu_grace() may take long; it is for a thread
 * that has time.
 *
 * liburcu knows the threads of its own process only.  ThreadSanitizer does not know liburcu:
 * there it stays in its library, and the edge from each rest to the end of a grace period is
 * told by hand. */
#ifndef MUSTER_CORE_RCU_H
#define MUSTER_CORE_RCU_H

#if defined(__SANITIZE_THREAD__)
#define RCU_TOLD 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_TOLD 1
#endif
#endif

#ifdef RCU_TOLD
#include <urcu/urcu-qsbr.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);
/* One for the whole program, whoever includes this. */
__attribute__((weak)) char rcu_told;
#define rcu_told_release() __tsan_release(&rcu_told)
#define rcu_told_acquire() __tsan_acquire(&rcu_told)
#else
/* Inlined: a rest costs a nanosecond or two. */
#define _LGPL_SOURCE
#include <urcu/urcu-qsbr.h>

#define rcu_told_release() ((void)0)
#define rcu_told_acquire() ((void)0)
#endif

static inline void rcu_start(void)
{
	urcu_qsbr_register_thread();
}

static inline void rcu_stop(void)
{
	rcu_told_release();
	urcu_qsbr_unregister_thread();
}

static inline void rcu_rest(void)
{
	rcu_told_release();
	urcu_qsbr_quiescent_state();
}

static inline void rcu_away(void)
{
	rcu_told_release();
	urcu_qsbr_thread_offline();
}

static inline void rcu_back(void)
{
	urcu_qsbr_thread_online();
}

/* Until every thread that reads has rested, is away or has stopped.  Not for a thread
 * that reads. */
static inline void rcu_grace(void)
{
/* tests/stress/weaken.sh takes it away and expects a failure. */
#ifndef MUSTER_WEAKEN_GRACE
	urcu_qsbr_synchronize_rcu();
	rcu_told_acquire();
#endif
}

#endif
