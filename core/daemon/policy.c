/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/policy.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	enum score_policy policy;
} policies[] = {
	{ "kube", SCORE_KUBE }, { "pack", SCORE_PACK },     { "bestfit", SCORE_BESTFIT },
	{ "fgd", SCORE_FGD },   { "muster", SCORE_MUSTER },
};
#define POLICIES_N (sizeof(policies) / sizeof(policies[0]))

const char *policy_name(enum score_policy policy)
{
	for (size_t i = 0; i < POLICIES_N; i++)
		if (policies[i].policy == policy)
			return policies[i].name;
	return NULL;
}

bool policy_find(const char *name, enum score_policy *out)
{
	for (size_t i = 0; i < POLICIES_N; i++) {
		if (strcmp(policies[i].name, name) != 0)
			continue;
		*out = policies[i].policy;
		return true;
	}
	return false;
}
