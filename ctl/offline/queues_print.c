/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl queues: what each queue has once everything pending in files was placed. */
#include "ctl/offline/offline.h"
#include "ctl/offline/queues_impl.h"
#include "ctl/offline/queues_row.h"
#include "ctl/offline/simulate.h"
#include "ctl/term/print.h"
#include "ctl/term/table.h"
#include "ipc/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What waits and runs in a queue itself: gangs and lone pods. */
struct counts {
	uint32_t waits, runs;
	/* The first of those that wait: by priority, age and name. */
	const char *first;
	const char *why;
	int32_t priority;
	uint64_t created_ns;
};

static void count(struct counts *c, const char *name, bool runs, const char *why, int32_t priority,
                  uint64_t created_ns)
{
	c->runs += runs;
	c->waits += !runs;
	if (runs || (c->first != NULL && priority < c->priority))
		return;
	if (c->first != NULL && priority == c->priority &&
	    (created_ns > c->created_ns || (created_ns == c->created_ns && strcmp(name, c->first) > 0)))
		return;
	c->first = name;
	c->why = why;
	c->priority = priority;
	c->created_ns = created_ns;
}

static struct counts *counts_of(struct counts *all, const struct queues *q, const char *name)
{
	for (uint32_t i = 0; name != NULL && i < q->set.n; i++)
		if (strcmp(q->defs[i].name, name) == 0)
			return &all[i];
	return NULL;
}

struct counting {
	struct counts *all;
	const struct offline *offline;
};

/* Lone pods that had a node before; those placed now are among the placements. */
static void count_running(void *context, const struct pod_view *pod)
{
	struct counting *k = context;
	const struct queues *q = offline_queues(k->offline);
	struct counts *c = counts_of(k->all, q, queues_named(q, pod->id));

	if (c != NULL && pod->gang_id == ID_NONE && pod->node[0] != '\0')
		c->runs++;
}

static struct counts *counts_find(const struct simulation *s, const struct offline *o)
{
	const struct queues *q = offline_queues(o);
	struct counts *all = must_array(q->set.n, sizeof(*all)), *c;

	for (size_t i = 0; i < s->gangs_n; i++) {
		const struct gang_result *g = &s->gangs[i];

		if (g->members > 0 && (c = counts_of(all, q, g->queue)) != NULL)
			count(c, g->gang, g->state == GANG_PLACED || g->state == GANG_BINDING,
			      g->reason != NULL ? g->reason : "", g->priority, g->created_ns);
	}
	for (size_t i = 0; i < s->placements_n; i++) {
		const struct placement *p = &s->placements[i];

		if (p->gang == NULL && (c = counts_of(all, q, p->queue)) != NULL)
			count(c, p->pod, p->node != NULL, p->reason != NULL ? p->reason : "", p->priority,
			      p->created_ns);
	}
	model_each_pod(s->model, count_running, &(struct counting){ all, o });
	return all;
}

char *queues_path(const struct queues *q, uint32_t queue)
{
	char *parent, *path;

	if (queue == 0)
		return must_copy("root");
	parent = queues_path(q, q->defs[queue].parent);
	path = ctl_print("%s/%s", parent, q->defs[queue].name);
	free(parent);
	return path;
}

static const char *state_name(uint8_t state)
{
	return state == QUEUE_OPEN ? "Open" : state == QUEUE_CLOSING ? "Closing" : "Closed";
}

/* All that the queue uses above its guarantees, in parts of the cluster and its weight; below 0:
 * it has weight 0. */
static double share_of(const struct shares *s, uint32_t queue)
{
	struct share_ask ask = { 0 };
	share_t over;

	for (uint32_t r = 0; r < shares_set(s)->resources; r++)
		share_ask_add(&ask, r, shares_total(s, r));
	over = shares_over(s, queue, &ask);
	return over == SHARE_INFINITE ? -1 : (double)over / (double)SHARE_ONE;
}

enum { ROW_GUARANTEE, ROW_RESERVED, ROW_LIMIT, ROW_USED, ROW_BORROWS, ROWS };

/* Of one resource; false: there is nothing to say. */
static bool row_value(const struct shares *s, uint32_t q, uint32_t r, int row, int64_t *out)
{
	const wide used = shares_used(s, q, r), has = shares_guarantee(s, q, r);

	switch (row) {
	case ROW_GUARANTEE:
		*out = q == 0 ? 0 : (int64_t)has;
		break;
	case ROW_RESERVED:
		*out = shares_reserved(s, q, r);
		break;
	case ROW_LIMIT:
		*out = shares_limit(s, q, r);
		return *out != QUEUE_NO_LIMIT;
	case ROW_USED:
		*out = wide_cut(used);
		break;
	default:
		*out = wide_cut(used > has ? used - has : 0);
	}
	return *out != 0;
}

static void row_json(cJSON *o, const char *name, const struct shares *s, const struct model *model,
                     uint32_t q, int row)
{
	cJSON *amounts = json_checked(cJSON_AddObjectToObject(o, name));
	int64_t value;

	for (uint32_t r = 0; r < shares_set(s)->resources; r++)
		if (row_value(s, q, r, row, &value))
			json_add_number(amounts, model_name(model, r), value);
}

void queues_add_share(cJSON *o, double share)
{
	char number[40];

	if (share < 0) {
		json_checked(cJSON_AddNullToObject(o, "share"));
		return;
	}
	snprintf(number, sizeof(number), "%.15g", (double)(int64_t)(share * 1e6 + 0.5) / 1e6);
	json_checked(cJSON_AddRawToObject(o, "share", number));
}

static cJSON *queue_json(const struct queues *q, const struct shares *s, const struct model *model,
                         uint32_t i, const struct counts *c)
{
	static const char *const rows[ROWS] = { "guarantee", "reserved", "limit", "used", "borrows" };
	cJSON *o = json_checked(cJSON_CreateObject());
	const double share = share_of(s, i);
	char *path = queues_path(q, i);

	json_add_text(o, "queue", path);
	free(path);
	json_add_text(o, "source", queues_source(q));
	json_add_text(o, "state", state_name(q->defs[i].state));
	for (int row = 0; row < ROWS; row++)
		row_json(o, rows[row], s, model, i, row);
	json_checked(cJSON_AddBoolToObject(o, "scaled", shares_scaled(s, i)));
	queues_add_share(o, share);
	json_add_number(o, "waiting", c->waits);
	json_add_number(o, "placed", c->runs);
	if (c->first != NULL) {
		json_add_text(o, "first", c->first);
		json_add_text(o, "reason", c->why);
	}
	return o;
}

static void print_queues(const struct queues *q, const struct shares *s, const struct model *model,
                         const struct counts *all, enum output output)
{
	struct text_table *t = text_table_new("LLLLLLRRRL");
	char *cells[QUEUES_CELLS] = { NULL };

	for (const char *const *head = queues_heads; *head != NULL; head++)
		text_table_cell(t, "%s", *head);
	for (uint32_t i = 0; i < q->set.n; i++) {
		cJSON *item = queue_json(q, s, model, i, &all[i]);

		queues_row(item, false, cells);
		for (size_t k = 0; queues_heads[k] != NULL; k++) {
			text_table_cell(t, "%s", cells[k]);
			free(cells[k]);
		}
		cJSON_Delete(item);
	}
	text_table_fit(t, output, queues_spare);
	text_table_print(t, stdout);
	text_table_free(t);
}

static int show(enum output output, const struct queues *q, struct offline *offline)
{
	const struct shares *s = core_shares(offline_core(offline));
	const struct model *model = offline_model(offline);
	struct simulation *placed = simulation_new(offline);
	struct counts *all = counts_find(placed, offline);

	if (output == OUTPUT_JSON) {
		fputs("{\"queues\": [", stdout);
		for (uint32_t i = 0; i < q->set.n; i++)
			json_print_line(queue_json(q, s, model, i, &all[i]), i == 0);
		fputs("]}\n", stdout);
	} else {
		print_queues(q, s, model, all, output);
	}
	free(all);
	simulation_free(placed);
	return EXIT_DONE;
}

int queues_files(const struct arguments *paths, const char *source,
                 const struct arguments *unshared, uint32_t evicts, bool order, enum output output,
                 const char *command)
{
	const struct offline_config config = { .score = SCORE_KUBE,
		                                   .pack_steps = OFFLINE_PACK_STEPS,
		                                   .reads_devices = evicts == 0,
		                                   .evicts = evicts };
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	struct queues *q = NULL;
	char error[2048];
	int rc;

	if (offline_read(offline, files, paths->at, paths->n, error, sizeof(error)) &&
	    (q = queues_read(source, unshared, files, error, sizeof(error))) != NULL) {
		offline_use_queues(offline, q);
		if (offline_place(offline, error, sizeof(error))) {
			offline_say(offline, files, command);
			rc = order ? queues_order(output, q, offline) : show(output, q, offline);
		} else {
			rc = ctl_usage(command, "%s", error);
		}
	} else {
		rc = ctl_usage(command, "%s", error);
	}
	offline_free(offline);
	queues_free(q);
	files_free(files);
	return rc;
}
