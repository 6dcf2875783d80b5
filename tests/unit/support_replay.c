/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_replay.h"

#include "core/step/core.h"
#include "core/shm/records.h"
#include "tests/unit/test.h"

static void *replay_reserve(void *context, enum record_kind kind, uint32_t bytes)
{
	struct replay *r = context;
	struct replay_record *q;
	struct record head = { .bytes = (uint32_t)sizeof(head) + bytes, .kind = (uint16_t)kind };

	if (r->room == 0)
		return NULL;
	r->room--;
	cr_assert(bytes % 8 == 0 && head.bytes <= RECORD_BYTES_MAX, "a body of %u bytes", bytes);
	if (r->queue_n == r->queue_room) {
		r->queue_room = r->queue_room ? r->queue_room * 2 : 64;
		r->queue = realloc(r->queue, r->queue_room * sizeof(*q));
		cr_assert(r->queue);
	}
	q = &r->queue[r->queue_n++];
	q->kind = (uint16_t)kind;
	q->bytes = head.bytes;
	q->data = malloc(head.bytes);
	cr_assert(q->data);
	memset(q->data, 0xa5, head.bytes); /* what is not written to is seen */
	memcpy(q->data, &head, sizeof(head));
	return q->data + sizeof(head);
}

void replay_start(struct replay *r, const struct limits *limits)
{
	*r = (struct replay){ .limits = *limits, .sink = { replay_reserve, r } };
	r->names = calloc(limits->names, sizeof(*r->names));
	r->shapes = calloc(limits->shapes, sizeof(*r->shapes));
	r->nodes = calloc(limits->nodes, sizeof(*r->nodes));
	r->gangs = calloc(limits->gangs, sizeof(*r->gangs));
	r->pods = calloc(limits->pods, sizeof(*r->pods));
	cr_assert(r->names && r->shapes && r->nodes && r->gangs && r->pods);
}

static void clear(struct replay_slot *slots, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free(slots[i].body);
		slots[i] = (struct replay_slot){ 0 };
	}
}

static bool drop_command(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	return true;
}

void replay_add_core(struct replay *r)
{
	struct core_config config = { .limits = r->limits, .emit = drop_command };
	const char *what = "";
	uint64_t bytes = core_ledger_bytes(&r->limits, &what);

	cr_assert(bytes > 0, "%s", what);
	r->ledger = aligned_alloc(4096, bytes);
	cr_assert(r->ledger);
	memset(r->ledger, 0, bytes);
	r->core = core_new(&config, r->ledger);
	cr_assert(r->core);
}

static void core_hears(struct replay *r, struct replay_record *q)
{
	struct record *head = (void *)q->data;
	char why[200] = "";

	if (!r->core)
		return;
	head->epoch = r->begins;
	head->sequence = r->records;
	head->time_ns = UINT64_C(1772712908) * 1000000000 + r->records;
	cr_assert_eq(core_step(r->core, head), 0, "the core refuses a record of kind %u", q->kind);
	if (r->records % 16 == 0)
		cr_assert(core_valid(r->core, why, sizeof(why)), "%s", why);
}

void replay_forget(struct replay *r)
{
	clear(r->names, r->limits.names);
	clear(r->shapes, r->limits.shapes);
	clear(r->nodes, r->limits.nodes);
	clear(r->gangs, r->limits.gangs);
	clear(r->pods, r->limits.pods);
	clear(r->namespaces, (uint32_t)r->namespaces_n);
	r->namespaces_n = 0;
}

void replay_free(struct replay *r)
{
	replay_forget(r);
	free(r->names);
	free(r->shapes);
	free(r->nodes);
	free(r->gangs);
	free(r->pods);
	free(r->namespaces);
	free(r->queue);
	if (r->core)
		core_free(r->core);
	free(r->ledger);
}

static void keep(struct replay_slot *s, uint32_t generation, const struct replay_record *q)
{
	static unsigned serial;

	cr_assert(s->generation == 0 || s->generation == generation,
	          "its last user was dropped before");
	free(s->body);
	s->bytes = q->bytes - (uint32_t)sizeof(struct record);
	s->body = malloc(s->bytes);
	cr_assert(s->body);
	memcpy(s->body, q->data + sizeof(struct record), s->bytes);
	s->generation = generation;
	s->serial = ++serial;
}

static void sound(const char *fault, const char *what)
{
	cr_assert_null(fault, "%s: %s", what, fault);
}

static void named(const struct replay *r, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cr_assert(r->names[amounts[i].resource].generation, "resource %u was not named",
		          amounts[i].resource);
}

static void take_name(struct replay *r, const struct replay_record *q)
{
	struct name_record n;

	sound(record_name((const void *)q->data, &r->limits, &n), "name");
	keep(&r->names[n.body->id], 1, q);
}

static void take_shape(struct replay *r, const struct replay_record *q)
{
	struct shape_record s;

	sound(record_shape((const void *)q->data, &r->limits, &s), "shape");
	named(r, s.amounts, s.body->amounts_n);
	cr_assert_eq(r->shapes[s.body->shape].generation, 0, "shape %u is there already",
	             s.body->shape);
	keep(&r->shapes[s.body->shape], 1, q);
}

static void take_node(struct replay *r, const struct replay_record *q)
{
	struct node_record n;

	sound(record_node((const void *)q->data, &r->limits, &n), "node");
	named(r, n.amounts, n.body->amounts_n);
	for (uint32_t i = 0; i < n.body->taints_n; i++)
		cr_assert(r->names[n.taints[i].name].generation, "a taint was not named");
	keep(&r->nodes[n.body->node], n.body->generation, q);
}

static void take_gang(struct replay *r, const struct replay_record *q)
{
	struct gang_record g;

	sound(record_gang((const void *)q->data, &r->limits, &g), "gang");
	named(r, g.amounts, g.body->amounts_n);
	keep(&r->gangs[g.body->gang], g.body->generation, q);
}

static void parts_of(const struct replay *r, shape_id shape, struct shape_record *out)
{
	const struct replay_slot *s = &r->shapes[shape];
	static _Alignas(8) char record[RECORD_BYTES_MAX];
	struct record head = { .bytes = (uint32_t)sizeof(head) + s->bytes, .kind = EVENT_SHAPE };

	memcpy(record, &head, sizeof(head));
	memcpy(record + sizeof(head), s->body, s->bytes);
	sound(record_shape((const void *)record, &r->limits, out), "shape");
}

static void take_pod(struct replay *r, const struct replay_record *q)
{
	struct pod_record p;
	struct shape_record s;

	sound(record_pod((const void *)q->data, &r->limits, &p), "pod");
	cr_assert(r->shapes[p.body->shape].generation, "shape %u was not sent", p.body->shape);
	cr_assert(p.body->gang == ID_NONE || r->gangs[p.body->gang].generation,
	          "the gang was not sent");
	cr_assert(p.body->node == ID_NONE || r->nodes[p.body->node].generation,
	          "the node was not sent");
	parts_of(r, p.body->shape, &s);
	cr_assert(s.body->spreads_n == 0 || s.body->namespace == p.body->namespace,
	          "it spreads in another namespace");
	keep(&r->pods[p.body->pod], p.body->generation, q);
}

static struct replay_slot *namespace_slot(const struct replay *r, uint32_t name)
{
	for (size_t i = 0; i < r->namespaces_n; i++)
		if (((const struct event_namespace *)(const void *)r->namespaces[i].body)->name == name)
			return &r->namespaces[i];
	return NULL;
}

static void take_namespace(struct replay *r, const struct replay_record *q)
{
	struct namespace_record n;
	struct replay_slot *s;

	sound(record_namespace((const void *)q->data, &n), "namespace");
	s = namespace_slot(r, n.body->name);
	if (!s) {
		r->namespaces = realloc(r->namespaces, (r->namespaces_n + 1) * sizeof(*s));
		cr_assert(r->namespaces);
		s = &r->namespaces[r->namespaces_n++];
		*s = (struct replay_slot){ 0 };
	}
	keep(s, 1, q);
}

static void take_namespace_drop(struct replay *r, const struct replay_record *q)
{
	const struct event_drop *d;
	struct replay_slot *s;

	sound(record_drop((const void *)q->data, UINT32_MAX, &d), "drop");
	s = namespace_slot(r, d->id);
	cr_assert(s, "a namespace is dropped that is not there");
	free(s->body);
	*s = r->namespaces[--r->namespaces_n];
}

static void take_drop(struct replay *r, const struct replay_record *q, struct replay_slot *slots,
                      uint32_t limit)
{
	const struct event_drop *d;

	sound(record_drop((const void *)q->data, limit, &d), "drop");
	cr_assert(slots[d->id].generation != 0, "kind %u: %u is not there", q->kind, d->id);
	cr_assert_eq(d->generation, slots == r->shapes ? 0 : slots[d->id].generation);
	free(slots[d->id].body);
	slots[d->id] = (struct replay_slot){ 0 };
	for (uint32_t i = 0; i < r->limits.pods && slots != r->pods; i++) {
		const struct event_pod *p = (const void *)r->pods[i].body;

		if (!p)
			continue;
		cr_assert(slots != r->shapes || p->shape != d->id, "a dropped shape is in use");
		/* A Binding to a node that is gone is the core's to forget. */
		cr_assert(slots != r->nodes || p->node != d->id || (p->flags & POD_BINDING),
		          "a dropped node is in use");
		cr_assert(slots != r->gangs || p->gang != d->id, "a dropped gang is in use");
	}
}

/* Records of which nothing is kept. */
static void take_checked(struct replay *r, const struct replay_record *q)
{
	union {
		const struct event_preemption *preemption;
		const struct event_promised *promised;
		const struct event_queue_terms *terms;
		struct budget_record budget;
		struct queue_record queue;
		struct queue_past_record past;
		struct question_record question;
		struct node_devices_record devices;
	} out;
	const struct record *head = (const void *)q->data;

	switch ((enum record_kind)q->kind) {
	case EVENT_PREEMPTION:
		sound(record_preemption(head, &out.preemption), "preemption");
		break;
	case EVENT_BUDGET:
		sound(record_budget(head, &out.budget), "budget");
		break;
	case EVENT_QUEUE:
		sound(record_queue(head, &r->limits, &out.queue), "queue");
		break;
	case EVENT_QUEUE_TERMS:
		sound(record_queue_terms(head, &out.terms), "terms of queues");
		break;
	case EVENT_QUEUE_PAST:
		sound(record_queue_past(head, &r->limits, &out.past), "history of a queue");
		break;
	case EVENT_QUESTION:
		sound(record_question(head, &out.question), "question");
		break;
	case EVENT_NODE_DEVICES:
		sound(record_node_devices(head, &r->limits, &out.devices), "devices");
		break;
	case EVENT_PROMISED:
		sound(record_promised(head, &r->limits, &out.promised), "promised");
		cr_assert(r->synceds < r->begins, "a promise of before, after SYNCED");
		break;
	default:
		cr_assert_fail("a record of kind %u", q->kind);
	}
}

static void take_facts(struct replay *r, const struct replay_record *q)
{
	const struct event_pod_facts *facts;

	sound(record_pod_facts((const void *)q->data, &r->limits, &facts), "facts");
	cr_assert_eq(r->pods[facts->pod].generation, facts->generation, "facts of no pod");
}

static void take(struct replay *r, const struct replay_record *q)
{
	sound(record_check((const void *)q->data), "record");
	r->records++;
	switch ((enum record_kind)q->kind) {
	case EVENT_BEGIN:
		replay_forget(r);
		r->begins++;
		break;
	case EVENT_SYNCED:
		r->synceds++;
		break;
	case EVENT_NAME:
		take_name(r, q);
		break;
	case EVENT_SHAPE:
		take_shape(r, q);
		break;
	case EVENT_NODE:
		take_node(r, q);
		break;
	case EVENT_GANG:
		take_gang(r, q);
		break;
	case EVENT_POD:
		take_pod(r, q);
		break;
	case EVENT_POD_FACTS:
		take_facts(r, q);
		break;
	case EVENT_NAMESPACE:
		take_namespace(r, q);
		break;
	case EVENT_NAMESPACE_DROP:
		take_namespace_drop(r, q);
		break;
	case EVENT_SHAPE_DROP:
		take_drop(r, q, r->shapes, r->limits.shapes);
		break;
	case EVENT_NODE_DROP:
		take_drop(r, q, r->nodes, r->limits.nodes);
		break;
	case EVENT_GANG_DROP:
		take_drop(r, q, r->gangs, r->limits.gangs);
		break;
	case EVENT_POD_DROP:
		take_drop(r, q, r->pods, r->limits.pods);
		break;
	default:
		take_checked(r, q);
	}
	cr_assert(r->begins > 0, "the first record is BEGIN");
}

bool replay_flush(struct replay *r, struct model *m, size_t room)
{
	bool all;

	r->room = room;
	all = model_flush(m, &r->sink);
	cr_assert(all || r->room == 0, "it stopped with room for more");
	for (size_t i = 0; i < r->queue_n; i++) {
		take(r, &r->queue[i]);
		core_hears(r, &r->queue[i]);
		free(r->queue[i].data);
	}
	r->queue_n = 0;
	return all;
}

const struct amount *replay_node_amounts(const struct event_node *e)
{
	return (const void *)(e + 1);
}

const struct label *replay_labels(const struct event_node *e)
{
	return (const void *)(replay_node_amounts(e) + e->amounts_n);
}

const struct taint *replay_taints(const struct event_node *e)
{
	return (const void *)(replay_labels(e) + e->labels_n);
}

const struct amount *replay_shape_amounts(const struct event_shape *e)
{
	return (const void *)(e + 1);
}

static const struct requirement *replay_requirements(const struct event_shape *e)
{
	return (const void *)(replay_shape_amounts(e) + e->amounts_n);
}

static const uint32_t *replay_values(const struct event_shape *e)
{
	return (const void *)(replay_requirements(e) + e->requirements_n);
}

static const struct toleration *replay_tolerations(const struct event_shape *e)
{
	return (const void *)((const char *)replay_values(e) + PADDED(e->values_n * sizeof(uint32_t)));
}

const struct node_image *replay_images(const struct event_node *e)
{
	return (const void *)(replay_taints(e) + e->taints_n);
}

static const char *node_name(const struct event_node *e)
{
	const char *p = (const void *)(replay_images(e) + e->images_n);

	return p + e->limits_n * sizeof(struct attach_limit) +
	       e->attached_n * sizeof(struct attachment);
}

const struct pod_label *replay_pod_labels(const struct event_pod *e)
{
	return (const void *)(e + 1);
}

const struct amount *replay_gang_amounts(const struct event_gang *e)
{
	return (const void *)(e + 1);
}

const struct gang_role *replay_gang_roles(const struct event_gang *e)
{
	return (const void *)(replay_gang_amounts(e) + e->amounts_n);
}

const struct gang_level *replay_gang_levels(const struct event_gang *e)
{
	return (const void *)(replay_gang_roles(e) + e->roles_n);
}

static bool is_name(const char *at, uint32_t bytes, const char *name)
{
	return strlen(name) == bytes && memcmp(at, name, bytes) == 0;
}

const struct event_node *replay_node(const struct replay *r, const char *name)
{
	for (uint32_t i = 0; i < r->limits.nodes; i++) {
		const struct event_node *e = (const void *)r->nodes[i].body;

		if (e && is_name(node_name(e), e->name_bytes, name))
			return e;
	}
	return NULL;
}

const struct event_gang *replay_gang(const struct replay *r, const char *name)
{
	for (uint32_t i = 0; i < r->limits.gangs; i++) {
		const struct event_gang *e = (const void *)r->gangs[i].body;

		if (e && is_name((const char *)(replay_gang_levels(e) + e->levels_n), e->name_bytes, name))
			return e;
	}
	return NULL;
}

const struct event_pod *replay_pod(const struct replay *r, const char *name)
{
	for (uint32_t i = 0; i < r->limits.pods; i++) {
		const struct event_pod *e = (const void *)r->pods[i].body;

		if (e && is_name((const char *)(replay_pod_labels(e) + e->labels_n), e->name_bytes, name))
			return e;
	}
	return NULL;
}

const struct event_shape *replay_shape(const struct replay *r, const struct event_pod *pod)
{
	return (const void *)r->shapes[pod->shape].body;
}

void replay_parts(const struct replay *r, const struct event_pod *pod, struct shape_record *out)
{
	parts_of(r, pod->shape, out);
}

const struct event_namespace *replay_namespace(const struct replay *r, uint32_t name)
{
	const struct replay_slot *s = namespace_slot(r, name);

	return s ? (const void *)s->body : NULL;
}

size_t replay_count(const struct replay_slot *slots, uint32_t n)
{
	size_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += slots[i].generation != 0;
	return count;
}

int64_t replay_amount(const struct replay *r, const struct amount *amounts, uint32_t n,
                      const char *resource)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct event_name *name = (const void *)r->names[amounts[i].resource].body;

		if (name && is_name((const char *)(name + 1), name->bytes, resource))
			return amounts[i].value;
	}
	return -1;
}

static bool requirement_holds(const struct event_shape *s, const struct requirement *q,
                              const struct event_node *n)
{
	const struct label *found = NULL;
	bool among = false;

	for (uint32_t i = 0; i < n->labels_n; i++)
		if (replay_labels(n)[i].key == q->key)
			found = &replay_labels(n)[i];
	for (uint32_t i = 0; found && i < q->values_n; i++)
		among |= replay_values(s)[q->values_first + i] == found->value;
	switch ((enum require_op)q->op) {
	case REQUIRE_IN:
		return among;
	case REQUIRE_NOT_IN:
		return !among;
	case REQUIRE_EXISTS:
		return found;
	case REQUIRE_NOT_EXISTS:
		return !found;
	case REQUIRE_GT:
		return found && found->number != LABEL_NOT_A_NUMBER && found->number > q->number;
	case REQUIRE_LT:
		return found && found->number != LABEL_NOT_A_NUMBER && found->number < q->number;
	default:
		return false;
	}
}

static bool term_holds(const struct event_shape *s, uint32_t term, const struct event_node *n)
{
	bool any = term == 0;

	for (uint32_t i = 0; i < s->requirements_n; i++) {
		const struct requirement *q = &replay_requirements(s)[i];

		if (q->term != term)
			continue;
		any = true;
		if (!requirement_holds(s, q, n))
			return false;
	}
	return any;
}

static bool tolerated(const struct event_shape *s, const struct taint *taint)
{
	for (uint32_t i = 0; i < s->tolerations_n; i++) {
		const struct toleration *t = &replay_tolerations(s)[i];

		if ((t->effect == EFFECT_ANY || t->effect == taint->effect) &&
		    (t->key == TOLERATE_EVERY_KEY || t->key == taint->key) &&
		    (t->any_value || t->value == taint->value))
			return true;
	}
	return false;
}

bool replay_allows(const struct event_shape *s, const struct event_node *n)
{
	bool any = s->terms_n == 0;

	if (!(n->flags & NODE_PRESENT))
		return false;
	if ((n->flags & NODE_CORDONED) && !(s->flags & SHAPE_TOLERATES_CORDON))
		return false;
	for (uint32_t i = 0; i < n->taints_n; i++)
		if (replay_taints(n)[i].effect != EFFECT_PREFER_NO_SCHEDULE &&
		    !tolerated(s, &replay_taints(n)[i]))
			return false;
	for (uint32_t term = 1; term <= s->terms_n; term++)
		any |= term_holds(s, term, n);
	return any && term_holds(s, 0, n);
}
