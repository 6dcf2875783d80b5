#include "frontend/reason.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that is cut at the end of its room and counts on. */
struct out {
	char *at;
	size_t room;
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *format, ...)
{
	size_t used = o->n < o->room ? o->n : o->room;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(used < o->room ? o->at + used : NULL, o->room - used, format, args);
	va_end(args);
	if (n > 0)
		o->n += (size_t)n;
}

/* ---- quantities, as a person writes them ------------------------------------------------ */

static void put_bytes(struct out *o, int64_t value)
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
	size_t unit = 0;

	while (value != 0 && value % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		unit++;
	}
	put(o, "%" PRId64 "%s", value, units[unit]);
}

static void put_quantity(struct out *o, uint32_t resource, const char *name, int64_t value)
{
	if (resource == RESOURCE_CPU && value % 1000 == 0)
		put(o, "%" PRId64, value / 1000);
	else if (resource == RESOURCE_CPU)
		put(o, "%" PRId64 "m", value);
	else if (resource == RESOURCE_MEMORY || resource == RESOURCE_EPHEMERAL ||
		 strncmp(name, "hugepages-", 10) == 0)
		put_bytes(o, value);
	else
		put(o, "%" PRId64, value);
}

static void put_shortfalls(struct out *o, const struct reason *r, const struct reason_names *names,
			   const char *before)
{
	uint32_t n = r->shortfalls_n < SHORTFALLS_MAX ? r->shortfalls_n : SHORTFALLS_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct shortfall *s = &r->shortfalls[i];
		const char *name = names->resource(names->context, s->resource);

		put(o, "%s%s: need ", i == 0 ? before : "; ", name);
		put_quantity(o, s->resource, name, s->need);
		put(o, ", have ");
		put_quantity(o, s->resource, name, s->have);
	}
}

/* ---- why the nodes fell out ---------------------------------------------------------------- */

#define PART_BYTES 512

struct part {
	char text[PART_BYTES]; /* with its count, once that is known */
	uint64_t nodes;
};

/* kube-scheduler's text does not name the taint, so different ones are one part. */
static void part_text(const struct why_count *c, const struct reason_names *names, char *out)
{
	switch ((enum node_why)c->why) {
	case NODE_WHY_CORDONED:
		snprintf(out, PART_BYTES, "node(s) were unschedulable");
		break;
	case NODE_WHY_TAINT:
		snprintf(out, PART_BYTES, "node(s) had untolerated taint(s)");
		break;
	case NODE_WHY_AFFINITY:
		snprintf(out, PART_BYTES, "node(s) didn't match Pod's node affinity/selector");
		break;
	case NODE_WHY_INSUFFICIENT:
		if (c->arg == RESOURCE_PODS)
			snprintf(out, PART_BYTES, "Too many pods");
		else
			snprintf(out, PART_BYTES, "Insufficient %s", names->resource(names->context, c->arg));
		break;
	default:
		snprintf(out, PART_BYTES, "node(s) for other reasons");
	}
}

/* One part for each text; how many. */
static size_t parts_of(const struct reason *r, const struct reason_names *names, struct part *parts)
{
	uint32_t counts = r->counts_n < WHY_COUNTS_MAX ? r->counts_n : WHY_COUNTS_MAX;
	size_t n = 0, at;

	for (uint32_t i = 0; i < counts; i++) {
		part_text(&r->counts[i], names, parts[n].text);
		parts[n].nodes = 0;
		for (at = 0; strcmp(parts[at].text, parts[n].text) != 0; at++)
			;
		parts[at].nodes += r->counts[i].nodes;
		n += at == n;
	}
	return n;
}

static uint32_t counts_n(const struct reason *r)
{
	return r->counts_n < WHY_COUNTS_MAX ? r->counts_n : WHY_COUNTS_MAX;
}

static int part_order(const void *a, const void *b)
{
	return strcmp(((const struct part *)a)->text, ((const struct part *)b)->text);
}

/* kube-scheduler's FitError: the parts are sorted as text, with their counts. */
static void put_nodes(struct out *o, const struct reason *r, const struct reason_names *names)
{
	struct part parts[WHY_COUNTS_MAX];
	char text[PART_BYTES];
	size_t n = parts_of(r, names, parts);

	for (size_t i = 0; i < n; i++) {
		memcpy(text, parts[i].text, sizeof(text));
		snprintf(parts[i].text, PART_BYTES, "%" PRIu64 " %.480s", parts[i].nodes, text);
	}
	qsort(parts, n, sizeof(parts[0]), part_order);
	put(o, "0/%u nodes are available", r->nodes);
	for (size_t i = 0; i < n; i++)
		put(o, "%s%s", i == 0 ? ": " : ", ", parts[i].text);
	put(o, ".");
}

static void put_taints(struct out *o, const struct reason *r, const struct reason_names *names)
{
	const char *before = "; taints not tolerated: ";

	for (uint32_t i = 0; i < counts_n(r); i++) {
		if (r->counts[i].why != NODE_WHY_TAINT)
			continue;
		put(o, "%s{%s} on %u nodes", before, names->taint(names->context, r->counts[i].arg), r->counts[i].nodes);
		before = ", ";
	}
}

/* ---- each reason ------------------------------------------------------------------------------ */

static void put_room(struct out *o, const struct reason *r, const char *gang, const struct reason_names *names)
{
	put_nodes(o, r, names);
	if (!gang)
		return;
	put(o, " gang %s: %u of %u members have room", gang, r->fit, r->need);
	put_shortfalls(o, r, names, "; ");
	put_taints(o, r, names);
	put(o, ".");
}

static void put_members(struct out *o, const struct reason *r, const char *gang)
{
	/* No pod hears it, so it needs none of kube-scheduler's words. */
	if (r->members == 0) {
		put(o, "no member is there: not created yet, ended, or of another scheduler");
		return;
	}
	put(o, "pre-filter pod cannot find enough sibling pods, current pods number: %u, minMember of group: %u",
	    r->members, r->quorum);
	if (gang)
		put(o, ". gang %s: %u of %u members are there.", gang, r->members, r->quorum);
}

static void put_gated(struct out *o, const struct reason *r, const char *gang)
{
	uint32_t free = r->members > r->gated ? r->members - r->gated : 0;

	if (!gang) {
		put(o, "Scheduling is blocked due to non-empty scheduling gates");
		return;
	}
	put(o, "pre-filter pod cannot proceed due to gated pods in the same PodGroup. "
	    "gang %s: %u of %u members have scheduling gates, %u of the quorum of %u can start.",
	    gang, r->gated, r->members, free, r->quorum);
}

static void put_min_resources(struct out *o, const struct reason *r, const char *gang,
			      const struct reason_names *names)
{
	put(o, "resource gap");
	put_shortfalls(o, r, names, ": ");
	put(o, ". gang %s: its minResources are more than what is free.", gang ? gang : "");
}

static void put_gave_up(struct out *o, const struct reason *r, const char *gang,
			const struct reason_names *names)
{
	put_nodes(o, r, names);
	put(o, " No plan was found within the step limit");
	if (gang)
		put(o, ". gang %s: %u of %u members have room", gang, r->fit, r->need);
	put(o, ".");
}

static void put_reason(struct out *o, const struct reason *r, const char *gang, const char *refusal,
		       const struct reason_names *names)
{
	switch ((enum why)r->why) {
	case WHY_GROUP_MISSING:
		put(o, "PodGroup not found: %s", gang ? gang : "");
		break;
	case WHY_MEMBERS:
		put_members(o, r, gang);
		break;
	case WHY_GATED:
		put_gated(o, r, gang);
		break;
	case WHY_NO_NODES:
		put(o, "no nodes available to schedule pods");
		break;
	case WHY_ROOM:
		put_room(o, r, gang, names);
		break;
	case WHY_MIN_RESOURCES:
		put_min_resources(o, r, gang, names);
		break;
	case WHY_REFUSED:
		put(o, "%s", refusal && *refusal ? refusal : "muster can't judge a member of its gang");
		break;
	case WHY_BIND_REFUSED:
		put(o, "the API server refused a binding, muster will try again");
		if (gang)
			put(o, ". gang %s: %u of %u members are bound.", gang, r->bound, r->quorum);
		break;
	case WHY_GAVE_UP:
		put_gave_up(o, r, gang, names);
		break;
	default:
		put(o, "not looked at yet");
	}
}

size_t reason_text(const struct reason *reason, const char *gang, const char *refusal,
                   const struct reason_names *names, char *out, size_t out_bytes)
{
	struct out o = { out, out_bytes, 0 };

	if (out_bytes > 0)
		out[0] = '\0';
	put_reason(&o, reason, gang, refusal, names);
	return o.n;
}
