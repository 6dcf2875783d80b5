/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl queues --order: whose turn comes next among the gangs that wait. */
#include "core/cycle/turn_order.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/offline_impl.h"
#include "ctl/offline/queues_impl.h"
#include "ctl/term/table.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN 20u

/* "namespace/name", to be freed. */
static char *name_of(const struct queues *q, const struct offline *o, const struct turn *t)
{
	struct gang_view gang;

	if (t->gang >= o->limits.gangs)
		return must_copy(queues_pod_name(q, t->gang - o->limits.gangs));
	if (model_gang(o->model, t->gang, t->generation, &gang))
		return ctl_print("%s/%s", gang.namespace, gang.name);
	return must_copy("");
}

static cJSON *turn_json(const struct queues *q, const struct offline *o, const struct turn *t,
                        uint32_t number)
{
	cJSON *item = json_checked(cJSON_CreateObject());
	char *name = name_of(q, o, t), *path = queues_path(q, t->queue);

	json_add_number(item, "turn", number);
	json_add_text(item, "gang", name);
	json_add_text(item, "queue", path);
	json_add_number(item, "priority", t->priority);
	json_checked(cJSON_AddBoolToObject(item, "inside", t->inside));
	json_checked(cJSON_AddBoolToObject(item, "extra", t->extra));
	queues_add_share(item, t->share == SHARE_INFINITE ? -1 : (double)t->share / (double)SHARE_ONE);
	free(name);
	free(path);
	return item;
}

static const char *text_at(const cJSON *item, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(item, key)->valuestring; /* numbers are raw */
}

static void print_row(struct text_table *table, const cJSON *item, const struct turn *t)
{
	text_table_cell(table, "%s", text_at(item, "turn"));
	text_table_cell(table, "%s", text_at(item, "gang"));
	text_table_cell(table, "%s", text_at(item, "queue"));
	text_table_cell(table, "%d", t->priority);
	text_table_cell(table, "%s", t->share == SHARE_INFINITE ? "-" : text_at(item, "share"));
	text_table_cell(table, "%s",
	                t->extra    ? "beyond its quorum"
	                : t->inside ? "guarantee"
	                            : "share");
}

int queues_order(enum output output, const struct queues *q, struct offline *o)
{
	static const char *const heads[] = { "TURN", "GANG", "QUEUE", "PRIORITY", "SHARE", "BY" };
	struct text_table *table = text_table_new("RLLRRL");
	struct turn turns[SHOWN];
	const uint32_t n = turn_order(offline_core(o), turns, SHOWN);

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		text_table_cell(table, "%s", heads[i]);
	if (output == OUTPUT_JSON)
		fputs("{\"order\": [", stdout);
	for (uint32_t i = 0; i < n; i++) {
		cJSON *item = turn_json(q, o, &turns[i], i + 1);

		if (output == OUTPUT_JSON) {
			json_print_line(item, i == 0);
			continue;
		}
		print_row(table, item, &turns[i]);
		cJSON_Delete(item);
	}
	if (output == OUTPUT_JSON)
		fputs("]}\n", stdout);
	text_table_fit(table, output, NULL);
	if (output != OUTPUT_JSON)
		text_table_print(table, stdout);
	text_table_free(table);
	return EXIT_DONE;
}
