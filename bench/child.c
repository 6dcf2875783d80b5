/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/child.h"

#include "bench/bench.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 10000
#define LOG_SHOWN 3000

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

bool child_folder(char *out)
{
	const char *at = getenv("TMPDIR");

	snprintf(out, CHILD_PATH / 2, "%s/muster-bench-XXXXXX", at && *at ? at : "/tmp");
	if (mkdtemp(out))
		return true;
	fprintf(stderr, "muster-bench: %s: %s\n", out, strerror(errno));
	return false;
}

/* One level of folders: that is what a cluster leaves. */
static void remove_files(const char *folder, int depth)
{
	DIR *d = opendir(folder);
	struct dirent *entry;
	char path[CHILD_PATH + 256];

	while (d && (entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (unlink(path) < 0 && depth < 3)
			remove_files(path, depth + 1);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

void child_folder_remove(const char *folder)
{
	remove_files(folder, 0);
}

bool child_bin(char *out)
{
	ssize_t n = readlink("/proc/self/exe", out, CHILD_PATH - 1);
	char *slash;

	if (n <= 0)
		return false;
	out[n] = '\0';
	slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

bool child_tree(char *out)
{
	char *slash;

	if (!child_bin(out))
		return false;
	for (int i = 0; i < 2; i++) {
		slash = strrchr(out, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

static _Noreturn void become(const char *log, const char *const argv[], pid_t parent)
{
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	bench_unpin();
	if (getppid() != parent || out < 0 || in < 0)
		_exit(1);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

bool child_start(struct child *c, const char *folder, const char *name, const char *const argv[])
{
	pid_t parent = getpid();

	snprintf(c->name, sizeof(c->name), "%s", name);
	snprintf(c->log, sizeof(c->log), "%s/%s.log", folder, name);
	fflush(NULL);
	c->pid = fork();
	if (c->pid == 0)
		become(c->log, argv, parent);
	if (c->pid > 0)
		return true;
	c->pid = 0;
	fprintf(stderr, "muster-bench: can't start %s: %s\n", name, strerror(errno));
	return false;
}

/* True while it runs; then *status is set and it is no child any more. */
static bool alive(struct child *c, int *status)
{
	if (c->pid == 0)
		return false;
	if (waitpid(c->pid, status, WNOHANG) == 0)
		return true;
	c->pid = 0;
	return false;
}

bool child_runs(struct child *c)
{
	int status;

	return alive(c, &status);
}

void child_stop(struct child *c)
{
	pid_t group = c->pid;
	int status;

	if (c->pid == 0)
		return;
	kill(c->pid, SIGTERM);
	for (int ms = 0; alive(c, &status) && ms < PATIENCE_MS; ms += 5)
		nap();
	if (c->pid != 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &status, 0);
		c->pid = 0;
	}
	kill(-group, SIGKILL); /* what it left behind */
}

bool child_run(const char *folder, const char *name, const char *const argv[])
{
	struct child c;
	int status = -1;

	if (!child_start(&c, folder, name, argv))
		return false;
	while (alive(&c, &status))
		nap();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	child_show_log(&c);
	return false;
}

bool child_guard(const char *const argv[])
{
	char byte;
	int fds[2], null;
	pid_t child;

	/* Nobody ever writes: the other end closes when we die, since programs don't
	 * inherit it. */
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

void child_show_log(const struct child *c)
{
	FILE *f = fopen(c->log, "re");
	char text[LOG_SHOWN + 1];
	size_t n;

	if (!f)
		return;
	if (fseek(f, -LOG_SHOWN, SEEK_END) < 0)
		rewind(f);
	n = fread(text, 1, LOG_SHOWN, f);
	text[n] = '\0';
	fclose(f);
	fprintf(stderr, "muster-bench: the end of %s's log:\n%s\n", c->name, text);
}

uint16_t child_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint16_t port = 0;

	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    getsockname(fd, (struct sockaddr *)&a, &bytes) == 0)
		port = ntohs(a.sin_port);
	if (fd >= 0)
		close(fd);
	return port;
}

static size_t drop(char *bytes, size_t size, size_t n, void *context)
{
	return size * n;
}

static bool says_200(const char *url)
{
	CURL *easy = curl_easy_init();
	long status = 0;

	if (!easy)
		return false;
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 2000L);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
	if (curl_easy_perform(easy) == CURLE_OK)
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(easy);
	return status == 200;
}

bool child_ready(struct child *c, const char *url, uint32_t seconds)
{
	uint64_t end = bench_now_ns() + (uint64_t)seconds * 1000000000u;

	while (child_runs(c) && bench_now_ns() < end) {
		if (says_200(url))
			return true;
		nap();
	}
	fprintf(stderr, "muster-bench: %s is not ready\n", c->name);
	child_show_log(c);
	return false;
}
