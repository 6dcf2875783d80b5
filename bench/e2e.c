/* SPDX-License-Identifier: Apache-2.0 */
/* How fast are pods bound through a whole API server, compared with the bindings that this server
 * accepts at most? On muster-apisim, or on the server of --kubeconfig. */
#include "bench/bench.h"
#include "bench/stage.h"

#define NODES 5000u
#define PODS 3000u
#define GANG 1000u
#define RATE 500u /* pods a second, created in an open loop */
#define RATE_S 60u

/* Shares of what the API server accepts alone; seconds for the gang. */
#define GOAL_PRELOADED 0.85
#define GOAL_LIVE 0.40
#define GOAL_GANG_S 1.2

/* Pods that are due at a rate, their latency from then on, and how long their Events lag behind the
 * last binding: a backlog that grows is seen there. */
static bool measure_rate(struct bench_report *report, struct stage *s, uint32_t pods,
                         const struct bench_options *o)
{
	static const struct {
		const char *name;
		double share;
	} tails[] = { { "p99.9", 0.999 }, { "p99.99", 0.9999 } };
	const uint32_t rate = o->rate ? o->rate : RATE;
	double *ms = calloc(pods, sizeof(*ms));
	bool ok = ms && stage_paced(s, pods, rate, ms);
	char name[64];

	if (ok) {
		snprintf(name, sizeof(name), "e2e-rate-%u", rate);
		bench_add(report, name, "ms", ms, pods, false, 0); /* sorts */
		for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
			snprintf(name, sizeof(name), "e2e-rate-%u-%s", rate, tails[i].name);
			bench_add_one(report, name, "ms", ms[(size_t)((double)(pods - 1) * tails[i].share)],
			              false, 0);
		}
		snprintf(name, sizeof(name), "e2e-rate-%u-events", rate);
		bench_add_one(report, name, "per_s", s->events_per_s, true, 0);
		snprintf(name, sizeof(name), "e2e-rate-%u-events-after", rate);
		bench_add_one(report, name, "s", s->events_after_s, false, 0);
		ok = !o->hgrm || bench_hgrm(o->hgrm, ms, pods);
	}
	free(ms);
	return ok;
}

static uint32_t paced_pods(const struct bench_options *o)
{
	return o->pods ? o->pods : o->quick ? 500 : (o->rate ? o->rate : RATE) * RATE_S;
}

static bool measure(struct bench_report *report, struct stage *s, const char *kubeconfig,
                    const struct bench_options *o)
{
	const uint32_t pods = o->pods    ? o->pods
	                      : o->quick ? 500
	                                 : PODS,
				   gang = o->gang ? o->gang : GANG;
	struct contender muster = { .name = "muster", .kubeconfig = kubeconfig };
	double binds, again, preloaded, preloaded_events, live, live_events, seconds;
	const bool real = o->kubeconfig;
	char name[64];
	bool ok;

	ok = stage_binds(s, pods, &binds) && stage_preloaded(s, &muster, pods, &preloaded);
	preloaded_events = s->events_per_s;
	ok = ok && stage_live(s, pods, &live);
	live_events = s->events_per_s;
	ok = ok && stage_gang(s, &muster, gang, &seconds) && measure_rate(report, s, paced_pods(o), o);
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
	bench_add_one(report, "e2e-preloaded-events", "per_s", preloaded_events, true, 0);
	bench_add_one(report, "e2e-live", "per_s", live, true, real ? GOAL_LIVE * binds : 0);
	bench_add_one(report, "e2e-live-events", "per_s", live_events, true, 0);
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
