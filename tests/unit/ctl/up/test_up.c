/* SPDX-License-Identifier: Apache-2.0 */
/* How a daemon that dies is started again, and which flags go to which daemon. */
#include "ctl/up/flags.h"
#include "ctl/up/supervise.h"

#include "tests/unit/test.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define S UINT64_C(1000000000)

/* At once, then 0.1 s, doubling up to 5 s; a long life is forgiven. */
Test(up, delays)
{
	static const uint32_t expected[] = { 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000 };
	uint32_t delay = 0;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		cr_expect(supervise_delay_ms(&delay, S / 10) == expected[i], "death %zu", i);
	cr_expect(supervise_delay_ms(&delay, 60 * S) == 0);
	cr_expect(supervise_delay_ms(&delay, S) == 100);
}

static char folder[32], log_path[64];

/* A daemon that notes each of its lives in the log. */
static char *script(const char *name, const char *body)
{
	static char paths[2][80];
	static int n;
	char *path = paths[n++ % 2];
	FILE *f;

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	f = fopen(path, "w");
	cr_assert(f != NULL);
	fprintf(f, "#!/bin/sh\necho \"%s $$\" >> %s\n%s\n", name, log_path, body);
	fclose(f);
	cr_assert(chmod(path, 0700) == 0);
	return path;
}

static void make_folder(void)
{
	strcpy(folder, "/tmp/muster-up-XXXXXX");
	cr_assert(mkdtemp(folder) != NULL);
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
}

static void remove_folder(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert(system(command) == 0);
}

TestSuite(supervise, .init = make_folder, .fini = remove_folder, .timeout = 30);

static size_t lines_of(const char *name)
{
	char line[128];
	size_t n = 0;
	FILE *f = fopen(log_path, "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += strncmp(line, name, strlen(name)) == 0;
	if (f != NULL)
		fclose(f);
	return n;
}

/* Ends the supervisor, as SIGTERM from outside does, when both have lived enough. */
static bool enough(void *context)
{
	const size_t *lives = context;

	if (lines_of("one") < lives[0] || lines_of("two") < lives[1])
		return false;
	raise(SIGTERM);
	return true;
}

static int run(char *one, char *two, size_t lives_one, size_t lives_two)
{
	char *argv_one[] = { one, NULL }, *argv_two[] = { two, NULL };
	struct daemon daemons[] = { { .process.name = "one", .argv = argv_one },
		                        { .process.name = "two", .argv = argv_two } };
	size_t lives[] = { lives_one, lives_two };
	struct supervisor s = {
		.command = "test", .daemons = daemons, .n = 2, .poll = enough, .context = lives
	};
	int rc = supervise(&s);

	cr_expect(daemons[0].process.pid == 0 && daemons[1].process.pid == 0,
	          "something is left running");
	return rc;
}

/* A second ctrl-C, and the terminal that goes. */
static bool all_at_once(void *context)
{
	raise(SIGTERM);
	raise(SIGINT);
	raise(SIGHUP);
	return true;
}

static bool hang_up_first(void *context)
{
	int *looks = context;

	raise(++*looks == 1 ? SIGHUP : SIGTERM);
	return *looks == 2;
}

Test(supervise, a_second_signal_does_not_end_it_before_it_has_cleaned_up)
{
	char *argv[] = { script("one", "exec sleep 100"), NULL };
	struct daemon one = { .process.name = "one", .argv = argv };
	struct supervisor s = { .command = "test", .daemons = &one, .n = 1, .poll = all_at_once };

	cr_expect(supervise(&s) == 0);
	cr_expect(one.process.pid == 0);
}

Test(supervise, what_is_ignored_stays_ignored)
{
	char *argv[] = { script("one", "exec sleep 100"), NULL };
	struct daemon one = { .process.name = "one", .argv = argv };
	int looks = 0;
	struct supervisor s = {
		.command = "test", .daemons = &one, .n = 1, .poll = hang_up_first, .context = &looks
	};

	signal(SIGHUP, SIG_IGN);
	cr_expect(supervise(&s) == 0);
	cr_expect(looks == 2);
}

Test(supervise, starts_again_what_dies)
{
	cr_expect(run(script("one", "exec sleep 100"), script("two", "kill -9 $$"), 1, 3) == 0);
	cr_expect(lines_of("one") == 1);
	cr_expect(lines_of("two") >= 3);
}

Test(supervise, exit_status_78_ends_it_all)
{
	cr_expect(run(script("one", "exec sleep 100"), script("two", "sleep 0.2; exit 78"), 9, 9) ==
	          78);
	cr_expect(lines_of("one") == 1);
	cr_expect(lines_of("two") == 1);
}

Test(supervise, a_program_that_is_not_there_ends_it_all)
{
	cr_expect(run(script("one", "exec sleep 100"), (char[]){ "/nowhere/at/all" }, 9, 9) == 2);
}

Test(supervise, stops_the_last_started_first)
{
	char *one = script(
		"one",
		"trap 'echo \"stop one\" >> ${0%/*}/stops; exit 0' TERM; while :; do sleep 0.01; done");
	char *two = script(
		"two",
		"trap 'echo \"stop two\" >> ${0%/*}/stops; exit 0' TERM; while :; do sleep 0.01; done");
	char path[80], line[32] = "";
	FILE *f;

	cr_expect(run(one, two, 1, 1) == 0);
	snprintf(path, sizeof(path), "%s/stops", folder);
	f = fopen(path, "r");
	cr_assert(f != NULL);
	cr_assert(fgets(line, sizeof(line), f) != NULL);
	fclose(f);
	cr_expect_str_eq(line, "stop two\n");
}

Test(flags, go_where_the_help_names_them)
{
	struct flags f = { 0 };

	bytes_put(&f.help,
	          "  --spin-us N   spin\n  --score=NAME\n  [--record FILE]\n  --max-nodes N\n");
	*bytes_room(&f.help, 1) = '\0';
	cr_expect(flags_knows(&f, "--spin-us"));
	cr_expect(flags_knows(&f, "--score"));
	cr_expect(flags_knows(&f, "--record"));
	cr_expect(!flags_knows(&f, "--spin"));
	cr_expect(!flags_knows(&f, "--nodes"));
	cr_expect(!flags_knows(&f, "nodes"));
	cr_expect(flags_pass(&f, "--record", "x"));
	cr_expect(!flags_pass(&f, "--rec", "x"));
	cr_expect(flags_pass(&f, "--score", NULL));
	cr_expect(flags_pass(&f, "--spin-us", ""));
	cr_assert(f.n == 3);
	cr_expect_str_eq(f.argv[0], "--record=x");
	cr_expect_str_eq(f.argv[1], "--score");
	cr_expect_str_eq(f.argv[2], "--spin-us=");
	flags_free(&f);
}

Test(flags, are_split)
{
	char name[64];
	char *inside[] = { (char[]){ "--a=b=c" }, (char[]){ "x" }, NULL };
	char *after[] = { (char[]){ "--a" }, (char[]){ "-5" }, NULL };
	char *none[] = { (char[]){ "--a" }, (char[]){ "--b" }, NULL };
	char *last[] = { (char[]){ "--a" }, NULL };

	cr_expect_str_eq(flags_split(inside, name, sizeof(name)), "b=c");
	cr_expect_str_eq(name, "--a");
	cr_expect_str_eq(flags_split(after, name, sizeof(name)), "-5");
	cr_expect(flags_split(none, name, sizeof(name)) == NULL);
	cr_expect(flags_split(last, name, sizeof(name)) == NULL);
}
