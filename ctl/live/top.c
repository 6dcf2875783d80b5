/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl top: the live scheduler as it goes on. */
#include "ctl/live/top.h"

#include "ctl/term/ctl.h"

#include <getopt.h>
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

static void print_help(void)
{
	fputs(
		"musterctl top [--socket PATH] [-n SECONDS] [--once | --batch] [--filter TEXT] [--waiting]\n"
		"              [--sort queue|name|age|priority|members]\n"
		"\n"
		"The live scheduler as it goes on: rates, how full each node is, the gangs and why they\n"
		"wait. Reads the ledger alone. Keys: q ends; s n a p m sort by queue, name, age, priority,\n"
		"members (again: reversed); w only gangs that wait; / filter; arrows, page up and down.\n"
		"\n"
		"  --socket PATH    muster-core's socket, as with status\n"
		"  -n, --interval SECONDS\n"
		"                   between two looks, 0.1 to 3600 (default 1)\n"
		"  --once           print it once as text, with the rates of one interval\n"
		"  --batch          print it as text after each interval, until it is interrupted\n"
		"  --sort NAME      gangs by queue (default), name, age, priority or members\n"
		"  --filter TEXT    only gangs whose name or state has this in it\n"
		"  --waiting        only gangs that are not placed\n"
		"\n"
		"Exit status: 0 done, 1 no scheduler is there, or it went away, 2 usage,\n"
		"78 it has another memory layout.\n",
		stdout);
}

enum {
	OPT_SOCKET = 256,
	OPT_ONCE,
	OPT_BATCH,
	OPT_SORT,
	OPT_FILTER,
	OPT_WAITING,
	OPT_HELP,
	OPT_VERSION
};

static int take_interval(struct options *o, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(s) || s < 0.1 || s > 3600)
		return ctl_usage(o->live.command, "-n %s: not a number of seconds from 0.1 to 3600", text);
	o->interval_s = s;
	return -1;
}

static int take_sort(struct options *o, const char *text)
{
	for (int i = 0; i < TOP_SORTS; i++)
		if (strcmp(top_sort_names[i], text) == 0) {
			o->view.sort = (enum top_sort)i;
			return -1;
		}
	return ctl_usage(o->live.command,
	                 "--sort %s: queue, name, age, priority and members are what there is", text);
}

static int take_filter(struct options *o, const char *text)
{
	if (strlen(text) >= sizeof(o->view.filter))
		return ctl_usage(o->live.command, "--filter %s: longer than %zu characters", text,
		                 sizeof(o->view.filter) - 1);
	strcpy(o->view.filter, text);
	return -1;
}

/* -1: go on; else exit with this. */
static int take_options(struct options *o, int argc, char **argv)
{
	static const struct option flags[] = {
		{ "socket", required_argument, NULL, OPT_SOCKET },
		{ "interval", required_argument, NULL, 'n' },
		{ "once", no_argument, NULL, OPT_ONCE },
		{ "batch", no_argument, NULL, OPT_BATCH },
		{ "sort", required_argument, NULL, OPT_SORT },
		{ "filter", required_argument, NULL, OPT_FILTER },
		{ "waiting", no_argument, NULL, OPT_WAITING },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ 0 },
	};
	const char *socket = NULL;
	int c, rc = -1;

	o->live.command = argv[0];
	while (rc == -1 && (c = getopt_long(argc, argv, "n:h", flags, NULL)) != -1) {
		switch (c) {
		case OPT_SOCKET:
			socket = optarg;
			break;
		case 'n':
			rc = take_interval(o, optarg);
			break;
		case OPT_ONCE:
			o->once = true;
			break;
		case OPT_BATCH:
			o->batch = true;
			break;
		case OPT_SORT:
			rc = take_sort(o, optarg);
			break;
		case OPT_FILTER:
			rc = take_filter(o, optarg);
			break;
		case OPT_WAITING:
			o->view.waiting_only = true;
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
	if (rc == -1 && optind < argc)
		return ctl_usage(argv[0], "unexpected argument \"%s\"", argv[optind]);
	o->live.socket = live_socket(socket);
	return rc;
}

static int print(struct options *o)
{
	struct timespec interval = { .tv_sec = (time_t)o->interval_s };
	struct top_look now, was;
	struct sheet sheet = { 0 };
	bool there = true;

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
		top_draw(&sheet, &o->live, &now, &was, &o->view, WIDE_PLAIN, 0);
		sheet_print(&sheet, stdout);
		if (!o->once)
			putchar('\n');
		top_look_free(&was);
		was = now;
	} while (!o->once && ctl_flush(o->live.command));
	sheet_clear(&sheet);
	top_look_free(&was);
	return there ? EXIT_DONE : EXIT_NO;
}

int top_main(int argc, char **argv)
{
	struct options o = { .interval_s = 1 };
	int rc = take_options(&o, argc, argv);

	if (rc != -1)
		return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
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
	return ctl_flush(argv[0]) ? rc : EXIT_USAGE;
}
