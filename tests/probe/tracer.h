/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a traced process: breakpoints at probes, and the action at one of them.
 *
 * A probe is a one-byte nop, so a breakpoint replaces no other instruction: the thread continues
 * behind the nop.  The caller has seized the process, which is stopped before its exec. */
#ifndef MUSTER_TESTS_PROBE_TRACER_H
#define MUSTER_TESTS_PROBE_TRACER_H

#include "tests/probe/notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum rule_act { RULE_KILL, RULE_STOP, RULE_TRACE };

struct rule {
	char probe[64]; /* its name; RULE_TRACE: all */
	uint64_t hit;   /* the first is 1 */
	enum rule_act act;
	unsigned stop_ms; /* RULE_STOP: then it continues */
};

/* Follow `pid` to its end; *hits: how often the probe was come by.  RULE_TRACE: each hit is a line
 * of `out`, "ns name argument...".  True when the rule came to its act. */
bool tracer_run(pid_t pid, const struct notes *notes, const struct rule *rule, FILE *out,
                uint64_t *hits);

#endif
