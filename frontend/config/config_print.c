/* SPDX-License-Identifier: Apache-2.0 */
/* --help, --help-config and --check-config. */
#include "frontend/config/config.h"
#include "frontend/dialect/dialects.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define FLAG_WIDTH 30
#define LINE_WIDTH 90

/* Wraps words at `indent`; the first line has `column` bytes already. */
static void print_wrapped(FILE *out, const char *text, size_t column, const char *indent)
{
	bool begun = false;

	for (;;) {
		size_t n = strcspn(text, " ");

		if (begun && column + 1 + n > LINE_WIDTH) {
			fprintf(out, "\n%s", indent);
			column = strlen(indent);
			begun = false;
		}
		column += (size_t)fprintf(out, "%s%.*s", begun ? " " : "", (int)n, text);
		begun = true;
		if (!text[n])
			break;
		text += n + 1;
	}
	fputc('\n', out);
}

static void print_flag(const struct setting *s, FILE *out)
{
	char text[600], range[400], indent[FLAG_WIDTH + 1];
	int n =
		fprintf(out, "  %s%s%s", s->flag, s->argument ? " " : "", s->argument ? s->argument : "");

	memset(indent, ' ', FLAG_WIDTH);
	indent[FLAG_WIDTH] = '\0';
	setting_range(s, range, sizeof(range));
	if (s->kind == SETTING_YES)
		range[0] = '\0';
	n += fprintf(out, "%*s", n < FLAG_WIDTH - 1 ? FLAG_WIDTH - n : 2, "");
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", s->help,
	         setting_is_list(s) ? "; may be repeated" : "", *range ? ", " : "", range,
	         s->initial && s->argument ? " (default " : "",
	         s->initial && s->argument ? s->initial : "", s->initial && s->argument ? ")" : "");
	print_wrapped(out, text, (size_t)n, indent);
}

void config_print_flags(FILE *out)
{
	for (size_t i = 0; i < settings_n; i++)
		if (settings[i].flag && !setting_of_core(&settings[i]))
			print_flag(&settings[i], out);
}

/* True if every YAML version reads it as this text. */
static bool is_plain(const char *text)
{
	static const char *const words[] = { "null", "true", "false", "yes", "no",
		                                 "on",   "off",  "y",     "n",   NULL };

	for (const char *const *w = words; *w; w++)
		if (strcasecmp(*w, text) == 0)
			return false;
	for (const char *c = text; *c; c++)
		if (!isascii(*c) || (!isalnum((unsigned char)*c) && !strchr("-_./", *c)))
			return false;
	return isalpha((unsigned char)*text) || *text == '/';
}

/* The next UTF-8 character; for invalid bytes, the next byte. */
static unsigned long next_character(const char **at)
{
	const unsigned char *p = (const unsigned char *)*at;
	int more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
	unsigned long c = more ? *p & (0x3fu >> more) : *p;

	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			*at += 1;
			return *p;
		}
		c = c << 6 | (p[i] & 0x3f);
	}
	*at += more + 1;
	return c;
}

/* Quotes unless plain; YAML has its own rules of line ends and printable characters. */
static void print_text(const char *text, FILE *out)
{
	if (is_plain(text)) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	while (*text) {
		unsigned long c = next_character(&text);

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (char)c);
		else if (c >= 0x20 && c < 0x7f)
			fputc((char)c, out);
		else
			fprintf(out, "\\U%08lx", c);
	}
	fputc('"', out);
}

/* The last part of the path and the value; commented out on request, or if unset. */
static void print_value(const struct setting *s, const struct options *o, bool comment, FILE *out)
{
	const char *dot = strrchr(s->path, '.'), *indent = dot ? "  " : "",
			   *name = dot ? dot + 1 : s->path;
	const struct text_list *list = setting_is_list(s) ? setting_list(s, o) : NULL;
	char cap[24];
	const char *text = list ? NULL : setting_get(s, o, cap);

	if (!list && !text) {
		fprintf(out, "%s#%s: %s\n", indent, name, s->argument ? s->argument : "");
		return;
	}
	fprintf(out, "%s%s%s: %s", indent, comment ? "#" : "", name, list ? "[" : "");
	for (size_t i = 0; list && i < list->n; i++) {
		fputs(i > 0 ? ", " : "", out);
		print_text(list->at[i], out);
	}
	if (list)
		fputc(']', out);
	else if (setting_is_number(s) || s->kind == SETTING_YES)
		fputs(text, out);
	else
		print_text(text, out);
	fputc('\n', out);
}

static void print_comment(const struct setting *s, FILE *out)
{
	const char *indent = strchr(s->path, '.') ? "  # " : "# ";
	char text[1200], range[400];

	setting_range(s, range, sizeof(range));
	if (s->kind == SETTING_DIALECTS)
		range[0] = '\0'; /* the list shows them */
	snprintf(text, sizeof(text), "%c%s%s%s%s%s.", toupper((unsigned char)s->help[0]), s->help + 1,
	         *range || setting_is_list(s) ? " (" : "",
	         setting_is_list(s) ? *range ? "list of " : "list" : "", range,
	         *range || setting_is_list(s) ? ")" : "");
	fputs(indent, out);
	print_wrapped(out, text, strlen(indent), indent);
	if (s->flag)
		fprintf(out, "%s%s %s\n", indent,
		        setting_of_core(s) ? "Flag of muster-core:" : "Flag:", s->flag);
}

/* All dialects with their marks. */
static void print_dialects(FILE *out)
{
	fputs("#dialects:\n", out);
	for (size_t i = 0; i < dialects_n; i++)
		fprintf(out, "#- %-26s # %s\n", dialects[i]->name, dialects[i]->mark);
}

static void print_section(const struct setting *s, bool comments, FILE *out)
{
	for (size_t i = 0; i < settings_sections_n; i++) {
		const struct settings_section *section = &settings_sections[i];
		size_t n = strlen(section->name);

		if (strncmp(s->path, section->name, n) != 0 || s->path[n] != '.')
			continue;
		if (s > settings && strncmp(s[-1].path, section->name, n) == 0 && s[-1].path[n] == '.')
			continue;
		if (comments)
			fprintf(out, "# %c%s.\n", toupper((unsigned char)section->help[0]), section->help + 1);
		fprintf(out, "%s:\n", section->name);
	}
}

static void print_file(const struct options *o, bool comments, FILE *out)
{
	fprintf(out, "apiVersion: %s\nkind: %s\n", CONFIG_API_VERSION, CONFIG_KIND);
	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *s = &settings[i];

		/* The enabled ones are enough. */
		if (!comments && strcmp(s->path, "disabledDialects") == 0)
			continue;
		if (comments)
			fputc('\n', out);
		print_section(s, comments, out);
		if (comments)
			print_comment(s, out);
		if (comments && strcmp(s->path, "dialects") == 0)
			print_dialects(out);
		else if (comments && strcmp(s->path, "disabledDialects") == 0)
			fputs("#disabledDialects: []\n", out);
		else
			print_value(s, o, comments, out);
	}
}

void config_print_schema(FILE *out)
{
	struct options o;

	options_start(&o);
	options_settle(&o);
	print_file(&o, true, out);
	options_free(&o);
}

void config_print(const struct options *o, FILE *out)
{
	print_file(o, false, out);
}
