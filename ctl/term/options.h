/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of a command, in one table: what parses them, what --help prints, and what a shell
 * completes.  --help (-h) and --version are added to each table.
 *
 *   command_read_flags()  argv -> the command's struct of options, by the offsets in the table
 *   options_help()  usage, description, flags, exit status */
#ifndef MUSTER_CTL_OPTIONS_H
#define MUSTER_CTL_OPTIONS_H

#include "ctl/term/ctl.h"

#include <stddef.h>
#include <stdint.h>

/* Stores the value of a flag at `to`.  False, and a message, if it is not valid. */
typedef bool (*option_read_fn)(const char *command, const char *text, void *to);

struct flag {
	const char *name;    /* "filename": --filename; NULL: only in --help */
	char letter;         /* 'f': -f as well; 0: none */
	const char *shown;   /* in --help: "-f FILE" */
	const char *help;    /* one or more lines */
	const char *words;   /* values that a shell completes, "kube|pack"; NULL: those of `shown` */
	option_read_fn read; /* NULL: the flag has no value and sets a bool */
	size_t offset;       /* of the field in the struct of options */
};

#define FLAG_OUTPUT(type, field, text)                                                             \
	{                                                                                              \
		"output", 'o', "-o json", text, NULL, option_output, offsetof(type, field)                 \
	}

/* Of a command that prints tables. */
#define FLAG_TABLES(type, field, text)                                                             \
	{                                                                                              \
		"output", 'o', "-o json|wide", text "\nwide: all columns and whole lines on a terminal",   \
			"json|wide", option_output_wide, offsetof(type, field)                                 \
	}

struct command {
	const char *name;
	const char *summary;      /* its line of musterctl --help */
	const char *usage;        /* behind "musterctl NAME " */
	const char *about;        /* paragraphs, the last newline included */
	const char *exits;        /* the paragraph about the exit status */
	const struct flag *flags; /* ended by one without `shown`; NULL: none */
	const char
		*argument; /* "FILE", "NAMESPACE/GANG", "bash|zsh|fish": for completion; NULL: nothing */
	int arguments_max; /* more is an error; ARGUMENTS_ANY: `run` checks */
	/* argv[0] is "musterctl NAME", for messages.  Returns the exit code. */
	int (*run)(int argc, char **argv);
};
#define ARGUMENTS_ANY (-1)

extern const struct command up_command, status_command, gangs_command, nodes_command,
	latency_command, top_command, simulate_command, queues_command, verdict_command,
	devices_command, explain_command, fsck_command, replay_command, check_answers_command,
	completion_command;

/* -1: go on, the arguments that are not flags begin at argv[optind]; else the exit code. */
int command_read_flags(const struct command *c, int argc, char **argv, void *options);
void options_help(const struct command *c);
void options_version(void);

/* The values of a flag that may be repeated, such as -f; `at` is to be freed, the texts are argv's.
 */
struct arguments {
	const char **at;
	size_t n;
};
void arguments_add(struct arguments *t, const char *text);

bool option_text(const char *command, const char *text, void *to);  /* const char * */
bool option_texts(const char *command, const char *text, void *to); /* struct arguments */
/* Digits and nothing else, of 64 bits; without a message. */
bool option_digits(const char *text, uint64_t *out);
bool option_output(const char *command, const char *text,
                   void *to); /* enum output: "json" alone is valid */
bool option_output_wide(const char *command, const char *text,
                        void *to); /* "json" and "wide" are */

#endif
