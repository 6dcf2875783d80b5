/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of records: appended part by part into m->body.
 *
 * Functions that intern texts take references, which the record's release function returns. */
#ifndef MUSTER_FRONTEND_MODEL_BODY_H
#define MUSTER_FRONTEND_MODEL_BODY_H

#include "frontend/model/base/state.h"

void body_start(struct body *b);
/* Append.  NULL: a body that gets too long is marked and not written to any more. */
void *body_add(struct body *b, const void *bytes, size_t n);
void body_pad(struct body *b);
/* A copy of the body, for free(). */
char *body_copy(const struct body *b);

/* Amounts of a ResourceList that a group asks for (columns.h), sorted, without zeros.
 *   -EINVAL  the body is too long
 *   -ENOSPC  some names found no space, with *flag; the others are in the body */
int body_amounts(struct model *m, struct body *b, const struct amount_text *list, size_t n,
                 uint32_t *added, const char **flag);
void amounts_release(struct model *m, const struct amount *amounts, uint32_t n);

#endif
