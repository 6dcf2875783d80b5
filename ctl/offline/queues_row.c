/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/queues_row.h"

#include "ctl/term/ctl.h"
#include "ctl/term/units.h"
#include "ipc/abi.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

const char *const queues_heads[] = { "NAME",  "SOURCE", "STATE", "GUARANTEE", "USED", "LIMIT",
	                                 "SHARE", "WAITS",  "RUNS",  "FIRST",     NULL };

const char queues_spare[] = "0134652070"; /* last: how many run, and what is used */

static const char *field_text(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);

	return value != NULL && value->valuestring != NULL ? value->valuestring : "-";
}

static uint32_t resource_of(const char *name)
{
	return strcmp(name, "cpu") == 0                 ? RESOURCE_CPU
	       : strcmp(name, "memory") == 0            ? RESOURCE_MEMORY
	       : strcmp(name, "ephemeral-storage") == 0 ? RESOURCE_EPHEMERAL
	       : strcmp(name, "pods") == 0              ? RESOURCE_PODS
	                                                : RESOURCE_EXTENDED;
}

/* Pods are in JSON. */
static char *amounts_text(const cJSON *item, const char *field)
{
	const cJSON *amounts = cJSON_GetObjectItemCaseSensitive(item, field), *value;
	char *text = must_copy(""), amount[64];

	cJSON_ArrayForEach(value, amounts)
	{
		const uint32_t r = resource_of(value->string);
		char *longer;

		if (r == RESOURCE_PODS || value->valuestring == NULL)
			continue;
		longer = ctl_print("%s%s%s=%s", text, text[0] ? "," : "", value->string,
		                   units_amount(r, value->string, strtoll(value->valuestring, NULL, 10),
		                                amount, sizeof(amount)));
		free(text);
		text = longer;
	}
	if (text[0] != '\0')
		return text;
	free(text);
	return must_copy("-");
}

void queues_row(const cJSON *item, bool more, char **cells)
{
	const bool scaled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "scaled"));
	const char *reason = field_text(item, "reason"), *share = field_text(item, "share");
	char *guarantee = amounts_text(item, "guarantee");

	cells[0] = must_copy(field_text(item, "queue"));
	cells[1] = must_copy(field_text(item, "source"));
	cells[2] = must_copy(field_text(item, "state"));
	cells[3] = ctl_print("%s%s", guarantee, scaled ? " (scaled)" : "");
	free(guarantee);
	cells[4] = amounts_text(item, "used");
	cells[5] = amounts_text(item, "limit");
	cells[6] = strcmp(share, "-") == 0 ? must_copy("-") : ctl_print("%.2f", strtod(share, NULL));
	cells[7] = must_copy(field_text(item, "waiting"));
	cells[8] = must_copy(field_text(item, "placed"));
	cells[9] = ctl_print("%s%s%s", field_text(item, "first"), strcmp(reason, "-") == 0 ? "" : ": ",
	                     strcmp(reason, "-") == 0 ? "" : reason);
	if (!more)
		return;
	cells[10] = amounts_text(item, "reserved");
	cells[11] = amounts_text(item, "asked");
	cells[12] = amounts_text(item, "borrows");
	cells[13] = amounts_text(item, "history");
	cells[14] = ctl_print("%ss", field_text(item, "min_run_s"));
	cells[15] = strcmp(field_text(item, "max_run_s"), "0") == 0
	                ? must_copy("-")
	                : ctl_print("%ss", field_text(item, "max_run_s"));
}
