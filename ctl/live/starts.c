/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/starts.h"

#include "ctl/term/ctl.h"
#include "ipc/promises.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

static char *node_text(const struct observer *o, node_id id)
{
	struct node_view node;

	return id < o->places.limits.nodes && observe_node(o, id, &node) ? must_copy(node.name)
	                                                                 : must_copy("a node");
}

static char *who_text(const struct observer *o, uint32_t who, bool is_node)
{
	struct gang_copy gang;

	if (who == ID_NONE)
		return must_copy("");
	if (is_node)
		return node_text(o, who);
	if (who >= o->places.limits.gangs)
		return must_copy("a pod");
	return observe_gang(o, who, &gang) ? must_copy(gang.name) : must_copy("a gang");
}

static uint32_t shown_nodes(const struct promised *p)
{
	return p->nodes_n < PROMISE_NODES_MAX ? p->nodes_n : PROMISE_NODES_MAX;
}

static void add_time(cJSON *o, const char *name, uint64_t ns)
{
	char text[PROMISE_TIME_BYTES];

	promise_time_text(ns, text);
	json_add_text(o, name, text);
}

static void add_nodes(const struct observer *o, const struct promised *p, cJSON *to)
{
	cJSON *nodes = json_checked(cJSON_AddArrayToObject(to, "nodes"));

	for (uint32_t i = 0; i < shown_nodes(p); i++) {
		char *name = node_text(o, p->nodes[i]);

		cJSON_AddItemToArray(nodes, json_checked(cJSON_CreateString(name)));
		free(name);
	}
	json_add_number(to, "nodes_count", p->nodes_n);
}

static void add_waits(const struct observer *o, const struct promised *p, cJSON *to)
{
	cJSON *waits = json_checked(cJSON_AddArrayToObject(to, "after"));

	for (uint32_t i = 0; i < p->waits_n; i++) {
		cJSON *wait = json_checked(cJSON_CreateObject());
		char *who = who_text(o, p->waits[i].who, false);

		json_add_text(wait, "who", who);
		json_add_number(wait, "pods", p->waits[i].pods);
		add_time(wait, "end", p->waits[i].end_ns);
		cJSON_AddItemToArray(waits, wait);
		free(who);
	}
}

static void add_moves(const struct observer *o, const struct promised *p, cJSON *to)
{
	cJSON *moves = json_checked(cJSON_AddArrayToObject(to, "moves"));

	for (uint32_t i = 0; i < p->moves_n; i++) {
		const struct promised_moved *m = &p->moves[i];
		cJSON *move = json_checked(cJSON_CreateObject());
		char *who = who_text(o, m->who, m->why == MOVE_NODE_LOST);

		add_time(move, "from", m->from_ns);
		add_time(move, "to", m->to_ns);
		json_add_text(move, "reason", promise_move_name(m->why));
		json_add_text(move, "who", who);
		cJSON_AddItemToArray(moves, move);
		free(who);
	}
}

cJSON *start_json(const struct observer *o, const struct promised *p)
{
	cJSON *start = json_checked(cJSON_CreateObject());

	add_time(start, "at", p->at_ns);
	json_add_text(start, "kind", "promised");
	json_checked(cJSON_AddBoolToObject(start, "firm", !(p->flags & PROMISE_BORROWS)));
	json_add_text(start, "ends", p->flags & PROMISE_SOFT ? "soft" : "hard");
	add_time(start, "first", p->first_ns);
	add_moves(o, p, start);
	add_nodes(o, p, start);
	add_waits(o, p, start);
	return start;
}

void start_print(const struct observer *o, const struct promised *p)
{
	char at[PROMISE_TIME_BYTES], first[PROMISE_TIME_BYTES];

	promise_time_text(p->at_ns, at);
	promise_time_text(p->first_ns, first);
	ctl_say("promised: %s on ", at);
	for (uint32_t i = 0; i < shown_nodes(p); i++) {
		char *name = node_text(o, p->nodes[i]);

		ctl_say("%s%s", i > 0 ? ", " : "", name);
		free(name);
	}
	if (p->nodes_n > shown_nodes(p))
		ctl_say(" and %u more", p->nodes_n - shown_nodes(p));
	for (uint32_t i = 0; i < p->waits_n; i++) {
		char *who = who_text(o, p->waits[i].who, false), end[PROMISE_TIME_BYTES];

		promise_time_text(p->waits[i].end_ns, end);
		ctl_say("%s%s (%s)", i == 0 ? ", when " : " and ", who, end);
		free(who);
	}
	ctl_say("%s; first told %s\n",
	        p->waits_n == 0   ? ""
	        : p->waits_n == 1 ? " has ended"
	                          : " have ended",
	        first);
	if (p->flags & PROMISE_SOFT)
		ctl_say("  rests on an end that is only expected\n");
	for (uint32_t i = 0; i < p->moves_n; i++) {
		const struct promised_moved *m = &p->moves[i];
		char *who = who_text(o, m->who, m->why == MOVE_NODE_LOST);

		promise_time_text(m->to_ns, at);
		ctl_say("  moved later by %" PRIu64 " s to %s: %s%s%s\n",
		        (m->to_ns - m->from_ns) / SECOND_NS, at, promise_move_name(m->why), *who ? " " : "",
		        who);
		free(who);
	}
}
