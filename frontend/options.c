#include "frontend/options.h"

#include "ipc/link.h"
#include "ipc/ring.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: muster-frontend --socket PATH [options]\n"
	"\n"
	"Watches the API server for muster-core and writes its bindings.\n"
	"\n"
	"  --socket PATH               where muster-core listens (default " LINK_DEFAULT_SOCKET ")\n"
	"  --kubeconfig FILE           how to reach the API server; else $KUBECONFIG, else the\n"
	"                              pod's service account\n"
	"  --context NAME              of the kubeconfig, instead of its current-context\n"
	"  --scheduler-name NAME       schedule pods with this spec.schedulerName; may be given\n"
	"                              several times (default muster)\n"
	"  --listen ADDR:PORT          /metrics, /healthz, /livez, /readyz (default\n"
	"                              127.0.0.1:10261; \"off\": nowhere)\n"
	"  --bind-connections N        binding requests at once, 1 to 64 (default 12)\n"
	"  --report-qps N              conditions and events written each second, 1 to 100000\n"
	"                              (default 200)\n"
	"  --event-ring-bytes N        room for events towards the core, a power of two\n"
	"                              (default 8388608)\n"
	"  --result-ring-bytes N       room for results, a power of two (default 1048576)\n"
	"  --cpu N                     run on this CPU; best another one than muster-core's\n"
	"  --insecure-skip-tls-verify  take a kubeconfig that asks not to verify the server\n"
	"  --log-level LEVEL           debug, info, warn or error (default info)\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 done, 1 failure, 2 usage or bad input, 78 the core is of another build,\n"
	"or --listen is taken.\n";

static int bad(const char *flag, const char *value, const char *why)
{
	fprintf(stderr, "muster-frontend: %s %s: %s\n", flag, value, why);
	return 2;
}

static int number_read(const char *flag, const char *value, uint64_t least, uint64_t most, uint64_t *out)
{
	char why[96];
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno || end == value || *end || *value == '-' || n < least || n > most) {
		snprintf(why, sizeof(why), "not a number from %llu to %llu", (unsigned long long)least,
		         (unsigned long long)most);
		return bad(flag, value, why);
	}
	*out = n;
	return -1;
}

static int ring_read_bytes(const char *flag, const char *value, uint64_t least, uint64_t *out)
{
	uint64_t n;
	int rc = number_read(flag, value, least, UINT64_C(1) << 28, &n);

	if (rc >= 0)
		return rc;
	if (n & (n - 1))
		return bad(flag, value, "not a power of two");
	*out = n;
	return -1;
}

int log_level_read(const char *text)
{
	static const char *const names[] = {"debug", "info", "warn", "error"};

	for (int i = 0; i < 4; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

static int level_read(const char *flag, const char *value, struct options *o)
{
	int level = log_level_read(value);

	if (level < 0)
		return bad(flag, value, "not one of debug, info, warn, error");
	o->log_level = (enum log_level)level;
	return -1;
}

static int name_add(const char *flag, const char *value, struct options *o)
{
	if (!*value)
		return bad(flag, "\"\"", "a name is needed");
	if (o->scheduler_names_n == SCHEDULER_NAMES_MAX)
		return bad(flag, value, "too many names");
	o->scheduler_names[o->scheduler_names_n++] = value;
	return -1;
}

/* A flag with its value: -1, or the exit code. */
static int option_take(const char *flag, const char *value, struct options *o)
{
	uint64_t n;
	int rc;

	if (strcmp(flag, "--socket") == 0)
		o->socket = value;
	else if (strcmp(flag, "--kubeconfig") == 0)
		o->kubeconfig = value;
	else if (strcmp(flag, "--context") == 0)
		o->context = value;
	else if (strcmp(flag, "--listen") == 0)
		o->listen = *value && strcmp(value, "off") != 0 ? value : NULL;
	else if (strcmp(flag, "--scheduler-name") == 0)
		return name_add(flag, value, o);
	else if (strcmp(flag, "--log-level") == 0)
		return level_read(flag, value, o);
	else if (strcmp(flag, "--event-ring-bytes") == 0)
		return ring_read_bytes(flag, value, RING_BYTES_MIN, &o->event_ring_bytes);
	else if (strcmp(flag, "--result-ring-bytes") == 0)
		return ring_read_bytes(flag, value, 4096, &o->result_ring_bytes);
	else if (strcmp(flag, "--bind-connections") == 0) {
		rc = number_read(flag, value, 1, 64, &n);
		if (rc < 0)
			o->bind_connections = (unsigned)n;
		return rc;
	} else if (strcmp(flag, "--cpu") == 0) {
		rc = number_read(flag, value, 0, CPU_SETSIZE - 1, &n);
		if (rc < 0)
			o->cpu = (int)n;
		return rc;
	} else if (strcmp(flag, "--report-qps") == 0) {
		rc = number_read(flag, value, 1, 100000, &n);
		if (rc < 0)
			o->report_per_second = (unsigned)n;
		return rc;
	}
	return -1;
}

static bool in_list(const char *const *list, const char *flag, size_t n)
{
	for (; *list; list++)
		if (strlen(*list) == n && strncmp(*list, flag, n) == 0)
			return true;
	return false;
}

/* One argument, and the next when it is that flag's value. */
static int argument_take(char **argv, int *i, struct options *o)
{
	static const char *const with_value[] = {
		"--socket", "--kubeconfig", "--context", "--scheduler-name", "--listen", "--bind-connections",
		"--report-qps", "--event-ring-bytes", "--result-ring-bytes", "--log-level", "--cpu", NULL,
	};
	static const char *const later[] = {
		"--leader-elect", "--leader-elect-lease-duration", "--leader-elect-renew-deadline",
		"--leader-elect-retry-period", "--leader-elect-resource-name", "--leader-elect-resource-namespace",
		"--config", "--extender", "--node-selector", "--secure-port", "--feature-gates", NULL,
	};
	const char *flag = argv[*i], *equals = strchr(flag, '=');
	size_t n = equals ? (size_t)(equals - flag) : strlen(flag);
	char name[64];

	if (in_list(later, flag, n)) {
		fprintf(stderr, "muster-frontend: %s: not supported yet\n", flag);
		return 2;
	}
	if (!in_list(with_value, flag, n)) {
		fprintf(stderr, "muster-frontend: %s: no such flag; see --help\n", flag);
		return 2;
	}
	snprintf(name, sizeof(name), "%.*s", (int)n, flag);
	if (equals)
		return option_take(name, equals + 1, o);
	if (!argv[*i + 1]) {
		fprintf(stderr, "muster-frontend: %s: a value is needed\n", name);
		return 2;
	}
	return option_take(name, argv[++*i], o);
}

int options_read(int argc, char **argv, struct options *out)
{
	struct options o = {
		.socket = LINK_DEFAULT_SOCKET, .listen = "127.0.0.1:10261", .bind_connections = 12,
		.report_per_second = 200, .event_ring_bytes = UINT64_C(8) << 20, .result_ring_bytes = UINT64_C(1) << 20,
		.log_level = LOG_INFO, .cpu = -1,
	};

	for (int i = 1; i < argc; i++) {
		int rc = -1;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--version") == 0) {
			puts("muster-frontend " MUSTER_VERSION);
			return 0;
		}
		if (strcmp(argv[i], "--insecure-skip-tls-verify") == 0)
			o.insecure = true;
		else
			rc = argument_take(argv, &i, &o);
		if (rc >= 0)
			return rc;
	}
	if (o.scheduler_names_n == 0)
		o.scheduler_names[o.scheduler_names_n++] = "muster";
	*out = o;
	return -1;
}
