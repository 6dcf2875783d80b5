/* SPDX-License-Identifier: Apache-2.0 */
/* The folders that hold the sockets of musterctl up: which are served, and which are left over. */
#include "ctl/up/tempdir.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char runtime[] = "/tmp/muster-folder-XXXXXX";

static void make_runtime(void)
{
	cr_assert(mkdtemp(runtime) != NULL);
	cr_assert(setenv("XDG_RUNTIME_DIR", runtime, 1) == 0);
}

static void remove_runtime(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", runtime);
	cr_assert(system(command) == 0);
}

TestSuite(folder, .init = make_runtime, .fini = remove_runtime, .timeout = 30);

/* What muster-core leaves there; its end, which listens. */
static int serve(const char *folder)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char lock[TEMPDIR_BYTES + 32];

	snprintf(lock, sizeof(lock), "%s/" TEMPDIR_SOCKET ".lock", folder);
	close(open(lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(at.sun_path, sizeof(at.sun_path), "%.90s/" TEMPDIR_SOCKET, folder);
	cr_assert(bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0);
	cr_assert(listen(fd, 4) == 0);
	return fd;
}

/* Made by somebody who was killed. */
static void leave(char folder[TEMPDIR_BYTES])
{
	int fds[2], status;
	pid_t pid;

	cr_assert(pipe(fds) == 0);
	pid = fork();
	if (pid == 0) {
		if (!tempdir_make(folder))
			_exit(1);
		serve(folder);
		_exit(write(fds[1], folder, TEMPDIR_BYTES) == TEMPDIR_BYTES ? 0 : 1);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	cr_assert(read(fds[0], folder, TEMPDIR_BYTES) == TEMPDIR_BYTES);
	close(fds[0]);
	close(fds[1]);
}

Test(folder, sockets_are_those_that_are_answered)
{
	char one[TEMPDIR_BYTES], two[TEMPDIR_BYTES], left[TEMPDIR_BYTES],
		found[10 * TEMPDIR_BYTES] = "", wanted[TEMPDIR_BYTES + 16];
	int fd_one, fd_two;

	cr_assert(tempdir_make(one) && tempdir_make(two));
	cr_expect(tempdir_sockets(found, sizeof(found)) == 0);
	fd_one = serve(one);
	leave(left);
	cr_expect(tempdir_sockets(found, sizeof(found)) == 1);
	snprintf(wanted, sizeof(wanted), "%s/" TEMPDIR_SOCKET, one);
	cr_expect_str_eq(found, wanted);
	fd_two = serve(two);
	cr_expect(tempdir_sockets(found, sizeof(found)) == 2);
	cr_expect(strstr(found, one) != NULL && strstr(found, two) != NULL &&
	              strstr(found, ", ") != NULL,
	          "%s", found);
	/* More than there is room for. */
	cr_expect(tempdir_sockets(found, 20) == 2);
	cr_expect(strlen(found) < 20);
	close(fd_one);
	close(fd_two);
}

Test(folder, those_of_the_killed_go)
{
	char ours[TEMPDIR_BYTES], left[TEMPDIR_BYTES], kept[TEMPDIR_BYTES], served[TEMPDIR_BYTES],
		last[TEMPDIR_BYTES];
	char path[TEMPDIR_BYTES + 32];
	int fd;

	/* Ours: nobody listens for a moment, as when a core is started again. */
	cr_assert(tempdir_make(ours));
	close(serve(ours));
	/* Served by somebody who has not locked it. */
	snprintf(served, sizeof(served), "%s/muster-byhand", runtime);
	cr_assert(mkdir(served, 0700) == 0);
	fd = serve(served);
	/* With logs in it. */
	leave(kept);
	snprintf(path, sizeof(path), "%s/muster.log", kept);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	leave(left);

	cr_assert(tempdir_make(last));
	cr_expect(access(left, F_OK) != 0, "%s is left over", left);
	cr_expect(access(path, F_OK) == 0, "the log is gone");
	cr_expect(access(ours, F_OK) == 0 && access(served, F_OK) == 0 && access(last, F_OK) == 0);
	snprintf(path, sizeof(path), "%s/" TEMPDIR_SOCKET, ours);
	cr_expect(access(path, F_OK) == 0, "the socket of a locked folder is gone");
	snprintf(path, sizeof(path), "%s/" TEMPDIR_SOCKET, served);
	cr_expect(access(path, F_OK) == 0, "a socket that is served is gone");
	close(fd);
}
