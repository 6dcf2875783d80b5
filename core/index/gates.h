/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between pods as gates: which domains a kind may go to, kept current.
 *
 * A gate is one hard rule over one topology: it is open or closed for each domain, by a
 * count of pods in it.  Nodes that are in the same domain of every gate are one segment, with a
 * winner tree of its own; the best node is the best of the open segments.  So a member that is
 * placed costs its node, its gates and the number of segments, not the number of
 * nodes.  A topology with one node a domain (kubernetes.io/hostname) makes no segments: its
 * gates close single nodes.
 *
 *   POD_TERM_AFFINITY        open where a pod that matches is, or everywhere for the first of
 *                            a series
 *   POD_TERM_ANTI_AFFINITY   closed where a pod that matches is
 *   existing pods' terms     closed where a pod is that wants none of this kind near
 *   hard spread              closed where one more would be too many
 *   WorkloadPolicy           closed where a required share is reached, or where none is; among open
 *                            segments a better tier is better (core/filter/rule_policy.h)
 *
 * core/filter/judge.c says the same by a plain pass over all nodes. */
#ifndef MUSTER_CORE_GATES_H
#define MUSTER_CORE_GATES_H

#include "core/base/tree.h"
#include "core/classes/census.h"

struct gates;

/* Gates of a kind, built from the census as it is; base[rank] is the key of a node by
 * everything else.  *out is NULL when the kind has no gate.  -ENOMEM */
int gates_new(struct gates **out, const struct census *cs, kind_id kind, const tree_key *base);
void gates_free(struct gates *g);

/* Is the node of that rank one that a spread counts now and did not before, or the other way
 * round?  Then gates have to be built anew. */
bool gates_outdated(const struct gates *g, uint32_t rank);

/* The node of that rank changed: who stands there, or its base key. */
void gates_follow(struct gates *g, uint32_t rank, tree_key base);

/* Rank of the best node that is open, TREE_NONE. */
uint32_t gates_best(const struct gates *g);

/* Is the node of that rank open? */
bool gates_open(const struct gates *g, uint32_t rank);

/* Of its policy, when the node is open. */
uint32_t gates_tier(const struct gates *g, uint32_t rank);

/* No more than these of the kind could come, whatever members of it open: of `counts` (by rank),
 * none where somebody bars it, and one where it bars itself. */
uint64_t gates_bound(const struct gates *g, const uint32_t *counts);

/* No more than these of the kind could come to the node of that rank, of `count` that it takes by
 * itself. */
uint32_t gates_most_at(const struct gates *g, uint32_t rank, uint32_t count);

/* All base keys are others now, by rank. */
void gates_rebase(struct gates *g, const tree_key *base);

/* Work to follow one node, in units of about 10 ns. */
uint32_t gates_steps(const struct gates *g);

/* Is everything as it would be if it were built anew?  For tests. */
bool gates_check(const struct gates *g);

#endif
