/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#define LOOPBACK_NET 127

/* IPv4 addresses as IPv6 has them, ::ffff:a.b.c.d. */
static bool address_read(const char *host, struct in6_addr *out)
{
	char text[INET6_ADDRSTRLEN];
	size_t n = strlen(host);
	struct in_addr v4;

	if (inet_pton(AF_INET, host, &v4) == 1) {
		*out = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
		memcpy(out->s6_addr + 12, &v4, sizeof(v4));
		return true;
	}
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host++;
		n -= 2;
	}
	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	return inet_pton(AF_INET6, text, out) == 1;
}

bool host_is_address(const char *host)
{
	struct in6_addr address;

	return address_read(host, &address);
}

bool host_is_loopback(const char *host)
{
	struct in6_addr a;

	if (!address_read(host, &a))
		return strcasecmp(host, "localhost") == 0;
	return IN6_IS_ADDR_LOOPBACK(&a) || (IN6_IS_ADDR_V4MAPPED(&a) && a.s6_addr[12] == LOOPBACK_NET);
}
