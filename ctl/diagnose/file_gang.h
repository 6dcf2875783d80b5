/* SPDX-License-Identifier: Apache-2.0 */
/* A gang or lone pods that the cluster does not have, from files to their records. */
#ifndef MUSTER_CTL_FILE_GANG_H
#define MUSTER_CTL_FILE_GANG_H

#include "ctl/diagnose/file_records.h"
#include "ctl/term/options.h"
#include "ipc/question.h"

struct file_gang {
	char *name;    /* "ns/name" of the gang, or of the first pod */
	uint32_t lone; /* pods without a gang; 0: it is a gang */
	uint32_t dialect;
	struct live_gang records;
	struct file_names names;
};

/* The files have pods of one gang and its group, or pods of no gang, or workloads that are unrolled
 * to them, and what admission needs; other objects are passed over.  As file_pod_read(). */
int file_gang_read(const char *command, const struct arguments *files, const char *listen,
                   struct file_gang *out);
void file_gang_free(struct file_gang *g);

#endif
