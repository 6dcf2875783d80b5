/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

int base64_decode(const char *text, char *out, size_t *bytes)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	unsigned digits = 0, padding = 0;
	size_t n = 0;

	for (const char *c = text; *c; c++) {
		const char *digit;

		if (strchr(" \t\r\n", *c))
			continue;
		if (*c == '=') {
			padding++;
			continue;
		}
		digit = strchr(alphabet, *c);
		if (!digit || padding > 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)(digit - alphabet);
		if (++digits % 4 == 0) {
			out[n++] = (char)(bits >> 16);
			out[n++] = (char)(bits >> 8);
			out[n++] = (char)bits;
		}
	}
	switch (digits % 4) {
	case 0:
		if (padding != 0)
			return -EINVAL;
		break;
	case 2:
		if (padding != 2)
			return -EINVAL;
		out[n++] = (char)(bits >> 4);
		break;
	case 3:
		if (padding != 1)
			return -EINVAL;
		out[n++] = (char)(bits >> 10);
		out[n++] = (char)(bits >> 2);
		break;
	default:
		return -EINVAL;
	}
	*bytes = n;
	return 0;
}
