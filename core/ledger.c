#include "core/ledger.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096u
#define NODES_MOST (1u << 20)
#define OBJECTS_MOST (1u << 22)
#define SHAPES_MOST (1u << 16)
#define ARENA_MOST (UINT64_C(1) << 32)
#define RING_LEAST (UINT64_C(1) << 12)
#define RING_MOST (UINT64_C(1) << 30)

/* Offsets of everything behind struct ledger, each on its own cache line. */
struct places {
	uint64_t nodes, columns, gangs, names, arena, ring, bytes;
};

static uint64_t next_place(uint64_t at, uint64_t bytes, uint64_t align)
{
	return (at + bytes + align - 1) & ~(align - 1);
}

static void lay_out(const struct limits *l, struct places *p)
{
	p->nodes = sizeof(struct ledger);
	p->columns = next_place(p->nodes, (uint64_t)l->nodes * sizeof(struct node_row), CACHE_LINE);
	p->gangs = next_place(p->columns, 2 * (uint64_t)l->resources * l->nodes * sizeof(int64_t), CACHE_LINE);
	p->names = next_place(p->gangs, (uint64_t)l->gangs * sizeof(struct gang_row), CACHE_LINE);
	p->arena = next_place(p->names, (uint64_t)l->names * sizeof(struct name_row), CACHE_LINE);
	p->ring = next_place(p->arena, l->name_bytes, CACHE_LINE);
	p->bytes = next_place(p->ring, l->command_ring_bytes, PAGE);
}

static const char *limits_fault(const struct limits *l)
{
	if (l->nodes == 0 || l->nodes > NODES_MOST)
		return "nodes: 1 to 1048576";
	if (l->pods == 0 || l->pods > OBJECTS_MOST)
		return "pods: 1 to 4194304";
	if (l->gangs == 0 || l->gangs > OBJECTS_MOST)
		return "gangs: 1 to 4194304";
	if (l->shapes == 0 || l->shapes > SHAPES_MOST)
		return "shapes: 1 to 65536";
	if (l->resources < RESOURCE_EXTENDED || l->resources > RESOURCES_MAX)
		return "resources: 4 to 64";
	if (l->names < l->resources || l->names > OBJECTS_MOST)
		return "names: at least as many as resources, at most 4194304";
	if (l->name_bytes < NAME_STEP || l->name_bytes > ARENA_MOST || l->name_bytes % NAME_STEP != 0)
		return "name bytes: 16 to 4 GiB, a multiple of 16";
	if (l->command_ring_bytes < RING_LEAST || l->command_ring_bytes > RING_MOST ||
	    (l->command_ring_bytes & (l->command_ring_bytes - 1)) != 0)
		return "command ring bytes: a power of two, 4096 to 1 GiB";
	return NULL;
}

uint64_t ledger_bytes(const struct limits *limits, const char **what)
{
	struct places p;
	const char *fault = limits_fault(limits);

	if (what)
		*what = fault;
	if (fault)
		return 0;
	lay_out(limits, &p);
	return p.bytes;
}

void ledger_open(struct ledger_view *v, struct ledger *ledger, const struct limits *limits)
{
	unsigned char *base = (unsigned char *)ledger;
	struct places p;

	lay_out(limits, &p);
	ledger->head = (struct segment_head){ .magic = LEDGER_MAGIC, .layout_hash = abi_layout_hash(), .bytes = p.bytes };
	ledger->limits = *limits;
	ledger->command_ring = (struct ring_place){ .offset = p.ring, .bytes = limits->command_ring_bytes };
	ledger->nodes_offset = p.nodes;
	ledger->columns_offset = p.columns;
	ledger->gangs_offset = p.gangs;
	ledger->names_offset = p.names;
	ledger->arena_offset = p.arena;

	*v = (struct ledger_view){ .ledger = ledger, .limits = *limits };
	v->nodes = (struct node_row *)(base + p.nodes);
	v->allocatable = (int64_t *)(base + p.columns);
	v->used = v->allocatable + (size_t)limits->resources * limits->nodes;
	v->gangs = (struct gang_row *)(base + p.gangs);
	v->names = (struct name_row *)(base + p.names);
	v->arena = (char *)(base + p.arena);
	v->commands = base + p.ring;
}

static void clear_nodes(struct ledger_view *v)
{
	const uint32_t limit = v->limits.nodes;

	for (uint32_t node = 0; node < limit; node++) {
		struct node_row *row = &v->nodes[node];

		if (row->generation == 0)
			continue;
		row_begin(&row->version);
		row->generation = row->flags = row->pods = row->name_bytes = 0;
		row->name_offset = 0;
		for (uint32_t r = 0; r < v->limits.resources; r++)
			v->allocatable[(size_t)r * limit + node] = v->used[(size_t)r * limit + node] = 0;
		row_end(&row->version);
	}
}

void ledger_clear(struct ledger_view *v)
{
	clear_nodes(v);
	for (uint32_t gang = 0; gang < v->limits.gangs; gang++) {
		struct gang_row *row = &v->gangs[gang];
		uint32_t version = atomic_load_explicit(&row->version, memory_order_relaxed);

		if (row->generation == 0)
			continue;
		row_begin(&row->version);
		memset((char *)row + sizeof(version), 0, sizeof(*row) - sizeof(version));
		row_end(&row->version);
	}
	memset(v->names, 0, v->limits.names * sizeof(*v->names));
	memset(v->arena_free, 0, sizeof(v->arena_free));
	v->arena_used = 0;
}

/* ---- names ------------------------------------------------------------ */

static uint32_t steps_of(uint32_t bytes)
{
	return (bytes + NAME_STEP - 1) / NAME_STEP;
}

/* A free piece holds the head of the list of its size in its first bytes. */
static void piece_free(struct ledger_view *v, uint64_t offset, uint32_t steps)
{
	memcpy(v->arena + offset, &v->arena_free[steps], sizeof(uint64_t));
	v->arena_free[steps] = offset + 1;
}

static bool piece_take(struct ledger_view *v, uint32_t steps, uint64_t *offset)
{
	for (uint32_t size = steps; size < NAME_CLASSES; size++) {
		if (v->arena_free[size] == 0)
			continue;
		*offset = v->arena_free[size] - 1;
		memcpy(&v->arena_free[size], v->arena + *offset, sizeof(uint64_t));
		if (size > steps)
			piece_free(v, *offset + (uint64_t)steps * NAME_STEP, size - steps);
		return true;
	}
	return false;
}

int name_add(struct ledger_view *v, const char *text, uint32_t bytes, struct name *out)
{
	uint32_t steps = steps_of(bytes);
	uint64_t offset;

	/* Fresh room first: pieces are cut up only when there is none. */
	if (v->arena_free[steps] == 0 && v->limits.name_bytes - v->arena_used >= (uint64_t)steps * NAME_STEP) {
		offset = v->arena_used;
		v->arena_used += (uint64_t)steps * NAME_STEP;
	} else if (!piece_take(v, steps, &offset)) {
		return -ENOSPC;
	}
	memcpy(v->arena + offset, text, bytes);
	*out = (struct name){ .offset = offset, .bytes = bytes };
	return 0;
}

void name_drop(struct ledger_view *v, struct name *name)
{
	if (name->bytes > 0)
		piece_free(v, name->offset, steps_of(name->bytes));
	*name = (struct name){ 0 };
}

/* ---- rows ------------------------------------------------------------- */

void row_begin(_Atomic uint32_t *version)
{
	/* Relaxed: only this thread stores versions. */
	uint32_t now = atomic_load_explicit(version, memory_order_relaxed);

	atomic_store_explicit(version, now + 1, memory_order_relaxed);
	/* The row's fields are plain, so nothing but a fence can keep their stores
	 * behind the odd version.  Observers pair with an acquire fence. */
	atomic_thread_fence(memory_order_release);
}

void row_end(_Atomic uint32_t *version)
{
	uint32_t now = atomic_load_explicit(version, memory_order_relaxed);

	/* Releases the fields; observers load the version with acquire. */
	atomic_store_explicit(version, now + 1, memory_order_release);
}
