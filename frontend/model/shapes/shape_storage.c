/* SPDX-License-Identifier: Apache-2.0 */
/* What the volumes of a pod need of a node (frontend/volume/volume.h) in its shape. */
#include "frontend/model/shapes/shape_draft.h"
#include "frontend/volume/volume.h"

#include <assert.h>

/* A term that matches nothing is no alternative. */
static int add_alternative(struct draft *d, const struct node_term *term)
{
	struct span *span;
	int rc;

	for (size_t i = 0; i < term->n; i++)
		if (draft_rule_is_void(&term->rules[i]))
			return 0;
	if (term->n == 0)
		return 0;
	span = draft_more(d, SECTION_ALTERNATIVES);
	rc = draft_clauses(d, term->rules, term->n, span);
	if (rc == 0)
		draft_keep(d, SECTION_ALTERNATIVES);
	return rc;
}

static int add_volume_rule(struct draft *d, const struct volume_rule_object *from)
{
	struct volume_rule *rule = draft_more(d, SECTION_VOLUME_RULES);
	int rc = 0;

	rule->why = from->why;
	rule->alternatives.first = draft_count(d, SECTION_ALTERNATIVES);
	for (size_t i = 0; rc == 0 && i < from->n; i++)
		rc = add_alternative(d, &from->terms[i]);
	rule->alternatives.n = draft_count(d, SECTION_ALTERNATIVES) - rule->alternatives.first;
	if (rc == 0)
		draft_keep(d, SECTION_VOLUME_RULES);
	return rc;
}

int draft_storage(struct draft *d, const struct pod_storage *storage)
{
	struct intern *values = &d->m->values;
	int rc = 0;

	assert(draft_count(d, SECTION_POLICIES) == 0); /* derived parts have an order */
	for (size_t i = 0; rc == 0 && i < storage->rules_n; i++)
		rc = add_volume_rule(d, &storage->rules[i]);
	for (size_t i = 0; rc == 0 && i < storage->attachments_n; i++) {
		struct attachment *a = draft_more(d, SECTION_ATTACHMENTS);

		a->driver = model_number(values, storage->attachments[i].driver);
		a->volume = model_number(values, storage->attachments[i].volume);
		draft_keep(d, SECTION_ATTACHMENTS);
	}
	for (size_t i = 0; rc == 0 && i < storage->exclusives_n; i++) {
		struct exclusive *e = draft_more(d, SECTION_EXCLUSIVES);

		e->flags = storage->exclusives[i].flags;
		e->item = model_number(values, storage->exclusives[i].thing);
		draft_keep(d, SECTION_EXCLUSIVES);
	}
	return rc;
}

void draft_strip_storage(struct draft *d)
{
	const struct span *spans = (const void *)d->sections[SECTION_ALTERNATIVES].at;
	uint32_t clauses = 0;

	for (uint32_t i = 0; i < draft_count(d, SECTION_ALTERNATIVES); i++)
		clauses += spans[i].n;
	draft_cut_clauses(d, clauses);
	draft_cut(d, SECTION_ALTERNATIVES, draft_count(d, SECTION_ALTERNATIVES));
	draft_cut(d, SECTION_VOLUME_RULES, draft_count(d, SECTION_VOLUME_RULES));
	draft_cut(d, SECTION_ATTACHMENTS, draft_count(d, SECTION_ATTACHMENTS));
	draft_cut(d, SECTION_EXCLUSIVES, draft_count(d, SECTION_EXCLUSIVES));
}
