/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/replay/replay_say.h"

#include "core/shm/records.h"
#include "ctl/term/ctl.h"
#include "frontend/dialect/reason.h"
#include "ipc/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct names {
	struct limits limits;
	char **nodes, **pods, **gangs, **texts; /* by id; NULL: none */
};

static char **table_new(uint32_t n)
{
	return must_array(n, sizeof(char *));
}

struct names *names_new(const struct limits *limits)
{
	struct names *names = must_alloc(sizeof(*names));

	names->limits = *limits;
	names->nodes = table_new(limits->nodes);
	names->pods = table_new(limits->pods);
	names->gangs = table_new(limits->gangs);
	names->texts = table_new(limits->names);
	return names;
}

static void table_free(char **table, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free(table[i]);
	free(table);
}

void names_free(struct names *names)
{
	table_free(names->nodes, names->limits.nodes);
	table_free(names->pods, names->limits.pods);
	table_free(names->gangs, names->limits.gangs);
	table_free(names->texts, names->limits.names);
	free(names);
}

static void keep(char **slot, const char *text, uint32_t bytes)
{
	if (*slot != NULL && strlen(*slot) == bytes && memcmp(*slot, text, bytes) == 0)
		return;
	free(*slot);
	*slot = must_array(bytes + 1u, 1);
	memcpy(*slot, text, bytes);
}

void names_follow(struct names *names, const struct record *record)
{
	const struct limits *l = &names->limits;
	struct name_record name;
	struct node_record node;
	struct gang_record gang;
	struct pod_record pod;

	switch (record->kind) {
	case EVENT_NAME:
		if (record_name(record, l, &name) == NULL)
			keep(&names->texts[name.body->id], name.text, name.body->bytes);
		break;
	case EVENT_NODE:
		if (record_node(record, l, &node) == NULL)
			keep(&names->nodes[node.body->node], node.name, node.body->name_bytes);
		break;
	case EVENT_GANG:
		if (record_gang(record, l, &gang) == NULL)
			keep(&names->gangs[gang.body->gang], gang.name, gang.body->name_bytes);
		break;
	case EVENT_POD:
		if (record_pod(record, l, &pod) == NULL)
			keep(&names->pods[pod.body->pod], pod.name, pod.body->name_bytes);
		break;
	default:
		break;
	}
}

static const char *name_of(char *const *table, uint32_t n, uint32_t id)
{
	return id < n && table[id] != NULL ? table[id] : "?";
}

static const char *text_of(const void *context, uint32_t id)
{
	static const char *const columns[] = { "cpu", "memory", "ephemeral-storage", "pods" };
	const struct names *names = context;

	return id < RESOURCE_EXTENDED ? columns[id] : name_of(names->texts, names->limits.names, id);
}

static void say_bind(const struct names *names, uint16_t kind, const struct cmd_bind *c, char *out,
                     size_t out_bytes)
{
	const char *what = kind == CMD_CANCEL_BIND ? "take back the binding of"
	                   : kind == CMD_BIND      ? "bind"
	                                           : "bind again";

	snprintf(out, out_bytes, "%s %s to %s, attempt %u", what,
	         name_of(names->pods, names->limits.pods, c->pod),
	         name_of(names->nodes, names->limits.nodes, c->node), c->attempt);
}

static void say_gang(const struct names *names, const struct cmd_gang *c, char *out,
                     size_t out_bytes)
{
	snprintf(out, out_bytes, "gang %s is %s: quorum %u, %u members, %u bound",
	         name_of(names->gangs, names->limits.gangs, c->gang), gang_placement_text(c->state),
	         c->quorum, c->members, c->bound);
}

static void say_reason(const struct names *names, const struct cmd_reason *c, char *out,
                       size_t out_bytes)
{
	const struct reason_names texts = { .resource = text_of, .taint = text_of, .context = names };
	bool lone = c->gang == ID_NONE;
	const char *who = lone ? name_of(names->pods, names->limits.pods, c->pod)
	                       : name_of(names->gangs, names->limits.gangs, c->gang);
	const struct reason_about about = { .gang = lone ? NULL : who, .refusal = "rejected" };
	int used = snprintf(out, out_bytes, "%s %s waits: ", lone ? "pod" : "gang", who);

	if (used > 0 && (size_t)used < out_bytes)
		reason_text(&c->reason, &about, &texts, out + used, out_bytes - (size_t)used);
}

static void say_assume(const struct names *names, const struct cmd_assume *c, char *out,
                       size_t out_bytes)
{
	const char *node =
		c->node == ID_NONE ? "nowhere" : name_of(names->nodes, names->limits.nodes, c->node);

	snprintf(out, out_bytes, "reservation of %s: %s",
	         name_of(names->pods, names->limits.pods, c->pod), node);
}

static void say_evict(const struct names *names, const struct cmd_evict *c, char *out,
                      size_t out_bytes)
{
	const bool lone = c->gang >= names->limits.gangs;

	snprintf(out, out_bytes, "evict %s from %s for %s %s, ticket %llu",
	         name_of(names->pods, names->limits.pods, c->pod),
	         name_of(names->nodes, names->limits.nodes, c->node), lone ? "pod" : "gang",
	         lone ? name_of(names->pods, names->limits.pods, c->gang - names->limits.gangs)
	              : name_of(names->gangs, names->limits.gangs, c->gang),
	         (unsigned long long)c->ticket);
}

static void say_cancel_evict(const struct names *names, const struct cmd_cancel_evict *c, char *out,
                             size_t out_bytes)
{
	snprintf(out, out_bytes, "do not evict %s, ticket %llu",
	         name_of(names->pods, names->limits.pods, c->pod), (unsigned long long)c->ticket);
}

static void say_nominate(const struct names *names, const struct cmd_nominate *c, char *out,
                         size_t out_bytes)
{
	const char *node =
		c->node == ID_NONE ? "no node" : name_of(names->nodes, names->limits.nodes, c->node);

	snprintf(out, out_bytes, "nominate %s to %s, ticket %llu",
	         name_of(names->pods, names->limits.pods, c->pod), node, (unsigned long long)c->ticket);
}

static void say_devices(const struct names *names, const void *body, uint32_t bytes, char *out,
                        size_t out_bytes)
{
	struct cmd_devices c = { 0 };
	size_t used;

	memcpy(&c, body, sizeof(c));
	snprintf(out, out_bytes,
	         "devices of %s on %s:", name_of(names->pods, names->limits.pods, c.pod),
	         name_of(names->nodes, names->limits.nodes, c.node));
	for (size_t at = sizeof(c); at + sizeof(struct device_pick) <= bytes;
	     at += sizeof(struct device_pick)) {
		struct device_pick pick;

		memcpy(&pick, (const char *)body + at, sizeof(pick));
		used = strlen(out);
		snprintf(out + used, out_bytes - used, " %u", pick.device);
	}
}

static size_t command_bytes(uint16_t kind)
{
	switch ((enum record_kind)kind) {
	case CMD_NOMINATE:
		return sizeof(struct cmd_nominate);
	case CMD_EVICT:
		return sizeof(struct cmd_evict);
	case CMD_CANCEL_EVICT:
		return sizeof(struct cmd_cancel_evict);
	case CMD_BIND:
	case CMD_RETRY_BIND:
	case CMD_CANCEL_BIND:
		return sizeof(struct cmd_bind);
	case CMD_GANG:
		return sizeof(struct cmd_gang);
	case CMD_ASSUME:
		return sizeof(struct cmd_assume);
	default:
		return sizeof(struct cmd_reason);
	}
}

const char *say_command(const struct names *names, uint16_t kind, const void *body, uint32_t bytes,
                        char *out, size_t out_bytes)
{
	union {
		struct cmd_bind bind;
		struct cmd_gang gang;
		struct cmd_reason reason;
		struct cmd_assume assume;
		struct cmd_nominate nominate;
		struct cmd_evict evict;
		struct cmd_cancel_evict cancel_evict;
	} c;
	size_t wanted = command_bytes(kind);

	if (kind == CMD_DEVICES && bytes >= sizeof(struct cmd_devices)) {
		say_devices(names, body, bytes, out, out_bytes);
		return out;
	}
	if (bytes != wanted) {
		snprintf(out, out_bytes, "%s with a body of %u bytes", record_kind_text(kind), bytes);
		return out;
	}
	memcpy(&c, body, wanted);
	if (record_is_bind(kind))
		say_bind(names, kind, &c.bind, out, out_bytes);
	else if (kind == CMD_GANG)
		say_gang(names, &c.gang, out, out_bytes);
	else if (kind == CMD_ASSUME)
		say_assume(names, &c.assume, out, out_bytes);
	else if (kind == CMD_NOMINATE)
		say_nominate(names, &c.nominate, out, out_bytes);
	else if (kind == CMD_EVICT)
		say_evict(names, &c.evict, out, out_bytes);
	else if (kind == CMD_CANCEL_EVICT)
		say_cancel_evict(names, &c.cancel_evict, out, out_bytes);
	else
		say_reason(names, &c.reason, out, out_bytes);
	return out;
}

const char *record_kind_text(uint32_t kind)
{
	static const char *const texts[RECORD_KINDS] = {
		[EVENT_BEGIN] = "EVENT_BEGIN",
		[EVENT_SYNCED] = "EVENT_SYNCED",
		[EVENT_TICK] = "EVENT_TICK",
		[EVENT_NAME] = "EVENT_NAME",
		[EVENT_NODE] = "EVENT_NODE",
		[EVENT_NODE_DROP] = "EVENT_NODE_DROP",
		[EVENT_SHAPE] = "EVENT_SHAPE",
		[EVENT_SHAPE_DROP] = "EVENT_SHAPE_DROP",
		[EVENT_GANG] = "EVENT_GANG",
		[EVENT_GANG_DROP] = "EVENT_GANG_DROP",
		[EVENT_NAMESPACE] = "EVENT_NAMESPACE",
		[EVENT_NAMESPACE_DROP] = "EVENT_NAMESPACE_DROP",
		[EVENT_POD] = "EVENT_POD",
		[EVENT_POD_DROP] = "EVENT_POD_DROP",
		[EVENT_PREEMPTION] = "EVENT_PREEMPTION",
		[EVENT_BUDGET] = "EVENT_BUDGET",
		[EVENT_POD_FACTS] = "EVENT_POD_FACTS",
		[EVENT_PROMISED] = "EVENT_PROMISED",
		[EVENT_ASSUME] = "EVENT_ASSUME",
		[EVENT_QUEUE] = "EVENT_QUEUE",
		[EVENT_QUEUE_TERMS] = "EVENT_QUEUE_TERMS",
		[EVENT_QUEUE_PAST] = "EVENT_QUEUE_PAST",
		[EVENT_NODE_DEVICES] = "EVENT_NODE_DEVICES",
		[EVENT_QUESTION] = "EVENT_QUESTION",
		[EVENT_QUESTION_DROP] = "EVENT_QUESTION_DROP",
		[EVENT_MATCH] = "EVENT_MATCH",
		[RESULT_BOUND] = "RESULT_BOUND",
		[RESULT_REFUSED] = "RESULT_REFUSED",
		[RESULT_UNKNOWN] = "RESULT_UNKNOWN",
		[RESULT_EVICT_SENT] = "RESULT_EVICT_SENT",
		[RESULT_EVICT_REFUSED] = "RESULT_EVICT_REFUSED",
		[RESULT_EVICT_NOT_SENT] = "RESULT_EVICT_NOT_SENT",
		[EVENT_PLAN] = "EVENT_PLAN",
		[EVENT_ANSWER] = "EVENT_ANSWER",
		[CMD_BIND] = "CMD_BIND",
		[CMD_REASON] = "CMD_REASON",
		[CMD_GANG] = "CMD_GANG",
		[CMD_ASSUME] = "CMD_ASSUME",
		[CMD_RETRY_BIND] = "CMD_RETRY_BIND",
		[CMD_CANCEL_BIND] = "CMD_CANCEL_BIND",
		[CMD_NOMINATE] = "CMD_NOMINATE",
		[CMD_EVICT] = "CMD_EVICT",
		[CMD_CANCEL_EVICT] = "CMD_CANCEL_EVICT",
		[CMD_DEVICES] = "CMD_DEVICES",
	};

	return kind < RECORD_KINDS && texts[kind] != NULL ? texts[kind] : "a record of no known kind";
}
