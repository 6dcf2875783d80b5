/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/completion.h"

#include "ctl/commands.h"
#include "ctl/term/ctl.h"
#include "frontend/base/bytes.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define ANSWER_S 2 /* who types doesn't wait longer */

static const char help_text[] =
	"musterctl completion bash|zsh|fish\n"
	"musterctl completion -- WORD...\n"
	"\n"
	"Prints a script that completes commands, flags, files, and the names of gangs and nodes\n"
	"of the live scheduler. make install and the Debian package put them in place; elsewhere:\n"
	"source <(musterctl completion bash). kubectl finds kubectl_complete-muster by itself.\n"
	"\n"
	"With --: what the last WORD may become, one a line, or :files. The scripts call it.\n"
	"\n"
	"Exit status: 0 done, 2 usage.\n";

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

/* What a place on the command line takes. */
struct place {
	char text[80]; /* "kube|pack|bestfit", "FILE", "NAMESPACE/GANG"; "" for nothing */
};

/* ---- reading a text of help --------------------------------------------------------- */

static bool in_flag(char c)
{
	return isalnum((unsigned char)c) || c == '-';
}

/* Bytes of a flag that stands here, 0 for none. */
static size_t flag_at(const char *text)
{
	size_t dashes = strspn(text, "-"), bytes = dashes;

	if (dashes == 0 || dashes > 2 || !isalpha((unsigned char)text[dashes]))
		return 0;
	while (in_flag(text[bytes]))
		bytes++;
	return dashes == 2 || bytes == 2 ? bytes : 0;
}

/* Where the part of a line that names flags ends: at the gap before what it says of them. */
static const char *names_end(const char *line, const char *end)
{
	for (const char *at = line + strspn(line, " "); at + 1 < end; at++)
		if (at[0] == ' ' && at[1] == ' ')
			return at;
	return end;
}

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static bool line_has_flags(const char *line)
{
	return strncmp(line, "  -", 3) == 0;
}

/* The next line that names flags; NULL after the last one. */
static const char *flags_line(const char *line)
{
	while (*line != '\0' && !line_has_flags(line)) {
		line = line_end(line);
		line += *line == '\n';
	}
	return *line != '\0' ? line : NULL;
}

/* The flags in a text of help, one a line. */
static void flags_read(const char *help, struct bytes *out)
{
	const char *line = help;

	while ((line = flags_line(line)) != NULL) {
		const char *end = names_end(line, line_end(line));

		for (const char *at = line + 2; at < end; at++) {
			size_t bytes = in_flag(at[-1]) ? 0 : flag_at(at);

			if (bytes == 0)
				continue;
			bytes_add(out, at, bytes);
			bytes_add(out, "\n", 1);
			at += bytes - 1;
		}
		line = line_end(line);
	}
}

/* A word of a usage or of a line of flags, without brackets, dots and commas. */
static void place_read(const char *at, const char *end, struct place *out)
{
	size_t n = 0;

	while (at < end && *at == '[')
		at++;
	while (at < end && n < sizeof(out->text) - 1 && strchr(" ],.\n", *at) == NULL)
		out->text[n++] = *at++;
	out->text[n] = '\0';
}

static bool place_is_words(const struct place *p)
{
	return islower((unsigned char)p->text[0]);
}

static bool value_in(const char *text, const char *end, const char *flag, struct place *out)
{
	size_t bytes = strlen(flag);

	for (const char *at = text; at + bytes + 1 < end; at++) {
		if (strncmp(at, flag, bytes) != 0 || in_flag(at[bytes]) || (at > text && in_flag(at[-1])))
			continue;
		if (at[bytes] != ' ' || strchr(" -", at[bytes + 1]) != NULL)
			return false;
		place_read(at + bytes + 1, end, out);
		return out->text[0] != '\0';
	}
	return false;
}

static const char *usage_end(const char *help)
{
	const char *end = strstr(help, "\n\n");

	return end != NULL ? end : help + strlen(help);
}

/* What follows this flag; false when nothing does, or the flag isn't there. */
static bool value_read(const char *help, const char *flag, struct place *out)
{
	const char *line = help;
	bool found = value_in(help, usage_end(help), flag, out);

	/* The usage may give the words, the line of the flag what they are, or the other way round. */
	while ((!found || !place_is_words(out)) && (line = flags_line(line)) != NULL) {
		struct place here;

		if (value_in(line, names_end(line, line_end(line)), flag, &here) &&
		    (!found || place_is_words(&here))) {
			*out = here;
			found = true;
		}
		line = line_end(line);
	}
	return found;
}

/* What an argument that is no flag may be. */
static void argument_read(const char *help, struct place *out)
{
	const char *end = line_end(help), *at = help;
	bool after_flag = false;

	out->text[0] = '\0';
	for (int word = 0; at < end; word++) {
		size_t bytes = strcspn(at, " \n");
		const char *inner = at + (*at == '[');

		if (word >= 2 && *inner != '-' && !after_flag) {
			place_read(inner, at + bytes, out);
			return;
		}
		after_flag = *inner == '-' && at[bytes - 1] != ']';
		at += bytes;
		at += strspn(at, " ");
	}
}

/* ---- what the commands say ------------------------------------------------------------ */

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < commands_n; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static _Noreturn void answer_child(const struct command *command, int argc, char **argv, int out)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDERR_FILENO);
	dup2(out, STDOUT_FILENO);
	alarm(ANSWER_S);
	command->main(argc, argv);
	fflush(stdout);
	_exit(0);
}

/* What a command prints, NUL-terminated; "" when it can't be run. */
static void answer_read(const struct command *command, int argc, char **argv, struct bytes *out)
{
	int fds[2];
	ssize_t got;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == 0) {
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			answer_child(command, argc, argv, fds[1]);
		close(fds[1]);
		while (pid > 0 && out->n < ANSWER_BYTES_MAX &&
		       (got = read(fds[0], bytes_room(out, 4096), 4096)) > 0)
			out->n += (size_t)got;
		close(fds[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	bytes_add(out, "", 1);
	out->n--;
}

static void help_read(const struct command *command, struct bytes *out)
{
	char *argv[] = { ctl_copy("musterctl"), ctl_copy("--help"), NULL };

	answer_read(command, 2, argv, out);
	free(argv[0]);
	free(argv[1]);
}

/* ---- candidates ------------------------------------------------------------------------ */

struct asking {
	char *const *words; /* after "musterctl" */
	size_t n;           /* >= 1 */
	const char *last;   /* what it begins with */
	bool files;         /* the shell is to complete file names */
};

static void offer(const struct asking *a, const char *text, size_t bytes)
{
	if (bytes > 0 && strncmp(text, a->last, strlen(a->last)) == 0 && bytes >= strlen(a->last))
		printf("%.*s\n", (int)bytes, text);
}

static void offer_split(const struct asking *a, const char *text, const char *separators)
{
	while (*text != '\0') {
		size_t bytes = strcspn(text, separators);

		offer(a, text, bytes);
		text += bytes;
		text += *text != '\0';
	}
}

/* The first column of what a command on the live scheduler prints, without its head. */
static void offer_live(const struct asking *a, const char *name)
{
	const struct command *command = command_find(name);
	struct bytes out = { 0 };
	char *argv[4] = { ctl_copy("musterctl"), NULL };
	int argc = 1;

	for (size_t i = 1; i + 1 < a->n && argc == 1; i++)
		if (strncmp(a->words[i], "--socket=", strlen("--socket=")) == 0) {
			argv[argc++] = a->words[i];
		} else if (strcmp(a->words[i], "--socket") == 0 && i + 2 < a->n) {
			argv[argc++] = a->words[i];
			argv[argc++] = a->words[i + 1];
		}
	argv[argc] = NULL;
	if (command != NULL)
		answer_read(command, argc, argv, &out);
	for (const char *line = out.n > 0 ? strchr(out.at, '\n') : NULL; line != NULL;
	     line = strchr(line + 1, '\n'))
		offer(a, line + 1, strcspn(line + 1, " \n"));
	bytes_free(&out);
	free(argv[0]);
}

static void offer_place(struct asking *a, const struct place *p)
{
	const char *slash = strchr(p->text, '/');

	if (place_is_words(p))
		offer_split(a, p->text, "|");
	else if (slash != NULL && strcmp(slash, "/GANG") == 0)
		offer_live(a, "gangs");
	else if (strcmp(p->text, "NODE") == 0)
		offer_live(a, "nodes");
	else if (strcmp(p->text, "FILE") == 0 || strcmp(p->text, "PATH") == 0 ||
	         strcmp(p->text, "DIR") == 0)
		a->files = true;
}

static void offer_of_command(struct asking *a, const struct command *command)
{
	const char *before = a->words[a->n - 2];
	struct place place;
	struct bytes help = { 0 }, flags = { 0 };

	help_read(command, &help);
	if (a->n > 2 && flag_at(before) > 0 && value_read(help.at, before, &place)) {
		offer_place(a, &place);
	} else if (*a->last == '-') {
		flags_read(help.at, &flags);
		bytes_add(&flags, "--help", sizeof("--help"));
		offer_split(a, flags.at, "\n");
	} else {
		argument_read(help.at, &place);
		offer_place(a, &place);
	}
	bytes_free(&flags);
	bytes_free(&help);
}

static void offer_all(struct asking *a)
{
	const struct command *command;

	if (a->n >= 2) {
		command = command_find(a->words[0]);
		if (command != NULL)
			offer_of_command(a, command);
		return;
	}
	for (size_t i = 0; i < commands_n; i++)
		offer(a, commands[i].name, strlen(commands[i].name));
	if (*a->last == '-')
		offer_split(a, "--help\n--version", "\n");
}

/* What the last word may become; true when the shell is to complete file names.  Bash makes
 * "=" a word of its own. */
static bool words_complete(int argc, char **argv)
{
	static char empty[] = "";
	char **words = ctl_alloc((size_t)argc + 1, sizeof(*words));
	struct asking a = { .words = words };

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "=") != 0)
			words[a.n++] = argv[i];
	if (a.n == 0 || strcmp(argv[argc - 1], "=") == 0)
		words[a.n++] = empty;
	a.last = words[a.n - 1];
	offer_all(&a);
	free(words);
	return a.files;
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

int completion_main(int argc, char **argv)
{
	const char *script;

	if (argc < 2)
		return ctl_usage(argv[0], "which shell: bash, zsh or fish?");
	if (strcmp(argv[1], "--") == 0) {
		if (words_complete(argc - 2, argv + 2))
			puts(":files");
		return ctl_flush(argv[0]) ? EXIT_DONE : EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		script = help_text;
	else if (strcmp(argv[1], "--version") == 0)
		script = "musterctl " MUSTER_VERSION "\n";
	else
		script = script_of(argv[1]);
	if (script == NULL)
		return ctl_usage(argv[0], "\"%s\" is none of bash, zsh, fish", argv[1]);
	if (argc > 2)
		return ctl_usage(argv[0], "unexpected argument \"%s\"", argv[2]);
	fputs(script, stdout);
	return ctl_flush(argv[0]) ? EXIT_DONE : EXIT_USAGE;
}
