/* SPDX-License-Identifier: Apache-2.0 */
/* Pods come at a steady rate, half of them as members of gangs, and live like this:
 *
 *   waits ──Binding──► bound ──0.3 to 2 s──► runs ──life──► ended ──1 to 5 s──► deleted
 *
 * A node that leaves takes its pods with it, and a gang that lost a member is deleted as a whole,
 * as a job that failed.  Judged as it happens, in a step for each change: a pod is bound once, to a
 * node that is there and has room for it; a gang's first member is bound when all of them exist,
 * and the others within 30 s. */
#include "tests/hour/hour.h"

#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_NS (10 * HOUR_MS)
#define WHOLE_NS (30 * HOUR_S) /* for the other members of a gang */
#define LATE_NS (5 * HOUR_S)   /* a Binding to a node that left was on its way */
#define NAMESPACES 50u
#define ZONES 8u
#define APPS 500u /* each has an image, a shape, and one of four a zone */
#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team-%u/podgroups"
#define FILL_PERCENT 60u

/* milli of cpu, MiB, GPUs, pods; the last one is that of GPUs. */
static const struct amounts shapes[] = {
	{ { 250, 1024, 0, 1 } },  { { 500, 1024, 0, 1 } },   { { 1000, 2048, 0, 1 } },
	{ { 1000, 8192, 0, 1 } }, { { 2000, 4096, 0, 1 } },  { { 3000, 6144, 0, 1 } },
	{ { 4000, 8192, 0, 1 } }, { { 8000, 16384, 0, 1 } }, { { 4000, 16384, 1, 1 } },
};
#define SHAPES_CPU (sizeof(shapes) / sizeof(shapes[0]) - 1)
#define SHAPE_GPU SHAPES_CPU
#define MEAN_MILLI 2469u

enum list { ON_NODE, OF_GANG, LISTS };
enum pod_state { POD_NONE, POD_WAITS, POD_BOUND, POD_RUNS, POD_ENDED };

struct pod {
	uint32_t serial; /* changes when the slot gets another pod */
	uint32_t gang, node;
	uint16_t app;
	uint8_t shape, state;
	struct {
		uint32_t next, before;
	} in[LISTS];
	uint64_t created_ns;
	uint32_t run_ms;
};

struct gang {
	uint32_t serial;
	uint32_t size, made, bound; /* members */
	uint32_t first;             /* member that is there */
	uint32_t run_ms;
	uint16_t app;
	uint64_t created_ns; /* the last member */
};

struct slots {
	uint32_t *free; /* a stack of those that were used */
	size_t free_n, free_room;
	uint32_t used;
};

struct load {
	struct hour *hour;
	struct pod *pods;
	struct gang *gangs;
	size_t pods_room, gangs_room;
	struct slots pod_slots, gang_slots;
	uint32_t *on_node; /* the first pod of a node */
	uint64_t *left_ns; /* when a node left */
	uint32_t nodes_made, nodes_most;
	uint32_t making; /* the gang that gets members */
	uint64_t owed;   /* pods, in 1,000 millionths */
	uint32_t gpu_apps;
	bool stopped;
	struct load_figures figures;
};

static uint32_t slot_take(struct slots *s)
{
	return s->free_n > 0 ? s->free[--s->free_n] : s->used++;
}

static void slot_give(struct slots *s, uint32_t slot)
{
	if (s->free_n == s->free_room) {
		s->free_room = s->free_room > 0 ? 2 * s->free_room : 256;
		s->free = must_grow(s->free, s->free_room * sizeof(*s->free));
	}
	s->free[s->free_n++] = slot;
}

static uint32_t *list_first(struct load *l, enum list list, const struct pod *p)
{
	return list == ON_NODE ? &l->on_node[p->node] : &l->gangs[p->gang].first;
}

static void list_add(struct load *l, enum list list, uint32_t pod)
{
	uint32_t *first = list_first(l, list, &l->pods[pod]);

	l->pods[pod].in[list].next = *first;
	l->pods[pod].in[list].before = HOUR_NONE;
	if (*first != HOUR_NONE)
		l->pods[*first].in[list].before = pod;
	*first = pod;
}

static void list_remove(struct load *l, enum list list, uint32_t pod)
{
	const uint32_t next = l->pods[pod].in[list].next, before = l->pods[pod].in[list].before;

	if (next != HOUR_NONE)
		l->pods[next].in[list].before = before;
	if (before != HOUR_NONE)
		l->pods[before].in[list].next = next;
	else
		*list_first(l, list, &l->pods[pod]) = next;
}

/* Of a gang or a lone pod. */
static uint32_t namespace_of(uint32_t serial)
{
	return serial % NAMESPACES;
}

static uint32_t pod_namespace(const struct load *l, uint32_t pod)
{
	const struct pod *p = &l->pods[pod];

	return namespace_of(p->gang != HOUR_NONE ? l->gangs[p->gang].serial : p->serial);
}

/* GPUs are for the first apps: half of all GPUs are taken, and 60 of 1,000 apps have them at most.
 */
static uint32_t app_shape(const struct load *l, uint32_t app)
{
	return app < l->gpu_apps ? (uint32_t)SHAPE_GPU : app % (uint32_t)SHAPES_CPU;
}

static uint32_t any_app(struct load *l)
{
	return (uint32_t)hour_random(l->hour, APPS);
}

/* Half as long as the mean to half as long again. */
static uint32_t any_run_ms(struct load *l)
{
	const uint32_t mean_ms = l->hour->settings.life_s * 1000;

	return mean_ms / 2 + (uint32_t)hour_random(l->hour, mean_ms + 1);
}

static void pod_post(struct load *l, uint32_t pod)
{
	static const char toleration[] =
		"\"tolerations\":[{\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\"}],";
	const struct pod *p = &l->pods[pod];
	const struct amounts *wants = &shapes[p->shape];
	const bool gpu = wants->of[ROOM_GPU] > 0;
	const uint32_t app = p->app, space = pod_namespace(l, pod);
	char target[80], group[80] = "", zone[80] = "";

	snprintf(target, sizeof(target), "/api/v1/namespaces/team-%u/pods", space);
	if (p->gang != HOUR_NONE)
		snprintf(group, sizeof(group), ",\"scheduling.x-k8s.io/pod-group\":\"g%u-%u\"", p->gang,
		         l->gangs[p->gang].serial);
	else if (app % 4 == 0 && !gpu)
		snprintf(zone, sizeof(zone), "\"nodeSelector\":{\"topology.kubernetes.io/zone\":\"z%u\"},",
		         app / 4 % ZONES);
	if (hour_request(
			l->hour, "POST", target,
			"{\"metadata\":{\"name\":\"p%u-%u\",\"labels\":{\"app.kubernetes.io/name\":\"app-%u\","
			"\"pod-template-hash\":\"7c9d8f6b5d\"%s}},\"spec\":{\"schedulerName\":\"muster\",%s%s"
			"\"containers\":[{\"name\":\"main\",\"image\":\"registry.example/app-%u:1.27.3\","
			"\"resources\":{\"requests\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\"}%s}}]}}",
			pod, p->serial, app, group, zone, gpu ? toleration : "", app, (int)wants->of[ROOM_CPU],
			(int)wants->of[ROOM_MEMORY],
			gpu ? ",\"limits\":{\"nvidia.com/gpu\":\"1\"}" : "") != 201)
		hour_fail(l->hour, "pod %u-%u was not created", pod, p->serial);
}

static void pod_make(struct load *l, uint32_t gang)
{
	const uint32_t pod = slot_take(&l->pod_slots);
	struct pod *p;

	l->pods = must_reach(l->pods, &l->pods_room, pod, 4096, sizeof(*l->pods));
	p = &l->pods[pod];
	p->serial++;
	p->gang = gang;
	p->node = HOUR_NONE;
	p->state = POD_WAITS;
	p->created_ns = l->hour->now_ns;
	p->app = (uint16_t)(gang != HOUR_NONE ? l->gangs[gang].app : any_app(l));
	p->shape = (uint8_t)app_shape(l, p->app);
	p->run_ms = gang != HOUR_NONE ? l->gangs[gang].run_ms : any_run_ms(l);
	if (gang != HOUR_NONE) {
		list_add(l, OF_GANG, pod);
		l->gangs[gang].created_ns = l->hour->now_ns;
	}
	l->figures.created++;
	l->figures.waiting++;
	pod_post(l, pod);
}

/* Sizes 2, 4, 8 ... are equally likely. */
static void gang_make(struct load *l)
{
	const uint32_t gang = slot_take(&l->gang_slots), most = l->hour->settings.gang;
	uint32_t sizes = 0;
	char target[120];
	struct gang *g;

	while (UINT32_C(4) << sizes <= most)
		sizes++;
	l->gangs = must_reach(l->gangs, &l->gangs_room, gang, 256, sizeof(*l->gangs));
	g = &l->gangs[gang];
	*g = (struct gang){
		.serial = g->serial + 1,
		.size = UINT32_C(2) << hour_random(l->hour, sizes + 1),
		.first = HOUR_NONE,
		.run_ms = any_run_ms(l),
		.app = (uint16_t)any_app(l),
	};
	l->making = gang;
	l->figures.gangs++;
	snprintf(target, sizeof(target), GROUPS, namespace_of(g->serial));
	if (hour_request(l->hour, "POST", target,
	                 "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\","
	                 "\"metadata\":{\"name\":\"g%u-%u\"},\"spec\":{\"minMember\":%u}}",
	                 gang, g->serial, g->size) != 201)
		hour_fail(l->hour, "group %u-%u was not created", gang, g->serial);
}

static void gang_delete(struct load *l, uint32_t gang)
{
	struct gang *g = &l->gangs[gang];
	char target[120];
	const int at = snprintf(target, sizeof(target), GROUPS, namespace_of(g->serial));

	snprintf(target + at, sizeof(target) - (size_t)at, "/g%u-%u", gang, g->serial);
	hour_request(l->hour, "DELETE", target, "%s", "");
	g->serial++; /* its timer is void */
	if (l->making == gang)
		l->making = HOUR_NONE;
	slot_give(&l->gang_slots, gang);
}

/* From the API server, and from all that counts it. */
static void pod_delete(struct load *l, uint32_t pod)
{
	struct pod *p = &l->pods[pod];
	char target[120];

	snprintf(target, sizeof(target), "/api/v1/namespaces/team-%u/pods/p%u-%u",
	         pod_namespace(l, pod), pod, p->serial);
	if (hour_request(l->hour, "DELETE", target, "{\"gracePeriodSeconds\":0}") != 200)
		hour_fail(l->hour, "pod %u-%u was not deleted", pod, p->serial);
	l->figures.waiting -= p->state == POD_WAITS;
	l->figures.lost += p->state != POD_ENDED;
	if (p->state == POD_BOUND || p->state == POD_RUNS)
		room_give(l->hour->room, p->node, shapes[p->shape]);
	if (p->node != HOUR_NONE)
		list_remove(l, ON_NODE, pod);
	if (p->gang != HOUR_NONE)
		list_remove(l, OF_GANG, pod);
	p->state = POD_NONE;
	p->serial++; /* its timer is void */
	slot_give(&l->pod_slots, pod);
}

static void gang_lost(struct load *l, uint32_t gang)
{
	l->figures.gangs_lost++;
	while (l->gangs[gang].first != HOUR_NONE)
		pod_delete(l, l->gangs[gang].first);
	gang_delete(l, gang);
}

/* Its node is gone.  A job that had ended does not fail. */
static void pod_lost(struct load *l, uint32_t pod)
{
	const struct pod *p = &l->pods[pod];

	if (p->gang != HOUR_NONE && p->state != POD_ENDED)
		gang_lost(l, p->gang);
	else
		pod_delete(l, pod);
}

static void pods_make(struct load *l)
{
	l->owed += (uint64_t)l->hour->settings.rate * (MAKE_NS / HOUR_MS);
	for (; l->owed >= 1000 && !l->hour->failed; l->owed -= 1000) {
		struct gang *g;

		if (hour_random(l->hour, 2) == 0) {
			pod_make(l, HOUR_NONE);
			continue;
		}
		if (l->making == HOUR_NONE)
			gang_make(l);
		pod_make(l, l->making);
		g = &l->gangs[l->making];
		if (++g->made == g->size)
			l->making = HOUR_NONE;
	}
}

/* What the kubelet says of a pod. */
static void pod_status(struct load *l, uint32_t pod, const char *phase, const char *ready)
{
	char target[120];

	snprintf(target, sizeof(target), "/api/v1/namespaces/team-%u/pods/p%u-%u/status",
	         pod_namespace(l, pod), pod, l->pods[pod].serial);
	if (hour_request(
			l->hour, "PATCH", target,
			"{\"status\":{\"phase\":\"%s\",\"hostIP\":\"10.0.0.1\",\"podIP\":\"10.%u.%u.%u\","
			"\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Initialized\","
			"\"status\":\"True\"},{\"type\":\"ContainersReady\",\"status\":\"%s\"},{\"type\":\"Ready\","
			"\"status\":\"%s\"}]}}",
			phase, pod >> 16 & 255, pod >> 8 & 255, pod & 255, ready, ready) != 200)
		hour_fail(l->hour, "pod %u's status was not written", pod);
}

static void pod_after(struct load *l, uint32_t pod, uint64_t delay_ns)
{
	hour_after(l->hour, delay_ns, TIMER_POD, pod, l->pods[pod].serial);
}

static void pod_next(struct load *l, uint32_t pod)
{
	struct pod *p = &l->pods[pod];
	const uint32_t gang = p->gang;

	if (p->state == POD_BOUND) {
		p->state = POD_RUNS;
		pod_status(l, pod, "Running", "True");
		pod_after(l, pod, p->run_ms * HOUR_MS + hour_random(l->hour, HOUR_S));
	} else if (p->state == POD_RUNS) {
		p->state = POD_ENDED;
		l->figures.ended++;
		room_give(l->hour->room, p->node, shapes[p->shape]);
		pod_status(l, pod, "Succeeded", "False");
		pod_after(l, pod, HOUR_S + hour_random(l->hour, 4 * HOUR_S));
	} else {
		pod_delete(l, pod);
		if (gang != HOUR_NONE && l->gangs[gang].first == HOUR_NONE)
			gang_delete(l, gang);
	}
}

static void gang_bound(struct load *l, uint32_t gang)
{
	struct gang *g = &l->gangs[gang];

	if (g->made < g->size)
		hour_fail(l->hour, "a member of gang %u is bound, %u of %u exist", gang, g->made, g->size);
	if (g->bound++ == 0)
		hour_after(l->hour, WHOLE_NS, TIMER_GANG, gang, g->serial);
	if (g->bound == g->size)
		histogram_add(&l->figures.wait_gang, &buckets_fine, l->hour->now_ns - g->created_ns);
}

void load_bound(struct load *l, const char *path, const char *body)
{
	const char *name = strstr(path, "/pods/p"), *target = strstr(body, "\"target\"");
	const uint64_t now_ns = l->hour->now_ns;
	uint32_t pod = HOUR_NONE, serial = 0, node = HOUR_NONE;
	char node_name[16] = "";
	struct pod *p;

	if (name != NULL && target != NULL && sscanf(name, "/pods/p%u-%u", &pod, &serial) == 2 &&
	    (target = strstr(target, "\"name\":\"")) != NULL &&
	    sscanf(target, "\"name\":\"%15[^\"]", node_name) == 1)
		node = room_node(l->hour->room, node_name);
	if (node >= l->nodes_made || pod >= l->pod_slots.used || l->pods[pod].serial != serial ||
	    l->pods[pod].state != POD_WAITS) {
		hour_fail(l->hour, "a Binding of nothing that waits, or to no node: %s %s", path, body);
		return;
	}
	p = &l->pods[pod];
	p->node = node;
	p->state = POD_BOUND;
	list_add(l, ON_NODE, pod);
	l->figures.bound++;
	l->figures.waiting--;
	if (!room_take(l->hour->room, node, shapes[p->shape]))
		hour_fail(l->hour, "node %u is overfilled by pod %u", node, pod);
	if (!room_has(l->hour->room, node)) {
		l->figures.late++;
		if (now_ns - l->left_ns[node] > LATE_NS)
			hour_fail(l->hour, "pod %u is bound to node %u, which left long ago", pod, node);
		pod_lost(l, pod);
		return;
	}
	if (p->gang != HOUR_NONE)
		gang_bound(l, p->gang);
	else
		histogram_add(&l->figures.wait_lone, &buckets_fine, now_ns - p->created_ns);
	pod_after(l, pod, 300 * HOUR_MS + hour_random(l->hour, 1700 * HOUR_MS));
}

/* Of four types of nodes the third is twice as large; of eight the last has GPUs. */
static struct amounts node_size(const struct load *l, uint32_t node)
{
	const struct hour_settings *s = &l->hour->settings;
	const uint64_t alive = (uint64_t)s->rate * s->life_s;
	const uint64_t cpu = alive * MEAN_MILLI / s->nodes * 100 / FILL_PERCENT / 1000;
	const int64_t base = cpu > 16 ? (int64_t)cpu : 16, times = node % 4 == 2 ? 2 : 1;
	const int64_t pods = (int64_t)(2 * alive / s->nodes);

	return (struct amounts){ { base * times * 1000, base * times * 4096, node % 8 == 7 ? 8 : 0,
		                       (pods > 110 ? pods : 110) * times } };
}

static void node_join(struct load *l)
{
	static const char taints[] = "\"taints\":[{\"key\":\"nvidia.com/gpu\",\"value\":\"present\","
								 "\"effect\":\"NoSchedule\"}],";
	const uint32_t node = l->nodes_made++;
	const struct amounts size = node_size(l, node);
	const bool gpu = size.of[ROOM_GPU] > 0;
	char name[16], amounts[160];

	room_name(node, name);
	snprintf(amounts, sizeof(amounts), "{\"cpu\":\"%dm\",\"memory\":\"%dMi\",\"pods\":\"%d\"%s}",
	         (int)size.of[ROOM_CPU], (int)size.of[ROOM_MEMORY], (int)size.of[ROOM_PODS],
	         gpu ? ",\"nvidia.com/gpu\":\"8\"" : "");
	if (hour_request(
			l->hour, "POST", "/api/v1/nodes",
			"{\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/arch\":\"amd64\","
			"\"kubernetes.io/os\":\"linux\",\"kubernetes.io/hostname\":\"%s\","
			"\"node.kubernetes.io/instance-type\":\"m%u\",\"topology.kubernetes.io/region\":\"r1\","
			"\"topology.kubernetes.io/zone\":\"z%u\"}},\"spec\":{%s\"providerID\":\"cloud:///%s\"},"
			"\"status\":{\"capacity\":%s,\"allocatable\":%s,\"conditions\":[{\"type\":\"Ready\","
			"\"status\":\"True\"}]}}",
			name, name, node % 8, node / 8 % ZONES, gpu ? taints : "", name, amounts,
			amounts) != 201)
		hour_fail(l->hour, "node %s was not created", name);
	l->on_node[node] = HOUR_NONE;
	room_join(l->hour->room, node, size);
}

static void node_leave(struct load *l)
{
	uint32_t node = (uint32_t)hour_random(l->hour, l->nodes_made);
	char name[16], target[64];

	while (!room_has(l->hour->room, node))
		node = (node + 1) % l->nodes_made;
	room_name(node, name);
	snprintf(target, sizeof(target), "/api/v1/nodes/%s", name);
	if (hour_request(l->hour, "DELETE", target, "%s", "") != 200)
		hour_fail(l->hour, "node %s was not deleted", name);
	room_leave(l->hour->room, node);
	l->left_ns[node] = l->hour->now_ns;
	while (l->on_node[node] != HOUR_NONE)
		pod_lost(l, l->on_node[node]);
	l->figures.leaves++;
}

static void churn_after(struct load *l, enum timer_kind kind)
{
	const uint32_t churn = l->hour->settings.churn;

	if (churn > 0)
		hour_after(l->hour, 1 + hour_random(l->hour, 120 * HOUR_S / churn), kind, 0, 0);
}

static void gang_check(struct load *l, const struct timer *t)
{
	const struct gang *g = &l->gangs[t->index];

	if (g->serial == t->serial && g->bound < g->size)
		hour_fail(l->hour, "gang %u is torn: %u of %u members are bound", t->index, g->bound,
		          g->size);
}

void load_timer(struct load *l, const struct timer *t)
{
	if (t->kind == TIMER_POD && l->pods[t->index].serial == t->serial) {
		pod_next(l, t->index);
	} else if (t->kind == TIMER_GANG) {
		gang_check(l, t);
	} else if (t->kind == TIMER_MAKE && !l->stopped) {
		pods_make(l);
		hour_after(l->hour, MAKE_NS, TIMER_MAKE, 0, 0);
	} else if (t->kind == TIMER_JOIN && !l->stopped && l->nodes_made < l->nodes_most) {
		node_join(l);
		l->figures.joins++;
		churn_after(l, TIMER_JOIN);
	} else if (t->kind == TIMER_LEAVE && !l->stopped) {
		node_leave(l);
		churn_after(l, TIMER_LEAVE);
	}
}

void load_start(struct load *l)
{
	hour_after(l->hour, MAKE_NS, TIMER_MAKE, 0, 0);
	churn_after(l, TIMER_JOIN);
	churn_after(l, TIMER_LEAVE);
}

void load_stop(struct load *l)
{
	l->stopped = true;
	if (l->making != HOUR_NONE)
		gang_lost(l, l->making); /* it will never be complete */
}

const struct load_figures *load_figures(const struct load *l)
{
	return &l->figures;
}

struct load *load_new(struct hour *h)
{
	const struct hour_settings *s = &h->settings;
	const uint64_t gpu_apps = (uint64_t)s->nodes * APPS / 2 / ((uint64_t)s->rate * s->life_s + 1);
	struct load *l = must_alloc(sizeof(*l));

	l->hour = h;
	l->making = HOUR_NONE;
	l->gpu_apps = gpu_apps < APPS * 6 / 100 ? (uint32_t)gpu_apps : APPS * 6 / 100;
	l->nodes_most = s->nodes + s->churn * (s->seconds / 60 + 1) * 3 / 2;
	l->on_node = must_array(l->nodes_most, sizeof(*l->on_node));
	l->left_ns = must_array(l->nodes_most, sizeof(*l->left_ns));
	h->room = room_new(l->nodes_most);
	for (uint32_t i = 0; i < NAMESPACES; i++)
		hour_request(h, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"team-%u\"}}", i);
	while (l->nodes_made < s->nodes && !h->failed)
		node_join(l);
	return l;
}

void load_free(struct load *l)
{
	free(l->pods);
	free(l->gangs);
	free(l->pod_slots.free);
	free(l->gang_slots.free);
	free(l->on_node);
	free(l->left_ns);
	free(l);
}
