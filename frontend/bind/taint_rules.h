/* SPDX-License-Identifier: Apache-2.0 */
/* DeviceTaintRules (KEP 5055, off in Kubernetes 1.36) taint devices beside their ResourceSlices,
 * and muster does not read them: says so once, if the API server serves them and has one. */
#ifndef MUSTER_FRONTEND_TAINT_RULES_H
#define MUSTER_FRONTEND_TAINT_RULES_H

#include "frontend/base/env.h"

struct taint_rules;

struct taint_rules *taint_rules_new(const struct env *env);
void taint_rules_free(struct taint_rules *t); /* NULL: nothing */

/* Lists one of them, now and each ten minutes until there is one.  Without the right to list them,
 * and where they are not served, it is quiet.  Returns the time of the next call. */
uint64_t taint_rules_poll(struct taint_rules *t);

#endif
