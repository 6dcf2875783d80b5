/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 of kubeconfigs: the standard alphabet, padded. */
#ifndef MUSTER_FRONTEND_BASE64_H
#define MUSTER_FRONTEND_BASE64_H

#include <stddef.h>

/* Decodes; white space is ignored. `out` has space for strlen(text) bytes. 0, or -EINVAL. */
int base64_decode(const char *text, char *out, size_t *bytes);

#endif
