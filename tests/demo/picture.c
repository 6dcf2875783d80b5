/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/picture.h"

#include "frontend/base/bytes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define SCREEN_ON "\033[?1049h\033[?25l"
#define SCREEN_OFF "\033[?25h\033[?1049l"

#define LABEL 8u /* columns before the nodes of a row */
#define HEAT_UNKNOWN 255
#define WAITING_ROWS 4u /* at least, when nodes have to share cells for it */

static bool live;
static double last_line_s;
static struct bytes frame;

void picture_begin(bool plain)
{
	const char *term = getenv("TERM");

	live = !plain && isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
	last_line_s = -1;
	if (live)
		fputs(SCREEN_ON, stdout);
	fflush(stdout);
}

void picture_end(void)
{
	if (live) {
		fputs(PLAIN SCREEN_OFF, stdout);
		fflush(stdout);
	}
	live = false;
	bytes_free(&frame);
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bytes_put(&frame, text);
}

/* One line, cut to the width. */
static void put_line(unsigned width, const char *text)
{
	put("%.*s" CLEAR_LINE "\r\n", (int)width, text);
}

static void put_bar(double share, unsigned width)
{
	unsigned full = (unsigned)(share * width + 0.5);

	for (unsigned i = 0; i < width; i++)
		bytes_put(&frame, i < full ? "\u2588" : "\u2591");
}

/* Background of a cell, by the share of a node's GPUs in use. */
static unsigned colour(unsigned char heat)
{
	if (heat == 0)
		return 236;
	if (heat <= 25)
		return 23;
	if (heat <= 50)
		return 30;
	if (heat <= 75)
		return 36;
	return heat < 100 ? 178 : 208;
}

static unsigned gpus_of(const struct view *v, size_t i)
{
	return v->trace->nodes[v->order[i]].gpus;
}

/* The next cell: up to `each` nodes with as many GPUs, from *i on, which moves past them. Their
 * mean share, or 255 if none of them is known. */
static unsigned char next_cell(const struct view *v, size_t *i, unsigned each)
{
	unsigned gpus = gpus_of(v, *i), sum = 0, known = 0;

	for (unsigned n = 0; n < each && *i < v->trace->nodes_n && gpus_of(v, *i) == gpus; n++, ++*i) {
		if (v->heat[*i] == HEAT_UNKNOWN)
			continue;
		sum += v->heat[*i];
		known++;
	}
	return known > 0 ? (unsigned char)(sum / known) : HEAT_UNKNOWN;
}

static unsigned node_rows(const struct view *v, unsigned width, unsigned each)
{
	unsigned last_gpus = 0, column = 0, rows = 0;

	for (size_t i = 0; i < v->trace->nodes_n;) {
		unsigned gpus = gpus_of(v, i);

		if (gpus != last_gpus || column == width) {
			rows++;
			column = LABEL;
			last_gpus = gpus;
		}
		next_cell(v, &i, each);
		column++;
	}
	return rows;
}

static void put_nodes(const struct view *v, unsigned width, unsigned each)
{
	unsigned last_gpus = 0, last_colour = 0, column = 0, rows = 0;

	for (size_t i = 0; i < v->trace->nodes_n;) {
		unsigned gpus = gpus_of(v, i);
		unsigned char heat = next_cell(v, &i, each);
		unsigned now = heat == HEAT_UNKNOWN ? 232 : colour(heat);

		if (gpus != last_gpus || column == width) {
			put("%s", rows > 0 ? PLAIN CLEAR_LINE "\r\n" : "");
			if (gpus != last_gpus)
				put("%u GPU%-2s ", gpus, gpus == 1 ? "" : "s");
			else
				put("        ");
			rows++;
			column = LABEL;
			last_colour = 0;
			last_gpus = gpus;
		}
		if (now != last_colour)
			put("\033[48;5;%um", now);
		last_colour = now;
		bytes_put(&frame, " ");
		column++;
	}
	put(PLAIN CLEAR_LINE "\r\n");
}

static void put_head(const struct moment *m, unsigned width)
{
	const struct view *v = m->view;
	double share =
		m->trace->gpus_there > 0 ? (double)v->gpus_used / (double)m->trace->gpus_there : 0;
	char line[512];

	snprintf(line, sizeof(line), "muster  %zu nodes of openb, %zu jobs of Philly as gangs, %.1f s",
	         m->trace->nodes_n, m->trace->jobs_n, m->seconds);
	put(BOLD);
	put_line(width, line);
	put(PLAIN "GPUs  ");
	put_bar(share, width > 70 ? 40 : 20);
	put("  %lu of %lu taken" CLEAR_LINE "\r\n", v->gpus_used, m->trace->gpus_there);
	snprintf(line, sizeof(line),
	         "pods  %zu of %zu sent, %zu bound, %" PRIu64 " waiting; %.0f bound per second",
	         m->pods_sent, m->trace->pods_n, m->pods_bound, v->pods_pending, m->pods_per_s);
	put_line(width, line);
	snprintf(line, sizeof(line), "gangs %zu running, %zu starting, %zu waiting, %zu done",
	         v->placed, v->binding, v->waiting, v->ended);
	put_line(width, line);
	snprintf(line, sizeof(line), "core  %" PRIu64 " plans, %.0f us mean, %.0f us the longest",
	         v->plans, v->plans > 0 ? (double)v->plan_ns_sum / (double)v->plans / 1000 : 0,
	         (double)v->plan_ns_max / 1000);
	put_line(width, line);
}

/* Why a gang waits: the part after its name, without what is the same for all. */
static const char *own_part(const struct view_gang *g)
{
	const char *name = strstr(g->reason, g->copy.name);

	if (name == NULL || strncmp(name + strlen(g->copy.name), ": ", 2) != 0)
		return g->reason;
	return name + strlen(g->copy.name) + 2;
}

static void put_waiting(const struct view *v, unsigned width, unsigned rows)
{
	char line[1024];

	put(CLEAR_LINE "\r\n");
	put_line(width, v->waiting > 0 ? "gangs that wait, and why" : "no gang waits");
	for (size_t i = 0; i < v->gangs_n && i < rows; i++) {
		const struct view_gang *g = &v->gangs[i];

		snprintf(line, sizeof(line), "%-20s %2" PRIu32 " pod%s  %s", g->copy.name,
		         g->copy.row.members, g->copy.row.members == 1 ? " " : "s", own_part(g));
		put_line(width, line);
	}
	if (v->waiting > rows && rows > 0)
		put("... and %zu more" CLEAR_LINE "\r\n", v->waiting - rows);
}

static void draw(const struct moment *m)
{
	struct winsize size = { 0 };
	unsigned width, each = 1, used;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 40)
		size = (struct winsize){ .ws_col = 80, .ws_row = 40 };
	width = size.ws_col < 240 ? size.ws_col : 240;
	/* The heading, the line above the nodes, and those around the waiting gangs. */
	while (each < 64 && 6 + node_rows(m->view, width, each) + 4 + WAITING_ROWS > size.ws_row)
		each++;
	used = 6 + node_rows(m->view, width, each) + 4;
	frame.n = 0;
	bytes_put(&frame, HOME);
	put_head(m, width);
	put(DIM "a cell is %u node%s: dark free, green in part, orange full" PLAIN CLEAR_LINE "\r\n",
	    each, each == 1 ? "" : "s");
	put_nodes(m->view, width, each);
	if (size.ws_row > used)
		put_waiting(m->view, width, size.ws_row - used);
	bytes_put(&frame, CLEAR_BELOW);
	fwrite(frame.at, 1, frame.n, stdout);
	fflush(stdout);
}

static void print_line(const struct moment *m)
{
	const struct view *v = m->view;
	const struct view_gang *g = v->gangs_n > 0 ? &v->gangs[0] : NULL;

	printf(
		"demo: %4.1f s  %zu of %zu pods bound, %.0f/s; %lu of %lu GPUs; gangs: %zu run, %zu wait, %zu done\n",
		m->seconds, m->pods_bound, m->trace->pods_n, m->pods_per_s, v->gpus_used,
		m->trace->gpus_there, v->placed + v->binding, v->waiting, v->ended);
	if (g != NULL)
		printf("demo:         waits: %s (%" PRIu32 " pod%s): %s\n", g->copy.name,
		       g->copy.row.members, g->copy.row.members == 1 ? "" : "s", g->reason);
	fflush(stdout);
}

void picture_show(const struct moment *m)
{
	if (live) {
		draw(m);
	} else if (m->seconds - last_line_s >= 1 || m->over) {
		last_line_s = m->seconds;
		print_line(m);
	}
}
