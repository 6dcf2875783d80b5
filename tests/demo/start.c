/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping the programs of the demo. */
#include "tests/demo/demo.h"

#include "ctl/up/process.h"

#include <time.h>
#include <unistd.h>

/* A job of two hours runs one second. */
#define TIME_SCALE "7200"
#define LANES 8
#define PATIENCE_MS 5000

static char *find_program(const char *name)
{
	char *path = process_find(name);

	if (path == NULL)
		demo_say(name, "not built; run make");
	return path;
}

bool demo_alive(struct demo *d)
{
	struct process *procs[] = { &d->apisim, &d->up };

	for (size_t i = 0; i < 2; i++) {
		if (procs[i]->name == NULL || process_runs(procs[i]))
			continue;
		demo_say(procs[i]->name, "ended too early");
		process_show_log(procs[i]);
		return false;
	}
	return true;
}

/* Waits for `ready`, while all processes run and no signal comes. */
static bool wait_for(struct demo *d, const char *what, bool (*ready)(struct demo *d))
{
	while (!ready(d)) {
		const struct timespec pause = { .tv_nsec = 10000000 };

		if (demo_stopped || !demo_alive(d))
			return false;
		if (demo_now_s() > d->end_s)
			return demo_say(what, "not there in time");
		nanosleep(&pause, NULL);
	}
	return true;
}

static bool has_kubeconfig(struct demo *d)
{
	return access(d->kubeconfig, R_OK) == 0;
}

static bool has_ledger(struct demo *d)
{
	return view_connect(&d->view, d->socket);
}

/* argv[0] is the name of one of our programs. */
static bool start(struct demo *d, struct process *p, const char *name, const char *log,
                  const char *argv[])
{
	char *path = find_program(argv[0]);
	bool ok;

	*p = (struct process){ .command = "demo", .name = name };
	snprintf(p->log, sizeof(p->log), "%s/%s", d->folder, log);
	argv[0] = path;
	ok = path != NULL && process_start(p, argv);
	free(path);
	return ok;
}

bool demo_start_apisim(struct demo *d)
{
	const char *argv[] = { "muster-apisim", "--port",       "0",        "--kubeconfig-out",
		                   d->kubeconfig,   "--time-scale", TIME_SCALE, NULL };
	struct access_options options = { .kubeconfig = d->kubeconfig };
	char error[512];

	if (!start(d, &d->apisim, "muster-apisim", "apisim.log", argv) ||
	    !wait_for(d, "muster-apisim", has_kubeconfig))
		return false;
	d->api = apiclient_new(&options, LANES, error, sizeof(error));
	return d->api != NULL || demo_say(d->kubeconfig, error);
}

bool demo_start_muster(struct demo *d)
{
	const char *argv[] = { "musterctl", "up",       "--kubeconfig", d->kubeconfig, "--socket",
		                   d->socket,   "--listen", "127.0.0.1:0",  NULL };

	return start(d, &d->up, "musterctl up", "muster.log", argv) &&
	       wait_for(d, "the ledger of muster-core", has_ledger);
}

void demo_stop(struct demo *d)
{
	process_stop(&d->up, PATIENCE_MS);
	process_stop(&d->apisim, PATIENCE_MS);
}

bool demo_make_folder(struct demo *d)
{
	if (!tempdir_make(d->folder))
		return demo_say("a folder for sockets and logs", strerror(errno));
	snprintf(d->kubeconfig, sizeof(d->kubeconfig), "%s/kubeconfig", d->folder);
	snprintf(d->socket, sizeof(d->socket), "%s/muster.sock", d->folder);
	return true;
}

void demo_remove_folder(const struct demo *d)
{
	if (!d->keep)
		tempdir_remove(d->folder);
	else
		fprintf(stderr, "demo: kept: %s\n", d->folder);
}
