/* SPDX-License-Identifier: Apache-2.0 */
/* Zone labels of volumes, as the plugin VolumeZone reads them. */
#include "frontend/volume/volume_impl.h"

#include <string.h>

#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"
#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"

/* A label of a volume, and the stable label that replaces it on a node that lacks the beta one. */
static const struct {
	const char *key;
	const char *stable; /* NULL: `key` is it */
} zone_keys[] = {
	{ BETA_ZONE, ZONE },
	{ BETA_REGION, REGION },
	{ ZONE, NULL },
	{ REGION, NULL },
};

static struct text trimmed(struct text t)
{
	while (t.bytes > 0 && strchr(" \t\r\n", t.at[0]))
		t = (struct text){ t.at + 1, t.bytes - 1 };
	while (t.bytes > 0 && strchr(" \t\r\n", t.at[t.bytes - 1]))
		t.bytes--;
	return t;
}

/* "a__b" is the set of a and b; false if one is empty: then the label is ignored. */
static bool zones_of(struct arena *arena, struct text label, struct texts *out)
{
	const char *end = label.at + label.bytes, *next;

	for (const char *at = label.at;; at = next + 2) {
		struct text zone;

		next = memmem(at, (size_t)(end - at), "__", 2);
		zone = trimmed((struct text){ at, (size_t)((next ? next : end) - at) });
		if (zone.bytes == 0)
			return false;
		*EXTRACT_ADD(arena, out->at, out->n, out->cap) = zone;
		if (!next)
			return true;
	}
}

static void rule_zone(struct arena *arena, size_t key, struct texts zones, struct pod_storage *out)
{
	struct volume_rule_object *rule = volume_rule_add(arena, out, FILTER_VOLUME_ZONE);
	struct text name = text_of(zone_keys[key].key);
	struct node_term *term;

	volume_clause_add(arena, volume_term_add(arena, rule), name, REQUIRE_IN, zones.at, zones.n);
	if (zone_keys[key].stable) {
		term = volume_term_add(arena, rule);
		volume_clause_add(arena, term, name, REQUIRE_NOT_EXISTS, NULL, 0);
		volume_clause_add(arena, term, text_of(zone_keys[key].stable), REQUIRE_IN, zones.at,
		                  zones.n);
	}
	/* A node without any such label passes (volumezone.Filter). */
	term = volume_term_add(arena, rule);
	for (size_t k = 0; k < sizeof(zone_keys) / sizeof(zone_keys[0]); k++)
		volume_clause_add(arena, term, text_of(zone_keys[k].key), REQUIRE_NOT_EXISTS, NULL, 0);
}

void volume_zone_rules(struct arena *arena, const struct pv_object *pv, struct pod_storage *out)
{
	for (size_t k = 0; k < sizeof(zone_keys) / sizeof(zone_keys[0]); k++) {
		const struct text *label = pairs_find(&pv->labels, zone_keys[k].key);
		struct texts zones = { NULL, 0, 0 };

		if (label && zones_of(arena, *label, &zones))
			rule_zone(arena, k, zones, out);
	}
}
