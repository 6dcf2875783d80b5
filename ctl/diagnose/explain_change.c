/* SPDX-License-Identifier: Apache-2.0 */
/* explain --add-node and --priority: whether the gang starts with the change, and where. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/term/print.h"
#include "ipc/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_SHOWN 10u

struct place {
	const char *node;
	uint32_t members;
};

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return strcmp(x->node, y->node);
}

/* Nodes of the members that were placed here, by name; to be freed. */
static struct place *places_of(const struct explanation *x, size_t *n)
{
	const struct simulation *answers = x->now.answers;
	struct place *places = must_array(answers->placements_n + 1, sizeof(*places));
	size_t all = 0;

	*n = 0;
	for (size_t i = 0; i < answers->placements_n; i++) {
		const struct placement *p = &answers->placements[i];

		if (p->node != NULL && p->gang != NULL && strcmp(p->gang, x->result->gang) == 0)
			places[all++] = (struct place){ p->node, 1 };
	}
	if (all > 1)
		qsort(places, all, sizeof(*places), place_compare);
	for (size_t i = 0; i < all; i++) {
		if (*n > 0 && strcmp(places[*n - 1].node, places[i].node) == 0)
			places[*n - 1].members++;
		else
			places[(*n)++] = places[i];
	}
	return places;
}

static void print_with(const struct change *c)
{
	fputs("\nWith ", stdout);
	if (c->like != NULL)
		ctl_say("%" PRIu32 " more node%s like %s", c->nodes, c->nodes == 1 ? "" : "s",
		        c->like->name);
	if (c->favoured != NULL)
		printf("%spriority %" PRId32, c->like != NULL ? " and " : "", c->priority);
}

void explain_answer_print(const struct explanation *x, bool starts)
{
	print_with(x->change);
	if (!starts)
		puts(" it waits.");
	else if (x->starts_without)
		puts(" it starts, as it does without.");
	else
		puts(" it starts; without, it waits.");
}

void explain_change_print(const struct explanation *x)
{
	const bool starts = x->result->state == GANG_PLACED;
	size_t n;
	struct place *places;

	explain_answer_print(x, starts);
	if (!starts)
		return;
	places = places_of(x, &n);
	for (size_t i = 0; i < n && i < PLACES_SHOWN; i++)
		ctl_say("  %s: %" PRIu32 "\n", places[i].node, places[i].members);
	if (n > PLACES_SHOWN)
		printf("  and %zu nodes more\n", n - PLACES_SHOWN);
	free(places);
}

static void json_change(cJSON *list, const char *text)
{
	cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(text)));
}

void explain_answer_json(cJSON *o, const struct explanation *x, bool starts)
{
	const struct change *c = x->change;
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "what_if"));
	char *text;

	if (c->like != NULL) {
		text = ctl_print("nodes=%" PRIu32 "x%s", c->nodes, c->like->name);
		json_change(list, text);
		free(text);
	}
	if (c->favoured != NULL) {
		text = ctl_print("priority=%" PRId32, c->priority);
		json_change(list, text);
		free(text);
	}
	json_add_text(o, "answer", starts ? "starts" : "waits");
	json_checked(cJSON_AddBoolToObject(o, "starts_without", x->starts_without));
}

void explain_change_json(cJSON *o, const struct explanation *x)
{
	size_t n;
	struct place *places = places_of(x, &n);
	cJSON *places_json;

	explain_answer_json(o, x, x->result->state == GANG_PLACED);
	places_json = json_checked(cJSON_AddArrayToObject(o, "places"));
	for (size_t i = 0; i < n; i++) {
		cJSON *place = json_checked(cJSON_CreateObject());

		json_add_text(place, "node", places[i].node);
		json_add_number(place, "members", places[i].members);
		cJSON_AddItemToArray(places_json, place);
	}
	free(places);
}
