/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/objects/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define STEP ((size_t)1 << 16)

static bool read_fd(int fd, struct bytes *out, char *error, size_t error_bytes)
{
	for (;;) {
		ssize_t got;

		if (out->n > READ_BYTES_MAX) {
			snprintf(error, error_bytes, "larger than %zu GiB", READ_BYTES_MAX >> 30);
			return false;
		}
		got = read(fd, bytes_room(out, STEP), STEP);
		if (got == 0)
			return true;
		if (got > 0) {
			out->n += (size_t)got;
		} else if (errno != EINTR) {
			snprintf(error, error_bytes, "%s", strerror(errno));
			return false;
		}
	}
}

/* gzip allows several members, one after the other; zeros may pad the end. */
static bool inflate_all(z_stream *z, const struct bytes *packed, struct bytes *out, char *error,
                        size_t error_bytes)
{
	size_t taken = 0;
	int rc = Z_OK;

	for (;;) {
		uInt given = packed->n - taken > STEP ? (uInt)STEP : (uInt)(packed->n - taken);

		z->next_in = (Bytef *)packed->at + taken;
		z->avail_in = given;
		z->next_out = (Bytef *)bytes_room(out, STEP * 4);
		z->avail_out = STEP * 4;
		rc = inflate(z, Z_NO_FLUSH);
		taken += given - z->avail_in;
		out->n += STEP * 4 - z->avail_out;
		if (out->n > READ_BYTES_MAX) {
			snprintf(error, error_bytes, "larger than %zu GiB when unpacked", READ_BYTES_MAX >> 30);
			return false;
		}
		if (rc == Z_STREAM_END) {
			while (taken < packed->n && packed->at[taken] == '\0')
				taken++;
			if (taken == packed->n)
				return true;
			if (inflateReset(z) != Z_OK)
				break;
		} else if (rc != Z_OK) {
			break;
		}
	}
	snprintf(error, error_bytes, "damaged gzip data: %s",
	         rc == Z_BUF_ERROR ? "it ends too early"
	         : z->msg != NULL  ? z->msg
	                           : "unreadable");
	return false;
}

static bool unpack(struct bytes *file, char *error, size_t error_bytes)
{
	struct bytes plain = { 0 };
	z_stream z = { 0 };
	bool ok;

	/* 16: gzip and nothing else. */
	if (inflateInit2(&z, 15 + 16) != Z_OK) {
		snprintf(error, error_bytes, "out of memory");
		return false;
	}
	ok = inflate_all(&z, file, &plain, error, error_bytes);
	inflateEnd(&z);
	if (!ok) {
		bytes_free(&plain);
		return false;
	}
	bytes_free(file);
	*file = plain;
	return true;
}

bool read_whole(const char *path, struct bytes *out, char *error, size_t error_bytes)
{
	bool standard_input = strcmp(path, "-") == 0;
	int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0) {
		snprintf(error, error_bytes, "%s", strerror(errno));
		return false;
	}
	ok = read_fd(fd, out, error, error_bytes);
	if (!standard_input)
		close(fd);
	if (ok && out->n >= 2 && memcmp(out->at, "\x1f\x8b", 2) == 0)
		ok = unpack(out, error, error_bytes);
	return ok;
}
