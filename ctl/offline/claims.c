/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/claims_impl.h"

#include "core/devices/choice.h"
#include "core/filter/evaluate.h"
#include "ctl/gpus/shares.h"
#include "ctl/offline/offline.h"
#include "ctl/term/ctl.h"

#include <stdlib.h>
#include <string.h>

static void claim_devices_clear(struct claim_devices *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->at[i].claim);
		free(list->at[i].request);
		free(list->at[i].device);
		free(list->at[i].consumed);
	}
	free(list->at);
	*list = (struct claim_devices){ 0 };
}

/* The picks of a choice with what they consume, to be freed with picks_free(). */
static struct devices_pick *picks_of(const struct devices_problem *p, const struct choice *choice)
{
	struct devices_pick *picks = must_array(choice->picks_n + 1, sizeof(*picks));

	for (uint32_t i = 0; i < choice->picks_n; i++) {
		const struct choice_pick *from = &choice->picks[i];
		const struct device *device = &p->node.devices[from->device];
		const struct device_option *option =
			&p->question.claims[from->claim].requests[from->request].options[from->option];

		picks[i] = (struct devices_pick){ from->claim,  from->request, from->option,
			                              from->device, NULL,          { 0, i } };
		if (!(device->flags & DEVICE_SHARED))
			continue;
		picks[i].consumed = must_array(device->capacities.n + 1, sizeof(device_amount));
		for (uint32_t k = 0; k < device->capacities.n; k++)
			picks[i].consumed[k] = option->amounts[device->capacities.first + k];
	}
	return picks;
}

static void picks_free(struct devices_pick *picks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(picks[i].consumed);
	free(picks);
}

static void name_all(struct devices *d, const struct devices_pick *picks, size_t n,
                     struct claim_devices *out)
{
	out->at = must_array(n + 1, sizeof(*out->at));
	for (size_t i = 0; i < n; i++) {
		struct devices_named named;

		devices_name(d, &picks[i], &named);
		out->at[out->n++] = (struct claim_device){
			must_copy(named.claim), must_copy(named.request), must_copy(named.device),
			named.consumed != NULL ? must_copy(named.consumed) : NULL, named.admin
		};
	}
}

static void keep_error(struct claims *c, uint32_t pod, const struct choice *choice)
{
	static const enum devices_error errors[] = {
		[CHOICE_TOO_MANY] = DEVICES_TOO_MANY,     [CHOICE_INCOMPLETE] = DEVICES_INCOMPLETE,
		[CHOICE_INVALID] = DEVICES_INVALID,       [CHOICE_SELECTOR] = DEVICES_SELECTOR,
		[CHOICE_CONSTRAINT] = DEVICES_CONSTRAINT,
	};
	const struct devices_fault fault = {
		errors[choice->outcome], choice->at.claim, choice->at.request, choice->at.option,
		choice->at.device,       choice->pool,     choice->number,
	};

	if (c->error != NULL && c->error_pod == pod)
		return;
	free(c->error);
	c->error_pod = pod;
	c->error = ctl_print("running \"DynamicResources\" filter plugin: %s",
	                     devices_fault_text(c->devices, &fault));
	c->errors = must_reach(c->errors, &c->errors_n, pod, 64, sizeof(*c->errors));
	free(c->errors[pod]);
	c->errors[pod] = must_copy(c->error);
}

/* What the outcome means for the node. */
static uint32_t reasons_of(const struct devices_problem *p, enum choice_outcome outcome)
{
	switch (outcome) {
	case CHOICE_FOUND:
		return p->unavailable ? FILTER_BIT(FILTER_DEVICE_CLAIM) : 0;
	case CHOICE_NONE:
		return p->invalid ? FILTER_BIT(FILTER_DEVICE_POOL) : FILTER_BIT(FILTER_DEVICES);
	case CHOICE_GAVE_UP:
		return FILTER_BIT(FILTER_DEVICES_GAVE_UP);
	default:
		return FILTER_BIT(FILTER_DEVICES_FAILED);
	}
}

static uint32_t filter(void *context, uint32_t pod, uint32_t node)
{
	struct claims *c = context;
	struct node_answer *answer;
	struct devices_problem problem;
	struct devices_pick *picks;
	struct choice choice;
	uint32_t whys;

	c->nodes = must_reach(c->nodes, &c->nodes_n, node, 64, sizeof(*c->nodes));
	answer = &c->nodes[node];
	claim_devices_clear(&answer->devices);
	answer->points = 0;
	if (devices_refusal(c->devices, pod) != NULL)
		return FILTER_BIT(FILTER_DEVICES);
	switch (devices_ask(c->devices, pod, offline_node_name(c->offline, node), &problem)) {
	case DEVICES_NONE:
		return 0;
	case DEVICES_UNAVAILABLE:
		return FILTER_BIT(FILTER_DEVICE_CLAIM);
	case DEVICES_ASK:
		break;
	}
	choice_make(&problem.node, &problem.question, &choice);
	whys = reasons_of(&problem, choice.outcome);
	if (whys == FILTER_BIT(FILTER_DEVICES_FAILED))
		keep_error(c, pod, &choice);
	if (whys == 0) {
		picks = picks_of(&problem, &choice);
		answer->points = devices_points(c->devices, picks, choice.picks_n);
		name_all(c->devices, picks, choice.picks_n, &answer->devices);
		picks_free(picks, choice.picks_n);
	}
	choice_free(&choice);
	return whys;
}

static uint32_t points(void *context, uint32_t node)
{
	return ((const struct claims *)context)->nodes[node].points;
}

struct claims *claims_new(struct offline *o, bool by_records)
{
	struct claims *c = must_alloc(sizeof(*c));

	c->offline = o;
	c->by_records = by_records;
	c->devices = devices_new();
	c->filter = (struct device_filter){ c, filter, points };
	return c;
}

void claims_free(struct claims *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->nodes_n; i++)
		claim_devices_clear(&c->nodes[i].devices);
	for (size_t i = 0; i < c->errors_n; i++)
		free(c->errors[i]);
	for (size_t i = 0; i < c->placed_n; i++) {
		if (c->placed[i] != NULL)
			claim_devices_clear(c->placed[i]);
		free(c->placed[i]);
	}
	for (size_t i = 0; i < c->written_n; i++) {
		free(c->written[i].claim);
		free(c->written[i].pod);
		free(c->written[i].allocation);
	}
	claims_records_free(c);
	free(c->nodes);
	free(c->errors);
	free(c->placed);
	free(c->written);
	free(c->error);
	devices_free(c->devices);
	free(c);
}

struct devices *claims_devices(struct claims *c)
{
	return c->by_records ? NULL : c->devices;
}

bool claims_by_records(const struct claims *c)
{
	return c->by_records;
}

const struct device_filter *claims_filter(const struct claims *c)
{
	return c->by_records ? NULL : &c->filter;
}

void claims_begin(struct claims *c, uint32_t pod)
{
	c->evaluated = pod;
	for (size_t i = 0; i < c->nodes_n; i++)
		claim_devices_clear(&c->nodes[i].devices);
	free(c->error);
	c->error = NULL;
}

const struct claim_devices *claims_on(struct claims *c, uint32_t node)
{
	if (c->by_records) {
		c->nodes = must_reach(c->nodes, &c->nodes_n, node, 64, sizeof(*c->nodes));
		claim_devices_clear(&c->nodes[node].devices);
		claims_choose_on(c, node, &c->nodes[node].devices);
	}
	return node < c->nodes_n && c->nodes[node].devices.n > 0 ? &c->nodes[node].devices : NULL;
}

const char *claims_error(const struct claims *c)
{
	return c->error;
}

static uint32_t number_of(const struct claims *c, const char *namespace, const char *name)
{
	struct pod_view pod;

	if (c->by_records)
		return model_pod_by_name(offline_model(c->offline), namespace, name, &pod) ? pod.id + 1 : 0;
	return devices_pod(c->devices, text_of(namespace), text_of(name));
}

const char *claims_error_of(const struct claims *c, const char *namespace, const char *name)
{
	const uint32_t pod = number_of(c, namespace, name);

	return pod > 0 && pod < c->errors_n ? c->errors[pod] : NULL;
}

void claims_add_written(struct claims *c, const char *namespace, const char *pod, const char *claim,
                        const char *allocation)
{
	if (gpu_share_claim(claim))
		return;
	c->written = must_grow(c->written, (c->written_n + 1) * sizeof(*c->written));
	c->written[c->written_n++] = (struct claim_written){
		.claim = ctl_print("%s/%s", namespace, claim),
		.pod = ctl_print("%s/%s", namespace, pod),
		.allocation = must_copy(allocation),
	};
}

static void write_claim(void *context, const char *claim, const char *json)
{
	struct claims *c = context;

	claims_add_written(c, c->writing_namespace, c->writing_pod, claim, json);
}

const struct claim_devices *claims_place(struct claims *c, const char *namespace, const char *name,
                                         uint32_t node)
{
	const uint32_t pod = number_of(c, namespace, name);
	struct devices_problem problem;
	struct choice choice = { 0 };
	struct devices_pick *picks;

	if (pod == 0)
		return NULL;
	if (devices_ask(c->devices, pod, offline_node_name(c->offline, node), &problem) == DEVICES_ASK)
		choice_make(&problem.node, &problem.question, &choice);
	c->placed = must_reach(c->placed, &c->placed_n, pod, 64, sizeof(*c->placed));
	c->placed[pod] = must_alloc(sizeof(**c->placed));
	picks = picks_of(&problem, &choice);
	name_all(c->devices, picks, choice.picks_n, c->placed[pod]);
	c->writing_namespace = namespace;
	c->writing_pod = name;
	devices_allocate(c->devices, picks, choice.picks_n, write_claim, c);
	picks_free(picks, choice.picks_n);
	choice_free(&choice);
	return c->placed[pod];
}

const struct claim_devices *claims_placed(const struct claims *c, const char *namespace,
                                          const char *name)
{
	const uint32_t pod = number_of(c, namespace, name);

	return pod > 0 && pod < c->placed_n ? c->placed[pod] : NULL;
}

const struct claim_written *claims_written(const struct claims *c, size_t *n)
{
	*n = c->written_n;
	return c->written;
}
