/* SPDX-License-Identifier: Apache-2.0 */
/* What may follow on a command line of musterctl.  Flags and their values are those that the
 * --help of a command names, so that there is no second list to keep:
 *
 *   musterctl gangs [NAMESPACE/GANG] [--socket PATH]     usage, up to an empty line
 *
 *     --socket PATH    ...                               flags, with what follows them
 *
 * Words in lower case stand for themselves, a|b for either; NAMESPACE/GANG and NODE are
 * asked of the live scheduler, FILE, PATH and DIR are left to the shell. */
#ifndef MUSTER_CTL_COMPLETION_H
#define MUSTER_CTL_COMPLETION_H

/* Says what `musterctl completion -- WORDS` says, as kubectl wants it of a plugin. */
int completion_for_kubectl(int argc, char **argv);

#endif
