/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of muster-frontend, and the file that --config names: what a flag says
 * goes before what the file says. */
#ifndef MUSTER_FRONTEND_OPTIONS_H
#define MUSTER_FRONTEND_OPTIONS_H

#include "frontend/config/settings.h"

/* Fill *out, to be given to options_free() in any case.  -1 to go on; else the exit code: 0
 * after --help and the like, 2 on bad usage or a bad file, which was named on standard
 * error. */
int options_read(int argc, char **argv, struct options *out);

/* "debug" is 0 ... "error" is 3; -1 for anything else. */
int log_level_read(const char *text);

#endif
