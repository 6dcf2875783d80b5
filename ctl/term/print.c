/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/print.h"

#include "ctl/term/ctl.h"
#include "ctl/term/former.h"
#include "ctl/term/units.h"
#include "ipc/clean.h"

#include <inttypes.h>
#include <stdio.h>

cJSON *json_checked(cJSON *node)
{
	if (node == NULL)
		fatal_memory();
	return node;
}

void json_add_number(cJSON *object, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	json_checked(cJSON_AddRawToObject(object, name, text));
}

void json_add_text(cJSON *object, const char *name, const char *value)
{
	json_checked(cJSON_AddStringToObject(object, name, value));
}

void json_print(cJSON *object, bool indented)
{
	char *text;

	json_add_former(object);
	text = indented ? cJSON_Print(object) : cJSON_PrintUnformatted(object);
	if (text == NULL)
		fatal_memory();
	clean_lines(text);
	puts(text);
	cJSON_free(text);
	cJSON_Delete(object);
}

void json_print_line(cJSON *object, bool first)
{
	char *text;

	json_add_former(object);
	text = cJSON_PrintUnformatted(object);
	if (text == NULL)
		fatal_memory();
	clean_lines(text);
	printf("%s\n  %s", first ? "" : ",", text);
	cJSON_free(text);
	cJSON_Delete(object);
}

void json_add_shortfalls(cJSON *object, const struct reason *reason, bool units,
                         const char *(*name)(const void *context, uint32_t id), const void *context)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(object, "shortfall"));

	for (uint32_t i = 0; i < reason->shortfalls_n && i < SHORTFALLS_MAX; i++) {
		const struct shortfall *s = &reason->shortfalls[i];
		cJSON *item = json_checked(cJSON_CreateObject());

		json_add_text(item, "resource", name(context, s->resource));
		if (units)
			json_add_text(item, "unit", units_of(s->resource, name(context, s->resource)));
		json_add_number(item, "need", s->need);
		json_add_number(item, "have", s->have);
		cJSON_AddItemToArray(list, item);
	}
}
