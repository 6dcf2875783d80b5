/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of muster-frontend and the file of --config; flags override the file. */
#ifndef MUSTER_FRONTEND_OPTIONS_H
#define MUSTER_FRONTEND_OPTIONS_H

#include "frontend/config/settings.h"
#include "frontend/serve/serve.h"

/* Fills *out, which the caller passes to options_free() in any case.  -1: start; else the exit
 * code: 0 after --help and other flags that print, 2 after an error, reported on stderr. */
int options_read(int argc, char **argv, struct options *out);

/* --extender-auth. */
enum extender_auth options_auth(const struct options *o);

#endif
