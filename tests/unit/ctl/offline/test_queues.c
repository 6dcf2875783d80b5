/* SPDX-License-Identifier: Apache-2.0 */
/* simulate with queues: scenarios whose numbers are worked out by hand, through files, model and
 * core, and the errors of files. */
#include "core/cycle/turn_order.h"
#include "ctl/offline/evictions.h"
#include "ctl/offline/offline.h"
#include "ctl/offline/queues.h"
#include "ctl/offline/simulate.h"
#include "frontend/base/bytes.h"
#include "tests/unit/test.h"

#include <unistd.h>

static struct scene {
	struct bytes objects;
	struct files *files;
	struct offline *offline;
	struct queues *queues;
	struct simulation *s;
	uint32_t evicts; /* struct offline_config */
	char error[2048];
} s;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	bytes_put(&s.objects, text);
}

static void nodes_add(unsigned n, unsigned gpu)
{
	for (unsigned i = 0; i < n; i++)
		add("---\napiVersion: v1\nkind: Node\nmetadata: {name: n%02u, labels: {kubernetes.io/hostname: n%02u}}\n"
		    "status: {allocatable: {cpu: 100, memory: 100Gi, pods: 200, nvidia.com/gpu: %u}}\n",
		    i, i, gpu);
}

static void group(const char *name, unsigned quorum)
{
	add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
	    "metadata: {name: %s, namespace: ns}\nspec: {minMember: %u}\n",
	    name, quorum);
}

#define BODY "  containers: [{name: c, resources: {requests: {%s}, limits: {%s}}}]\n"

/* n pods QUEUE-00 ...; `marks` is of their metadata. */
static void pods_add(const char *name, unsigned n, const char *marks, const char *requests)
{
	for (unsigned i = 0; i < n; i++)
		add("---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: %s-%02u\n  namespace: ns\n"
		    "  creationTimestamp: 2026-01-01T00:00:00Z\n  %s\nspec:\n" BODY,
		    name, i, marks, requests, requests);
}

static void queue_pods(const char *queue, unsigned n, unsigned gpu)
{
	char marks[128], requests[64];

	snprintf(marks, sizeof(marks), "labels: {muster.dev/queue: %s}", queue);
	snprintf(requests, sizeof(requests), "nvidia.com/gpu: %u", gpu);
	pods_add(queue, n, marks, requests);
}

static const char *unshared_names[2];
static struct arguments unshared = { .at = unshared_names };

/* False: s.error. */
static bool begin(const char *source, const char *config)
{
	const struct offline_config everything = { .score = SCORE_KUBE, .evicts = s.evicts };
	char path[] = "/tmp/test_queues-XXXXXX";
	const int fd = mkstemp(path);
	bool ok;

	cr_assert_geq(fd, 0);
	if (config)
		cr_assert_eq(write(fd, config, strlen(config)), (ssize_t)strlen(config));
	close(fd);
	s.files = files_new();
	s.offline = offline_new(&everything);
	ok = s.objects.n == 0 ||
	     files_take(s.files, "objects", s.objects.at, s.objects.n, s.error, sizeof(s.error));
	ok = ok && offline_put_all(s.offline, s.files, s.error, sizeof(s.error));
	if (ok)
		s.queues =
			queues_read(config ? path : source, &unshared, s.files, s.error, sizeof(s.error));
	unlink(path);
	return s.queues != NULL;
}

static void place(const char *source, const char *config)
{
	char why[256];

	cr_assert(begin(source, config), "%s", s.error);
	offline_use_queues(s.offline, s.queues);
	cr_assert(offline_place(s.offline, s.error, sizeof(s.error)), "%s", s.error);
	cr_assert(core_valid(offline_core(s.offline), why, sizeof(why)), "%s", why);
	s.s = simulation_new(s.offline);
}

static void end(void)
{
	if (s.s)
		simulation_free(s.s);
	offline_free(s.offline);
	queues_free(s.queues);
	files_free(s.files);
	bytes_free(&s.objects);
	memset(&s, 0, sizeof(s));
}

TestSuite(queues, .fini = end);

static unsigned placed(const char *prefix)
{
	unsigned n = 0;

	for (size_t i = 0; i < s.s->placements_n; i++)
		n += strncmp(s.s->placements[i].pod + 3, prefix, strlen(prefix)) == 0 &&
		     s.s->placements[i].node != NULL;
	return n;
}

static const char *reason(const char *pod)
{
	for (size_t i = 0; i < s.s->placements_n; i++)
		if (strcmp(s.s->placements[i].pod + 3, pod) == 0)
			return s.s->placements[i].reason ? s.s->placements[i].reason : "";
	return "no such pod";
}

#define QUE_1 "- {name: a, limit: {nvidia.com/gpu: 16}}\n"

Test(queues, que_1_a_limit)
{
	nodes_add(10, 8);
	queue_pods("a", 5, 4);
	place(NULL, QUE_1);
	cr_assert_eq(placed("a"), 4);
	cr_assert_str_eq(reason("a-04"), "queue a is at its limit: nvidia.com/gpu need 4, have 0");
}

Test(queues, que_2_later_ones_go_around_or_wait)
{
	for (int fifo = 0; fifo < 2; fifo++) {
		nodes_add(10, 8);
		pods_add("a", 1, "labels: {muster.dev/queue: a}", "nvidia.com/gpu: 8");
		pods_add("b", 2, "labels: {muster.dev/queue: a}", "nvidia.com/gpu: 5");
		pods_add("c", 1, "labels: {muster.dev/queue: a}", "nvidia.com/gpu: 3");
		place(NULL, fifo ? "- {name: a, order: fifo, limit: {nvidia.com/gpu: 16}}\n" : QUE_1);
		cr_assert_eq(placed("b"), 1);
		cr_assert_str_eq(reason("b-01"),
		                 fifo ? "queue a is at its limit: nvidia.com/gpu need 5, have 3"
		                      : "queue a is at its limit: nvidia.com/gpu need 5, have 0");
		cr_assert_str_eq(reason("c-00"), fifo ? "waits behind ns/b-01 in queue a (fifo)" : "");
		end();
	}
}

/* The plan gives the rack with room to the large members, which the queue refuses; the small ones
 * have no node by it, and need one rack. */
Test(queues, members_placed_elsewhere_stay_in_one_domain)
{
	static const unsigned gpus[] = { 1, 8 };

	for (unsigned i = 0; i < 2; i++)
		add("---\napiVersion: v1\nkind: Node\nmetadata: {name: n%02u, labels: {rack: r%u}}\n"
		    "status: {allocatable: {cpu: 100, memory: 100Gi, pods: 200, nvidia.com/gpu: %u}}\n",
		    i, i, gpus[i]);
	add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
	    "metadata: {name: g, namespace: ns, annotations: {muster.dev/required-topology: rack}}\n"
	    "spec: {minMember: 2}\n");
	pods_add("l", 2, "labels: {muster.dev/queue: a, scheduling.x-k8s.io/pod-group: g}",
	         "nvidia.com/gpu: 4");
	pods_add("s", 2, "labels: {muster.dev/queue: a, scheduling.x-k8s.io/pod-group: g}",
	         "nvidia.com/gpu: 1");
	place(NULL, "- {name: a, limit: {nvidia.com/gpu: 2}}\n");
	cr_assert_eq(placed("l"), 0);
	cr_assert_eq(placed("s"), 2);
	for (size_t i = 0; i < s.s->placements_n; i++)
		cr_assert(!s.s->placements[i].node || strcmp(s.s->placements[i].node, "n01") == 0);
}

Test(queues, que_3_reserved_room_is_kept)
{
	nodes_add(10, 8);
	queue_pods("b", 10, 8);
	place(NULL, "queues:\n- name: a\n  guarantee: {nvidia.com/gpu: 32}\n"
	            "  reserved: {nvidia.com/gpu: 32}\n- name: b\n");
	cr_assert_eq(placed("b"), 6);
	cr_assert_str_eq(reason("b-06"),
	                 "room is kept for the guarantees of others: nvidia.com/gpu need 8, have 0");
}

#define RECLAIM (PREEMPTION_ON | PREEMPTION_RECLAIM)

/* PodGroups QUEUEi of one member, on node i; the last one started last. */
static void running_add(const char *queue, unsigned first, unsigned n, const char *labels)
{
	for (unsigned i = first; i < first + n; i++)
		add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
		    "metadata: {name: %s%u, namespace: ns}\nspec: {minMember: 1}\n"
		    "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: %s%u\n  namespace: ns\n"
		    "  creationTimestamp: 2025-01-01T00:00:00Z\n"
		    "  labels: {scheduling.x-k8s.io/pod-group: %s%u, muster.dev/queue: %s%s}\n"
		    "status: {phase: Running, startTime: \"2025-01-01T00:00:%02uZ\"}\n"
		    "spec:\n  nodeName: n%02u\n  priority: 100\n" BODY,
		    queue, i, queue, i, queue, i, queue, labels, i, i, "nvidia.com/gpu: 8",
		    "nvidia.com/gpu: 8");
}

/* Who went, in that order, and by which right. */
static void evicted(const char *wanted)
{
	char text[1024] = "";
	size_t at = 0;

	for (size_t i = 0; i < s.s->evictions_n; i++) {
		const struct eviction *e = &s.s->evictions[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s%s>%s", i > 0 ? " " : "",
		                       e->pod + 3, e->reclaimed ? "" : "!", e->taker + 3);
		cr_assert_lt(at, sizeof(text));
	}
	cr_assert_str_eq(text, wanted);
}

/* The four that started last, although their priority is higher. */
Test(queues, que_4_a_guarantee_is_taken_back)
{
	s.evicts = RECLAIM;
	nodes_add(10, 8);
	running_add("b", 0, 10, "");
	group("g", 4);
	pods_add("g", 4, "labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: a}",
	         "nvidia.com/gpu: 8");
	place(NULL, "- {name: a, guarantee: {nvidia.com/gpu: 32}}\n- name: b\n");
	cr_assert_eq(placed("g"), 4);
	evicted("b6>g b7>g b8>g b9>g");
}

#define FAIR (RECLAIM | PREEMPTION_FAIR)

/* n gangs NAME00 ... of one pod with 8 GPUs, of queue a. */
static void waiting_add(const char *name, unsigned n, unsigned members)
{
	for (unsigned i = 0; i < n; i++) {
		char gang[16], marks[128];

		snprintf(gang, sizeof(gang), "%s%02u", name, i);
		snprintf(marks, sizeof(marks),
		         "labels: {scheduling.x-k8s.io/pod-group: %s, muster.dev/queue: a}", gang);
		add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
		    "metadata: {name: %s, namespace: ns}\nspec: {minMember: %u}\n",
		    gang, members);
		pods_add(gang, members, marks, "nvidia.com/gpu: 8");
	}
}

/* Five of ten and not more; with guarantees alone nothing is owed. */
Test(queues, que_16_fair_reclaim)
{
	for (int fair = 0; fair < 2; fair++) {
		s.evicts = fair ? FAIR : RECLAIM;
		nodes_add(10, 8);
		running_add("b", 0, 10, "");
		waiting_add("a", 10, 1);
		place(NULL, "- name: a\n- name: b\n");
		cr_assert_eq(placed("a"), fair ? 5 : 0);
		evicted(fair ? "b9>a00 b8>a01 b7>a02 b6>a03 b5>a04" : "");
		end();
	}
}

/* One reclaim, two evictions: who lost them is none of those that start there. */
Test(queues, que_17_two_victims_of_one_reclaim)
{
	s.evicts = FAIR;
	nodes_add(10, 8);
	running_add("b", 0, 10, "");
	waiting_add("a", 1, 2);
	queue_pods("b", 2, 8);
	place(NULL, "- name: a\n- name: b\n");
	cr_assert_eq(placed("a"), 2);
	cr_assert_eq(placed("b"), 0);
	evicted("b8>a00 b9>a00");
}

/* 40 gangs of one wait for 32, and a core has 16 tickets. */
Test(queues, each_gang_that_waits_is_searched_for)
{
	s.evicts = RECLAIM;
	nodes_add(10, 8);
	running_add("b", 0, 10, "");
	for (unsigned i = 0; i < 40; i++) {
		char name[8], marks[96];

		snprintf(name, sizeof(name), "g%02u", i);
		snprintf(marks, sizeof(marks),
		         "labels: {scheduling.x-k8s.io/pod-group: %s, muster.dev/queue: a}", name);
		add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
		    "metadata: {name: %s, namespace: ns}\nspec: {minMember: 1}\n",
		    name);
		/* Only the last ones ask for no more than a node has. */
		pods_add(name, 1, marks, i < 36 ? "nvidia.com/gpu: 9" : "nvidia.com/gpu: 8");
	}
	place(NULL, "- {name: a, guarantee: {nvidia.com/gpu: 24}}\n- name: b\n");
	cr_assert_eq(placed("g"), 3);
	cr_assert_eq(s.s->evictions_n, 3);
}

Test(queues, what_is_not_reclaimable_stays)
{
	s.evicts = RECLAIM;
	nodes_add(4, 8);
	running_add("b", 0, 2, "");
	running_add("c", 2, 2, "");
	queue_pods("a", 3, 8);
	group("g", 2);
	pods_add("g", 2, "labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: a}",
	         "nvidia.com/gpu: 8");
	place(NULL, "- {name: a, guarantee: {nvidia.com/gpu: 32}}\n- {name: b, reclaimable: false}\n"
	            "- name: c\n");
	cr_assert_eq(placed("g"), 2);
	cr_assert_eq(placed("a"), 0); /* lone pods take nothing back */
	evicted("c2>g c3>g");
}

/* Each eviction counts for those after it. */
Test(queues, a_budget_is_spent_once)
{
	s.evicts = RECLAIM;
	nodes_add(4, 8);
	running_add("b", 0, 4, ", app: x");
	add("---\napiVersion: policy/v1\nkind: PodDisruptionBudget\n"
	    "metadata: {name: x, namespace: ns}\nspec: {selector: {matchLabels: {app: x}}}\n"
	    "status: {disruptionsAllowed: 1}\n");
	for (unsigned i = 0; i < 2; i++) {
		char marks[96], name[4] = { 'g', (char)('0' + i) };

		snprintf(marks, sizeof(marks),
		         "labels: {scheduling.x-k8s.io/pod-group: %s, muster.dev/queue: a}", name);
		add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
		    "metadata: {name: %s, namespace: ns}\nspec: {minMember: 1}\n",
		    name);
		pods_add(name, 1, marks, "nvidia.com/gpu: 8");
	}
	place(NULL, "- {name: a, guarantee: {nvidia.com/gpu: 32}}\n- name: b\n");
	evicted("b3>g0");
}

/* By priority, in the own queue alone. */
Test(queues, preemption_goes_by_priority)
{
	for (int reclaim = 0; reclaim < 2; reclaim++) {
		s.evicts = reclaim ? RECLAIM : PREEMPTION_ON;
		nodes_add(2, 8);
		running_add("a", 0, 1, "");
		running_add("b", 1, 1, "");
		add("---\napiVersion: v1\nkind: Pod\nmetadata: {name: high, namespace: ns, "
		    "labels: {muster.dev/queue: a}}\nspec:\n  priority: 200\n" BODY,
		    "nvidia.com/gpu: 8", "nvidia.com/gpu: 8");
		place(NULL, "- name: a\n- name: b\n");
		cr_assert_eq(placed("high"), 1);
		evicted(reclaim ? "a0!>high" : "b1!>high");
		end();
	}
}

Test(queues, que_5_6_by_weight)
{
	for (unsigned weight = 1; weight <= 3; weight += 2) {
		nodes_add(10, 8);
		queue_pods("a", 10, 8);
		queue_pods("b", 10, 8);
		place(NULL, weight == 1 ? "- name: a\n- name: b\n" : "- {name: a, weight: 3}\n- name: b\n");
		cr_assert_eq(placed("a"), weight == 1 ? 5 : 7);
		cr_assert_eq(placed("b"), weight == 1 ? 5 : 3);
		end();
	}
}

Test(queues, que_7_a_tree_in_a_config_map)
{
	nodes_add(10, 8);
	queue_pods("a", 20, 4);
	queue_pods("b", 20, 4);
	queue_pods("c", 20, 4);
	queue_pods("eng", 1, 4);
	place(NULL,
	      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: queues}\ndata:\n  queues.yaml: |\n"
	      "    - {name: a, parent: eng}\n    - {name: b, parent: eng}\n    - name: eng\n"
	      "    - name: ops\n    - {name: c, parent: ops}\n");
	cr_assert(placed("a") == 5 && placed("b") == 5 && placed("c") == 10);
	cr_assert_str_eq(reason("eng-00"), "queue eng has children");
}

Test(queues, que_8_no_starvation_by_what_nobody_wants)
{
	nodes_add(1, 80);
	pods_add("b", 1, "labels: {muster.dev/queue: b}", "nvidia.com/gpu: 80");
	pods_add("a", 80, "labels: {muster.dev/queue: a}", "cpu: 2");
	pods_add("c", 80, "labels: {muster.dev/queue: c}", "cpu: 2");
	place(NULL, "- {name: a, parent: eng}\n- {name: b, parent: eng}\n- name: eng\n- name: ops\n"
	            "- {name: c, parent: ops}\n");
	cr_assert(placed("a") == 25 && placed("b") == 1 && placed("c") == 25);
}

Test(queues, que_12_15_missing_foreign_and_closed)
{
	nodes_add(10, 8);
	queue_pods("a", 3, 4);
	queue_pods("gone", 1, 4);
	queue_pods("shut", 1, 4);
	add("---\napiVersion: v1\nkind: Pod\nmetadata: {name: other, namespace: ns, labels: "
	    "{muster.dev/queue: a}}\nspec:\n  nodeName: n03\n  schedulerName: other\n" BODY,
	    "nvidia.com/gpu: 8", "nvidia.com/gpu: 8");
	pods_add("listed", 1, "annotations: {}", "nvidia.com/gpu: 4");
	place(NULL, QUE_1 "- {name: shut, state: Closed}\n- {name: d, namespaces: [other, ns]}\n");
	cr_assert_eq(placed("a"), 2);
	cr_assert_str_eq(reason("gone-00"), "queue gone does not exist");
	cr_assert_str_eq(reason("shut-00"), "queue shut is closed");
	cr_assert_eq(placed("listed"), 1);
}

#define VOLCANO "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"

Test(queues, que_13_volcano)
{
	char passed[64];

	nodes_add(10, 8);
	add(VOLCANO "metadata: {name: a}\nspec: {weight: 1, capability: {nvidia.com/gpu: 16}}\n");
	add(VOLCANO "metadata: {name: b}\nspec: {guarantee: {resource: {nvidia.com/gpu: 40}}}\n"
	            "status: {state: Open}\n");
	add(VOLCANO "metadata: {name: c}\nspec: {}\nstatus: {state: Closing}\n");
	add(VOLCANO "metadata: {name: default}\nspec: {}\n");
	pods_add("a", 3, "annotations: {scheduling.volcano.sh/queue-name: a}", "nvidia.com/gpu: 8");
	pods_add("c", 1, "annotations: {scheduling.volcano.sh/queue-name: c}", "nvidia.com/gpu: 8");
	pods_add("x", 9, "labels: {}", "nvidia.com/gpu: 8");
	add("---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n"
	    "metadata: {name: g, namespace: ns}\nspec: {minMember: 2, queue: b}\n");
	pods_add("g", 2, "annotations: {scheduling.k8s.io/group-name: g}", "nvidia.com/gpu: 8");
	place("volcano", NULL);
	cr_assert_str_empty(offline_passed_over(s.offline, passed, sizeof(passed)));
	cr_assert_eq(placed("g"), 2);
	cr_assert_str_eq(reason("c-00"), "queue c is closing");
	cr_assert_leq(placed("a"), 2);
	cr_assert_eq(placed("a") + placed("x"), 5); /* 40 of 80 are b's alone */
}

#define QUOTA "---\napiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata:\n"
#define QUOTA_LABEL "quota.scheduling.koordinator.sh/"

Test(queues, que_14_koordinator)
{
	nodes_add(10, 8);
	add(QUOTA "  name: up\n  namespace: ns\n  labels: {" QUOTA_LABEL "is-parent: \"true\"}\n"
	          "spec: {max: {nvidia.com/gpu: 64}}\n");
	add(QUOTA "  name: a\n  namespace: ns\n  labels: {" QUOTA_LABEL "parent: up, " QUOTA_LABEL
	          "allow-lent-resource: \"false\"}\n"
	          "spec: {min: {nvidia.com/gpu: 24}, max: {nvidia.com/gpu: 64}}\n");
	add(QUOTA "  name: b\n  namespace: ns\n  labels: {" QUOTA_LABEL "parent: up}\n"
	          "spec: {max: {nvidia.com/gpu: 64}}\n");
	pods_add("b", 8, "labels: {" QUOTA_LABEL "name: b}", "nvidia.com/gpu: 8");
	pods_add("x", 1, "labels: {}", "nvidia.com/gpu: 8");
	place("koordinator", NULL);
	cr_assert_eq(placed("b"), 5); /* 24 of the 64 of `up` are kept for a */
	cr_assert_str_eq(reason("b-05"),
	                 "room is kept for the guarantees of others: nvidia.com/gpu need 8, have 0");
	cr_assert_eq(placed("x"), 1); /* the default quota */
}

#define KAI "---\napiVersion: scheduling.run.ai/v2\nkind: Queue\n"

Test(queues, que_14_kai)
{
	nodes_add(10, 8);
	add(KAI "metadata: {name: up}\nspec: {resources: {gpu: {quota: -1, limit: -1}, "
	        "cpu: {limit: -1}, memory: {limit: -1}}}\n");
	add(KAI "metadata: {name: a}\nspec: {parentQueue: up, resources: {gpu: {quota: 16, limit: 24}, "
	        "cpu: {limit: -1}, memory: {limit: -1}}}\n");
	add(KAI "metadata: {name: none}\nspec: {parentQueue: up, resources: {gpu: {quota: 0}, "
	        "cpu: {limit: -1}, memory: {limit: -1}}}\n");
	pods_add("a", 4, "labels: {kai.scheduler/queue: a}", "nvidia.com/gpu: 8");
	pods_add("none", 1, "labels: {kai.scheduler/queue: none}", "nvidia.com/gpu: 8");
	pods_add("x", 1, "labels: {}", "nvidia.com/gpu: 8");
	place("kai", NULL);
	cr_assert_eq(placed("a"), 3);
	cr_assert_str_eq(reason("none-00"),
	                 "can never start: queue none has a limit of 0 nvidia.com/gpu, needs 8");
	cr_assert_str_eq(reason("x-00"), "queue default-queue does not exist");
}

/* Members beyond the quorum come after all quorums, and inside the limit. */
static void extras_last(const char *config, unsigned gang)
{
	nodes_add(10, 8);
	add("---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\n"
	    "metadata: {name: g, namespace: ns, creationTimestamp: 2025-01-01T00:00:00Z}\n"
	    "spec: {minMember: 2}\n");
	pods_add("g", 9, "labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: a}",
	         "nvidia.com/gpu: 8");
	queue_pods("b", 5, 8);
	place(NULL, config);
	cr_assert_eq(placed("b"), 5);
	cr_assert_eq(placed("g"), gang);
	end();
}

Test(queues, extras_come_last)
{
	extras_last("- name: a\n- name: b\n", 5);
	extras_last("- {name: a, limit: {nvidia.com/gpu: 32}}\n- name: b\n", 4);
}

/* The worker needs the leader beside it, and comes first in the list; both are over the limit. */
Test(queues, a_member_that_needs_another_does_not_start_alone)
{
	const char *marks =
		"labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: a, role: lead}";
	nodes_add(1, 16);
	group("g", 1);
	add("---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a-worker\n  namespace: ns\n"
	    "  creationTimestamp: 2025-01-01T00:00:00Z\n"
	    "  labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: a}\nspec:\n"
	    "  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [\n"
	    "    {labelSelector: {matchLabels: {role: lead}}, topologyKey: kubernetes.io/hostname}]}}\n" BODY,
	    "nvidia.com/gpu: 1", "nvidia.com/gpu: 1");
	pods_add("lead", 1, marks, "nvidia.com/gpu: 8");
	place(NULL, "- {name: a, limit: {nvidia.com/gpu: 8}}\n");
	cr_assert_eq(placed("lead"), 1);
	cr_assert_eq(placed("a-worker"), 0);
}

Test(queues, members_that_name_two_queues)
{
	nodes_add(10, 8);
	group("g", 2);
	pods_add("g", 1, "labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: a}",
	         "nvidia.com/gpu: 8");
	pods_add("h", 1, "labels: {scheduling.x-k8s.io/pod-group: g, muster.dev/queue: b}",
	         "nvidia.com/gpu: 8");
	place(NULL, "- name: a\n- name: b\n");
	cr_assert_eq(placed(""), 0);
	cr_assert_str_eq(s.s->gangs[0].reason, "its members name several queues");
}

/* QUE-6 with gangs of 8, of 80 GPUs that no pod fits into: weights 3 and 1, ties by name.  A
 * question, so it has the same answer twice. */
Test(queues, order_of_turns)
{
	struct turn turns[10];
	char why[256];

	nodes_add(40, 2);
	queue_pods("a", 10, 8);
	queue_pods("b", 10, 8);
	place(NULL, "- {name: a, weight: 3}\n- {name: b, weight: 1}\n");
	for (int twice = 0; twice < 2; twice++) {
		char order[11] = "";

		cr_assert_eq(turn_order(offline_core(s.offline), turns, 10), 10u);
		for (int i = 0; i < 10; i++)
			order[i] = queues_name(s.queues, turns[i].queue)[0];
		cr_assert_str_eq(order, "abaaabaaab");
		cr_assert_eq((uint64_t)turns[0].share, 0u);
		cr_assert(turns[4].share == turns[5].share, "24 / 80 / 0.75 and 8 / 80 / 0.25");
		cr_assert(core_valid(offline_core(s.offline), why, sizeof(why)), "%s", why);
	}
}

/* One inside its guarantee comes first, then by the priority of the queue. */
Test(queues, order_of_turns_by_guarantee)
{
	struct turn turns[4];
	nodes_add(40, 2);
	queue_pods("a", 1, 8);
	queue_pods("b", 1, 8);
	queue_pods("c", 1, 8);
	place(NULL,
	      "- {name: a}\n- {name: b, priority: 1}\n- {name: c, guarantee: {nvidia.com/gpu: 8}}\n");
	cr_assert_eq(turn_order(offline_core(s.offline), turns, 4), 3u);
	cr_assert_str_eq(queues_name(s.queues, turns[0].queue), "c");
	cr_assert_str_eq(queues_name(s.queues, turns[1].queue), "b");
	cr_assert_str_eq(queues_name(s.queues, turns[2].queue), "a");
	cr_assert(turns[0].inside && !turns[1].inside && !turns[2].inside);
}

Test(queues, files_that_are_wrong)
{
	static const struct {
		const char *config, *text;
	} cases[] = {
		{ "- {name: a, limit: {cpu: x}}\n", "queues" },
		{ "- {name: a, limits: {cpu: 1}}\n", "not a field of a queue" },
		{ "- {name: a, minRunSeconds: -1}\n", "-1 is not a number of seconds" },
		{ "- {name: a, runSeconds: 4294967296}\n", "4294967296 is not a number of seconds" },
		{ "- {name: a, maxRunSeconds: -1}\n", "-1 is not a number of seconds" },
		{ "- {name: a, maxRunSeconds: 60, runSeconds: 61}\n",
		  "queue a: runSeconds: 61 is more than its maxRunSeconds of 60" },
		{ "- {name: a, maximumSeconds: 60}\n", "maximumSeconds: not a field of a queue" },
		{ "- {name: a, perNamespace: true}\n", "queue a: perNamespace: it has no namespaces" },
		{ "- {name: a, perNamespace: 1, namespaces: [b]}\n", "perNamespace" },
		{ "- {name: a, namespaces: [b], perNamespace: true}\n- name: a.b\n",
		  "queue a.b is there twice" },
		{ "- {name: a, namespaces: {matchLabels: {team: a}}}\n", "namespaces" },
		{ "- {name: a, namespaces: [{matchlabels: {team: a}}]}\n",
		  "not a field of a label selector: matchLabels and matchExpressions are" },
		{ "- {name: a, namespaces: [{matchLabels: {team: 1}}]}\n", "namespaces[0]" },
		{ "- {name: a, namespaces: [{matchExpressions: [{key: t, operator: In}]}]}\n",
		  "has no values" },
		{ "- {name: a, namespaces: [{matchExpressions: [{key: t, operator: Gt, values: ['1']}]}]}\n",
		  "not an operator of a label selector" },
		{ "- {name: a, namespaces: [1]}\n", "neither a name nor a label selector" },
		{ "- {name: a, namespaces: [{matchLabels: {team: a}}], perNamespace: true}\n",
		  "queue a: perNamespace: its namespaces have to be names" },
		{ "- {weight: 1}\n", "a queue without a name" },
		{ "- {name: a, weight: 1.5}\n", "not a whole number" },
		{ "- {name: a, order: lifo}\n", "skip and fifo" },
		{ "- {name: a, state: Shut}\n", "Open, Closing and Closed" },
		{ "- {name: a, priority: 99999999999}\n", "beyond 32 bits" },
		{ "- {name: a, parent: b}\n", "queue a: parent: queue b does not exist" },
		{ "- {name: a, parent: b}\n- {name: b, parent: a}\n", "queue a: parent: a cycle" },
		{ "- name: a\n- name: a\n", "queue a is there twice" },
		{ "- name: root\n", "queue root" },
		{ "kind: ConfigMap\ndata: {}\n", "a list of queues is missing" },
		{ "- name: [\n", ":" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_not(begin(NULL, cases[i].config), "%s", cases[i].config);
		if (i > 0)
			cr_assert_not_null(strstr(s.error, cases[i].text), "%s: %s", cases[i].config, s.error);
		end();
	}
}

/* The record of a queue has no room for more: it was read, and never sent. */
Test(queues, names_that_are_too_long)
{
	char name[QUEUE_NAME_MAX + 1], config[1024];

	memset(name, 'q', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(config, sizeof(config), "- name: %s\n", name + 1);
	cr_assert(begin(NULL, config), "%s", s.error);
	end();
	snprintf(config, sizeof(config), "- name: a\n- name: %s\n", name);
	cr_assert_not(begin(NULL, config));
	cr_assert_not_null(strstr(s.error, "qqq...: name: 256 bytes, of at most 255"), "%s", s.error);
	end();
	snprintf(config, sizeof(config), "- {name: %s, namespaces: [ns], perNamespace: true}\n",
	         name + 3);
	cr_assert_not(begin(NULL, config));
	cr_assert_not_null(strstr(s.error, "qqq...: name: 256 bytes, of at most 255"), "%s", s.error);
}

Test(queues, fields_that_are_not_served)
{
	add(VOLCANO "metadata: {name: a}\nspec: {affinity: {nodeGroupAffinity: {}}}\n");
	cr_assert_not(begin("volcano", NULL));
	cr_assert_not_null(strstr(s.error, "Queue a: spec.affinity: muster does not serve"), "%s",
	                   s.error);
}
