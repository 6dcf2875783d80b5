/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/options.h"

#include "tests/apisim/quantity.h"
#include "tests/apisim/resource.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
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
	"  --gate NAME            a feature gate: DynamicResourceAllocation serves slices, classes\n"
	"                         and claims of devices; GenericWorkload, and with /v1beta1 or /v1\n"
	"                         behind it what releases after 1.36 serve\n"
	"  --crd GROUP/VERSION/PLURAL[/KIND[/nostatus]]  a namespaced custom resource\n"
	"                         with a status subresource, or without; PodGroups of scheduling.x-k8s.io and of\n"
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

enum kind { TEXT, LIST, QUANTITY, NUMBER, SCALE, SET, UNSET, HELP, PRINT_VERSION };

#define NUMBER_MAX UINT64_C(100000000)
#define AT(field) offsetof(struct as_options, field), sizeof(((struct as_options *)NULL)->field)

static const struct flag {
	const char *name;
	enum kind kind; /* from SET on: without a value */
	size_t at, bytes;
	uint64_t most; /* of a number */
} flags[] = {
	{ "port", NUMBER, AT(port), 65535 },
	{ "listen", TEXT, AT(listen), 0 },
	{ "kubeconfig-out", TEXT, AT(kubeconfig), 0 },
	{ "token", TEXT, AT(token), 0 },
	{ "tls", SET, AT(tls), 0 },
	{ "tls-cert", TEXT, AT(certificate), 0 },
	{ "tls-key", TEXT, AT(key), 0 },
	{ "tls-ca", TEXT, AT(ca), 0 },
	{ "nodes", NUMBER, AT(nodes.n), NUMBER_MAX },
	{ "node-cpu", QUANTITY, AT(nodes.cpu), 0 },
	{ "node-memory", QUANTITY, AT(nodes.memory), 0 },
	{ "node-gpus", NUMBER, AT(nodes.gpus), NUMBER_MAX },
	{ "node-pods", NUMBER, AT(nodes.pods), NUMBER_MAX },
	{ "zones", NUMBER, AT(nodes.zones), NUMBER_MAX },
	{ "load", LIST, AT(loads), 0 },
	{ "gate", LIST, AT(gates), 0 },
	{ "crd", LIST, AT(crds), 0 },
	{ "history", NUMBER, AT(history), NUMBER_MAX },
	{ "watch-lag", NUMBER, AT(watch_lag), NUMBER_MAX },
	{ "bookmark-ms", NUMBER, AT(bookmark_ms), NUMBER_MAX },
	{ "latency-ms", NUMBER, AT(latency_ms), NUMBER_MAX },
	{ "seed", NUMBER, AT(seed), UINT64_MAX },
	{ "no-kubelet", UNSET, AT(kubelet.enabled), 0 },
	{ "start-ms", NUMBER, AT(kubelet.start_ms), NUMBER_MAX },
	{ "grace-ms", NUMBER, AT(kubelet.grace_ms), NUMBER_MAX },
	{ "time-scale", SCALE, AT(kubelet.time_scale), 0 },
	{ "help", HELP, 0, 0, 0 },
	{ "version", PRINT_VERSION, 0, 0, 0 },
};

enum { FLAGS = sizeof(flags) / sizeof(flags[0]), FIRST_FLAG = 256 };

static int usage(const char *what, const char *value)
{
	fprintf(stderr, "muster-apisim: %s%s%s\nTry muster-apisim --help.\n", what,
	        value != NULL ? ": " : "", value != NULL ? value : "");
	return 2;
}

static int read_number(const struct flag *f, void *to)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(optarg, &end, 10);
	if (optarg[0] < '0' || optarg[0] > '9' || *end != '\0' || errno != 0 || value > f->most) {
		fprintf(stderr, "muster-apisim: --%s: \"%s\" is not a number up to %llu\n", f->name, optarg,
		        (unsigned long long)f->most);
		return 2;
	}
	if (f->bytes == sizeof(uint16_t))
		*(uint16_t *)to = (uint16_t)value;
	else if (f->bytes == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)value;
	else
		*(uint64_t *)to = value;
	return -1;
}

static int read_quantity(const struct flag *f, const char **to)
{
	struct as_quantity q;

	if (!as_quantity_parse(optarg, &q) || q.nano < 0) {
		fprintf(stderr, "muster-apisim: --%s: \"%s\" is not a quantity\n", f->name, optarg);
		return 2;
	}
	*to = optarg;
	return -1;
}

static int read_scale(double *to)
{
	char *end;

	*to = strtod(optarg, &end);
	if (end != optarg && *end == '\0' && isfinite(*to) && *to > 0)
		return -1;
	return usage("--time-scale: not a number above 0", optarg);
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

static int read_flag(struct as_options *o, const struct flag *f)
{
	void *to = (char *)o + f->at;

	switch (f->kind) {
	case TEXT:
		*(const char **)to = optarg;
		return -1;
	case LIST:
		return add(to);
	case QUANTITY:
		return read_quantity(f, to);
	case NUMBER:
		return read_number(f, to);
	case SCALE:
		return read_scale(to);
	case SET:
	case UNSET:
		*(bool *)to = f->kind == SET;
		return -1;
	case HELP:
		fputs(help, stdout);
		return 0;
	case PRINT_VERSION:
		puts("muster-apisim " MUSTER_VERSION);
		return 0;
	}
	return -1;
}

int as_options_read(struct as_options *o, int argc, char **argv)
{
	struct option options[FLAGS + 1] = { 0 };
	struct in_addr address;
	int flag, rc;

	*o = (struct as_options){
		.listen = "127.0.0.1",
		.nodes = { .cpu = "64", .memory = "256Gi", .pods = 110 },
		.kubelet = { .enabled = true, .start_ms = 100, .grace_ms = 1000, .time_scale = 1 },
	};
	for (int i = 0; i < FLAGS; i++)
		options[i] = (struct option){ flags[i].name, flags[i].kind < SET, NULL, FIRST_FLAG + i };
	opterr = 1;
	while ((flag = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (flag == '?')
			return usage("unknown option, or one without its value", NULL);
		rc = read_flag(o, flag == 'h' ? &flags[FLAGS - 2] : &flags[flag - FIRST_FLAG]);
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
