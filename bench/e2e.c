/* SPDX-License-Identifier: Apache-2.0 */
/* How fast are pods bound through a whole API server, compared with the bindings that this server
 * accepts at most? On muster-apisim, or on the server of --kubeconfig. */
#include "bench/bench.h"
#include "bench/stage.h"

#define NODES 5000u
#define PODS 3000u
#define GANG 1000u

/* Shares of what the API server accepts alone; seconds for the gang. */
#define GOAL_PRELOADED 0.85
#define GOAL_LIVE 0.40
#define GOAL_GANG_S 1.2

static bool measure(struct bench_report *report, struct stage *s, const char *kubeconfig,
                    const struct bench_options *o)
{
	const uint32_t pods = o->pods    ? o->pods
	                      : o->quick ? 500
	                                 : PODS,
				   gang = o->gang ? o->gang : GANG;
	struct contender muster = { .name = "muster", .kubeconfig = kubeconfig };
	double binds, again, preloaded, live, seconds;
	const bool real = o->kubeconfig;
	char name[64];
	bool ok;

	ok = stage_binds(s, pods, &binds) && stage_preloaded(s, &muster, pods, &preloaded) &&
	     stage_live(s, pods, &live) && stage_gang(s, &muster, gang, &seconds);
	if (!ok && muster.child.name)
		process_show_log(&muster.child);
	contender_stop(&muster);
	/* Once before and once after muster: other work on the machine comes and goes. */
	if (!ok || !stage_binds(s, pods, &again))
		return false;
	binds = (binds + again) / 2;
	/* The goals are for a real API server, which is the bottleneck. */
	bench_add_one(report, "apiserver-binds", "per_s", binds, true, 0);
	bench_add_one(report, "e2e-preloaded", "per_s", preloaded, true,
	              real ? GOAL_PRELOADED * binds : 0);
	bench_add_one(report, "e2e-live", "per_s", live, true, real ? GOAL_LIVE * binds : 0);
	snprintf(name, sizeof(name), "e2e-gang-%u", gang);
	bench_add_one(report, name, "s", seconds, false, real && gang == GANG ? GOAL_GANG_S : 0);
	return true;
}

bool bench_e2e(struct bench_report *report, const struct bench_options *o)
{
	char kubeconfig[PROCESS_PATH];
	struct process apisim = { 0 };
	uint32_t nodes = o->nodes;
	struct stage s;
	bool ok;

	bench_unpin();
	if (!stage_init(&s))
		return false;
	if (o->kubeconfig) {
		snprintf(kubeconfig, sizeof(kubeconfig), "%s", o->kubeconfig);
		s.clean = true;
	} else {
		nodes = nodes ? nodes : o->quick ? 1000 : NODES;
	}
	ok = (o->kubeconfig || stage_apisim(&s, &apisim, 0, kubeconfig)) &&
	     stage_open(&s, kubeconfig, nodes) && measure(report, &s, kubeconfig, o);
	child_stop(&apisim);
	stage_free(&s);
	return ok;
}
