/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl fsck: is the ledger what the API server's objects make of it? */
#include "ctl/diagnose/fsck.h"

#include "ctl/live/live.h"
#include "ctl/offline/fetch.h"
#include "ctl/offline/offline.h"
#include "ctl/term/grid.h"
#include "ctl/term/print.h"
#include "ctl/term/units.h"

#include <cjson/cJSON.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BETWEEN_MS 300L /* two comparisons */
#define ROUNDS_MAX 8

struct options {
	struct live live;
	struct access_options access;
	const char *node_selector;
	const char **schedulers;
	size_t schedulers_n;
};

static void print_help(void)
{
	fputs(
		"musterctl fsck [--socket PATH] [--kubeconfig FILE] [-o json]\n"
		"\n"
		"Lists everything anew from the API server, works out what each node has used and how many\n"
		"members of each gang are bound, and compares that with the ledger of the live scheduler.\n"
		"What differs is looked at again, up to 8 times while the cluster changes, so that what\n"
		"only lags is none; room that is reserved for bindings on their way is told apart.\n"
		"Nothing is changed.\n"
		"\n"
		"  --socket PATH            muster-core's socket, as with status\n"
		"  --kubeconfig FILE        how to reach the API server; else $KUBECONFIG, else the pod's\n"
		"                           service account\n"
		"  --context NAME           of the kubeconfig, instead of its current-context\n"
		"  --node-selector LABELS   what muster-frontend has as --node-selector\n"
		"  --scheduler-name NAME    what it has as --scheduler-name; may be repeated (default muster)\n"
		"  -o json                  JSON instead of text; cpu is in milli, memory in bytes\n"
		"\n"
		"Exit status: 0 no differences, 1 there are some, 2 it can't be told, 78 the scheduler has\n"
		"another memory layout.\n",
		stdout);
}

enum {
	OPT_SOCKET = 256,
	OPT_KUBECONFIG,
	OPT_CONTEXT,
	OPT_SELECTOR,
	OPT_NAME,
	OPT_HELP,
	OPT_VERSION
};

/* -1: go on; else exit with this. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "socket", required_argument, NULL, OPT_SOCKET },
		{ "kubeconfig", required_argument, NULL, OPT_KUBECONFIG },
		{ "context", required_argument, NULL, OPT_CONTEXT },
		{ "node-selector", required_argument, NULL, OPT_SELECTOR },
		{ "scheduler-name", required_argument, NULL, OPT_NAME },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ 0 },
	};
	const char *socket = NULL;
	int c;

	o->live.command = argv[0];
	while ((c = getopt_long(argc, argv, "o:h", flags, NULL)) != -1) {
		switch (c) {
		case OPT_SOCKET:
			socket = optarg;
			break;
		case OPT_KUBECONFIG:
			o->access.kubeconfig = optarg;
			break;
		case OPT_CONTEXT:
			o->access.context = optarg;
			break;
		case OPT_SELECTOR:
			o->node_selector = *optarg ? optarg : NULL;
			break;
		case OPT_NAME:
			o->schedulers = ctl_grow(o->schedulers, o->schedulers_n + 1, sizeof(*o->schedulers));
			o->schedulers[o->schedulers_n++] = optarg;
			break;
		case 'o':
			if (!ctl_output(argv[0], optarg, &o->live.output))
				return EXIT_USAGE;
			break;
		case 'h':
		case OPT_HELP:
			print_help();
			return EXIT_DONE;
		case OPT_VERSION:
			puts("musterctl " MUSTER_VERSION);
			return EXIT_DONE;
		default:
			return EXIT_USAGE; /* getopt has said what is wrong */
		}
	}
	if (optind < argc)
		return ctl_usage(argv[0], "unexpected argument \"%s\"", argv[optind]);
	if (o->schedulers_n == 0) {
		o->schedulers = ctl_grow(o->schedulers, 1, sizeof(*o->schedulers));
		o->schedulers[o->schedulers_n++] = "muster";
	}
	o->live.socket = live_socket(socket);
	return -1;
}

/* ---- working it out anew ----------------------------------------------------------- */

/* Pods without a node use nothing, and would be placed. */
static bool is_settled(void *context, const struct object *object, struct text *json)
{
	cJSON *o;
	const cJSON *node;
	bool settled;

	(void)context;
	if (strcmp(object->kind, "Pod") != 0)
		return true;
	o = cJSON_ParseWithLength(json->at, json->bytes);
	node =
		cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "spec"), "nodeName");
	settled = o == NULL || (cJSON_IsString(node) && *node->valuestring != '\0');
	cJSON_Delete(o);
	return settled; /* what can't be parsed is the model's to refuse */
}

static bool work_out(const struct options *o, struct ledger_look *out, char *error,
                     size_t error_bytes)
{
	struct offline_config config = { .scheduler_names = o->schedulers,
		                             .scheduler_names_n = o->schedulers_n };
	struct files *files = files_new();
	struct offline *offline = offline_new(&config);
	struct observer *mine = ctl_alloc(1, sizeof(*mine));
	bool ok = fetch_selected(files, &o->access, o->node_selector, error, error_bytes) &&
	          files_check(files, error, error_bytes) &&
	          offline_put_changed(offline, files, is_settled, NULL, error, error_bytes) &&
	          offline_place(offline, error, error_bytes);

	if (ok) {
		const struct ledger *l = offline_ledger(offline);

		mine->ledger = l;
		mine->places = (struct ledger_places){
			.limits = l->limits,
			.command_ring = l->command_ring,
			.nodes_offset = l->nodes_offset,
			.names_offset = l->names_offset,
			.gangs_offset = l->gangs_offset,
			.arena_offset = l->arena_offset,
			.amounts_offset = l->amounts_offset,
		};
		ledger_look_take(mine, out);
	}
	free(mine);
	offline_free(offline);
	files_free(files);
	return ok;
}

/* One comparison; `after` is the live ledger as it was compared. */
static bool compare(const struct options *o, struct findings *out, struct ledger_look *after,
                    char *error, size_t error_bytes)
{
	const struct observer *live = &o->live.observer;
	uint64_t epoch = observe_count(&live->ledger->epoch);
	struct ledger_look *before = ctl_alloc(1, sizeof(*before)), *anew = ctl_alloc(1, sizeof(*anew));
	bool ok;

	ledger_look_take(live, before);
	ok = work_out(o, anew, error, error_bytes);
	ledger_look_take(live, after);
	if (ok && (observe_count(&live->ledger->gauges.synced) == 0 ||
	           observe_count(&live->ledger->epoch) != epoch)) {
		snprintf(error, error_bytes, "the scheduler's own lists are not in; try again");
		ok = false;
	}
	if (ok)
		findings_make(before, after, anew, out);
	ledger_look_free(before);
	ledger_look_free(anew);
	free(before);
	free(anew);
	return ok;
}

/* ---- telling ------------------------------------------------------------------------ */

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

static void print_json(const struct findings *f, const struct ledger_look *live)
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
		json_add_number(o, "recomputed", x->anew);
		json_checked(cJSON_AddBoolToObject(o, "in_flight", x->in_flight));
		json_print_line(o, i == 0);
	}
	fputs("]}\n", stdout);
}

static const char *value_text(const struct finding *x, const struct ledger_look *live,
                              int64_t value, char out[32])
{
	const char *name = x->resource != ID_NONE ? live->names[x->resource] : "";

	return units_amount(x->resource, name, value, out, 32);
}

static void print_rows(const struct findings *f, const struct ledger_look *live)
{
	static const char *const heads[] = { "KIND", "NAME", "FIELD", "LIVE", "RECOMPUTED", "" };
	struct grid *t = grid_new("LLLRRL");
	char text[32];

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		grid_cell(t, "%s", heads[i]);
	for (size_t i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];

		grid_cell(t, "%s", kind_text(x));
		grid_cell(t, "%s", x->name);
		grid_cell(t, "%s", x->field);
		grid_cell(t, "%s", value_text(x, live, x->live, text));
		grid_cell(t, "%s", value_text(x, live, x->anew, text));
		grid_cell(t, "%s", x->in_flight ? "in flight" : "");
	}
	grid_print(t, stdout);
	grid_free(t);
}

static void print_text(const struct findings *f, const struct ledger_look *live)
{
	size_t n = count(f, false);

	if (f->n > 0)
		print_rows(f, live);
	printf("%zu difference%s in %zu node%s and %zu gang%s", n, n == 1 ? "" : "s", live->nodes.n,
	       live->nodes.n == 1 ? "" : "s", live->gangs.n, live->gangs.n == 1 ? "" : "s");
	if (live->in_flight > 0)
		printf("; %" PRIu64 " pod%s in flight: room is reserved, the binding not answered",
		       live->in_flight, live->in_flight == 1 ? " is" : "s are");
	if (f->moving > 0)
		printf("; %zu value%s changed meanwhile and %s not compared", f->moving,
		       f->moving == 1 ? "" : "s", f->moving == 1 ? "was" : "were");
	putchar('\n');
}

/* Until nothing differs any more, or it did ROUNDS_MAX times by as much; twice is enough while
 * nothing happens: then nothing lags. */
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

static int check(const struct options *o)
{
	struct findings f = { 0 };
	struct ledger_look *live = ctl_alloc(1, sizeof(*live));
	char error[2048] = "";
	bool ok =
		compare(o, &f, live, error, sizeof(error)) && confirm(o, &f, live, error, sizeof(error));
	int rc;

	findings_set_in_flight(&f, live->in_flight);
	if (ok && o->live.output == OUTPUT_JSON)
		print_json(&f, live);
	else if (ok)
		print_text(&f, live);
	else
		fprintf(stderr, "%s: %s\n", o->live.command, error);
	rc = !ok ? EXIT_USAGE : count(&f, false) > 0 ? EXIT_NO : EXIT_DONE;
	ledger_look_free(live);
	free(live);
	findings_free(&f);
	return rc;
}

int fsck_main(int argc, char **argv)
{
	struct options o = { 0 };
	int rc = take_options(&o, argc, argv);

	if (rc == -1) {
		rc = live_open(&o.live);
		if (rc == EXIT_DONE) {
			rc = check(&o);
			live_close(&o.live);
		} else if (rc == EXIT_NO) {
			rc = EXIT_USAGE; /* 1 says that there are differences */
		}
	}
	free(o.schedulers);
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
