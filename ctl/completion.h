/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of a command line of musterctl, from the tables of flags (ctl/term/options.h).  Names
 * of gangs come from the live scheduler; the shell completes file names. */
#ifndef MUSTER_CTL_COMPLETION_H
#define MUSTER_CTL_COMPLETION_H

/* As `musterctl completion -- WORDS`, in the protocol that kubectl has for plugins. */
int completion_for_kubectl(int argc, char **argv);

#endif
