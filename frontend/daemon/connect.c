/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/daemon/daemon.h"

#include "frontend/base/probe.h"

#include <errno.h>
#include <string.h>

#define CONNECT_AGAIN_NS (100 * NS_PER_MS)
#define COMMANDS_AT_ONCE 1024
/* Of a core that gave no answer before: the loop does not run meanwhile. */
#define ANSWER_NS (500 * NS_PER_MS)
#define ANSWER_AGAIN_NS NS_PER_S

void core_lost(struct daemon *d, const char *why)
{
	env_log(&d->env, "warn", "%s; waiting for a new core", why);
	PROBE(core_lost, corelink_epoch(d->link));
	frontend_core_down(d->frontend); /* may read the ledger once more */
	corelink_close(d->link);
	d->connect_ns = 0;
}

void core_stalled(struct daemon *d)
{
	char why[128];

	snprintf(why, sizeof(why), "muster-core read no record for %lld s; connection closed",
	         (long long)d->options->core_stall_s);
	d->metrics.lost.stalled++;
	*d->core_stalled = true;
	core_lost(d, why);
	frontend_core_stalled(d->frontend);
}

static void core_accept(struct daemon *d)
{
	struct frontend_port port = corelink_port(d->link);
	const struct limits *l = corelink_limits(d->link);

	if (frontend_core_up(d->frontend, l, &port) < 0) {
		env_log(
			&d->env, "error",
			"the cluster is larger than the limits of muster-core (%u nodes, %u pods, %u gangs, "
			"%u shapes, %u names): start it with larger ones",
			l->nodes, l->pods, l->gangs, l->shapes, l->names);
		corelink_close(d->link);
		d->connect_ns = env_now(&d->env) + 10 * NS_PER_S;
		return;
	}
	d->last_error[0] = '\0';
	*d->core_stalled = d->no_answer = false;
	env_log(&d->env, "info",
	        "connected to muster-core at %s, epoch %llu, limits %u nodes and %u pods",
	        d->options->socket, (unsigned long long)corelink_epoch(d->link), l->nodes, l->pods);
}

int core_connect(struct daemon *d)
{
	struct link_error e = { 0 };
	bool slow = *d->core_stalled || d->no_answer;

	if (corelink_is_up(d->link) || env_now(&d->env) < d->connect_ns || signals_stop_wanted())
		return -1;
	if (corelink_connect(d->link, slow ? ANSWER_NS : LINK_ANSWER_NS, &e) == 0) {
		PROBE(core_connected, corelink_epoch(d->link));
		core_accept(d);
		return -1;
	}
	if (e.rc == -EPROTONOSUPPORT) {
		env_log(&d->env, "error", "%s", e.text);
		return EXIT_CONFIG;
	}
	if (strcmp(d->last_error, e.text) != 0) {
		env_log(&d->env, e.rc == -ENOENT || e.rc == -ECONNREFUSED ? "info" : "warn",
		        "%s; trying again", e.text);
		snprintf(d->last_error, sizeof(d->last_error), "%s", e.text);
	}
	d->no_answer = e.rc == -ETIMEDOUT;
	d->connect_ns = env_now(&d->env) + (d->no_answer ? ANSWER_AGAIN_NS : CONNECT_AGAIN_NS);
	return -1;
}

bool core_read(struct daemon *d)
{
	struct record *r = (struct record *)d->record;

	if (!corelink_is_up(d->link))
		return false;
	for (int i = 0; i < COMMANDS_AT_ONCE; i++) {
		int rc = corelink_read(d->link, r);

		if (rc == 0) {
			PROBE(ring_out_release, (uint32_t)i);
			corelink_release(d->link);
			return false;
		}
		if (rc > 0) {
			PROBE(ring_out_read, (uint32_t)r->kind, r->epoch, r->sequence);
			rc = frontend_command(d->frontend, r);
		}
		if (rc < 0) {
			d->metrics.lost.bad_command++;
			core_lost(d, "muster-core sent a command that makes no sense; connection closed");
			return false;
		}
	}
	corelink_release(d->link);
	return true;
}
