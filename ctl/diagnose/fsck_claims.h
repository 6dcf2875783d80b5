/* SPDX-License-Identifier: Apache-2.0 */
/* The API server's claims compared with its slices and with each other. */
#ifndef MUSTER_CTL_FSCK_CLAIMS_H
#define MUSTER_CTL_FSCK_CLAIMS_H

#include "ctl/term/options.h"
#include "frontend/api/kubeconfig.h"

#include <stdbool.h>
#include <stddef.h>

struct claims_finding {
	char *of, *what; /* struct devices_excess */
	char *claims;    /* "ns/a, ns/b"; "": of a counter */
};

struct claims_look {
	size_t devices, claims; /* claims: allocated ones */
	struct claims_finding *at;
	size_t n;
};

/* Lists slices and claims.  False and `error`. */
bool claims_look_take(const struct access_options *access, struct claims_look *out, char *error,
                      size_t error_bytes);
void claims_look_free(struct claims_look *look);

/* Keeps the findings that `earlier` has too: what is being taken back is none. */
void claims_look_confirm(struct claims_look *look, const struct claims_look *earlier);

void claims_look_print(const struct claims_look *look, enum output output);

#endif
