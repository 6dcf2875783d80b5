/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl status: the live scheduler at a glance. */
#include "ctl/live/live.h"
#include "ctl/term/print.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

static const char help[] =
	"musterctl status [--socket PATH] [-o json]\n"
	"\n"
	"The live scheduler at a glance: what it knows, what waits, how long it takes to plan.\n";

static const struct figure {
	const char *name;
	size_t offset; /* in struct ledger */
} figures[] = {
#define GAUGE(field)                                                                               \
	{                                                                                              \
#field, offsetof(struct ledger, gauges.field)                                              \
	}
#define STAT(field)                                                                                \
	{                                                                                              \
#field, offsetof(struct ledger, stats.field)                                               \
	}
	GAUGE(nodes),        GAUGE(pods),          GAUGE(pods_pending),  GAUGE(pods_bound),
	GAUGE(gangs),        GAUGE(gangs_waiting), GAUGE(gangs_binding), GAUGE(gangs_placed),
	GAUGE(shapes),       GAUGE(names),         STAT(events),         STAT(bad_records),
	STAT(plans),         STAT(plans_placed),   STAT(plans_refused),  STAT(plan_ns_sum),
	STAT(plan_ns_max),   STAT(plan_ns_last),   STAT(binds_sent),     STAT(binds_accepted),
	STAT(binds_refused), STAT(limits_hit),     STAT(sleeps),         STAT(saturated),
#undef GAUGE
#undef STAT
};

static uint64_t figure_now(const struct ledger *ledger, const struct figure *f)
{
	const char *base = (const char *)ledger;

	return observe_count((const _Atomic uint64_t *)(const void *)(base + f->offset));
}

static void print_json(const struct live *l)
{
	const struct ledger *ledger = l->observer.ledger;
	cJSON *o = json_checked(cJSON_CreateObject());
	char *text, epoch[32];

	json_add_text(o, "socket", l->socket);
	/* As text: it needs all of its 64 bits, and most readers keep numbers in a double. */
	snprintf(epoch, sizeof(epoch), "%" PRIu64, observe_count(&ledger->epoch));
	json_add_text(o, "epoch", epoch);
	json_checked(cJSON_AddBoolToObject(o, "synced", observe_count(&ledger->gauges.synced) != 0));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_add_number(o, figures[i].name, (int64_t)figure_now(ledger, &figures[i]));
	json_add_number(o, "ledger_bytes", (int64_t)l->observer.link.ledger.bytes);
	json_add_number(o, "ledger_huge_bytes", (int64_t)segment_huge_bytes(&l->observer.link.ledger));
	text = cJSON_PrintUnformatted(o);
	if (text == NULL)
		ctl_no_memory();
	puts(text);
	cJSON_free(text);
	cJSON_Delete(o);
}

static void print_text(const struct live *l)
{
	const struct ledger *ledger = l->observer.ledger;
	const struct core_gauges *g = &ledger->gauges;
	const struct core_stats *s = &ledger->stats;
	uint64_t plans = observe_count(&s->plans);
	uint64_t gangs = observe_count(&g->gangs), waiting = observe_count(&g->gangs_waiting);
	uint64_t binding = observe_count(&g->gangs_binding), placed = observe_count(&g->gangs_placed);
	/* Not of one moment, so the rest may be less than nothing. */
	uint64_t others = waiting + binding + placed < gangs ? gangs - waiting - binding - placed : 0;
	uint64_t mean = plans > 0 ? observe_count(&s->plan_ns_sum) / plans : 0;

	printf("muster on %s: %s, epoch %" PRIu64 "\n", l->socket,
	       observe_count(&g->synced) != 0 ? "in step with the cluster" : "lists are not in yet",
	       observe_count(&ledger->epoch));
	printf("nodes   %" PRIu64 "\n", observe_count(&g->nodes));
	printf("pods    %" PRIu64 ": %" PRIu64 " pending, %" PRIu64 " bound\n", observe_count(&g->pods),
	       observe_count(&g->pods_pending), observe_count(&g->pods_bound));
	printf("gangs   %" PRIu64 ": %" PRIu64 " incomplete, %" PRIu64 " waiting, %" PRIu64
	       " binding, %" PRIu64 " placed\n",
	       gangs, others, waiting, binding, placed);
	printf("plans   %" PRIu64 ": %" PRIu64 " placed, %" PRIu64
	       " refused; %.1f us mean, %.1f us max\n",
	       plans, observe_count(&s->plans_placed), observe_count(&s->plans_refused),
	       (double)mean / 1000, (double)observe_count(&s->plan_ns_max) / 1000);
	printf("binds   %" PRIu64 " sent, %" PRIu64 " accepted, %" PRIu64 " refused\n",
	       observe_count(&s->binds_sent), observe_count(&s->binds_accepted),
	       observe_count(&s->binds_refused));
	printf("events  %" PRIu64 ", %" PRIu64 " bad, %" PRIu64 " over a limit\n",
	       observe_count(&s->events), observe_count(&s->bad_records),
	       observe_count(&s->limits_hit));
	printf("ledger  %.1f MiB, %.1f MiB of it on huge pages\n",
	       (double)l->observer.link.ledger.bytes / 1048576,
	       (double)segment_huge_bytes(&l->observer.link.ledger) / 1048576);
}

int status_main(int argc, char **argv)
{
	struct live l = { 0 };
	int rc = live_options(&l, argc, argv, help);

	if (rc == -1 && optind < argc)
		rc = ctl_usage(argv[0], "unexpected argument \"%s\"", argv[optind]);
	if (rc != -1)
		return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
	rc = live_open(&l);
	if (rc != EXIT_DONE)
		return rc;
	if (l.output == OUTPUT_JSON)
		print_json(&l);
	else
		print_text(&l);
	live_close(&l);
	return ctl_flush(argv[0]) ? EXIT_DONE : EXIT_USAGE;
}
