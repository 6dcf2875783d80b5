/* SPDX-License-Identifier: Apache-2.0 */
/* Who would have to be evicted so that a gang of a live scheduler can start. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/live/live.h"
#include "ctl/preempt/preempt.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"
#include "ipc/promises.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PODS_SHOWN 10u
#define NS_PER_SECOND UINT64_C(1000000000)

void explain_victims_names(const struct observer *o, struct explain_victims *v)
{
	struct gang_copy copy;

	for (uint32_t k = 0; k < v->row.gangs_n; k++) {
		const struct victims_gang *g = &v->row.gangs[k];
		const bool there = observe_gang(o, g->gang, &copy) && copy.row.generation == g->generation;

		memcpy(v->names[k], there ? copy.name : "(gone)", there ? sizeof(copy.name) : 7);
	}
}

bool explain_victims_take(const struct live *l, const char *gang, struct explain_victims *out)
{
	const struct observer *o = &l->observer;
	struct gang_copy copy;

	/* Relaxed: a figure.  A world that was dropped leaves no answers. */
	if (atomic_load_explicit(&o->ledger->world.state, memory_order_relaxed) != WORLD_FOLLOWS)
		return false;
	for (uint32_t i = 0; i < VICTIMS_ROWS; i++) {
		if (!observe_victims(o, i, &out->row) || !observe_gang(o, out->row.gang, &copy) ||
		    copy.row.generation != out->row.generation || strcmp(copy.name, gang) != 0)
			continue;
		out->evicted = copy.row.reason.why == WAIT_VICTIMS;
		explain_victims_names(o, out);
		return true;
	}
	return false;
}

static const char *const answers[VICTIMS_ROW_ANSWERS] = {
	[VICTIMS_ROW_EMPTY] = "none",      [VICTIMS_ROW_PROVED] = "proved",
	[VICTIMS_ROW_GAVE_UP] = "gave_up", [VICTIMS_ROW_IMPOSSIBLE] = "impossible",
	[VICTIMS_ROW_NEVER] = "never",     [VICTIMS_ROW_FITS] = "fits",
	[VICTIMS_ROW_DEVICES] = "devices",
};

/* Of a row from shared memory. */
static uint32_t answer_of(const struct victims_row *r)
{
	return r->answer < VICTIMS_ROW_ANSWERS ? r->answer : VICTIMS_ROW_EMPTY;
}

static void json_gangs(cJSON *o, const struct explain_victims *v)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "gangs"));

	for (uint32_t i = 0; i < v->row.gangs_n; i++) {
		const struct victims_gang *g = &v->row.gangs[i];
		cJSON *gang = json_checked(cJSON_CreateObject());

		json_add_text(gang, "gang", v->names[i]);
		json_add_number(gang, "pods", g->goes);
		json_add_number(gang, "bound", g->bound);
		json_add_number(gang, "quorum", g->quorum);
		json_add_number(gang, "priority", g->priority);
		json_checked(cJSON_AddBoolToObject(gang, "broken", g->broken != 0));
		cJSON_AddItemToArray(list, gang);
	}
}

/* The next name of the row's text; NULL: that was the last. */
static const char *name_next(const char **at, int *bytes)
{
	const char *name = *at, *end = strchr(name, '\n');

	if (!end)
		return NULL;
	*bytes = (int)(end - name);
	*at = end + 1;
	return name;
}

static void json_pods(cJSON *o, const struct victims_row *r)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "victims"));
	const char *at = r->text, *name;
	int bytes;

	while ((name = name_next(&at, &bytes)) != NULL) {
		char *copy = ctl_print("%.*s", bytes, name);

		cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(copy)));
		free(copy);
	}
}

/* What reclaim would take later: decision 100. */
static void json_young(cJSON *o, const struct victims_row *r)
{
	cJSON *young;
	char at[PROMISE_TIME_BYTES];

	if (r->young == 0)
		return;
	young = json_checked(cJSON_AddObjectToObject(o, "young"));
	json_add_number(young, "pods", r->young);
	promise_time_text(r->young_until_s * NS_PER_SECOND, at);
	if (r->young_until_s > 0)
		json_add_text(young, "until", at);
	else
		json_checked(cJSON_AddNullToObject(young, "until"));
}

void explain_victims_json(cJSON *o, const struct explain_victims *v)
{
	const struct victims_row *r = &v->row;
	cJSON *p = json_checked(cJSON_AddObjectToObject(o, "preemption"));

	json_add_text(p, "answer", answers[answer_of(r)]);
	if (r->found)
		preempt_objective_json(p, &(struct objective){ .violations = r->violations,
		                                               .highest = r->highest,
		                                               .broken = r->broken,
		                                               .sum = r->sum,
		                                               .pods = r->pods,
		                                               .start_sum = r->start_sum });
	else
		json_checked(cJSON_AddNullToObject(p, "objective"));
	json_pods(p, r);
	json_add_number(p, "victims_listed", r->listed);
	json_gangs(p, v);
	json_add_number(p, "gangs_in_all", r->gangs_all);
	json_add_number(p, "lone_pods", r->lone);
	json_checked(cJSON_AddBoolToObject(p, "budgets_unknown", r->budgets_unknown != 0));
	json_young(p, r);
	json_add_number(p, "steps", (int64_t)r->steps);
	json_add_number(p, "searched_unix_s", (int64_t)(r->searched_ns / NS_PER_SECOND));
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_gang(const char *name, const struct victims_gang *g)
{
	const uint64_t now_s = (uint64_t)time(NULL);
	char ran[32] = "";

	if (g->start_s != UINT32_MAX && now_s >= g->start_s)
		units_age((now_s - g->start_s) * NS_PER_SECOND, ran, sizeof(ran));
	if (g->goes == g->bound)
		ctl_say("  gang %s: %s, %" PRIu32 " pod%s, priority %" PRId32, name,
		        g->broken ? "broken" : "goes", g->goes, plural(g->goes), g->priority);
	else
		ctl_say("  gang %s: %" PRIu32 " of %" PRIu32 " go, %" PRIu32 " left of quorum %" PRIu32
		        ", priority %" PRId32,
		        name, g->goes, g->bound, g->bound - g->goes, g->quorum, g->priority);
	if (ran[0] != '\0')
		printf(", ran %s", ran);
	putchar('\n');
}

static void print_pods(const struct victims_row *r)
{
	const char *at = r->text, *name;
	uint32_t n = 0;
	int bytes;

	fputs("  pods: ", stdout);
	while (n < PODS_SHOWN && (name = name_next(&at, &bytes)) != NULL)
		ctl_say("%s%.*s", n++ > 0 ? ", " : "", bytes, name);
	if (n < r->pods)
		printf(" and %" PRIu32 " more", r->pods - n);
	putchar('\n');
}

static void print_set(const struct explain_victims *v)
{
	const struct victims_row *r = &v->row;

	printf("\nPreemption would start it: %" PRIu32 " pod%s", r->pods, plural(r->pods));
	if (r->gangs_all > 0)
		printf(" of %" PRIu32 " gang%s", r->gangs_all, plural(r->gangs_all));
	if (r->gangs_all > 0 && r->lone > 0)
		printf(" and %" PRIu32 " lone pod%s", r->lone, plural(r->lone));
	printf(", none above priority %" PRId32 ", ", r->highest);
	if (r->budgets_unknown)
		puts("PodDisruptionBudgets are not known.");
	else
		puts("no budget exceeded.");
	for (uint32_t i = 0; i < r->gangs_n; i++)
		print_gang(v->names[i], &r->gangs[i]);
	if (r->gangs_all > r->gangs_n)
		printf("  and %" PRIu32 " gangs more\n", r->gangs_all - r->gangs_n);
	print_pods(r);
	printf("%s %s\n",
	       answer_of(r) == VICTIMS_ROW_PROVED ? "Proved best." : "There may be a better set.",
	       v->evicted ? "Pods are evicted for it." : "No pod is evicted for it.");
}

static void print_young(const struct victims_row *r)
{
	char at[PROMISE_TIME_BYTES];

	if (r->young == 0)
		return;
	printf("%" PRIu32 " pod%s of other queues would be reclaimed for it, but %s not run for the "
	       "minRunSeconds of %s queue",
	       r->young, plural(r->young), r->young == 1 ? "has" : "have",
	       r->young == 1 ? "its" : "their");
	promise_time_text(r->young_until_s * NS_PER_SECOND, at);
	if (r->young_until_s > 0)
		printf(": the first may go at %s", at);
	puts(".");
}

void explain_victims_print(const struct explain_victims *v)
{
	if (v->row.found) {
		print_set(v);
		return;
	}
	switch (answer_of(&v->row)) {
	case VICTIMS_ROW_IMPOSSIBLE:
		puts("\nPreemption would not start it, even if every pod of lower priority that may be "
		     "evicted went.");
		print_young(&v->row);
		break;
	case VICTIMS_ROW_GAVE_UP:
		printf("\nThe search for pods whose eviction would start it gave up after %" PRIu64
		       " steps.\n",
		       v->row.steps);
		print_young(&v->row);
		break;
	case VICTIMS_ROW_NEVER:
		puts("\nIt may not preempt: preemptionPolicy Never.");
		break;
	case VICTIMS_ROW_FITS:
		puts("\nNo pod would have to be evicted for it: there is free capacity, or there will be "
		     "when pods that\nare being deleted have gone.");
		break;
	case VICTIMS_ROW_DEVICES:
		puts(
			"\nWhose eviction would start it is not known: its pods ask for devices, and the search "
			"for pods to evict\nknows none. No pod is evicted for it.");
		break;
	default:
		break;
	}
}
