/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the core: each is checked against our own limits before use. */
#include "frontend/loop/frontend_impl.h"

#include "frontend/report/decisions.h"
#include "frontend/serve/extender.h"
#include "frontend/trace/latency.h"
#include "frontend/trace/waits.h"
#include "frontend/base/log.h"
#include "frontend/model/model.h"
#include "frontend/base/probe.h"
#include "frontend/report/report.h"
#include "frontend/bind/binder.h"
#include "frontend/bind/claim_bind.h"

#include <errno.h>

static int bind_take(struct frontend *f, const struct record *record, const struct cmd_bind *cmd)
{
	const enum record_kind kind = (enum record_kind)record->kind;
	struct command_times times = { UINT64_MAX, UINT64_MAX };

	if (cmd->pod >= f->limits.pods || cmd->node >= f->limits.nodes || cmd->pod_generation == 0 ||
	    cmd->node_generation == 0)
		return -EPROTO;
	if (f->stopping)
		return 0;
	if (kind == CMD_CANCEL_BIND)
		return binder_bind(f->binder, kind, cmd);
	f->counts.binds_taken++;
	PROBE(bind_taken, cmd->pod, cmd->pod_generation, cmd->node, cmd->attempt);
	if (f->port.times)
		f->port.times(f->port.context, record, &times);
	latency_commanded(f->latency, cmd, times.begun_ns, times.published_ns, env_now(f->env));
	decisions_bind(f->decisions, cmd, latency_read_ns(f->latency, cmd->pod, cmd->pod_generation));
	return binder_bind(f->binder, kind, cmd);
}

static int devices_take(struct frontend *f, const struct cmd_devices *cmd, size_t body)
{
	if (body < sizeof(*cmd) || cmd->picks_n > DEVICE_PICKS_MAX ||
	    body != sizeof(*cmd) + cmd->picks_n * sizeof(struct device_pick) ||
	    cmd->pod >= f->limits.pods || cmd->node >= f->limits.nodes || !f->claims)
		return -EPROTO;
	claim_bind_devices(f->claims, cmd, (const struct device_pick *)(cmd + 1));
	return 0;
}

struct telling {
	struct latency *latency;
	enum wait_reason why;
};

static void told_pod(void *context, const struct pod_view *pod)
{
	const struct telling *t = context;

	latency_told(t->latency, pod->id, pod->generation, t->why, pod->scheduler_name);
}

static void told(struct frontend *f, const struct cmd_reason *cmd)
{
	struct telling t = { .latency = f->latency, .why = cmd->reason.why };
	struct pod_view pod;

	if (cmd->reason.why == WAIT_NONE)
		return;
	if (cmd->gang != ID_NONE)
		model_gang_pending(f->model, cmd->gang, told_pod, &t);
	else if (model_pod(f->model, cmd->pod, cmd->pod_generation, &pod))
		told_pod(&t, &pod);
}

static int reason_take(struct frontend *f, const struct cmd_reason *cmd)
{
	const struct reason *r = &cmd->reason;

	if (cmd->gang != ID_NONE ? cmd->gang >= f->limits.gangs : cmd->pod >= f->limits.pods)
		return -EPROTO;
	if (r->why >= WAIT_REASONS || r->counts_n > FILTER_COUNTS_MAX ||
	    r->shortfalls_n > SHORTFALLS_MAX || r->lacks_n > DEVICE_LACKS_MAX ||
	    r->promised.moves_n > PROMISE_MOVES_MAX || r->promised.waits_n > PROMISE_WAITS_MAX)
		return -EPROTO;
	for (uint32_t i = 0; i < r->counts_n; i++)
		if (r->counts[i].why >= FILTER_REASONS)
			return -EPROTO;
	f->counts.reasons_taken++;
	PROBE(reason_taken, cmd->gang, cmd->pod, (uint32_t)r->why);
	told(f, cmd);
	report_reason(f->report, cmd);
	preempt_reason(f, cmd);
	return 0;
}

static int claim_take(struct frontend *f, const struct cmd_assume *cmd)
{
	if (!f->extender || (cmd->node != ID_NONE && cmd->node >= f->limits.nodes))
		return -EPROTO;
	extender_answered(f->extender, cmd);
	return 0;
}

static void gang_waited(struct frontend *f, const struct cmd_gang *cmd)
{
	struct gang_view gang;
	uint64_t waited_ns;

	if (waits_gang(f->waits, cmd, env_now(f->env), &waited_ns) &&
	    model_gang(f->model, cmd->gang, cmd->generation, &gang))
		waits_add(f->waits, gang.namespace, model_gang_queue(f->model, cmd->gang), waited_ns);
}

static int gang_take(struct frontend *f, const struct cmd_gang *cmd)
{
	if (cmd->gang >= f->limits.gangs || cmd->state >= GANG_STATES)
		return -EPROTO;
	PROBE(gang_taken, cmd->gang, cmd->generation, (uint32_t)cmd->state);
	decisions_gang(f->decisions, cmd);
	gang_waited(f, cmd);
	report_gang(f->report, cmd);
	return 0;
}

int frontend_command(struct frontend *f, const struct record *record)
{
	size_t body = record->bytes - sizeof(*record);
	const void *at = record + 1;

	f->counts.commands++;
	switch (record->kind) {
	case CMD_BIND:
	case CMD_RETRY_BIND:
	case CMD_CANCEL_BIND:
		return body == sizeof(struct cmd_bind) ? bind_take(f, record, at) : -EPROTO;
	case CMD_DEVICES:
		return devices_take(f, at, body);
	case CMD_REASON:
		return body == sizeof(struct cmd_reason) ? reason_take(f, at) : -EPROTO;
	case CMD_ASSUME:
		return body == sizeof(struct cmd_assume) ? claim_take(f, at) : -EPROTO;
	case CMD_EVICT:
		return body == sizeof(struct cmd_evict) ? preempt_evict(f, at) : -EPROTO;
	case CMD_CANCEL_EVICT:
		return body == sizeof(struct cmd_cancel_evict) ? preempt_cancel(f, at) : -EPROTO;
	case CMD_NOMINATE:
		return body == sizeof(struct cmd_nominate) ? preempt_nominate(f, at) : -EPROTO;
	case CMD_GANG:
		return body == sizeof(struct cmd_gang) ? gang_take(f, at) : -EPROTO;
	default:
		return -EPROTO;
	}
}
