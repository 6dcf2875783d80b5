/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl: the commands and their table. */
#include "ctl/commands.h"
#include "ctl/completion.h"
#include "ctl/term/ctl.h"

#include <stdio.h>
#include <string.h>

const struct command commands[] = {
	{ "up", "run both daemons on this host, restarted when they die", up_main },
	{ "status", "the live scheduler at a glance", status_main },
	{ "gangs", "the gangs it knows, and why they wait", gangs_main },
	{ "nodes", "the nodes it knows, and what is used of them", nodes_main },
	{ "latency", "where the time of pods went, stage by stage", latency_main },
	{ "top", "rates, nodes and gangs as they change, on a terminal", top_main },
	{ "simulate", "place everything pending in files of objects, offline", simulate_main },
	{ "verdict", "for each node: is it feasible for a pod, why not, its score", verdict_main },
	{ "explain", "why a gang waits, and what would let it start", explain_main },
	{ "fsck", "is the live ledger what the API server's objects make of it?", fsck_main },
	{ "replay", "run again what muster-core --record wrote down, and compare", replay_main },
	{ "completion", "a script that lets a shell complete all this", completion_main },
};
const size_t commands_n = sizeof(commands) / sizeof(commands[0]);

/* kubectl runs its plugin under this name. */
static const char *our_name = "musterctl";

static void print_help(FILE *to)
{
	fprintf(to, "%s COMMAND [ARGUMENTS]\n", our_name);
	fputs("\n"
	      "Shows a live muster, and tries placements offline.\n"
	      "\n",
	      to);
	for (size_t i = 0; i < commands_n; i++)
		fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].says);
	fprintf(to,
	        "\n"
	        "%s COMMAND --help tells the flags of a command.\n"
	        "Exit status: 0 done, 1 the answer is no, 2 usage or bad input, 78 another\n"
	        "memory layout, or the address to listen on is taken.\n",
	        our_name);
}

static int run(const struct command *command, int argc, char **argv)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s %s", our_name, command->name);
	argv[0] = name;
	return command->main(argc, argv);
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : our_name;

	if (strcmp(program, "kubectl_complete-muster") == 0)
		return completion_for_kubectl(argc, argv);
	if (strcmp(program, "kubectl-muster") == 0)
		our_name = "kubectl muster";
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return ctl_flush(our_name) ? EXIT_DONE : EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("musterctl " MUSTER_VERSION);
		return ctl_flush(our_name) ? EXIT_DONE : EXIT_USAGE;
	}
	for (size_t i = 0; i < commands_n; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run(&commands[i], argc - 1, argv + 1);
	return ctl_usage(our_name, "no command named \"%s\"; see %s --help", argv[1], our_name);
}
