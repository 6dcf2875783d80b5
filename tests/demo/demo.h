/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the demo. */
#ifndef MUSTER_DEMO_DEMO_H
#define MUSTER_DEMO_DEMO_H

#include "ctl/objects/apiclient.h"
#include "ctl/up/process.h"
#include "ctl/up/tempdir.h"
#include "tests/demo/audit.h"
#include "tests/demo/view.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct demo {
	const char *data;
	double arrive_s; /* all jobs are sent over that time */
	double limit_s;  /* of everything but the end */
	size_t jobs_max;
	bool plain, keep;

	struct trace trace;
	struct view view;
	struct audit audit;       /* follows the watch */
	struct audit last;        /* the list at the end */
	struct audit_stats stats; /* of the API server at the end */
	struct apiclient *api;
	struct process apisim, up;
	char folder[TEMPDIR_BYTES], kubeconfig[TEMPDIR_BYTES + 16], socket[TEMPDIR_BYTES + 16];

	size_t setup_open; /* nodes and namespaces not answered yet */
	size_t jobs_sent, pods_sent, pods_taken, refused;
	char refusal[400]; /* the first */
	bool list_open, stats_read;
	bool out_of_time, listed;
	double begun_s, end_s, first_s, moved_s, last_s, setup_s; /* monotonic; 0: not yet */
	double rate_s;                                            /* when the rate was taken */
	size_t rate_bound;
	double rate, best_rate;
};

extern volatile sig_atomic_t demo_stopped; /* the signal that ends it; 0: none */

double demo_now_s(void); /* monotonic */

/* Prints an error; returns false. */
bool demo_say(const char *what, const char *why);

bool demo_make_folder(struct demo *d);
void demo_remove_folder(const struct demo *d);
bool demo_start_apisim(struct demo *d);
bool demo_start_muster(struct demo *d);

void demo_stop(struct demo *d);

/* True if all processes run; else prints which one does not. */
bool demo_alive(struct demo *d);

bool demo_send_setup(struct demo *d); /* nodes and namespaces */
void demo_send_due(struct demo *d, double at_s);
bool demo_start_watch(struct demo *d);

/* Every pod into d->last; what the API server counted into d->stats.  False: no answer in time. */
bool demo_read_list(struct demo *d);
bool demo_read_stats(struct demo *d);

#endif
