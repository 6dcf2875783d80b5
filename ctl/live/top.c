/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl top: the live scheduler, refreshed. */
#include "ctl/live/top.h"

#include "ctl/term/edge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WIDE_PLAIN 100u

struct options {
	struct live live;
	struct top_view view;
	double interval_s;
	bool once, batch;
};

static bool read_interval(const char *command, const char *text, void *to)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(s) || s < 0.1 || s > 3600)
		return ctl_usage(command, "-n %s: not a number of seconds from 0.1 to 3600", text), false;
	*(double *)to = s;
	return true;
}

static bool read_sort(const char *command, const char *text, void *to)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (strcmp(top_sort_names[i], text) == 0) {
			*(enum top_sort *)to = (enum top_sort)i;
			return true;
		}
	return ctl_usage(command, "--sort %s: queue, name, age, priority and members are what there is",
	                 text),
	       false;
}

static bool read_filter(const char *command, const char *text, void *to)
{
	if (strlen(text) >= TOP_FILTER_BYTES)
		return ctl_usage(command, "--filter %s: longer than %d characters", text,
		                 TOP_FILTER_BYTES - 1),
		       false;
	strcpy(to, text);
	return true;
}

static const struct flag flags[] = {
	FLAG_SOCKET(struct options, live.socket),
	{ "interval", 'n', "-n, --interval SECONDS", "refresh interval, 0.1 to 3600 (default 1)", NULL,
	  read_interval, offsetof(struct options, interval_s) },
	{ "once", 0, "--once", "print it once as text, with the rates of one interval", NULL, NULL,
	  offsetof(struct options, once) },
	{ "batch", 0, "--batch", "print it as text after each interval, until it is interrupted", NULL,
	  NULL, offsetof(struct options, batch) },
	{ "sort", 0, "--sort NAME", "gangs by queue (default), name, age, priority or members",
	  "queue|name|age|priority|members", read_sort, offsetof(struct options, view.sort) },
	{ "filter", 0, "--filter TEXT", "only gangs whose name or state contains this", NULL,
	  read_filter, offsetof(struct options, view.filter) },
	{ "waiting", 0, "--waiting", "only gangs that are not placed", NULL, NULL,
	  offsetof(struct options, view.waiting_only) },
	{ 0 },
};

static int print(struct options *o)
{
	struct timespec interval = { .tv_sec = (time_t)o->interval_s };
	struct top_look now, was;
	struct styled_text text = { 0 };
	bool there = true;
	size_t edge;

	interval.tv_nsec = (long)((o->interval_s - (double)interval.tv_sec) * 1e9);
	top_look_take(&o->live.observer, &was);
	do {
		nanosleep(&interval, NULL);
		there = live_is_there(&o->live);
		if (!there) {
			fprintf(stderr, "%s: muster-core went away\n", o->live.command);
			break;
		}
		top_look_take(&o->live.observer, &now);
		edge = edge_columns(stdout);
		top_draw(&text, &o->live, &now, &was, &o->view, edge > 0 ? edge : WIDE_PLAIN, 0);
		styled_print(&text, edge, stdout);
		if (!o->once)
			putchar('\n');
		top_look_free(&was);
		was = now;
	} while (!o->once && ctl_flush(o->live.command));
	styled_clear(&text);
	top_look_free(&was);
	return there ? EXIT_DONE : EXIT_NO;
}

static int run(int argc, char **argv)
{
	struct options o = { .live = { .command = argv[0] }, .interval_s = 1 };
	int rc = command_read_flags(&top_command, argc, argv, &o);

	if (rc != -1)
		return rc;
	if (!o.once && !o.batch && (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
		return ctl_usage(argv[0], "this is no terminal; --once and --batch print text");
	rc = live_open(&o.live);
	if (rc != EXIT_DONE)
		return rc;
	if (o.once || o.batch)
		rc = print(&o);
	else
		rc = top_screen(&o.live, &o.view, o.interval_s);
	live_close(&o.live);
	if (rc == -1)
		return ctl_usage(
			argv[0],
			"$TERM is \"%s\", which is unknown or can't move its cursor; --once and --batch print text",
			getenv("TERM") != NULL ? getenv("TERM") : "");
	return rc;
}

const struct command top_command = {
	.name = "top",
	.summary = "rates, nodes and gangs as they change, on a terminal",
	.usage = "[--socket PATH] [-n SECONDS] [--once | --batch] [--filter TEXT] [--waiting]\n"
			 "              [--sort queue|name|age|priority|members]",
	.about = "The live scheduler, refreshed: rates, how full each node is, the gangs and why they\n"
			 "wait. Reads the ledger alone. Keys: q ends; s n a p m sort by queue, name, age,\n"
			 "priority, members (again: reversed); w only gangs that wait; / filter; arrows,\n"
			 "page up and down.\n",
	.exits = "0 done, 1 no scheduler runs, or it ended, 2 usage,\n78 it has another memory layout.",
	.flags = flags,
	.run = run,
};
