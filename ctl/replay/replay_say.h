/* SPDX-License-Identifier: Apache-2.0 */
/* Records and commands of a core as text; names come from the records. */
#ifndef MUSTER_CTL_REPLAY_SAY_H
#define MUSTER_CTL_REPLAY_SAY_H

#include "ipc/abi.h"

#include <stddef.h>

struct names;

struct names *names_new(const struct limits *limits);
void names_free(struct names *names);

/* Before the core gets the record. */
void names_follow(struct names *names, const struct record *record);

/* "bind default/a to n1, attempt 1"; bytes are those of the body. */
const char *say_command(const struct names *names, uint16_t kind, const void *body, uint32_t bytes,
                        char *out, size_t out_bytes);

/* "EVENT_POD" */
const char *record_kind_text(uint32_t kind);

#endif
