/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/put/outsider_gang.h"

#include "frontend/json/json.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/groups/candidates.h"
#include "frontend/model/groups/gang_record.h"
#include "frontend/model/groups/queues.h"
#include "frontend/model/pods/jobs.h"
#include "frontend/model/pods/namespaces.h"
#include "frontend/model/pods/pods.h"
#include "frontend/model/put/group_objects.h"
#include "frontend/model/put/outsider_impl.h"
#include "frontend/model/put/pod_state.h"
#include "frontend/model/shapes/held.h"
#include "frontend/model/shapes/pod_shape.h"
#include "frontend/model/shapes/shapes.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdlib.h>

#define GROUPS_MOST 8u

struct outside {
	struct model *m;
	struct decode_error *error;
	struct outsider_gang *out;
	struct text *objects;
	size_t objects_n, objects_room;
	uint32_t *pods; /* their slots */
	uint32_t pods_n;
	size_t pods_bytes;            /* of their records */
	uint32_t groups[GROUPS_MOST]; /* gangs of which objects were put */
	uint32_t groups_n;
	uint32_t shapes[QUESTION_GANG_SHAPES]; /* slots, by the number in the records */
	uint32_t shapes_n;
};

#define TOO_LARGE "the gang is too large for a question to muster-core"

static int fails(struct outside *o, const struct meta *meta, const char *field, const char *text)
{
	decode_error_set(o->error, meta, field, "%s", text);
	return -EINVAL;
}

static int objects_read(struct outside *o, const char *json, size_t bytes)
{
	static const struct meta none = { 0 };
	struct json j;

	json_begin(&j, json, bytes, &o->m->arena);
	if (json_array(&j))
		while (json_item(&j)) {
			o->objects =
				must_reach(o->objects, &o->objects_room, o->objects_n, 64, sizeof(*o->objects));
			if (json_raw(&j, &o->objects[o->objects_n]))
				o->objects_n++;
		}
	return json_end(&j) ? 0 : fails(o, &none, "", j.error);
}

/* The dialect of the group; -1 and an error: it is no group, or one that can't be asked about. */
static int dialect_of(struct outside *o, struct meta *meta, const char *name, int *resource)
{
	struct model *m = o->m;
	char *version =
		arena_printf(&m->arena, "%.*s", (int)meta->api_version.bytes, meta->api_version.at);
	char *kind = arena_printf(&m->arena, "%.*s", (int)meta->kind.bytes, meta->kind.at);
	uint32_t dialect, round;

	*resource = model_resource_index(m, version, kind);
	if (*resource < 0 || m->roles[*resource] != ROLE_GANGS)
		return fails(o, meta, "kind", "is neither that of a pod nor that of a group");
	if (!model_names_valid(meta, o->error))
		return -EINVAL;
	dialect = m->which[*resource];
	if (dialects[dialect]->if_served && !(m->served >> dialect & 1))
		return fails(o, meta, "kind", "the cluster has no such groups");
	if (gang_find(m, dialect, name) != SLOT_NONE || candidate_find(m, dialect, name, &round))
		return fails(o, meta, "metadata.name", "the cluster has a group of this name");
	if (o->groups_n == GROUPS_MOST)
		return fails(o, meta, "", "there are more than 8 groups");
	return (int)dialect;
}

static int group_put(struct outside *o, struct meta *meta, struct text json)
{
	struct model *m = o->m;
	const char *name = arena_printf(&m->arena, "%.*s/%.*s", (int)meta->namespace.bytes,
	                                meta->namespace.at, (int)meta->name.bytes, meta->name.at);
	int resource, dialect = dialect_of(o, meta, name, &resource), rc;
	uint32_t gang, round;

	if (dialect < 0)
		return -EINVAL;
	rc = gang_put(m, resource, json.at, json.bytes, o->error);
	gang = gang_find(m, (uint32_t)dialect, name);
	if (gang != SLOT_NONE)
		o->groups[o->groups_n++] = gang;
	if (candidate_find(m, (uint32_t)dialect, name, &round)) {
		candidate_remove(m, (uint32_t)dialect, name);
		return fails(o, meta, "", "has nothing of a group");
	}
	return rc;
}

/* What the question has no space for is not put: anybody may send pods, and tables of the model
 * stay as long as they once were. */
static int pod_put_outside(struct outside *o, struct text json)
{
	struct model *m = o->m;
	struct pod_object pod;
	int rc = outsider_read(m, json.at, json.bytes, &pod, o->error);

	if (rc < 0)
		return rc;
	m->last_put = SLOT_NONE;
	rc = pod_accept(m, SLOT_NONE, &pod, o->error);
	if (m->last_put == SLOT_NONE)
		return rc;
	o->pods[o->pods_n++] = m->last_put;
	if (m->live)
		pod_set_claims(m, m->last_put, pod_may_claim(&pod) ? json.at : NULL, json.bytes);
	if (m->queues)
		queues_note_pod(m, m->last_put, json.at, json.bytes);
	o->pods_bytes += PADDED(sizeof(struct record) + outsider_pod_bytes(pod_at(m, m->last_put)));
	if (rc == 0 && o->pods_bytes > QUESTION_GANG_RECORDS)
		return fails(o, &pod.meta, "", TOO_LARGE);
	return rc;
}

/* Groups first: a member is refused for what they lack. */
static int objects_put(struct outside *o, bool pods)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < o->objects_n; i++) {
		const struct text json = o->objects[i];
		struct meta meta;

		rc = extract_meta(json.at, json.bytes, &o->m->arena, &meta, o->error);
		if (rc < 0 || text_is(meta.kind, "Pod") != pods)
			continue;
		model_default_namespace(&meta);
		rc = pods ? pod_put_outside(o, json) : group_put(o, &meta, json);
	}
	return rc;
}

/* The gang of all pods; ID_NONE: they are in none. */
static int gang_of_all(struct outside *o, uint32_t *out)
{
	struct model *m = o->m;
	const uint32_t gang = o->pods_n > 0 ? pod_at(m, o->pods[0])->gang : ID_NONE;
	const struct gang_entry *g;
	struct meta meta = { .kind = text_of("Pod") };

	for (uint32_t i = 0; i < o->pods_n; i++) {
		const struct pod_entry *p = pod_at(m, o->pods[i]);

		meta.namespace = text_of(p->texts);
		meta.name = text_of(p->texts + strlen(p->texts) + 1);
		if ((p->gang == ID_NONE) != (gang == ID_NONE))
			return fails(o, &meta, "", "a gang is asked about, or pods without a gang, not both");
		if (p->gang != gang)
			return fails(o, &meta, "", "is in another gang, and one is asked about");
	}
	*out = gang;
	if (o->pods_n == 0)
		return fails(o, &meta, "", "there are no pods");
	if (gang == ID_NONE)
		return o->groups_n > 0 ? fails(o, &meta, "", "is in no gang, and there is a group") : 0;
	g = gang_at(m, gang);
	if (g->members != o->pods_n || g->entry.slot.sent != 0)
		return fails(o, &meta, "", "is in a gang that the cluster has");
	return gang_is_void(m, gang) ? fails(o, &meta, "", "the cluster has no such groups") : 0;
}

/* The body of the next record; NULL and an error: there is no space. */
static void *record_add(struct outside *o, enum record_kind kind, size_t body)
{
	static const struct meta none = { 0 };
	struct live_gang *g = &o->out->gang;
	uint32_t bytes = 0;
	void *at = outsider_record(g->records + g->bytes, QUESTION_GANG_RECORDS - g->bytes, kind, body,
	                           &bytes);

	g->bytes += bytes;
	return at ? at : (fails(o, &none, "", TOO_LARGE), NULL);
}

static bool name_write(struct outside *o, const struct outsider_name *name)
{
	const size_t bytes = strlen(name->text);
	struct event_name *e = record_add(o, EVENT_NAME, sizeof(*e) + bytes);

	if (!e)
		return false;
	*e =
		(struct event_name){ .id = name->id,
		                     .kind = name->id < o->m->limits.resources ? NAME_RESOURCE : NAME_TAINT,
		                     .bytes = (uint32_t)bytes };
	memcpy(e + 1, name->text, bytes);
	return true;
}

static void names_add(struct outside *o, const struct amount *amounts, uint32_t n)
{
	o->out->names_n = outsider_names_add(o->m, o->out->names, o->out->names_n, amounts, n);
}

/* The number of a shape in the records; QUESTION_GANG_SHAPES: there are too many. */
static uint32_t shape_number(const struct outside *o, uint32_t shape)
{
	uint32_t i = 0;

	while (i < o->shapes_n && o->shapes[i] != shape)
		i++;
	return i;
}

static int shapes_find_all(struct outside *o)
{
	for (uint32_t i = 0; i < o->pods_n; i++) {
		const uint32_t shape = pod_at(o->m, o->pods[i])->shape, n = shape_number(o, shape);
		const struct event_shape *e = (const void *)shape_at(o->m, shape)->body;
		struct meta none = { 0 };

		if (n == QUESTION_GANG_SHAPES)
			return fails(o, &none, "", "members of the gang ask for more than 32 shapes");
		if (e->devices != 0) {
			const char *names = pod_at(o->m, o->pods[i])->texts;
			const struct meta pod = { .kind = text_of("Pod"),
				                      .namespace = text_of(names),
				                      .name = text_of(names + strlen(names) + 1) };

			return fails(o, &pod, "spec.containers",
			             "ask for devices, which are known for pods of the cluster alone");
		}
		if (n < o->shapes_n)
			continue;
		o->shapes[o->shapes_n++] = shape;
		names_add(o, (const void *)(e + 1), e->amounts_n);
	}
	return 0;
}

static bool shapes_write(struct outside *o)
{
	for (uint32_t i = 0; i < o->shapes_n; i++) {
		struct event_shape *e = record_add(o, EVENT_SHAPE, shape_at(o->m, o->shapes[i])->bytes);

		if (!e)
			return false;
		outsider_shape_write(o->m, o->shapes[i], i, e);
	}
	return true;
}

static bool gang_write(struct outside *o, uint32_t gang, const struct gang_form *form)
{
	struct event_gang *e = record_add(o, EVENT_GANG, gang_record_bytes(o->m, gang, form));

	if (!e)
		return false;
	gang_record_write(o->m, gang, form, (char *)e);
	e->gang = 0;
	e->generation = 1;
	return true;
}

static bool pod_write(struct outside *o, uint32_t number)
{
	struct model *m = o->m;
	const uint32_t pod = o->pods[number];
	const struct pod_entry *p = pod_at(m, pod);
	const size_t namespace = strlen(p->texts), name = strlen(p->texts + namespace + 1);
	const uint32_t run_s = jobs_run_s(m, pod, p->run_s);
	struct event_pod *e = record_add(o, EVENT_POD, outsider_pod_bytes(p));

	if (!e)
		return false;
	*e = (struct event_pod){ .pod = number,
		                     .generation = 1,
		                     .flags = pod_flags_of(m, p) & (POD_OURS | POD_GATED | POD_LASTS),
		                     .shape = shape_number(o, p->shape),
		                     .gang = p->gang == ID_NONE ? ID_NONE : 0,
		                     .node = ID_NONE,
		                     .priority = p->priority,
		                     .name_bytes = (uint32_t)(namespace + 1 + name),
		                     .labels_n = p->labels_n,
		                     .namespace = namespace_at(m, p->namespace)->name,
		                     .role = p->role,
		                     .queue = queues_of_pod(m, pod),
		                     .run_s = run_s,
		                     .expected_s = gang_expected_s(m, pod, run_s),
		                     .stated_s = gang_stated_s(m, pod) };
	pod_tail_write(p, namespace, e->name_bytes, (char *)(e + 1));
	return true;
}

static void numbers_hold(struct outside *o, const struct gang_form *form)
{
	const struct group_object *object = form->object;
	struct group_parts parts;
	struct model *m = o->m;

	held_begin(m);
	for (uint32_t i = 0; i < o->pods_n; i++) {
		const struct pod_entry *p = pod_at(m, o->pods[i]);

		outsider_hold(m, p);
		if (p->role != ID_NONE)
			held_add(m, NUMBER_VALUE, p->role);
	}
	for (uint32_t i = 0; i < form->levels_n; i++)
		held_add(m, NUMBER_KEY, form->levels[i].topology);
	if (!object)
		return;
	parts = group_parts_of(object->body);
	for (uint32_t i = 0; i < group_head(object)->levels_n; i++)
		held_add(m, NUMBER_KEY, parts.levels[i].topology);
	for (uint32_t i = 0; i < group_head(object)->roles_n; i++)
		held_add(m, NUMBER_VALUE, parts.roles[i].role);
}

static const char *refusal_of(struct outside *o, const struct gang_form *form)
{
	for (uint32_t i = 0; i < o->pods_n; i++) {
		const struct pod_entry *p = pod_at(o->m, o->pods[i]);
		const char *why = outsider_refusal(o->m, p);

		if (why)
			return arena_printf(&o->m->arena, "pod %s: %s", p->texts + strlen(p->texts) + 1, why);
	}
	return form->refusal ? arena_printf(&o->m->arena, "%s", form->refusal) : NULL;
}

static int records_write(struct outside *o, uint32_t gang)
{
	struct outsider_gang *out = o->out;
	const struct pod_entry *first = pod_at(o->m, o->pods[0]);
	struct gang_form form = { 0 };
	bool fits = true;

	if (gang != ID_NONE) {
		gang_form(o->m, gang, &form);
		out->name = arena_printf(&o->m->arena, "%s", gang_at(o->m, gang)->name);
	} else {
		out->lone = o->pods_n;
		out->name = arena_printf(&o->m->arena, "%s/%s", first->texts,
		                         first->texts + strlen(first->texts) + 1);
	}
	out->dialect = form.dialect;
	out->refusal = refusal_of(o, &form);
	if (out->refusal)
		return 0;
	if (shapes_find_all(o) < 0)
		return -EINVAL;
	if (form.object)
		names_add(o, group_parts_of(form.object->body).amounts, group_head(form.object)->amounts_n);
	for (uint32_t i = 0; fits && i < out->names_n; i++)
		fits = name_write(o, &out->names[i]);
	fits = fits && shapes_write(o) && (gang == ID_NONE || gang_write(o, gang, &form));
	for (uint32_t i = 0; fits && i < o->pods_n; i++)
		fits = pod_write(o, i);
	if (!fits)
		return -EINVAL;
	numbers_hold(o, &form);
	return 0;
}

static void forget_all(struct outside *o)
{
	while (o->pods_n > 0)
		pod_forget(o->m, o->pods[--o->pods_n]);
	while (o->groups_n > 0) {
		const uint32_t gang = o->groups[--o->groups_n];

		if (gang_at(o->m, gang)->entry.slot.live)
			gang_forget_objects(o->m, gang);
	}
	free(o->pods);
	free(o->objects);
}

int model_outsider_gang(struct model *m, const char *json, size_t bytes, struct outsider_gang *out,
                        struct decode_error *error)
{
	static const struct meta none = { 0 };
	const struct outsider_before before = outsider_begin(m);
	struct outside o = { .m = m, .error = error, .out = out };
	uint32_t gang;
	int rc = objects_read(&o, json, bytes);

	m->outside_gang = true;
	memset(out, 0, offsetof(struct outsider_gang, gang.records));
	out->refusal = out->name = NULL;
	out->names_n = out->lone = 0;
	out->gang.version = QUESTION_VERSION;
	o.pods = must_array(o.objects_n + 1, sizeof(*o.pods));
	if (rc == 0)
		rc = outsider_count(m, &none, error);
	if (rc == 0)
		rc = objects_put(&o, false);
	if (rc == 0)
		rc = objects_put(&o, true);
	if (rc == 0)
		rc = gang_of_all(&o, &gang);
	if (rc == 0)
		rc = records_write(&o, gang);
	forget_all(&o);
	m->outside_gang = false;
	outsider_end(m, &before);
	return rc;
}
