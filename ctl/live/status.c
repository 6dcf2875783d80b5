/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl status: the live scheduler at a glance. */
#include "ctl/live/live.h"
#include "ctl/live/rows.h"
#include "ctl/term/print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECKS_PER_S 50u

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
	char epoch[32];

	json_add_text(o, "socket", l->socket);
	/* As text: it needs 64 bits, and most readers keep numbers in a double. */
	snprintf(epoch, sizeof(epoch), "%" PRIu64, observe_count(&ledger->epoch));
	json_add_text(o, "epoch", epoch);
	json_add_number(o, "progress", (int64_t)observe_count(&ledger->progress));
	json_checked(cJSON_AddBoolToObject(o, "synced", observe_count(&ledger->gauges.synced) != 0));
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		json_add_number(o, figures[i].name, (int64_t)figure_now(ledger, &figures[i]));
	json_add_number(o, "ledger_bytes", (int64_t)l->observer.link.ledger.bytes);
	json_add_number(o, "ledger_huge_bytes", (int64_t)segment_huge_bytes(&l->observer.link.ledger));
	json_print(o, false);
}

static void print_text(const struct live *l)
{
	const struct ledger *ledger = l->observer.ledger;
	const struct core_gauges *g = &ledger->gauges;
	const struct core_stats *s = &ledger->stats;
	uint64_t plans = observe_count(&s->plans);
	struct gangs gangs = rows_gangs(&l->observer, NULL);
	char states[256];
	uint64_t mean = plans > 0 ? observe_count(&s->plan_ns_sum) / plans : 0;

	printf("muster on %s: %s\n", l->socket,
	       observe_count(&g->synced) != 0 ? "in step with the cluster" : "lists are not in yet");
	printf("epoch   %" PRIu64 "\n", observe_count(&ledger->epoch));
	printf("nodes   %" PRIu64 "\n", observe_count(&g->nodes));
	printf("pods    %" PRIu64 ": %" PRIu64 " pending, %" PRIu64 " bound\n", observe_count(&g->pods),
	       observe_count(&g->pods_pending), observe_count(&g->pods_bound));
	printf("gangs   %s\n", rows_states_text(&gangs, states));
	free(gangs.at);
	printf("plans   %" PRIu64 ": %" PRIu64 " placed, %" PRIu64
	       " failed; %.1f us mean, %.1f us max\n",
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

/* True if the core's loop makes a turn within the given time. */
static bool makes_progress(const struct live *l)
{
	const struct ledger *ledger = l->observer.ledger;
	const struct timespec nap = { .tv_nsec = 1000000000 / CHECKS_PER_S };
	uint64_t seen = observe_count(&ledger->progress);

	for (uint32_t i = 0; i < l->progress_s * CHECKS_PER_S; i++) {
		nanosleep(&nap, NULL);
		if (observe_count(&ledger->progress) != seen)
			return true;
	}
	return false;
}

static int show(struct live *l, const char *argument)
{
	if (l->progress_s > 0 && !makes_progress(l)) {
		fprintf(stderr, "%s: muster-core on %s made no progress for %" PRIu32 " s\n", l->command,
		        l->socket, l->progress_s);
		return EXIT_NO;
	}
	if (l->output == OUTPUT_JSON)
		print_json(l);
	else
		print_text(l);
	return EXIT_DONE;
}

static int run(int argc, char **argv)
{
	return live_run(&status_command, argc, argv, show);
}

static bool read_seconds(const char *command, const char *text, void *to)
{
	uint64_t s;

	if (!option_digits(text, &s) || s < 1 || s > 3600)
		return ctl_usage(command, "--progress %s: not a number of seconds from 1 to 3600", text),
		       false;
	*(uint32_t *)to = (uint32_t)s;
	return true;
}

static const struct flag flags[] = {
	FLAG_SOCKET(struct live, socket),
	FLAG_OUTPUT(struct live, output, "JSON instead of text"),
	{ "progress", 0, "--progress SECONDS",
	  "exit 1 unless muster-core's loop makes progress within this\ntime: a liveness probe", NULL,
	  read_seconds, offsetof(struct live, progress_s) },
	{ 0 },
};

const struct command status_command = {
	.name = "status",
	.summary = "the live scheduler at a glance",
	.usage = "[--socket PATH] [--progress SECONDS] [-o json]",
	.about = "A summary of the live scheduler: objects, waiting pods and gangs, times of plans.\n",
	.exits = LIVE_EXITS,
	.flags = flags,
	.run = run,
};
