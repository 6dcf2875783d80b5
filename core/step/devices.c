/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/devices.h"

#include "core/devices/inventory.h"
#include "core/filter/gpus.h"

static struct inventory *inventory_of(struct core *c)
{
	if (!c->pod_counts.inventory)
		c->pod_counts.inventory = inventory_new(&c->ledger.limits);
	return c->pod_counts.inventory;
}

static const struct node *node_of(const struct core *c, node_id id, uint32_t generation)
{
	const struct node *n = nodes_find(&c->nodes, id);

	return n && n->generation == generation ? n : NULL;
}

static int on_node_devices(struct core *c, const struct record *r)
{
	struct node_devices_record record;
	const char *fault = record_node_devices(r, &c->ledger.limits, &record);

	if (!fault && !node_of(c, record.body->node, record.body->generation))
		fault = "devices of an unknown node";
	if (fault)
		return refuse(c, fault);
	inventory_node_set(inventory_of(c), record.body,
	                   &(struct node_lists){ record.taken, record.shared, record.counters,
	                                         record.uses, record.capacities, record.commons });
	nodes_touch(&c->nodes, record.body->node);
	return 0;
}

/* Its names go to the arena, where readers of the ledger find them.  Without room there a reason
 * has the numbers alone. */
static void label_set(struct core *c, const struct question_record *q)
{
	struct name name;

	if (q->body->text_bytes > 0 && name_add(&c->ledger, q->text, q->body->text_bytes, &name) == 0)
		inventory_question_label(inventory_of(c), q->body->question, q->text, name.bytes,
		                         name.offset);
}

static void label_drop(struct core *c, uint32_t question)
{
	struct name name = { 0 };

	name.bytes = inventory_question_text(inventory_of(c), question, &name.offset);
	name_drop(&c->ledger, &name);
}

/* Views count the pods of the question that was there before. */
static void question_gone(struct core *c, uint32_t question)
{
	for (node_id id = 0; id < c->nodes.used; id++)
		if (inventory_has_match(inventory_of(c), id, question))
			nodes_touch(&c->nodes, id);
	gpus_forget(&c->pod_counts);
	label_drop(c, question);
}

static int on_question(struct core *c, const struct record *r)
{
	struct question_record record;
	const char *fault = record_question(r, &record);
	bool one;

	if (fault)
		return refuse(c, fault);
	one = inventory_is_one(inventory_of(c), record.body->question);
	question_gone(c, record.body->question);
	inventory_question_set(inventory_of(c), record.body, record.options, record.constraints);
	/* As below: nodes are counted one by one no more, or again. */
	if (one != inventory_is_one(inventory_of(c), record.body->question))
		c->pod_counts.rules_version++;
	label_set(c, &record);
	return 0;
}

static int on_match(struct core *c, const struct record *r)
{
	struct match_record record;
	const char *fault = record_match(r, &c->ledger.limits, &record);
	bool common;

	if (!fault && !node_of(c, record.body->node, record.body->generation))
		fault = "a match on an unknown node";
	if (fault)
		return refuse(c, fault);
	common = inventory_is_common(inventory_of(c), record.body->question);
	if (!inventory_match_set(inventory_of(c), record.body, record.sets, record.values,
	                         record.amounts))
		return refuse(c, "a match of another question or of other devices");
	/* Nodes of the question can't be counted one by one any more: its views and hints are read
	 * again. */
	if (!common && inventory_is_common(inventory_of(c), record.body->question))
		c->pod_counts.rules_version++;
	nodes_touch(&c->nodes, record.body->node);
	return 0;
}

static int on_question_drop(struct core *c, const struct record *r)
{
	const struct event_drop *drop;
	const char *fault = record_drop(r, QUESTIONS_MAX, &drop);

	if (fault)
		return refuse(c, fault);
	question_gone(c, drop->id);
	inventory_question_drop(inventory_of(c), drop->id);
	return 0;
}

int on_devices(struct core *c, const struct record *r)
{
	switch ((enum record_kind)r->kind) {
	case EVENT_NODE_DEVICES:
		return on_node_devices(c, r);
	case EVENT_QUESTION:
		return on_question(c, r);
	case EVENT_QUESTION_DROP:
		return on_question_drop(c, r);
	default:
		return on_match(c, r);
	}
}
