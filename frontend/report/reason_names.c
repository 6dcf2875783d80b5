/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers in a reason as texts of the model. */
#include "frontend/dialect/reason.h"

#include "frontend/model/model.h"

static const char *name_text(const void *context, uint32_t name)
{
	return model_name(context, name);
}

static const char *key_text(const void *context, uint32_t key)
{
	return model_key_text(context, key);
}

static const char *value_text(const void *context, uint32_t value)
{
	return model_value_text(context, value);
}

struct reason_names reason_names_of(const struct model *model)
{
	return (struct reason_names){
		.resource = name_text,
		.taint = name_text,
		.key = key_text,
		.value = value_text,
		.context = model,
	};
}
