/* SPDX-License-Identifier: Apache-2.0 */
/* muster-core: the options; the socket is in core/daemon/control.c, the loop in
 * core/daemon/loop.c. */
#include "core/daemon/control.h"
#include "ipc/logline.h"
#include "core/daemon/policy.h"
#include "core/daemon/recorder.h"
#include "core/daemon/searchers.h"
#include "core/daemon/sizing.h"
#include "ipc/confine.h"
#include "ipc/link.h"
#include "ipc/size.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE 2

static const char help[] =
	"usage: muster-core --socket PATH [options]\n"
	"\n"
	"Plans where gangs run.  A muster-frontend sends it the state of the cluster and executes\n"
	"its commands, over shared memory that is passed through the socket.\n"
	"\n"
	"  --socket PATH            listen here (default " LINK_DEFAULT_SOCKET ")\n"
	"  --socket-group GROUP     members of this group may read from the socket, too, by musterctl: a name\n"
	"                           or a number (default: the same user and root alone)\n"
	"  --score NAME             how nodes are scored: kube, by kube-scheduler's default profile\n"
	"                           (default); pack, the fullest; bestfit, the least capacity left;\n"
	"                           fgd or muster, the least loss of GPUs to pods that come later\n"
	"  --reserve-after SECONDS  reserve capacity for the first gang that has waited this long\n"
	"                           (backfill); 0 disables (default 60)\n"
	"  --retain-for SECONDS     how long a partially bound gang has precedence, and its members whose\n"
	"                           binding was refused retain their reservations (default 600)\n"
	"  --promise-depth N        most waiting gangs with a promised start, by the known ends of pods, 0 to\n"
	"                           1024; 0: none (default 0)\n"
	"  --promise-grain SECONDS  round known ends up to multiples of this (default 60)\n"
	"  --promise-window SECONDS how far ahead a start is promised at most (default 604800)\n"
	"  --backfill-by-soft MODE  on: backfill by the expected length of a gang too; off: by the enforced\n"
	"                           one alone (default off)\n"
	"  --hold-after SECONDS     former name of --reserve-after, for one version\n"
	"  --spin-us N              poll the rings this long before sleeping, 0 to 1000000\n"
	"                           (default 50)\n"
	"  --cpu N                  run the planning thread on this CPU\n"
	"  --searchers N            threads that search in snapshots besides the planning thread, 0 to 16,\n"
	"                           and one that keeps the snapshots; 0: neither (default 1)\n"
	"  --max-memory BYTES       memory limit of this process, such as 1Gi: lowers the defaults of\n"
	"                           --max-nodes and --max-pods to what fits (default: none)\n"
	"  --max-nodes N            most nodes (default 131072)\n"
	"  --max-pods N             most pods (default 1048576)\n"
	"  --max-gangs N            most gangs (default 16384)\n"
	"  --max-shapes N           most pod specs that differ (default 4096)\n"
	"  --max-resources N        most resource names, 4 to 64 (default 32)\n"
	"  --max-names N            most names of resources and taints (default 4096)\n"
	"  --max-name-bytes N       bytes of all names (default: 96 for each node, gang and name)\n"
	"  --command-ring-bytes N   bytes of the command ring, a power of two from 4096\n"
	"                           (default 1048576)\n"
	"  --record FILE            record all records and commands, for musterctl replay; an\n"
	"                           existing recording is kept as FILE.old\n"
	"  --record-bytes N         end the recording at this size (default 1073741824)\n"
	"  --seccomp MODE           on: after the start allow only the system calls that planning\n"
	"                           needs (default); off: allow all\n"
	"  --log-level LEVEL        debug, info, warn or error (default info)\n"
	"  --log-format FORMAT      logfmt or json (default logfmt)\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 stopped by SIGTERM or SIGINT, 1 failure, 2 usage.\n";

enum {
	OPT_SOCKET = 256,
	OPT_GROUP,
	OPT_SCORE,
	OPT_RESERVE,
	OPT_RETAIN,
	OPT_PROMISES,
	OPT_GRAIN,
	OPT_WINDOW,
	OPT_BY_SOFT,
	OPT_SPIN,
	OPT_CPU,
	OPT_SEARCHERS,
	OPT_MEMORY,
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
	{ "socket-group", required_argument, NULL, OPT_GROUP },
	{ "score", required_argument, NULL, OPT_SCORE },
	{ "reserve-after", required_argument, NULL, OPT_RESERVE },
	{ "hold-after", required_argument, NULL, OPT_RESERVE }, /* its former name; CHANGELOG.md */
	{ "retain-for", required_argument, NULL, OPT_RETAIN },
	{ "promise-depth", required_argument, NULL, OPT_PROMISES },
	{ "promise-grain", required_argument, NULL, OPT_GRAIN },
	{ "promise-window", required_argument, NULL, OPT_WINDOW },
	{ "backfill-by-soft", required_argument, NULL, OPT_BY_SOFT },
	{ "spin-us", required_argument, NULL, OPT_SPIN },
	{ "cpu", required_argument, NULL, OPT_CPU },
	{ "searchers", required_argument, NULL, OPT_SEARCHERS },
	{ "max-memory", required_argument, NULL, OPT_MEMORY },
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

/* A name is found before the filter of system calls is installed. */
static bool group_read(int option, struct control_config *c)
{
	const struct group *named = getgrnam(optarg);
	uint64_t n;

	c->socket_group = optarg;
	if (named) {
		c->socket_gid = named->gr_gid;
		return true;
	}
	if (*optarg < '0' || *optarg > '9')
		return bad(option, "there is no such group");
	if (!number(option, 0, LINK_NO_READERS - 1, &n))
		return false;
	c->socket_gid = (gid_t)n;
	return true;
}

static bool score_read(int option, enum score_policy *out)
{
	return policy_find(optarg, out) || bad(option, "not one of " POLICY_NAMES);
}

static bool level_read(int option)
{
	enum log_level level;

	if (log_level_read(optarg, &level)) {
		log_set_level(level);
		return true;
	}
	return bad(option, "not one of debug, info, warn, error");
}

static bool on_read(int option, bool *out)
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
	case OPT_GROUP:
		return group_read(option, c);
	case OPT_SCORE:
		return score_read(option, &c->core.score);
	case OPT_RESERVE:
		if (!number(option, 0, 1000000000, &n))
			return false;
		c->core.reserve_after_ns = n * UINT64_C(1000000000);
		return true;
	case OPT_RETAIN:
		if (!number(option, 1, 1000000000, &n))
			return false;
		c->core.retain_for_ns = n * UINT64_C(1000000000);
		return true;
	case OPT_PROMISES:
		return number32(option, 0, 1024, &c->core.promise_depth);
	case OPT_GRAIN:
		if (!number(option, 1, 86400, &n))
			return false;
		c->core.promise_grain_ns = n * UINT64_C(1000000000);
		return true;
	case OPT_WINDOW:
		if (!number(option, 1, 1000000000, &n))
			return false;
		c->core.promise_window_ns = n * UINT64_C(1000000000);
		return true;
	case OPT_BY_SOFT:
		return on_read(option, &c->core.backfill_by_soft);
	case OPT_SPIN:
		return number(option, 0, 1000000, &c->spin_us);
	case OPT_CPU:
		if (!number(option, 0, CPU_SETSIZE - 1, &n))
			return false;
		c->cpu = (int)n;
		return true;
	case OPT_SEARCHERS:
		return number32(option, 0, SEARCHERS_MOST, &c->searchers);
	case OPT_MEMORY:
		return max_memory_read(optarg, &c->max_memory) ||
		       bad(option, "not bytes from " MAX_MEMORY_RANGE ", such as 1Gi");
	case OPT_RECORD:
		c->record = optarg;
		return *optarg != '\0' || bad(option, "no file");
	case OPT_RECORD_BYTES:
		return number(option, 4096, UINT64_C(1) << 50, &c->record_bytes);
	case OPT_SECCOMP:
		return on_read(option, &c->seccomp);
	case OPT_LOG_FORMAT:
		return format_read(option);
	case OPT_LOG:
		return level_read(option);
	default:
		return limit_read(option, &c->core.limits);
	}
}

/* Computes the limits that were not given, and checks that the ledger can be laid out. */
static bool limits_complete(struct control_config *c)
{
	struct limits *l = &c->core.limits;
	const char *what;

	if (sizing_complete(l, c->searchers, c->max_memory) < 0) {
		fprintf(stderr,
		        "muster-core: --max-memory %llu: %llu bytes are needed with a node and its pods\n",
		        (unsigned long long)c->max_memory, (unsigned long long)sizing_least(c->searchers));
		return false;
	}
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
		.core = { .limits = { .gangs = 16384,
		                      .shapes = 4096,
		                      .names = 4096,
		                      .resources = 32,
		                      .command_ring_bytes = 1u << 20 },
		          .reserve_after_ns = UINT64_C(60000000000),
		          .retain_for_ns = UINT64_C(600000000000) },
		.spin_us = 50,
		.cpu = -1,
		.searchers = 1,
		.record_bytes = RECORD_BYTES_DEFAULT,
		.seccomp = true,
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
	if (!limits_complete(&config))
		return USAGE;
	config.no_new_privileges = confine_privileges();
	return control_run(&config);
}
