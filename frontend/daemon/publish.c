/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/daemon/daemon.h"

#include "frontend/page/answer.h"
#include "frontend/serve/notify.h"

#include <stdlib.h>
#include <string.h>

#define FIGURES_NS (5 * NS_PER_S)  /* without a request: they show that the loop runs */
#define READY_NS (100 * NS_PER_MS) /* between two checks of readiness */

static void figures_take(struct daemon *d, bool whole)
{
	struct observer ledger;

	d->metrics.taken_ns = env_now(&d->env);
	d->metrics.core_up = corelink_is_up(d->link);
	d->metrics.core_stalled = *d->core_stalled;
	if (d->metrics.core_up) {
		metrics_read_core(&d->metrics.core, corelink_ledger(d->link));
		corelink_figures(d->link, &d->metrics.link);
		corelink_observe(d->link, &ledger);
		if (whole) {
			usage_read(&d->metrics.usage, &ledger);
			metrics_queues_read(&d->metrics, &ledger);
		}
	}
	if (!d->metrics.core_up)
		metrics_queues_give(&d->metrics);
	metrics_read_process(&d->metrics);
	d->metrics.curl = *curl_transport_counts(d->curl);
	frontend_metrics(d->frontend, &d->metrics);
	if (whole)
		frontend_devices(d->frontend, &d->metrics);
	model_queues_invalid(d->model, &d->metrics.queues_refused);
}

static void outsider_answer(struct daemon *d)
{
	size_t bytes;
	char *json = serve_take_body(d->serve, &bytes);

	if (json)
		answer_outsider(d->model, corelink_is_up(d->link) ? corelink_epoch(d->link) : 0, json,
		                bytes, &d->answer);
	serve_give_answer(d->serve, json ? d->answer.at : NULL, json ? d->answer.bytes : 0);
	free(json);
}

/* The page: rows of the ledger, with names and texts of the model. */
static void question_answer(struct daemon *d, const struct question *q)
{
	struct observer ledger;
	const bool up = corelink_is_up(d->link);
	const struct answer_source source = {
		.ledger = up ? &ledger : NULL,
		.model = d->model,
		.metrics = &d->metrics,
		.latency = frontend_latency(d->frontend),
		.history = d->history,
		.wall_ns = system_wall_ns(NULL),
	};

	if (up)
		corelink_observe(d->link, &ledger);
	if (answer_write(&source, q, &d->answer))
		serve_give_answer(d->serve, d->answer.at, d->answer.bytes);
	else
		serve_give_answer(d->serve, NULL, 0);
}

void publish(struct daemon *d)
{
	uint64_t now = env_now(&d->env);
	struct question q;
	bool asked, figures, question, history, whole;

	if (!d->serve)
		return;
	asked = serve_is_wanted(d->serve, &whole);
	figures = asked || now >= d->figures_ns;
	question = serve_take_question(d->serve, &q);
	history =
		figures && corelink_is_up(d->link) && history_is_due(d->history, system_wall_ns(NULL));
	if (!figures && !question)
		return;
	whole = whole || history;
	figures_take(d, whole);
	if (history)
		history_take(d->history, &d->metrics, system_wall_ns(NULL));
	if (figures) {
		d->figures_ns = now + FIGURES_NS;
		serve_update(d->serve, &d->metrics, whole);
	}
	if (question && q.kind == QUESTION_OUTSIDER)
		outsider_answer(d);
	else if (question)
		question_answer(d, &q);
}

void publish_ready(struct daemon *d)
{
	uint64_t now = env_now(&d->env);
	char text[1024];
	int rc;

	if (now < d->ready_ns)
		return;
	figures_take(d, false);
	d->ready_ns = now + READY_NS;
	if (metrics_not_ready(&d->metrics, text, sizeof(text)) != NULL)
		return;
	d->ready_ns = NEVER_NS;
	rc = notify_send("READY=1");
	if (rc < 0)
		env_log(&d->env, "warn", "NOTIFY_SOCKET=%s: %s", getenv("NOTIFY_SOCKET"), strerror(-rc));
}
