/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/offline_impl.h"

#include "core/filter/evaluate.h"
#include "core/daemon/policy.h"
#include "ctl/offline/claims.h"
#include "ctl/offline/evictions.h"
#include "ctl/offline/queues.h"
#include "frontend/devices/live.h"
#include "frontend/dialect/reason.h"
#include "ctl/term/ctl.h"
#include "ipc/segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The core's time at first: any value above 0. */
#define NOW_NS UINT64_C(1000000000)

static const struct limits everything = {
	/* Limits for whatever the files hold; those of the core are cut to what the model holds. */
	.nodes = UINT32_MAX / 4,         .pods = UINT32_MAX / 4,
	.gangs = UINT32_MAX / 4,         .shapes = UINT32_MAX / 4,
	.names = UINT32_MAX / 4,         .resources = RESOURCES_MAX,
	.name_bytes = UINT64_C(1) << 40, .command_ring_bytes = RECORD_BYTES_MAX * 16,
};

/* A model of nothing yet. */
static void model_make(struct offline *o)
{
	const struct offline_config *config = &o->config;
	struct model_config model = {
		.scheduler_names = config->scheduler_names,
		.scheduler_names_n = config->scheduler_names_n,
		.limits = everything,
		.claims_can_wait = true,
		.hash_key = { 1, 2 }, /* a hash attack would only slow down the author of the file */
		.devices = o->claims != NULL ? claims_devices(o->claims) : NULL,
		.devices_live = o->claims != NULL && claims_by_records(o->claims),
		.preemption = config->evicts != 0,
		.may_evict = config->evicts != 0,
		.preemption_flags = config->evicts,
		.states_runs = true,
	};

	o->model = model_new(&model);
	if (o->model == NULL)
		fatal_memory();
	if (model.devices_live)
		live_claims_alone(model_live(o->model));
	if (config->evicts == 0)
		return;
	model_resource_served(o->model,
	                      model_resource_index(o->model, "policy/v1", "PodDisruptionBudget"), true);
	model_set_evicts(o->model, true);
}

struct offline_config offline_config_of(const struct arguments *schedulers)
{
	static const char *const usual[] = { "muster" };
	const bool named = schedulers->n > 0;

	return (struct offline_config){ .scheduler_names = named ? schedulers->at : usual,
		                            .scheduler_names_n = named ? schedulers->n : 1 };
}

bool offline_pod_named(const struct model *m, const char *name, struct pod_view *pod)
{
	const char *slash = strchr(name, '/');
	char *namespace = ctl_print("%.*s", (int)(slash - name), name);
	const bool found = model_pod_by_name(m, namespace, slash + 1, pod);

	free(namespace);
	return found;
}

struct offline *offline_new(const struct offline_config *config)
{
	struct offline *o = must_alloc(sizeof(*o));

	o->config = *config;
	o->now_ns = NOW_NS;
	if (config->reads_devices)
		o->claims = claims_new(o, false);
	model_make(o);
	o->filling = aligned_alloc(16, RECORD_BYTES_MAX);
	if (o->filling == NULL)
		fatal_memory();
	return o;
}

static void passed_clear(struct offline *o)
{
	for (size_t i = 0; i < o->passed_n; i++)
		free(o->passed[i].kind);
	free(o->passed);
	o->passed = NULL;
	o->passed_n = 0;
}

void offline_claims_by_records(struct offline *o)
{
	model_free(o->model);
	claims_free(o->claims);
	passed_clear(o);
	o->claims = claims_new(o, true);
	model_make(o);
}

void offline_free(struct offline *o)
{
	if (o == NULL)
		return;
	if (o->evaluation != NULL)
		evaluation_free(o->evaluation);
	free(o->evaluation);
	core_free(o->core);
	core_ledger_free(o->ledger, o->ledger_bytes);
	evictions_free(o->evictions);
	model_free(o->model);
	claims_free(o->claims);
	for (uint32_t i = 0; o->pods != NULL && i < o->limits.pods; i++)
		free(o->pods[i]);
	for (uint32_t i = 0; o->gangs != NULL && i < o->limits.gangs; i++)
		free(o->gangs[i]);
	passed_clear(o);
	free(o->pods);
	free(o->gangs);
	free(o->nodes);
	free(o->binds);
	bytes_free(&o->node);
	free(o->filling);
	free(o);
}

bool offline_steps(const char *command, const char *text, void *to)
{
	return option_digits(text, to) ||
	       (ctl_usage(command, "--search-steps %s: not a number", text), false);
}

bool offline_score(const char *command, const char *text, void *to)
{
	if (policy_find(text, to))
		return true;
	return ctl_usage(command,
	                 "--score %s: kube, pack, bestfit, fgd and muster are the scores there are",
	                 text),
	       false;
}

static void keep_reason(struct reason **slot, const struct reason *reason)
{
	if (*slot == NULL)
		*slot = must_alloc(sizeof(**slot));
	**slot = *reason;
}

static bool take_command(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct offline *o = context;

	if (kind == CMD_BIND) {
		const struct cmd_bind *bind = body;

		o->binds = must_reach(o->binds, &o->binds_room, o->binds_n, 256, sizeof(*o->binds));
		o->binds[o->binds_n++] = *bind;
	} else if (kind == CMD_REASON) {
		const struct cmd_reason *why = body;

		if (why->gang != ID_NONE)
			keep_reason(&o->gangs[why->gang], &why->reason);
		else
			keep_reason(&o->pods[why->pod], &why->reason);
	} else if (kind == CMD_DEVICES) {
		claims_choose(o->claims, body);
	} else if (kind == CMD_EVICT) {
		evictions_due(o->evictions, body);
	}
	return true;
}

void offline_step(struct offline *o, enum record_kind kind, struct record *record,
                  size_t body_bytes)
{
	int rc;

	record->bytes = (uint32_t)(sizeof(*record) + body_bytes);
	record->kind = (uint16_t)kind;
	record->flags = 0;
	record->epoch = 1;
	record->sequence = ++o->sequence;
	record->time_ns = o->now_ns;
	rc = core_step(o->core, record);
	if (o->evictions != NULL)
		evictions_follow(o->evictions, record, rc);
	if (rc < 0 && o->failed == 0)
		o->failed = rc;
}

static void apply_filled(struct offline *o)
{
	if (o->filled)
		offline_step(o, (enum record_kind)o->filling->kind, o->filling,
		             o->filling->bytes - sizeof(*o->filling));
	o->filled = false;
}

static void *reserve(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct offline *o = context;

	apply_filled(o);
	if (body_bytes > RECORD_BYTES_MAX - sizeof(*o->filling))
		return NULL;
	o->filling->bytes = (uint32_t)sizeof(*o->filling) + body_bytes;
	o->filling->kind = (uint16_t)kind;
	o->filled = true;
	return o->filling + 1;
}

bool offline_flush(struct offline *o)
{
	struct model_sink sink = { .reserve = reserve, .context = o };
	/* By records a selector that fails on a device has the question's pods judged again. */
	uint32_t rounds = model_live(o->model) != NULL ? 2 : 1;
	bool all = true;

	while (all && rounds > 0) {
		all = model_flush(o->model, &sink);
		apply_filled(o);
		rounds -= !model_has_more(o->model);
	}
	return all && o->failed == 0;
}

static void answer_bind(struct offline *o, const struct cmd_bind *bind, bool bound)
{
	struct {
		struct record record;
		struct result result;
	} answer = { .result = { .pod = bind->pod,
		                     .generation = bind->pod_generation,
		                     .node = bind->node,
		                     .attempt = bind->attempt } };

	if (bound)
		o->nodes[bind->pod] = bind->node;
	offline_step(o, bound ? RESULT_BOUND : RESULT_REFUSED, &answer.record, sizeof(answer.result));
}

/* As frontend/bind does: the claims are written before the Binding, and the core knows it before
 * the pod is bound, since its choice ends then. */
static void answer_with_claims(struct offline *o)
{
	bool *written = must_array(o->binds_n + 1, sizeof(*written));
	struct pod_view pod;

	for (size_t i = 0; i < o->binds_n; i++) {
		const struct cmd_bind *bind = &o->binds[i];

		written[i] = model_pod(o->model, bind->pod, bind->pod_generation, &pod) &&
		             claims_write(o->claims, &pod, bind->node);
		if (written[i])
			model_bind_begin(o->model, bind->pod, bind->pod_generation, bind->node);
	}
	if (!offline_flush(o) && o->failed == 0)
		o->failed = -ENOSPC;
	for (size_t i = 0; i < o->binds_n; i++)
		answer_bind(o, &o->binds[i], written[i]);
	free(written);
}

static void answer_without(struct offline *o)
{
	struct pod_view pod;

	for (size_t i = 0; i < o->binds_n; i++) {
		const struct cmd_bind bind = o->binds[i];

		if (o->any_claims && model_pod(o->model, bind.pod, bind.pod_generation, &pod))
			claims_place(o->claims, pod.namespace, pod.name, bind.node);
		answer_bind(o, &bind, true);
		model_bind_begin(o->model, bind.pod, bind.pod_generation, bind.node);
	}
}

/* Accepts every Binding, in the order in which they were sent; volume claims that waited for the
 * pod are bound. */
static void answer_binds(struct offline *o)
{
	o->changes += o->binds_n;
	if (o->claims != NULL && claims_by_records(o->claims))
		answer_with_claims(o);
	else
		answer_without(o);
	for (size_t i = 0; i < o->binds_n; i++)
		model_assume(o->model, o->binds[i].pod, o->binds[i].pod_generation, o->binds[i].node);
	o->binds_n = 0;
	/* Waiting claims see the volumes of others as taken. */
	if (!offline_flush(o) && o->failed == 0)
		o->failed = -ENOSPC;
}

static uint32_t at_least(uint64_t n)
{
	return n > UINT32_MAX / 4 ? UINT32_MAX / 4 : n < 16 ? 16 : (uint32_t)n;
}

/* Exactly what the model holds, so that no result depends on a limit. */
static struct limits cut_limits(struct model *m)
{
	struct limits limits = everything;
	struct model_counts counts;

	model_counts(m, &counts);
	limits.nodes = at_least(counts.node_slots);
	limits.pods = at_least(counts.pods);
	limits.gangs = at_least(counts.gangs + counts.pods);
	limits.shapes = at_least(counts.shape_slots + counts.pods_with_volumes +
	                         (model_live(m) != NULL ? live_pods(model_live(m)) : 0));
	limits.names = at_least(counts.names + RESOURCES_MAX);
	/* A node's or gang's name has at most 253 + 1 + 63 bytes by Kubernetes' rules. */
	limits.name_bytes = ((uint64_t)limits.nodes + limits.gangs + limits.names) * 1024;
	return limits;
}

static bool start_core(struct offline *o, char *error, size_t error_bytes)
{
	struct core_config config = {
		.limits = o->limits,
		.score = o->config.score,
		.once = true,
		.pack_steps = o->config.pack_steps,
		.devices = o->claims != NULL ? claims_filter(o->claims) : NULL,
		.queues = o->queues != NULL ? queues_bind(o->queues, o->model, o->limits.pods) : NULL,
		.emit = take_command,
		.context = o,
	};
	const char *what = "";
	uint64_t bytes = core_ledger_bytes(&o->limits, &what);

	if (bytes == 0) {
		snprintf(error, error_bytes, "the objects are too many for one core: %s", what);
		return false;
	}
	o->ledger = core_ledger_new(bytes);
	o->ledger_bytes = bytes;
	o->core = o->ledger != NULL ? core_new(&config, o->ledger) : NULL;
	if (o->core == NULL)
		fatal_memory();
	return true;
}

void offline_use_queues(struct offline *o, struct queues *queues)
{
	o->queues = queues;
	for (size_t i = 0; queues != NULL && i < o->passed_n; i++) {
		const char *group = strstr(o->passed[i].kind, " of ");

		if (group == NULL || !queues_take(queues, group + 4, o->passed[i].kind))
			continue;
		free(o->passed[i].kind);
		o->passed[i--] = o->passed[--o->passed_n];
	}
}

static bool gang_name(const void *context, uint32_t gang, uint32_t generation, char *out,
                      size_t out_bytes)
{
	const struct offline *o = context;
	struct gang_view view;

	if (gang >= o->limits.gangs)
		snprintf(out, out_bytes, "%s", queues_pod_name(o->queues, gang - o->limits.gangs));
	else if (model_gang(o->model, gang, generation, &view))
		snprintf(out, out_bytes, "%s/%s", view.namespace, view.name);
	return gang >= o->limits.gangs || model_gang(o->model, gang, generation, &view);
}

static const char *resource_name(const void *context, uint32_t resource)
{
	return model_name(((const struct offline *)context)->model, resource);
}

static const char *queue_name(const void *context, uint32_t queue)
{
	return queues_name(((const struct offline *)context)->queues, queue);
}

char *offline_queue_reason(const struct offline *o, const struct pod_view *pod)
{
	const struct reason_names names = { .resource = resource_name,
		                                .taint = resource_name,
		                                .gang = gang_name,
		                                .queue = queue_name,
		                                .context = o };
	const struct reason_about about = { .queue =
		                                    o->queues ? queues_named(o->queues, pod->id) : "" };
	const struct reason *told = offline_reason(o, pod);
	struct reason now;
	char text[2048];

	if (o->queues == NULL)
		return NULL;
	if (core_share_reason(o->core,
	                      pod->gang_id != ID_NONE ? pod->gang_id : o->limits.gangs + pod->id, &now))
		told = &now;
	if (told == NULL || told->why != WAIT_QUEUE)
		return NULL;
	reason_text(told, &about, &names, text, sizeof(text));
	return must_copy(text);
}

struct queues *offline_queues(const struct offline *o)
{
	return o->queues;
}

bool offline_start(struct offline *o, char *error, size_t error_bytes)
{
	model_refresh(o->model);
	o->limits = cut_limits(o->model);
	o->nodes = must_array(o->limits.pods, sizeof(*o->nodes));
	memset(o->nodes, 0xff, o->limits.pods * sizeof(*o->nodes));
	o->pods = must_array(o->limits.pods, sizeof(struct reason *));
	o->gangs = must_array(o->limits.gangs, sizeof(struct reason *));
	if (model_set_limits(o->model, &o->limits) < 0) {
		snprintf(error, error_bytes, "the model holds more than it counts");
		return false;
	}
	if (!start_core(o, error, error_bytes))
		return false;
	if (o->config.evicts != 0)
		o->evictions = evictions_new(&o->limits);
	model_restart(o->model);
	model_set_synced(o->model);
	if (offline_flush(o))
		return true;
	snprintf(error, error_bytes, "the core rejected a record: %s", strerror(-o->failed));
	return false;
}

void offline_plan(struct offline *o)
{
	while (o->failed == 0 && core_wants_plan(o->core)) {
		struct record plan;

		offline_step(o, EVENT_PLAN, &plan, 0);
		answer_binds(o);
		if (o->evictions != NULL)
			evictions_make(o->evictions, o);
	}
}

bool offline_place(struct offline *o, char *error, size_t error_bytes)
{
	if (!offline_start(o, error, error_bytes))
		return false;
	offline_plan(o);
	if (o->evictions != NULL)
		evictions_search(o->evictions, o);
	if (o->failed < 0)
		snprintf(error, error_bytes, "the core rejected a record: %s", strerror(-o->failed));
	return o->failed == 0;
}

const struct evaluation *offline_evaluate(struct offline *o, pod_id pod)
{
	if (o->evaluation == NULL) {
		o->evaluation = must_alloc(sizeof(*o->evaluation));
		evaluation_init(o->evaluation, &o->limits, false);
	}
	if (o->claims != NULL)
		claims_begin(o->claims, pod);
	return core_verdict(o->core, pod, o->evaluation) == 0 ? o->evaluation : NULL;
}

struct claims *offline_claims(const struct offline *o)
{
	return o->claims;
}

bool offline_evicts(const struct offline *o)
{
	return o->config.evicts != 0;
}

const struct eviction *offline_evictions(const struct offline *o, size_t *n)
{
	*n = 0;
	return o->evictions != NULL ? evictions_all(o->evictions, n) : NULL;
}

struct core *offline_core(struct offline *o)
{
	return o->core;
}

struct model *offline_own_model(const struct offline *o)
{
	return o->model;
}

const struct model *offline_model(const struct offline *o)
{
	return o->model;
}

const struct ledger *offline_ledger(const struct offline *o)
{
	return o->ledger;
}

const char *offline_node_name(const struct offline *o, node_id node)
{
	const char *base = (const char *)o->ledger + o->ledger->nodes_offset;

	return model_node(o->model, node,
	                  ((const struct node_row *)(const void *)base)[node].generation);
}

const char *offline_node(const struct offline *o, pod_id pod)
{
	if (pod >= o->limits.pods || o->nodes[pod] == ID_NONE)
		return NULL;
	return offline_node_name(o, o->nodes[pod]);
}

const struct reason *offline_reason(const struct offline *o, const struct pod_view *pod)
{
	if (pod->gang_id == ID_NONE)
		return pod->id < o->limits.pods ? o->pods[pod->id] : NULL;
	return pod->gang_id < o->limits.gangs ? o->gangs[pod->gang_id] : NULL;
}
