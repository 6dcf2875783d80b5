/* SPDX-License-Identifier: Apache-2.0 */
/* The service manager's side is a datagram socket of the test's own. */
#include "frontend/serve/notify.h"
#include "tests/unit/test.h"

#include <criterion/new/assert.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int listen_at(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t bytes = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, name, bytes);
	if (*name == '@')
		at.sun_path[0] = '\0';
	cr_assert(bind(fd, (struct sockaddr *)&at,
	               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes)) == 0);
	return fd;
}

static void hears(const char *name)
{
	char said[64] = "";
	int fd = listen_at(name);

	setenv("NOTIFY_SOCKET", name, 1);
	cr_assert(notify_send("READY=1") == 0);
	cr_assert(recv(fd, said, sizeof(said) - 1, 0) == 7);
	cr_assert_str_eq(said, "READY=1");
	cr_assert(recv(fd, said, sizeof(said) - 1, 0) < 0, "once");
	close(fd);
}

Test(notify, path)
{
	char folder[] = "/tmp/muster-notify-XXXXXX", name[64];

	cr_assert(mkdtemp(folder) != NULL);
	snprintf(name, sizeof(name), "%s/socket", folder);
	hears(name);
	unlink(name);
	rmdir(folder);
}

Test(notify, abstract_name)
{
	char name[64];

	snprintf(name, sizeof(name), "@muster-notify-%d", (int)getpid());
	hears(name);
}

Test(notify, nobody_asks)
{
	unsetenv("NOTIFY_SOCKET");
	cr_assert(notify_send("READY=1") == 0);
}

Test(notify, what_is_no_socket)
{
	char longest[200] = "/";

	setenv("NOTIFY_SOCKET", "relative", 1);
	cr_assert(notify_send("READY=1") == -EINVAL);
	setenv("NOTIFY_SOCKET", "@", 1);
	cr_assert(notify_send("READY=1") == -EINVAL);
	memset(longest + 1, 'x', sizeof(longest) - 2);
	setenv("NOTIFY_SOCKET", longest, 1);
	cr_assert(notify_send("READY=1") == -ENAMETOOLONG);
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	cr_assert(notify_send("READY=1") == -ENOENT);
}
