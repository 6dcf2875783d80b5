/* SPDX-License-Identifier: Apache-2.0 */
/* The output of programs, and the time that they are given, with a shell as the program. */
#include "ctl/up/process.h"

#include "ipc/clock.h"
#include "tests/unit/test.h"

#include <signal.h>

#define SHORT_MS 200u

static struct bytes out;

static enum process_end run(const char *script, uint32_t ms, size_t most)
{
	out.n = 0;
	return process_output_with((const char *[]){ "/bin/sh", "-c", script, NULL }, NULL, NULL, ms,
	                           true, most, &out);
}

static void forget(void)
{
	bytes_free(&out);
}

TestSuite(process, .fini = forget);

Test(process, output_and_end)
{
	cr_assert_eq(run("echo a; echo b >&2; sleep 0.05; echo c", 60000, 100), PROCESS_DONE);
	cr_assert_str_eq(out.at, "a\nc\n");
	cr_assert_eq(run("echo a; exit 1", 60000, 100), PROCESS_FAILED);
	cr_assert_eq(run("kill -9 $$", 60000, 100), PROCESS_FAILED);
	cr_assert_eq(run("exec >&-; sleep 0.05", 60000, 100), PROCESS_DONE);
	cr_assert_eq(run("while echo a; do :; done", 60000, 10000), PROCESS_FAILED, "SIGPIPE");
	cr_assert(out.n >= 10000 && out.n < 20000, "%zu", out.n);
	cr_assert_eq(process_output_with((const char *[]){ "/nowhere/plugin", NULL }, NULL, NULL, 60000,
	                                 true, 100, &out),
	             PROCESS_FAILED);
}

/* Three seconds are what the children of wrappers outlive the test by. */
Test(process, the_time_is_kept_here)
{
	static const char *const scripts[] = {
		"trap '' ALRM TERM; echo $$; exec sleep 3",
		"echo $$; sleep 3; true",
		"echo $$; sleep 3 &",
		"echo $$; exec >&-; exec sleep 3",
		"echo $$; while echo; do sleep 0.01; done",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		const uint64_t begin = clock_monotonic_ns();
		pid_t pid;

		cr_assert_eq(run(scripts[i], SHORT_MS, 10000), PROCESS_LATE, "%s", scripts[i]);
		cr_assert_lt(clock_monotonic_ns() - begin, 2 * NS_PER_S, "%s", scripts[i]);
		pid = atoi(out.at);
		cr_assert(pid > 0 && kill(pid, 0) < 0 && errno == ESRCH, "%s: %s", scripts[i], out.at);
	}
}
