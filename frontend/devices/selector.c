/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/devices/selector.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>

struct selector {
	struct cel_program *program; /* NULL: it can't be compiled */
	struct cel_error error;      /* why */
};

struct selector *selector_new(struct text expression)
{
	struct selector *s = must_alloc(sizeof(*s));

	s->program = cel_compile(expression, &s->error);
	return s;
}

void selector_free(struct selector *s)
{
	if (s->program != NULL)
		cel_free(s->program);
	free(s);
}

const char *selector_refused(const struct selector *s)
{
	return s->program == NULL && s->error.refused ? s->error.text : NULL;
}

size_t selector_bytes(const struct selector *s)
{
	return sizeof(*s) + (s->program ? cel_bytes(s->program) : 0);
}

enum selector_result selector_match(struct selector *s, const struct cel_device *device,
                                    char *error, size_t error_bytes)
{
	struct cel_error why = s->error;
	bool match = false;

	if (s->program == NULL) {
		snprintf(error, error_bytes, "%s", why.text);
		return SELECTOR_ERROR;
	}
	if (cel_eval(s->program, device, &match, &why) == 0)
		return match ? SELECTOR_TRUE : SELECTOR_FALSE;
	snprintf(error, error_bytes, "%s%s", why.text, why.refused ? " (a limit of muster's)" : "");
	return SELECTOR_ERROR;
}

uint64_t selector_steps(const struct selector *s)
{
	return s->program ? cel_steps(s->program) : 1;
}
