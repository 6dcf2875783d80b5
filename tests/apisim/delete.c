/* SPDX-License-Identifier: Apache-2.0 */
/* DELETE, at once or by grace and finalizers. */
#include "tests/apisim/call.h"
#include "tests/apisim/selector.h"

struct options {
	int64_t grace; /* -1: the kind's own */
	const char *uid;
	const char *version;
};

/* What a body of DeleteOptions asks for; its policy, or NULL. */
static const char *take_options(struct as_call *c, const struct as_json *body, struct options *o)
{
	const struct as_json *preconditions = as_json_get(body, "preconditions");

	*o = (struct options){ .grace = -1 };
	o->uid = as_json_string(preconditions, "uid");
	o->version = as_json_string(preconditions, "resourceVersion");
	as_json_integer(body, "gracePeriodSeconds", &o->grace);
	if (as_json_array(body, "dryRun") != NULL)
		c->dry_run = true;
	return as_json_string(body, "propagationPolicy");
}

static int read_options(struct as_call *c, struct options *o)
{
	const char *grace = as_query_get(c, "gracePeriodSeconds"),
			   *policy = as_query_get(c, "propagationPolicy"), *asked;
	struct as_json *body = NULL;
	uint64_t seconds;

	if (c->request->body_bytes > 0) {
		body = as_body(c);
		if (body == NULL)
			return -1;
	}
	asked = take_options(c, body, o);
	policy = asked != NULL ? asked : policy;
	if (grace != NULL) {
		if (!as_parse_version(grace, &seconds))
			return as_refuse_bad(c, "gracePeriodSeconds: \"%s\" is not a number", grace);
		o->grace = (int64_t)seconds;
	}
	if (policy != NULL && policy[0] != '\0' && strcmp(policy, "Background") != 0)
		return as_refuse_bad(
			c, "propagationPolicy %s is not supported: apisim has no garbage collector", policy);
	return 0;
}

static int check_preconditions(struct as_call *c, const struct options *o,
                               const struct as_object *object)
{
	const struct as_resource *r = c->resource;
	const char *kind =
		r->group[0] == '\0' ? r->kind : as_arena_printf(c->arena, "%s.%s", r->kind, r->group);
	uint64_t version = 0;

	if (o->uid != NULL && strcmp(o->uid, object->uid) != 0)
		return as_refuse_conflict(
			c, kind, object->name,
			"the UID in the precondition (%s) does not match the UID in record (%s). The "
			"object might have been deleted and then recreated",
			o->uid, object->uid);
	if (o->version != NULL &&
	    (!as_parse_version(o->version, &version) || version != object->version))
		return as_refuse_conflict(
			c, kind, object->name,
			"the ResourceVersion in the precondition (%s) does not match the "
			"ResourceVersion in record (%llu). The object might have been modified",
			o->version, (unsigned long long)object->version);
	return 0;
}

/* The grace of a pod that is not going yet: none without a node or when it has
 * ended. */
static int64_t pod_grace(const struct as_object *object, const struct as_json *tree, int64_t asked)
{
	const char *phase = as_object_field(object, "status.phase");
	int64_t grace = 30;

	if (as_object_field(object, "spec.nodeName")[0] == '\0' || strcmp(phase, "Failed") == 0 ||
	    strcmp(phase, "Succeeded") == 0)
		return 0;
	as_json_integer(as_json_get(tree, "spec"), "terminationGracePeriodSeconds", &grace);
	grace = asked >= 0 ? asked : grace;
	return grace < 0 ? 1 : grace;
}

static bool has_finalizers(const struct as_json *tree)
{
	const struct as_json *list = as_json_array(as_json_get(tree, "metadata"), "finalizers");

	return list != NULL && list->first != NULL;
}

static void mark(struct as_call *c, struct as_json *tree, int64_t grace)
{
	struct as_json *metadata = as_json_get(tree, "metadata");
	bool marked = as_json_get(metadata, "deletionTimestamp") != NULL;
	int64_t generation;

	as_json_set_string(c->arena, metadata, "deletionTimestamp",
	                   as_time(c->arena, c->now_ns + (uint64_t)grace * UINT64_C(1000000000)));
	as_json_set_integer(c->arena, metadata, "deletionGracePeriodSeconds", grace);
	if (!marked && as_json_integer(metadata, "generation", &generation))
		as_json_set_integer(c->arena, metadata, "generation", generation + 1);
}

/* What a DELETE does to an object. */
enum step { LEAVE, MARK, REMOVE, MARK_AND_REMOVE };

/* As rest.BeforeDelete(): a pod gets a deletionTimestamp before it is removed, and a second DELETE
 * can only shorten the grace period. */
static enum step choose_step(struct as_call *c, const struct options *o,
                             const struct as_object *object, struct as_json *tree)
{
	int64_t old = 0, grace = o->grace;

	if (c->resource != c->api->pods) {
		if (!has_finalizers(tree) && c->resource != c->api->namespaces)
			return REMOVE;
		if (object->deleting)
			return LEAVE;
		mark(c, tree, 0);
		return MARK;
	}
	if (object->deleting) {
		as_json_integer(as_json_get(tree, "metadata"), "deletionGracePeriodSeconds", &old);
		if (old == 0)
			return has_finalizers(tree) ? LEAVE : REMOVE;
		if (grace < 0 || grace >= old)
			return LEAVE;
	} else {
		grace = pod_grace(object, tree, grace);
	}
	mark(c, tree, grace);
	return grace > 0 || has_finalizers(tree) ? MARK : MARK_AND_REMOVE;
}

static struct as_json *details_of(struct as_call *c, const struct as_object *o)
{
	struct as_json *details = as_json_new(c->arena, AS_OBJECT);

	as_json_set_string(c->arena, details, "name", o->name);
	if (c->resource->group[0] != '\0')
		as_json_set_string(c->arena, details, "group", c->resource->group);
	as_json_set_string(c->arena, details, "kind", c->resource->plural);
	as_json_set_string(c->arena, details, "uid", o->uid);
	return details;
}

/* *tree: the object as the answer shows it; *gone: it is there no more. */
static int delete_one(struct as_call *c, const struct options *o, struct as_object *object,
                      struct as_json **tree, bool *gone)
{
	enum step step;

	if (check_preconditions(c, o, object) < 0)
		return -1;
	*tree = as_object_tree(c->arena, object);
	step = choose_step(c, o, object, *tree);
	*gone = step == REMOVE || step == MARK_AND_REMOVE;
	if (c->dry_run || step == LEAVE)
		return 0;
	if (step == MARK && c->resource == c->api->namespaces)
		as_json_set_string(c->arena, as_json_member(c->arena, *tree, "status", AS_OBJECT), "phase",
		                   "Terminating");
	if (step != REMOVE)
		as_store_write(c->api->store, c->resource, c->arena, *tree);
	if (*gone)
		as_commit_removal(c->api, c->resource, c->arena, as_json_copy(c->arena, *tree));
	return 0;
}

int as_delete(struct as_call *c)
{
	struct as_object *object =
		as_index_find(&c->resource->index, as_object_key(c->arena, c->namespace, c->name));
	struct as_json *tree = NULL;
	struct options o;
	bool gone = false;
	int rc;

	if (read_options(c, &o) < 0)
		return -1;
	if (object == NULL)
		return as_refuse_not_found(c, c->resource, c->name);
	as_object_ref(object);
	rc = delete_one(c, &o, object, &tree, &gone);
	if (rc == 0)
		rc = !gone || c->resource->returns_object
		         ? as_answer_tree(c, 200, tree)
		         : as_answer_success(c, 200, details_of(c, object));
	as_object_unref(object);
	return rc;
}

/* As addConditionAndDeletePod(): the condition first, by a write of its own. */
static void set_disrupted(struct as_call *c, const struct as_object *pod)
{
	struct as_json *tree = as_object_tree(c->arena, pod), *e;
	struct as_json *status = as_json_member(c->arena, tree, "status", AS_OBJECT);
	struct as_json *conditions = as_json_member(c->arena, status, "conditions", AS_ARRAY);

	for (e = conditions->first; e != NULL; e = e->next) {
		const char *type = as_json_string(e, "type");

		if (type != NULL && strcmp(type, "DisruptionTarget") == 0)
			return;
	}
	e = as_json_new(c->arena, AS_OBJECT);
	as_json_set_string(c->arena, e, "type", "DisruptionTarget");
	as_json_set_string(c->arena, e, "status", "True");
	as_json_set_string(c->arena, e, "reason", "EvictionByEvictionAPI");
	as_json_set_string(c->arena, e, "message", "Eviction API: evicting");
	as_json_set(c->arena, e, "lastProbeTime", as_json_new(c->arena, AS_NULL));
	as_json_set_string(c->arena, e, "lastTransitionTime", as_time(c->arena, c->now_ns));
	as_json_append(conditions, e);
	as_commit(c->api, c->resource, c->arena, tree, c->now_ns);
}

int as_delete_evicted(struct as_call *c, const struct as_json *asked)
{
	const char *key = as_object_key(c->arena, c->namespace, c->name);
	struct as_object *pod = as_index_find(&c->resource->index, key);
	struct as_json *tree = NULL;
	struct options o;
	bool gone = false;
	int rc;

	take_options(c, asked, &o);
	if (check_preconditions(c, &o, pod) < 0)
		return -1;
	if (!c->dry_run && !pod->deleting) {
		set_disrupted(c, pod);
		pod = as_index_find(&c->resource->index, key);
		o.version = NULL; /* the write that has just been made */
	}
	as_object_ref(pod);
	rc = delete_one(c, &o, pod, &tree, &gone);
	as_object_unref(pod);
	return rc;
}

/* The collection is listed as GET would, then its objects are deleted. */
int as_delete_collection(struct as_call *c)
{
	struct as_object *o;
	struct as_json *tree;
	bool gone;
	struct as_cursor cursor;
	struct as_selector selector;
	struct options options;
	struct as_json *keys = as_json_new(c->arena, AS_ARRAY);
	const char *error = NULL;

	if (read_options(c, &options) < 0)
		return -1;
	if (!as_selector_parse(c->arena, c->resource, as_query_get(c, "labelSelector"),
	                       as_query_get(c, "fieldSelector"), &selector, &error))
		return as_refuse_bad(c, "%s", error);
	if (as_list(c) < 0)
		return -1;
	as_cursor_open(c->api->store, c->resource, c->arena, c->namespace, NULL,
	               as_store_version(c->api->store), &cursor);
	while ((o = as_cursor_next(&cursor)) != NULL)
		if (as_selector_matches(&selector, o))
			as_json_append(keys, as_json_new_string(c->arena, o->key));
	for (const struct as_json *k = keys->first; k != NULL; k = k->next) {
		o = as_index_find(&c->resource->index, k->text);
		if (o != NULL && delete_one(c, &options, o, &tree, &gone) < 0)
			return -1;
	}
	return 0;
}
