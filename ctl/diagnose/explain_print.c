/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/live/starts.h"
#include "ctl/offline/lack.h"
#include "ctl/term/units.h"
#include "ctl/term/print.h"
#include "frontend/dialect/reason.h"
#include "ipc/order.h"
#include "ipc/promises.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OTHERS_SHOWN 10

static const char *time_text(int64_t seconds, char out[32])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return out;
}

bool explain_is_queued(const struct gang_result *g)
{
	/* Offline some of the pending gangs may have been placed, whatever the others wait for. */
	return g->pending > 0 && g->state != GANG_INCOMPLETE &&
	       (g->why.why == WAIT_NONE || waits_for_capacity(g->why.why) ||
	        g->members - g->placed < g->pending);
}

int explain_exit(const struct gang_result *g)
{
	return g->state == GANG_PLACED || g->state == GANG_BINDING || g->life == GANG_FINISHED
	           ? EXIT_DONE
	           : EXIT_NO;
}

/* True if it has a position in the queue, of a live scheduler the one that `gangs` shows. */
static bool has_position(const struct explanation *x, const struct gang_result *g)
{
	return !x->conditions_only && (gang_is_queued(g->state, g->why.why) ||
	                               (x->reservations == NULL && explain_is_queued(g)));
}

static struct gang_key key_of(const struct gang_result *g)
{
	return (struct gang_key){ .band = g->band, .priority = g->priority, .age_ns = g->created_ns };
}

static bool stands_before(const struct gang_result *a, const struct gang_result *it)
{
	const struct gang_key left = key_of(a), right = key_of(it);
	const int order = gang_key_compare(&left, &right);

	return order != 0 ? order < 0 : strcmp(a->gang, it->gang) < 0;
}

static bool is_before(const struct explanation *x, const struct gang_result *a)
{
	return a != x->result && has_position(x, a) && stands_before(a, x->result);
}

/* Pods without a gang that are before it, of objects; the ledger of a live scheduler has none. */
static size_t pods_before(const struct explanation *x)
{
	const struct simulation *now = x->now.answers;
	size_t n = 0;

	for (size_t i = 0; i < now->placements_n; i++) {
		const struct placement *p = &now->placements[i];
		const struct gang_result alone = {
			.gang = p->pod,
			.band = BAND_NORMAL,
			.priority = p->priority,
			.created_ns = p->created_ns,
		};

		n += p->gang == NULL && p->queued && stands_before(&alone, x->result);
	}
	return n;
}

/* Pods that are placed now and wait when the gang is first. */
static bool gives_way(const struct explanation *x, const struct gang_result *g)
{
	const struct gang_result *then = world_gang(&x->first, g->gang);

	return g->state == GANG_PLACED && then != NULL && then->state != GANG_PLACED;
}

static size_t pods_giving_way(const struct explanation *x)
{
	const struct simulation *now = x->now.answers, *then = x->first.answers;
	size_t n = 0;

	/* Both are sorted by pod, and have the same pods. */
	for (size_t i = 0; i < now->placements_n && i < then->placements_n; i++)
		n += now->placements[i].gang == NULL && now->placements[i].node != NULL &&
		     then->placements[i].node == NULL;
	return n;
}

struct others {
	const struct gang_result **at; /* to be freed */
	size_t n;
};

static int queue_order(const void *a, const void *b)
{
	const struct gang_result *x = *(const struct gang_result *const *)a;
	const struct gang_result *y = *(const struct gang_result *const *)b;

	return stands_before(x, y) ? -1 : stands_before(y, x);
}

/* Which gangs give way was found by trying; which are before it is given by the queue, in the order
 * of the queue. */
static struct others others_of(const struct explanation *x, bool tried)
{
	const struct gang_result *all = tried ? x->now.answers->gangs : x->gangs;
	const size_t n = tried ? x->now.answers->gangs_n : x->gangs_n;
	struct others of = { .at = must_array(n + 1, sizeof(*of.at)) };

	for (size_t i = 0; i < n; i++)
		if (tried ? gives_way(x, &all[i]) : is_before(x, &all[i]))
			of.at[of.n++] = &all[i];
	if (!tried && of.n > 1)
		qsort(of.at, of.n, sizeof(*of.at), queue_order);
	return of;
}

/* In the scheduling queue, from 1. */
static size_t position_of(const struct explanation *x)
{
	const struct others of = others_of(x, false);

	free(of.at);
	return of.n + (x->reservations == NULL ? pods_before(x) : 0) + 1;
}

static void json_reasons(cJSON *o, const struct explanation *x)
{
	const struct reason *r = &x->result->why;
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "rules"));

	for (uint32_t i = 0; i < r->counts_n; i++) {
		cJSON *rule = json_checked(cJSON_CreateObject());
		char text[512];

		reason_node_text(r->counts[i].why, r->counts[i].arg, &x->names, text, sizeof(text));
		json_add_text(rule, "reason", text);
		json_add_number(rule, "nodes", r->counts[i].nodes);
		cJSON_AddItemToArray(list, rule);
	}
}

static void json_others(cJSON *o, const char *name, const struct explanation *x, bool first)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, name));

	struct others of = others_of(x, first);

	for (size_t i = 0; i < of.n; i++)
		cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(of.at[i]->gang)));
	free(of.at);
}

static void json_ends(cJSON *list, const struct explanation *x)
{
	cJSON *help, *pods_of;

	if (x->ends_n == 0)
		return;
	help = json_checked(cJSON_CreateObject());
	json_add_text(help, "kind", "ends");
	json_add_number(help, "count", (int64_t)x->ends_n);
	pods_of = json_checked(cJSON_AddArrayToObject(help, "pods"));
	for (size_t i = 0; i < x->ends_n; i++) {
		char *name = ctl_print("%s/%s", x->ends[i]->namespace, x->ends[i]->name);

		cJSON_AddItemToArray(pods_of, json_checked(cJSON_CreateString(name)));
		free(name);
	}
	cJSON_AddItemToArray(list, help);
}

static void json_help(cJSON *o, const struct explanation *x)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "help"));
	char text[32];

	for (size_t i = 0; i < x->helps_n; i++) {
		cJSON *help = json_checked(cJSON_CreateObject());

		json_add_text(help, "kind", "nodes");
		json_add_text(help, "like", x->helps[i].like->name);
		json_add_number(help, "count", x->helps[i].nodes);
		cJSON_AddItemToArray(list, help);
	}
	if (x->starts_first) {
		cJSON *help = json_checked(cJSON_CreateObject());

		json_add_text(help, "kind", "priority");
		json_others(help, "instead_of", x, true);
		json_add_number(help, "instead_of_pods", (int64_t)pods_giving_way(x));
		cJSON_AddItemToArray(list, help);
	}
	if (x->starts_by_s > 0) {
		cJSON *help = json_checked(cJSON_CreateObject());

		json_add_text(help, "kind", "time");
		json_add_text(help, "by", time_text(x->starts_by_s, text));
		json_add_number(help, "ended", x->ended);
		json_checked(cJSON_AddBoolToObject(help, "overdue", x->starts_by_s <= (int64_t)time(NULL)));
		cJSON_AddItemToArray(list, help);
	}
	json_ends(list, x);
}

static void json_reservations(cJSON *o, const struct reservations *p)
{
	cJSON *live = json_checked(cJSON_AddObjectToObject(o, "live"));

	json_add_number(live, "pods_binding", (int64_t)p->pods_binding);
	json_add_number(live, "pods_assumed", (int64_t)p->pods_assumed);
	if (p->held != NULL)
		json_add_text(live, "room_held_for", p->held);
}

/* Of a live gang: for capacity. */
static int64_t waited_s(const struct gang_result *g)
{
	const int64_t s = (int64_t)time(NULL) - (int64_t)(g->waiting_since_ns / UINT64_C(1000000000));

	return s > 0 ? s : 0;
}

static bool is_promised(const struct explanation *x)
{
	return x->observer != NULL && x->result->reason != NULL && x->result->why.promised.at_ns > 0;
}

static void json_reclaim(cJSON *o, const struct explanation *x)
{
	char at[PROMISE_TIME_BYTES];
	cJSON *reclaimed;

	if (x->reclaimed_ns == 0)
		return;
	promise_time_text(x->reclaimed_ns, at);
	reclaimed = json_checked(cJSON_AddObjectToObject(o, "reclaimed"));
	json_add_text(reclaimed, "at", at);
	if (x->reclaimed_by != NULL)
		json_add_text(reclaimed, "by", x->reclaimed_by);
}

static void print_json(const struct explanation *x)
{
	const struct gang_result *g = x->result;
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "gang", g->gang);
	json_add_text(o, "dialect", g->dialect);
	json_add_text(o, "state", gang_state_text(g->life));
	json_add_text(o, "former_state",
	              x->reservations != NULL ? gang_state_former(g->life, g->state)
	                                      : gang_placement_text(g->state));
	json_add_number(o, "quorum", g->quorum);
	json_add_number(o, "members", g->members);
	json_add_number(o, "placed", g->placed);
	json_reclaim(o, x);
	if (x->change != NULL)
		explain_change_json(o, x);
	if (g->reason != NULL)
		json_add_text(o, "reason", g->reason);
	if (g->reason != NULL && !x->conditions_only) {
		json_add_number(o, "need", g->why.need);
		json_add_number(o, "fit", g->why.fit);
		json_add_shortfalls(o, &g->why, true, x->names.resource, x->names.context);
		json_reasons(o, x);
		explain_pieces_json(o, x);
		json_add_devices(o, &g->why, &x->names);
	}
	if (is_promised(x))
		cJSON_AddItemToObject(o, "start", start_json(x->observer, &g->why.promised));
	if (g->reason != NULL && has_position(x, g)) {
		json_add_number(o, "position", (int64_t)position_of(x));
		if (g->waiting_since_ns > 0)
			json_add_number(o, "waited_s", waited_s(g));
		json_others(o, "before", x, false);
		if (x->reservations == NULL)
			json_add_number(o, "before_pods", (int64_t)pods_before(x));
	}
	if (g->reason != NULL && !x->conditions_only && explain_is_queued(g)) {
		if (x->helps_tried || (x->reservations == NULL && g->state == GANG_WAITING))
			json_help(o, x);
		if (x->helps_tried) {
			json_checked(cJSON_AddBoolToObject(o, "starts_now", x->starts_now));
			json_checked(cJSON_AddBoolToObject(o, "kinds_cut", x->kinds_cut));
			json_add_number(o, "nodes_tried", x->nodes_tried);
			json_add_number(o, "ends_tried", (int64_t)x->ends_all);
		}
	}
	if (x->reservations != NULL)
		json_reservations(o, x->reservations);
	if (x->victims != NULL)
		explain_victims_json(o, x->victims);
	json_print(o, true);
}

static void print_others(const struct explanation *x, bool first)
{
	struct others of = others_of(x, first);

	for (size_t i = 0; i < of.n && i < OTHERS_SHOWN; i++)
		ctl_say("%s%s (%s)", i > 0 ? ", " : "", of.at[i]->gang,
		        of.at[i]->state == GANG_PLACED ? "placed" : "waits");
	if (of.n > OTHERS_SHOWN)
		printf(" and %zu more", of.n - OTHERS_SHOWN);
	if (of.n == 0)
		fputs("no gang", stdout);
	free(of.at);
}

static const char *pods(uint64_t n)
{
	return n == 1 ? "pod" : "pods";
}

static void print_before(const struct explanation *x)
{
	size_t n = x->reservations == NULL ? pods_before(x) : 0;
	char waited[32];

	printf("\nPosition in the queue: %zu", position_of(x));
	if (x->result->waiting_since_ns > 0)
		printf("; it has waited for capacity for %s",
		       units_age((uint64_t)waited_s(x->result) * UINT64_C(1000000000), waited,
		                 sizeof(waited)));
	fputs(".\nBefore it in the queue: ", stdout);
	print_others(x, false);
	if (n > 0)
		printf(", %zu %s without a gang", n, pods(n));
	putchar('\n');
}

static void print_ends(const struct explanation *x)
{
	printf("  - the end of the %zu of %zu %s that started first: ", x->ends_n, x->ends_all,
	       pods(x->ends_all));
	for (size_t i = 0; i < x->ends_n && i < OTHERS_SHOWN; i++)
		ctl_say("%s%s/%s", i > 0 ? ", " : "", x->ends[i]->namespace, x->ends[i]->name);
	if (x->ends_n > OTHERS_SHOWN)
		printf(" and %zu more", x->ends_n - OTHERS_SHOWN);
	putchar('\n');
}

/* Each bound is one that was tried. */
static void print_no_help(const struct explanation *x)
{
	printf("\nNothing that was tried would let it start: not even %" PRIu32
	       " more node%s of any class%s,\nnot a priority above all others, ",
	       x->nodes_tried, x->nodes_tried == 1 ? "" : "s",
	       x->kinds_cut ? " (the most frequent ones)" : "");
	if (x->ends_all > 0)
		printf("not the end of all %zu %s that run and may end.\n", x->ends_all, pods(x->ends_all));
	else
		puts("and no pod runs that may end.");
}

static void print_help_found(const struct explanation *x)
{
	char text[32];

	puts("\nAny of these would let it start:");
	for (size_t i = 0; i < x->helps_n; i++)
		ctl_say("  - %" PRIu32 " more node%s like %s\n", x->helps[i].nodes,
		        x->helps[i].nodes > 1 ? "s" : "", x->helps[i].like->name);
	if (x->starts_first) {
		fputs("  - a priority above all others; these would wait instead: ", stdout);
		print_others(x, true);
		if (pods_giving_way(x) > 0)
			printf(", %zu %s without a gang", pods_giving_way(x), pods(pods_giving_way(x)));
		putchar('\n');
	}
	if (x->starts_by_s > 0)
		printf("  - waiting: by %s %" PRIu32 " %s that run%s now %s\n",
		       time_text(x->starts_by_s, text), x->ended, pods(x->ended), x->ended == 1 ? "s" : "",
		       x->starts_by_s > (int64_t)time(NULL) ? "will have ended"
		                                            : "should have ended: overdue");
	if (x->ends_n > 0)
		print_ends(x);
}

static void print_reservations(const struct reservations *p)
{
	const char *between = "";

	fputs("Reserved: ", stdout);
	if (p->pods_binding > 0) {
		printf("%" PRIu64 " %s with a binding in flight", p->pods_binding, pods(p->pods_binding));
		between = ", ";
	}
	if (p->pods_assumed > 0) {
		printf("%s%" PRIu64 " assumed %s of other schedulers", between, p->pods_assumed,
		       pods(p->pods_assumed));
		between = ", ";
	}
	if (p->held != NULL)
		ctl_say("%scapacity for %s", between, p->held);
	else if (*between == '\0')
		fputs("nothing", stdout);
	puts(".");
}

static void print_help(const struct explanation *x)
{
	if (x->starts_now)
		puts(
			"\nPlaced from the API server's objects, without these reservations, it starts: a reservation excludes it, or\n"
			"capacity was just released.");
	else if (x->helps_n > 0 || x->starts_first || x->starts_by_s > 0 || x->ends_n > 0)
		print_help_found(x);
	else if (x->helps_tried)
		print_no_help(x);
	else if (x->reservations != NULL)
		puts("\n--try lists the cluster and finds out what would let it start.");
}

static void print_reclaim(const struct explanation *x)
{
	char at[PROMISE_TIME_BYTES];

	if (x->reclaimed_ns == 0)
		return;
	promise_time_text(x->reclaimed_ns, at);
	ctl_say("reclaimed: %s by queue %s\n", at,
	        x->reclaimed_by != NULL ? x->reclaimed_by : "(deleted)");
}

static void print_text(const struct explanation *x)
{
	const struct gang_result *g = x->result;

	ctl_say("gang %s (%s): %s, %" PRIu32 " of %" PRIu32 " members placed, quorum %" PRIu32, g->gang,
	        g->dialect, gang_state_text(g->life), g->placed, g->members, g->quorum);
	if (g->succeeded > 0)
		ctl_say(", %" PRIu32 " succeeded", g->succeeded);
	if (g->failed > 0)
		ctl_say(", %" PRIu32 " failed", g->failed);
	ctl_say("\n");
	print_reclaim(x);
	if (x->change != NULL)
		explain_change_print(x);
	if (g->reason == NULL)
		return;
	ctl_say("\n%s\n", g->reason);
	explain_pieces_print(x);
	explain_selector_print(x);
	if (has_position(x, g))
		print_before(x);
	if (x->conditions_only || !explain_is_queued(g))
		return;
	if (is_promised(x))
		start_print(x->observer, &g->why.promised);
	if (x->reservations != NULL)
		print_reservations(x->reservations);
	if (x->victims != NULL)
		explain_victims_print(x->victims);
	if (g->state == GANG_WAITING)
		print_help(x);
}

void explain_print(const struct explanation *x, enum output output)
{
	if (output == OUTPUT_JSON)
		print_json(x);
	else
		print_text(x);
}
