/* SPDX-License-Identifier: Apache-2.0 */
/* Sends objects to the API server; reads a watch and lists for the audit. */
#include "tests/demo/demo.h"

#include "tests/demo/objects.h"

#define LIST_S 5.0

static bool refused(struct demo *d, int status, const char *body)
{
	if (status >= 200 && status < 300)
		return false;
	if (d->refused++ == 0)
		snprintf(d->refusal, sizeof(d->refusal), "%d: %.300s", status, body);
	return true;
}

static void setup_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	d->setup_open--;
	if (status != 409) /* the namespace exists already */
		refused(d, status, body);
}

static void group_done(void *context, int status, const char *body, size_t bytes)
{
	refused(context, status, body);
}

static void pod_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	d->pods_taken += !refused(d, status, body);
}

static bool seen_before(const struct trace *t, size_t job)
{
	for (size_t i = 0; i < job; i++)
		if (strcmp(t->jobs[i].namespace, t->jobs[job].namespace) == 0)
			return true;
	return false;
}

bool demo_send_setup(struct demo *d)
{
	for (size_t i = 0; i < d->trace.nodes_n; i++, d->setup_open++)
		apiclient_send(d->api, "POST", "/api/v1/nodes", object_node(&d->trace.nodes[i]), setup_done,
		               d);
	for (size_t i = 0; i < d->trace.jobs_n; i++) {
		if (seen_before(&d->trace, i))
			continue;
		d->setup_open++;
		apiclient_send(d->api, "POST", "/api/v1/namespaces",
		               object_namespace(d->trace.jobs[i].namespace), setup_done, d);
	}
	while (d->setup_open > 0) {
		if (demo_stopped || !demo_alive(d))
			return false;
		if (demo_now_s() > d->end_s)
			return demo_say("nodes and namespaces", "not answered in time");
		apiclient_run(d->api, 50);
	}
	return d->refused == 0 || demo_say("the API server refused an object", d->refusal);
}

static void send_job(struct demo *d, const struct trace_job *job)
{
	char path[160];

	snprintf(path, sizeof(path), GROUP_PATH "/namespaces/%s/podgroups", job->namespace);
	apiclient_send(d->api, "POST", path, object_group(job), group_done, d);
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", job->namespace);
	for (unsigned i = 0; i < job->pods; i++, d->pods_sent++)
		apiclient_send(d->api, "POST", path, object_pod(job, i), pod_done, d);
	d->jobs_sent++;
}

/* In the trace's order and at its pace, scaled to arrive_s. */
void demo_send_due(struct demo *d, double at_s)
{
	const struct trace *t = &d->trace;
	double span = t->jobs_n > 0 ? t->jobs[t->jobs_n - 1].submit_min : 0;

	while (d->jobs_sent < t->jobs_n) {
		const struct trace_job *job = &t->jobs[d->jobs_sent];

		if (span > 0 && job->submit_min / span * d->arrive_s > at_s)
			return;
		send_job(d, job);
	}
}

static void pod_line(void *context, const char *line, size_t bytes)
{
	struct demo *d = context;

	size_t before = d->audit.bound;

	audit_line(&d->audit, line, bytes);
	if (d->audit.bound > before)
		d->moved_s = demo_now_s();
	if (d->audit.bound == d->trace.pods_n && d->last_s == 0)
		d->last_s = demo_now_s();
}

static void list_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	d->list_open = false;
	if (!refused(d, status, body))
		audit_list(&d->last, body, bytes);
}

static void stats_done(void *context, int status, const char *body, size_t bytes)
{
	struct demo *d = context;

	d->list_open = false;
	d->stats_read = !refused(d, status, body) && audit_stats(&d->stats, body, bytes);
}

static bool get(struct demo *d, const char *path, apiclient_done_fn done)
{
	double end = demo_now_s() + LIST_S;

	d->list_open = true;
	apiclient_send(d->api, "GET", path, NULL, done, d);
	while (d->list_open && demo_now_s() < end && !demo_stopped)
		apiclient_run(d->api, 20);
	return !d->list_open;
}

bool demo_read_list(struct demo *d)
{
	return get(d, "/api/v1/pods", list_done);
}

bool demo_read_stats(struct demo *d)
{
	return get(d, "/apisim/stats", stats_done) && d->stats_read;
}

bool demo_start_watch(struct demo *d)
{
	char path[160];

	if (!demo_read_list(d) || d->last.version[0] == '\0')
		return demo_say("pods", "can't be listed");
	snprintf(path, sizeof(path), "/api/v1/pods?watch=true&timeoutSeconds=3600&resourceVersion=%s",
	         d->last.version);
	apiclient_watch(d->api, path, pod_line, d);
	return true;
}
