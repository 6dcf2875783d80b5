/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the demo share. */
#ifndef MUSTER_DEMO_DEMO_H
#define MUSTER_DEMO_DEMO_H

#include "ctl/up/folder.h"
#include "tests/demo/api.h"
#include "tests/demo/audit.h"
#include "tests/demo/procs.h"
#include "tests/demo/view.h"

#include <signal.h>

struct demo {
	const char *data;
	double arrive_s; /* all jobs are sent over that time */
	double limit_s;  /* of everything but the end */
	size_t jobs_max;
	bool plain, keep;

	struct trace trace;
	struct view view;
	struct audit audit; /* follows the watch */
	struct audit last;  /* the list at the end */
	struct api *api;
	struct proc apisim, up;
	char folder[FOLDER_BYTES], kubeconfig[FOLDER_BYTES + 16], socket[FOLDER_BYTES + 16];

	size_t setup_open; /* nodes and namespaces not answered yet */
	size_t jobs_sent, pods_sent, pods_taken, refused;
	char refusal[400]; /* the first */
	bool list_open;
	bool out_of_time, listed;
	double begun_s, end_s, first_s, moved_s, last_s, setup_s; /* monotonic; 0: not yet */
	double rate_s;                                            /* when the rate was taken */
	size_t rate_bound;
	double rate, best_rate;
};

extern volatile sig_atomic_t demo_stopped; /* the signal that ends it; 0: none */

double demo_now_s(void); /* monotonic */

/* Say what is wrong, on standard error; false. */
bool demo_say(const char *what, const char *why);

/* ---- start.c: processes and the folder they share ---- */

bool demo_make_folder(struct demo *d);
void demo_remove_folder(const struct demo *d);
bool demo_start_apisim(struct demo *d);
bool demo_start_muster(struct demo *d);

/* Do all processes live?  False: it has been said which doesn't. */
bool demo_alive(struct demo *d);

/* ---- submit.c: objects towards the API server, and lists back ---- */

bool demo_send_setup(struct demo *d); /* nodes and namespaces */
void demo_send_due(struct demo *d, double at_s);
bool demo_start_watch(struct demo *d);

/* Every pod as it is now, into d->last.  False: it took too long. */
bool demo_read_list(struct demo *d);

#endif
