/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/kubelet.h"

#include "tests/apisim/accounts.h"
#include "tests/apisim/call.h"
#include "tests/apisim/timers.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define RUN_SECONDS "muster.io/run-seconds"

struct as_kubelets {
	struct as_api *api;
	struct as_kubelet_config config;
	struct as_accounts accounts;
	struct as_timers timers;
	struct as_arena arena; /* of the action at hand */
	uint64_t seen;
};

enum action { ACTION_START, ACTION_FINISH, ACTION_REMOVE };

static struct as_json *condition(struct as_kubelets *k, const char *type, const char *status,
                                 uint64_t now_ns)
{
	struct as_arena *a = &k->arena;
	struct as_json *e = as_json_new(a, AS_OBJECT);

	as_json_set_string(a, e, "type", type);
	as_json_set_string(a, e, "status", status);
	as_json_set(a, e, "lastProbeTime", as_json_new(a, AS_NULL));
	as_json_set_string(a, e, "lastTransitionTime", as_time(a, now_ns));
	return e;
}

/* Replace the condition of this type, or add it. */
static void set_condition(struct as_kubelets *k, struct as_json *status, const char *type,
                          const char *value, const char *reason, uint64_t now_ns)
{
	struct as_json *list = as_json_member(&k->arena, status, "conditions", AS_ARRAY);
	struct as_json *e;

	if (list == NULL)
		return;
	for (e = list->first; e != NULL; e = e->next) {
		const char *old = as_json_string(e, "type");

		if (old != NULL && strcmp(old, type) == 0) {
			as_json_remove_element(list, e);
			break;
		}
	}
	e = condition(k, type, value, now_ns);
	if (reason != NULL)
		as_json_set_string(&k->arena, e, "reason", reason);
	as_json_append(list, e);
}

static void set_container_statuses(struct as_kubelets *k, struct as_json *tree, bool running,
                                   uint64_t now_ns)
{
	struct as_arena *a = &k->arena;
	const struct as_json *containers = as_json_array(as_json_get(tree, "spec"), "containers");
	struct as_json *list = as_json_new(a, AS_ARRAY);

	for (const struct as_json *e = containers != NULL ? containers->first : NULL; e != NULL;
	     e = e->next) {
		const char *name = as_json_string(e, "name"), *image = as_json_string(e, "image");
		struct as_json *s = as_json_new(a, AS_OBJECT), *state, *inner;

		as_json_set_string(a, s, "name", name != NULL ? name : "");
		state = as_json_member(a, s, "state", AS_OBJECT);
		inner = as_json_member(a, state, running ? "running" : "terminated", AS_OBJECT);
		if (running) {
			as_json_set_string(a, inner, "startedAt", as_time(a, now_ns));
		} else {
			as_json_set_integer(a, inner, "exitCode", 0);
			as_json_set_string(a, inner, "reason", "Completed");
			as_json_set_string(a, inner, "finishedAt", as_time(a, now_ns));
		}
		as_json_set(a, s, "ready", as_json_new(a, running ? AS_TRUE : AS_FALSE));
		as_json_set_integer(a, s, "restartCount", 0);
		as_json_set_string(a, s, "image", image != NULL ? image : "");
		as_json_set_string(a, s, "imageID", "");
		as_json_append(list, s);
	}
	as_json_set(a, as_json_get(tree, "status"), "containerStatuses", list);
}

static char *pod_ip(struct as_kubelets *k, const struct as_object *pod)
{
	unsigned n = 0;

	for (const char *c = pod->uid; *c != '\0'; c++)
		n = n * 31 + (unsigned char)*c;
	return as_arena_printf(&k->arena, "10.%u.%u.%u", n >> 16 & 255, n >> 8 & 255, n % 254 + 1);
}

static void start(struct as_kubelets *k, const struct as_object *pod, uint64_t now_ns)
{
	struct as_json *tree = as_object_tree(&k->arena, pod);
	struct as_json *status = as_json_member(&k->arena, tree, "status", AS_OBJECT);
	static const char *const types[] = { "PodReadyToStartContainers", "Initialized", "Ready",
		                                 "ContainersReady" };

	as_json_set_string(&k->arena, status, "phase", "Running");
	for (size_t i = 0; i < 4; i++)
		set_condition(k, status, types[i], "True", NULL, now_ns);
	as_json_set_string(&k->arena, status, "hostIP", "10.0.0.1");
	as_json_set_string(&k->arena, status, "podIP", pod_ip(k, pod));
	as_json_set_string(&k->arena, status, "startTime", as_time(&k->arena, now_ns));
	set_container_statuses(k, tree, true, now_ns);
	as_commit(k->api, k->api->pods, &k->arena, tree, now_ns);
	k->api->stats.kubelet_started++;
}

static void finish(struct as_kubelets *k, const struct as_object *pod, uint64_t now_ns)
{
	struct as_json *tree = as_object_tree(&k->arena, pod);
	struct as_json *status = as_json_member(&k->arena, tree, "status", AS_OBJECT);

	as_json_set_string(&k->arena, status, "phase", "Succeeded");
	set_condition(k, status, "Ready", "False", "PodCompleted", now_ns);
	set_condition(k, status, "ContainersReady", "False", "PodCompleted", now_ns);
	set_container_statuses(k, tree, false, now_ns);
	as_commit(k->api, k->api->pods, &k->arena, tree, now_ns);
	k->api->stats.kubelet_finished++;
}

static void reject(struct as_kubelets *k, struct as_pod_account *account,
                   const struct as_object *pod, const struct as_amount *over, uint64_t now_ns)
{
	struct as_json *tree = as_object_tree(&k->arena, pod);
	struct as_json *status = as_json_member(&k->arena, tree, "status", AS_OBJECT);
	int64_t used = as_amounts_get(&account->node->used, over->name) - over->value;

	as_json_set_string(&k->arena, status, "phase", "Failed");
	as_json_set_string(&k->arena, status, "reason",
	                   as_arena_printf(&k->arena, "OutOf%s", over->name));
	as_json_set_string(
		&k->arena, status, "message",
		as_arena_printf(
			&k->arena,
			"Pod was rejected: Node didn't have enough resource: %s, requested: %lld, used: %lld, "
			"capacity: %lld",
			over->name, (long long)over->value, (long long)used,
			(long long)as_amounts_get(&account->node->allocatable, over->name)));
	as_json_set_string(&k->arena, status, "startTime", as_time(&k->arena, now_ns));
	/* Its capacity is free before the next pod is admitted. */
	as_accounts_release(account);
	account->stage = AS_REJECTED;
	as_commit(k->api, k->api->pods, &k->arena, tree, now_ns);
	k->api->stats.kubelet_rejected++;
}

static bool is_over(const struct as_object *pod)
{
	const char *phase = as_object_field(pod, "status.phase");

	return strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
}

static uint64_t run_ns(struct as_kubelets *k, const struct as_object *pod)
{
	const char *text;
	double seconds;
	char *end;

	/* Only pods with the annotation are worth a parse. */
	if (memmem(pod->body, pod->body_bytes, RUN_SECONDS, sizeof(RUN_SECONDS) - 1) == NULL)
		return 0;
	text = as_json_string(
		as_json_find(as_object_tree(&k->arena, pod), "metadata", "annotations", NULL), RUN_SECONDS);
	if (text == NULL)
		return 0;
	seconds = strtod(text, &end);
	if (end == text || *end != '\0' || !(seconds >= 0 && seconds < 1e9))
		return 0;
	return (uint64_t)(seconds / k->config.time_scale * 1e9) + 1;
}

static void plan_removal(struct as_kubelets *k, struct as_pod_account *account,
                         const struct as_object *pod, uint64_t now_ns)
{
	const struct as_json *metadata = as_json_get(as_object_tree(&k->arena, pod), "metadata");
	uint64_t wait = k->config.grace_ms * NS_PER_MS;
	int64_t grace = 0;

	as_json_integer(metadata, "deletionGracePeriodSeconds", &grace);
	if (grace >= 0 && (uint64_t)grace < wait / NS_PER_S)
		wait = (uint64_t)grace * NS_PER_S;
	account->stage = AS_LEAVING;
	as_timers_add(&k->timers, now_ns + wait, pod->key, pod->uid, ACTION_REMOVE);
}

static void admit(struct as_kubelets *k, struct as_pod_account *account,
                  const struct as_object *pod, uint64_t now_ns)
{
	const struct as_amount *over = as_accounts_over(account);

	if (over != NULL) {
		reject(k, account, pod, over, now_ns);
		return;
	}
	account->stage = AS_STARTING;
	as_timers_add(&k->timers, now_ns + k->config.start_ms * NS_PER_MS, pod->key, pod->uid,
	              ACTION_START);
}

/* Queues what the kubelet has to do in the pod's state, once. */
static void drive(struct as_kubelets *k, struct as_pod_account *account,
                  const struct as_object *pod, uint64_t now_ns)
{
	const char *phase = as_object_field(pod, "status.phase");
	uint64_t wait;

	if (!k->config.enabled || !account->node->present)
		return;
	if (pod->deleting) {
		if (account->stage != AS_LEAVING)
			plan_removal(k, account, pod, now_ns);
	} else if (account->stage == AS_SEEN && strcmp(phase, "Pending") == 0) {
		admit(k, account, pod, now_ns);
	} else if (account->stage != AS_RUNNING && strcmp(phase, "Running") == 0) {
		account->stage = AS_RUNNING;
		wait = run_ns(k, pod);
		if (wait > 0)
			as_timers_add(&k->timers, now_ns + wait, pod->key, pod->uid, ACTION_FINISH);
	}
}

static void count_pod(struct as_kubelets *k, const struct as_pod_account *account)
{
	if (!account->node->present)
		k->api->stats.unknown_node++;
	else if (as_accounts_over(account) != NULL)
		k->api->stats.overcommitted++;
}

/* `current` is the newest version of the pod, which may be later than `pod`. */
static void see_pod(struct as_kubelets *k, const struct as_object *pod, uint64_t now_ns)
{
	struct as_object *current = as_index_find(&k->api->pods->index, pod->key);
	struct as_pod_account *account;

	if (as_object_field(pod, "spec.nodeName")[0] == '\0')
		return;
	account = as_accounts_find_pod(&k->accounts, pod);
	if (account == NULL) {
		if (is_over(pod))
			return;
		account = as_accounts_add_pod(&k->accounts, &k->arena, pod);
		count_pod(k, account);
	}
	if (is_over(pod))
		as_accounts_release(account);
	if (current != NULL && strcmp(current->uid, pod->uid) == 0)
		drive(k, account, current, now_ns);
}

static bool is_ready_set(const struct as_json *tree)
{
	const struct as_json *list = as_json_array(as_json_get(tree, "status"), "conditions");

	for (const struct as_json *e = list != NULL ? list->first : NULL; e != NULL; e = e->next) {
		const char *type = as_json_string(e, "type");

		if (type != NULL && strcmp(type, "Ready") == 0)
			return true;
	}
	return false;
}

static void make_ready(struct as_kubelets *k, const struct as_object *node, uint64_t now_ns)
{
	struct as_json *tree = as_object_tree(&k->arena, node);

	if (is_ready_set(tree))
		return;
	set_condition(k, as_json_member(&k->arena, tree, "status", AS_OBJECT), "Ready", "True",
	              "KubeletReady", now_ns);
	as_commit(k->api, k->api->nodes, &k->arena, tree, now_ns);
}

static void see_node(struct as_kubelets *k, const struct as_object *node, uint64_t now_ns)
{
	struct as_object *current = as_index_find(&k->api->nodes->index, node->key);
	struct as_node_account *account;

	as_accounts_set_node(&k->accounts, &k->arena, node);
	if (!k->config.enabled || current == NULL)
		return;
	make_ready(k, current, now_ns);
	/* Pods that were bound before their node came. */
	account = as_map_get(&k->accounts.nodes, node->name);
	for (struct as_pod_account *p = account->pods, *next; p != NULL; p = next) {
		struct as_object *pod = as_index_find(&k->api->pods->index, p->key);

		next = p->next;
		if (p->stage == AS_SEEN && pod != NULL && strcmp(pod->uid, p->uid) == 0)
			drive(k, p, pod, now_ns);
	}
}

/* The namespace controller: deletes the objects of a namespace that is being deleted. */
static void empty_namespace(struct as_kubelets *k, const struct as_object *namespace)
{
	struct as_resources *rs = &k->api->resources;
	char *prefix = as_arena_printf(&k->arena, "%s/", namespace->name);
	struct as_object *last;

	for (size_t i = 0; i < rs->n; i++) {
		struct as_index_entry *e;

		if (!rs->at[i]->namespaced)
			continue;
		while ((e = as_index_seek(&rs->at[i]->index, prefix)) != NULL &&
		       strncmp(e->object->key, prefix, strlen(prefix)) == 0) {
			struct as_object *o = as_object_ref(e->object);

			as_commit_removal(k->api, rs->at[i], &k->arena, as_object_tree(&k->arena, o));
			as_object_unref(o);
		}
	}
	last = as_index_find(&k->api->namespaces->index, namespace->name);
	if (last != NULL)
		as_commit_removal(k->api, k->api->namespaces, &k->arena, as_object_tree(&k->arena, last));
}

static void see_event(struct as_kubelets *k, const struct as_event *e, uint64_t now_ns)
{
	const struct as_resource *resource = e->object->resource;
	bool deleted = e->kind == AS_DELETED;
	struct as_object *o =
		as_object_ref(e->object); /* our writes may overwrite its entry of the ring */

	if (resource == k->api->pods && deleted)
		as_accounts_drop_pod(&k->accounts, o->key);
	else if (resource == k->api->pods)
		see_pod(k, o, now_ns);
	else if (resource == k->api->nodes && deleted)
		as_accounts_drop_node(&k->accounts, o->name);
	else if (resource == k->api->nodes)
		see_node(k, o, now_ns);
	else if (resource == k->api->namespaces && !deleted && o->deleting && k->config.enabled)
		empty_namespace(k, o);
	as_object_unref(o);
}

struct lost {
	struct as_kubelets *k;
	struct as_json *keys;
};

static void find_lost_pod(void *context, const char *key, void *value)
{
	const struct as_pod_account *account = value;
	const struct lost *lost = context;
	struct as_object *o = as_index_find(&lost->k->api->pods->index, key);

	if (o == NULL || strcmp(o->uid, account->uid) != 0)
		as_json_append(lost->keys, as_json_new_string(&lost->k->arena, key));
}

static void find_lost_node(void *context, const char *key, void *value)
{
	const struct lost *lost = context;
	struct as_node_account *account = value;

	account->present = as_index_find(&lost->k->api->nodes->index, key) != NULL;
}

/* Events were missed: compares with the objects, as a list after a 410 does.  Counters are kept. */
static void look_again(struct as_kubelets *k, uint64_t now_ns)
{
	struct as_resource *both[] = { k->api->nodes, k->api->pods };
	struct lost lost = { .k = k };

	as_arena_reset(&k->arena);
	lost.keys = as_json_new(&k->arena, AS_ARRAY);
	as_map_each(&k->accounts.nodes, find_lost_node, &lost);
	as_map_each(&k->accounts.pods, find_lost_pod, &lost);
	for (const struct as_json *e = lost.keys->first; e != NULL; e = e->next)
		as_accounts_drop_pod(&k->accounts, e->text);
	k->seen = as_store_version(k->api->store);
	for (size_t i = 0; i < 2; i++) {
		const char *at = "";
		struct as_index_entry *e;

		/* By keys: what the kubelets write replaces entries' objects. */
		while ((e = as_index_seek(&both[i]->index, at)) != NULL) {
			struct as_object *o = as_object_ref(e->object);

			as_arena_reset(&k->arena);
			if (i == 0)
				see_node(k, o, now_ns);
			else
				see_pod(k, o, now_ns);
			at = as_arena_printf(&k->arena, "%s\x01", o->key);
			as_object_unref(o);
		}
	}
}

static void catch_up(struct as_kubelets *k, uint64_t now_ns)
{
	if (k->seen < as_store_oldest(k->api->store))
		look_again(k, now_ns);
	while (k->seen < as_store_version(k->api->store)) {
		if (k->seen < as_store_oldest(k->api->store)) {
			look_again(k, now_ns);
			continue;
		}
		as_arena_reset(&k->arena);
		see_event(k, as_store_event(k->api->store, ++k->seen), now_ns);
	}
}

static void act(struct as_kubelets *k, const struct as_timer *t, uint64_t now_ns)
{
	struct as_object *pod = as_index_find(&k->api->pods->index, t->key);
	const char *phase;

	if (pod == NULL || strcmp(pod->uid, t->uid) != 0)
		return;
	as_object_ref(pod);
	as_arena_reset(&k->arena);
	phase = as_object_field(pod, "status.phase");
	if (t->action == ACTION_START && strcmp(phase, "Pending") == 0 && !pod->deleting) {
		start(k, pod, now_ns);
	} else if (t->action == ACTION_FINISH && strcmp(phase, "Running") == 0) {
		finish(k, pod, now_ns);
	} else if (t->action == ACTION_REMOVE && pod->deleting) {
		struct as_json *tree = as_object_tree(&k->arena, pod);
		struct as_json *metadata = as_json_get(tree, "metadata");

		/* As the kubelet's DELETE without grace: marked, then gone; finalizers hold. */
		as_json_set_integer(&k->arena, metadata, "deletionGracePeriodSeconds", 0);
		as_store_write(k->api->store, k->api->pods, &k->arena, tree);
		as_commit(k->api, k->api->pods, &k->arena, tree, now_ns);
		k->api->stats.kubelet_removed++;
	}
	as_object_unref(pod);
}

void as_kubelets_run(struct as_kubelets *k, uint64_t now_ns)
{
	struct as_timer t;

	catch_up(k, now_ns);
	while (as_timers_take(&k->timers, now_ns, &t)) {
		act(k, &t, now_ns);
		as_timer_free(&t);
		catch_up(k, now_ns);
	}
}

uint64_t as_kubelets_due_ns(const struct as_kubelets *k)
{
	return as_timers_due_ns(&k->timers);
}

struct as_kubelets *as_kubelets_new(struct as_api *api, const struct as_kubelet_config *config)
{
	struct as_kubelets *k = as_alloc(sizeof(*k));

	k->api = api;
	k->config = *config;
	if (!(k->config.time_scale > 0))
		k->config.time_scale = 1;
	return k;
}

void as_kubelets_free(struct as_kubelets *k)
{
	if (k == NULL)
		return;
	as_accounts_clear(&k->accounts);
	as_timers_clear(&k->timers);
	free(k->timers.at);
	as_arena_free(&k->arena);
	free(k);
}
