/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as JSON (a contract, see the design, section 7) or as tables. */
#include "frontend/base/bytes.h"
#include "ctl/term/table.h"
#include "ctl/term/print.h"
#include "ctl/offline/verdict.h"

#include <inttypes.h>
#include <stdio.h>

static cJSON *node_json(const struct node_verdict *n)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "node", n->node);
	json_checked(cJSON_AddBoolToObject(o, "feasible", n->feasible));
	if (n->feasible) {
		json_add_number(o, "score", n->score);
		if (n->devices != NULL)
			cJSON_AddItemToObject(o, "devices", json_checked(cJSON_Duplicate(n->devices, true)));
	} else {
		cJSON *list = json_checked(cJSON_AddArrayToObject(o, "reasons"));

		for (size_t i = 0; i < n->reasons_n; i++)
			cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(n->reasons[i])));
	}
	if (n->binding > 0)
		json_add_number(o, "pods_binding", n->binding);
	if (n->nominated > 0)
		json_add_number(o, "pods_nominated", n->nominated);
	return o;
}

static void print_text(const char *text)
{
	cJSON *value = json_checked(text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
	char *printed = cJSON_PrintUnformatted(value);

	if (printed == NULL)
		fatal_memory();
	fputs(printed, stdout);
	cJSON_free(printed);
	cJSON_Delete(value);
}

static void print_one(const struct verdict *v)
{
	fputs("{\"pod\": ", stdout);
	print_text(v->pod);
	fputs(", \"message\": ", stdout);
	print_text(v->message);
	if (v->error != NULL) {
		fputs(", \"error\": ", stdout);
		print_text(v->error);
	}
	if (v->queue_waits)
		fputs(", \"queue_waits\": true", stdout);
	fputs(",\n \"nodes\": [", stdout);
	for (size_t i = 0; i < v->nodes_n; i++)
		json_print_line(node_json(&v->nodes[i]), i == 0);
	fputs("]}", stdout);
}

static void print_json(const struct verdict *v, size_t n, bool many)
{
	if (many)
		fputs("[", stdout);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			fputs(",\n", stdout);
		print_one(&v[i]);
	}
	fputs(many ? "]\n" : "\n", stdout);
}

/* "(2 nominated here)" */
static void put_pods(struct bytes *text, uint32_t n, const char *how)
{
	char number[16];

	if (n == 0)
		return;
	snprintf(number, sizeof(number), "%s(%" PRIu32 " ", text->n > 0 ? " " : "", n);
	bytes_put(text, number);
	bytes_put(text, how);
	bytes_put(text, " here)");
}

static void print_reasons(struct text_table *t, const struct node_verdict *n)
{
	struct bytes text = { 0 };

	for (size_t i = 0; i < n->reasons_n; i++) {
		if (i > 0)
			bytes_put(&text, ", ");
		bytes_put(&text, n->reasons[i]);
	}
	put_pods(&text, n->binding, "binding");
	put_pods(&text, n->nominated, "nominated");
	text_table_cell(t, "%.*s", (int)text.n, text.n > 0 ? text.at : "");
	bytes_free(&text);
}

static bool has_devices(const struct verdict *v)
{
	bool any = false;

	for (size_t i = 0; i < v->nodes_n; i++)
		any = any || v->nodes[i].devices != NULL;
	return any;
}

static void print_devices(struct text_table *t, const struct node_verdict *n)
{
	struct bytes text = { 0 };
	const cJSON *one;

	cJSON_ArrayForEach(one, n->devices)
	{
		if (text.n > 0)
			bytes_put(&text, ", ");
		bytes_put(&text, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "device")));
	}
	text_table_cell(t, "%.*s", (int)text.n, text.n > 0 ? text.at : "");
	bytes_free(&text);
}

static void print_table(const struct verdict *v, enum output output)
{
	const bool devices = has_devices(v);
	struct text_table *t = text_table_new(devices ? "LLRLL" : "LLRL");

	ctl_say("%s: %zu of %zu nodes feasible\n", v->pod, v->feasible_n, v->nodes_n);
	if (v->message != NULL)
		ctl_say("%s\n", v->message);
	if (v->error != NULL)
		ctl_say("%s\n", v->error);
	if (v->queue_waits)
		puts("Its queue does not let it start as things are now, whatever nodes have.");
	text_table_cell(t, "NODE");
	text_table_cell(t, "FEASIBLE");
	text_table_cell(t, "SCORE");
	if (devices)
		text_table_cell(t, "DEVICES");
	text_table_cell(t, "REASONS");
	for (size_t i = 0; i < v->nodes_n; i++) {
		const struct node_verdict *n = &v->nodes[i];

		text_table_cell(t, "%s", n->node);
		text_table_cell(t, "%s", n->feasible ? "yes" : "no");
		if (n->feasible)
			text_table_cell(t, "%" PRIu32, n->score);
		else
			text_table_cell(t, "%s", "");
		if (devices)
			print_devices(t, n);
		print_reasons(t, n);
	}
	text_table_fit(t, output, devices ? "00010" : NULL);
	if (v->nodes_n > 0)
		text_table_print(t, stdout);
	text_table_free(t);
}

int verdict_print(const struct verdict *v, size_t n, enum output output)
{
	int rc = EXIT_DONE;

	if (output == OUTPUT_JSON)
		print_json(v, n, n > 1);
	for (size_t i = 0; i < n; i++) {
		if (output != OUTPUT_JSON) {
			fputs(i > 0 ? "\n" : "", stdout);
			print_table(&v[i], output);
		}
		if (v[i].feasible_n == 0)
			rc = EXIT_NO;
	}
	return rc;
}
