/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the table of docs/metrics.md: metrics with all optional parts are written once and
 * parsed. */
#include "frontend/serve/metrics.h"

#include <stdlib.h>
#include <string.h>

/* Everything optional is present, so that each family has a line. */
static void metrics_fill(struct metrics *m)
{
	m->has_devices = m->core_up = m->elects = m->extends = m->journals = m->evicts = true;
	m->core.world.state = WORLD_FOLLOWS;
	m->watches_n = m->devices.drivers_n = 1;
	m->watches[0] = (struct metrics_watch){ .resource = "pods", .group = "" };
	m->latency.profiles_n = m->usage.n = 1;
	m->waits.namespaces.n = m->waits.queues.n = 1;
	m->usage.rows[0] = (struct usage_row){ .name = "cpu" };
	for (int i = 0; i < LATENCY_TRIES; i++)
		m->latency.sli[i].n = 1;
}

/* Names of a sample's labels except le: "`profile`, `result`". */
static void labels_print(const char *sample, FILE *out)
{
	const char *at = strchr(sample, '{'), *end = at ? strchr(at, '}') : NULL;
	bool first = true;

	while (at && at < end) {
		const char *name = at + 1, *is = strchr(name, '=');

		if (!is || is > end)
			break;
		if (strncmp(name, "le=", 3) != 0)
			fprintf(out, "%s`%.*s`", first ? "" : ", ", (int)(is - name), name);
		first = first && strncmp(name, "le=", 3) == 0;
		at = strchr(is + 2, '"');
		at = at && at[1] == ',' ? at + 1 : NULL;
	}
}

/* "# HELP name text", "# TYPE name type" and the first sample after them. */
static void family_print(char *help, char *type, const char *sample, FILE *out)
{
	char *text = strchr(help, ' '), *kind = strchr(type, ' ');

	if (!text || !kind)
		return;
	*text = '\0';
	fprintf(out, "| `%s` | %s | ", help, kind + 1);
	labels_print(sample, out);
	fprintf(out, " | %s |\n", text + 1);
}

void metrics_help(FILE *out)
{
	struct metrics *m = must_alloc(sizeof(*m));
	char *text = NULL, *help = NULL, *type = NULL, *next;
	size_t bytes = 0;
	FILE *page = open_memstream(&text, &bytes);

	if (!page)
		fatal_memory();
	metrics_fill(m);
	m->queues = must_alloc(sizeof(*m->queues) + sizeof(m->queues->rows[0]));
	m->queues->refs = m->queues->n = 1;
	m->queues->rows[0] = (struct queue_figures){ .name = "a", .amounts[0] = { 1, 1, 1, 1, 1 } };
	snprintf(m->queues->resources[0], sizeof(m->queues->resources[0]), "cpu");
	metrics_write(m, page);
	metrics_queues_give(m);
	if (fclose(page) != 0)
		fatal_memory();
	fputs("| metric | type | labels | |\n| --- | --- | --- | --- |\n", out);
	for (char *line = text; (next = strchr(line, '\n')) != NULL; line = next + 1) {
		*next = '\0';
		if (strncmp(line, "# HELP ", 7) == 0) {
			help = line + 7;
		} else if (strncmp(line, "# TYPE ", 7) == 0) {
			type = line + 7;
		} else if (help && type) {
			family_print(help, type, line, out);
			help = NULL;
		}
	}
	free(text);
	free(m);
}
