/* SPDX-License-Identifier: Apache-2.0 */
#include "core/world/live_gang.h"

#include "core/classes/outsider.h"
#include "core/lifecycle/state.h"
#include "core/shm/records.h"
#include "core/step/core.h"
#include "ipc/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The records that were seen. */
struct seen {
	const struct limits *limits;
	uint32_t shapes_n, gangs_n, pods_n;
};

static const char *shape_fault(struct seen *s, const struct record *r)
{
	struct shape_record shape;
	const char *fault = record_shape(r, s->limits, &shape);

	if (fault)
		return fault;
	if (s->gangs_n > 0 || s->pods_n > 0 || shape.body->shape != s->shapes_n)
		return "the shapes of a gang of no table are not in order";
	s->shapes_n++;
	return s->shapes_n > QUESTION_GANG_SHAPES ? "members of the gang ask for more than 32 shapes"
	                                          : NULL;
}

static const char *gang_fault(struct seen *s, const struct record *r)
{
	struct gang_record gang;
	const char *fault = record_gang(r, s->limits, &gang);

	if (fault)
		return fault;
	if (s->gangs_n > 0 || s->pods_n > 0 || gang.body->gang != 0)
		return "there is another gang than one";
	s->gangs_n++;
	return gang.body->succeeded > 0 || gang.body->failed > 0 ? "members of the gang have ended"
	                                                         : NULL;
}

static const char *pod_fault(struct seen *s, const struct record *r)
{
	struct pod_record pod;
	const char *fault = record_pod(r, s->limits, &pod);

	if (fault)
		return fault;
	if (pod.body->pod != s->pods_n || pod.body->gang != (s->gangs_n > 0 ? 0 : ID_NONE) ||
	    pod.body->shape >= s->shapes_n)
		return "the members of a gang of no table are not in order";
	if (pod.body->node != ID_NONE ||
	    (pod.body->flags & ~(uint32_t)(POD_OURS | POD_GATED | POD_REFUSED | POD_LASTS)))
		return "a pod of no table has a node";
	s->pods_n++;
	return NULL;
}

static const char *record_fault(struct seen *s, const struct record *r)
{
	struct name_record name;

	switch ((enum record_kind)r->kind) {
	case EVENT_NAME:
		return s->shapes_n > 0 ? "a name after what uses it" : record_name(r, s->limits, &name);
	case EVENT_SHAPE:
		return shape_fault(s, r);
	case EVENT_GANG:
		return gang_fault(s, r);
	case EVENT_POD:
		return pod_fault(s, r);
	default:
		return "these are no records of a gang";
	}
}

/* The record there, or NULL at the end; each was checked, or is by *fault. */
static const struct record *record_next(const struct live_gang *g, uint32_t *at, const char **fault)
{
	const struct record *r = (const void *)(g->records + *at);
	const uint32_t left = g->bytes - *at;

	if (left == 0)
		return NULL;
	*fault = left < sizeof(*r) ? "the records of a gang have a wrong length" : record_check(r);
	if (!*fault && (r->bytes > left || r->bytes == sizeof(*r)))
		*fault = "the records of a gang have a wrong length";
	if (*fault)
		return NULL;
	*at += r->bytes;
	return r;
}

const char *live_gang_fault(const struct live_gang *g, const struct limits *limits)
{
	struct seen s = { .limits = limits };
	const struct record *r;
	const char *fault = NULL;
	uint32_t at = 0;

	if (g->version != QUESTION_VERSION)
		return "another version of questions";
	if (g->bytes > QUESTION_GANG_RECORDS)
		return "the records of a gang have a wrong length";
	while (!fault && (r = record_next(g, &at, &fault)) != NULL)
		fault = record_fault(&s, r);
	return !fault && s.pods_n == 0 ? "there are no members" : fault;
}

/* Ids of the core for those of the records: `n` free ones, from 0 on. */
struct ids {
	uint32_t shapes[QUESTION_GANG_SHAPES];
	uint32_t shapes_n;
	struct live_put *put;
};

static uint32_t free_after(const struct core *c, enum record_kind kind, uint32_t id)
{
	const struct limits *l = &c->config.limits;
	const uint32_t most = kind == EVENT_SHAPE ? l->shapes : kind == EVENT_GANG ? l->gangs : l->pods;

	for (; id < most; id++)
		if (kind == EVENT_SHAPE  ? !shapes_find(&c->shapes, id)
		    : kind == EVENT_GANG ? !gangs_group(&c->gangs, id)
		                         : !pods_find(&c->pods, id))
			return id;
	return ID_NONE;
}

/* Sets the ids of a record, and that its object is created now, whatever a file says: age decides
 * the place in the queue.  False: the table of the core is full. */
static bool record_set(const struct core *c, struct ids *ids, struct record *r)
{
	union {
		struct event_shape shape;
		struct event_gang gang;
		struct event_pod pod;
	} *body = (void *)(r + 1);
	struct live_put *put = ids->put;
	uint32_t id;

	switch ((enum record_kind)r->kind) {
	case EVENT_SHAPE:
		id = free_after(c, EVENT_SHAPE, ids->shapes_n > 0 ? ids->shapes[ids->shapes_n - 1] + 1 : 0);
		body->shape.shape = ids->shapes[ids->shapes_n++] = id;
		return id != ID_NONE;
	case EVENT_GANG:
		body->gang.gang = put->gang = free_after(c, EVENT_GANG, 0);
		body->gang.created_ns = c->now_ns;
		return put->gang != ID_NONE;
	case EVENT_POD:
		id = free_after(c, EVENT_POD, put->pods_n > 0 ? put->pods[put->pods_n - 1] + 1 : 0);
		body->pod.shape = ids->shapes[body->pod.shape];
		body->pod.gang = put->gang;
		body->pod.pod = put->pods[put->pods_n++] = id;
		body->pod.created_ns = c->now_ns;
		return id != ID_NONE;
	default:
		return true;
	}
}

static const char *shapes_fault(const struct live_gang *g, const struct kept *kept)
{
	const struct core *world = kept->world;
	const struct record *r;
	struct shape_record shape;
	const char *fault = NULL;
	uint64_t steps = 0;
	uint32_t at = 0;

	while (!fault && (r = record_next(g, &at, &fault)) != NULL) {
		if (r->kind != EVENT_SHAPE || record_shape(r, &world->config.limits, &shape))
			continue;
		fault = outsider_fault(&world->pod_counts, &shape, &steps);
	}
	return fault;
}

/* One record of the gang, with the ids of the core: as live_gang_put(). */
static int put(struct kept *kept, struct ids *ids, struct record *r, const char **fault)
{
	int rc = record_set(kept->core, ids, r) ? kept_apply(kept, kept->world, r) : -ENOSPC;

	if (rc == -ENOSPC)
		*fault = "a table of muster-core has no room for it";
	else if (rc < 0)
		*fault = core_fault(kept->core);
	return rc < 0 ? -EINVAL : 0;
}

static int put_all(const struct live_gang *g, struct kept *kept, const struct keeper_hooks *hooks,
                   struct ids *ids, const char **fault)
{
	struct record *copy = must_alloc(RECORD_BYTES_MAX);
	const struct record *r;
	uint32_t at = 0;
	int rc = 0;

	while (rc == 0 && (r = record_next(g, &at, fault)) != NULL) {
		memcpy(copy, r, r->bytes);
		rc = hooks->ends && hooks->ends(hooks->context) ? -ECANCELED : put(kept, ids, copy, fault);
	}
	free(copy);
	return rc;
}

int live_gang_put(const struct live_gang *g, struct kept *kept, const struct keeper_hooks *hooks,
                  struct live_put *out, const char **fault)
{
	struct ids ids = { .put = out };

	*fault = NULL;
	out->gang = ID_NONE;
	out->pods_n = 0;
	if (g->epoch != kept->world->epoch)
		*fault = "muster-frontend has connected again since it read the gang; ask again";
	else
		*fault = shapes_fault(g, kept);
	if (*fault)
		return -EINVAL;
	return put_all(g, kept, hooks, &ids, fault);
}
