/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/child.h"

#include "bench/bench.h"
#include "ctl/live/http.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define TIMEOUT_MS 2000L
/* Below the ports of outgoing connections, one of which could take a port before the child listens
 * on it. */
#define PORT_FIRST 32000u
#define PORTS 768u

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

bool child_folder(char out[PROCESS_PATH / 2])
{
	const char *at = getenv("TMPDIR");

	snprintf(out, PROCESS_PATH / 2, "%s/muster-bench-XXXXXX", at && *at ? at : "/tmp");
	if (mkdtemp(out))
		return true;
	fprintf(stderr, "muster-bench: %s: %s\n", out, strerror(errno));
	return false;
}

bool child_tree(char out[PROCESS_PATH])
{
	ssize_t n = readlink("/proc/self/exe", out, PROCESS_PATH - 1);
	char *slash = NULL;

	out[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 3; i++) {
		slash = strrchr(out, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

bool child_start(struct process *p, const char *folder, const char *name, const char *const argv[])
{
	*p = (struct process){ .command = "muster-bench", .name = name };
	snprintf(p->log, sizeof(p->log), "%s/%s.log", folder, name);
	return process_start(p, argv);
}

void child_stop(struct process *p)
{
	process_stop(p, PATIENCE_MS);
}

bool child_run(const char *folder, const char *name, const char *const argv[])
{
	struct process p;

	if (!child_start(&p, folder, name, argv))
		return false;
	while (process_runs(&p))
		nap();
	if (process_exit_code(&p) == 0)
		return true;
	process_show_log(&p);
	return false;
}

bool child_guard(const char *const argv[])
{
	char byte;
	int fds[2], null;
	pid_t child;

	/* Nothing is ever written: the other end closes when we end, since programs don't inherit it.
	 */
	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	fflush(NULL);
	child = fork();
	if (child != 0) {
		close(fds[0]);
		return child > 0;
	}
	close(fds[1]);
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	while (read(fds[0], &byte, 1) < 0 && errno == EINTR)
		;
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* User and system time of one process.  The name of its program, in brackets, may have spaces and
 * brackets itself. */
static double own_cpu_s(pid_t pid)
{
	char path[64], text[1024];
	unsigned long user = 0, system = 0;
	const char *rest;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
	                    &system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double child_cpu_s(const struct process *p)
{
	double sum = own_cpu_s(p->pid);
	char path[64];
	pid_t child;
	FILE *f;

	/* Those of its first thread: the programs with children have one. */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", p->pid, p->pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		sum += own_cpu_s(child);
	if (f)
		fclose(f);
	return sum;
}

uint16_t child_port(void)
{
	static uint32_t turn;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const uint32_t first = (uint32_t)getpid() * 31;
	bool is_free = false;

	for (uint32_t tries = 0; tries < PORTS && !is_free; tries++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		a.sin_port = htons((uint16_t)(PORT_FIRST + (first + turn++) % PORTS));
		is_free = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
		if (fd >= 0)
			close(fd);
	}
	return is_free ? ntohs(a.sin_port) : 0;
}

bool child_ready(struct process *p, const char *url, uint32_t seconds)
{
	uint64_t end = bench_now_ns() + (uint64_t)seconds * 1000000000u;
	struct bytes body = { 0 };
	char error[600];
	bool ready = false;

	while (!ready && process_runs(p) && bench_now_ns() < end) {
		ready = http_get(url, TIMEOUT_MS, true, &body, error, sizeof(error));
		if (!ready)
			nap();
	}
	bytes_free(&body);
	if (ready)
		return true;
	fprintf(stderr, "muster-bench: %s is not ready\n", p->name);
	process_show_log(p);
	return false;
}
