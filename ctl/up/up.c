/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl up: both daemons on this host. */
#include "ctl/term/options.h"
#include "ctl/up/flags.h"
#include "ctl/up/tempdir.h"
#include "ipc/observe.h"
#include "ctl/up/supervise.h"
#include "frontend/config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Signals are blocked meanwhile, and the next poll is soon. */
#define LOOK_NS UINT64_C(300000000)

/* For --help and completion; take_flags() reads them, since all others go to the daemons. */
static const struct flag own_flags[] = {
	{ .shown = "--kubeconfig FILE",
	  .help =
	      "the API server and the credentials (default: $KUBECONFIG, then the\npod's service account, then ~/.kube/config)" },
	{ .shown = "--scheduler-name NAME",
	  .help = "serve pods that name it; may be repeated (default: muster)" },
	{ .shown = "--listen ADDR:PORT", .help = "metrics and health (default: 127.0.0.1:10261)" },
	{ .shown = "--socket PATH",
	  .help = "of muster-core (default: in a temporary directory, which is removed at\nthe end)" },
	{ .shown = "--config FILE",
	  .help =
	      "settings of both in YAML, as muster-frontend --help-config shows;\nflags have precedence" },
	{ .shown = "--core-cpu N", .help = "run muster-core's scheduling thread on this CPU" },
	{ .shown = "--frontend-cpu N", .help = "run muster-frontend on that one" },
	{ .shown = "FLAG",
	  .help =
	      "any other flag that muster-core --help or muster-frontend\n--help names goes to that daemon" },
	{ 0 },
};

struct up {
	const char *command; /* "musterctl up" */
	const char *program; /* of it, to be pasted */
	bool on_terminal;    /* people read it: three lines, and of the daemons only warnings */
	const char *socket;
	const char *listen;
	char folder[TEMPDIR_BYTES]; /* ours, to be removed; "" when --socket was given */
	char made_socket[TEMPDIR_BYTES + 16];
	struct options file; /* what --config says, and defaults */
	struct flags core, frontend;
};

static bool make_folder(struct up *u)
{
	if (!tempdir_make(u->folder)) {
		fprintf(stderr, "%s: a folder for the socket: %s\n", u->command, strerror(errno));
		return false;
	}
	snprintf(u->made_socket, sizeof(u->made_socket), "%s/muster.sock", u->folder);
	u->socket = u->made_socket;
	return true;
}

/* True if --listen names a page to print. Port 0 is any. */
static bool names_a_page(const char *listen)
{
	size_t n = strlen(listen);

	return n > 0 && strcmp(listen, "off") != 0 && (n < 2 || strcmp(listen + n - 2, ":0") != 0);
}

static void say_to_people(const struct up *u, const char *page, uint64_t nodes, uint64_t pods,
                          uint64_t gangs)
{
	printf("muster is ready: %" PRIu64 " nodes, %" PRIu64 " pending pods, %" PRIu64 " gangs\n",
	       nodes, pods, gangs);
	if (page[0] != '\0')
		printf("the page:         %s\n", page);
	printf("another shell:    %s gangs --socket %s\n", u->program, u->socket);
}

/* Poll of the supervisor: says it once the ledger is synced. */
static bool say_ready(void *context)
{
	const struct up *u = context;
	struct observer o;
	struct link_error e;
	uint64_t nodes, pods, gangs;
	bool ready;

	if (observer_open_within(&o, u->socket, LOOK_NS, &e) < 0)
		return false;
	ready = observe_count(&o.ledger->gauges.synced) != 0;
	nodes = observe_count(&o.ledger->gauges.nodes);
	pods = observe_count(&o.ledger->gauges.pods_pending);
	gangs = observe_count(&o.ledger->gauges.gangs);
	observer_close(&o);
	if (ready) {
		char page[256] = "";

		if (names_a_page(u->listen))
			snprintf(page, sizeof(page), "http://%s%s/", u->listen[0] == ':' ? "localhost" : "",
			         u->listen);
		if (u->on_terminal)
			say_to_people(u, page, nodes, pods, gangs);
		else
			printf("muster is ready: MUSTER_SOCKET=%s%s%s%s\n", u->socket,
			       page[0] != '\0' ? ", " : "", page, page[0] != '\0' ? "metrics" : "");
		fflush(stdout);
	}
	return ready;
}

static int run(struct up *u)
{
	struct daemon daemons[] = {
		{ .process.name = "muster-core", .argv = u->core.argv },
		{ .process.name = "muster-frontend", .argv = u->frontend.argv },
	};
	struct supervisor s = {
		.command = u->command,
		.daemons = daemons,
		.n = 2,
		.poll = say_ready,
		.context = u,
	};

	flags_add(&u->core, "--socket");
	flags_add(&u->core, u->socket);
	flags_add(&u->frontend, "--socket");
	flags_add(&u->frontend, u->socket);
	flags_add(&u->frontend, "--listen");
	flags_add(&u->frontend, u->listen);
	daemons[0].argv = u->core.argv;
	daemons[1].argv = u->frontend.argv;
	return supervise(&s);
}

/* The field of a flag of our own that has a value; NULL for others. */
static const char **own_value(struct up *u, const char *name, const char **kubeconfig)
{
	if (strcmp(name, "--socket") == 0)
		return &u->socket;
	if (strcmp(name, "--listen") == 0)
		return &u->listen;
	if (strcmp(name, "--kubeconfig") == 0)
		return kubeconfig;
	return NULL;
}

/* --core-cpu and --frontend-cpu. False: another flag. */
static bool pass_cpu(struct up *u, const char *name, const char *value)
{
	if (strcmp(name, "--core-cpu") == 0)
		return flags_pass(&u->core, "--cpu", value);
	return strcmp(name, "--frontend-cpu") == 0 && flags_pass(&u->frontend, "--cpu", value);
}

/* One flag with its value, if it has one. Returns how many arguments it used, or -1 and a
 * message. */
static int take_flag(struct up *u, char **argv, const char **kubeconfig)
{
	char name[64];
	const char *value = flags_split(argv, name, sizeof(name));
	const char **own = own_value(u, name, kubeconfig);
	bool inside = strchr(argv[0], '=') != NULL, cpu = strstr(name, "-cpu") != NULL;

	if (strncmp(name, "--", 2) != 0)
		return ctl_usage(u->command, "unexpected argument \"%s\"", argv[0]), -1;
	if ((own != NULL || cpu || strcmp(name, "--scheduler-name") == 0) && value == NULL)
		return ctl_usage(u->command, "%s: a value is missing", name), -1;
	if (strcmp(name, "--check-config") == 0 || strcmp(name, "--help-config") == 0 ||
	    strcmp(name, "--help-metrics") == 0)
		return ctl_usage(u->command, "%s: muster-frontend answers that", name), -1;
	if (strcmp(name, "--cpu") == 0)
		return ctl_usage(
				   u->command,
				   "--cpu: say --core-cpu or --frontend-cpu; on one CPU they would wait for each other"),
		       -1;
	if (own != NULL) {
		*own = value;
	} else if (!cpu || !pass_cpu(u, name, value)) {
		/* A flag that both have goes to both. */
		bool core = flags_pass(&u->core, name, value),
			 frontend = flags_pass(&u->frontend, name, value);

		if (!core && !frontend)
			return ctl_usage(u->command, "neither muster-core nor muster-frontend has a flag %s",
			                 name),
			       -1;
	}
	return value != NULL && !inside ? 2 : 1;
}

/* Reads the file of --config, if given: settings of muster-core become flags, before those of the
 * command line. False and a message. */
static bool take_file(struct up *u, char **argv)
{
	const char *path = NULL, *value;
	char name[64], room[24], error[1200];

	for (; *argv != NULL; argv++) {
		value = flags_split(argv, name, sizeof(name));
		if (strcmp(name, "--config") != 0)
			continue;
		if (value == NULL)
			return ctl_usage(u->command, "--config: a value is missing"), false;
		path = value;
	}
	if (path == NULL)
		return true;
	if (config_read(path, &u->file, error, sizeof(error)) < 0) {
		fprintf(stderr, "%s\n", error);
		return false;
	}
	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *s = &settings[i];

		if (!setting_of_core(s) || !(u->file.from_file & setting_bit(s)))
			continue;
		flags_add(&u->core, s->flag);
		flags_add(&u->core, setting_get(s, &u->file, room));
	}
	u->listen = u->file.listen;
	if (u->file.from_file & setting_bit(setting_by_flag("--socket")))
		u->socket = u->file.socket;
	return true;
}

static int take_flags(struct up *u, int argc, char **argv)
{
	const char *kubeconfig = NULL;

	for (int i = 1; i < argc;) {
		int took = take_flag(u, argv + i, &kubeconfig);

		if (took < 0)
			return EXIT_USAGE;
		i += took;
	}
	if (kubeconfig != NULL) {
		flags_add(&u->frontend, "--kubeconfig");
		flags_add(&u->frontend, kubeconfig);
	}
	return -1;
}

static int up(struct up *u, int argc, char **argv)
{
	int rc;

	if (!flags_init(&u->core, u->command, "muster-core") ||
	    !flags_init(&u->frontend, u->command, "muster-frontend"))
		return EXIT_USAGE;
	options_start(&u->file);
	u->listen = u->file.listen;
	/* What the file and the command line say comes later, and has precedence. */
	if (u->on_terminal)
		flags_add(&u->core, "--log-level=warn");
	if (!take_file(u, argv + 1))
		return EXIT_USAGE;
	/* The frontend reads the file by itself, and its flags have precedence. */
	if (u->on_terminal && !(u->file.from_file & setting_bit(setting_by_flag("--log-level"))))
		flags_add(&u->frontend, "--log-level=warn");
	rc = take_flags(u, argc, argv);
	if (rc != -1)
		return rc;
	if (u->socket == NULL && !make_folder(u))
		return EXIT_USAGE;
	rc = run(u);
	tempdir_remove(u->folder);
	return rc;
}

static int run_up(int argc, char **argv)
{
	struct up u = {
		.command = argv[0],
		.program = program_invocation_name,
		.on_terminal = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO),
	};
	int rc;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return options_help(&up_command), EXIT_DONE;
		else if (strcmp(argv[i], "--version") == 0)
			return options_version(), EXIT_DONE;
	rc = up(&u, argc, argv);
	flags_free(&u.core);
	flags_free(&u.frontend);
	options_free(&u.file);
	return rc;
}

const struct command up_command = {
	.name = "up",
	.summary = "run both daemons on this host, restarted when they die",
	.usage = "[--kubeconfig FILE] [--scheduler-name NAME]... [--listen ADDR:PORT]\n"
			 "             [--socket PATH] [FLAG]...",
	.about =
		"Runs muster-core and muster-frontend on this host, as two processes. One that dies is\n"
		"started again: at once, then after 0.1 s, doubling up to 5 s. SIGTERM or ctrl-C stops\n"
		"both. It prints one line when the lists are in the ledger; on a terminal three, and of the\n"
		"daemons' logs only warnings and errors unless --log-level says otherwise.\n",
	.exits = "0 after a clean stop; 2 or 78 when a daemon ended with that, which no\n"
			 "restart would change; 1 when one had to be killed.",
	.flags = own_flags,
	.run = run_up,
};
