/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/metrics_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void label_write(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if (*text == '\n')
			fputs("\\n", out);
		else
			fputc(*text, out);
	}
}

static void attempts_write(const struct latency_figures *f, FILE *out)
{
	family_write(
		out, "scheduler_schedule_attempts_total", "counter",
		"[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable': a reason was reported for a pod; "
		"'error': the API server refused its binding.");
	for (uint32_t i = 0; i < f->profiles_n; i++)
		for (int k = 0; k < ATTEMPTS; k++) {
			fputs("scheduler_schedule_attempts_total{profile=\"", out);
			label_write(f->profiles[i].name, out);
			fprintf(out, "\",result=\"%s\"} %" PRIu64 "\n", attempt_names[k],
			        f->profiles[i].attempts[k]);
		}
}

static void took_write(const struct latency_figures *f, FILE *out)
{
	static const char name[] = "scheduler_scheduling_attempt_duration_seconds";

	family_write(
		out, name, "histogram",
		"[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding), of pods that were scheduled.");
	for (uint32_t i = 0; i < f->profiles_n; i++) {
		char *labels = NULL;
		size_t bytes;
		FILE *text = open_memstream(&labels, &bytes);

		if (!text)
			return;
		fputs("profile=\"", text);
		label_write(f->profiles[i].name, text);
		fputs("\",result=\"scheduled\",", text);
		if (fclose(text) == 0)
			histogram_write(&f->profiles[i].took, &buckets_attempt, 1e-9, name, labels, out);
		free(labels);
	}
}

static void sli_write(const struct latency_figures *f, FILE *out)
{
	static const char name[] = "scheduler_pod_scheduling_sli_duration_seconds";

	family_write(
		out, name, "histogram",
		"[BETA] E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
		"involve multiple scheduling attempts.");
	for (int i = 0; i < LATENCY_TRIES; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "attempts=\"%d%s\",", i + 1,
		         i + 1 < LATENCY_TRIES ? "" : "+");
		if (f->sli[i].n > 0)
			histogram_write(&f->sli[i], &buckets_sli, 1e-9, name, labels, out);
	}
	family_write(out, "scheduler_pod_scheduling_attempts", "histogram",
	             "[STABLE] Number of attempts to successfully schedule a pod.");
	histogram_write(&f->tries, &buckets_tries, 1, "scheduler_pod_scheduling_attempts", "", out);
}

static void pending_write(const struct latency_figures *f, FILE *out)
{
	family_write(
		out, "scheduler_pending_pods", "gauge",
		"[STABLE] Number of pending pods, by the queue type. 'active': without a published reason yet; 'backoff': their "
		"binding was refused; 'unschedulable': do not fit, or rejected; 'gated': have scheduling gates; 'incomplete': "
		"their gang is.");
	for (int i = 0; i < POD_QUEUES; i++)
		fprintf(out, "scheduler_pending_pods{queue=\"%s\"} %" PRIu64 "\n", pod_queue_names[i],
		        f->pending[i]);
}

static void stages_write(const struct latency_figures *f, FILE *out)
{
	family_write(
		out, "muster_pod_stage_duration_seconds", "histogram",
		"Where the time of pods went: extract, send, wait, plan, ring, queue, bind, watch; ours is all but wait and watch, "
		"total all but watch; serve: from the second of its creation to the watch.");
	for (int i = 0; i < STAGES; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "stage=\"%s\",", stage_names[i]);
		histogram_write(&f->stages[i], &buckets_fine, 1e-9, "muster_pod_stage_duration_seconds",
		                labels, out);
	}
}

void metrics_pods_write(const struct metrics *m, FILE *out)
{
	const struct latency_figures *f = &m->latency;

	attempts_write(f, out);
	took_write(f, out);
	sli_write(f, out);
	pending_write(f, out);
	stages_write(f, out);
	FIGURES(
		out,
		COUNTER("muster_pods_not_followed_total",
	            "Pods whose stages were not recorded because all slots were in use.",
	            f->not_followed),
		COUNTER("muster_pods_bound_elsewhere_total", "Pods of muster that another scheduler bound.",
	            f->elsewhere),
		COUNTER("muster_invariant_checks_total",
	            "Pods seen on the watch after their binding, and compared with it.", f->checks),
		COUNTER("muster_invariant_violations_total", "... that were on another node.", f->wrong));
}
