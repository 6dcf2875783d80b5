/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping the programs of the demo. */
#include "tests/demo/demo.h"

#include "ctl/term/ctl.h"
#include "ctl/up/supervise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A job of two hours runs one second. */
#define TIME_SCALE "7200"
#define LANES 8

static char *find_program(const char *name)
{
	char *path = supervise_find(name);

	if (path == NULL)
		demo_say(name, "not built; run make");
	return path;
}

bool demo_alive(struct demo *d)
{
	struct proc *procs[] = { &d->apisim, &d->up };

	for (size_t i = 0; i < 2; i++) {
		if (procs[i]->name == NULL || proc_alive(procs[i]))
			continue;
		demo_say(procs[i]->name, "ended too early");
		proc_show_log(procs[i]);
		return false;
	}
	return true;
}

/* Wait for `ready`, while nothing dies and nobody stops us. */
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

bool demo_start_apisim(struct demo *d)
{
	char *path = find_program("muster-apisim");
	char log[128], error[512];
	char *argv[] = { path,
		             (char[]){ "--port" },
		             (char[]){ "0" },
		             (char[]){ "--kubeconfig-out" },
		             d->kubeconfig,
		             (char[]){ "--time-scale" },
		             (char[]){ TIME_SCALE },
		             NULL };
	bool ok;

	snprintf(log, sizeof(log), "%s/apisim.log", d->folder);
	ok = path != NULL && proc_start(&d->apisim, "muster-apisim", log, argv);
	free(path);
	if (!ok || !wait_for(d, "muster-apisim", has_kubeconfig))
		return false;
	d->api = api_new(d->kubeconfig, LANES, error, sizeof(error));
	return d->api != NULL || demo_say(d->kubeconfig, error);
}

bool demo_start_muster(struct demo *d)
{
	char *path = find_program("musterctl");
	char log[128];
	char *argv[] = { path,
		             (char[]){ "up" },
		             (char[]){ "--kubeconfig" },
		             d->kubeconfig,
		             (char[]){ "--socket" },
		             d->socket,
		             (char[]){ "--listen" },
		             (char[]){ "127.0.0.1:0" },
		             NULL };
	bool ok;

	snprintf(log, sizeof(log), "%s/muster.log", d->folder);
	ok = path != NULL && proc_start(&d->up, "musterctl up", log, argv);
	free(path);
	return ok && wait_for(d, "the ledger of muster-core", has_ledger);
}

bool demo_make_folder(struct demo *d)
{
	if (!folder_make(d->folder))
		return demo_say("a folder for sockets and logs", strerror(errno));
	snprintf(d->kubeconfig, sizeof(d->kubeconfig), "%s/kubeconfig", d->folder);
	snprintf(d->socket, sizeof(d->socket), "%s/muster.sock", d->folder);
	return true;
}

void demo_remove_folder(const struct demo *d)
{
	if (!d->keep)
		folder_remove(d->folder);
	else
		fprintf(stderr, "demo: kept: %s\n", d->folder);
}
