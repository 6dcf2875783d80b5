/* SPDX-License-Identifier: Apache-2.0 */
/* How do muster and the real kube-scheduler compare on the same real API server, in one
 * run?  tests/real/cluster.py starts etcd and kube-apiserver, tests/real/build.sh has
 * kube-scheduler; both are built from source the first time, which takes minutes.
 *
 * compare: kube-scheduler runs twice, as it comes, which looks at a sample of the nodes, and with
 * every node scored, which is what muster always does.  compare-devices: a gang whose members have
 * a claim for one device each, and 8 devices on each node; who is first changes with each run. */
#include "bench/bench.h"
#include "bench/stage.h"

#include <sys/stat.h>

#define NODES 1000u
#define PODS 500u
#define GANG 100u
#define TIMES_SAMPLED 5 /* goals: muster's rate over kube-scheduler's */
#define TIMES_EXACT 35
#define DEVICES_NODES 5000u
#define DEVICES_GANG 1000u
#define TIMES_DEVICES 10
#define TIMES_WRITES 1.3 /* goal: muster's time over that of the writes alone */

struct ground {
	char tree[PROCESS_PATH];
	char folder[PROCESS_PATH];
	char script[PROCESS_PATH + 32];
	char kube[PROCESS_PATH];
	char admin[PROCESS_PATH + 32], muster[PROCESS_PATH + 32];
	bool started;
};

/* The directory of the programs is the last line that the script printed. */
static bool find_kube(struct ground *g, const struct stage *s)
{
	char script[PROCESS_PATH + 32], path[PROCESS_PATH], line[PROCESS_PATH / 2] = "",
																			next[PROCESS_PATH / 2];
	const char *argv[] = { script, "kube-scheduler", NULL };
	FILE *f;

	snprintf(script, sizeof(script), "%s/tests/real/build.sh", g->tree);
	if (!child_run(s->folder, "build", argv))
		return false;
	snprintf(path, sizeof(path), "%s/build.log", s->folder);
	f = fopen(path, "re");
	while (f && fgets(next, sizeof(next), f))
		if (next[0] == '/')
			snprintf(line, sizeof(line), "%s", next);
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	snprintf(g->kube, sizeof(g->kube), "%s/kube-scheduler", line);
	return line[0] == '/';
}

static bool ground_open(struct ground *g, const struct stage *s, bool devices)
{
	const char *argv[] = { g->script, "start", g->folder, "--gates", devices ? "--devices" : NULL,
		                   NULL };
	const char *stop[] = { g->script, "stop", g->folder, NULL };
	struct stat st;

	if (!child_tree(g->tree))
		return false;
	snprintf(g->script, sizeof(g->script), "%s/tests/real/cluster.py", g->tree);
	if (stat(g->script, &st) < 0) {
		fprintf(stderr, "muster-bench: compare needs the source tree, and %s is not there\n",
		        g->script);
		return false;
	}
	if (!find_kube(g, s))
		return false;
	snprintf(g->folder, sizeof(g->folder), "%s/cluster", s->folder);
	snprintf(g->admin, sizeof(g->admin), "%s/admin.kubeconfig", g->folder);
	snprintf(g->muster, sizeof(g->muster), "%s/muster.kubeconfig", g->folder);
	g->started = child_guard(stop) && child_run(s->folder, "cluster", argv);
	return g->started;
}

static void ground_close(struct ground *g, const struct stage *s)
{
	const char *argv[] = { g->script, "stop", g->folder, NULL };

	if (g->started)
		child_run(s->folder, "cluster-stop", argv);
}

struct figures {
	double preloaded, gang_s;
};

static bool contend(struct stage *s, struct contender *c, uint32_t pods, uint32_t gang,
                    struct figures *f)
{
	bool ok = stage_preloaded(s, c, pods, &f->preloaded) && stage_gang(s, c, gang, &f->gang_s);

	if (!ok)
		process_show_log(&c->child);
	contender_stop(c);
	return ok;
}

static void add(struct bench_report *report, const struct contender *c, const struct figures *f,
                uint32_t gang, double goal_rate, double goal_s)
{
	char name[64];

	snprintf(name, sizeof(name), "%s-preloaded", c->name);
	bench_add_one(report, name, "per_s", f->preloaded, true, goal_rate);
	snprintf(name, sizeof(name), "%s-gang-%u", c->name, gang);
	bench_add_one(report, name, "s", f->gang_s, false, goal_s);
}

static bool measure(struct bench_report *report, struct stage *s, const struct ground *g,
                    const struct bench_options *o)
{
	const uint32_t pods = o->pods ? o->pods : PODS, gang = o->gang ? o->gang : GANG;
	struct contender all[] = {
		{ .name = "muster", .kubeconfig = g->muster },
		{ .name = "kube-sampled", .program = g->kube, .kubeconfig = g->admin },
		{ .name = "kube-exact", .program = g->kube, .kubeconfig = g->admin, .percent = 100 },
	};
	struct figures f[3];
	double binds, again, live, goal;

	if (!stage_binds(s, pods, &binds) || !stage_preloaded(s, &all[0], pods, &f[0].preloaded) ||
	    !stage_live(s, pods, &live) || !stage_gang(s, &all[0], gang, &f[0].gang_s)) {
		if (all[0].child.name)
			process_show_log(&all[0].child);
		contender_stop(&all[0]);
		return false;
	}
	contender_stop(&all[0]);
	/* Once before and once after muster: other work on the machine comes and goes. */
	if (!stage_binds(s, pods, &again))
		return false;
	binds = (binds + again) / 2;
	/* With every node scored a run takes so long that fewer pods have to do. */
	if (!contend(s, &all[1], pods, gang, &f[1]) ||
	    !contend(s, &all[2], pods > 200 ? pods / 5 : pods, gang, &f[2]))
		return false;
	goal = TIMES_SAMPLED * f[1].preloaded;
	if (goal < TIMES_EXACT * f[2].preloaded)
		goal = TIMES_EXACT * f[2].preloaded;
	bench_add_one(report, "apiserver-binds", "per_s", binds, true, 0);
	/* No scheduler is faster than the server. */
	goal = goal < 0.85 * binds ? goal : 0.85 * binds;
	add(report, &all[0], &f[0], gang, goal, gang == 1000 ? 1.2 : 0);
	bench_add_one(report, "muster-live", "per_s", live, true, 0.40 * binds);
	add(report, &all[1], &f[1], gang, 0, 0);
	add(report, &all[2], &f[2], gang, 0, 0);
	return true;
}

struct devices_figures {
	double seconds, cpu_s;
};

static bool contend_for_devices(struct stage *s, struct contender *c, uint32_t gang,
                                struct devices_figures *f)
{
	const bool ok = contender_start(c, s) && stage_gang(s, c, gang, &f->seconds);

	if (!ok)
		process_show_log(&c->child);
	f->cpu_s = s->cpu_s;
	contender_stop(c);
	return ok;
}

static void add_devices(struct bench_report *report, const char *name, uint32_t gang,
                        const struct devices_figures *f, double goal)
{
	char row[64];

	snprintf(row, sizeof(row), "%s-claims-gang-%u", name, gang);
	bench_add_one(report, row, "s", f->seconds, false, 0);
	snprintf(row, sizeof(row), "%s-claims-rate", name);
	bench_add_one(report, row, "per_s", gang / f->seconds, true, goal);
	snprintf(row, sizeof(row), "%s-claims-cpu", name);
	bench_add_one(report, row, "s", f->cpu_s, false, 0);
}

static bool measure_devices(struct bench_report *report, struct stage *s, const struct ground *g,
                            const struct bench_options *o)
{
	static unsigned runs;
	const uint32_t gang = o->gang ? o->gang : DEVICES_GANG;
	struct contender all[] = {
		{ .name = "muster", .kubeconfig = g->muster, .devices = true },
		{ .name = "kube", .program = g->kube, .kubeconfig = g->admin, .devices = true },
	};
	const unsigned first = runs++ % 2;
	struct devices_figures f[2];
	double before, after;
	char row[64];

	if (!stage_devices(s) || !stage_claim_writes(s, gang, &before) ||
	    !contend_for_devices(s, &all[first], gang, &f[first]) ||
	    !contend_for_devices(s, &all[1 - first], gang, &f[1 - first]) ||
	    !stage_claim_writes(s, gang, &after))
		return false;
	/* Once before and once after: other work on the machine comes and goes. */
	before = (before + after) / 2;
	snprintf(row, sizeof(row), "apiserver-writes-%u", 3 * gang);
	bench_add_one(report, row, "s", before, false, 0);
	add_devices(report, "muster", gang, &f[0], TIMES_DEVICES * gang / f[1].seconds);
	add_devices(report, "kube", gang, &f[1], 0);
	snprintf(row, sizeof(row), "dra-e2e-gang-%u", gang);
	bench_add_one(report, row, "s", f[0].seconds, false, TIMES_WRITES * before);
	return true;
}

static bool on_ground(struct bench_report *report, const struct bench_options *o, bool devices)
{
	const uint32_t nodes = o->nodes ? o->nodes : devices ? DEVICES_NODES : NODES;
	struct ground g = { .started = false };
	struct stage s;
	bool ok;

	bench_unpin();
	if (!stage_init(&s))
		return false;
	ok = ground_open(&g, &s, devices) && stage_open(&s, g.admin, nodes) &&
	     (devices ? measure_devices : measure)(report, &s, &g, o);
	ground_close(&g, &s);
	stage_free(&s);
	return ok;
}

bool bench_compare(struct bench_report *report, const struct bench_options *o)
{
	return on_ground(report, o, false);
}

bool bench_compare_devices(struct bench_report *report, const struct bench_options *o)
{
	return on_ground(report, o, true);
}
