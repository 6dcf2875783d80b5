/* SPDX-License-Identifier: Apache-2.0 */
/* A pod that the cluster does not have, from files to its records. */
#ifndef MUSTER_CTL_FILE_POD_H
#define MUSTER_CTL_FILE_POD_H

#include "ctl/diagnose/file_records.h"
#include "ctl/term/options.h"
#include "ipc/question.h"

struct file_pod {
	char *name; /* "ns/name" */
	struct live_pod records;
	struct file_names names;
};

/* The files have one pod, and what admission needs: objects of the cluster are not read from them.
 * `listen`: where muster-frontend serves.  EXIT_DONE, or the exit code and a message. */
int file_pod_read(const char *command, const struct arguments *files, const char *listen,
                  struct file_pod *out);
void file_pod_free(struct file_pod *p);

#endif
