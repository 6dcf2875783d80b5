/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of devices in a reason as text. */
#include "frontend/dialect/reason.h"
#include "frontend/dialect/reason_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Ends the word at `at`; returns the next one. */
static char *word_end(char *at)
{
	char *space = at + strcspn(at, " ");

	if (*space == '\0')
		return space;
	*space = '\0';
	return space + 1;
}

void reason_device_names(const struct device_lack *lack, const struct reason_names *names,
                         struct device_names *out)
{
	char *class, *attribute;

	out->text[0] = '\0';
	if (!names->device || !names->device(names->context, lack, out->text, sizeof(out->text)))
		snprintf(out->text, sizeof(out->text), "? ? - ");
	class = word_end(out->text);
	attribute = word_end(class);
	word_end(attribute);
	out->request = out->text;
	out->class = class;
	out->attribute = strcmp(attribute, "-") == 0 ? "" : attribute;
}

static const char *is_or_are(uint64_t n)
{
	return n == 1 ? "is" : "are";
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_needed(struct out *o, const struct device_lack *l, const struct device_names *names)
{
	const uint64_t needed = (uint64_t)l->count * l->members;

	if (l->count == 0)
		put(o, "%s: all devices of class %s of a node are needed, by %" PRIu32 " member%s",
		    names->request, names->class, l->members, plural(l->members));
	else
		put(o, "%s: %" PRIu64 " device%s of class %s %s needed", names->request, needed,
		    plural(needed), names->class, is_or_are(needed));
}

size_t reason_device_text(const struct device_lack *l, const struct reason_names *names, char *out,
                          size_t out_bytes)
{
	struct out o = { out, out_bytes, 0 };
	struct device_names about;

	reason_device_names(l, names, &about);
	put_needed(&o, l, &about);
	put(&o, ", %" PRIu32 " %s free on %" PRIu32 " node%s (%" PRIu32 " match", l->free,
	    is_or_are(l->free), l->nodes, plural(l->nodes), l->match);
	if (l->taken > 0)
		put(&o, ", %" PRIu32 " %s taken", l->taken, is_or_are(l->taken));
	if (l->tainted > 0)
		put(&o, ", %" PRIu32 " %s tainted", l->tainted, is_or_are(l->tainted));
	if (l->shut > 0)
		put(&o, ", %" PRIu32 " find%s no counters left", l->shut, l->shut == 1 ? "s" : "");
	put(&o, ")");
	if (l->count > 1 && l->most < l->count)
		put(&o, ", no %" PRIu32 " of them on one node", l->count);
	else if (l->count > 1 && about.attribute[0] != '\0' && l->alike < l->count)
		put(&o, ", no %" PRIu32 " of them on one node under one %s", l->count, about.attribute);
	return o.n;
}
