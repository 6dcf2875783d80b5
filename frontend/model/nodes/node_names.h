/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of the nodes that exist, by name, for threads beside the loop's.
 *
 * The extender's questions bring thousands of names.  In the model each costs five dependent reads,
 * which miss every cache after a loop that has slept, and they were the loop's.  Here a name costs
 * one line of a table that has hashes alone, and the lines of many names are fetched at once.
 *
 * Names are not compared: two of them share 64 bits of a keyed hash once in 10^9 clusters of
 * 100,000 nodes.  Who uses an id compares the name of its node, if a wrong one would matter.
 *
 * The loop's thread writes, any thread reads.  A mutex is held for a change, or for a few names. */
#ifndef MUSTER_FRONTEND_NODE_NAMES_H
#define MUSTER_FRONTEND_NODE_NAMES_H

#include "frontend/base/arena.h"
#include "ipc/abi.h"

struct node_names;

struct node_names *node_names_new(const uint64_t key[2]);
void node_names_free(struct node_names *s);

/* A node of that name exists from now on, or no longer.  Twice is once. */
void node_names_put(struct node_names *s, struct text name, node_id id);
void node_names_remove(struct node_names *s, struct text name, node_id id);

/* ids[i]: that of names[i], or ID_NONE.  Returns the version that all of them are of at least. */
uint64_t node_names_find(struct node_names *s, const struct text *names, size_t n, node_id *ids);

/* Counts changes, from 1. */
uint64_t node_names_version(struct node_names *s);

#endif
