/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/options.h"

#include "tests/apisim/quantity.h"
#include "tests/apisim/resource.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"Usage: muster-apisim [--port N] [--kubeconfig-out FILE] [OPTION]...\n"
	"An embedded Kubernetes API server with simulated kubelets, for demos, tests\n"
	"and benchmarks.  It runs until SIGTERM or SIGINT.\n"
	"\n"
	"  --port N               TCP port; 0, the default, is any free one\n"
	"  --listen ADDRESS       IPv4 address (127.0.0.1)\n"
	"  --kubeconfig-out FILE  written, whole, once the server listens\n"
	"  --token TOKEN          bearer token that clients need (a random one)\n"
	"  --tls                  serve HTTPS; makes a CA and a certificate unless\n"
	"                         these three are given:\n"
	"  --tls-cert FILE --tls-key FILE --tls-ca FILE\n"
	"\n"
	"Objects that are there from the start\n"
	"  --nodes N              uniform nodes, node-0 or as node-00 when there are\n"
	"                         more than ten\n"
	"  --node-cpu Q           cpu of each (64)\n"
	"  --node-memory Q        memory of each (256Gi)\n"
	"  --node-gpus N          nvidia.com/gpu of each (0)\n"
	"  --node-pods N          pods of each (110)\n"
	"  --zones N              label the nodes with one of N zones (0: no label)\n"
	"  --load FILE            objects as kubectl get -o json prints them; - is\n"
	"                         standard input; may be given several times\n"
	"\n"
	"What is served\n"
	"  --gate NAME            a feature gate: GenericWorkload, and with /v1beta1 or /v1\n"
	"                         behind it what releases after 1.36 serve\n"
	"  --crd GROUP/VERSION/PLURAL[/KIND]  a namespaced custom resource with a\n"
	"                         status; PodGroups of scheduling.x-k8s.io and of\n"
	"                         scheduling.sigs.k8s.io are there without it\n"
	"  --history N            events kept for watches (50000)\n"
	"  --watch-lag N          events a watcher may be behind (half of history)\n"
	"  --bookmark-ms N        between two bookmarks (60000)\n"
	"  --latency-ms N         hold each answer back\n"
	"  --seed N               of uids and generated names (random)\n"
	"\n"
	"Kubelets\n"
	"  --no-kubelet           bound pods stay as they are\n"
	"  --start-ms N           from bound to Running (100)\n"
	"  --grace-ms N           the longest time a deleted pod takes to go (1000)\n"
	"  --time-scale F         jobs (annotation muster.io/run-seconds) run F times\n"
	"                         as fast (1)\n"
	"\n"
	"  --help, --version\n"
	"\n"
	"GET /apisim/stats counts requests, bindings and what a scheduler did wrong;\n"
	"POST /apisim/faults makes it fail.  See tests/apisim/README.md.\n";

enum flag {
	FLAG_PORT = 256,
	FLAG_LISTEN,
	FLAG_KUBECONFIG,
	FLAG_TOKEN,
	FLAG_TLS,
	FLAG_TLS_CERT,
	FLAG_TLS_KEY,
	FLAG_TLS_CA,
	FLAG_NODES,
	FLAG_NODE_CPU,
	FLAG_NODE_MEMORY,
	FLAG_NODE_GPUS,
	FLAG_NODE_PODS,
	FLAG_ZONES,
	FLAG_LOAD,
	FLAG_GATE,
	FLAG_CRD,
	FLAG_HISTORY,
	FLAG_WATCH_LAG,
	FLAG_BOOKMARK_MS,
	FLAG_LATENCY_MS,
	FLAG_SEED,
	FLAG_NO_KUBELET,
	FLAG_START_MS,
	FLAG_GRACE_MS,
	FLAG_TIME_SCALE,
	FLAG_HELP,
	FLAG_VERSION,
};

static const struct option flags[] = {
	{ "port", 1, NULL, FLAG_PORT },
	{ "listen", 1, NULL, FLAG_LISTEN },
	{ "kubeconfig-out", 1, NULL, FLAG_KUBECONFIG },
	{ "token", 1, NULL, FLAG_TOKEN },
	{ "tls", 0, NULL, FLAG_TLS },
	{ "tls-cert", 1, NULL, FLAG_TLS_CERT },
	{ "tls-key", 1, NULL, FLAG_TLS_KEY },
	{ "tls-ca", 1, NULL, FLAG_TLS_CA },
	{ "nodes", 1, NULL, FLAG_NODES },
	{ "node-cpu", 1, NULL, FLAG_NODE_CPU },
	{ "node-memory", 1, NULL, FLAG_NODE_MEMORY },
	{ "node-gpus", 1, NULL, FLAG_NODE_GPUS },
	{ "node-pods", 1, NULL, FLAG_NODE_PODS },
	{ "zones", 1, NULL, FLAG_ZONES },
	{ "load", 1, NULL, FLAG_LOAD },
	{ "gate", 1, NULL, FLAG_GATE },
	{ "crd", 1, NULL, FLAG_CRD },
	{ "history", 1, NULL, FLAG_HISTORY },
	{ "watch-lag", 1, NULL, FLAG_WATCH_LAG },
	{ "bookmark-ms", 1, NULL, FLAG_BOOKMARK_MS },
	{ "latency-ms", 1, NULL, FLAG_LATENCY_MS },
	{ "seed", 1, NULL, FLAG_SEED },
	{ "no-kubelet", 0, NULL, FLAG_NO_KUBELET },
	{ "start-ms", 1, NULL, FLAG_START_MS },
	{ "grace-ms", 1, NULL, FLAG_GRACE_MS },
	{ "time-scale", 1, NULL, FLAG_TIME_SCALE },
	{ "help", 0, NULL, FLAG_HELP },
	{ "version", 0, NULL, FLAG_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char *flag_name(int flag)
{
	for (const struct option *f = flags; f->name != NULL; f++)
		if (f->val == flag)
			return f->name;
	return "?";
}

static int usage(const char *what, const char *value)
{
	fprintf(stderr, "muster-apisim: %s%s%s\nTry muster-apisim --help.\n", what,
	        value != NULL ? ": " : "", value != NULL ? value : "");
	return 2;
}

static int read_number(int flag, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(optarg, &end, 10);
	if (optarg[0] >= '0' && optarg[0] <= '9' && *end == '\0' && errno == 0 && *out <= most)
		return -1;
	fprintf(stderr, "muster-apisim: --%s: \"%s\" is not a number up to %llu\n", flag_name(flag),
	        optarg, (unsigned long long)most);
	return 2;
}

static int read_quantity(int flag, const char **out)
{
	struct as_quantity q;

	if (!as_quantity_parse(optarg, &q) || q.nano < 0) {
		fprintf(stderr, "muster-apisim: --%s: \"%s\" is not a quantity\n", flag_name(flag), optarg);
		return 2;
	}
	*out = optarg;
	return -1;
}

static int add(const char *list[AS_LIST_MAX + 1])
{
	size_t n = 0;

	while (list[n] != NULL)
		n++;
	if (n == AS_LIST_MAX)
		return usage("given too often", optarg);
	list[n] = optarg;
	return -1;
}

static int read_flag_number(struct as_options *o, int flag)
{
	uint64_t value = 0;
	uint64_t most = flag == FLAG_PORT ? 65535 : flag == FLAG_SEED ? UINT64_MAX : 100000000;
	int rc = read_number(flag, most, &value);

	if (rc >= 0)
		return rc;
	switch (flag) {
	case FLAG_PORT:
		o->port = (uint16_t)value;
		break;
	case FLAG_NODES:
		o->nodes.n = (unsigned)value;
		break;
	case FLAG_NODE_GPUS:
		o->nodes.gpus = (unsigned)value;
		break;
	case FLAG_NODE_PODS:
		o->nodes.pods = (unsigned)value;
		break;
	case FLAG_ZONES:
		o->nodes.zones = (unsigned)value;
		break;
	case FLAG_HISTORY:
		o->history = (size_t)value;
		break;
	case FLAG_WATCH_LAG:
		o->watch_lag = (size_t)value;
		break;
	case FLAG_BOOKMARK_MS:
		o->bookmark_ms = (uint32_t)value;
		break;
	case FLAG_LATENCY_MS:
		o->latency_ms = (uint32_t)value;
		break;
	case FLAG_SEED:
		o->seed = value;
		break;
	case FLAG_START_MS:
		o->kubelet.start_ms = (uint32_t)value;
		break;
	default:
		o->kubelet.grace_ms = (uint32_t)value;
		break;
	}
	return -1;
}

static int read_flag(struct as_options *o, int flag)
{
	char *end;

	switch (flag) {
	case FLAG_LISTEN:
		o->listen = optarg;
		return -1;
	case FLAG_KUBECONFIG:
		o->kubeconfig = optarg;
		return -1;
	case FLAG_TOKEN:
		o->token = optarg;
		return -1;
	case FLAG_TLS:
		o->tls = true;
		return -1;
	case FLAG_TLS_CERT:
		o->certificate = optarg;
		return -1;
	case FLAG_TLS_KEY:
		o->key = optarg;
		return -1;
	case FLAG_TLS_CA:
		o->ca = optarg;
		return -1;
	case FLAG_NODE_CPU:
		return read_quantity(flag, &o->nodes.cpu);
	case FLAG_NODE_MEMORY:
		return read_quantity(flag, &o->nodes.memory);
	case FLAG_LOAD:
		return add(o->loads);
	case FLAG_GATE:
		return add(o->gates);
	case FLAG_CRD:
		return add(o->crds);
	case FLAG_NO_KUBELET:
		o->kubelet.enabled = false;
		return -1;
	case FLAG_TIME_SCALE:
		o->kubelet.time_scale = strtod(optarg, &end);
		if (end != optarg && *end == '\0' && isfinite(o->kubelet.time_scale) &&
		    o->kubelet.time_scale > 0)
			return -1;
		return usage("--time-scale: not a number above 0", optarg);
	case 'h':
	case FLAG_HELP:
		fputs(help, stdout);
		return 0;
	case FLAG_VERSION:
		puts("muster-apisim " MUSTER_VERSION);
		return 0;
	case '?':
		return usage("unknown option, or one without its value", NULL);
	default:
		return read_flag_number(o, flag);
	}
}

int as_options_read(struct as_options *o, int argc, char **argv)
{
	struct in_addr address;
	int flag, rc;

	*o = (struct as_options){
		.listen = "127.0.0.1",
		.nodes = { .cpu = "64", .memory = "256Gi", .pods = 110 },
		.kubelet = { .enabled = true, .start_ms = 100, .grace_ms = 1000, .time_scale = 1 },
	};
	opterr = 1;
	while ((flag = getopt_long(argc, argv, "h", flags, NULL)) != -1) {
		rc = read_flag(o, flag);
		if (rc >= 0)
			return rc;
	}
	if (optind < argc)
		return usage("unexpected argument", argv[optind]);
	if (inet_pton(AF_INET, o->listen, &address) != 1)
		return usage("--listen: not an IPv4 address", o->listen);
	if ((o->certificate != NULL || o->key != NULL || o->ca != NULL) &&
	    (o->certificate == NULL || o->key == NULL || o->ca == NULL))
		return usage("--tls-cert, --tls-key and --tls-ca go together", NULL);
	if (o->token != NULL && o->token[0] == '\0')
		return usage("--token is empty", NULL);
	o->tls = o->tls || o->certificate != NULL;
	return -1;
}
