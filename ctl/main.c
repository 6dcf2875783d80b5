/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl: runs a command. */
#include "ctl/commands.h"
#include "ctl/completion.h"
#include "ctl/term/ctl.h"
#include "ctl/term/near.h"

#include <stdint.h>
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

static bool is_pod_word(const char *word)
{
	return strcmp(word, "pod") == 0 || strcmp(word, "pods") == 0 || strcmp(word, "po") == 0;
}

/* The words of the command line, of which the first names the command. */
struct words {
	int n;
	char **at;
};

/* "node/NAME" or "gang/NAMESPACE/NAME" as kubectl takes and -o name prints it, and with `pods`
 * "pod/NAME": the command, and the name alone in *word; NULL: it is none of these. */
static const struct command *kind_take(char **word, bool pods)
{
	const size_t n = strcspn(*word, "/");
	const struct command *command;
	char kind[16];

	if ((*word)[n] == '\0' || n >= sizeof(kind))
		return NULL;
	memcpy(kind, *word, n);
	kind[n] = '\0';
	command = command_named(kind);
	if (pods && is_pod_word(kind))
		command = &explain_command;
	else if (command != &gangs_command && command != &nodes_command)
		return NULL;
	*word += n + 1;
	return command;
}

/* The words without the verb of "get gangs", or the noun of "describe gang NAME"; at[-1] is there.
 */
static void plain_words(struct words *w)
{
	static char detail[] = "--detail";
	const bool gets = strcmp(w->at[0], "get") == 0, describes = strcmp(w->at[0], "describe") == 0;
	const struct command *noun = NULL;

	if (w->n < 2 || (!gets && !describes))
		return;
	noun = kind_take(&w->at[1], describes);
	if (noun != NULL) { /* as two words */
		w->at--;
		w->n++;
		w->at[0] = w->at[1];
	} else if (describes && is_pod_word(w->at[1])) {
		noun = &explain_command;
	} else {
		noun = command_named(w->at[1]);
	}
	if (noun == NULL)
		return;
	if (describes && noun == &nodes_command) {
		w->at[1] = detail;
	} else {
		w->at++;
		w->n--;
	}
	if (describes && noun != &nodes_command)
		noun = &explain_command;
	w->at[0] = (char *)(uintptr_t)noun->name;
}

/* "help gangs" */
static void help_words(struct words *w)
{
	static char help[] = "--help";

	if (w->n < 2 || strcmp(w->at[0], "help") != 0)
		return;
	w->at[0] = w->at[1];
	w->at[1] = help;
	w->n = 2;
}

/* Words after "help" that have no flags of their own. */
static bool is_general(const char *word)
{
	return word[0] == '-' || strcmp(word, "get") == 0 || strcmp(word, "help") == 0 ||
	       strcmp(word, "version") == 0;
}

static int not_a_command(const struct words *w)
{
	const char *names[32] = { "get", "describe", "help", "version" }, *near, *word = w->at[0];
	const bool gets = strcmp(word, "get") == 0;
	size_t n = gets ? 0 : 4;

	if (gets && w->n < 2)
		return ctl_usage(our_name, "get: gangs, nodes and queues are what there is");
	if (gets)
		word = w->at[1];
	if (is_pod_word(word))
		return ctl_usage(our_name,
		                 "no command named \"%s\"; gangs --singles lists the pods without a gang, "
		                 "explain takes the name of a pod",
		                 word);
	if (word[0] == '-')
		return ctl_usage(our_name, "%s: flags follow the command; see %s --help", word, our_name);
	for (size_t i = 0; i < commands_n; i++)
		names[n++] = commands[i]->name;
	near = near_word(word, names, n);
	if (near != NULL)
		return ctl_usage(our_name, "no command named \"%s\"; did you mean %s?", word, near);
	return ctl_usage(our_name, "no command named \"%s\"; see %s --help", word, our_name);
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : our_name;

	struct words w = { argc - 1, argv + 1 };
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
	    (strcmp(argv[1], "help") == 0 && (argc == 2 || is_general(argv[2])))) {
		print_help(stdout);
		return ctl_flush(our_name) ? EXIT_DONE : EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
		options_version();
		return ctl_flush(our_name) ? EXIT_DONE : EXIT_USAGE;
	}
	help_words(&w);
	plain_words(&w);
	command = command_named(w.at[0]);
	return command != NULL ? run(command, w.n, w.at) : not_a_command(&w);
}
