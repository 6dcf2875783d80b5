/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl: runs a command. */
#include "ctl/commands.h"
#include "ctl/completion.h"
#include "ctl/term/ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command *const commands[] = {
	&up_command,   &status_command,   &gangs_command,      &nodes_command,   &latency_command,
	&top_command,  &simulate_command, &verdict_command,    &devices_command, &explain_command,
	&fsck_command, &replay_command,   &completion_command,
};
const size_t commands_n = sizeof(commands) / sizeof(commands[0]);

/* "kubectl muster" as a plugin. */
static const char *our_name = "musterctl";

static void print_help(FILE *to)
{
	fprintf(to, "%s COMMAND [ARGUMENTS]\n", our_name);
	fputs("\n"
	      "Shows a live muster, and tries placements offline.\n"
	      "\n",
	      to);
	for (size_t i = 0; i < commands_n; i++)
		fprintf(to, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to,
	        "\n"
	        "%s COMMAND --help prints the flags of a command.\n"
	        "Exit status: 0 done, 1 the answer is no, 2 usage or bad input, 78 another\n"
	        "memory layout, or the address to listen on is taken.\n",
	        our_name);
}

/* Exit code 1 would mean "no" of several commands. */
static void out_of_memory(void)
{
	fputs("musterctl: out of memory\n", stderr);
	exit(EXIT_USAGE);
}

static int run(const struct command *command, int argc, char **argv)
{
	static char name[64];
	int rc;

	snprintf(name, sizeof(name), "%s %s", our_name, command->name);
	argv[0] = name;
	rc = command->run(argc, argv);
	return ctl_flush(name) ? rc : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : our_name;

	memory_before_end(out_of_memory);
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
		options_version();
		return ctl_flush(our_name) ? EXIT_DONE : EXIT_USAGE;
	}
	for (size_t i = 0; i < commands_n; i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			return run(commands[i], argc - 1, argv + 1);
	return ctl_usage(our_name, "no command named \"%s\"; see %s --help", argv[1], our_name);
}
