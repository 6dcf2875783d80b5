/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/devices/selector.h"

#include "frontend/cel/cel.h"
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

static const enum cel_attribute_kind kinds[] = {
	[ATTRIBUTE_INT] = CEL_ATTRIBUTE_INT,
	[ATTRIBUTE_BOOL] = CEL_ATTRIBUTE_BOOL,
	[ATTRIBUTE_STRING] = CEL_ATTRIBUTE_STRING,
	[ATTRIBUTE_VERSION] = CEL_ATTRIBUTE_VERSION,
};

/* False: a version or quantity that the API server would not have accepted. */
static bool attribute_fill(const struct device_attribute *from, struct cel_attribute *out,
                           struct cel_error *error)
{
	*out = (struct cel_attribute){
		.domain = from->domain,
		.name = from->id,
		.kind = kinds[from->type],
		.number = from->number,
		.string = from->text,
	};
	return from->type != ATTRIBUTE_VERSION || cel_version_parse(from->text, &out->version, error);
}

static bool facts_fill(const struct device_facts *facts, struct cel_device *out,
                       struct cel_error *error)
{
	struct cel_attribute *attributes = must_array(facts->attributes_n + 1, sizeof(*attributes));
	struct cel_capacity *capacities = must_array(facts->capacities_n + 1, sizeof(*capacities));
	bool ok = true;

	*out = (struct cel_device){ .driver = facts->driver,
		                        .allow_multiple_allocations = facts->shared,
		                        .attributes = attributes,
		                        .attributes_n = facts->attributes_n,
		                        .capacities = capacities,
		                        .capacities_n = facts->capacities_n };
	for (size_t i = 0; ok && i < facts->attributes_n; i++)
		ok = attribute_fill(&facts->attributes[i], &attributes[i], error);
	for (size_t i = 0; ok && i < facts->capacities_n; i++) {
		capacities[i].domain = facts->capacities[i].domain;
		capacities[i].name = facts->capacities[i].id;
		ok = cel_quantity_parse(facts->capacities[i].value, &capacities[i].value, error);
	}
	return ok;
}

enum selector_result selector_match(struct selector *s, const struct device_facts *device,
                                    char *error, size_t error_bytes)
{
	struct cel_error why = s->error;
	struct cel_device facts;
	bool match = false, ok;

	if (s->program == NULL) {
		snprintf(error, error_bytes, "%s", why.text);
		return SELECTOR_ERROR;
	}
	ok = facts_fill(device, &facts, &why) && cel_eval(s->program, &facts, &match, &why) == 0;
	free((void *)(uintptr_t)facts.attributes);
	free((void *)(uintptr_t)facts.capacities);
	if (ok)
		return match ? SELECTOR_TRUE : SELECTOR_FALSE;
	snprintf(error, error_bytes, "%s%s", why.text, why.refused ? " (a limit of muster's)" : "");
	return SELECTOR_ERROR;
}
