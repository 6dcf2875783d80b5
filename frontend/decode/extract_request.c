/* SPDX-License-Identifier: Apache-2.0 */
/* The resources of a node that a pod uses (resourcehelper.PodRequests).  For each resource
 *
 *     max(sum of containers and sidecars,
 *         peak of init containers: each with the sidecars before it)
 *     or the pod-level request, for cpu, memory and huge pages
 *     (while a container or the pod is resized in place: the largest of what is asked for, what
 *     is allocated and what it has)
 *     + overhead
 *
 * exactly, and rounded up once at the end. */
#include "frontend/decode/extract.h"

#include <string.h>

#define NANO ((nano_t)1000000000)
#define DEFAULT_CPU (NANO / 10)                   /* 100m */
#define DEFAULT_MEMORY ((nano_t)209715200 * NANO) /* 200 MiB */

/* Amounts by resource index; `stated` has a bit for each that was named. */
struct amounts {
	nano_t at[RESOURCES_MAX];
	uint64_t stated;
	uint32_t n;
};

static_assert(RESOURCES_MAX <= 64, "one bit for each resource");

static void amounts_clear(struct amounts *a, uint32_t n)
{
	memset(a->at, 0, n * sizeof(a->at[0]));
	a->stated = 0;
	a->n = n;
}

static void amounts_add(struct amounts *a, const struct amounts *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		a->at[i] = quantity_add(a->at[i], b->at[i]);
	a->stated |= b->stated;
}

static void amounts_max(struct amounts *a, const struct amounts *b)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->at[i] < b->at[i])
			a->at[i] = b->at[i];
	a->stated |= b->stated;
}

static void amounts_max_of(struct amounts *a, const struct quantities *q)
{
	for (size_t i = 0; i < q->n; i++) {
		uint32_t r = q->at[i].resource;

		if (a->at[r] < q->at[i].amount)
			a->at[r] = q->at[i].amount;
		a->stated |= UINT64_C(1) << r;
	}
}

/* How to count. */
struct counting {
	bool use_status;
	bool skip_pod_level;
	nano_t missing[2]; /* cpu, memory of a container that does not state it; 0 */
};

static const struct container_status *status_of(const struct pod_object *pod,
                                                const struct container *c)
{
	for (size_t i = pod->statuses_n; i-- > 0;)
		if (text_equal(pod->statuses[i].name, c->name))
			return pod->statuses[i].has_resources ? &pod->statuses[i] : NULL;
	return NULL;
}

static void container_amounts(const struct pod_object *pod, const struct container *c,
                              const struct counting *how, struct amounts *out)
{
	const struct container_status *status = NULL;

	amounts_clear(out, pod->resources.n);
	if (how->use_status && (!c->is_init || c->is_sidecar))
		status = status_of(pod, c);
	if (!status || !pod->resize_infeasible)
		amounts_max_of(out, &c->requests);
	if (status) {
		amounts_max_of(out, &status->requests);
		amounts_max_of(out, &status->allocated);
	}
	for (uint32_t r = RESOURCE_CPU; r <= RESOURCE_MEMORY; r++) {
		if (how->missing[r] > 0 && !(out->stated >> r & 1)) {
			out->at[r] = how->missing[r];
			out->stated |= UINT64_C(1) << r;
		}
	}
}

static void containers_amounts(const struct pod_object *pod, const struct counting *how,
                               struct amounts *out)
{
	struct amounts one, sidecars, peak, at_once;
	uint32_t n = pod->resources.n;
	bool has_init = false;

	amounts_clear(out, n);
	for (size_t i = 0; i < pod->containers_n; i++) {
		if (pod->containers[i].is_init) {
			has_init = true;
			continue;
		}
		container_amounts(pod, &pod->containers[i], how, &one);
		amounts_add(out, &one);
	}
	if (!has_init)
		return;
	amounts_clear(&sidecars, n);
	amounts_clear(&peak, n);
	for (size_t i = 0; i < pod->containers_n; i++) {
		if (!pod->containers[i].is_init)
			continue;
		container_amounts(pod, &pod->containers[i], how, &one);
		if (pod->containers[i].is_sidecar) {
			amounts_add(&sidecars, &one);
			amounts_max(&peak, &sidecars);
		} else {
			at_once = sidecars;
			amounts_add(&at_once, &one);
			amounts_max(&peak, &at_once);
		}
	}
	amounts_add(out, &sidecars);
	amounts_max(out, &peak);
}

static bool is_pod_level(const struct pod_object *pod, uint32_t resource)
{
	return resource == RESOURCE_CPU || resource == RESOURCE_MEMORY ||
	       text_starts(pod->resources.at[resource], "hugepages-");
}

/* Of a resize that can't be the status counts alone, where it has the resource. */
static bool was_never_given(const struct pod_object *pod, uint32_t resource)
{
	return pod->resize_infeasible && !quantities_find(&pod->actual.requests, resource) &&
	       !quantities_find(&pod->actual.allocated, resource);
}

/* The amount of the pod level as the status has it, if that is larger. */
static nano_t larger_of(const struct quantities *q, uint32_t resource, nano_t amount)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->at[i].resource == resource && q->at[i].amount > amount)
			amount = q->at[i].amount;
	return amount;
}

static void pod_level_amounts(const struct pod_object *pod, const struct counting *how,
                              struct amounts *out)
{
	const bool resized = how->use_status && pod->actual.has_resources;
	const struct quantities *q = &pod->pod_requests;

	for (size_t i = 0; i < q->n; i++) {
		const uint32_t r = q->at[i].resource;

		if (!is_pod_level(pod, r) || (resized && was_never_given(pod, r)))
			continue;
		out->at[r] = resized && pod->resize_infeasible ? 0 : q->at[i].amount;
		if (resized)
			out->at[r] = larger_of(&pod->actual.allocated, r,
			                       larger_of(&pod->actual.requests, r, out->at[r]));
		out->stated |= UINT64_C(1) << r;
	}
	/* The API server's default: a limit is the request of what no container
	 * asks for, and of huge pages always. */
	q = &pod->pod_limits;
	for (size_t i = 0; i < q->n; i++) {
		uint32_t r = q->at[i].resource;

		if (!is_pod_level(pod, r) || quantities_find(&pod->pod_requests, r))
			continue;
		if (r <= RESOURCE_MEMORY && (out->stated >> r & 1))
			continue;
		out->at[r] = q->at[i].amount;
		out->stated |= UINT64_C(1) << r;
	}
}

static void pod_amounts(const struct pod_object *pod, const struct counting *how,
                        struct amounts *out)
{
	containers_amounts(pod, how, out);
	if (!how->skip_pod_level && pod->has_pod_resources)
		pod_level_amounts(pod, how, out);
	for (size_t i = 0; i < pod->overhead.n; i++) {
		uint32_t r = pod->overhead.at[i].resource;

		out->at[r] = quantity_add(out->at[r], pod->overhead.at[i].amount);
		out->stated |= UINT64_C(1) << r;
	}
}

/* A pod on its way in is scored by its containers alone; of a bound one the pod level
 * counts, and what neither states is filled in.  `stated`: what it asks for, and a bound
 * one. */
static void scored_amounts(const struct pod_object *pod, bool bound, uint64_t stated,
                           int64_t *cpu_milli, int64_t *memory_bytes)
{
	struct counting how = { .use_status = bound, .skip_pod_level = !bound };
	struct amounts a;

	how.missing[RESOURCE_CPU] = DEFAULT_CPU;
	how.missing[RESOURCE_MEMORY] = DEFAULT_MEMORY;
	for (uint32_t r = RESOURCE_CPU; r <= RESOURCE_MEMORY; r++)
		if (bound && pod->has_pod_resources && (stated >> r & 1))
			how.missing[r] = 0;
	pod_amounts(pod, &how, &a);
	*cpu_milli = quantity_milli(a.at[RESOURCE_CPU]);
	*memory_bytes = quantity_value(a.at[RESOURCE_MEMORY]);
}

void extract_effective(const struct pod_object *pod, bool bound, struct effective *out)
{
	struct counting how = { .use_status = bound };
	struct amounts a;

	pod_amounts(pod, &how, &a);
	for (uint32_t r = 0; r < a.n; r++)
		out->amount[r] = r == RESOURCE_CPU ? quantity_milli(a.at[r]) : quantity_value(a.at[r]);
	scored_amounts(pod, bound, a.stated, &out->scored_cpu_milli, &out->scored_memory_bytes);
	out->placed_cpu_milli = out->scored_cpu_milli;
	out->placed_memory_bytes = out->scored_memory_bytes;
	if (!bound)
		scored_amounts(pod, true, a.stated, &out->placed_cpu_milli, &out->placed_memory_bytes);
}
