/* SPDX-License-Identifier: Apache-2.0 */
/* queues.unsharedResources: resources that don't count in the order of turns (docs/fairness.md,
 * "Who is next"), as struct event_queue has them. */
#ifndef MUSTER_FRONTEND_UNSHARED_H
#define MUSTER_FRONTEND_UNSHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNSHARED_DEFAULT "pods,ephemeral-storage" /* unless others are named */

/* False and *why: no resource can have the name. */
bool unshared_check(const char *resource, char *why, size_t why_bytes);

/* Bit r: a resource with the number r is one of the `n`, or of the defaults if `names` is NULL.
 * `find`: the number, or at least 64: none has the name. */
uint64_t unshared_bits(const char *const *names, size_t n,
                       uint32_t (*find)(const void *context, const char *resource),
                       const void *context);

#endif
