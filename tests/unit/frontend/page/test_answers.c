/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to the page of ledgers that no cluster would make, and the history. */
#include "frontend/page/answer.h"
#include "frontend/serve/metrics_impl.h"
#include "tests/unit/support_observer.h"

#include <cjson/cJSON.h>

static void *part(const struct observer *o, uint64_t offset)
{
	return (char *)o->link.ledger.base + offset;
}

static void put_gang(const struct observer *o, uint32_t id, enum gang_state state, uint64_t offset,
                     uint32_t bytes)
{
	struct gang_row *row = (struct gang_row *)part(o, o->places.gangs_offset) + id;

	row->generation = 1;
	row->state = state;
	row->members = id + 1;
	row->name_offset = offset;
	row->name_bytes = bytes;
	if (state == GANG_WAITING)
		row->reason.why = WAIT_MEMBERS;
}

static void put_node(const struct observer *o, uint32_t id, uint32_t flags, int64_t used,
                     int64_t allocatable, uint64_t offset, uint32_t bytes)
{
	struct node_row *row = (struct node_row *)part(o, o->places.nodes_offset) + id;
	struct node_amounts *amounts = part(o, o->places.amounts_offset);

	row->generation = 1;
	row->flags = flags;
	row->name_offset = offset;
	row->name_bytes = bytes;
	amounts[id].allocatable[RESOURCE_CPU] = allocatable;
	amounts[id].used[RESOURCE_CPU] = used;
}

static cJSON *write_answer(const struct observer *o, const struct question *q, struct jsonout *out)
{
	struct model_config config = { .limits = { .nodes = 16,
		                                       .pods = 16,
		                                       .gangs = 16,
		                                       .shapes = 16,
		                                       .names = 16,
		                                       .resources = COLUMNS,
		                                       .name_bytes = 4096 } };
	struct model *model = model_new(&config);
	struct metrics *m = calloc(1, sizeof(*m));
	const struct answer_source source = {
		.ledger = o, .model = model, .metrics = m, .wall_ns = UINT64_C(5000000000)
	};
	cJSON *json = NULL;

	cr_assert(model != NULL && m != NULL);
	if (answer_write(&source, q, out)) {
		json = cJSON_ParseWithLength(out->at, out->bytes);
		cr_assert(json != NULL, "%s", out->at);
	} else {
		cr_assert_eq(out->bytes, 0u);
	}
	model_free(model);
	free(m);
	return json;
}

static cJSON *answer(const struct observer *o, enum question_kind kind, struct jsonout *out)
{
	const struct question q = { .kind = kind };

	return write_answer(o, &q, out);
}

static const cJSON *at(const cJSON *json, const char *name)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(json, name);

	cr_assert(found != NULL, "no %s", name);
	return found;
}

static const char *row_text(const cJSON *list, int i, const char *field)
{
	return at(cJSON_GetArrayItem(list, i), field)->valuestring;
}

Test(answers, names_are_escaped)
{
	static const char hostile[] = "</script>\"\\\n<b>";
	struct observer o = observer_make(2, 4, 64);
	struct jsonout out = { 0 };
	cJSON *json;

	memcpy(part(&o, o.places.arena_offset), hostile, sizeof(hostile) - 1);
	put_node(&o, 0, NODE_PRESENT | NODE_CORDONED, 500, 1000, 0, sizeof(hostile) - 1);
	put_gang(&o, 1, GANG_PLACED, 0, sizeof(hostile) - 1);
	put_gang(&o, 2, GANG_WAITING, 0, sizeof(hostile) - 1);
	json = answer(&o, QUESTION_GANGS, &out);
	/* A line's end does not come through, all else does. */
	cr_assert_str_eq(row_text(at(json, "gangs"), 0, "gang"), "</script>\"\\?<b>");
	cr_assert_str_eq(row_text(at(json, "gangs"), 0, "state"), "Waiting",
	                 "those that wait come first");
	cr_assert_str_eq(row_text(at(json, "gangs"), 1, "state"), "Running");
	cJSON_Delete(json);
	json = answer(&o, QUESTION_CELLS, &out);
	cr_assert_str_eq(cJSON_GetArrayItem(at(json, "name"), 0)->valuestring, "</script>\"\\?<b>");
	cr_assert_eq(cJSON_GetArrayItem(at(json, "share"), 0)->valueint, 500);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "flags"), 0)->valueint, 1);
	cJSON_Delete(json);
	jsonout_free(&out);
	free(o.link.ledger.base);
}

Test(answers, numbers_that_make_no_sense)
{
	struct observer o = observer_make(4, 4, 64);
	struct jsonout out = { 0 };
	const cJSON *share;
	cJSON *json;

	put_node(&o, 0, NODE_PRESENT, INT64_MAX, 1, 0, 0);
	put_node(&o, 1, NODE_PRESENT, 5, 0, 0, 0);
	put_node(&o, 2, 0, INT64_MIN, INT64_MIN, 60, 60);
	put_node(&o, 3, NODE_PRESENT, INT64_MAX - 1, INT64_MAX, UINT64_MAX, UINT32_MAX);
	put_gang(&o, 0, (enum gang_state)77, 60, 60);
	put_gang(&o, 1, GANG_WAITING, UINT64_MAX, 1);
	((struct gang_row *)part(&o, o.places.gangs_offset))[1].reason.counts_n = UINT32_MAX;
	((struct gang_row *)part(&o, o.places.gangs_offset))[1].dialect = UINT32_MAX;
	json = answer(&o, QUESTION_CELLS, &out);
	share = at(json, "share");
	cr_assert_eq(cJSON_GetArraySize(share), 4);
	for (const cJSON *x = share->child; x != NULL; x = x->next)
		cr_assert(x->valueint >= 0 && x->valueint <= 1000, "%d", x->valueint);
	cJSON_Delete(json);
	json = answer(&o, QUESTION_STATE, &out);
	cJSON_Delete(json);
	json = answer(&o, QUESTION_GANGS, &out);
	cr_assert_eq(cJSON_GetArraySize(at(json, "gangs")), 2);
	cr_assert_str_eq(row_text(at(json, "gangs"), 1, "state"), "Unknown");
	cJSON_Delete(json);
	jsonout_free(&out);
	free(o.link.ledger.base);
}

/* Names as long as they are shown, each byte of which takes six, and all gangs wait. */
Test(answers, is_bounded)
{
	enum {
		NODES = 3 * (int)ANSWER_CELLS,
		GANGS = 2 * (int)ANSWER_GANGS,
		LONG = OBSERVE_NAME_MAX - 1
	};
	struct observer o = observer_make(NODES, GANGS, LONG);
	struct jsonout out = { 0 };
	cJSON *json;

	memset(part(&o, o.places.arena_offset), 0x80, LONG);
	memset(part(&o, o.places.arena_offset), '"', LONG / 2);
	for (uint32_t i = 0; i < NODES; i++)
		put_node(&o, i, NODE_PRESENT, i == 17 ? 900 : 100, 1000, 0, LONG);
	for (uint32_t i = 0; i < GANGS; i++)
		put_gang(&o, i, GANG_WAITING, 0, LONG);
	json = answer(&o, QUESTION_CELLS, &out);
	cr_assert_lt(out.bytes, ANSWER_BYTES_MAX);
	cr_assert_eq(at(json, "nodes")->valueint, NODES);
	cr_assert_eq(at(json, "nodes_per_cell")->valueint, 3);
	cr_assert_eq(cJSON_GetArraySize(at(json, "share")), (int)ANSWER_CELLS);
	cr_assert_leq(cJSON_GetArraySize(at(json, "name")), (int)ANSWER_CELLS);
	cJSON_Delete(json);
	json = answer(&o, QUESTION_GANGS, &out);
	cr_assert_lt(out.bytes, ANSWER_BYTES_MAX);
	cr_assert_eq(at(json, "gangs_n")->valueint, GANGS);
	cr_assert_eq(cJSON_GetArraySize(at(json, "gangs")), at(json, "told")->valueint);
	cr_assert_leq(at(json, "told")->valueint, (int)ANSWER_GANGS);
	cr_assert_gt(at(json, "told")->valueint, 50);
	cJSON_Delete(json);
	/* Without a core there is nothing of it. */
	json = answer(NULL, QUESTION_STATE, &out);
	cr_assert(cJSON_GetObjectItemCaseSensitive(json, "states") == NULL);
	cr_assert_str_neq(at(json, "not_ready")->valuestring, "");
	cJSON_Delete(json);
	cr_assert(answer(NULL, QUESTION_GANG, &out) == NULL);
	cr_assert(answer(NULL, QUESTION_NODE, &out) == NULL);
	cr_assert(answer(&o, QUESTION_GANG, &out) == NULL, "no gang has an empty name");
	jsonout_free(&out);
	free(o.link.ledger.base);
}

static struct metrics *usage_of(double used)
{
	struct metrics *m = calloc(1, sizeof(*m));

	cr_assert(m != NULL);
	m->core.gauges.synced = 1;
	m->usage.n = 2;
	m->usage.rows[1].allocatable = 64;
	m->usage.rows[1].used = used;
	m->usage.rows[1].free = 64 - used;
	strcpy(m->usage.rows[1].name, "pods");
	m->link.gangs[GANG_WAITING] = 3;
	m->core.stats.binds_accepted = (uint64_t)used;
	return m;
}

static cJSON *history_json(const struct history *h, const char *span, struct jsonout *out)
{
	cJSON *json;

	history_write(h, "pods", span, 0, out);
	json = cJSON_ParseWithLength(out->at, out->bytes);
	cr_assert(json != NULL, "%s", out->at);
	return json;
}

/* Two days of samples: a day and an hour remain, the oldest go first. */
Test(history, is_bounded)
{
	struct history *h = history_new();
	struct jsonout out = { 0 };
	uint64_t now = UINT64_C(1000000) * NS_PER_S;
	cJSON *json;

	for (uint32_t i = 0; i < 2 * 24 * 360; i++) {
		struct metrics *m = usage_of(i % 60);

		cr_assert(history_is_due(h, now));
		history_take(h, m, now);
		cr_assert(!history_is_due(h, now + NS_PER_S));
		free(m);
		now += HISTORY_FINE_S * NS_PER_S;
	}
	json = history_json(h, "day", &out);
	cr_assert_lt(out.bytes, ANSWER_BYTES_MAX / 4);
	cr_assert_eq(cJSON_GetArraySize(at(json, "t")), (int)HISTORY_SAMPLES);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "t"), 1439)->valuedouble -
	                 cJSON_GetArrayItem(at(json, "t"), 0)->valuedouble,
	             1439 * 60);
	cJSON_Delete(json);
	json = history_json(h, "hour", &out);
	cr_assert_eq(cJSON_GetArraySize(at(json, "t")), (int)HISTORY_FINE_SAMPLES);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "used"), 359)->valueint, 59);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "free"), 359)->valueint, 5);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "waiting"), 0)->valueint, 3);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "binds"), 359)->valueint, 1);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "binds"), 300)->valueint, 0,
	             "the counter began again");
	cJSON_Delete(json);
	jsonout_free(&out);
	history_free(h);
}

Test(history, a_clock_that_is_set_back_starts_over)
{
	struct history *h = history_new();
	struct jsonout out = { 0 };
	struct metrics *m = usage_of(1);
	cJSON *json;

	history_take(h, m, 5000 * NS_PER_S);
	history_take(h, m, 5010 * NS_PER_S);
	cr_assert(history_is_due(h, 100 * NS_PER_S));
	history_take(h, m, 100 * NS_PER_S);
	json = history_json(h, "hour", &out);
	cr_assert_eq(cJSON_GetArraySize(at(json, "t")), 1);
	cr_assert_eq(cJSON_GetArrayItem(at(json, "t"), 0)->valueint, 100);
	cJSON_Delete(json);
	json = history_json(NULL, "hour", &out);
	cr_assert(cJSON_GetObjectItemCaseSensitive(json, "t") == NULL, "none is kept");
	cJSON_Delete(json);
	jsonout_free(&out);
	free(m);
	history_free(h);
}

/* The value of a sample, or -1. */
static double sample(const char *page, const char *name)
{
	const char *found = strstr(page, name);

	return found != NULL ? strtod(found + strlen(name), NULL) : -1;
}

Test(answers, usage_of_resources)
{
	static const char text[] = "cpu\"\\";
	struct observer o = observer_make(6, 1, 64);
	struct name_row *names = part(&o, o.places.names_offset);
	struct metrics *m = calloc(1, sizeof(*m));
	char *page = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&page, &bytes);

	cr_assert(m != NULL && out != NULL);
	memcpy(part(&o, o.places.arena_offset), text, sizeof(text) - 1);
	names[RESOURCE_CPU] =
		(struct name_row){ .offset = 0, .bytes = sizeof(text) - 1, .kind = NAME_RESOURCE };
	put_node(&o, 0, NODE_PRESENT, 0, 8000, 0, 1);
	put_node(&o, 1, NODE_PRESENT, 3000, 8000, 0, 1);
	put_node(&o, 2, NODE_PRESENT, 9000, 8000, 0, 1);                 /* nothing is free */
	put_node(&o, 3, NODE_PRESENT | NODE_CORDONED, 1000, 8000, 0, 1); /* nor here */
	put_node(&o, 4, 0, 500, 0, 0, 1);                                /* no such object */
	usage_read(&m->usage, &o);
	metrics_usage_write(m, out);
	cr_assert_eq(fclose(out), 0);
	cr_assert_eq(sample(page, "muster_resource_allocatable{resource=\"cpu\\\"\\\\\"} "), 32, "%s",
	             page);
	cr_assert_eq(sample(page, "muster_resource_used{resource=\"cpu\\\"\\\\\"} "), 13, "%s", page);
	cr_assert_eq(sample(page, "muster_resource_free{resource=\"cpu\\\"\\\\\"} "), 13);
	cr_assert_eq(sample(page, "muster_resource_fragmented{resource=\"cpu\\\"\\\\\"} "), 5);
	cr_assert_eq(sample(page, "muster_resource_largest_free{resource=\"cpu\\\"\\\\\"} "), 8);
	cr_assert(strstr(page, "resource=\"\"") == NULL, "a resource that no node has: %s", page);
	free(page);
	free(m);
	free(o.link.ledger.base);
}
