/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/rings.h"

#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

void rings_make(struct rings *r, uint64_t event_bytes, uint64_t result_bytes)
{
	*r = (struct rings){ .intake = must_aligned(CACHE_LINE, sizeof(*r->intake)),
		                 .event_data = must_aligned(CACHE_LINE, event_bytes),
		                 .result_data = must_aligned(CACHE_LINE, result_bytes),
		                 .event_bytes = event_bytes,
		                 .result_bytes = result_bytes };
}

void rings_free(struct rings *r)
{
	free(r->intake);
	free(r->event_data);
	free(r->result_data);
}

void rings_connect(struct rings *r, struct ledger *ledger, uint64_t epoch)
{
	struct intake *i = r->intake;
	unsigned char *commands = (unsigned char *)ledger + ledger->command_ring.offset;
	const uint64_t command_bytes = ledger->command_ring.bytes;

	r->ledger = ledger;
	ring_writer_init(&r->events_out, r->event_data, r->event_bytes, &i->event_tail,
	                 &ledger->event_head, epoch);
	ring_writer_init(&r->results_out, r->result_data, r->result_bytes, &i->result_tail,
	                 &ledger->result_head, epoch);
	ring_writer_init(&r->commands_out, commands, command_bytes, &ledger->command_tail,
	                 &i->command_head, epoch);
	ring_reader_init(&r->events, r->event_data, r->event_bytes, &i->event_tail, &ledger->event_head,
	                 epoch);
	ring_reader_init(&r->results, r->result_data, r->result_bytes, &i->result_tail,
	                 &ledger->result_head, epoch);
	ring_reader_init(&r->commands, commands, command_bytes, &ledger->command_tail, &i->command_head,
	                 epoch);
}

static bool write_to(struct ring_writer *w, enum record_kind kind, const void *body, uint32_t bytes,
                     uint64_t time_ns)
{
	struct record *record = ring_reserve(w, kind, bytes, time_ns);

	if (record != NULL)
		memcpy(record + 1, body, bytes);
	return record != NULL;
}

void *rings_event(struct rings *r, enum record_kind kind, uint32_t body_bytes, uint64_t time_ns)
{
	struct record *record = ring_reserve(&r->events_out, kind, body_bytes, time_ns);

	return record != NULL ? record + 1 : NULL;
}

bool rings_result(struct rings *r, enum record_kind kind, const void *body, uint32_t bytes,
                  uint64_t time_ns)
{
	return write_to(&r->results_out, kind, body, bytes, time_ns);
}

void rings_publish(struct rings *r)
{
	ring_publish(&r->events_out);
	ring_publish(&r->results_out);
}

bool rings_events_read(const struct rings *r)
{
	return atomic_load(&r->ledger->event_head) == r->events_out.tail_published;
}

bool rings_command(struct rings *r, bool *full, enum record_kind kind, const void *body,
                   uint32_t bytes, uint64_t time_ns)
{
	*full = *full || !write_to(&r->commands_out, kind, body, bytes, time_ns);
	return !*full;
}
