/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/queues/unshared.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const of_kubernetes[] = { "cpu", "memory", "ephemeral-storage", "pods" };

/* As Kubernetes has names of resources: its own, or DOMAIN/NAME. */
static bool is_name(const char *text)
{
	const char *slash = strchr(text, '/');

	for (size_t i = 0; i < sizeof(of_kubernetes) / sizeof(*of_kubernetes); i++)
		if (strcmp(text, of_kubernetes[i]) == 0)
			return true;
	if (strncmp(text, "hugepages-", 10) != 0 && (!slash || slash == text || strchr(slash + 1, '/')))
		return false;
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_./", *at))
			return false;
	return isalnum((unsigned char)text[strlen(text) - 1]);
}

bool unshared_check(const char *resource, char *why, size_t why_bytes)
{
	if (is_name(resource))
		return true;
	snprintf(why, why_bytes,
	         "no resource: there are cpu, memory, ephemeral-storage, pods, hugepages-SIZE, and "
	         "extended ones as DOMAIN/NAME");
	return false;
}

uint64_t unshared_bits(const char *const *names, size_t n,
                       uint32_t (*find)(const void *context, const char *resource),
                       const void *context)
{
	static const char *const defaults[] = { "pods", "ephemeral-storage" }; /* UNSHARED_DEFAULT */
	uint64_t bits = 0;

	if (!names) {
		names = defaults;
		n = sizeof(defaults) / sizeof(*defaults);
	}
	for (size_t i = 0; i < n; i++) {
		const uint32_t r = find(context, names[i]);

		bits |= r < 64 ? UINT64_C(1) << r : 0;
	}
	return bits;
}
