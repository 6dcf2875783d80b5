/* SPDX-License-Identifier: Apache-2.0 */
/* The world beside a core of the simulator, in the same thread: it follows each step, and searches
 * for victims of gangs that wait. */
#ifndef MUSTER_TESTS_SIM_BESIDE_H
#define MUSTER_TESTS_SIM_BESIDE_H

#include "core/base/config.h"

struct beside;

/* With the core, before its first record. */
struct beside *beside_new(const struct core_config *config);
void beside_free(struct beside *b);

/* A record that core_step() gets next, a command that it emitted, and what it returned; refused:
 * its last command was not accepted. */
void beside_input(struct beside *b, const struct record *r);
void beside_output(struct beside *b, enum record_kind kind, const void *body, uint32_t bytes);
void beside_done(struct beside *b, int rc, bool refused);

/* The world follows, and what it found holds: NULL, or what does not. */
const char *beside_fault(struct beside *b, uint64_t now_ns);

/* Searches that found a set, of all simulations of this process. */
uint64_t beside_found(void);

/* The next answer of its searches for the core (EVENT_ANSWER), memory of the caller; NULL: none. */
struct record *beside_answer(struct beside *b);

/* Of a gang of the core. */
int32_t beside_priority(const struct beside *b, uint32_t gang);
/* "namespace/name" of a gang that has precedence over all priorities (decision 032); NULL: it has
 * none.  Valid until the next input. */
const char *beside_started(const struct beside *b, uint32_t gang, size_t *bytes);

/* Of all cores that have ended. */
struct core_preemption;
void beside_preempted(struct core_preemption *out);
/* Evictions for lone pods, of all simulations of this process. */
uint64_t beside_lone(void);

#endif
