/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/up/tempdir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PATTERN "??????"
#define LOCK TEMPDIR_SOCKET ".lock"

static const char *base(void)
{
	const char *given = getenv("XDG_RUNTIME_DIR");

	/* sun_path has 108 bytes. */
	if (given == NULL || given[0] != '/' || strlen(given) > 64 || access(given, W_OK) != 0)
		return "/tmp";
	return given;
}

/* Files of this name in such directories. */
static bool look_for(const char *name, glob_t *out)
{
	char pattern[TEMPDIR_BYTES + 32];

	snprintf(pattern, sizeof(pattern), "%s/muster-" PATTERN "/%s", base(), name);
	return glob(pattern, 0, NULL, out) == 0;
}

static bool is_answered(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd;
	bool answered;

	if (strlen(path) >= sizeof(to.sun_path))
		return false;
	strcpy(to.sun_path, path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* EAGAIN: its backlog is full. */
	answered =
		fd >= 0 && (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 || errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return answered;
}

/* Locked as long as the descriptor is open. -1: another process holds the lock. */
static int lock(const char *folder)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void remove_left(const char *folder)
{
	char path[TEMPDIR_BYTES + 32];
	struct stat st;
	int fd;

	if (lstat(folder, &st) < 0 || st.st_uid != geteuid())
		return;
	snprintf(path, sizeof(path), "%s/" TEMPDIR_SOCKET, folder);
	fd = lock(folder);
	if (fd < 0)
		return;
	if (!is_answered(path)) {
		unlinkat(fd, TEMPDIR_SOCKET, 0);
		unlinkat(fd, LOCK, 0);
		rmdir(folder);
	}
	close(fd);
}

/* Before the first start of a core there is no lock file, and the directory may not be locked
 * yet. */
static void remove_all_left(void)
{
	glob_t g;

	if (!look_for(LOCK, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		*strrchr(g.gl_pathv[i], '/') = '\0';
		remove_left(g.gl_pathv[i]);
	}
	globfree(&g);
}

bool tempdir_make(char out[TEMPDIR_BYTES])
{
	remove_all_left();
	snprintf(out, TEMPDIR_BYTES, "%s/muster-XXXXXX", base());
	if (mkdtemp(out) != NULL) {
		lock(out); /* held until the process ends */
		return true;
	}
	out[0] = '\0';
	return false;
}

size_t tempdir_sockets(char *out, size_t out_bytes)
{
	struct stat st;
	size_t found = 0, used = 0;
	glob_t g;

	if (!look_for(TEMPDIR_SOCKET, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		/* Any user can make such a directory in /tmp. */
		if (lstat(g.gl_pathv[i], &st) < 0 || st.st_uid != geteuid() || !is_answered(g.gl_pathv[i]))
			continue;
		if (used < out_bytes)
			used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", found > 0 ? ", " : "",
			                         g.gl_pathv[i]);
		found++;
	}
	globfree(&g);
	return found;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	remove(path);
	return 0;
}

void tempdir_remove(const char *folder)
{
	if (folder[0] != '\0')
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
