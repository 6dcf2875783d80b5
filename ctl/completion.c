/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/completion.h"

#include "ctl/commands.h"
#include "ctl/term/ctl.h"
#include "ctl/up/process.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define ANSWER_S 2 /* longer than a user waits for a completion */

static const char bash_script[] =
	"# bash completion of musterctl: musterctl completion bash\n"
	"_musterctl() {\n"
	"	local line\n"
	"	COMPREPLY=()\n"
	"	while IFS= read -r line; do\n"
	"		if [[ $line == :files ]]; then\n"
	"			compopt -o filenames 2> /dev/null\n"
	"			mapfile -t COMPREPLY < <(compgen -f -- \"$2\")\n"
	"		else\n"
	"			COMPREPLY+=(\"$line\")\n"
	"		fi\n"
	"	done < <(\"$1\" completion -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2> /dev/null)\n"
	"}\n"
	"complete -F _musterctl musterctl kubectl-muster\n";

static const char zsh_script[] =
	"#compdef musterctl kubectl-muster\n"
	"# zsh completion of musterctl: musterctl completion zsh\n"
	"_musterctl() {\n"
	"	local -a found\n"
	"	found=(${(f)\"$(\"${words[1]}\" completion -- \"${(@)words[2,CURRENT]}\" 2> /dev/null)\"})\n"
	"	if [[ $found == :files ]]; then\n"
	"		_files\n"
	"	else\n"
	"		compadd -a found\n"
	"	fi\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _musterctl ]; then\n"
	"	_musterctl\n"
	"else\n"
	"	compdef _musterctl musterctl kubectl-muster\n"
	"fi\n";

static const char fish_script[] =
	"# fish completion of musterctl: musterctl completion fish\n"
	"function __musterctl_complete\n"
	"	set -l words (commandline -opc) (commandline -ct)\n"
	"	set -l found ($words[1] completion -- $words[2..-1] 2> /dev/null)\n"
	"	if test \"$found\" = :files\n"
	"		__fish_complete_path (commandline -ct)\n"
	"	else\n"
	"		printf '%s\\n' $found\n"
	"	end\n"
	"end\n"
	"complete -c musterctl -f -a '(__musterctl_complete)'\n"
	"complete -c kubectl-muster -f -a '(__musterctl_complete)'\n";

/* The next word of `shown`, such as "-n, --interval SECONDS", without the comma; its length, 0 at
 * the end. */
static size_t next_word(const char **at)
{
	*at += strspn(*at, " ,");
	return strcspn(*at, " ,");
}

static bool flag_is(const struct flag *f, const char *name)
{
	size_t bytes;

	for (const char *at = f->shown; (bytes = next_word(&at)) > 0; at += bytes)
		if (bytes == strlen(name) && strncmp(at, name, bytes) == 0)
			return true;
	return false;
}

/* "kube|pack|bestfit", "FILE", "json"; NULL: the flag has no value. */
static const char *flag_value(const struct flag *f)
{
	size_t bytes;

	if (f->words != NULL)
		return f->words;
	for (const char *at = f->shown; (bytes = next_word(&at)) > 0; at += bytes)
		if (*at != '-')
			return at;
	return NULL;
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < commands_n; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

struct request {
	char *const *words; /* after "musterctl" */
	size_t n;           /* >= 1 */
	const char *last;   /* the beginning of the word to complete */
	bool files;         /* the shell is to complete file names */
};

static void offer(const struct request *r, const char *text, size_t bytes)
{
	if (bytes > 0 && strncmp(text, r->last, strlen(r->last)) == 0 && bytes >= strlen(r->last))
		printf("%.*s\n", (int)bytes, text);
}

static void offer_split(const struct request *r, const char *text, const char *separators)
{
	while (*text != '\0') {
		size_t bytes = strcspn(text, separators);

		offer(r, text, bytes);
		text += bytes;
		text += *text != '\0';
	}
}

/* The gangs of the live scheduler: the first column of `musterctl gangs`, without its heading. */
static void offer_gangs(const struct request *r)
{
	struct bytes out = { 0 };
	const char *argv[5] = { "/proc/self/exe", "gangs" };
	int argc = 2;

	for (size_t i = 1; i + 1 < r->n && argc == 2; i++)
		if (strncmp(r->words[i], "--socket=", strlen("--socket=")) == 0) {
			argv[argc++] = r->words[i];
		} else if (strcmp(r->words[i], "--socket") == 0 && i + 2 < r->n) {
			argv[argc++] = r->words[i];
			argv[argc++] = r->words[i + 1];
		}
	process_output(argv, ANSWER_S, true, ANSWER_BYTES_MAX, &out);
	for (const char *line = out.n > 0 ? strchr(out.at, '\n') : NULL; line != NULL;
	     line = strchr(line + 1, '\n'))
		offer(r, line + 1, strcspn(line + 1, " \n"));
	bytes_free(&out);
}

/* `value` as in struct flag and struct command: words in lower case stand for themselves. */
static void offer_value(struct request *r, const char *value)
{
	if (value == NULL)
		return;
	if (islower((unsigned char)value[0]))
		offer_split(r, value, "|");
	else if (strcmp(value, "NAMESPACE/GANG") == 0)
		offer_gangs(r);
	else if (strcmp(value, "FILE") == 0 || strcmp(value, "PATH") == 0)
		r->files = true;
}

static void offer_flags(const struct request *r, const struct flag *flags)
{
	size_t bytes;

	for (const struct flag *f = flags; f != NULL && f->shown != NULL; f++)
		for (const char *at = f->shown; (bytes = next_word(&at)) > 0; at += bytes)
			if (*at == '-')
				offer(r, at, bytes);
	offer(r, "--help", strlen("--help"));
}

static void offer_of_command(struct request *r, const struct command *command)
{
	const char *before = r->words[r->n - 2];

	for (const struct flag *f = command->flags; r->n > 2 && f != NULL && f->shown != NULL; f++)
		if (flag_is(f, before) && flag_value(f) != NULL) {
			offer_value(r, flag_value(f));
			return;
		}
	if (*r->last == '-')
		offer_flags(r, command->flags);
	else
		offer_value(r, command->argument);
}

static void offer_all(struct request *r)
{
	const struct command *command;

	if (r->n >= 2) {
		command = command_find(r->words[0]);
		if (command != NULL)
			offer_of_command(r, command);
		return;
	}
	for (size_t i = 0; i < commands_n; i++)
		offer(r, commands[i]->name, strlen(commands[i]->name));
	if (*r->last == '-')
		offer_split(r, "--help\n--version", "\n");
}

/* Completes the last word. True when the shell is to complete file names. Bash makes "=" a word of
 * its own. */
static bool words_complete(int argc, char **argv)
{
	static char empty[] = "";
	char **words = must_array((size_t)argc + 1, sizeof(*words));
	struct request r = { .words = words };

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "=") != 0)
			words[r.n++] = argv[i];
	if (r.n == 0 || strcmp(argv[argc - 1], "=") == 0)
		words[r.n++] = empty;
	r.last = words[r.n - 1];
	offer_all(&r);
	free(words);
	return r.files;
}

int completion_for_kubectl(int argc, char **argv)
{
	/* ShellCompDirectiveDefault lets the shell complete files, ...NoFileComp doesn't. */
	puts(words_complete(argc - 1, argv + 1) ? ":0" : ":4");
	return ctl_flush(argv[0]) ? EXIT_DONE : EXIT_USAGE;
}

static const char *script_of(const char *shell)
{
	return strcmp(shell, "bash") == 0   ? bash_script
	       : strcmp(shell, "zsh") == 0  ? zsh_script
	       : strcmp(shell, "fish") == 0 ? fish_script
	                                    : NULL;
}

static int run(int argc, char **argv)
{
	const char *script;
	int rc;

	if (argc >= 2 && strcmp(argv[1], "--") == 0) {
		if (words_complete(argc - 2, argv + 2))
			puts(":files");
		return EXIT_DONE;
	}
	rc = command_read_flags(&completion_command, argc, argv, NULL);
	if (rc != -1)
		return rc;
	if (optind == argc)
		return ctl_usage(argv[0], "which shell: bash, zsh or fish?");
	script = script_of(argv[optind]);
	if (script == NULL)
		return ctl_usage(argv[0], "\"%s\" is none of bash, zsh, fish", argv[optind]);
	fputs(script, stdout);
	return EXIT_DONE;
}

const struct command completion_command = {
	.name = "completion",
	.summary = "a script that lets a shell complete all this",
	.usage = "bash|zsh|fish\nmusterctl completion -- WORD...",
	.about =
		"Prints a script that completes commands, flags, files, and the names of gangs of the\n"
		"live scheduler. make install and the Debian package install them; elsewhere:\n"
		"source <(musterctl completion bash). kubectl finds kubectl_complete-muster itself.\n"
		"\n"
		"With --: completions of the last WORD, one a line, or :files. The scripts call it.\n",
	.exits = "0 done, 2 usage.",
	.argument = "bash|zsh|fish",
	.arguments_max = 1,
	.run = run,
};
