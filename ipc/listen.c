/* SPDX-License-Identifier: Apache-2.0 */
/* The socket file: created with its mode and group, and taken over from a core that died. */
#include "ipc/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

/* The group first: no other group may connect in between. */
static int open_to(const char *path, gid_t readers, mode_t mode)
{
	return lchown(path, (uid_t)-1, readers) < 0 || chmod(path, mode) < 0 ? -errno : 0;
}

static int make_folder_of(const char *path, gid_t readers)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');
	size_t bytes;

	if (slash == NULL || slash == path)
		return 0;
	bytes = (size_t)(slash - path);
	if (bytes >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, bytes);
	folder[bytes] = '\0';
	if (mkdir(folder, 0700) < 0)
		return errno != EEXIST ? -errno : 0;
	return readers == LINK_NO_READERS ? 0 : open_to(folder, readers, 0710);
}

/* Held while the socket file is probed and replaced: two cores that start at once would each
 * take the other's new socket for a stale one. */
static int lock_beside(const char *path)
{
	char lock[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(".lock")];
	int fd;

	snprintf(lock, sizeof(lock), "%s.lock", path);
	fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR) {
			int rc = -errno;

			close(fd);
			return rc;
		}
	}
	return fd;
}

/* Removes the file if it is a socket without a listener. */
static int remove_old(const struct sockaddr_un *address)
{
	struct stat st;
	int fd, rc;

	if (lstat(address->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
	close(fd);
	if (rc != -ECONNREFUSED)
		return rc == -ENOENT ? 0 : -EADDRINUSE;
	return unlink(address->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

static int bind_and_listen(const struct sockaddr_un *address, gid_t readers)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	/* Linux gives the file the mode of the socket: never open to others. */
	if (fchmod(fd, 0600) < 0 || bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		rc = -errno;
		goto close_fd;
	}
	rc = readers == LINK_NO_READERS ? 0 : open_to(address->sun_path, readers, 0660);
	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	unlink(address->sun_path);
close_fd:
	close(fd);
	return rc;
}

int link_listen(const char *path, gid_t readers)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t bytes = strlen(path);
	int lock, rc;

	if (bytes == 0)
		return -EINVAL;
	if (bytes >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, bytes);
	rc = make_folder_of(path, readers);
	if (rc < 0)
		return rc;
	lock = lock_beside(path);
	if (lock < 0)
		return lock;
	rc = remove_old(&address);
	if (rc == 0)
		rc = bind_and_listen(&address, readers);
	close(lock);
	return rc;
}
