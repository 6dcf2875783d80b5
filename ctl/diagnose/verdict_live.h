/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl verdict --live: evaluation by the running core (ipc/question.h). */
#ifndef MUSTER_CTL_VERDICT_LIVE_H
#define MUSTER_CTL_VERDICT_LIVE_H

#include "ctl/live/live.h"
#include "ctl/offline/verdict.h"

/* Prints o->pods, or the pod of o->files that the cluster does not have, as verdict_files() does;
 * `l` is open, muster-frontend serves at `listen`.  The exit code. */
int verdict_live(struct live *l, const struct verdict_options *o, const char *listen);

#endif
