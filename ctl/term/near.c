/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/term/near.h"

#include <string.h>

#define LETTERS_MAX 32
#define FAR 99u

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned near_distance(const char *a, const char *b)
{
	unsigned d[LETTERS_MAX + 1][LETTERS_MAX + 1];
	const size_t m = strlen(a), n = strlen(b);

	if (m > LETTERS_MAX || n > LETTERS_MAX)
		return FAR;
	for (size_t i = 0; i <= m; i++)
		d[i][0] = (unsigned)i;
	for (size_t k = 0; k <= n; k++)
		d[0][k] = (unsigned)k;
	for (size_t i = 1; i <= m; i++)
		for (size_t k = 1; k <= n; k++) {
			d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
			                d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[m][n];
}

const char *near_word(const char *text, const char *const *words, size_t n)
{
	const char *best = NULL;
	unsigned nearest = FAR;

	for (size_t i = 0; i < n; i++) {
		const unsigned far = near_distance(text, words[i]);

		if (far > 2 || far * 3 > strlen(words[i]))
			continue;
		if (far == nearest)
			best = NULL;
		if (far < nearest) {
			nearest = far;
			best = words[i];
		}
	}
	return best;
}
