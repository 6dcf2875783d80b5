/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the reasons for which promised starts move later, and the bounds of the histogram of
 * their errors (struct core_starts), for all programs. */
#ifndef MUSTER_IPC_PROMISES_H
#define MUSTER_IPC_PROMISES_H

#include "ipc/abi.h"

/* The name of an enum promise_move, "NodeLost" for instance; "" for other numbers. */
const char *promise_move_name(uint32_t move);

/* Upper bound of errors[i], seconds; i < PROMISE_ERRORS - 1. */
int64_t promise_error_bound_s(unsigned i);

/* The bucket of the histogram in which an error of so many nanoseconds is counted. */
unsigned promise_error_bucket(int64_t late_ns);

/* The promised start of a gang, on its oldest pending pod; the next instance reads it. */
#define PROMISED_ANNOTATION "muster.dev/promised-start"
/* The end of the condition's message of each member; the time is as in the annotation.  The text
 * before it may hold the same, in names that a tenant chose. */
#define PROMISED_ENDING " It starts at %s (promised)."

/* Formats a time of records as "2026-11-22T17:40:00Z". */
#define PROMISE_TIME_BYTES 32
void promise_time_text(uint64_t ns, char out[PROMISE_TIME_BYTES]);

#endif
