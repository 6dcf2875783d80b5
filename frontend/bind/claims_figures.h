/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MUSTER_FRONTEND_CLAIMS_FIGURES_H
#define MUSTER_FRONTEND_CLAIMS_FIGURES_H

#include "frontend/bind/claim_bind.h"

struct claims_figures {
	uint64_t writing; /* claims without an allocation, of pods for which one is written */
	uint64_t undoing; /* allocated claims of pods whose writes are taken back */
};

void claims_figures_read(struct claims_figures *out, const struct claim_bind *cb);

#endif
