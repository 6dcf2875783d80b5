/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of files as records that muster-core understands: muster-frontend has the numbers of
 * texts, and makes them (frontend/model/put/outsider.h). */
#ifndef MUSTER_CTL_FILE_RECORDS_H
#define MUSTER_CTL_FILE_RECORDS_H

#include "frontend/base/arena.h"
#include "ipc/abi.h"

#include <cjson/cJSON.h>

/* Resources that no node has, by the ids in the records. */
struct file_names {
	struct {
		name_id id;
		char *text;
	} at[RESOURCES_MAX];
	size_t n;
};

/* Sends the objects to muster-frontend, which serves at `listen`.  EXIT_DONE and its answer, to be
 * deleted, or the exit code and a message; `what` are they: "pods". */
int file_records_post(const char *command, struct text json, const char *listen, const char *what,
                      cJSON **answer);

/* A text of the answer; "" when there is none. */
const char *file_records_field(const cJSON *answer, const char *name);

/* The bytes of records in such a text; 0: there are none, or more than `room`. */
uint32_t file_records_bytes(const cJSON *answer, const char *name, unsigned char *out,
                            uint32_t room);

bool file_records_names(const cJSON *answer, struct file_names *out);
/* NULL: it has no such id. */
const char *file_names_find(const struct file_names *names, uint32_t id);
void file_names_free(struct file_names *names);

#endif
