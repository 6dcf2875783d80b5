/* SPDX-License-Identifier: Apache-2.0 */
/* A client certificate that signs itself, and its key, in two files. */
#ifndef MUSTER_TESTS_SUPPORT_PAIR_H
#define MUSTER_TESTS_SUPPORT_PAIR_H

/* Another one each time.  Either path may be NULL: that one is thrown away. */
void pair_write(const char *cert_path, const char *key_path);

#endif
