/* SPDX-License-Identifier: Apache-2.0 */
/* What pods, nodes and claims refer to: namespaces, services and controllers, policies,
 * objects of volumes, and ConfigMaps that describe no group.  The core has no room to run
 * out of for them, so they have a limit here: of each kind REFERRED_EACH for each pod of
 * --max-pods.  Names that pods give are always taken, there are no more of them than pods. */
#include "frontend/model/model_impl.h"
#include "frontend/volume/volume.h"

#include <errno.h>
#include <stdio.h>

#define REFERRED_EACH 4u
#define REFERRED_LEAST (1u << 16)

uint32_t referred_limit(const struct limits *l)
{
	uint64_t n = (uint64_t)REFERRED_EACH * l->pods;

	if (n < REFERRED_LEAST)
		return REFERRED_LEAST;
	return n < SLOT_NONE - 1 ? (uint32_t)n : SLOT_NONE - 1;
}

bool referred_fits(const struct model *m, const struct pool *p)
{
	return p->used <= referred_limit(&m->limits);
}

int referred_refuse(struct model *m, const struct meta *meta, struct decode_error *error)
{
	m->counts.limits_hit++;
	if (error) {
		extract_object_name(meta, error->object, sizeof(error->object));
		error->field[0] = '\0';
		snprintf(
			error->text, sizeof(error->text),
			"there is no room for more of its kind, the limit is %u: %u times --max-pods, and %u at least",
			referred_limit(&m->limits), REFERRED_EACH, REFERRED_LEAST);
	}
	return -ENOSPC;
}

uint64_t referred_count(const struct model *m)
{
	return (uint64_t)m->namespaces.used + m->owners.used + m->policies.used + m->hollows.used +
	       volumes_count(m->volumes);
}
