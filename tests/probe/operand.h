/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a probe, as the notes write them: "4@%eax", "-4@16(%rbx)", "8@$3". */
#ifndef MUSTER_TESTS_PROBE_OPERAND_H
#define MUSTER_TESTS_PROBE_OPERAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The operand at *text of a thread that is stopped at the probe; *text is behind it then.  False at
 * the end, and for an unknown form: **text is not '\0' then. */
bool operand_take(const char **text, pid_t tid, const struct user_regs_struct *regs,
                  int64_t *value);

#endif
