/* SPDX-License-Identifier: Apache-2.0 */
/* Credential plugins of kubeconfigs (client.authentication.k8s.io): the program is run, and prints
 * an ExecCredential with a token, or a client certificate and its key.
 *
 * For commands alone: the daemons execute no programs. */
#ifndef MUSTER_CTL_CREDENTIAL_H
#define MUSTER_CTL_CREDENTIAL_H

#include "frontend/api/kubeconfig.h"

/* exec of struct access_options. The program has no standard input, its standard error is ours, and
 * it may take a minute, and is killed then. */
int credential_exec(const struct exec_plugin *plugin, struct access *a, char *error,
                    size_t error_bytes);

#endif
