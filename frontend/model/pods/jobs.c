/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/pods/jobs.h"

#include "frontend/decode/job.h"
#include "frontend/model/base/limits.h"
#include "frontend/model/base/objects.h"
#include "frontend/model/pods/ends.h"
#include "frontend/model/pods/named.h"
#include "frontend/model/pods/pods.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct job_entry {
	struct entry entry;   /* refs: pods in the chain; a stamp only while it enforces an end */
	struct named_key key; /* kind: the value number of its uid */
	bool enforces;
	struct job_end end;
	uint32_t pods_first; /* over job_pod.link */
};

/* What a pod, by its slot, has of its Job. */
struct job_pod {
	struct link link;
	uint32_t job; /* ID_NONE */
	uint32_t grace_s;
	uint32_t run_s; /* as the deadline sets it; 0: none */
};

struct model_jobs {
	struct store jobs;
	struct job_pod *pods;
	uint32_t pods_n;
};

struct model_jobs *jobs_new(const struct model_config *config)
{
	struct model_jobs *j;

	if (!config->job_deadlines)
		return NULL;
	j = must_alloc(sizeof(*j));
	store_init(&j->jobs, sizeof(struct job_entry), UINT32_MAX - 1, named_equal);
	return j;
}

void jobs_free(struct model_jobs *j)
{
	if (!j)
		return;
	store_free(&j->jobs);
	free(j->pods);
	free(j);
}

static struct job_entry *job_at(const struct model *m, uint32_t job)
{
	return store_at(&m->jobs->jobs, job);
}

/* The entry of that Job, made without references if need be.  Another Job of the same name has
 * another. */
static uint32_t job_enter(struct model *m, const struct meta *meta)
{
	const uint32_t uid = model_number(&m->values, meta->uid);
	bool is_new;
	const uint32_t job = named_enter(m, &m->jobs->jobs, uid, meta->namespace, meta->name, &is_new);

	if (is_new)
		job_at(m, job)->pods_first = SLOT_NONE;
	else /* which has the reference */
		intern_give(&m->values, uid);
	return job;
}

static void release_if_unused(struct model *m, uint32_t job)
{
	const struct job_entry *e = job_at(m, job);
	const uint32_t uid = e->key.kind;

	assert(e->entry.slot.live);
	if (e->entry.stamp || e->entry.refs > 0)
		return;
	assert(!e->enforces && e->pods_first == SLOT_NONE);
	named_remove(m, &m->jobs->jobs, job);
	intern_give(&m->values, uid);
}

/* Pods. */

static struct job_pod *job_pod_reach(struct model_jobs *j, uint32_t pod)
{
	uint32_t n = j->pods_n;

	if (pod < n)
		return &j->pods[pod];
	while (n <= pod)
		n = n * 2 + 64;
	j->pods = must_grow(j->pods, n * sizeof(*j->pods));
	for (uint32_t i = j->pods_n; i < n; i++)
		j->pods[i] = (struct job_pod){ .job = ID_NONE };
	j->pods_n = n;
	return &j->pods[pod];
}

/* The functions for chains use no more of a pool. */
static struct pool pods_of(const struct model_jobs *j)
{
	return (struct pool){ .items = (char *)j->pods, .item_bytes = sizeof(*j->pods) };
}

static uint32_t run_s_of(const struct model *m, uint32_t pod)
{
	const struct job_pod *of = &m->jobs->pods[pod];
	const struct pod_entry *p = pod_at(m, pod);
	const struct job_entry *e;

	if (of->job == ID_NONE || (p->flags & POD_LASTS))
		return 0;
	e = job_at(m, of->job);
	if (e->enforces)
		return job_run_s(&e->end, p->scheduled_s, of->grace_s);
	return p->node != ID_NONE ? of->run_s : 0;
}

static void set_run_s(struct model *m, uint32_t pod, uint32_t run_s)
{
	if (m->jobs->pods[pod].run_s == run_s)
		return;
	m->jobs->pods[pod].run_s = run_s;
	store_mark_dirty(&m->pods, pod);
}

static void leave(struct model *m, uint32_t pod)
{
	struct job_pod *of = &m->jobs->pods[pod];
	const struct pool pods = pods_of(m->jobs);
	const uint32_t job = of->job;

	if (job == ID_NONE)
		return;
	chain_remove(&pods, offsetof(struct job_pod, link), &job_at(m, job)->pods_first, pod);
	of->job = ID_NONE;
	assert(job_at(m, job)->entry.refs > 0);
	job_at(m, job)->entry.refs--;
	release_if_unused(m, job);
}

static void join(struct model *m, uint32_t pod, uint32_t job)
{
	const struct pool pods = pods_of(m->jobs);

	assert(m->jobs->pods[pod].job == ID_NONE);
	chain_push(&pods, offsetof(struct job_pod, link), &job_at(m, job)->pods_first, pod);
	m->jobs->pods[pod].job = job;
	job_at(m, job)->entry.refs++;
}

/* The Job that controls the pod, or ID_NONE. */
static uint32_t job_of(struct model *m, const struct pod_object *pod)
{
	struct meta job = { .namespace = pod->meta.namespace,
		                .name = pod->owner.name,
		                .uid = pod->owner.uid,
		                .version = TEXT_NONE };

	if (!text_is(pod->owner.kind, "Job") || !text_is(pod->owner.api_version, "batch/v1") ||
	    job.name.bytes == 0 || job.uid.bytes == 0 || !model_names_valid(&job, NULL))
		return ID_NONE;
	return job_enter(m, &job);
}

void jobs_note_pod(struct model *m, uint32_t pod, const struct pod_object *object)
{
	struct job_pod *of = job_pod_reach(m->jobs, pod);
	const uint32_t job = job_of(m, object);

	of->grace_s = pod_grace_s(object);
	if (of->job != job) {
		leave(m, pod);
		set_run_s(m, pod, 0);
		if (job != ID_NONE)
			join(m, pod, job);
	}
	set_run_s(m, pod, run_s_of(m, pod));
}

void jobs_forget_pod(struct model *m, uint32_t pod)
{
	if (pod >= m->jobs->pods_n)
		return;
	leave(m, pod);
	m->jobs->pods[pod].run_s = 0;
}

uint32_t jobs_earlier(const struct model *m, uint32_t pod, uint32_t own_s)
{
	uint32_t run_s;

	assert(pod < m->jobs->pods_n); /* each pod that is stored was noted */
	run_s = m->jobs->pods[pod].run_s;
	return own_s == 0 || (run_s > 0 && run_s < own_s) ? run_s : own_s;
}

uint32_t jobs_stated_of(const struct model *m, uint32_t pod)
{
	const uint32_t job = m->jobs->pods[pod].job;
	const struct job_entry *e = job != ID_NONE ? job_at(m, job) : NULL;

	return !e || !e->enforces ? 0 : job_stated_s(&e->end);
}

/* Objects. */

static void follow_pods(struct model *m, uint32_t job)
{
	for (uint32_t p = job_at(m, job)->pods_first; p != SLOT_NONE; p = m->jobs->pods[p].link.next)
		set_run_s(m, p, run_s_of(m, p));
}

static void end_set(struct model *m, uint32_t job, const struct job_object *object)
{
	struct job_entry *e = job_at(m, job);

	e->enforces = true;
	e->end = (struct job_end){ .deadline_s = object->deadline_s,
		                       .start_s = (int64_t)(object->start_ns / UINT64_C(1000000000)) };
	follow_pods(m, job);
}

/* `over`: its pods that are bound keep the end that they have. */
static void end_clear(struct model *m, uint32_t job, bool over)
{
	struct job_entry *e = job_at(m, job);

	e->enforces = false;
	for (uint32_t p = e->pods_first; !over && p != SLOT_NONE; p = m->jobs->pods[p].link.next)
		set_run_s(m, p, 0);
	follow_pods(m, job);
	stamp_clear(&e->entry);
	release_if_unused(m, job);
}

/* One that can't be read enforces nothing that is known; its name may be behind what can't. */
static int job_read(struct model *m, const char *json, size_t bytes, struct job_object *out,
                    struct decode_error *error)
{
	const int rc = extract_job(json, bytes, &m->arena, out, error);

	m->counts.objects_bad += rc < 0;
	if (rc < 0) {
		*out = (struct job_object){ .has_deadline = false };
		extract_meta(json, bytes, &m->arena, &out->meta, NULL);
	}
	return rc;
}

int job_put(struct model *m, int resource, const char *json, size_t bytes,
            struct decode_error *error)
{
	struct job_object object;
	const int read = job_read(m, json, bytes, &object, error);
	struct entry *e;
	uint32_t job;

	if (object.meta.name.bytes == 0)
		return read;
	if (!model_names_valid(&object.meta, error)) {
		m->counts.objects_bad += read == 0;
		return -EINVAL;
	}
	job = job_enter(m, &object.meta);
	e = &job_at(m, job)->entry;
	if (object_is_known(m, resource, e, &object.meta))
		return read;
	if (read < 0 || !job_enforces(&object)) {
		end_clear(m, job, read == 0 && job_is_over(&object));
		return read;
	}
	if (!e->stamp && e->refs == 0 && !referred_fits(m, &m->jobs->jobs)) {
		release_if_unused(m, job);
		return referred_refuse(m, &object.meta, error);
	}
	stamp_set(&e->stamp, &object.meta);
	end_set(m, job, &object);
	return 0;
}

static void job_forget(struct model *m, uint32_t job)
{
	if (job_at(m, job)->entry.stamp)
		end_clear(m, job, true);
	else
		release_if_unused(m, job);
}

void job_remove(struct model *m, const struct meta *meta)
{
	job_forget(m, job_enter(m, meta));
}

void jobs_replaced(struct model *m, uint32_t round)
{
	STORE_EACH(&m->jobs->jobs, i)
	if (job_at(m, i)->entry.seen != round)
		job_forget(m, i);
}

bool jobs_valid(const struct model *m, uint32_t *values, uint32_t *namespaces)
{
	const struct model_jobs *j = m->jobs;
	uint32_t members = 0, found = 0;
	bool good = true;

	for (uint32_t i = 0; i < j->pods_n; i++) {
		const bool there = i < m->pods.pool.n && pod_at(m, i)->entry.slot.live;

		members += j->pods[i].job != ID_NONE;
		good = good && (there || (j->pods[i].job == ID_NONE && j->pods[i].run_s == 0)) &&
		       (!there || j->pods[i].run_s == run_s_of(m, i));
	}
	STORE_EACH(&j->jobs, i)
	{
		const struct job_entry *e = job_at(m, i);
		uint32_t n = 0;

		values[e->key.kind]++;
		values[e->key.name]++;
		namespaces[e->key.namespace]++;
		for (uint32_t p = e->pods_first; p != SLOT_NONE && n <= e->entry.refs;
		     p = j->pods[p].link.next)
			n += j->pods[p].job == i;
		good = good && n == e->entry.refs && e->enforces == (e->entry.stamp != NULL) &&
		       (n > 0 || e->enforces);
		found += n;
	}
	return good && found == members;
}
