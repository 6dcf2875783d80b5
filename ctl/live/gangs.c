/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl gangs: state of each gang and why it waits. */
#include "ctl/live/live.h"
#include "ctl/term/print.h"
#include "ctl/live/rows.h"
#include "ctl/term/units.h"
#include "frontend/dialect/dialects.h"
#include "ipc/order.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dialect_text(uint32_t dialect)
{
	return dialect < dialects_n ? dialects[dialect]->name : "unknown";
}

/* Places in the scheduling queue, by the key with which the core orders it. */
static bool is_queued(const struct gang_row *row)
{
	return row->placement == GANG_WAITING;
}

static int queue_order(const void *a, const void *b)
{
	const struct gang_copy *x = *(const struct gang_copy *const *)a;
	const struct gang_copy *y = *(const struct gang_copy *const *)b;
	const struct gang_key left = { .band = x->row.band,
		                           .priority = x->row.priority,
		                           .age_ns = x->row.created_ns };
	const struct gang_key right = { .band = y->row.band,
		                            .priority = y->row.priority,
		                            .age_ns = y->row.created_ns };
	const int order = gang_key_compare(&left, &right);

	return order != 0 ? order : strcmp(x->name, y->name);
}

/* positions[i] of gangs->at[i], from 1; 0: it is not in the queue.  To be freed. */
static size_t *positions_find(const struct gangs *gangs)
{
	const struct gang_copy **queue = must_array(gangs->n + 1, sizeof(*queue));
	size_t *positions = must_array(gangs->n + 1, sizeof(*positions)), n = 0;

	for (size_t i = 0; i < gangs->n; i++)
		if (is_queued(&gangs->at[i].row))
			queue[n++] = &gangs->at[i];
	if (n > 1)
		qsort(queue, n, sizeof(*queue), queue_order);
	for (size_t i = 0; i < n; i++)
		positions[queue[i] - gangs->at] = i + 1;
	free(queue);
	return positions;
}

static int64_t seconds_since(uint64_t ns, uint64_t now_ns)
{
	return ns != 0 && ns < now_ns ? (int64_t)((now_ns - ns) / UINT64_C(1000000000)) : 0;
}

static cJSON *item_of(const struct live *l, const struct gang_copy *g, size_t position)
{
	cJSON *o = json_checked(cJSON_CreateObject());
	const uint64_t now = live_wall_ns();

	json_add_text(o, "gang", g->name);
	json_add_text(o, "dialect", dialect_text(g->row.dialect));
	json_add_number(o, "quorum", g->row.quorum);
	json_add_number(o, "members", g->row.members);
	json_add_number(o, "placed", g->row.bound);
	json_add_number(o, "succeeded", g->row.succeeded);
	json_add_number(o, "failed", g->row.failed);
	json_add_text(o, "state", gang_state_text(g->row.state));
	json_add_text(o, "formerState", gang_state_former(g->row.state, g->row.placement));
	json_add_number(o, "priority", g->row.priority);
	json_add_number(o, "age_s", (int64_t)(rows_gang_age_ns(g, now) / UINT64_C(1000000000)));
	/* muster has no queues of its own and promises no start. */
	json_checked(cJSON_AddNullToObject(o, "queue"));
	if (position > 0)
		json_add_number(o, "position", (int64_t)position);
	else
		json_checked(cJSON_AddNullToObject(o, "position"));
	if (g->row.waiting_since_ns > 0)
		json_add_number(o, "waited_s", seconds_since(g->row.waiting_since_ns, now));
	else
		json_checked(cJSON_AddNullToObject(o, "waited_s"));
	json_checked(cJSON_AddNullToObject(o, "start"));
	if (rows_gang_waits(g)) {
		char *reason = live_reason(l, g);

		json_add_text(o, "reason", reason);
		json_add_shortfalls(o, &g->row.reason, live_name, l);
		free(reason);
	}
	return o;
}

static const char *text_of(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);

	return value != NULL && value->valuestring != NULL ? value->valuestring : "-";
}

static char *age_of(const cJSON *item, const char *field)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, field);
	char text[32];

	if (value == NULL || value->valuestring == NULL)
		return must_copy("-");
	return must_copy(units_age(strtoull(value->valuestring, NULL, 10) * UINT64_C(1000000000), text,
	                           sizeof(text)));
}

static void row_of(const cJSON *item, bool wide, char **cells)
{
	static const char *const fields[] = { "gang",    "state",     "position", "quorum", "members",
		                                  "placed",  "priority",  NULL,       NULL,     "reason",
		                                  "dialect", "succeeded", "failed" };
	const size_t n = sizeof(fields) / sizeof(fields[0]) - (wide ? 0 : 3);

	for (size_t i = 0; i < n; i++)
		if (fields[i] != NULL)
			cells[i] = must_copy(text_of(item, fields[i]));
	cells[7] = age_of(item, "age_s");
	cells[8] = age_of(item, "waited_s");
	if (strcmp(cells[9], "-") == 0 && !wide)
		cells[9][0] = '\0';
}

static const struct list_kind kind = {
	.items = "gangs",
	.name = "gang",
	.ignored = (const char *const[]){ "age_s", "waited_s", NULL },
	.row = row_of,
	.heads = (const char *const[]){ "GANG", "STATE", "POSITION", "QUORUM", "MEMBERS", "PLACED",
	                                "PRIORITY", "AGE", "WAITED", "REASON", NULL },
	.wide_heads = (const char *const[]){ "DIALECT", "SUCCEEDED", "FAILED", NULL },
	.right = "LLRRRRRRRLLRR",
};

static bool is_wanted(const struct live *l, const struct gang_copy *g, const char *wanted)
{
	const size_t n = l->namespace != NULL && !l->all_namespaces ? strlen(l->namespace) : 0;

	if (wanted != NULL)
		return strcmp(wanted, g->name) == 0;
	if (l->state != NULL && g->row.state != gang_state_find(l->state))
		return false;
	return n == 0 || (strncmp(g->name, l->namespace, n) == 0 && g->name[n] == '/');
}

static cJSON *list(struct live *l, const char *wanted)
{
	struct gangs gangs = rows_gangs(&l->observer, NULL), one = { 0 };
	size_t *positions = positions_find(&gangs);
	cJSON *items = json_checked(cJSON_CreateArray());

	for (size_t i = 0; i < gangs.n; i++)
		if (is_wanted(l, &gangs.at[i], wanted))
			cJSON_AddItemToArray(items, item_of(l, &gangs.at[i], positions[i]));
	/* A group without a member of ours is shown by its name. */
	if (wanted != NULL && items->child == NULL)
		one = rows_gangs(&l->observer, wanted);
	for (size_t i = 0; i < one.n; i++)
		cJSON_AddItemToArray(items, item_of(l, &one.at[i], 0));
	if (wanted != NULL && items->child == NULL) {
		fprintf(stderr, "%s: no gang named %s\n", l->command, wanted);
		cJSON_Delete(items);
		items = NULL;
	}
	free(positions);
	free(gangs.at);
	free(one.at);
	return items;
}

static int show(struct live *l, const char *argument)
{
	char *wanted = NULL;
	int rc;

	if (l->state != NULL && gang_state_find(l->state) == GANG_STATES)
		return ctl_usage(l->command,
		                 "--state %s: Pending, Waiting, Binding, Running, Degraded, "
		                 "Failed and Finished are what there is",
		                 l->state);
	if (argument != NULL)
		wanted =
			strchr(argument, '/') != NULL
				? must_copy(argument)
				: ctl_print("%s/%s", l->namespace != NULL ? l->namespace : "default", argument);
	rc = live_list(l, &kind, wanted, list);
	free(wanted);
	return rc;
}

static const struct flag flags[] = {
	FLAG_SOCKET(struct live, socket),
	{ "namespace", 'n', "-n, --namespace NAMESPACE", "only its gangs", NULL, option_text,
	  offsetof(struct live, namespace) },
	{ "all-namespaces", 'A', "-A, --all-namespaces", "of all namespaces (default)", NULL, NULL,
	  offsetof(struct live, all_namespaces) },
	{ "state", 0, "--state STATE", "only gangs in that state",
	  "pending|waiting|binding|running|degraded|failed|finished", option_text,
	  offsetof(struct live, state) },
	LIST_FLAGS(struct live, list),
	{ 0 },
};

static int run(int argc, char **argv)
{
	return live_run(&gangs_command, argc, argv, show);
}

const struct command gangs_command = {
	.name = "gangs",
	.summary = "its gangs, and why they wait",
	.usage = "[NAMESPACE/GANG] [-n NAMESPACE | -A] [--state STATE] [-o FORM] [--sort-by .FIELD]\n"
			 "                [--no-headers] [-w] [--socket PATH]",
	.about =
		"The gangs of the live scheduler: the state of each one and why it waits; its position\n"
		"in the queue and for how long it has waited for capacity. With a name: that gang\n"
		"alone; a name without a namespace is of -n, else of default.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.argument = "NAMESPACE/GANG",
	.arguments_max = 1,
	.run = run,
};
