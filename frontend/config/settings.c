/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/settings.h"

#include "ipc/abi.h"
#include "ipc/link.h"
#include "ipc/ring.h"

#include <sched.h>

#define AT(field) .at = offsetof(struct options, field)
#define SECONDS_MAX INT32_MAX /* the range of upstream's fields */

static const char *const levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const formats[] = { "logfmt", "json", NULL };
static const char *const modes[] = { "on", "off", NULL };
static const char *const auths[] = { "none", "mtls", "token", NULL };
static const char *const devices[] = { "off", "auto", NULL };
static const char *const streams[] = { "off", "auto", NULL };
static const char *const preemptions[] = { "off", "explain", "on", NULL };
static const char *const budgets[] = { "respect", "best-effort", NULL };
static const char *const victims[] = { "own", "all", NULL };
static const char *const reclaims[] = { "off", "guarantee", "fair", NULL };
static const char *const queues[] = { "none",        "auto", "config", "volcano",
	                                  "koordinator", "kai",  NULL };
static const char *const scores[] = { "kube", "pack", "bestfit", "fgd", "muster", NULL };

const struct setting settings[] = {
	{ "socket", "--socket", "PATH", LINK_DEFAULT_SOCKET, "where muster-core listens", AT(socket) },
	{ "kubeconfig", "--kubeconfig", "FILE", NULL,
	  "how to reach the API server; else $KUBECONFIG, the pod's service account, ~/.kube/config",
	  AT(kubeconfig) },
	{ "context", "--context", "NAME", NULL, "of the kubeconfig, instead of its current-context",
	  AT(context) },
	{ "insecureSkipTLSVerify", "--insecure-skip-tls-verify", NULL, "false",
	  "take a kubeconfig that asks not to verify the server", AT(insecure), .kind = SETTING_YES },
	{ "schedulerNames", "--scheduler-name", "NAME", "muster",
	  "schedule pods with this spec.schedulerName", AT(scheduler_names), .kind = SETTING_NAMES },
	{ "nodeSelector", "--node-selector", "SELECTOR", NULL,
	  "only nodes with these labels exist, such as pool=a,zone in (x,y): a cluster may be divided between "
	  "instances, each with scheduler names of its own",
	  AT(node_selector), .kind = SETTING_SELECTOR },
	{ "streamLists", "--stream-lists", "MODE", "off",
	  "auto: the lists of a start come as one stream each where the API server can (WatchList), else in pages; off: in pages",
	  AT(stream_lists), .kind = SETTING_WORD, .words = streams },
	{ "listen", "--listen", "ADDR:PORT", "127.0.0.1:10261",
	  "/metrics, /latency, /healthz, /livez, /readyz, and a page for browsers at /; \"off\": nowhere",
	  AT(listen), .kind = SETTING_LISTEN },
	{ "healthListen", "--health-listen", "ADDR:PORT", "off",
	  "/healthz, /livez and /readyz on a listener of their own, which no load on --listen delays: for probes",
	  AT(health_listen), .kind = SETTING_LISTEN },
	{ "allowedHosts", "--allowed-hosts", "NAME", NULL,
	  "a name by which clients reach --listen, such as a Service's; addresses and localhost are allowed",
	  AT(allowed_hosts), .kind = SETTING_NAMES },
	{ "bindConnections", "--bind-connections", "N", "0",
	  "at most so many binding requests at once; 0: as many as make them faster, up to 256",
	  AT(bind_connections), .kind = SETTING_NUMBER, .most = 256 },
	{ "volumeBindSeconds", "--volume-bind-timeout", "SECONDS", "600",
	  "bind the claims of pods that wait for their first consumer, and wait so long for it; 0: don't, such pods wait",
	  AT(volume_bind_s), .kind = SETTING_NUMBER, .most = 86400 },
	{ "deviceBindSeconds", "--device-bind-timeout", "SECONDS", "600",
	  "wait so long for the binding conditions of devices that a claim was given",
	  AT(device_bind_s), .kind = SETTING_NUMBER, .least = 1, .most = 86400 },
	{ "reportQPS", "--report-qps", "N", "200",
	  "conditions and events of what waits, written each second", AT(report_per_second),
	  .kind = SETTING_NUMBER, .least = 1, .most = 100000 },
	{ "extenderKeepSeconds", "--extender-keep", "SECONDS", "0",
	  "answer /filter and /prioritize on --listen for another scheduler, and keep room for its pod so long; 0: don't",
	  AT(extender_keep_s), .kind = SETTING_NUMBER, .most = 3600 },
	{ "extenderAuth", "--extender-auth", "METHOD", "none",
	  "how a client of the extender proves to be one of --extender-user: mtls: by a certificate of --client-ca-file; token: by "
	  "a bearer token, with a TokenReview; none: not at all, for a --listen on a loopback address",
	  AT(extender_auth), .kind = SETTING_WORD, .words = auths },
	{ "extenderUsers", "--extender-user", "NAME", "system:kube-scheduler",
	  "the common name of its certificate, or the user of its token", AT(extender_users),
	  .kind = SETTING_NAMES },
	{ "extenderReservationsMax", "--extender-reservations-max", "N", "1024",
	  "reserve capacity for so many pods of the extender at once; more get an answer without a reservation",
	  AT(extender_reservations), .kind = SETTING_NUMBER, .least = 1, .most = 16384 },
	{ "tlsCertFile", "--tls-cert-file", "FILE", NULL,
	  "serve --listen by TLS with this certificate; read again when it changes", AT(tls_cert) },
	{ "tlsPrivateKeyFile", "--tls-private-key-file", "FILE", NULL, "its key", AT(tls_key) },
	{ "clientCAFile", "--client-ca-file", "FILE", NULL,
	  "certificates of clients are of these authorities", AT(client_ca) },
	{ "eventRingBytes", "--event-ring-bytes", "N", "8388608", "room for events towards the core",
	  AT(event_ring_bytes), .kind = SETTING_POWER, .least = RING_BYTES_MIN, .most = 1 << 28 },
	{ "resultRingBytes", "--result-ring-bytes", "N", "1048576", "room for results",
	  AT(result_ring_bytes), .kind = SETTING_POWER, .least = 4096, .most = 1 << 28 },
	{ "coreStallSeconds", "--core-stall-seconds", "SECONDS", "10",
	  "close the connection to a core that reads no record for so long, and give the lease up",
	  AT(core_stall_s), .kind = SETTING_NUMBER, .least = 1, .most = 3600 },
	{ "cpu", "--cpu", "N", NULL, "run on this CPU; best another one than muster-core's", AT(cpu),
	  .kind = SETTING_NUMBER, .most = CPU_SETSIZE - 1 },
	{ "logLevel", "--log-level", "LEVEL", "info", "what is said on standard error", AT(log_level),
	  .kind = SETTING_WORD, .words = levels },
	{ "logFormat", "--log-format", "FORMAT", "logfmt", "how a line of it is written",
	  AT(log_format), .kind = SETTING_WORD, .words = formats },
	{ "seccomp", "--seccomp", "MODE", "on",
	  "on: after the start no system call that would run a program, write a file, look into another process or change the "
	  "system; off: any",
	  AT(seccomp), .kind = SETTING_WORD, .words = modes },

	{ "leaderElection.leaderElect", "--leader-elect", NULL, "false",
	  "act only while this instance holds the lease; others stand by", AT(leader_elect),
	  .kind = SETTING_YES },
	{ "leaderElection.leaseDurationSeconds", "--leader-elect-lease-duration", "SECONDS", "15",
	  "another instance takes a lease that was not renewed for so long", AT(lease_s),
	  .kind = SETTING_NUMBER, .least = 1, .most = 3600 },
	{ "leaderElection.renewDeadlineSeconds", "--leader-elect-renew-deadline", "SECONDS", "10",
	  "the holder stops when it could not renew for so long", AT(renew_s), .kind = SETTING_NUMBER,
	  .least = 1, .most = 3600 },
	{ "leaderElection.retryPeriodSeconds", "--leader-elect-retry-period", "SECONDS", "2",
	  "between requests for the lease", AT(retry_s), .kind = SETTING_NUMBER, .least = 1,
	  .most = 3600 },
	{ "leaderElection.resourceName", "--leader-elect-resource-name", "NAME", "muster", "the Lease",
	  AT(lease_name) },
	{ "leaderElection.resourceNamespace", "--leader-elect-resource-namespace", "NAMESPACE",
	  "muster-system", "its namespace", AT(lease_namespace) },

	{ "journal", "--journal", "NAMESPACE/NAME", NULL,
	  "the ConfigMap of what may be in flight at the API server, for the next instance; else "
	  "RESOURCE-NAMESPACE/RESOURCE-NAME-journal of the leader election, and without one a suffix for "
	  "other scheduler names or a node selector; \"off\": none is kept",
	  AT(journal), .kind = SETTING_JOURNAL },

	{ "dialects", .help = "the dialects that are on; pods don't belong to groups of others",
	  AT(dialects), .kind = SETTING_DIALECTS },
	{ "disabledDialects", .help = "or those that are off, when all others are to be on",
	  AT(dialects_off), .kind = SETTING_DIALECTS },
	{ "volcanoQueues", "--volcano-queue", "NAME", NULL,
	  "write phase Inqueue to Volcano's PodGroups of this queue: its controller creates the pods of a job then",
	  AT(volcano_queues), .kind = SETTING_NAMES },
	{ "devices", "--devices", "MODE", "off",
	  "auto: pods with resource claims are placed if the API server serves resource.k8s.io/v1",
	  AT(devices), .kind = SETTING_WORD, .words = devices },
	{ "preemption", "--preemption", "MODE", "explain",
	  "explain: find the pods whose eviction would let a waiting gang start, and evict none; on: evict them; off: don't",
	  AT(preemption), .kind = SETTING_WORD, .words = preemptions },
	{ "preemptionBudgets", "--preemption-budgets", "MODE", "respect",
	  "respect: evict by the Eviction API, no PodDisruptionBudget is exceeded; best-effort: delete, budgets may be exceeded if "
	  "nothing else helps",
	  AT(preemption_budgets), .kind = SETTING_WORD, .words = budgets },
	{ "preemptVictims", "--preempt-victims", "WHOSE", "own",
	  "own: only pods of --scheduler-name may go; all: those of other schedulers, too",
	  AT(preempt_victims), .kind = SETTING_WORD, .words = victims },
	{ "preemptMinRuntimeSeconds", "--preempt-min-runtime", "SECONDS", "0",
	  "a pod that has run for less is not evicted, nor is a gang whose youngest member has",
	  AT(preempt_min_run_s), .kind = SETTING_NUMBER, .most = SECONDS_MAX },
	{ "preemptCooldownSeconds", "--preempt-cooldown", "SECONDS", "300",
	  "after an eviction other pods of the same controller are spared so long",
	  AT(preempt_cooldown_s), .kind = SETTING_NUMBER, .most = SECONDS_MAX },
	{ "preemptPatienceSeconds", "--preempt-patience", "SECONDS", "30",
	  "a pod that was evicted and is still there so long after its grace period counts as stuck",
	  AT(preempt_patience_s), .kind = SETTING_NUMBER, .most = SECONDS_MAX },
	{ "evictionsPerSecond", "--evictions-per-second", "N", "20",
	  "evict so many pods each second, five times as many at once", AT(evictions_per_second),
	  .kind = SETTING_NUMBER, .least = 1, .most = 10000 },
	{ "queues.source", "--queues", "SOURCE", "none",
	  "share the cluster by queues: config: of --queues-configmap; volcano, koordinator, kai: of their objects; auto: of those "
	  "that are there (a 403 says no after 30 s); none: there are none",
	  AT(queues), .kind = SETTING_WORD, .words = queues },
	{ "queues.configMap", "--queues-configmap", "NAMESPACE/NAME", "muster-system/muster-queues",
	  "the ConfigMap with the queues of --queues config, as its key queues.yaml",
	  AT(queues_configmap), .kind = SETTING_OBJECT },
	{ "queues.reclaim", "--reclaim", "MODE", "off",
	  "with --preemption, what another queue has is taken back by a gang inside the guarantee of its own, whatever the "
	  "priorities: guarantee; fair: also by one that has the smaller share; off: by priority, as without queues",
	  AT(reclaim), .kind = SETTING_WORD, .words = reclaims },
	{ "queues.reclaimPatienceSeconds", "--reclaim-patience", "SECONDS", "30",
	  "with --reclaim, a gang that will have room within so long by known ends of pods evicts none; 0: it does",
	  AT(reclaim_patience_s), .kind = SETTING_NUMBER, .most = SECONDS_MAX },
	{ "workloadPolicies", .initial = "true", .help = "honour Kosmos' WorkloadPolicies",
	  AT(policies), .kind = SETTING_YES },

	{ "coscheduling.permitWaitingTimeSeconds", .argument = "seconds",
	  .help =
	      "how long a PodGroup without scheduleTimeoutSeconds may have room kept for it at a time; 0: "
	      "without end; above 900 it counts as 900",
	  AT(permit_s), .kind = SETTING_NUMBER, .most = SECONDS_MAX },
	{ "coscheduling.podGroupBackoffSeconds", .argument = "seconds",
	  .help =
	      "no effect: a gang that can't start is looked at again when something changed that it needs",
	  AT(backoff_s), .kind = SETTING_NUMBER, .most = SECONDS_MAX, .without_effect = true },
	{ "coscheduling.podGroupRejectPercentage", .argument = "percent",
	  .help =
	      "no effect: a gang is planned whole, so that no member waits with room that could be given back",
	  AT(reject_percent), .kind = SETTING_NUMBER, .most = 100, .without_effect = true },
	{ "coscheduling.deniedPGExpirationTimeSeconds", .argument = "seconds",
	  .help = "no effect: no gang is denied for a time", AT(denied_s), .kind = SETTING_NUMBER,
	  .most = SECONDS_MAX, .without_effect = true },

	{ "defaultTimeouts.configmapSeconds", .argument = "seconds",
	  .help = "the same of a ConfigMap group without scheduleTimeoutSeconds", AT(configmap_s),
	  .kind = SETTING_NUMBER, .most = SECONDS_MAX },
	{ "defaultTimeouts.annotationsSeconds", .argument = "seconds",
	  .help = "the same of a group by group-name and group-pod-num", AT(annotations_s),
	  .kind = SETTING_NUMBER, .most = SECONDS_MAX },

	{ "core.score", "--score", "NAME", "kube", "which nodes are best", AT(core.score),
	  .kind = SETTING_WORD, .words = scores },
	{ "core.reserveAfterSeconds", "--reserve-after", "SECONDS", "60",
	  "reserve capacity for the first gang that has waited this long (backfill); 0 disables",
	  AT(core.reserve_after_s), .kind = SETTING_NUMBER, .most = 1000000000,
	  .former_path = "core.holdAfterSeconds" },
	{ "core.retainForSeconds", "--retain-for", "SECONDS", "600",
	  "how long a gang of which only a part is bound has precedence and keeps the capacity of refused members",
	  AT(core.retain_for_s), .kind = SETTING_NUMBER, .least = 1, .most = 1000000000 },
	{ "core.promiseDepth", "--promise-depth", "N", "0",
	  "promise so many gangs that wait a start at most, by the known ends of pods; 0: none",
	  AT(core.promise_depth), .kind = SETTING_NUMBER, .most = 1024 },
	{ "core.promiseGrainSeconds", "--promise-grain", "SECONDS", "60",
	  "known ends are rounded up to multiples of this", AT(core.promise_grain_s),
	  .kind = SETTING_NUMBER, .least = 1, .most = 86400 },
	{ "core.backfillBySoft", "--backfill-by-soft", "MODE", "off",
	  "on: a gang that waits is planned by its expected length too, not by the enforced one alone",
	  AT(core.by_soft), .kind = SETTING_WORD, .words = modes },
	{ "core.spinUs", "--spin-us", "N", "50",
	  "look for news this long before sleeping, in microseconds", AT(core.spin_us),
	  .kind = SETTING_NUMBER, .most = 1000000 },
	{ "core.cpu", "--cpu", "N", NULL, "run the deciding thread on this CPU", AT(core.cpu),
	  .kind = SETTING_NUMBER, .most = CPU_SETSIZE - 1 },
	{ "core.searchers", "--searchers", "N", "1",
	  "threads that read snapshots beside planning, and one that follows it; 0: none of them",
	  AT(core.searchers), .kind = SETTING_NUMBER, .most = 16 },
	{ "core.maxNodes", "--max-nodes", "N", "8192", "room for nodes", AT(core.max_nodes),
	  .kind = SETTING_NUMBER, .least = 1, .most = 1 << 20 },
	{ "core.maxPods", "--max-pods", "N", "65536", "room for pods", AT(core.max_pods),
	  .kind = SETTING_NUMBER, .least = 1, .most = 1 << 22 },
	{ "core.maxGangs", "--max-gangs", "N", "16384", "room for gangs", AT(core.max_gangs),
	  .kind = SETTING_NUMBER, .least = 1, .most = 1 << 22 },
	{ "core.maxShapes", "--max-shapes", "N", "4096", "room for kinds of pods", AT(core.max_shapes),
	  .kind = SETTING_NUMBER, .least = 1, .most = 1 << 16 },
	{ "core.maxResources", "--max-resources", "N", "32", "room for kinds of resources",
	  AT(core.max_resources), .kind = SETTING_NUMBER, .least = RESOURCE_EXTENDED,
	  .most = RESOURCES_MAX },
	{ "core.maxNames", "--max-names", "N", "4096", "room for texts of resources and taints",
	  AT(core.max_names), .kind = SETTING_NUMBER, .least = 1, .most = 1 << 22 },
	{ "core.maxNameBytes", "--max-name-bytes", "N", NULL,
	  "room for all names together; else 96 for each node, gang and name", AT(core.max_name_bytes),
	  .kind = SETTING_NUMBER, .least = 16, .most = INT64_C(1) << 32 },
	{ "core.commandRingBytes", "--command-ring-bytes", "N", "1048576", "room for commands",
	  AT(core.command_ring_bytes), .kind = SETTING_POWER, .least = 4096, .most = 1 << 30 },
	{ "core.record", "--record", "FILE", NULL,
	  "write down all that is heard and said, for musterctl replay", AT(core.record) },
	{ "core.recordBytes", "--record-bytes", "N", "1073741824", "end it when the file is so large",
	  AT(core.record_bytes), .kind = SETTING_NUMBER, .least = 4096, .most = INT64_C(1) << 50 },
	{ "core.logLevel", "--log-level", "LEVEL", "info", "what muster-core says on standard error",
	  AT(core.log_level), .kind = SETTING_WORD, .words = levels },
	{ "core.seccomp", "--seccomp", "MODE", "on",
	  "on: after the start no system call but those that deciding takes; off: any",
	  AT(core.seccomp), .kind = SETTING_WORD, .words = modes },
	{ "core.logFormat", "--log-format", "FORMAT", "logfmt", "how a line of it is written",
	  AT(core.log_format), .kind = SETTING_WORD, .words = formats },
};
const size_t settings_n = sizeof(settings) / sizeof(settings[0]);
_Static_assert(sizeof(settings) <= SETTINGS_MAX * sizeof(settings[0]), "SETTINGS_MAX");
_Static_assert(sizeof(settings) / sizeof(settings[0]) <= 8 * sizeof(setting_set), "a bit for each");

const struct settings_section settings_sections[] = {
	{ "leaderElection", "of several instances with the same scheduler names one acts" },
	{ "queues", "which share the cluster among gangs" },
	{ "coscheduling",
	  "arguments of scheduler-plugins' Coscheduling; the apiVersion and kind lines of an args "
	  "block may stay" },
	{ "defaultTimeouts", "of groups of other dialects" },
	{ "core", "for muster-core: musterctl up passes it on, muster-frontend alone does not use it" },
};
const size_t settings_sections_n = sizeof(settings_sections) / sizeof(settings_sections[0]);
_Static_assert(sizeof(settings_sections) <= SETTINGS_SECTIONS_MAX * sizeof(settings_sections[0]),
               "SETTINGS_SECTIONS_MAX");
