/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated kubelets on virtual time, and the book they keep. */
#include "tests/unit/support_apisim.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#define PODS "/api/v1/namespaces/default/pods"

static struct server s;

static void setup(void)
{
	server_start(&s, 1000);
	s.kubelets = as_kubelets_new(
		s.api, &(struct as_kubelet_config){
				   .enabled = true, .start_ms = 100, .grace_ms = 2000, .time_scale = 10 });
}

static void teardown(void)
{
	server_stop(&s);
}

TestSuite(apisim_kubelet, .init = setup, .fini = teardown);

static void wait_ms(uint64_t ms)
{
	as_kubelets_run(s.kubelets, s.now_ns);
	s.now_ns += ms * 1000000;
	as_kubelets_run(s.kubelets, s.now_ns);
}

static const char *phase_of(const char *pod)
{
	char target[128];

	snprintf(target, sizeof(target), PODS "/%s", pod);
	return server_send(&s, "GET", target, NULL) == 200 ? server_text(&s, "status.phase") : "gone";
}

static void expect_after(uint64_t ms, const char *pod, const char *phase)
{
	wait_ms(ms);
	cr_expect_str_eq(phase_of(pod), phase);
}

static int64_t stat(const char *name)
{
	server_send(&s, "GET", "/apisim/stats", NULL);
	return strtoll(server_text(&s, name), NULL, 10);
}

Test(apisim_kubelet, a_bound_pod_runs)
{
	server_node(&s, "n", "4");
	server_pod(&s, "p");
	expect_after(1000, "p", "Pending");
	server_bind(&s, "p", "n");
	expect_after(99, "p", "Pending");
	expect_after(1, "p", "Running");
	cr_expect_str_neq(server_text(&s, "status.podIP"), "");
	expect_after(1000000, "p", "Running");
	cr_expect_eq(as_kubelets_due_ns(s.kubelets), UINT64_MAX);
}

Test(apisim_kubelet, a_job_ends_and_frees_its_room)
{
	server_node(&s, "n", "1");
	server_send(
		&s, "POST", PODS,
		"{\"metadata\":{\"name\":\"job\",\"annotations\":{\"muster.io/run-seconds\":\"50\"}},\"spec\":{\"containers\":"
		"[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}");
	server_pod(&s, "next");
	server_bind(&s, "job", "n");
	wait_ms(100);
	expect_after(4999, "job", "Running");
	expect_after(2, "job", "Succeeded");
	server_bind(&s, "next", "n");
	expect_after(100, "next", "Running");
	cr_expect_eq(stat("overcommitted"), 0);
}

Test(apisim_kubelet, what_does_not_fit_fails_and_is_counted)
{
	server_node(&s, "n", "2");
	for (int i = 0; i < 4; i++) {
		char name[8];

		snprintf(name, sizeof(name), "p%d", i);
		server_pod(&s, name);
		server_bind(&s, name, "n");
	}
	expect_after(100, "p0", "Running");
	cr_expect_str_eq(phase_of("p1"), "Running");
	cr_expect_str_eq(phase_of("p2"), "Failed");
	cr_expect_str_eq(server_text(&s, "status.reason"), "OutOfcpu");
	cr_expect_str_eq(
		server_text(&s, "status.message"),
		"Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 2000, capacity: 2000");
	cr_expect_str_eq(phase_of("p3"), "Failed");
	cr_expect_eq(stat("overcommitted"), 2);
	cr_expect_eq(stat("kubeletRejected"), 2);
	/* The same things seen again, after history was lost, are no new faults. */
	server_send(&s, "POST", "/apisim/faults", "{\"fault\":\"compact\"}");
	wait_ms(100);
	cr_expect_eq(stat("overcommitted"), 2);
}

Test(apisim_kubelet, a_node_may_come_after_its_pods)
{
	server_pod(&s, "p");
	server_bind(&s, "p", "n");
	expect_after(1000, "p", "Pending");
	cr_expect_eq(stat("boundToUnknownNode"), 1);
	server_node(&s, "n", "1");
	expect_after(100, "p", "Running");
	server_send(&s, "GET", "/api/v1/nodes/n", NULL);
	cr_expect_str_eq(
		as_json_string(as_json_array(as_json_get(s.body, "status"), "conditions")->first, "type"),
		"Ready");
}

Test(apisim_kubelet, a_deleted_pod_takes_its_grace)
{
	server_node(&s, "n", "2");
	server_pod(&s, "slow");
	server_pod(&s, "fast");
	server_bind(&s, "slow", "n");
	server_bind(&s, "fast", "n");
	wait_ms(100);
	server_send(&s, "DELETE", PODS "/slow", "");
	server_send(&s, "DELETE", PODS "/fast?gracePeriodSeconds=1", "");
	expect_after(999, "fast", "Running");
	expect_after(1, "fast", "gone");
	expect_after(999, "slow", "Running");
	expect_after(1, "slow", "gone");
	cr_expect_eq(stat("kubeletRemoved"), 2);
}

/* The timer of a pod must not touch another one of its name. */
Test(apisim_kubelet, a_name_used_again_is_another_pod)
{
	server_node(&s, "n", "2");
	server_pod(&s, "p");
	server_bind(&s, "p", "n");
	wait_ms(50);
	server_send(&s, "DELETE", PODS "/p?gracePeriodSeconds=0", "");
	server_pod(&s, "p");
	expect_after(50, "p", "Pending");
	server_bind(&s, "p", "n");
	expect_after(99, "p", "Pending");
	expect_after(1, "p", "Running");
}

Test(apisim_kubelet, a_namespace_is_emptied)
{
	server_pod(&s, "p");
	server_send(&s, "POST", "/api/v1/namespaces/default/configmaps",
	            "{\"metadata\":{\"name\":\"c\"}}");
	cr_expect_eq(server_send(&s, "DELETE", "/api/v1/namespaces/default", ""), 200);
	cr_expect_eq(server_send(&s, "POST", PODS, "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}"), 403);
	wait_ms(0);
	cr_expect_eq(server_send(&s, "GET", "/api/v1/namespaces/default", NULL), 404);
	cr_expect_str_eq(phase_of("p"), "gone");
}

/* Random binds, ends and deletions: at every moment the running pods of a node
 * fit into it, whatever was asked for. */
Test(apisim_kubelet, no_node_runs_more_than_it_has)
{
	struct random r = random_start("apisim_kubelet");

	server_node(&s, "n0", "3");
	server_node(&s, "n1", "5");
	for (int i = 0; i < 2000; i++) {
		char name[16], target[64];
		unsigned used[2] = { 0 };

		snprintf(name, sizeof(name), "p%u", random_below(&r, 20));
		snprintf(target, sizeof(target), PODS "/%s", name);
		switch (random_below(&r, 4)) {
		case 0:
			server_send(&s, "DELETE", target, "");
			break;
		case 1:
			server_bind(&s, name, random_below(&r, 2) == 0 ? "n0" : "n1");
			break;
		case 2:
			wait_ms(random_below(&r, 300));
			break;
		default:
			server_sendf(
				&s, "POST", PODS,
				"{\"metadata\":{\"name\":\"%s\",\"annotations\":{\"muster.io/run-seconds\":\"%u\"}},\"spec\":"
				"{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}",
				name, random_below(&r, 20));
		}
		as_kubelets_run(s.kubelets, s.now_ns);
		server_send(&s, "GET", PODS "?fieldSelector=status.phase%3DRunning", NULL);
		for (const struct as_json *e = as_json_array(s.body, "items")->first; e != NULL;
		     e = e->next)
			used[as_json_string(as_json_get(e, "spec"), "nodeName")[1] - '0']++;
		cr_assert(used[0] <= 3 && used[1] <= 5, "step %d: %u and %u", i, used[0], used[1]);
	}
	cr_expect_gt(stat("kubeletFinished"), 0);
	cr_expect_gt(stat("kubeletRemoved"), 0);
}
