/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that muster writes for people: nothing that a tenant wrote acts on their terminals. */
#include "tests/sim/invariants_impl.h"

/* C0 and C1 controls, and what changes the direction of text: U+202A to 202E, U+2066 to 2069. */
static bool is_clean(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	for (; *c != '\0'; c++)
		if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0) ||
		    (*c == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
		    (*c == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9))
			return false;
	return true;
}

void judge_text(struct invariants *b, const struct as_object *o, const char *text)
{
	if (!is_clean(text))
		sim_fail(b->sim, "text: %s has a control character in a text of muster", o->key);
}

void judge_conditions(struct invariants *b, const struct as_object *o, const struct as_json *tree)
{
	const struct as_json *list = as_json_array(as_json_get(tree, "status"), "conditions");

	for (const struct as_json *c = list != NULL ? list->first : NULL; c != NULL; c = c->next)
		judge_text(b, o, json_text(c, "message"));
}
