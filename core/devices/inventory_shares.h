/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a node as shares of GPUs (core/devices/shares.h): a device without capacities is
 * whole or gone, one that is shared has what is left of its scarcest capacity. */
#ifndef MUSTER_CORE_INVENTORY_SHARES_H
#define MUSTER_CORE_INVENTORY_SHARES_H

#include "core/devices/inventory.h"
#include "core/devices/shares.h"

/* Adds the devices that any of the n questions (32 at most) may have there and of which something
 * is left, in their order, up to SHARE_GPUS_MAX in all; and bit i to the model if the node has
 * devices for questions[i].  None of a node whose devices use counters. */
void inventory_shares(const struct inventory *v, node_id node, const uint32_t *questions,
                      uint32_t n, struct share_node *out);

/* What a pod of the question asks of GPUs there: sets gpus and milli, a share by the first device
 * that it may have.  False: it is not one request for a number of devices, or has none there. */
bool inventory_share_ask(const struct inventory *v, node_id node, uint32_t question,
                         struct gpu_ask *out);

#endif
