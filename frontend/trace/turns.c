/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/trace/turns.h"

const char *turn_part_name(enum turn_part part)
{
	static const char *const names[TURN_PARTS] = {
		[TURN_COMMANDS] = "commands", [TURN_QUESTIONS] = "questions", [TURN_REQUESTS] = "requests",
		[TURN_PAGES] = "pages",       [TURN_RESPONSES] = "responses",
	};

	return names[part];
}

uint64_t turns_add(struct turns *t, enum turn_part part, uint64_t begun_ns, uint64_t now_ns,
                   uint64_t waited_ns)
{
	const uint64_t took = now_ns > begun_ns ? now_ns - begun_ns : 0;

	histogram_add(&t->parts[part], &buckets_attempt, took > waited_ns ? took - waited_ns : 0);
	return now_ns;
}
