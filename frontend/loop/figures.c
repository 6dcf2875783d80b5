/* SPDX-License-Identifier: Apache-2.0 */
/* The frontend's part of the metrics. */
#include "frontend/loop/frontend_impl.h"

#include "frontend/bind/volume_bind.h"
#include "frontend/evict/rights.h"
#include "frontend/serve/extender.h"

#include <stdio.h>
#include <string.h>

static void claims_metrics(const struct frontend *f, struct metrics *out)
{
	if (f->volume_bind) {
		out->volumes = *volume_bind_counts(f->volume_bind);
		out->volumes_phase = *binder_phase(f->binder, volume_bind_kind(f->volume_bind));
	}
	out->has_devices = f->claims != NULL;
	if (f->claims) {
		out->claims = *claim_bind_counts(f->claims);
		out->claims_denied =
			f->claims_rights && rights_known(f->claims_rights) && !rights_granted(f->claims_rights);
		out->claims_phase = *binder_phase(f->binder, claim_bind_kind(f->claims));
	}
}

void frontend_devices(const struct frontend *f, struct metrics *out)
{
	if (!f->claims)
		return;
	device_figures_read(&out->devices, model_live(f->model));
	claims_figures_read(&out->claims_now, f->claims);
}

void frontend_metrics(const struct frontend *f, struct metrics *out)
{
	out->watches_n = f->watches_n < METRICS_WATCHES ? f->watches_n : METRICS_WATCHES;
	for (size_t i = 0; i < out->watches_n; i++) {
		struct metrics_watch *w = &out->watches[i];
		const struct resource *r = watch_resource(f->watches[i]);

		w->resource = r->plural;
		w->group = r->group;
		w->counts = *watch_counts(f->watches[i]);
		w->synced = watch_synced(f->watches[i]);
		w->absent = watch_absent(f->watches[i]);
		w->silence_ns = watch_silence_ns(f->watches[i]);
		strncpy(w->error, watch_error(f->watches[i]), sizeof(w->error) - 1);
	}
	model_counts(f->model, &out->model);
	out->binder = *binder_counts(f->binder);
	out->takeover = *takeover_counts(f->takeover);
	claims_metrics(f, out);
	out->binds_queued = binder_queued(f->binder);
	out->binds_held = binder_held(f->binder);
	out->binds_in_flight = binder_flying(f->binder);
	out->binds_window = binder_window(f->binder);
	out->report = *report_counts(f->report);
	out->reports_queued = report_queued(f->report);
	out->events_window = report_window(f->report);
	out->frontend = f->counts;
	out->latency = *latency_figures(f->latency);
	out->waits = *waits_figures(f->waits);
	out->extends = f->extender != NULL;
	if (f->extender)
		out->extender = *extender_counts(f->extender);
	out->lists_in = frontend_lists_in(f);
	out->journals = f->journal != NULL;
	if (f->journal) {
		const char *fault = journal_fault(f->journal);

		out->journal = *journal_counts(f->journal);
		out->journal_intents = journal_size(f->journal);
		snprintf(out->journal_fault, sizeof(out->journal_fault), "%s", fault ? fault : "");
	}
	preempt_metrics(f, out);
	out->elects = f->lease != NULL;
	out->leads = frontend_may_write(f);
	if (f->lease)
		out->lease = *lease_counts(f->lease);
}
