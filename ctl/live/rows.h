/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a ledger, copied and sorted by name. */
#ifndef MUSTER_CTL_ROWS_H
#define MUSTER_CTL_ROWS_H

#include "ipc/observe.h"

#include <stddef.h>
#include <stdint.h>

struct nodes {
	struct node_view *at; /* to be freed */
	size_t n;
	uint32_t resources;
	bool shown[RESOURCES_MAX]; /* a node has it, or uses it */
};

struct gangs {
	struct gang_copy *at; /* to be freed */
	size_t n;
};

struct nodes rows_nodes(const struct observer *o);

/* The gang of that name, or all (NULL) that have a member, ended ones included. */
struct gangs rows_gangs(const struct observer *o, const char *wanted);

/* "4: 1 pending, 3 waiting": how many there are, and in each state that any is in.  Returns out. */
const char *rows_states_text(const struct gangs *gangs, char out[256]);

/* True if the row has a reason: the gang waits, or members of a placed gang do. */
bool rows_gang_waits(const struct gang_copy *g);

/* At that time since 1970; 0: unknown. */
uint64_t rows_gang_age_ns(const struct gang_copy *g, uint64_t now_ns);

#endif
