/* SPDX-License-Identifier: Apache-2.0 */
/* What queues use, from the ledger to their objects. */
#include "frontend/loop/frontend_impl.h"

#include "frontend/base/log.h"
#include "frontend/json/jsonout.h"
#include "frontend/report/queue_status.h"
#include "ipc/observe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS (10 * NS_PER_S) /* between two looks at all rows */

struct used {
	char name[OBSERVE_NAME_MAX];
	uint32_t resource;
};

static int used_compare(const void *a, const void *b)
{
	return strcmp(((const struct used *)a)->name, ((const struct used *)b)->name);
}

static void row_write(const struct queue_copy *row, const struct used *names, uint32_t n,
                      struct jsonout *out)
{
	char quantity[32];

	jsonout_clear(out);
	jsonout_add(out, "{");
	for (uint32_t i = 0; i < n; i++) {
		const int64_t used = row->amounts[names[i].resource].used;
		const bool milli = names[i].resource == RESOURCE_CPU && used % 1000 != 0;

		if (used <= 0 || !names[i].name[0])
			continue;
		snprintf(quantity, sizeof(quantity), "%lld%s",
		         (long long)(names[i].resource == RESOURCE_CPU && !milli ? used / 1000 : used),
		         milli ? "m" : "");
		jsonout_add(out, "@r@s:@s", out->bytes > 1 ? "," : "", names[i].name, quantity);
	}
	jsonout_add(out, "}");
}

static void rows_read(struct frontend *f)
{
	struct queue_copy *row = must_alloc(sizeof(*row));
	struct used *names = must_array(RESOURCES_MAX, sizeof(*names));
	struct jsonout text = { 0 };
	struct observer o;
	uint32_t there, n;

	f->port.observe(f->port.context, &o);
	n = o.places.limits.resources;
	for (uint32_t r = 0; r < n; r++) {
		names[r].resource = r;
		observe_name(&o, r, names[r].name);
	}
	qsort(names, n, sizeof(*names), used_compare);
	there = observe_queues_there(&o);
	/* The next core may have fewer. */
	for (uint32_t id = 0; id < QUEUES_MAX; id++)
		if (id < there && observe_queue(&o, id, row)) {
			row_write(row, names, n, &text);
			queue_status_put(f->queue_status, id, row->row.name, text.at);
		} else {
			queue_status_drop(f->queue_status, id);
		}
	jsonout_free(&text);
	free(names);
	free(row);
}

uint64_t queue_status_turn(struct frontend *f)
{
	const uint64_t now = env_now(f->env), known_ns = frontend_rows_known(f);
	uint64_t next;

	if (!frontend_may_write(f))
		return NEVER_NS;
	if (f->queue_look_ns < known_ns)
		f->queue_look_ns = known_ns;
	if (known_ns > 0 && now >= f->queue_look_ns && f->port.observe) {
		rows_read(f);
		f->queue_look_ns = now + LOOK_NS;
	}
	next = queue_status_poll(f->queue_status);
	return known_ns > 0 && f->queue_look_ns < next ? f->queue_look_ns : next;
}
