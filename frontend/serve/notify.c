/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_send(const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t bytes;
	int fd, rc;

	if (path == NULL)
		return 0;
	if ((*path != '/' && *path != '@') || path[1] == '\0')
		return -EINVAL;
	bytes = strlen(path);
	if (bytes >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, bytes);
	if (*path == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to,
	            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes)) < 0
	         ? -errno
	         : 0;
	close(fd);
	return rc;
}
