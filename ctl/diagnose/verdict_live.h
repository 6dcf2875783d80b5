/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl verdict --live: evaluation by the running core (ipc/question.h). */
#ifndef MUSTER_CTL_VERDICT_LIVE_H
#define MUSTER_CTL_VERDICT_LIVE_H

#include "ctl/live/live.h"
#include "ctl/offline/verdict.h"

/* Prints o->pods as verdict_files() does; `l` is open.  The exit code. */
int verdict_live(struct live *l, const struct verdict_options *o);

#endif
