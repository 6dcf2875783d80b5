/* SPDX-License-Identifier: Apache-2.0 */
/* muster-core: decides which pod goes where.  Options here, the socket in
 * core/daemon/control.c, the loop in core/daemon/loop.c. */
#include "core/base/log.h"
#include "core/daemon/control.h"
#include "core/daemon/policy.h"
#include "core/daemon/recorder.h"
#include "ipc/confine.h"
#include "ipc/link.h"

#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE 2

static const char help[] =
	"usage: muster-core --socket PATH [options]\n"
	"\n"
	"Decides where gangs run.  A muster-frontend tells it of the cluster and carries its\n"
	"decisions out; both share memory that is passed over the socket.\n"
	"\n"
	"  --socket PATH            where to listen (default " LINK_DEFAULT_SOCKET ")\n"
	"  --score NAME             which nodes are best: kube, as kube-scheduler's default profile\n"
	"                           (default); pack, the fullest; bestfit, the least that is left\n"
	"  --hold-after SECONDS     keep room for a gang that waited so long, from those that come\n"
	"                           after it; 0: never (default 60)\n"
	"  --spin-us N              look for news this long before sleeping, 0 to 1000000\n"
	"                           (default 50)\n"
	"  --cpu N                  run the deciding thread on this CPU\n"
	"  --max-nodes N            room for nodes (default 8192)\n"
	"  --max-pods N             ... pods (default 65536)\n"
	"  --max-gangs N            ... gangs (default 16384)\n"
	"  --max-shapes N           ... kinds of pods (default 4096)\n"
	"  --max-resources N        ... kinds of resources, 4 to 64 (default 32)\n"
	"  --max-names N            ... texts of resources and taints (default 4096)\n"
	"  --max-name-bytes N       ... all names together (default: 96 for each node, gang and\n"
	"                           name)\n"
	"  --command-ring-bytes N   room for commands, a power of two from 4096 (default 1048576)\n"
	"  --record FILE            write down all that is heard and said, for musterctl replay; a\n"
	"                           recording of that name is kept as FILE.old\n"
	"  --record-bytes N         end it when the file is so large (default 1073741824)\n"
	"  --seccomp MODE           on: after the start no system call but those that deciding takes\n"
	"                           (default); off: any\n"
	"  --log-level LEVEL        debug, info, warn or error (default info)\n"
	"  --log-format FORMAT      logfmt or json (default logfmt)\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failure, 2 usage.\n";

enum {
	OPT_SOCKET = 256,
	OPT_SCORE,
	OPT_HOLD,
	OPT_SPIN,
	OPT_CPU,
	OPT_NODES,
	OPT_PODS,
	OPT_GANGS,
	OPT_SHAPES,
	OPT_RESOURCES,
	OPT_NAMES,
	OPT_NAME_BYTES,
	OPT_RING,
	OPT_RECORD,
	OPT_RECORD_BYTES,
	OPT_SECCOMP,
	OPT_LOG,
	OPT_LOG_FORMAT,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option flags[] = {
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "score", required_argument, NULL, OPT_SCORE },
	{ "hold-after", required_argument, NULL, OPT_HOLD },
	{ "spin-us", required_argument, NULL, OPT_SPIN },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "max-nodes", required_argument, NULL, OPT_NODES },
	{ "max-pods", required_argument, NULL, OPT_PODS },
	{ "max-gangs", required_argument, NULL, OPT_GANGS },
	{ "max-shapes", required_argument, NULL, OPT_SHAPES },
	{ "max-resources", required_argument, NULL, OPT_RESOURCES },
	{ "max-names", required_argument, NULL, OPT_NAMES },
	{ "max-name-bytes", required_argument, NULL, OPT_NAME_BYTES },
	{ "command-ring-bytes", required_argument, NULL, OPT_RING },
	{ "record", required_argument, NULL, OPT_RECORD },
	{ "record-bytes", required_argument, NULL, OPT_RECORD_BYTES },
	{ "seccomp", required_argument, NULL, OPT_SECCOMP },
	{ "log-level", required_argument, NULL, OPT_LOG },
	{ "log-format", required_argument, NULL, OPT_LOG_FORMAT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ 0 },
};

static const char *flag_name(int option)
{
	for (const struct option *f = flags; f->name; f++)
		if (f->val == option)
			return f->name;
	return "?";
}

static bool bad(int option, const char *why)
{
	fprintf(stderr, "muster-core: --%s %s: %s\n", flag_name(option), optarg, why);
	return false;
}

static bool number(int option, uint64_t least, uint64_t most, uint64_t *out)
{
	char why[80], *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(optarg, &end, 10);
	if (errno || end == optarg || *end || *optarg == '-' || n < least || n > most) {
		snprintf(why, sizeof(why), "not a number from %llu to %llu", (unsigned long long)least,
		         (unsigned long long)most);
		return bad(option, why);
	}
	*out = n;
	return true;
}

static bool number32(int option, uint64_t least, uint64_t most, uint32_t *out)
{
	uint64_t n;

	if (!number(option, least, most, &n))
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool score_read(int option, enum score_policy *out)
{
	return policy_find(optarg, out) || bad(option, "not one of kube, pack, bestfit");
}

static bool level_read(int option)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };

	for (int i = 0; i < 4; i++) {
		if (strcmp(optarg, names[i]) != 0)
			continue;
		log_set_level((enum log_level)i);
		return true;
	}
	return bad(option, "not one of debug, info, warn, error");
}

static bool seccomp_read(int option, bool *out)
{
	*out = strcmp(optarg, "on") == 0;
	return *out || strcmp(optarg, "off") == 0 || bad(option, "not one of on, off");
}

static bool format_read(int option)
{
	bool json = strcmp(optarg, "json") == 0;

	if (!json && strcmp(optarg, "logfmt") != 0)
		return bad(option, "not one of logfmt, json");
	log_set_json(json);
	return true;
}

static bool limit_read(int option, struct limits *l)
{
	switch (option) {
	case OPT_NODES:
		return number32(option, 1, 1u << 20, &l->nodes);
	case OPT_PODS:
		return number32(option, 1, 1u << 22, &l->pods);
	case OPT_GANGS:
		return number32(option, 1, 1u << 22, &l->gangs);
	case OPT_SHAPES:
		return number32(option, 1, 1u << 16, &l->shapes);
	case OPT_RESOURCES:
		return number32(option, RESOURCE_EXTENDED, RESOURCES_MAX, &l->resources);
	case OPT_NAMES:
		return number32(option, 1, 1u << 22, &l->names);
	case OPT_NAME_BYTES:
		return number(option, 16, UINT64_C(1) << 32, &l->name_bytes);
	default:
		return number(option, 4096, UINT64_C(1) << 30, &l->command_ring_bytes);
	}
}

static bool option_read(int option, struct control_config *c)
{
	uint64_t n;

	switch (option) {
	case OPT_SOCKET:
		c->socket = optarg;
		return true;
	case OPT_SCORE:
		return score_read(option, &c->score);
	case OPT_HOLD:
		if (!number(option, 0, 1000000000, &n))
			return false;
		c->hold_after_ns = n * UINT64_C(1000000000);
		return true;
	case OPT_SPIN:
		return number(option, 0, 1000000, &c->spin_us);
	case OPT_CPU:
		if (!number(option, 0, CPU_SETSIZE - 1, &n))
			return false;
		c->cpu = (int)n;
		return true;
	case OPT_RECORD:
		c->record = optarg;
		return *optarg != '\0' || bad(option, "no file");
	case OPT_RECORD_BYTES:
		return number(option, 4096, UINT64_C(1) << 50, &c->record_bytes);
	case OPT_SECCOMP:
		return seccomp_read(option, &c->seccomp);
	case OPT_LOG_FORMAT:
		return format_read(option);
	case OPT_LOG:
		return level_read(option);
	default:
		return limit_read(option, &c->limits);
	}
}

/* What was left open, and what fits together. */
static bool limits_complete(struct limits *l)
{
	const char *what;

	if (l->name_bytes == 0)
		l->name_bytes = 96 * ((uint64_t)l->nodes + l->gangs + l->names);
	l->name_bytes = (l->name_bytes + 15) & ~UINT64_C(15);
	if (core_ledger_bytes(l, &what) > 0)
		return true;
	fprintf(stderr, "muster-core: limits: %s\n", what);
	return false;
}

int main(int argc, char **argv)
{
	struct control_config config = {
		.socket = LINK_DEFAULT_SOCKET,
		.hold_after_ns = UINT64_C(60000000000),
		.spin_us = 50,
		.cpu = -1,
		.record_bytes = RECORD_BYTES_DEFAULT,
		.seccomp = true,
		.limits = { .nodes = 8192,
		            .pods = 65536,
		            .gangs = 16384,
		            .shapes = 4096,
		            .names = 4096,
		            .resources = 32,
		            .command_ring_bytes = 1u << 20 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", flags, NULL)) != -1) {
		if (option == 'h' || option == OPT_HELP) {
			fputs(help, stdout);
			return 0;
		}
		if (option == OPT_VERSION) {
			puts("muster-core " MUSTER_VERSION);
			return 0;
		}
		if (option == '?' || !option_read(option, &config))
			return USAGE;
	}
	if (optind < argc) {
		fprintf(stderr, "muster-core: %s: no such argument\n", argv[optind]);
		return USAGE;
	}
	if (!limits_complete(&config.limits))
		return USAGE;
	config.no_new_privileges = confine_privileges();
	return control_run(&config);
}
