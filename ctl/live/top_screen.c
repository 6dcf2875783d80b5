/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of musterctl top. */
#include "ctl/live/top.h"

#include "ctl/term/ctl.h"
#include "ipc/clock.h"

#include <ctype.h>
#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <termcap.h>

#define KEY_ESCAPE 27

static void start_colours(void)
{
	static const short colours[STYLES] = {
		[STYLE_GOOD] = COLOR_GREEN,      [STYLE_BUSY] = COLOR_CYAN,
		[STYLE_BAD] = COLOR_YELLOW,      [STYLE_HEAT] = COLOR_BLUE,
		[STYLE_HEAT + 1] = COLOR_CYAN,   [STYLE_HEAT + 2] = COLOR_GREEN,
		[STYLE_HEAT + 3] = COLOR_YELLOW, [STYLE_HEAT_LAST] = COLOR_RED,
	};

	if (!has_colors())
		return;
	start_color();
	use_default_colors();
	for (short i = STYLE_GOOD; i < STYLES; i++)
		init_pair(i, colours[i], -1);
}

static attr_t attribute(enum style style)
{
	if (style == STYLE_DIM)
		return A_DIM;
	if (style == STYLE_STRONG)
		return A_BOLD;
	return style >= STYLE_GOOD && has_colors() ? (attr_t)COLOR_PAIR(style) : A_NORMAL;
}

static void show(const struct styled_text *s)
{
	int wide = getmaxx(stdscr), high = getmaxy(stdscr);

	erase();
	for (int y = 0; y < high && (size_t)y < s->n; y++) {
		const struct styled_line *line = &s->lines[y];

		for (int x = 0; x < wide && (size_t)x < line->n; x++)
			mvaddch(y, x,
			        (chtype)(unsigned char)line->text[x] | attribute((enum style)line->styles[x]));
	}
	refresh();
}

static void sort_by(struct top_view *v, enum top_sort sort)
{
	v->reversed = v->sort == sort && !v->reversed;
	v->sort = sort;
	v->first = 0;
}

static void type(struct top_view *v, int key)
{
	size_t n = strlen(v->filter);

	if (key == '\n' || key == KEY_ENTER) {
		v->typing = false;
	} else if (key == KEY_ESCAPE) {
		v->typing = false;
		v->filter[0] = '\0';
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		if (n > 0)
			v->filter[n - 1] = '\0';
	} else if (key > 0 && key < 0x7f && isprint(key) && n + 1 < sizeof(v->filter)) {
		v->filter[n] = (char)key;
		v->filter[n + 1] = '\0';
	}
	v->first = 0;
}

/* False: end. */
static bool press(struct top_view *v, int key)
{
	size_t page = getmaxy(stdscr) > 12 ? (size_t)getmaxy(stdscr) / 2 : 5;

	if (v->typing) {
		type(v, key);
		return true;
	}
	switch (key) {
	case 'q':
		return false;
	case 's':
		sort_by(v, TOP_QUEUE);
		break;
	case 'n':
		sort_by(v, TOP_NAME);
		break;
	case 'a':
		sort_by(v, TOP_AGE);
		break;
	case 'p':
		sort_by(v, TOP_PRIORITY);
		break;
	case 'm':
		sort_by(v, TOP_MEMBERS);
		break;
	case 'w':
		v->waiting_only = !v->waiting_only;
		v->first = 0;
		break;
	case '/':
		v->typing = true;
		v->filter[0] = '\0';
		break;
	case KEY_ESCAPE:
		v->filter[0] = '\0';
		break;
	case KEY_DOWN:
		v->first++;
		break;
	case KEY_UP:
		v->first -= v->first > 0;
		break;
	case KEY_NPAGE:
		v->first += page;
		break;
	case KEY_PPAGE:
		v->first -= v->first > page ? page : v->first;
		break;
	case KEY_HOME:
		v->first = 0;
		break;
	case KEY_END:
		v->first = SIZE_MAX / 2;
		break;
	default:
		break;
	}
	return true;
}

/* Reads the ledger again; `was` becomes the look before. */
static void look_again(struct live *l, struct top_look *now, struct top_look *was)
{
	if (!live_is_there(l) && !live_again(l)) {
		now->there = false;
		return;
	}
	top_look_free(was);
	*was = *now;
	top_look_take(&l->observer, now);
}

static void run(struct live *l, struct top_view *view, uint64_t interval_ms)
{
	struct top_look now, was = { 0 };
	struct styled_text text = { 0 };
	uint64_t next = clock_monotonic_ns() / NS_PER_MS + interval_ms;
	bool goes_on = true;

	top_look_take(&l->observer, &now);
	while (goes_on) {
		uint64_t at = clock_monotonic_ns() / NS_PER_MS;
		int key;

		if (at >= next) {
			look_again(l, &now, &was);
			next = at + interval_ms;
		}
		top_draw(&text, l, &now, was.there ? &was : NULL, view, (size_t)getmaxx(stdscr),
		         (size_t)getmaxy(stdscr));
		show(&text);
		timeout(next > at ? (int)(next - at) : 0);
		key = getch();
		if (key != ERR)
			goes_on = press(view, key);
	}
	styled_clear(&text);
	top_look_free(&now);
	top_look_free(&was);
}

int top_screen(struct live *l, struct top_view *view, double interval_s)
{
	const char *kind = getenv("TERM");
	SCREEN *screen;

	/* newterm() would return the same error but leaks then, and it accepts a terminal whose cursor
	 * can't be moved. */
	if (kind == NULL || tgetent(NULL, kind) <= 0 || tgetstr("cm", NULL) == NULL)
		return -1;
	set_escdelay(50);
	screen = newterm(NULL, stdout, stdin);
	if (screen == NULL)
		return -1;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	start_colours();
	run(l, view, (uint64_t)(interval_s * 1000));
	endwin();
	delscreen(screen);
	return EXIT_DONE;
}
