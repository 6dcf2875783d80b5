/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes and claims of devices: what is written before Bindings, and what devices there are. */
#include "frontend/serve/metrics_impl.h"

#include <inttypes.h>

static void counts_write(const struct metrics *m, FILE *out)
{
	LABELLED(
		out, "muster_volume_binds_total", "result",
		"Claims that waited for their first consumer: bound, failed (their pods are planned again), or undone.",
		{ "bound", m->volumes.bound }, { "failed", m->volumes.failed },
		{ "undone", m->volumes.undone });
	LABELLED(out, "muster_device_claims_total", "result",
	         "Writes to claims of devices: allocated, or undone.",
	         { "allocated", m->claims.allocated }, { "undone", m->claims.undone });
	FIGURES(
		out,
		COUNTER("muster_device_pods_failed_total",
	            "Pods planned again since their claims could not be allocated, or their devices "
	            "were not ready.",
	            m->claims.failed),
		COUNTER("muster_device_conflicts_total",
	            "Devices that another scheduler had allocated to another claim too.",
	            m->claims.conflicts));
}

static void phase_write(const struct histogram *h, const char *name, const char *help, FILE *out)
{
	family_write(out, name, "histogram", help);
	histogram_write(h, &buckets_sli, 1e-9, name, "", out);
}

static void devices_write(const struct device_figures *f, FILE *out)
{
	static const char *const states[DEVICES_STATES] = {
		[DEVICES_FREE] = "free",         [DEVICES_TAKEN] = "taken",     [DEVICES_SHARED] = "shared",
		[DEVICES_UNUSABLE] = "unusable", [DEVICES_TAINTED] = "tainted",
	};

	family_write(out, "muster_devices", "gauge",
	             "Devices of the ResourceSlices in use: free; taken; shared: at least one share is "
	             "allocated; unusable: of an unknown form, or avoided since its binding failed; "
	             "tainted, whether a claim tolerates it or not. Drivers beyond the first 32 share "
	             "(others).");
	for (uint32_t i = 0; i < f->drivers_n; i++)
		for (int k = 0; k < DEVICES_STATES; k++) {
			fputs("muster_devices{driver=\"", out);
			label_write(f->drivers[i].name, out);
			fprintf(out, "\",state=\"%s\"} %" PRIu64 "\n", states[k], f->drivers[i].devices[k]);
		}
}

static void gauges_write(const struct metrics *m, FILE *out)
{
	const struct device_figures *f = &m->devices;
	const struct claims_figures *now = &m->claims_now;
	const uint64_t waiting = f->claims - f->claims_allocated;
	const struct labelled claims[] = {
		{ "waiting", waiting > now->writing ? waiting - now->writing : 0 },
		{ "writing", now->writing },
		{ "allocated",
		  f->claims_allocated > now->undoing ? f->claims_allocated - now->undoing : 0 },
		{ "undoing", now->undoing },
	};
	const struct labelled questions[] = {
		{ "asked", f->questions - f->questions_refused },
		{ "refused", f->questions_refused },
	};

	devices_write(f, out);
	labelled_write(out, "muster_claims", "gauge", "state",
	               "ResourceClaims by state; writing: muster is allocating it; undoing: "
	               "muster is deallocating it, its gang could not start.",
	               claims, sizeof(claims) / sizeof(claims[0]));
	labelled_write(out, "muster_questions", "gauge", "state",
	               "Different sets of claims that waiting pods have; refused: muster does "
	               "not support what they request, or a selector of theirs.",
	               questions, sizeof(questions) / sizeof(questions[0]));
}

void metrics_claims_write(const struct metrics *m, FILE *out)
{
	counts_write(m, out);
	phase_write(&m->volumes_phase, "muster_volumes_phase_duration_seconds",
	            "From the first write for the volumes of a pod until all were bound.", out);
	if (!m->has_devices)
		return;
	phase_write(&m->claims_phase, "muster_claims_phase_duration_seconds",
	            "From the first write for the claims of a pod until all were allocated and their "
	            "devices ready.",
	            out);
	FIGURES(out, GAUGE("muster_claims_granted",
	                   "0 while a right to write claims is missing: no pod with claims is bound.",
	                   !m->claims_denied));
	gauges_write(m, out);
}
