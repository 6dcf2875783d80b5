/* SPDX-License-Identifier: Apache-2.0 */
/* A gang that the cluster does not have, from files to its records. */
#ifndef MUSTER_CTL_FILE_GANG_H
#define MUSTER_CTL_FILE_GANG_H

#include "ctl/diagnose/file_records.h"
#include "ctl/term/options.h"
#include "ipc/question.h"

struct file_gang {
	char *name; /* "ns/name" */
	uint32_t dialect;
	struct live_gang records;
	struct file_names names;
};

/* The files have pods of one gang, or workloads that are unrolled to them, its group, and what
 * admission needs; other objects are passed over.  As file_pod_read(). */
int file_gang_read(const char *command, const struct arguments *files, const char *listen,
                   struct file_gang *out);
void file_gang_free(struct file_gang *g);

#endif
