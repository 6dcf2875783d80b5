/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/message.h"
#include "ipc/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Space to detect a few descriptors too many; the kernel drops more. */
#define FDS_SEEN 4

int message_send(int socket_fd, const void *message, size_t bytes, int fd)
{
	alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))] = { 0 };
	union {
		const void *in;
		void *out;
	} data = { .in = message };
	struct iovec part = { .iov_base = data.out, .iov_len = bytes };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd >= 0) {
		struct cmsghdr *c;

		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(socket_fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return -errno;
	return (size_t)sent == bytes ? 0 : -EPROTO;
}

static int wait_readable(int socket_fd, uint64_t timeout_ns)
{
	const uint64_t most = INT32_MAX * NS_PER_MS;
	uint64_t left = timeout_ns < most ? timeout_ns : most, now = clock_monotonic_ns();
	const uint64_t deadline = now + left;
	struct pollfd p = { .fd = socket_fd, .events = POLLIN };
	int rc;

	for (;;) {
		rc = poll(&p, 1, (int)((left + NS_PER_MS - 1) / NS_PER_MS));
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return -errno;
		now = clock_monotonic_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		left = deadline - now;
	}
}

/* Keeps the first descriptor that came and closes the others; returns their number. */
static size_t take_fds(struct msghdr *header, int *first)
{
	size_t n = 0;

	*first = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			if (n++ == 0)
				*first = fd;
			else
				close(fd);
		}
	}
	return n;
}

int message_receive(int socket_fd, union message *m, int *fd, uint64_t timeout_ns)
{
	alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(FDS_SEEN * sizeof(int))];
	struct iovec part = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t got;
	size_t fds;
	int first;
	int rc = wait_readable(socket_fd, timeout_ns);

	*fd = -1;
	if (rc < 0)
		return rc;
	memset(m, 0, sizeof(*m));
	do
		got = recvmsg(socket_fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;

	fds = take_fds(&header, &first);
	if (got == 0 && fds == 0)
		return -ECONNRESET;
	if (fds > 1 || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
	    (size_t)got < sizeof(m->head) || m->head.magic != MESSAGE_MAGIC) {
		if (first >= 0)
			close(first);
		return -EPROTO;
	}
	*fd = first;
	return (int)got;
}

bool message_peer_is_ours(int socket_fd)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 || bytes != sizeof(peer))
		return false;
	return peer.uid == geteuid() || peer.uid == 0;
}
