/* SPDX-License-Identifier: Apache-2.0 */
#include "core/step/core.h"
#include "frontend/model/model.h"
#include "tests/apisim/call.h"
#include "tests/sim/sim.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 1000
#define FRESH_NS (SIM_EPOCH_NS + 1000000 * SIM_S) /* later than any pod's birth */

struct fresh {
	struct sim *sim;
	struct model *model;
	struct core *core;
	bool filled;
	char *out;
	size_t out_bytes;
	alignas(8) unsigned char buffer[RECORD_BYTES_MAX];
};

static struct record *record_of(struct fresh *f)
{
	return (struct record *)(void *)f->buffer;
}

/* The body was written after its space was reserved. */
static void apply(struct fresh *f)
{
	if (f->filled && core_step(f->core, record_of(f)) < 0)
		sim_fail(f->sim, "protocol: a fresh core refuses a record of kind %u: %s",
		         record_of(f)->kind, core_fault(f->core));
	f->filled = false;
}

static void *reserve(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct fresh *f = context;

	apply(f);
	*record_of(f) = (struct record){
		.bytes = (uint32_t)sizeof(struct record) + body_bytes,
		.kind = (uint16_t)kind,
		.epoch = 1,
		.time_ns = FRESH_NS,
	};
	f->filled = true;
	return record_of(f) + 1;
}

static bool may_wait(const struct fresh *f, const struct pod_view *pod)
{
	const struct replica *leader = sim_leader(f->sim);
	char key[200];

	snprintf(key, sizeof(key), "%s/%s", pod->namespace, pod->name);
	return invariants_may_wait(f->sim->invariants, key,
	                           leader->code->holds(leader->instance, pod->priority));
}

static bool emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct fresh *f = context;
	const struct cmd_bind *cmd = body;
	struct pod_view pod;
	size_t n = strlen(f->out);

	if (kind == CMD_BIND && model_pod(f->model, cmd->pod, cmd->pod_generation, &pod) &&
	    strcmp(pod.namespace, "default") == 0 && !may_wait(f, &pod))
		snprintf(f->out + n, f->out_bytes - n, "%s%s to %s", n > 0 ? ", " : "", pod.name,
		         model_node(f->model, cmd->node, cmd->node_generation));
	return true;
}

static void read_all(struct fresh *f)
{
	const struct as_api *api = f->sim->api;
	struct as_text text = { 0 };
	struct decode_error error;
	size_t n;
	const struct resource *r = model_resources(f->model, &n);

	for (size_t i = 0; i < n; i++) {
		struct as_resource *all =
			as_resources_find(&api->resources, r[i].group, r[i].version, r[i].plural);

		model_resource_served(f->model, (int)i, all != NULL);
		for (struct as_index_entry *e = all != NULL ? all->index.first[0] : NULL; e != NULL;
		     e = e->next[0]) {
			text.bytes = 0;
			as_object_print(&text, e->object, 0);
			model_put(f->model, (int)i, text.at, text.bytes, &error);
		}
	}
	as_text_free(&text);
}

static void plan(struct fresh *f)
{
	struct model_sink sink = { .reserve = reserve, .context = f };

	model_restart(f->model);
	model_set_synced(f->model);
	while (!model_flush(f->model, &sink))
		continue;
	apply(f);
	for (int i = 0; i < ROUNDS_MAX && core_wants_plan(f->core); i++) {
		reserve(f, EVENT_PLAN, 0);
		apply(f);
	}
}

bool fresh_start_binds_nothing(struct sim *s, char *out, size_t out_bytes)
{
	static const char *const names[] = { "muster" };
	struct fresh *f = as_alloc(sizeof(*f));
	struct limits limits = {
		.nodes = 32,
		.pods = 256,
		.gangs = 256,
		.shapes = 1024,
		.names = 64,
		.resources = 32,
		.name_bytes = 1u << 16,
		.command_ring_bytes = 1u << 16,
	};
	struct model_config model = { .scheduler_names = names,
		                          .scheduler_names_n = 1,
		                          .limits = limits,
		                          .hash_key = { 1, 2 },
		                          .devices_live = script_claims(s->script) };
	struct core_config core = { .limits = limits, .emit = emit, .context = f };
	const char *what;
	uint64_t bytes = core_ledger_bytes(&limits, &what);
	struct ledger *ledger = core_ledger_new(bytes);

	*f = (struct fresh){ .sim = s, .out = out, .out_bytes = out_bytes };
	out[0] = '\0';
	if (ledger == NULL)
		as_die("out of memory");
	queues_configure(s->script, &model);
	f->model = model_new(&model);
	f->core = core_new(&core, ledger);
	if (f->model == NULL || f->core == NULL)
		as_die("out of memory");
	read_all(f);
	plan(f);
	core_free(f->core);
	model_free(f->model);
	core_ledger_free(ledger, bytes);
	free(f);
	return out[0] == '\0';
}
