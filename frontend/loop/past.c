/* SPDX-License-Identifier: Apache-2.0 */
/* What queues used in the past, between the ledger, the model and its ConfigMap.  The last copy is
 * the model's: a new core gets it. */
#include "frontend/loop/frontend_impl.h"

#include "frontend/base/log.h"
#include "frontend/queues/past_store.h"
#include "ipc/observe.h"

#include <stdlib.h>

#define WRITE_NS (300 * NS_PER_S)

void past_begin(struct frontend *f)
{
	const struct past_config *c = f->config.past;
	const struct past_store_config store = {
		.env = f->env, .namespace = c->namespace, .name = c->name, .half_life_s = c->half_life_s
	};

	f->past_half_life_s = c->half_life_s;
	f->past = past_store_new(&store);
}

void past_end(struct frontend *f)
{
	past_store_free(f->past);
}

static void row_add(struct queues_past *p, const struct queue_copy *row, uint32_t resources,
                    char *const *names)
{
	past_add_queue(p, row->row.name);
	for (uint32_t r = 0; r < resources; r++)
		if (names[r][0] != '\0')
			past_add_amount(p, names[r], row->amounts[r].history, row->amounts[r].history_part);
}

/* Of the rows of the core, which may be dead already; NULL: it has none. */
static struct queues_past *rows_copy(const struct frontend *f)
{
	struct queues_past *p =
		past_new(f->env->wall_ns(f->env->context) / NS_PER_S, f->past_half_life_s);
	struct queue_copy *row = must_alloc(sizeof(*row));
	char name[OBSERVE_NAME_MAX], *names[RESOURCES_MAX];
	struct observer o;
	uint32_t there;

	f->port.observe(f->port.context, &o);
	for (uint32_t r = 0; r < o.places.limits.resources; r++)
		names[r] = arena_copy(&p->texts, text_of(observe_name(&o, r, name)));
	there = observe_queues_there(&o);
	for (uint32_t id = 0; id < there; id++)
		if (observe_queue(&o, id, row))
			row_add(p, row, o.places.limits.resources, names);
	free(row);
	if (p->n > 0)
		return p;
	past_free(p);
	return NULL;
}

/* The copy of before stays if the rows can't have what the core knows. */
static void copy_take(struct frontend *f)
{
	struct queues_past *p;

	if (!f->up || !f->port.observe || f->rows_known_ns == 0 || env_now(f->env) < f->rows_known_ns)
		return;
	p = rows_copy(f);
	if (p)
		model_keep_past(f->model, p);
}

bool past_ready(struct frontend *f)
{
	past_store_claim(f->past);
	return past_store_is_read(f->past);
}

void past_restore(struct frontend *f)
{
	model_keep_past(f->model, past_store_take(f->past));
	model_send_past(f->model);
	f->past_due_ns = env_now(f->env) + WRITE_NS;
}

void past_core_down(struct frontend *f)
{
	copy_take(f);
}

static void copy_write(struct frontend *f)
{
	copy_take(f);
	if (model_past(f->model))
		past_store_put(f->past, model_past(f->model));
}

uint64_t past_poll(struct frontend *f)
{
	const uint64_t now = env_now(f->env);
	uint64_t next;

	frontend_rows_known(f);
	if (!frontend_may_write(f))
		return NEVER_NS;
	if (f->synced && now >= f->past_due_ns) {
		f->past_due_ns = now + WRITE_NS;
		if (f->up)
			copy_write(f);
	}
	next = past_store_poll(f->past);
	return f->synced && f->past_due_ns < next ? f->past_due_ns : next;
}

void past_stop(struct frontend *f)
{
	if (f->synced && frontend_may_write(f))
		copy_write(f);
}

bool past_is_idle(const struct frontend *f)
{
	return !frontend_may_write(f) || past_store_is_idle(f->past);
}
