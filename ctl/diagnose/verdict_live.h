/* SPDX-License-Identifier: Apache-2.0 */
/* verdict --live: the running core's answer (ipc/question.h), as verdict on files has it. */
#ifndef MUSTER_CTL_VERDICT_LIVE_H
#define MUSTER_CTL_VERDICT_LIVE_H

#include "ctl/live/live.h"
#include "ctl/offline/verdict.h"

/* About the pods of `o`, by its output; `l` is open.  The exit code. */
int verdict_live(struct live *l, const struct verdict_options *o);

#endif
