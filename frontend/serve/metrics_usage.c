/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of nodes, and how long gangs waited for them. */
#include "frontend/serve/metrics_impl.h"

#include "ipc/memory.h"

#include <stddef.h>
#include <stdlib.h>

/* One family with a sample for each resource that a node has or uses, in the base unit of
 * Prometheus: cores, bytes. */
static void usage_family(const struct usage_figures *u, const char *name, const char *help,
                         size_t offset, FILE *out)
{
	family_write(out, name, "gauge", help);
	for (uint32_t r = 0; r < u->n; r++) {
		const struct usage_row *row = &u->rows[r];
		const double value = *(const double *)(const void *)((const char *)row + offset);

		/* Two without a name would be the same sample twice, and the page be refused. */
		if (row->name[0] == '\0' || (r > 0 && row->allocatable == 0 && row->used == 0))
			continue;
		fprintf(out, "%s{resource=\"", name);
		label_write(row->name, out);
		fprintf(out, "\"} %.17g\n", r == RESOURCE_CPU ? value / 1000 : value);
	}
}

void metrics_usage_write(const struct metrics *m, FILE *out)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} families[] = {
		{ "muster_resource_allocatable", "What the nodes have, in cores, bytes or pieces.",
		  offsetof(struct usage_row, allocatable) },
		{ "muster_resource_used", "What pods on them request, reservations included.",
		  offsetof(struct usage_row, used) },
		{ "muster_resource_free", "What is free on nodes that are not cordoned.",
		  offsetof(struct usage_row, free) },
		{ "muster_resource_fragmented", "Of that, what is on nodes of which a part is used.",
		  offsetof(struct usage_row, fragmented) },
		{ "muster_resource_largest_free", "The most that is free on one of them.",
		  offsetof(struct usage_row, largest_free) },
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		usage_family(&m->usage, families[i].name, families[i].help, families[i].offset, out);
}

static void waits_family(const struct waits_table *t, const char *name, const char *help,
                         const char *label, FILE *out)
{
	if (t->n == 0)
		return;
	family_write(out, name, "histogram", help);
	for (uint32_t i = 0; i < t->n; i++) {
		char *labels = NULL;
		size_t bytes;
		FILE *text = open_memstream(&labels, &bytes);

		if (!text)
			fatal_memory();
		fprintf(text, "%s=\"", label);
		label_write(t->named[i].name, text);
		fputs("\",", text);
		if (fclose(text) != 0)
			fatal_memory();
		histogram_write(&t->named[i].waited, &buckets_waits, 1e-9, name, labels, out);
		free(labels);
	}
}

void metrics_waits_write(const struct metrics *m, FILE *out)
{
	/* Not `namespace`, which is a label of the target where Prometheus scrapes a pod. */
	waits_family(&m->waits.namespaces, "muster_gang_wait_seconds",
	             "From the first plan of a gang with all its members until its quorum was bound; "
	             "namespaces beyond the first 32 share (others).",
	             "gang_namespace", out);
	waits_family(&m->waits.queues, "muster_queue_wait_seconds",
	             "The same by the gang's queue; queues beyond the first 32 share (others).",
	             "queue", out);
}
