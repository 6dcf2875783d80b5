/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements of a stage. */
#include "bench/stage_impl.h"

#include "bench/bench.h"
#include "ctl/term/ctl.h"

#define PATIENCE_S 900u
#define EVENTS_PATIENCE_S 30u /* without one; a sweep of muster is as long */
#define QUIET_S 3u            /* without a binding: then a condition is read */
#define CLAIMS_QUIET_S 300u   /* the same of a gang with claims: all are written before a binding */
#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1"
#define NATIVE_GROUPS "/apis/scheduling.k8s.io/v1alpha2"

void space_make_binding(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;

	snprintf(path, 512, "/api/v1/namespaces/%s/pods/pod-%05u/binding", p->namespace, i);
	*body = ctl_print(
		"{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"pod-%05u\"},\"target\":{"
		"\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"%s\"}}",
		i, p->stage->nodes[i % p->stage->nodes_n]);
}

/* Until they are bound. Ends when a condition reports that there is no capacity, since the bench
 * would wait forever. */
static bool wait_bound(const struct space *p, uint32_t pods)
{
	struct client *c = &p->stage->client;
	char why[1024] = "";
	uint32_t quiet = 0;

	while (!client_wait(c, pods, QUIET_S)) {
		quiet += QUIET_S;
		/* Times of single pods would be those of the new watch. */
		if (!apiclient_watching(c->api) && !c->pace && quiet < PATIENCE_S) {
			fprintf(stderr, "muster-bench: the watch of pods ended and is opened again\n");
			client_watch_again(c, p->namespace);
			continue;
		}
		if (apiclient_watching(c->api) && quiet < PATIENCE_S &&
		    ((p->claims && quiet < CLAIMS_QUIET_S) || !space_has_no_room(p, why, sizeof(why))))
			continue;
		fprintf(stderr, "muster-bench: %u of %u pods are bound and no other for %u s%s%s\n",
		        c->seen.bound, pods, quiet, why[0] ? "; the condition of one: " : "", why);
		return false;
	}
	return true;
}

/* Until each binding has its Event; `start_ns`: of the rate. */
static bool wait_events(const struct space *p, uint32_t pods, uint64_t start_ns)
{
	struct client *c = &p->stage->client;
	const uint64_t bound_ns = c->seen.last_ns;
	uint64_t last_ns;

	client_watch_events(c, p->namespace);
	if (!client_wait(c, pods, EVENTS_PATIENCE_S)) {
		fprintf(stderr, "muster-bench: %u of %u bindings have an Event and no other for %u s\n",
		        c->seen.bound, pods, EVENTS_PATIENCE_S);
		return false;
	}
	last_ns = c->seen.last_ns > bound_ns ? c->seen.last_ns : bound_ns;
	p->stage->events_per_s = (double)pods * 1e9 / (double)(last_ns - start_ns);
	p->stage->events_after_s = (double)(last_ns - bound_ns) / 1e9;
	return true;
}

static bool make_pods(struct space *p, uint32_t pods)
{
	return client_row(&p->stage->client, "POST", pods, space_make_pod, p);
}

/* From the first binding to the last one. */
static double rate(const struct client_seen *seen)
{
	double seconds = (double)(seen->last_ns - seen->first_ns) / 1e9;

	return seconds > 0 ? (double)(seen->bound - 1) / seconds : 0;
}

bool stage_binds(struct stage *s, uint32_t pods, double *per_s)
{
	struct space p;
	uint64_t start;
	bool ok;

	if (!space_open(&p, s, "nobody"))
		return false;
	ok = make_pods(&p, pods);
	start = bench_now_ns();
	ok = ok && client_row(&s->client, "POST", pods, space_make_binding, &p);
	*per_s = (double)pods * 1e9 / (double)(bench_now_ns() - start);
	return space_close(&p, ok);
}

bool stage_preloaded(struct stage *s, struct contender *c, uint32_t pods, double *per_s)
{
	struct space p;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	ok = make_pods(&p, pods) && contender_start(c, s) && wait_bound(&p, pods);
	*per_s = rate(&s->client.seen);
	return space_close(&p, ok && wait_events(&p, pods, s->client.seen.first_ns));
}

bool stage_live(struct stage *s, uint32_t pods, double *per_s)
{
	struct space p;
	uint64_t start;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	start = bench_now_ns();
	ok = make_pods(&p, pods) && wait_bound(&p, pods);
	*per_s = (double)pods * 1e9 / (double)(s->client.seen.last_ns - start);
	return space_close(&p, ok && wait_events(&p, pods, start));
}

bool stage_paced(struct stage *s, uint32_t pods, double per_s, double *took_ms)
{
	struct client_pace pace = { .per_s = per_s, .took_ms = took_ms, .n = pods };
	struct space p;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	pace.start_ns = bench_now_ns();
	s->client.pace = &pace;
	ok = make_pods(&p, pods) && wait_bound(&p, pods);
	s->client.pace = NULL;
	return space_close(&p, ok && wait_events(&p, pods, pace.start_ns));
}

bool stage_others(struct stage *s, uint32_t pods, char *namespace, size_t namespace_bytes)
{
	struct space p;

	if (!space_open(&p, s, "default-scheduler") || !make_pods(&p, pods))
		return false;
	snprintf(namespace, namespace_bytes, "%s", p.namespace);
	return true;
}

static bool make_group(const struct space *p, const struct contender *c, uint32_t members)
{
	char path[256], *body;
	int status;

	snprintf(path, sizeof(path), "%s/namespaces/%s/podgroups", c->program ? NATIVE_GROUPS : GROUPS,
	         p->namespace);
	if (c->program)
		body = ctl_print(
			"{\"apiVersion\":\"scheduling.k8s.io/v1alpha2\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":"
			"\"gang\"},\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":%u}}}}",
			members);
	else
		body = ctl_print(
			"{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":"
			"\"gang\"},\"spec\":{\"minMember\":%u}}",
			members);
	status = client_one(&p->stage->client, "POST", path, body);
	free(body);
	if (status != 201)
		fprintf(stderr, "muster-bench: can't make a PodGroup: %d %.300s\n", status,
		        client_said(&p->stage->client));
	return status == 201;
}

bool stage_gang(struct stage *s, const struct contender *c, uint32_t members, double *seconds)
{
	struct space p;
	uint64_t start;
	double cpu_s;
	bool ok;

	if (!space_open(&p, s, STAGE_SCHEDULER))
		return false;
	*(c->program ? &p.group_native : &p.group_label) = "gang";
	p.claims = c->devices;
	ok = (!c->devices || space_make_claims(&p, members)) && make_pods(&p, members);
	client_idle(&s->client, 1000); /* all watchers have seen them */
	if (s->client.seen.bound > 0) {
		fprintf(stderr, "muster-bench: members were bound before their group was there\n");
		ok = false;
	}
	cpu_s = child_cpu_s(&c->child);
	start = bench_now_ns();
	ok = ok && make_group(&p, c, members) && wait_bound(&p, members);
	*seconds = (double)(s->client.seen.last_ns - start) / 1e9;
	s->cpu_s = child_cpu_s(&c->child) - cpu_s;
	return space_close(&p, ok);
}
