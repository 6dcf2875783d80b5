/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/request.h"

#include "frontend/base/loopback.h"

#include <string.h>
#include <strings.h>

#define HOST_BYTES_MAX 255 /* of a DNS name */

/* The Host field without its port; false if it is malformed. */
static bool host_split(const char *field, char out[HOST_BYTES_MAX + 1])
{
	const char *end = field[0] == '[' ? strchr(field, ']') : strchr(field, ':');
	size_t n = end ? (size_t)(end - field) + (*end == ']') : strlen(field);
	const char *port = field + n;

	if (n == 0 || n > HOST_BYTES_MAX || (field[0] == '[' && !end))
		return false;
	if (*port && (port[0] != ':' || port[1 + strspn(port + 1, "0123456789")] != '\0'))
		return false;
	memcpy(out, field, n);
	out[n] = '\0';
	return true;
}

bool request_host_is_allowed(const char *host, const char *const *names, size_t n)
{
	char name[HOST_BYTES_MAX + 1];

	if (!host || !host_split(host, name))
		return false;
	if (host_is_address(name) || host_is_loopback(name))
		return true;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

bool request_origin_is_own(const char *origin, const char *host)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; host && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t n = strlen(schemes[i]);

		if (strncasecmp(origin, schemes[i], n) == 0 && strcasecmp(origin + n, host) == 0)
			return true;
	}
	return false;
}

bool request_type_is_json(const char *type)
{
	static const char json[] = "application/json";
	const size_t n = sizeof(json) - 1;

	return type && strncasecmp(type, json, n) == 0 && strchr("; \t", type[n]) != NULL;
}
