/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/support_script.h"

size_t script_change(struct random *r, uint8_t *data, size_t bytes, size_t cap, size_t head,
                     size_t step)
{
	size_t steps, at;

	if (bytes < head)
		return 0;
	steps = (bytes - head) / step;
	at = head + step * random_below(r, (uint32_t)steps + 1);
	if (at + step > cap)
		return 0;
	for (size_t i = 0; i < step; i++)
		data[at + i] = (uint8_t)random_next(r);
	/* Small numbers lie near what there is. */
	if (random_below(r, 2))
		data[at + step - 1] = data[at + step - 2] = 0;
	return at + step > bytes ? at + step : bytes;
}
