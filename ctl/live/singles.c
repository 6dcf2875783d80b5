/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl gangs --singles: pods without a gang, of an API server. */
#include "ctl/live/cluster.h"
#include "ctl/live/live.h"
#include "ctl/term/units.h"

#include <stdlib.h>
#include <string.h>

static void row_of(const cJSON *item, bool wide, char **cells)
{
	static const char *const fields[] = { "pod", "node", "stage", NULL, "reason" };
	const cJSON *age = cJSON_GetObjectItemCaseSensitive(item, "age_s");
	char text[32] = "-";

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *value =
			fields[i] ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, fields[i]))
					  : NULL;

		if (fields[i] != NULL)
			cells[i] = must_copy(value != NULL && *value ? value : i == 4 ? "" : "-");
	}
	if (age != NULL && age->valuestring != NULL)
		units_age(strtoull(age->valuestring, NULL, 10) * UINT64_C(1000000000), text, sizeof(text));
	cells[3] = must_copy(text);
}

static cJSON *list(struct live *l, const char *wanted)
{
	return cluster_singles(l->cluster);
}

static const struct list_kind kind = {
	.items = "pods",
	.name = "pod",
	.ignored = (const char *const[]){ "age_s", NULL },
	.optional = (const char *const[]){ "reason", NULL },
	.row = row_of,
	.heads = (const char *const[]){ "POD", "NODE", "STAGE", "AGE", "REASON", NULL },
	.wide_heads = (const char *const[]){ NULL },
	.right = "LLLRL",
};

int singles_show(struct live *l)
{
	return live_list(l, &kind, NULL, list);
}
