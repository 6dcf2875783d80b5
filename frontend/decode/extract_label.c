/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/extract_label.h"

#define NAME_BYTES_MAX 63
#define PREFIX_BYTES_MAX 253

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alphanumeric(char c)
{
	return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* ([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9] */
static bool is_label_name(struct text t)
{
	if (t.bytes == 0 || t.bytes > NAME_BYTES_MAX)
		return false;
	for (size_t i = 0; i < t.bytes; i++)
		if (!is_alphanumeric(t.at[i]) && t.at[i] != '-' && t.at[i] != '_' && t.at[i] != '.')
			return false;
	return is_alphanumeric(t.at[0]) && is_alphanumeric(t.at[t.bytes - 1]);
}

/* A DNS subdomain: lower case, between dots neither empty nor with a dash at an end. */
static bool is_subdomain(struct text t)
{
	char before = '.';

	if (t.bytes == 0 || t.bytes > PREFIX_BYTES_MAX)
		return false;
	for (size_t i = 0; i < t.bytes; i++) {
		char c = t.at[i];

		if (c == '.' ? !is_lower_or_digit(before)
		             : !is_lower_or_digit(c) && (c != '-' || before == '.'))
			return false;
		before = c;
	}
	return is_lower_or_digit(before);
}

bool label_key_is_valid(struct text key)
{
	const char *slash = key.bytes > 0 ? memchr(key.at, '/', key.bytes) : NULL;
	size_t prefix;

	if (!slash)
		return is_label_name(key);
	prefix = (size_t)(slash - key.at);
	return is_subdomain((struct text){ key.at, prefix }) &&
	       is_label_name((struct text){ slash + 1, key.bytes - prefix - 1 });
}

bool label_value_is_valid(struct text value)
{
	return value.bytes == 0 || is_label_name(value);
}
