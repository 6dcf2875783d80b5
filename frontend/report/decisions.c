/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/report/decisions.h"

#include "frontend/base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define SLOTS 4096u /* of two gangs with one slot the later one keeps it */
#define AGAIN_NS (60 * NS_PER_S)
#define LINES 600 /* lines a minute */

struct gang_slot {
	gang_id id;
	uint32_t generation;  /* 0: free */
	uint32_t why;         /* the last one logged, at logged_ns */
	uint64_t first_ns;    /* when its first member was read; 0: unknown */
	uint64_t reserved_ns; /* 0: not yet */
	uint64_t logged_ns;
};

struct decisions {
	const struct env *env;
	struct model *model;
	struct log_limit limit;
	struct gang_slot slots[SLOTS];
};

struct decisions *decisions_new(const struct env *env, struct model *model)
{
	struct decisions *d = must_alloc(sizeof(*d));

	d->env = env;
	d->model = model;
	d->limit.most = LINES;
	return d;
}

void decisions_free(struct decisions *d)
{
	free(d);
}

static struct gang_slot *slot_of(struct decisions *d, gang_id id, uint32_t generation)
{
	struct gang_slot *s = &d->slots[id % SLOTS];

	if (s->id != id || s->generation != generation)
		*s = (struct gang_slot){ .id = id, .generation = generation };
	return s;
}

void decisions_bind(struct decisions *d, const struct cmd_bind *cmd, uint64_t read_ns)
{
	struct gang_slot *s;

	if (cmd->gang == ID_NONE)
		return;
	s = slot_of(d, cmd->gang, cmd->gang_generation);
	if (read_ns > 0 && (s->first_ns == 0 || read_ns < s->first_ns))
		s->first_ns = read_ns;
}

/* The fields of every line; `name` is valid as long as they are. */
#define NAME_FIELDS(name, gang)                                                                    \
	{ "gang", name, 0 }, { "uid", (gang)->uid ? (gang)->uid : "", 0 },                             \
	{                                                                                              \
		"dialect", (gang)->dialect ? (gang)->dialect : "", 0                                       \
	}

static void say_placed(struct decisions *d, const struct cmd_gang *cmd,
                       const struct gang_view *gang, const struct gang_slot *s)
{
	uint64_t now = env_now(d->env), first = s->first_ns > 0 ? s->first_ns : s->reserved_ns;
	char name[600];
	const struct log_field fields[] = {
		NAME_FIELDS(name, gang),
		{ "members", NULL, cmd->members },
		{ "bound", NULL, cmd->bound },
		{ "quorum", NULL, cmd->quorum },
		{ "wait_ms", NULL, (int64_t)((s->reserved_ns - first) / NS_PER_MS) },
		{ "bind_ms", NULL, (int64_t)((now - s->reserved_ns) / NS_PER_MS) },
	};

	snprintf(name, sizeof(name), "%s/%s", gang->namespace, gang->name);
	if (log_allowed(&d->limit, d->env, "gangs"))
		env_tell(d->env, "info", "gang placed", fields, sizeof(fields) / sizeof(fields[0]));
}

void decisions_gang(struct decisions *d, const struct cmd_gang *cmd)
{
	struct gang_slot *s = slot_of(d, cmd->gang, cmd->generation);
	struct gang_view gang;

	if (cmd->state == GANG_BINDING && s->reserved_ns == 0)
		s->reserved_ns = env_now(d->env);
	/* A gang that a new core finds placed was logged before. */
	if (cmd->state != GANG_PLACED || s->reserved_ns == 0)
		return;
	if (model_gang(d->model, cmd->gang, cmd->generation, &gang))
		say_placed(d, cmd, &gang, s);
	*s = (struct gang_slot){ .id = cmd->gang, .generation = cmd->generation };
}

void decisions_waits(struct decisions *d, const struct cmd_reason *cmd,
                     const struct gang_view *gang, const char *text)
{
	struct gang_slot *s = slot_of(d, cmd->gang, cmd->gang_generation);
	const struct reason *r = &cmd->reason;
	uint64_t now = env_now(d->env);
	char name[600];
	const struct log_field fields[] = {
		NAME_FIELDS(name, gang),     { "members", NULL, r->members }, { "quorum", NULL, r->quorum },
		{ "bound", NULL, r->bound }, { "need", NULL, r->need },       { "fit", NULL, r->fit },
		{ "reason", text, 0 },
	};

	if (s->logged_ns > 0 && s->why == r->why && now - s->logged_ns < AGAIN_NS)
		return;
	s->logged_ns = now;
	s->why = r->why;
	snprintf(name, sizeof(name), "%s/%s", gang->namespace, gang->name);
	if (log_allowed(&d->limit, d->env, "gangs"))
		env_tell(d->env, "info", "gang waits", fields, sizeof(fields) / sizeof(fields[0]));
}
