/* SPDX-License-Identifier: Apache-2.0 */
/* liburcu, flavour memb; no other file includes it.
 *
 *   reader    rcu_read_lock(); s = rcu_see(root); ...; rcu_read_leave();
 *   updater   rcu_show(root, fresh); rcu_retire(&old->head, callback);
 *
 * A thread registers before its first section and unregisters before it ends.  A section does not
 * block, allocate or log, and a pointer does not outlive it.
 *
 * ThreadSanitizer does not see into the library: for it the pointer is a C11 atomic of the same
 * order, and the end of a section and the begin of a callback are annotated.  There is one edge
 * from every section to every later callback, which a grace period promises for those that were
 * open when the callback was queued. */
#ifndef MUSTER_CORE_RCU_H
#define MUSTER_CORE_RCU_H

#define URCU_API_MAP /* rcu_read_lock() is that of the flavour */
#include <urcu/urcu-memb.h>

#if defined(__SANITIZE_THREAD__)
#define RCU_ANNOTATED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_ANNOTATED 1
#endif
#endif

#ifdef RCU_ANNOTATED
void __tsan_acquire(void *address);
void __tsan_release(void *address);
extern char rcu_edge;
#define RCU_ASSIGN(root, value) __atomic_store_n(&(root), value, __ATOMIC_RELEASE)
#define RCU_DEREFERENCE(root) __atomic_load_n(&(root), __ATOMIC_ACQUIRE)
#define RCU_SECTION_ENDS() __tsan_release(&rcu_edge)
#define RCU_GRACE_IS_OVER() __tsan_acquire(&rcu_edge)
#else
#define RCU_ASSIGN(root, value) rcu_assign_pointer(root, value)
#define RCU_DEREFERENCE(root) rcu_dereference(root)
#define RCU_SECTION_ENDS() ((void)0)
#define RCU_GRACE_IS_OVER() ((void)0)
#endif

/* tests/stress/weaken.sh takes each away and expects a failure. */
#ifdef MUSTER_WEAKEN_RCU_ASSIGN
#define rcu_show(root, value) ((void)((root) = (value)))
#else
#define rcu_show(root, value) RCU_ASSIGN(root, value)
#endif
#ifdef MUSTER_WEAKEN_RCU_DEREFERENCE
#define rcu_see(root) (root)
#else
#define rcu_see(root) RCU_DEREFERENCE(root)
#endif

static inline void rcu_read_leave(void)
{
	RCU_SECTION_ENDS();
	rcu_read_unlock();
}

/* Calls `callback` in a thread of the library after a grace period. */
static inline void rcu_retire(struct rcu_head *head, void (*callback)(struct rcu_head *head))
{
#ifdef MUSTER_WEAKEN_RCU_GRACE
	callback(head);
#else
	RCU_SECTION_ENDS(); /* what the updater wrote before */
	call_rcu(head, callback);
#endif
}

#endif
