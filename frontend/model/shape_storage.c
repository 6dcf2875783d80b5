/* SPDX-License-Identifier: Apache-2.0 */
/* What a pod's volumes ask for, as frontend/volume/volume.h says it. */
#include "frontend/model/shape.h"

#include <errno.h>

static int add_alternative(struct draft *d, const struct node_term *term)
{
	/* A term that matches nothing is no alternative. */
	struct span *span = draft_more(d, SECTION_ALTERNATIVES);
	int rc;

	if (!span)
		return -ENOMEM;
	for (size_t i = 0; i < term->n; i++)
		if (draft_rule_is_void(&term->rules[i]))
			return 0;
	if (term->n == 0)
		return 0;
	rc = draft_clauses(d, term->rules, term->n, span);
	if (rc == 0)
		draft_keep(d, SECTION_ALTERNATIVES);
	return rc;
}

static int add_volume_rule(struct draft *d, const struct volume_rule_object *from)
{
	struct volume_rule *rule = draft_more(d, SECTION_VOLUME_RULES);
	int rc = 0;

	if (!rule)
		return -ENOMEM;
	rule->why = from->why;
	rule->alternatives.first = draft_count(d, SECTION_ALTERNATIVES);
	for (size_t i = 0; rc == 0 && i < from->n; i++)
		rc = add_alternative(d, &from->terms[i]);
	rule->alternatives.n = draft_count(d, SECTION_ALTERNATIVES) - rule->alternatives.first;
	if (rc == 0)
		draft_keep(d, SECTION_VOLUME_RULES);
	return rc;
}

static int add_attachment(struct draft *d, const struct volume_attach_object *from)
{
	struct attachment *a = draft_more(d, SECTION_ATTACHMENTS);
	int rc;

	if (!a)
		return -ENOMEM;
	rc = draft_value(d, from->driver, &a->driver);
	if (rc < 0)
		return rc;
	rc = draft_value(d, from->volume, &a->volume);
	if (rc == 0)
		draft_keep(d, SECTION_ATTACHMENTS);
	else
		intern_give(&d->m->values, a->driver);
	return rc;
}

static int add_exclusive(struct draft *d, const struct volume_exclusive_object *from)
{
	struct exclusive *e = draft_more(d, SECTION_EXCLUSIVES);
	int rc;

	if (!e)
		return -ENOMEM;
	e->flags = from->flags;
	rc = draft_value(d, from->thing, &e->thing);
	if (rc == 0)
		draft_keep(d, SECTION_EXCLUSIVES);
	return rc;
}

int draft_storage(struct draft *d, const struct pod_storage *storage)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < storage->rules_n; i++)
		rc = add_volume_rule(d, &storage->rules[i]);
	for (size_t i = 0; rc == 0 && i < storage->attachments_n; i++)
		rc = add_attachment(d, &storage->attachments[i]);
	for (size_t i = 0; rc == 0 && i < storage->exclusives_n; i++)
		rc = add_exclusive(d, &storage->exclusives[i]);
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
