/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/base/window.h"

#include "ipc/clock.h"

#include <assert.h>

#define ROUND_MIN 12u /* fewer answers say little */
#define REST_FIRST_NS (5 * NS_PER_S)
#define REST_MOST_NS (80 * NS_PER_S)
#define REFUSED_FORGOTTEN_NS (2 * REST_MOST_NS) /* longer than the rest and the way back */
#define LEAST_NS (30 * NS_PER_S)
#define LATE 4u /* times the least mean */

void window_init(struct window *w, unsigned first, unsigned most)
{
	assert(1 <= first && first <= most);
	*w = (struct window){ .size = first, .first = first, .most = most, .rest_ns = REST_FIRST_NS };
}

static void round_begin(struct window *w)
{
	w->answers = 0;
	w->latency_sum_ns = 0;
}

static void resize(struct window *w, uint64_t now_ns, unsigned size)
{
	w->size = size < 1 ? 1 : size > w->most ? w->most : size;
	w->sized_ns = now_ns;
	w->skipped = 0;
	w->successes = 0;
	round_begin(w);
}

static uint64_t longer(uint64_t rest_ns)
{
	return rest_ns < REST_MOST_NS / 2 ? 2 * rest_ns : REST_MOST_NS;
}

static void rest(struct window *w, uint64_t now_ns)
{
	w->stepped = false;
	w->tried = true;
	w->rests_until_ns = now_ns + w->rest_ns;
	w->rest_ns = longer(w->rest_ns);
}

static void refusal_note(struct window *w, uint64_t now_ns)
{
	if (!w->refused_size || now_ns - w->halved_ns >= REFUSED_FORGOTTEN_NS)
		w->refused_rest_ns = REST_FIRST_NS;
	w->refused_size = w->size;
	w->refused_until_ns = now_ns + w->refused_rest_ns;
	w->refused_rest_ns = longer(w->refused_rest_ns);
}

static void least_note(struct window *w, uint64_t now_ns, uint64_t mean_ns)
{
	if (now_ns - w->least_since_ns >= LEAST_NS) {
		w->least_ns[1] = now_ns - w->least_since_ns < 2 * LEAST_NS ? w->least_ns[0] : 0;
		w->least_ns[0] = 0;
		w->least_since_ns = now_ns;
	}
	if (w->least_ns[0] == 0 || mean_ns < w->least_ns[0])
		w->least_ns[0] = mean_ns;
}

static uint64_t least(const struct window *w)
{
	return w->least_ns[1] && w->least_ns[1] < w->least_ns[0] ? w->least_ns[1] : w->least_ns[0];
}

/* The rate grew by at least half of what the size did. */
static bool step_gained(const struct window *w, uint64_t mean_ns)
{
	/* size / mean >= (before + size) / 2 / before_latency, without division. */
	return 2.0 * w->size * (double)w->before_latency_ns >=
	       ((double)w->before + w->size) * (double)mean_ns;
}

static void step_up(struct window *w, uint64_t now_ns, uint64_t mean_ns)
{
	const unsigned more = w->tried ? (w->size + 3) / 4 : w->size;

	/* 0.98, after three steps from the half, would be refused too. */
	if (now_ns < w->refused_until_ns && w->size + more >= w->refused_size - w->refused_size / 8)
		return;
	w->before = w->size;
	w->before_latency_ns = mean_ns;
	w->stepped = true;
	resize(w, now_ns, w->size + more);
}

static void round_end(struct window *w, uint64_t now_ns)
{
	const uint64_t mean_ns = w->latency_sum_ns / w->answers;
	bool late;

	least_note(w, now_ns, mean_ns);
	late = mean_ns > LATE * least(w);
	round_begin(w);
	if (w->stepped && (late || !step_gained(w, mean_ns))) {
		resize(w, now_ns, w->before);
		rest(w, now_ns);
		return;
	}
	if (w->stepped)
		w->rest_ns = REST_FIRST_NS;
	w->stepped = false;
	if (late && w->size > w->first) {
		const unsigned less = w->size - w->size / 4;

		resize(w, now_ns, less > w->first ? less : w->first);
		rest(w, now_ns);
	} else if (!late && w->size >= w->first && w->size < w->most && now_ns >= w->rests_until_ns) {
		step_up(w, now_ns, mean_ns);
	}
}

/* Whom else the server has now is unknown: the first search again. */
static void restart(struct window *w, uint64_t now_ns)
{
	resize(w, now_ns, w->first);
	w->stepped = w->tried = false;
	w->rest_ns = REST_FIRST_NS;
	w->rests_until_ns = now_ns;
}

/* What was slower is forgotten by successes alone, however few wait. */
static void recover(struct window *w)
{
	if (w->size >= w->first || ++w->successes < w->size)
		return;
	w->size++;
	w->successes = 0;
}

void window_answered(struct window *w, uint64_t now_ns, uint64_t sent_ns, bool waiting)
{
	const uint64_t latency_ns = now_ns > sent_ns ? now_ns - sent_ns : 1;

	recover(w);
	if (w->first == w->most)
		return;
	if (sent_ns < w->sized_ns || !waiting)
		return;
	if (w->size > w->first && now_ns - w->least_since_ns >= 2 * LEAST_NS) {
		restart(w, now_ns);
		return;
	}
	if (w->skipped < w->size) {
		w->skipped++;
		return;
	}
	w->answers++;
	w->latency_sum_ns += latency_ns;
	if (w->answers >= w->size && w->answers >= ROUND_MIN)
		round_end(w, now_ns);
}

bool window_slower(struct window *w, uint64_t now_ns, uint64_t sent_ns)
{
	if (w->halved_ns && sent_ns <= w->halved_ns)
		return false;
	refusal_note(w, now_ns);
	w->halved_ns = now_ns;
	resize(w, now_ns, w->size / 2);
	rest(w, now_ns);
	return true;
}
