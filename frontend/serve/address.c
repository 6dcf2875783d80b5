/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/address.h"

#include "frontend/base/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BYTES 64

/* Splits off the port; false if there is no colon, or too much before it. */
static bool host_split(const char *listen, char host[HOST_BYTES], const char **port)
{
	const char *colon = strrchr(listen, ':');

	if (!colon || (size_t)(colon - listen) >= HOST_BYTES)
		return false;
	memcpy(host, listen, (size_t)(colon - listen));
	host[colon - listen] = '\0';
	*port = colon + 1;
	return true;
}

static bool host_read(const char *host, in_port_t port, union address *out)
{
	char v6[HOST_BYTES];
	size_t n = strlen(host);

	out->v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port };
	if (n == 0 || inet_pton(AF_INET, host, &out->v4.sin_addr) == 1)
		return true;
	if (strcmp(host, "localhost") == 0) {
		out->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return true;
	}
	out->v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port };
	if (n < 2 || host[0] != '[' || host[n - 1] != ']')
		return false;
	memcpy(v6, host + 1, n - 2);
	v6[n - 2] = '\0';
	return inet_pton(AF_INET6, v6, &out->v6.sin6_addr) == 1;
}

int address_read(const char *listen, union address *out, char *error, size_t error_bytes)
{
	const char *text;
	char host[HOST_BYTES], *end;
	long port;

	memset(out, 0, sizeof(*out));
	if (!host_split(listen, host, &text)) {
		snprintf(error, error_bytes, "\"%s\" is not ADDR:PORT", listen);
		return -EINVAL;
	}
	errno = 0;
	port = strtol(text, &end, 10);
	if (errno || end == text || *end || port < 0 || port > 65535) {
		snprintf(error, error_bytes, "\"%s\": \"%s\" is not a port", listen, text);
		return -EINVAL;
	}
	if (host_read(host, htons((uint16_t)port), out))
		return 0;
	snprintf(error, error_bytes, "\"%s\": \"%s\" is not an address", listen, host);
	return -EINVAL;
}

bool address_is_off(const char *listen)
{
	return !*listen || strcmp(listen, "off") == 0;
}

bool address_is_loopback(const char *listen)
{
	const char *port;
	char host[HOST_BYTES];

	return host_split(listen, host, &port) && host_is_loopback(host);
}
