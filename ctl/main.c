/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl: runs a command. */
#include "ctl/commands.h"
#include "ctl/completion.h"
#include "ctl/term/ctl.h"
#include "ctl/term/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command *const commands[] = {
	&up_command,      &status_command,        &gangs_command,      &nodes_command,
	&latency_command, &top_command,           &simulate_command,   &queues_command,
	&verdict_command, &devices_command,       &explain_command,    &fsck_command,
	&replay_command,  &check_answers_command, &completion_command,
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
		fprintf(to, "  %-14s %s\n", commands[i]->name, commands[i]->summary);
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

/* Words of kubectl and of other tools for ours. */
static const struct {
	const char *word, *name;
} synonyms[] = {
	{ "gang", "gangs" }, { "podgroup", "gangs" },   { "podgroups", "gangs" },
	{ "pg", "gangs" },   { "queue", "queues" },     { "node", "nodes" },
	{ "no", "nodes" },   { "describe", "explain" }, { "why", "explain" },
};

static const struct command *command_named(const char *word)
{
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if (strcmp(word, synonyms[i].word) == 0)
			word = synonyms[i].name;
	for (size_t i = 0; i < commands_n; i++)
		if (strcmp(word, commands[i]->name) == 0)
			return commands[i];
	return NULL;
}

/* The arguments without the verb of "get gangs", or the noun of "describe gang NAME". */
static char **plain_words(int *argc, char **argv)
{
	static char nodes[] = "nodes", detail[] = "--detail";
	const struct command *noun = *argc > 2 ? command_named(argv[2]) : NULL;

	if (strcmp(argv[1], "get") == 0 && noun != NULL) {
		--*argc;
		return argv + 1;
	}
	if (strcmp(argv[1], "describe") == 0 && noun == &nodes_command) {
		argv[1] = nodes;
		argv[2] = detail;
		return argv;
	}
	if (strcmp(argv[1], "describe") == 0 && noun != NULL) {
		argv[2] = argv[1];
		--*argc;
		return argv + 1;
	}
	return argv;
}

static int not_a_command(const char *word)
{
	const char *names[32], *near;

	for (size_t i = 0; i < commands_n; i++)
		names[i] = commands[i]->name;
	near = near_word(word, names, commands_n);
	if (near != NULL)
		return ctl_usage(our_name, "no command named \"%s\"; did you mean %s?", word, near);
	return ctl_usage(our_name, "no command named \"%s\"; see %s --help", word, our_name);
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : our_name;

	const struct command *command;

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
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		options_version();
		return ctl_flush(our_name) ? EXIT_DONE : EXIT_USAGE;
	}
	argv = plain_words(&argc, argv);
	command = command_named(argv[1]);
	return command != NULL ? run(command, argc - 1, argv + 1) : not_a_command(argv[1]);
}
