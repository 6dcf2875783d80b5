/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the stories of tests/stories against the core; tests/README.md describes their format.
 *
 *   test_stories                    every story, each in a process of its own
 *   test_stories FILE[:PATTERN]     those of one file whose names match
 *
 * A story that fails prints its file and line, and what was wanted (-) and what came (+). */
#include "tests/unit/support_story.h"

#include <criterion/parameterized.h>
#include <fnmatch.h>
#include <glob.h>
#include <signal.h>

#define FOLDER "tests/stories/"

enum { LINES = 2000, WORDS = 40, PARAMETERS = 4, TEXT = 8192 };

/* The story that runs in this process. */
static struct {
	struct story *s;
	char file[64];
	char *lines[LINES]; /* without the newline; lines[0] is line 1 */
	uint32_t n, at;     /* at: the line that runs, for messages */
	bool planned;       /* since the last command */
	bool failed;        /* by fail() */
} play;

/* The parameters of a scene and their values. */
struct scope {
	char *name[PARAMETERS], *value[PARAMETERS];
	uint32_t n;
};

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	char text[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	play.failed = true;
	cr_assert_fail("%s:%u: %s\n%s", play.file, play.at + 1, play.lines[play.at], text);
	abort();
}

/* Texts that the story refers to live as long as the process. */
static char *keep(const char *text, size_t n)
{
	static char texts[1 << 20];
	static size_t used;
	char *to = texts + used;

	cr_assert(used + n + 1 <= sizeof(texts));
	memcpy(to, text, n);
	used += n + 1;
	return to;
}

static bool is(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

static int64_t number(const char *text)
{
	char *end;
	const int64_t value = strtoll(text, &end, 10);

	if (end == text || *end)
		fail("%s is no number", text);
	return value;
}

struct option {
	const char *key;
	enum { FLAG, STRING, I64, I32 } type;
	size_t offset;
};

/* clang-format off */
#define OPTION(key, type) { #key, type, offsetof(struct OBJECT, key) }

#define OBJECT story_node
static const struct option node_options[] = {
	OPTION(cpu, I64), OPTION(cpu_milli, I64), OPTION(memory, I64), OPTION(memory_bytes, I64),
	OPTION(gpu, I64), OPTION(pods, I64), OPTION(zone, STRING), OPTION(taint, STRING),
	OPTION(cordoned, FLAG), OPTION(absent, FLAG), { 0 },
};
#undef OBJECT
#define OBJECT story_gang
static const struct option gang_options[] = {
	OPTION(quorum, I32), OPTION(cpu, I64), OPTION(gpu, I64), OPTION(created, I64),
	OPTION(priority, I32), OPTION(spec, I32), OPTION(missing, FLAG), OPTION(refused, FLAG),
	OPTION(after_others, FLAG), OPTION(changed, FLAG), { 0 },
};
#undef OBJECT
#define OBJECT story_pod
static const struct option pod_options[] = {
	OPTION(gang, STRING), OPTION(cpu, I64), OPTION(cpu_milli, I64), OPTION(memory, I64),
	OPTION(memory_bytes, I64), OPTION(gpu, I64), OPTION(zone, STRING), OPTION(tolerates, STRING),
	OPTION(node, STRING), OPTION(role, STRING), OPTION(priority, I32), OPTION(created, I64),
	OPTION(binding, FLAG), OPTION(gated, FLAG), OPTION(deleting, FLAG), OPTION(refused, FLAG),
	OPTION(intended, FLAG), OPTION(void_node, FLAG), OPTION(retained, FLAG),
	OPTION(foreign, FLAG), OPTION(lasts, FLAG), OPTION(scheduled, I64), OPTION(keep_ms, I32),
	OPTION(queue, I32), OPTION(run, I32), OPTION(expected, I32), { 0 },
};
#undef OBJECT
#define OBJECT story_queue
static const struct option queue_options[] = {
	OPTION(id, I32), OPTION(parent, I32), OPTION(priority, I32), OPTION(state, I32),
	OPTION(guarantee, I64), OPTION(reserved, I64), OPTION(limit, I64), OPTION(weight, I64),
	OPTION(fifo, FLAG), OPTION(gone, FLAG), { 0 },
};
/* clang-format on */

/* Writes an option into the object; false when it is none of these. */
static bool option_set(void *object, const struct option *options, const char *word)
{
	const size_t n = strcspn(word, "=");

	for (const struct option *o = options; o->key; o++) {
		char *at = (char *)object + o->offset;

		if (strlen(o->key) != n || strncmp(o->key, word, n) != 0 ||
		    (word[n] == '=') != (o->type != FLAG))
			continue;
		if (o->type == FLAG)
			*(bool *)(void *)at = true;
		else if (o->type == STRING)
			*(const char **)(void *)at = word + n + 1;
		else if (o->type == I32)
			*(int32_t *)(void *)at = (int32_t)number(word + n + 1);
		else
			*(int64_t *)(void *)at = number(word + n + 1);
		return true;
	}
	return false;
}

static bool gang_option_set(struct story_gang *g, char *word)
{
	char *count = strrchr(word, ':');
	uint32_t roles = 0;

	g->has_priority |= strncmp(word, "priority=", 9) == 0;
	if (strncmp(word, "role=", 5) != 0 || !count)
		return option_set(g, gang_options, word);
	while (roles < STORY_ROLES && g->roles[roles].name)
		roles++;
	if (roles == STORY_ROLES)
		fail("more than %u roles", STORY_ROLES);
	*count++ = '\0';
	g->roles[roles] = (struct story_role){ word + 5, (uint32_t)number(count) };
	return true;
}

struct objects {
	char kind; /* n, g, p */
	struct story_node node;
	struct story_gang gang;
	struct story_pod pod;
};

static bool objects_option(struct objects *o, char *word)
{
	return o->kind == 'n'   ? option_set(&o->node, node_options, word)
	       : o->kind == 'g' ? gang_option_set(&o->gang, word)
	                        : option_set(&o->pod, pod_options, word);
}

/* node|gang|pod NAME... OPTION..., and pods N NAME OPTION... */
static void set_objects(char **word, uint32_t n)
{
	const bool many = is(word[0], "pods");
	const uint32_t first = many ? 2 : 1;
	struct objects o = { .kind = *word[0] };
	uint32_t names = first + 1;

	while (names < n && !objects_option(&o, word[names]))
		names++;
	for (uint32_t i = names + 1; i < n; i++)
		if (!objects_option(&o, word[i]))
			fail("no such option: %s", word[i]);
	for (uint32_t i = first; i < names && i < n; i++) {
		o.node.name = o.gang.name = o.pod.name = word[i];
		if (o.kind == 'n')
			story_set_node(play.s, o.node);
		else if (o.kind == 'g')
			story_set_gang(play.s, o.gang);
		else if (many)
			story_set_pods(play.s, (uint32_t)number(word[1]), o.pod);
		else
			story_set_pod(play.s, o.pod);
	}
}

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
	{ "held", offsetof(struct ledger, gauges.reserved_gang) },
	{ "holds", offsetof(struct ledger, gauges.reservations) },
	{ "binds_sent", offsetof(struct ledger, stats.binds_sent) },
	{ "binds_accepted", offsetof(struct ledger, stats.binds_accepted) },
	{ "saturated", offsetof(struct ledger, stats.saturated) },
	{ "backfilled", offsetof(struct ledger, starts.backfilled) },
	{ "overruns_hard", offsetof(struct ledger, starts.overruns[OVERRUN_HARD]) },
	{ "overruns_soft", offsetof(struct ledger, starts.overruns[OVERRUN_SOFT]) },
};

static int64_t counter(const char *name)
{
	const char *ledger = (const char *)story_ledger(play.s);

	for (uint32_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (strcmp(counters[i].name, name) == 0)
			return (int64_t) * (const uint64_t *)(const void *)(ledger + counters[i].offset);
	fail("the ledger has no %s", name);
}

static void print_lines(FILE *to, const char *sign, const char *text, const char *end)
{
	for (const char *next; text < end; text = next) {
		next = strchr(text, '\n') + 1;
		fprintf(to, "%s%.*s", sign, (int)(next - text), text);
	}
}

/* Compares the commands since the last expectation with the wanted ones. */
static void expect_commands(const char *wanted)
{
	const char *got = story_said(play.s), *from = wanted, *next;
	char text[TEXT] = "";
	FILE *to;

	if (strcmp(wanted, "nothing\n") == 0)
		from = wanted = "";
	if (strcmp(wanted, got) == 0) {
		story_skip(play.s);
		return;
	}
	while (*from &&
	       (next = strchr(from, '\n') + 1, strncmp(from, got, (size_t)(next - from)) == 0)) {
		got += next - from;
		from = next;
	}
	to = fmemopen(text, sizeof(text), "w");
	print_lines(to, "   ", wanted, from);
	print_lines(to, " - ", from, from + strlen(from));
	print_lines(to, " + ", got, got + strlen(got));
	fclose(to);
	fail("commands, wanted (-) and got (+):\n%s", text);
}

static void expect_equal(const char *what, const char *wanted, const char *got)
{
	if (strcmp(wanted, got) != 0)
		fail("%s:\n - %s\n + %s", what, wanted, got);
}

static void expect_number(const char *what, const char *wanted, int64_t got)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, got);
	expect_equal(what, wanted, text);
}

/* Whether a pod of that request finds a node; it is deleted again. */
static void expect_probe(char **word, uint32_t n)
{
	struct story_pod pod = { .name = "probe" };
	bool fits;

	for (uint32_t i = 1; i < n; i++)
		if (!option_set(&pod, pod_options, word[i]))
			fail("no such option: %s", word[i]);
	story_set_pod(play.s, pod);
	story_plan(play.s);
	fits = story_count(play.s, "probe") == 1;
	story_drop_pod(play.s, "probe");
	story_plan(play.s);
	expect_equal("a pod more", word[0], fits ? "fits" : "full");
}

/* A prefix: the line may go on after a space or a comma. */
static void expect_reason(char *name, const char *wanted)
{
	const char *got;
	size_t n = strlen(wanted);

	name[strcspn(name, ":")] = '\0';
	got = story_reason(play.s, name);
	if (strncmp(got, wanted, n) != 0 || (got[n] && got[n] != ' ' && got[n] != ','))
		fail("reason of %s:\n - %s\n + %s", name, wanted, got);
}

/* start NAME=SECONDS, or SECONDS:REASON with why it last moved later, or - */
static void expect_start(const char *name, const char *wanted)
{
	struct core_promise p;
	char got[64] = "-";

	if (story_promise(play.s, name, &p))
		snprintf(got, sizeof(got), "%" PRIu64 "%s%s", p.at_ns / UINT64_C(1000000000),
		         *p.reason ? ":" : "", p.reason);
	expect_equal(name, wanted, got);
}

/* KEY=VALUE of one kind of expectation. */
static void expect_pair(const char *kind, char *key, const char *value)
{
	static const char *const standings[] = {
		[BAND_STARTED] = "first", [BAND_NORMAL] = "ordinary", [BAND_LAST] = "last"
	};
	const size_t n = strlen(key);

	if (is(kind, "placed")) {
		if (n == 0 || key[n - 1] != '*')
			fail("%s is no PREFIX*", key);
		key[n - 1] = '\0';
		expect_number(key, value, story_count(play.s, key));
	} else if (is(kind, "on")) {
		expect_equal(key, value, *story_where(play.s, key) ? story_where(play.s, key) : "-");
	} else if (is(kind, "ledger")) {
		expect_number(key, value, counter(key));
	} else if (is(kind, "start")) {
		expect_start(key, value);
	} else if (is(kind, "order")) {
		expect_equal(key, value, standings[story_row(play.s, key)->band]);
	} else if (is(kind, "created")) {
		expect_number(key, value, (int64_t)story_row(play.s, key)->created_ns);
	} else if (is(kind, "spec")) {
		expect_number(key, value, story_spec(play.s, key));
	} else {
		fail("no such expectation: %s", kind);
	}
}

/* Is the line a command of the core that is wanted? */
static bool is_wanted(const char *line)
{
	static const char *const words[] = { "bind", "retry-bind", "cancel-bind", "gang",
		                                 "why",  "assume",     "nothing" };
	const size_t n = *line == '\t' ? strcspn(line + 1, " ") : 0;

	for (uint32_t i = 0; n > 0 && i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == n && strncmp(line + 1, words[i], n) == 0)
			return true;
	return false;
}

static void expect_state(char **word, uint32_t n, const char *line)
{
	if (is(word[0], "fits") || is(word[0], "full")) {
		expect_probe(word, n);
	} else if (is(word[0], "reason") && strchr(line, ':')) {
		expect_reason(word[1], strchr(line, ':') + 2);
	} else if (is(word[0], "wants") && n == 2) {
		expect_equal("the core wants", word[1],
		             core_wants_plan(story_core(play.s)) ? "plan" : "nothing");
	} else {
		for (uint32_t i = 1; i < n; i++) {
			char *equal = strchr(word[i], '=');

			if (!equal)
				fail("no KEY=VALUE: %s", word[i]);
			*equal = '\0';
			expect_pair(word[0], word[i], equal + 1);
		}
	}
}

static void run(uint32_t from, uint32_t to, const struct scope *scope);

/* The line of "HEAD NAME", or play.n. */
static uint32_t find(const char *head, const char *name)
{
	const size_t heads = strlen(head), names = strlen(name);

	for (uint32_t i = 0; i < play.n; i++)
		if (strncmp(play.lines[i], head, heads) == 0 &&
		    strncmp(play.lines[i] + heads, name, names) == 0 &&
		    (play.lines[i][heads + names] == ' ' || !play.lines[i][heads + names]))
			return i;
	return play.n;
}

/* The first line after `i` that begins another story or scene. */
static uint32_t end_of(uint32_t i)
{
	for (i++; i < play.n; i++)
		if (strncmp(play.lines[i], "story ", 6) == 0 || strncmp(play.lines[i], "scene ", 6) == 0)
			break;
	return i;
}

static uint32_t split(char *line, char *word[WORDS])
{
	uint32_t n = 0;

	for (char *rest, *w = strtok_r(line, " \t", &rest); w && *w != '#' && n < WORDS;
	     w = strtok_r(NULL, " \t", &rest))
		word[n++] = w;
	return n;
}

/* use SCENE VALUE... */
static void use(char **word, uint32_t n)
{
	const uint32_t at = play.at, scene = find("scene ", word[1]);
	struct scope scope = { .n = n - 2 };
	char *head[WORDS];

	if (scene == play.n || n - 2 > PARAMETERS ||
	    split(keep(play.lines[scene], strlen(play.lines[scene])), head) != n)
		fail("no scene %s with so many parameters", word[1]);
	for (uint32_t i = 0; i < scope.n; i++) {
		scope.name[i] = head[i + 2];
		scope.value[i] = word[i + 2];
	}
	run(scene + 1, end_of(scene), &scope);
	play.at = at;
}

static uint64_t option_of(char **word, uint32_t n, const char *key, uint64_t otherwise)
{
	for (uint32_t i = 1; i < n; i++)
		if (strncmp(word[i], key, strlen(key)) == 0)
			return (uint64_t)number(word[i] + strlen(key));
	return otherwise;
}

/* cluster [score=pack] [hold_ms=N] [promises=DEPTH] [grain_ms=N] [window_ms=N] [at_ms=N]
 * [by_soft=1] */
static void cluster(char **word, uint32_t n)
{
	const struct story_promises promises = { .depth = (uint32_t)option_of(word, n, "promises=", 0),
		                                     .grain_ms = option_of(word, n, "grain_ms=", 1),
		                                     .window_ms = option_of(word, n, "window_ms=", 0),
		                                     .at_ms = option_of(word, n, "at_ms=", 0),
		                                     .by_soft = option_of(word, n, "by_soft=", 0) > 0 };
	bool pack = false;

	for (uint32_t i = 1; i < n; i++)
		pack |= strcmp(word[i], "score=pack") == 0;
	if (play.s)
		story_free(play.s);
	play.s = story_new_promising(pack ? SCORE_PACK : SCORE_KUBE,
	                             option_of(word, n, "hold_ms=", STORY_HOLD_MS), &promises);
}

/* queue NAME id=N ... */
static void queue(char **word, uint32_t n)
{
	struct story_queue q = { .name = word[1] };

	for (uint32_t i = 2; i < n; i++)
		if (!option_set(&q, queue_options, word[i]))
			fail("%s is no option of a queue", word[i]);
	story_set_queue(play.s, q);
}

/* assume POD NODE... keep_ms=N */
static void assume(char **word, uint32_t n)
{
	char nodes[256] = "";

	for (uint32_t i = 2; i + 1 < n; i++)
		snprintf(nodes + strlen(nodes), sizeof(nodes) - strlen(nodes), "%s ", word[i]);
	story_assume(play.s, word[1], nodes, (uint32_t)option_of(word, n, "keep_ms=", 0));
}

/* plan, plan once, plan after MS */
static void plan(char **word, uint32_t n)
{
	play.planned = true;
	if (n == 2) {
		cr_assert_eq(story_feed(play.s, EVENT_PLAN, NULL, 0), 0);
		return;
	}
	if (n == 3)
		story_tick(play.s, (uint64_t)number(word[2]));
	story_plan(play.s);
}

/* As long as nothing else happens. */
static void ticks(int64_t n)
{
	story_plan(play.s);
	while (n-- > 0) {
		story_tick(play.s, 2500);
		story_plan(play.s);
	}
}

static void confirm(char *pod)
{
	char *star = strchr(pod, '*');

	if (!star) {
		story_confirm(play.s, pod);
		return;
	}
	*star = '\0';
	story_all_bound(play.s, pod);
}

static void drop(const char *kind, const char *name)
{
	if (*kind == 'n')
		story_drop_node(play.s, name);
	else if (*kind == 'g')
		story_drop_gang(play.s, name);
	else
		story_drop_pod(play.s, name);
}

/* bound|unknown|confirm|drop KIND NAME... */
static bool run_each(char **word, uint32_t n)
{
	const uint32_t first = is(word[0], "drop") ? 2 : 1;

	for (uint32_t i = first; i < n; i++)
		if (first == 2)
			drop(word[1], word[i]);
		else if (is(word[0], "bound"))
			story_bound(play.s, word[i]);
		else if (is(word[0], "unknown"))
			story_unknown(play.s, word[i]);
		else if (is(word[0], "confirm"))
			confirm(word[i]);
		else
			return false;
	return n > first;
}

static void run_command(char **word, uint32_t n, const char *line)
{
	const char *what = word[0];

	play.planned = false;
	if (is(what, "plan"))
		plan(word, n);
	else if (is(what, "cluster"))
		cluster(word, n);
	else if (is(what, "begin"))
		story_begin(play.s);
	else if (is(what, "synced"))
		story_synced(play.s);
	else if (is(what, "skip"))
		story_skip(play.s);
	else if (is(what, "drop") && n == 2 && is(word[1], "shapes"))
		story_drop_shapes(play.s);
	else if (n < 2)
		fail("no such command");
	else if (is(what, "check"))
		expect_state(word + 1, n - 1, line);
	else if (is(what, "node") || is(what, "gang") || is(what, "pod") || is(what, "pods"))
		set_objects(word, n);
	else if (is(what, "use"))
		use(word, n);
	else if (is(what, "queue"))
		queue(word, n);
	else if (is(what, "history"))
		story_queue_terms(play.s, (uint32_t)option_of(word, n, "factor=", 0),
		                  (uint32_t)option_of(word, n, "half_life=", 3600));
	else if (is(what, "past"))
		story_queue_past(play.s, (uint32_t)number(word[1]), option_of(word, n, "cpu=", 0),
		                 (uint64_t)option_of(word, n, "ago=", 0));
	else if (is(what, "assume"))
		assume(word, n);
	else if (is(what, "refused"))
		story_refused(play.s, word[1], (uint32_t)option_of(word, n, "retry_ms=", 0));
	else if (is(what, "promised"))
		story_promised(play.s, word[1], option_of(word, n, "at=", 0));
	else if (is(what, "tick"))
		story_tick(play.s, (uint64_t)number(word[1]));
	else if (is(what, "ticks"))
		ticks(number(word[1]));
	else if (is(what, "ring"))
		story_room(play.s, is(word[1], "any") ? UINT32_MAX : (uint32_t)number(word[1]));
	else if (!run_each(word, n))
		fail("no such command");
}

/* The line with the values of $PARAMETERs. */
static char *expand(const char *line, const struct scope *scope)
{
	char text[512];
	size_t n = 0;

	while (*line && n + 1 < sizeof(text)) {
		uint32_t i = scope->n;

		if (*line == '$')
			for (i = 0;
			     i < scope->n && strncmp(line + 1, scope->name[i], strlen(scope->name[i])) != 0;
			     i++)
				;
		if (i < scope->n) {
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", scope->value[i]);
			line += 1 + strlen(scope->name[i]);
		} else {
			text[n++] = *line++;
		}
	}
	return keep(text, n);
}

/* The line after the "end" of a loop that begins before `from`. */
static uint32_t loop_end(uint32_t from, uint32_t to)
{
	while (from < to && strcmp(play.lines[from], "end") != 0)
		from++;
	if (from == to)
		fail("no end");
	return from + 1;
}

static void run(uint32_t from, uint32_t to, const struct scope *scope)
{
	char wanted[TEXT] = "";

	for (uint32_t i = from; i < to; i++) {
		char *line = expand(play.lines[i], scope), *words = keep(line, strlen(line)), *word[WORDS];
		const uint32_t n = split(words, word);

		play.at = i;
		if (n == 0)
			continue;
		/* The core plans before it is looked at; not after "plan once". */
		if (*line == '\t' && !play.planned && !is(word[0], "fits") && !is(word[0], "full")) {
			story_plan(play.s);
			play.planned = true;
		}
		if (is_wanted(line)) {
			snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%s\n", line + 1);
			if (i + 1 == to || !is_wanted(play.lines[i + 1])) {
				expect_commands(wanted);
				*wanted = '\0';
			}
		} else if (*line == '\t') {
			expect_state(word, n, line);
		} else if (is(word[0], "repeat") && n == 2) {
			const uint32_t after = loop_end(i, to);

			for (int64_t times = number(word[1]); times > 0; times--)
				run(i + 1, after - 1, scope);
			i = after - 1;
		} else {
			run_command(word, n, line);
		}
	}
}

static void read_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	ssize_t n;

	cr_assert(f, "%s: %m", path);
	snprintf(play.file, sizeof(play.file), "%s", path);
	play.n = 0;
	while ((n = getline(&line, &size, f)) >= 0) {
		cr_assert(play.n < LINES);
		play.lines[play.n++] = keep(line, (size_t)n - (line[n - 1] == '\n'));
	}
	free(line);
	fclose(f);
}

struct chosen {
	char path[64];
	uint32_t line;
};

static const char *selection = "";

static bool is_selected(const char *path, const char *name)
{
	const char *file = path + sizeof(FOLDER) - 1, *colon = strchr(selection, ':');
	const size_t n = colon ? (size_t)(colon - selection) : strlen(selection);

	return n == 0 || (strncmp(file, selection, n) == 0 && (file[n] == '.' || !file[n]) &&
	                  (!colon || fnmatch(colon + 1, name, 0) == 0));
}

ParameterizedTestParameters(stories, story)
{
	static struct chosen all[1000];
	size_t n = 0;
	glob_t files;

	cr_assert(glob(FOLDER "*.story", 0, NULL, &files) == 0, "no " FOLDER "*.story here");
	for (size_t f = 0; f < files.gl_pathc; f++) {
		read_lines(files.gl_pathv[f]);
		for (uint32_t i = 0; i < play.n && n < sizeof(all) / sizeof(*all); i++)
			if (strncmp(play.lines[i], "story ", 6) == 0 &&
			    is_selected(play.file, play.lines[i] + 6)) {
				snprintf(all[n].path, sizeof(all[n].path), "%s", play.file);
				all[n++].line = i;
			}
	}
	globfree(&files);
	if (n == 0) {
		fprintf(stderr, "no story %s\n", selection);
		exit(2);
	}
	return cr_make_param_array(struct chosen, all, n);
}

/* Where a story ended that a check outside this file stopped. */
static void say_place(void)
{
	if (play.s && !play.failed)
		fprintf(stderr, "%s:%u: %s\n", play.file, play.at + 1, play.lines[play.at]);
}

static void on_abort(int signal)
{
	say_place();
}

ParameterizedTest(struct chosen *c, stories, story, .fini = say_place)
{
	signal(SIGABRT, on_abort);
	read_lines(c->path);
	cluster(NULL, 0);
	run(c->line + 1, end_of(c->line), &(struct scope){ 0 });
	story_free(play.s);
	play.s = NULL;
}

int main(int argc, char **argv)
{
	struct criterion_test_set *tests = criterion_initialize();
	int result = 0;

	if (argc > 1 && *argv[1] != '-') {
		selection = argv[1];
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	if (criterion_handle_args(argc, argv, true))
		result = !criterion_run_all_tests(tests);
	criterion_finalize(tests);
	return result;
}
