/* SPDX-License-Identifier: Apache-2.0 */
/* Records of devices (ipc/abi_devices.h). */
#include "core/shm/records.h"

#include "core/shm/records_impl.h"
#include "ipc/devices.h"

/* Sums of all of them have no overflow. */
#define HIGH_MAX (UINT64_C(1) << 48)
/* ... of as many shares as there are pods. */
#define SHARE_HIGH_MAX (UINT64_C(1) << 31)

static const char *counters_fault(const struct node_devices_record *q)
{
	const struct event_node_devices *e = q->body;

	for (uint32_t i = 0; i < e->counters_n; i++)
		if (q->counters[i].high > HIGH_MAX ||
		    (i > 0 && q->counters[i].pool < q->counters[i - 1].pool))
			return "the counters of a node are not in order";
	for (uint32_t i = 0; i < e->uses_n; i++) {
		const struct node_use *u = &q->uses[i], *before = i > 0 ? u - 1 : u;

		if (u->device >= e->devices_n || u->counter >= e->counters_n || u->high > HIGH_MAX ||
		    u->device < before->device ||
		    (u->device == before->device &&
		     q->counters[u->counter].pool != q->counters[before->counter].pool))
			return "the uses of a node's counters are not in order";
	}
	return NULL;
}

static const char *capacities_fault(const struct node_devices_record *q)
{
	const struct event_node_devices *e = q->body;

	if (!(e->flags & NODE_DEVICES_SHARED))
		return e->capacities_n > 0 ? "a node has capacities of no device" : NULL;
	for (uint32_t i = 0; i < e->capacities_n; i++) {
		const struct node_capacity *c = &q->capacities[i];

		if (c->device >= e->devices_n || !device_in(q->shared, c->device) ||
		    (i > 0 && c->device < c[-1].device) || c->value_high > SHARE_HIGH_MAX ||
		    c->consumed_high > SHARE_HIGH_MAX)
			return "the capacities of a node's devices are not in order";
	}
	return NULL;
}

static const char *commons_fault(const struct node_devices_record *q)
{
	const struct event_node_devices *e = q->body;

	for (uint32_t i = 0; i < e->commons_n; i++) {
		const struct node_common *c = &q->commons[i];

		if (c->device >= e->devices_n || c->common >= COMMON_DEVICES_MAX ||
		    (i > 0 && c->device <= c[-1].device) ||
		    (e->flags & NODE_DEVICES_SHARED && device_in(q->shared, c->device)))
			return "the devices of several nodes are not in order";
	}
	return NULL;
}

const char *record_node_devices(const struct record *r, const struct limits *l,
                                struct node_devices_record *out)
{
	struct body b = body_of(r);
	struct node_devices_record q = { .body = take(&b, 1, sizeof(*q.body)) };

	if (q.body && (q.body->devices_n > NODE_DEVICES_MAX || q.body->counters_n > NODE_COUNTERS_MAX ||
	               q.body->uses_n > NODE_USES_MAX || q.body->capacities_n > NODE_CAPACITIES_MAX ||
	               q.body->commons_n > q.body->devices_n))
		return "a node has too many devices";
	if (q.body)
		q.taken = take(&b, DEVICE_WORDS(q.body->devices_n), sizeof(*q.taken));
	if (q.taken)
		q.shared =
			take(&b, q.body->flags & NODE_DEVICES_SHARED ? DEVICE_WORDS(q.body->devices_n) : 0,
		         sizeof(*q.shared));
	if (q.shared)
		q.counters = take(&b, q.body->counters_n, sizeof(*q.counters));
	if (q.counters)
		q.uses = take(&b, q.body->uses_n, sizeof(*q.uses));
	if (q.uses)
		q.capacities = take(&b, q.body->capacities_n, sizeof(*q.capacities));
	if (q.capacities)
		q.commons = take(&b, q.body->commons_n, sizeof(*q.commons));
	if (!q.body || !q.commons || b.left != 0)
		return "the record of a node's devices has a wrong length";
	if (q.body->node >= l->nodes)
		return "the node of devices is out of bounds";
	if (q.body->layout == 0)
		return "the devices of a node have layout 0";
	if (q.body->flags & ~(uint32_t)(NODE_DEVICES_INVALID | NODE_DEVICES_SHARED))
		return "the devices of a node have unknown flags";
	*out = q;
	if (counters_fault(&q))
		return counters_fault(&q);
	return capacities_fault(&q) ? capacities_fault(&q) : commons_fault(&q);
}

/* Claims and their requests are numbered without gaps. */
static const char *options_fault(const struct question_option *at, uint32_t n)
{
	uint32_t alternatives = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct question_option *o = &at[i], *before = i > 0 ? &at[i - 1] : NULL;
		const bool same = before && o->claim == before->claim && o->request == before->request;
		const bool next = before
		                      ? (o->claim == before->claim && o->request == before->request + 1) ||
		                            (o->claim == before->claim + 1 && o->request == 0)
		                      : o->claim == 0 && o->request == 0;

		alternatives = same ? alternatives + 1 : 1;
		if ((!same && !next) || alternatives > DEVICE_OPTIONS_MAX)
			return "the options of a question are not in order";
		if (o->flags & ~(uint32_t)(QUESTION_ALL | QUESTION_ADMIN | QUESTION_PREFERS | QUESTION_ONE |
		                           QUESTION_GROUPS))
			return "an option of a question has unknown flags";
		if ((o->flags ^ at->flags) & QUESTION_ONE ||
		    (o->flags & QUESTION_ONE && device_group(o->flags) > 0))
			return "options of a question differ in who has its claim";
		if (!(o->flags & QUESTION_ALL) && o->count == 0)
			return "an option of a question asks for no device";
	}
	return NULL;
}

const char *record_question(const struct record *r, struct question_record *out)
{
	struct body b = body_of(r);
	struct question_record q = { .body = take(&b, 1, sizeof(*q.body)) };
	const char *fault;

	if (q.body)
		q.options = take(&b, q.body->options_n, sizeof(*q.options));
	if (q.options)
		q.constraints = take(&b, q.body->constraints_n, sizeof(*q.constraints));
	if (q.constraints)
		q.text = take(&b, q.body->text_bytes, 1);
	if (!q.text || b.left != 0)
		return "the record of a question has a wrong length";
	if (q.body->question >= QUESTIONS_MAX || q.body->options_n == 0 ||
	    q.body->options_n > QUESTION_OPTIONS_MAX ||
	    q.body->constraints_n > QUESTION_CONSTRAINTS_MAX || q.body->text_bytes > QUESTION_TEXT_MAX)
		return "a question is out of bounds";
	fault = options_fault(q.options, q.body->options_n);
	for (uint32_t i = 0; !fault && i < q.body->constraints_n; i++) {
		const struct question_constraint *c = &q.constraints[i];

		if (c->claim > q.options[q.body->options_n - 1].claim ||
		    (i > 0 && c->claim < q.constraints[i - 1].claim) ||
		    c->flags & ~(uint32_t)QUESTION_DISTINCT)
			fault = "a constraint of a question is of no known kind";
	}
	*out = q;
	return fault;
}

const char *record_match(const struct record *r, const struct limits *l, struct match_record *out)
{
	struct body b = body_of(r);
	struct match_record q = { .body = take(&b, 1, sizeof(*q.body)) };
	const struct event_match *m = q.body;

	if (!m)
		return "the record of a match has a wrong length";
	if (m->question >= QUESTIONS_MAX || m->node >= l->nodes || m->layout == 0 ||
	    m->devices_n > NODE_DEVICES_MAX || m->options_n > QUESTION_OPTIONS_MAX ||
	    m->constraints_n > QUESTION_CONSTRAINTS_MAX || m->capacities_n > NODE_CAPACITIES_MAX)
		return "a match is out of bounds";
	q.sets = take(&b, (uint64_t)2 * m->options_n * DEVICE_WORDS(m->devices_n), sizeof(*q.sets));
	if (q.sets)
		q.values = take(&b, m->constraints_n * PADDED(m->devices_n * sizeof(*q.values)), 1);
	if (q.values)
		q.amounts = take(&b, (uint64_t)m->options_n * m->capacities_n, sizeof(*q.amounts));
	if (!q.amounts || b.left != 0)
		return "the record of a match has a wrong length";
	for (uint32_t i = 0; i < m->options_n * m->capacities_n; i++)
		if (q.amounts[i].high > SHARE_HIGH_MAX)
			return "an amount of a match is out of bounds";
	*out = q;
	return NULL;
}
