/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl fsck: compares the ledger with one computed from the API server's objects. */
#include "ctl/diagnose/fsck.h"
#include "ctl/diagnose/fsck_claims.h"

#include "ctl/offline/fetch.h"
#include "ctl/term/table.h"
#include "ctl/live/live.h"
#include "ctl/offline/offline.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BETWEEN_MS 300L /* between two comparisons */
#define ROUNDS_MAX 8

struct options {
	struct live live;
	struct access_options access;
	const char *node_selector;
	struct arguments schedulers;
	bool devices;
};

static const struct flag flags[] = {
	FLAG_SOCKET(struct options, live.socket),
	FLAG_KUBECONFIG(struct options, access),
	FLAG_CONTEXT(struct options, access),
	{ "node-selector", 0, "--node-selector LABELS", "what muster-frontend has as --node-selector",
	  NULL, option_text, offsetof(struct options, node_selector) },
	{ "scheduler-name", 0, "--scheduler-name NAME",
	  "what it has as --scheduler-name; may be repeated (default muster)", NULL, option_texts,
	  offsetof(struct options, schedulers) },
	{ "devices", 0, "--devices", "also the claims: no device is given away twice", NULL, NULL,
	  offsetof(struct options, devices) },
	FLAG_TABLES(struct options, live.output,
	            "JSON instead of text; cpu is in milli, memory in bytes"),
	{ 0 },
};

/* Pods without a node use nothing, and offline_place() would place them. */
static bool is_settled(void *context, const struct object *object, struct text *json)
{
	cJSON *o;
	const cJSON *node;
	bool settled;

	if (strcmp(object->kind, "Pod") != 0)
		return true;
	o = cJSON_ParseWithLength(json->at, json->bytes);
	node =
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "spec"), "nodeName");
	settled = o == NULL || (cJSON_IsString(node) && *node->valuestring != '\0');
	cJSON_Delete(o);
	return settled; /* the model refuses what can't be parsed */
}

static bool work_out(const struct options *o, struct ledger_look *out, char *error,
                     size_t error_bytes)
{
	const struct offline_config config = offline_config_of(&o->schedulers);
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	struct observer *mine = must_alloc(sizeof(*mine));
	bool ok = fetch_selected(files, &o->access, o->node_selector, error, error_bytes) == 0 &&
	          files_check(files, error, error_bytes) &&
	          offline_put_changed(offline, files, is_settled, NULL, error, error_bytes) &&
	          offline_place(offline, error, error_bytes);

	if (ok) {
		observer_own(mine, offline_ledger(offline));
		ledger_look_take(mine, out);
	}
	free(mine);
	offline_free(offline);
	files_free(files);
	return ok;
}

/* One comparison; `after` is the live ledger that was compared. */
static bool compare(const struct options *o, struct findings *out, struct ledger_look *after,
                    char *error, size_t error_bytes)
{
	const struct observer *live = &o->live.observer;
	uint64_t epoch = observe_count(&live->ledger->epoch);
	struct ledger_look *before = must_alloc(sizeof(*before)),
					   *relisted = must_alloc(sizeof(*relisted));
	bool ok;

	ledger_look_take(live, before);
	ok = work_out(o, relisted, error, error_bytes);
	ledger_look_take(live, after);
	if (ok && (observe_count(&live->ledger->gauges.synced) == 0 ||
	           observe_count(&live->ledger->epoch) != epoch)) {
		snprintf(error, error_bytes, "the scheduler's own lists are not in; try again");
		ok = false;
	}
	if (ok)
		findings_make(before, after, relisted, out);
	ledger_look_free(before);
	ledger_look_free(relisted);
	free(before);
	free(relisted);
	return ok;
}

static const char *kind_text(const struct finding *x)
{
	return x->kind == FINDING_NODE ? "node" : "gang";
}

static size_t count(const struct findings *f, bool in_flight)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->at[i].in_flight == in_flight;
	return n;
}

static void print_json(const struct findings *f, const struct ledger_look *live,
                       const struct claims_look *claims)
{
	printf("{\"nodes\": %zu, \"gangs\": %zu, \"differences\": %zu, \"pods_in_flight\": %" PRIu64
	       ", \"moving\": %zu,\n\"found\": [",
	       live->nodes.n, live->gangs.n, count(f, false), live->in_flight, f->moving);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];
		cJSON *o = json_checked(cJSON_CreateObject());

		json_add_text(o, kind_text(x), x->name);
		json_add_text(o, "field", x->field);
		json_add_number(o, "live", x->live);
		json_add_number(o, "recomputed", x->relisted);
		json_checked(cJSON_AddBoolToObject(o, "in_flight", x->in_flight));
		json_print_line(o, i == 0);
	}
	fputs("]", stdout);
	if (claims != NULL)
		claims_look_print(claims, OUTPUT_JSON);
	fputs("}\n", stdout);
}

static const char *value_text(const struct finding *x, const struct ledger_look *live,
                              int64_t value, char out[32])
{
	const char *name = x->resource != ID_NONE ? live->names[x->resource] : "";

	return units_amount(x->resource, name, value, out, 32);
}

static void print_rows(const struct findings *f, const struct ledger_look *live, enum output output)
{
	static const char *const heads[] = { "KIND", "NAME", "FIELD", "LIVE", "RECOMPUTED", "" };
	struct text_table *t = text_table_new("LLLRRL");
	char text[32];

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		text_table_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];

		text_table_cell(t, "%s", kind_text(x));
		text_table_cell(t, "%s", x->name);
		text_table_cell(t, "%s", x->field);
		text_table_cell(t, "%s", value_text(x, live, x->live, text));
		text_table_cell(t, "%s", value_text(x, live, x->relisted, text));
		text_table_cell(t, "%s", x->in_flight ? "in flight" : "");
	}
	text_table_fit(t, output, NULL);
	text_table_print(t, stdout);
	text_table_free(t);
}

static void print_text(const struct findings *f, const struct ledger_look *live, enum output output)
{
	size_t n = count(f, false);

	if (f->n > 0)
		print_rows(f, live, output);
	printf("%zu difference%s in %zu node%s and %zu gang%s", n, n == 1 ? "" : "s", live->nodes.n,
	       live->nodes.n == 1 ? "" : "s", live->gangs.n, live->gangs.n == 1 ? "" : "s");
	if (live->in_flight > 0)
		printf("; %" PRIu64 " pod%s in flight: capacity is reserved, the binding has no result",
		       live->in_flight, live->in_flight == 1 ? " is" : "s are");
	if (f->moving > 0)
		printf("; %zu value%s changed meanwhile and %s not compared", f->moving,
		       f->moving == 1 ? "" : "s", f->moving == 1 ? "was" : "were");
	putchar('\n');
}

/* Compares again until there is no difference, or ROUNDS_MAX times; twice is enough while no event
 * arrives, since nothing is delayed then. */
static bool confirm(const struct options *o, struct findings *f, struct ledger_look *live,
                    char *error, size_t error_bytes)
{
	const struct timespec between = { .tv_nsec = BETWEEN_MS * 1000000L };
	const _Atomic uint64_t *events = &o->live.observer.ledger->stats.events;
	uint64_t began = observe_count(events);
	bool ok = true;

	for (int round = 2; ok && f->n > 0 && round <= ROUNDS_MAX; round++) {
		struct findings earlier = *f;

		*f = (struct findings){ 0 };
		ledger_look_free(live);
		nanosleep(&between, NULL);
		ok = compare(o, f, live, error, error_bytes);
		if (ok)
			findings_confirm(f, &earlier);
		findings_free(&earlier);
		if (observe_count(events) == began)
			break;
	}
	return ok;
}

/* Claims and slices; what is found is looked at again a moment later. */
static bool check_claims(const struct options *o, struct claims_look *out, char *error,
                         size_t error_bytes)
{
	const struct timespec between = { .tv_nsec = BETWEEN_MS * 1000000L };
	struct claims_look first;
	bool ok = claims_look_take(&o->access, out, error, error_bytes);

	if (!ok || out->n == 0)
		return ok;
	first = *out;
	nanosleep(&between, NULL);
	ok = claims_look_take(&o->access, out, error, error_bytes);
	if (ok)
		claims_look_confirm(out, &first);
	claims_look_free(&first);
	return ok;
}

static int check(const struct options *o)
{
	struct claims_look claims = { 0 };
	struct findings f = { 0 };
	struct ledger_look *live = must_alloc(sizeof(*live));
	char error[2048] = "";
	bool ok =
		compare(o, &f, live, error, sizeof(error)) && confirm(o, &f, live, error, sizeof(error));
	int rc;

	ok = ok && (!o->devices || check_claims(o, &claims, error, sizeof(error)));
	findings_set_in_flight(&f, live->in_flight);
	if (ok && o->live.output == OUTPUT_JSON)
		print_json(&f, live, o->devices ? &claims : NULL);
	else if (ok)
		print_text(&f, live, o->live.output);
	else
		fprintf(stderr, "%s: %s\n", o->live.command, error);
	if (ok && o->devices && o->live.output != OUTPUT_JSON)
		claims_look_print(&claims, OUTPUT_TEXT);
	rc = !ok ? EXIT_USAGE : count(&f, false) + claims.n > 0 ? EXIT_NO : EXIT_DONE;
	claims_look_free(&claims);
	ledger_look_free(live);
	free(live);
	findings_free(&f);
	return rc;
}

static int run(int argc, char **argv)
{
	struct options o = { .live = { .command = argv[0] } };
	int rc = command_read_flags(&fsck_command, argc, argv, &o);

	if (o.node_selector != NULL && *o.node_selector == '\0')
		o.node_selector = NULL;
	if (rc == -1) {
		rc = live_open(&o.live);
		if (rc == EXIT_DONE) {
			rc = check(&o);
			live_close(&o.live);
		} else if (rc == EXIT_NO) {
			rc = EXIT_USAGE; /* 1 means that there are differences */
		}
	}
	free(o.schedulers.at);
	return rc;
}

const struct command fsck_command = {
	.name = "fsck",
	.summary = "compare the live ledger with the API server's objects",
	.usage = "[--socket PATH] [--kubeconfig FILE] [--devices] [-o json]",
	.about =
		"Lists all objects of the API server, computes what each node has used and how many\n"
		"members of each gang are bound, and compares that with the ledger of the live\n"
		"scheduler. Differences are compared again, up to 8 times while the cluster changes,\n"
		"so that a mere delay is not reported; reservations of bindings in flight are listed\n"
		"apart. With --devices it also lists resource slices and claims: each device is in one\n"
		"claim, shares and counters are within what there is. Nothing is changed.\n",
	.exits = "0 no differences and no excesses, 1 there are some, 2 it could not compare, 78 the\n"
			 "scheduler has another memory layout.",
	.flags = flags,
	.run = run,
};
