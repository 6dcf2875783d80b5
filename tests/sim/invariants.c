/* SPDX-License-Identifier: Apache-2.0 */
/* Checks every revision of the API server's history once, and keeps what the next check needs.
 *
 * Overcommitment: a Binding must fit together with every pod that muster placed, whoever sent it
 * and whether it is alive.  What others did is excused, and counted:
 *
 *   others  pods that another scheduler bound, of which the core had no record when it decided
 *   nodes   a node that shrank or was deleted since: it is as large as the core knew it then.  No
 *           Binding can have the size of a node as a precondition
 *
 * at_rest.c excuses torn gangs by the same two; a person who takes members away is one of the
 * others.  It has one excuse beside them, which is muster's own:
 *
 *   deaths  a process died between the evictions of a gang that goes whole.  Each is a request of
 *           its own, and the next core sends none that its predecessor planned, since a pod would
 *           go that no plan needs any more (decision 071): the rest runs on below its quorum
 */
#include "tests/apisim/requests.h"
#include "tests/sim/claims.h"
#include "tests/sim/invariants_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sum sum_of(const struct as_amounts *a)
{
	return (struct sum){ as_amounts_get(a, "cpu"), as_amounts_get(a, "memory"),
		                 as_amounts_get(a, "pods") };
}

static void sum_add(struct sum *to, const struct sum *more)
{
	to->cpu += more->cpu;
	to->memory += more->memory;
	to->pods += more->pods;
}

static int64_t less(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct sum sum_least(struct sum a, struct sum b)
{
	return (struct sum){ less(a.cpu, b.cpu), less(a.memory, b.memory), less(a.pods, b.pods) };
}

static struct sum sum_most(struct sum a, struct sum b)
{
	return (struct sum){ -less(-a.cpu, -b.cpu), -less(-a.memory, -b.memory),
		                 -less(-a.pods, -b.pods) };
}

static bool sum_fits(struct sum used, struct sum room)
{
	return used.cpu <= room.cpu && used.memory <= room.memory && used.pods <= room.pods;
}

const char *json_text(const struct as_json *o, const char *name)
{
	const char *t = as_json_string(o, name);

	return t != NULL ? t : "";
}

static void put(char *to, const char *text)
{
	snprintf(to, NAME_BYTES, "%s", text);
}

struct member *member_find(struct invariants *b, const char *uid)
{
	for (size_t i = b->members_n; i-- > 0;)
		if (strcmp(b->members[i].uid, uid) == 0)
			return &b->members[i];
	return NULL;
}

static void uid_number(const char *uid, uint64_t out[2])
{
	int digits = 0;

	out[0] = out[1] = 0;
	for (; *uid != '\0'; uid++) {
		if (*uid == '-')
			continue;
		out[digits / 16] =
			out[digits / 16] << 4 | (uint64_t)(*uid <= '9' ? *uid - '0' : *uid - 'a' + 10);
		digits++;
	}
}

static struct place *place_of(struct invariants *b, const char *name)
{
	for (size_t i = 0; i < b->places_n; i++)
		if (strcmp(b->places[i].name, name) == 0)
			return &b->places[i];
	if (b->places_n == sizeof(b->places) / sizeof(b->places[0]))
		as_die("the simulator has too many nodes");
	put(b->places[b->places_n].name, name);
	return &b->places[b->places_n++];
}

static struct gang_history *gang_of(struct invariants *b, const char *name)
{
	for (size_t i = 0; i < b->gangs_n; i++)
		if (strcmp(b->gangs[i].name, name) == 0)
			return &b->gangs[i];
	if (b->gangs_n == sizeof(b->gangs) / sizeof(b->gangs[0]))
		as_die("the simulator has too many groups");
	put(b->gangs[b->gangs_n].name, name);
	return &b->gangs[b->gangs_n++];
}

bool gang_has_begun(struct invariants *b, const char *name)
{
	return name[0] != '\0' && gang_of(b, name)->sent;
}

/* m no longer counts: too few members are left, or it was among those planned, and the rest may not
 * fit. */
static void gang_lost(struct invariants *b, const struct member *m)
{
	struct gang_history *g;
	int64_t n = 0;

	if (m->group[0] == '\0')
		return;
	g = gang_of(b, m->group);
	for (size_t i = 0; i < b->members_n; i++)
		n += b->members[i].counts && strcmp(b->members[i].group, m->group) == 0;
	if (n < g->quorum || m->decided[0] != '\0')
		g->lost_ns = b->sim->now_ns;
}

void invariants_core_began(struct invariants *b, uint32_t instance)
{
	b->began_ns = b->sim->now_ns;
	for (size_t i = 0; i < b->members_n; i++)
		b->members[i].core_knows[instance] = false;
}

void invariants_core_died(struct invariants *b, uint32_t instance)
{
	invariants_core_began(b, instance);
}

void invariants_core_pod(struct invariants *b, uint32_t instance, const uint64_t uid[2],
                         const char *node)
{
	for (size_t i = b->members_n; i-- > 0;) {
		struct member *m = &b->members[i];

		if (m->number[0] == uid[0] && m->number[1] == uid[1]) {
			m->core_knows[instance] = node != NULL;
			return;
		}
	}
}

void invariants_core_node(struct invariants *b, uint32_t instance, const char *name,
                          const struct amount *amounts, uint32_t n)
{
	struct sum *known = &place_of(b, name)->known[instance];

	*known = (struct sum){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		if (amounts[i].resource == RESOURCE_CPU)
			known->cpu = amounts[i].value;
		else if (amounts[i].resource == RESOURCE_MEMORY)
			known->memory = amounts[i].value;
		else if (amounts[i].resource == RESOURCE_PODS)
			known->pods = amounts[i].value;
	}
}

/* Pods on the node now that muster did not place; `known` of them only. */
static struct sum others_on(const struct invariants *b, const char *node, const struct member *by,
                            bool known)
{
	struct sum sum = { 0 };

	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];

		if (!m->over && m != by && !m->by_muster && strcmp(m->node, node) == 0 &&
		    (m->core_knows[by->instance] || !known))
			sum_add(&sum, &m->wants);
	}
	return sum;
}

bool place_has_room(const struct invariants *b, const struct place *p, const struct member *m)
{
	struct sum sum = m->wants;

	for (size_t i = 0; i < b->members_n; i++)
		if (!b->members[i].over && strcmp(b->members[i].node, p->name) == 0)
			sum_add(&sum, &b->members[i].wants);
	return p->there && !p->cordoned && sum_fits(sum, p->size);
}

/* Another member of its gang has a node, or an earlier plan chose one: its Binding may have landed.
 */
static bool has_begun(const struct invariants *b, const struct member *by)
{
	for (size_t i = 0; by->group[0] != '\0' && i < b->members_n; i++) {
		const struct member *m = &b->members[i];

		if (m != by && !m->over && strcmp(m->group, by->group) == 0 &&
		    (m->node[0] != '\0' || (m->decided[0] != '\0' && m->decided_ns < b->sim->now_ns)))
			return true;
	}
	return false;
}

/* The lease is its own, by the API server; without a lease each instance may write. */
static bool is_holder(const struct invariants *b, uint32_t instance)
{
	return b->sim->script->instances == 1 ||
	       strcmp(b->holder, instance == 0 ? "sim-0" : "sim-1") == 0;
}

void invariants_core_binds(struct invariants *b, uint32_t instance, const char *uid,
                           const char *node)
{
	struct member *m = member_find(b, uid);
	struct place *p = place_of(b, node);
	struct sum sum;

	/* An earlier Binding landed, and the watch is silent; or the machine was paused, and another
	 * instance leads: this one can't land any more. */
	if (m == NULL || (m->by_muster && m->node[0] != '\0') || !is_holder(b, instance))
		return;
	if (m->lost_ns > 0 &&
	    m->group[0] !=
	        '\0') /* it was planned by the state before: the members that are left may not fit */
		gang_of(b, m->group)->lost_ns = m->lost_ns;
	if (m->group[0] != '\0' && gang_of(b, m->group)->first_plan_ns == 0)
		gang_of(b, m->group)->first_plan_ns = b->sim->now_ns;
	put(m->decided, node);
	m->chosen |= UINT64_C(1) << (p - b->places);
	m->decided_at = ++b->decisions;
	m->decided_ns = b->sim->now_ns;
	m->begun = has_begun(b, m);
	m->instance = instance;
	m->others = others_on(b, node, m, true);
	m->size = p->known[instance];
	sum = m->others;
	sum_add(&sum, &m->wants);
	if (!sum_fits(sum, m->size))
		sim_fail(b->sim,
		         "overcommit: the core binds %s to %s, which others fill as far as it knows",
		         m->key, node);
}

/* The node is not overfilled by what the core could know: is it, and by whom? */
static void count_excuse(struct invariants *b, const struct member *landed, const struct place *p,
                         const struct sum *known_size)
{
	struct sum all = { 0 };

	for (size_t i = 0; i < b->members_n; i++)
		if (!b->members[i].over && strcmp(b->members[i].node, landed->node) == 0)
			sum_add(&all, &b->members[i].wants);
	if (p->there && sum_fits(all, p->size))
		return;
	b->overfilled[sum_fits(all, *known_size) ? TEAR_NODES : TEAR_OTHERS]++;
}

/* m has just got its node by muster. */
static void judge_room(struct invariants *b, const struct member *landed)
{
	const struct member *last = landed;
	struct place *p = place_of(b, landed->node);
	struct sum sum, room;

	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];

		if (!m->over && m->by_muster && strcmp(m->node, landed->node) == 0 &&
		    m->decided_at > last->decided_at)
			last = m;
	}
	sum = sum_least(last->others, others_on(b, landed->node, last, false));
	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];

		if (!m->over && m->by_muster && strcmp(m->node, landed->node) == 0)
			sum_add(&sum, &m->wants);
	}
	room = p->there ? sum_most(last->size, p->size) : last->size;
	if (!sum_fits(sum, room))
		sim_fail(b->sim,
		         "overcommit: node %s has cpu %lld/%lld memory %lld/%lld pods %lld/%lld after %s",
		         landed->node, (long long)sum.cpu, (long long)room.cpu, (long long)sum.memory,
		         (long long)room.memory, (long long)sum.pods, (long long)room.pods, landed->key);
	else
		count_excuse(b, landed, p, &room);
}

void invariants_writes(struct invariants *b, uint32_t instance, const char *path)
{
	const struct replica *replica = sim_replica(b->sim, instance);
	const uint64_t resumed = replica->code->resumed_ns(replica->instance);

	/* Its clocks stood still: that it lost the lease, only the journal can tell. */
	if (b->sim->script->instances == 1 ||
	    (resumed > 0 && b->sim->now_ns < resumed + b->sim->script->knobs.lease_ns))
		return;
	invariants_check(b);
	if (!is_holder(b, instance))
		sim_fail(b->sim, "leaders: instance %u writes to %s while %s holds the lease", instance,
		         path, b->holder);
}

void invariants_post_begin(struct invariants *b, const char *path, const char *body)
{
	const char *error = NULL;
	const struct as_json *tree, *metadata, *target;
	struct member *m;

	invariants_check(b);
	as_arena_reset(&b->arena);
	tree = as_json_parse(&b->arena, body, strlen(body), &error);
	metadata = as_json_get(tree, "metadata");
	target = as_json_get(tree, "target");
	snprintf(b->posting_uid, sizeof(b->posting_uid), "%s", json_text(metadata, "uid"));
	b->posting = b->posting_uid;
	if (b->posting_uid[0] == '\0' || json_text(metadata, "resourceVersion")[0] == '\0') {
		sim_fail(b->sim, "precondition: %s: a Binding without uid and resourceVersion", path);
		return;
	}
	m = member_find(b, b->posting_uid);
	if (m == NULL)
		return;
	if (m->posted_node[0] != '\0' && strcmp(m->posted_node, json_text(target, "name")) != 0 &&
	    strcmp(m->posted_version, json_text(metadata, "resourceVersion")) == 0 &&
	    strtoull(m->posted_version, NULL, 10) == m->version)
		sim_fail(b->sim,
		         "fence: %s goes to %s while a Binding to %s with the same version may land",
		         m->key, json_text(target, "name"), m->posted_node);
	put(m->posted_node, json_text(target, "name"));
	snprintf(m->posted_version, sizeof(m->posted_version), "%s",
	         json_text(metadata, "resourceVersion"));
}

void invariants_post_end(struct invariants *b)
{
	invariants_check(b);
	b->posting = NULL;
}

static struct member *member_new(struct invariants *b, const struct as_object *o,
                                 const struct as_json *tree)
{
	struct as_amounts wants = as_pod_requests(&b->arena, tree);
	const char *group = as_object_label(o, "scheduling.x-k8s.io/pod-group");
	const char *queue = as_object_label(o, "muster.dev/queue");
	struct member *m;

	if (b->members_n == b->members_room) {
		b->members_room = b->members_room > 0 ? b->members_room * 2 : 64;
		b->members = as_realloc(b->members, b->members_room * sizeof(*b->members));
	}
	m = &b->members[b->members_n++];
	*m = (struct member){ .wants = sum_of(&wants) };
	snprintf(m->uid, sizeof(m->uid), "%s", o->uid);
	uid_number(o->uid, m->number);
	put(m->key, o->key);
	put(m->group, group != NULL ? group : "");
	snprintf(m->queue, sizeof(m->queue), "%s", queue != NULL ? queue : "");
	as_json_integer(as_json_get(tree, "spec"), "activeDeadlineSeconds", &m->stated_s);
	m->ours = strcmp(json_text(as_json_get(tree, "spec"), "schedulerName"), "muster") == 0;
	return m;
}

bool member_helps(const struct member *m)
{
	return m->group[0] != '\0' && m->node[0] != '\0' && !m->by_muster;
}

/* A queue has no more than its limit, whatever its text was meanwhile; but a gang that has begun is
 * completed: one of which another scheduler has bound a member, or a person has replaced one, while
 * another one had its node or a Binding on its way. */
static void judge_queue(struct invariants *b, const struct member *landed)
{
	const int64_t limit = queues_limit(b->sim, landed->queue);
	bool begun = landed->begun, helped;
	int64_t cpu = 0;

	helped = landed->group[0] != '\0' && gang_of(b, landed->group)->lost_ns > 0;
	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];
		const bool other = m != landed && strcmp(m->group, landed->group) == 0;

		helped = helped || (other && member_helps(m));
		begun = begun || (other && m->node[0] != '\0');
		if (!m->over && m->by_muster && strcmp(m->queue, landed->queue) == 0)
			cpu += m->wants.cpu;
	}
	if (cpu > limit && helped && begun)
		b->excuses[EXCUSE_QUEUE]++;
	else if (cpu > limit)
		sim_fail(b->sim, "queue: %s has %lld of %lld milli of cpu after %s", landed->queue,
		         (long long)cpu, (long long)limit, landed->key);
	if (landed->stated_s > queues_max_run_s(b->sim, landed->queue) && !begun)
		sim_fail(b->sim, "queue: %s states %lld s, and %s never allowed more than %lld",
		         landed->key, (long long)landed->stated_s, landed->queue,
		         (long long)queues_max_run_s(b->sim, landed->queue));
}

/* Members of the gang that run and stay; those that succeeded count. */
static int64_t stays_n(const struct invariants *b, const char *group, int64_t *succeeded)
{
	int64_t n = 0;

	*succeeded = 0;
	for (size_t i = 0; i < b->members_n; i++) {
		const struct member *m = &b->members[i];

		if (strcmp(m->group, group) != 0)
			continue;
		n += m->counts && m->node[0] != '\0' && !m->evicted;
		*succeeded += m->succeeded;
	}
	return n;
}

/* A gang goes whole, or keeps its quorum: when none or enough are left it is not cut in half. */
static void cut_ends(struct invariants *b, const char *group)
{
	struct gang_history *g = group[0] != '\0' ? gang_of(b, group) : NULL;
	int64_t succeeded, stays;

	if (g == NULL || g->cut_ns == 0)
		return;
	stays = stays_n(b, group, &succeeded);
	if (stays == 0 || stays + succeeded >= g->quorum)
		g->cut_ns = 0;
}

/* The last pod of that name. */
static struct member *member_of_path(struct invariants *b, const char *path)
{
	const char *namespace = strstr(path, "/namespaces/") + strlen("/namespaces/");
	const char *pod = strstr(path, "/pods/") + strlen("/pods/");
	char key[NAME_BYTES];

	snprintf(key, sizeof(key), "%.*s/%.*s", (int)strcspn(namespace, "/"), namespace,
	         (int)strcspn(pod, "/?"), pod);
	for (size_t i = b->members_n; i-- > 0;)
		if (strcmp(b->members[i].key, key) == 0)
			return &b->members[i];
	return NULL;
}

void invariants_evicted(struct invariants *b, const char *path)
{
	struct member *m;

	invariants_check(b);
	m = member_of_path(b, path);
	if (m == NULL)
		return;
	if (!m->evicted && m->group[0] != '\0' && gang_of(b, m->group)->cut_ns == 0)
		gang_of(b, m->group)->cut_ns = b->sim->now_ns;
	m->evicted = true;
	cut_ends(b, m->group);
}

void invariants_sent(struct invariants *b, const char *path)
{
	const struct member *m = member_of_path(b, path);

	if (m != NULL && m->group[0] != '\0')
		gang_of(b, m->group)->sent = true;
}

static void member_bound(struct invariants *b, struct member *m, const struct as_object *o,
                         const char *node)
{
	m->by_muster = b->posting != NULL && strcmp(b->posting, m->uid) == 0;
	put(m->node, node);
	story_tell(b->sim, "bound   %s to %s%s", m->key, node, m->by_muster ? "" : " by another");
	if (!m->by_muster) {
		place_of(b, node)->others_ns = b->sim->now_ns;
		return;
	}
	b->binds++;
	if (!m->ours)
		sim_fail(b->sim, "stranger: muster bound %s, which is not its own", m->key);
	if (m->decided_at == 0)
		sim_fail(b->sim, "undecided: %s was bound to %s, and no core said so", m->key, node);
	else if (strcmp(m->decided, node) != 0)
		sim_fail(b->sim, "elsewhere: %s was bound to %s, and the core had sent it to %s since",
		         m->key, node, m->decided);
	if (m->group[0] != '\0' && gang_of(b, m->group)->first_bind_ns == 0)
		gang_of(b, m->group)->first_bind_ns = b->sim->now_ns;
	judge_room(b, m);
	claims_judge_bound(b, o, node);
	if (m->queue[0] != '\0')
		judge_queue(b, m);
}

static void look_pod(struct invariants *b, const struct as_event *e)
{
	const struct as_object *o = e->object;
	const struct as_json *tree = as_object_tree(&b->arena, o);
	const char *phase = as_object_field(o, "status.phase"),
			   *node = as_object_field(o, "spec.nodeName");
	const struct as_json *gates = as_json_array(as_json_get(tree, "spec"), "schedulingGates");
	struct member *m = member_find(b, o->uid);
	bool counted, over = e->kind == AS_DELETED || strcmp(phase, "Succeeded") == 0 ||
	                     strcmp(phase, "Failed") == 0;

	judge_conditions(b, o, tree);
	if (m == NULL)
		m = member_new(b, o, tree);
	if (m->node[0] != '\0' && strcmp(m->node, node) != 0)
		sim_fail(b->sim, "twice: %s was bound to %s and is on %s", m->key, m->node, node);
	if (m->node[0] == '\0' && node[0] != '\0')
		member_bound(b, m, o, node);
	m->version = o->version;
	if (!m->over && over)
		story_tell(b->sim, "over    %s: %s %s", m->key, e->kind == AS_DELETED ? "deleted" : phase,
		           json_text(as_json_get(tree, "status"), "reason"));
	m->over = m->over || over;
	m->succeeded = m->succeeded || strcmp(phase, "Succeeded") == 0;
	counted = m->counts;
	m->counts = !m->over && !o->deleting && (gates == NULL || gates->first == NULL);
	if (m->counts)
		m->lost_ns = 0;
	if (counted && !m->counts) {
		m->lost_ns = b->sim->now_ns;
		gang_lost(b, m);
	}
	cut_ends(b, m->group);
}

static void look_node(struct invariants *b, const struct as_event *e)
{
	struct place *p = place_of(b, e->object->name);
	const struct as_json *tree = as_object_tree(&b->arena, e->object);
	struct as_amounts all = as_node_allocatable(&b->arena, tree);
	struct sum size = sum_of(&all);
	bool cordoned = as_json_true(as_json_get(tree, "spec"), "unschedulable");

	if (p->there && (e->kind == AS_DELETED || cordoned || !sum_fits(p->size, size)))
		p->less_ns = b->sim->now_ns;
	p->there = e->kind != AS_DELETED;
	p->cordoned = cordoned;
	p->size = size;
}

void invariants_group_read(struct invariants *b, const char *name)
{
	struct gang_history *g = gang_of(b, name);

	if (g->first_bind_ns == 0)
		g->read_ns = b->sim->now_ns;
}

static void look_group(struct invariants *b, const struct as_event *e)
{
	struct gang_history *g = gang_of(b, e->object->name);
	int64_t quorum = 0;

	as_json_integer(as_json_get(as_object_tree(&b->arena, e->object), "spec"), "minMember",
	                &quorum);
	if (e->kind == AS_DELETED || (g->there ? quorum > g->quorum : g->quorum != 0))
		g->raised_ns = b->sim->now_ns;
	g->edited = g->there ? g->edited || quorum != g->quorum : g->quorum != 0;
	g->there = e->kind != AS_DELETED;
	g->quorum = quorum;
}

static void look_lease(struct invariants *b, const struct as_event *e)
{
	const struct as_json *tree = as_object_tree(&b->arena, e->object);

	b->leases++;
	put(b->holder,
	    e->kind == AS_DELETED ? "" : json_text(as_json_get(tree, "spec"), "holderIdentity"));
}

void invariants_check(struct invariants *b)
{
	const struct as_store *store = b->sim->api->store;

	if (b->seen < as_store_oldest(store))
		b->seen = as_store_oldest(store); /* a compaction passes one version without an event */
	while (b->seen < as_store_version(store)) {
		const struct as_event *e = as_store_event(store, ++b->seen);

		as_arena_reset(&b->arena);
		if (e->object->resource == b->sim->api->pods)
			look_pod(b, e);
		else if (e->object->resource == b->sim->api->nodes)
			look_node(b, e);
		else if (strcmp(e->object->resource->plural, "podgroups") == 0)
			look_group(b, e);
		else if (strcmp(e->object->resource->plural, "events") == 0)
			judge_text(b, e->object, json_text(as_object_tree(&b->arena, e->object), "note"));
		else if (strcmp(e->object->resource->plural, "resourceclaims") == 0)
			claims_judge(b, e);
		else if (strcmp(e->object->resource->plural, "leases") == 0)
			look_lease(b, e);
	}
}

uint64_t invariants_lag(const struct invariants *b)
{
	return b->lag_ns;
}

uint64_t invariants_changes(const struct invariants *b)
{
	return b->seen - b->leases;
}

uint64_t invariants_revisions(const struct invariants *b)
{
	return b->seen;
}

uint64_t invariants_binds(const struct invariants *b)
{
	return b->binds;
}

/* A silent watch is found after 150 s; without faults of network and processes there is none. */
static uint64_t lag_of(const struct script *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->at[i].kind >= ACTION_CORE_DIES && p->at[i].kind != ACTION_QUEUES)
			return 200 * SIM_S;
	return 2 * SIM_S;
}

uint64_t invariants_excused(const struct invariants *b, enum tear tear)
{
	return b->overfilled[tear] + b->torn[tear];
}

struct invariants *invariants_new(struct sim *s)
{
	struct invariants *b = as_alloc(sizeof(*b));

	b->sim = s;
	b->lag_ns = lag_of(s->script);
	return b;
}

void invariants_free(struct invariants *b)
{
	free(b->members);
	as_arena_free(&b->arena);
	free(b);
}
