/* SPDX-License-Identifier: Apache-2.0 */
/* Decision log: one line for each decision about a group, placed or waiting with the reason. The
 * same reason with other numbers is logged once a minute, at most 600 lines a minute in all.
 *
 *   level=info msg="gang placed" gang="ns/g" uid="..." dialect="..." members=8 bound=8 quorum=8
 *       wait_ms=3120 bind_ms=14
 *   level=info msg="gang waits" gang="ns/g" uid="..." ... need=8 fit=5 reason="0/3 nodes are
 * available: ..." */
#ifndef MUSTER_FRONTEND_DECISIONS_H
#define MUSTER_FRONTEND_DECISIONS_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"

#include <stdint.h>

struct decisions;

/* Both arguments outlive it. */
struct decisions *decisions_new(const struct env *env, struct model *model);
void decisions_free(struct decisions *d);

/* A member was assigned a node; its pod was first read at `read_ns`, 0: unknown. */
void decisions_bind(struct decisions *d, const struct cmd_bind *cmd, uint64_t read_ns);

/* The gang changed its state. */
void decisions_gang(struct decisions *d, const struct cmd_gang *cmd);

/* The gang waits; `text` is the reason. */
void decisions_waits(struct decisions *d, const struct cmd_reason *cmd,
                     const struct gang_view *gang, const char *text);

#endif
