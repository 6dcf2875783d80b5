/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/options.h"

#include "ctl/term/near.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAGS_MAX 24
#define LONG_FLAG 256 /* getopt's value of flag i is this + i, so that it is no letter */

void arguments_add(struct arguments *t, const char *text)
{
	t->at = must_grow(t->at, (t->n + 1) * sizeof(*t->at));
	t->at[t->n++] = text;
}

bool option_text(const char *command, const char *text, void *to)
{
	*(const char **)to = text;
	return true;
}

bool option_digits(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && text[0] >= '0' && text[0] <= '9';
}

bool option_texts(const char *command, const char *text, void *to)
{
	arguments_add(to, text);
	return true;
}

bool option_output(const char *command, const char *text, void *to)
{
	if (strcmp(text, "json") != 0)
		return ctl_usage(command, "-o %s: json is the only other form of output", text), false;
	*(enum output *)to = OUTPUT_JSON;
	return true;
}

bool option_output_wide(const char *command, const char *text, void *to)
{
	if (strcmp(text, "json") != 0 && strcmp(text, "wide") != 0)
		return ctl_usage(command, "-o %s: json and wide are the other forms of output", text),
		       false;
	*(enum output *)to = text[0] == 'w' ? OUTPUT_WIDE : OUTPUT_JSON;
	return true;
}

static size_t count_flags(const struct command *c)
{
	size_t n = 0;

	while (c->flags != NULL && c->flags[n].shown != NULL)
		n++;
	return n;
}

void options_help(const struct command *c)
{
	size_t n = count_flags(c);
	int widest = 0;

	printf("musterctl %s %s\n\n%s\n", c->name, c->usage, c->about);
	for (size_t i = 0; i < n; i++)
		if ((int)strlen(c->flags[i].shown) > widest)
			widest = (int)strlen(c->flags[i].shown);
	for (size_t i = 0; i < n; i++) {
		const char *shown = c->flags[i].shown;

		for (const char *line = c->flags[i].help; line != NULL; shown = "") {
			int bytes = (int)strcspn(line, "\n");

			printf("  %-*s   %.*s\n", widest, shown, bytes, line);
			line = line[bytes] == '\n' ? line + bytes + 1 : NULL;
		}
	}
	printf("%sExit status: %s\n", n > 0 ? "\n" : "", c->exits);
}

void options_version(void)
{
	puts("musterctl " MUSTER_VERSION);
}

/* The table as getopt_long() takes it. */
static void fill_getopt(const struct flag *flags, size_t n, struct option *longs, char *letters)
{
	size_t l = 0;

	for (size_t i = 0; i < n; i++) {
		const struct flag *f = &flags[i];

		longs[i] = (struct option){ f->name, f->read != NULL ? required_argument : no_argument,
			                        NULL, LONG_FLAG + (int)i };
		if (f->letter == 0)
			continue;
		letters[l++] = f->letter;
		if (f->read != NULL)
			letters[l++] = ':';
	}
	letters[l++] = 'h';
	letters[l] = '\0';
	longs[n] = (struct option){ "help", no_argument, NULL, 'h' };
	longs[n + 1] = (struct option){ "version", no_argument, NULL, 'V' };
	longs[n + 2] = (struct option){ 0 };
}

static bool store(const struct flag *f, const char *command, const char *value, void *options)
{
	void *to = (char *)options + f->offset;

	if (f->read != NULL)
		return f->read(command, value, to);
	*(bool *)to = true;
	return true;
}

/* The flag that was meant by one that there is not. */
static void suggest(const struct option *longs, size_t n, const char *given)
{
	const char *names[FLAGS_MAX + 2], *near;
	char name[64];
	const size_t bytes = strcspn(given, "=");
	size_t names_n = 0;

	if (strncmp(given, "--", 2) != 0 || bytes - 2 >= sizeof(name))
		return;
	memcpy(name, given + 2, bytes - 2);
	name[bytes - 2] = '\0';
	for (size_t i = 0; i < n; i++)
		if (longs[i].name != NULL)
			names[names_n++] = longs[i].name;
	near = near_word(name, names, names_n);
	if (near != NULL && strcmp(near, name) != 0)
		fprintf(stderr, "Did you mean --%s?\n", near);
}

int command_read_flags(const struct command *c, int argc, char **argv, void *options)
{
	struct option longs[FLAGS_MAX + 3];
	char letters[2 * FLAGS_MAX + 2];
	size_t n = count_flags(c), i;
	int got;

	fill_getopt(c->flags, n, longs, letters);
	while ((got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (got == 'h')
			return options_help(c), EXIT_DONE;
		if (got == 'V')
			return options_version(), EXIT_DONE;
		if (got == '?') { /* getopt_long() has printed a message */
			suggest(longs, n + 2, argv[optind - 1]);
			return EXIT_USAGE;
		}
		for (i = 0; i < n && got != LONG_FLAG + (int)i && got != c->flags[i].letter; i++)
			;
		if (!store(&c->flags[i], argv[0], optarg, options))
			return EXIT_USAGE;
	}
	if (c->arguments_max != ARGUMENTS_ANY && argc - optind > c->arguments_max)
		return ctl_usage(argv[0], "unexpected argument \"%s\"", argv[optind + c->arguments_max]);
	return -1;
}
