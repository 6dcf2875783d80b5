/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl devices: the devices of ResourceSlices, who holds them, and which selectors match. */
#include "ctl/objects/files.h"
#include "ctl/offline/offline.h"
#include "ctl/term/print.h"
#include "ctl/term/table.h"
#include "frontend/cel/cel.h"
#include "frontend/devices/devices.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	struct arguments files, selectors;
	enum output output;
};

static const struct flag flags[] = {
	FLAG_FILES(struct options, files),
	{ "selector", 0, "--selector CEL",
	  "an expression over `device` that each device is compared with; may be\nrepeated", NULL,
	  option_texts, offsetof(struct options, selectors) },
	FLAG_TABLES(struct options, output, "JSON instead of a table"),
	{ 0 },
};

/* The answer of a selector for one device. */
struct answer {
	bool matches;
	char *error; /* NULL: none; to be freed */
};

static struct answer ask(struct cel_program *p, const struct cel_device *device)
{
	struct answer a = { 0 };
	struct cel_error error;
	int rc = cel_eval(p, device, &a.matches, &error);

	if (rc == -E2BIG && !error.limit)
		a.error = ctl_print("uses %s, which muster does not know", error.text);
	else if (rc == -E2BIG)
		a.error = ctl_print("needs %s, which is above the limit", error.text);
	else if (rc < 0)
		a.error = must_copy(error.text);
	return a;
}

static cJSON *device_json(const struct devices_row *d, const struct answer *answers, size_t n)
{
	cJSON *o = json_checked(cJSON_CreateObject()), *list;
	size_t i;

	json_add_text(o, "device", d->id);
	if (d->node[0])
		json_add_text(o, "node", d->node);
	list = json_checked(cJSON_AddArrayToObject(o, "claims"));
	for (i = 0; i < d->claims_n; i++)
		cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(d->claims[i])));
	json_checked(cJSON_AddBoolToObject(o, "tainted", d->tainted));
	list = json_checked(cJSON_AddArrayToObject(o, "matches"));
	for (i = 0; i < n; i++) {
		cJSON *item =
			answers[i].error ? cJSON_CreateObject() : cJSON_CreateBool(answers[i].matches);

		if (answers[i].error)
			json_add_text(json_checked(item), "error", answers[i].error);
		cJSON_AddItemToArray(list, json_checked(item));
	}
	return o;
}

static void print_row(struct text_table *t, const struct devices_row *d,
                      const struct answer *answers, size_t n)
{
	size_t i;

	text_table_cell(t, "%s", d->id);
	text_table_cell(t, "%s", d->node[0] ? d->node : "-");
	if (d->claims_n > 1)
		text_table_cell(t, "%s and %zu more", d->claims[0], d->claims_n - 1);
	else
		text_table_cell(t, "%s", d->claims_n ? d->claims[0] : "-");
	text_table_cell(t, "%s", d->tainted ? "yes" : "no");
	for (i = 0; i < n; i++) {
		if (answers[i].error)
			text_table_cell(t, "error: %s", answers[i].error);
		else
			text_table_cell(t, "%s", answers[i].matches ? "yes" : "no");
	}
}

static struct text_table *table_new(size_t selectors)
{
	char *columns = must_alloc(selectors + 5);
	struct text_table *t;
	size_t i;

	memset(columns, 'L', selectors + 4);
	t = text_table_new(columns);
	free(columns);
	text_table_cell(t, "DEVICE");
	text_table_cell(t, "NODE");
	text_table_cell(t, "CLAIM");
	text_table_cell(t, "TAINTED");
	for (i = 0; i < selectors; i++)
		text_table_cell(t, "SELECTOR %zu", i + 1);
	return t;
}

static void print(const struct options *o, struct devices *devices, struct cel_program **programs)
{
	size_t n, i, k;
	struct devices_row *rows = devices_list(devices, &n);
	struct text_table *t = o->output != OUTPUT_JSON ? table_new(o->selectors.n) : NULL;
	struct answer *answers = must_array(o->selectors.n + 1, sizeof(*answers));

	if (!t)
		fputs("{\"devices\": [", stdout);
	for (i = 0; i < n; i++) {
		for (k = 0; k < o->selectors.n; k++)
			answers[k] = ask(programs[k], rows[i].device);
		if (t)
			print_row(t, &rows[i], answers, o->selectors.n);
		else
			json_print_line(device_json(&rows[i], answers, o->selectors.n), i == 0);
		for (k = 0; k < o->selectors.n; k++)
			free(answers[k].error);
	}
	if (t) {
		text_table_fit(t, o->output, NULL);
		text_table_print(t, stdout);
		text_table_free(t);
	} else {
		fputs("]}\n", stdout);
	}
	free(answers);
	free(rows);
}

static bool compile(const struct options *o, const char *command, struct cel_program **programs)
{
	struct cel_error error;
	size_t i;

	for (i = 0; i < o->selectors.n; i++) {
		programs[i] = cel_compile(text_of(o->selectors.at[i]), &error);
		if (programs[i])
			continue;
		if (error.limit)
			ctl_usage(command, "--selector %zu has %s, which is above the limit", i + 1,
			          error.text);
		else if (error.refused)
			ctl_usage(command, "--selector %zu uses %s, which muster does not know", i + 1,
			          error.text);
		else
			ctl_usage(command, "--selector %zu: %s", i + 1, error.text);
		return false;
	}
	return true;
}

static bool read_objects(const struct options *o, const char *command, struct files *files,
                         struct devices *devices)
{
	char text[2048], where[512];
	const struct object *objects;
	size_t n, i;

	for (i = 0; i < o->files.n; i++)
		if (!files_read(files, o->files.at[i], text, sizeof(text)))
			return ctl_usage(command, "%s", text), false;
	if (!files_check(files, text, sizeof(text)))
		return ctl_usage(command, "%s", text), false;
	objects = files_objects(files, &n);
	for (i = 0; i < n; i++)
		if (strcmp(objects[i].api_version, "v1") != 0 &&
		    devices_take(objects[i].api_version, objects[i].kind) &&
		    !devices_put(devices, objects[i].kind, objects[i].json.at, objects[i].json.bytes, text,
		                 sizeof(text)))
			return ctl_usage(command, "%s: %s %s: %s",
			                 object_where(&objects[i], where, sizeof(where)), objects[i].kind,
			                 objects[i].name, text),
			       false;
	return true;
}

static int devices(const struct options *o, const char *command)
{
	struct files *files = files_new();
	struct devices *all = devices_new();
	struct cel_program **programs = must_array(o->selectors.n + 1, sizeof(*programs));
	int rc = EXIT_USAGE;
	size_t i;

	if (compile(o, command, programs) && read_objects(o, command, files, all)) {
		print(o, all, programs);
		rc = EXIT_DONE;
	}
	for (i = 0; i < o->selectors.n; i++)
		cel_free(programs[i]);
	free(programs);
	devices_free(all);
	files_free(files);
	return rc;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	int rc = command_read_flags(&devices_command, argc, argv, &o);

	for (int i = optind; rc == -1 && i < argc; i++)
		arguments_add(&o.files, argv[i]);
	if (rc == -1 && o.files.n == 0)
		rc = ctl_usage(argv[0], "-f FILE is missing; see %s --help", argv[0]);
	if (rc == -1)
		rc = devices(&o, argv[0]);
	free(o.files.at);
	free(o.selectors.at);
	return rc;
}

const struct command devices_command = {
	.name = "devices",
	.summary = "the devices of ResourceSlices, their claims, and what selectors match",
	.usage = "-f FILE... [--selector CEL]... [-o json]",
	.about =
		"The devices of the ResourceSlices in the files, sorted by driver, pool and name: the\n"
		"node, the claims that hold it, whether it is tainted, and for each selector whether\n"
		"it matches, or the error that kube-scheduler reports.\n",
	.exits = "0 done, 2 bad input or a selector that is not valid.",
	.flags = flags,
	.argument = "FILE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run,
};
