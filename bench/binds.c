/* SPDX-License-Identifier: Apache-2.0 */
/* How many pods a second are bound at an API server that takes 10 or 30 ms for each request, with
 * the window that finds its size, and with the fixed one of 12 in the same run? */
#include "bench/bench.h"
#include "bench/stage.h"

#define NODES 1000u
#define PODS 6000u
#define FIXED "12"

static const struct {
	uint32_t latency_ms;
	double goal; /* of the window that finds its size */
} servers[] = { { 10, 3000 }, { 30, 1000 } };

static bool measure(struct bench_report *report, struct stage *s, const char *kubeconfig,
                    uint32_t pods, uint32_t latency_ms, double goal)
{
	for (int fixed = 0; fixed < 2; fixed++) {
		struct contender muster = { .name = fixed ? "fixed" : "muster",
			                        .kubeconfig = kubeconfig,
			                        .connections = fixed ? FIXED : NULL };
		char name[64];
		double binds;
		bool ok = stage_preloaded(s, &muster, pods, &binds);

		if (!ok && muster.child.name)
			process_show_log(&muster.child);
		contender_stop(&muster);
		if (!ok)
			return false;
		snprintf(name, sizeof(name), "binds-%ums%s", latency_ms, fixed ? "-" FIXED : "");
		bench_add_one(report, name, "per_s", binds, true, fixed ? 0 : goal);
	}
	return true;
}

static bool one_server(struct bench_report *report, const struct bench_options *o, size_t i)
{
	char kubeconfig[PROCESS_PATH];
	struct process apisim = { 0 };
	struct stage s;
	bool ok;

	if (!stage_init(&s))
		return false;
	ok = stage_apisim(&s, &apisim, servers[i].latency_ms, kubeconfig) &&
	     stage_open(&s, kubeconfig, o->nodes ? o->nodes : NODES) &&
	     measure(report, &s, kubeconfig,
	             o->pods    ? o->pods
	             : o->quick ? 500
	                        : PODS,
	             servers[i].latency_ms, servers[i].goal);
	child_stop(&apisim);
	stage_free(&s);
	return ok;
}

bool bench_binds(struct bench_report *report, const struct bench_options *o)
{
	bench_unpin();
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		if (!one_server(report, o, i))
			return false;
	return true;
}
