/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/dialect/reason.h"

#include "frontend/dialect/reason_out.h"
#include "frontend/json/json_scan.h"
#include "ipc/promises.h"
#include "ipc/clean.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES 512
#define DEVICE_TEXT_BYTES 1024
#define SCHEDULER_NAME_MAX 63u
#define NO_NODES "no nodes available to schedule pods"

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
	/* A sum that has saturated. */
	if (value == INT64_MAX)
		put(o, "at least ");
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

		/* "pods: need 4, have 3" would read as members that are missing. */
		put(o, "%s%s: need ", i == 0 ? before : "; ",
		    s->resource == RESOURCE_PODS ? "pod slots (maxPods)" : name);
		put_quantity(o, s->resource, name, s->need);
		put(o, ", have ");
		put_quantity(o, s->resource, name, s->have);
	}
}

static const char *const filter_texts[FILTER_REASONS] = {
#define FILTER_REASON(code, text) [FILTER_##code] = text,
#include "ipc/reasons.def"
};

size_t reason_node_text(uint32_t why, uint32_t arg, const struct reason_names *names, char *out,
                        size_t out_bytes)
{
	struct out o = { out, out_bytes, 0 };

	if (out_bytes > 0)
		out[0] = '\0';
	if (why == FILTER_INSUFFICIENT && arg == RESOURCE_PODS)
		put(&o, "Too many pods");
	else if (why == FILTER_INSUFFICIENT)
		put(&o, "Insufficient %s", names->resource(names->context, arg));
	else
		put(&o, "%s",
		    why < FILTER_REASONS && filter_texts[why] ? filter_texts[why]
		                                              : "node(s) for other reasons");
	return o.n;
}

/* Sorted as text including the count, as in framework.FitError: "10 x" is before "2 y". */
static int part_order(const void *a, const void *b)
{
	const struct reason_part *left = a, *right = b;
	char l[24], r[24];
	int order;

	snprintf(l, sizeof(l), "%" PRIu64 " ", left->nodes);
	snprintf(r, sizeof(r), "%" PRIu64 " ", right->nodes);
	order = strcmp(l, r);
	return order != 0 ? order : strcmp(left->text, right->text);
}

static void put_parts(struct out *o, uint32_t nodes, struct reason_part *parts, size_t n)
{
	qsort(parts, n, sizeof(parts[0]), part_order);
	put(o, "0/%u nodes are available", nodes);
	for (size_t i = 0; i < n; i++) {
		put(o, i == 0 ? ": " : ", ");
		if (parts[i].nodes > 0)
			put(o, "%" PRIu64 " ", parts[i].nodes);
		put(o, "%s", parts[i].text);
	}
	put(o, ".");
}

size_t reason_nodes_text(uint32_t nodes, struct reason_part *parts, size_t n, char *out,
                         size_t out_bytes)
{
	struct out o = { out, out_bytes, 0 };

	if (out_bytes > 0)
		out[0] = '\0';
	if (nodes == 0)
		put(&o, "%s", NO_NODES);
	else
		put_parts(&o, nodes, parts, n);
	return o.n;
}

static uint32_t counts_n(const struct reason *r)
{
	return r->counts_n < FILTER_COUNTS_MAX ? r->counts_n : FILTER_COUNTS_MAX;
}

/* framework.FitError: one part for each text; a part about the pod as a whole has no count. */
static void put_nodes(struct out *o, const struct reason *r, const struct reason_names *names)
{
	struct reason_part parts[FILTER_COUNTS_MAX];
	char texts[FILTER_COUNTS_MAX][PART_BYTES];
	size_t n = 0, at;

	for (uint32_t i = 0; i < counts_n(r); i++) {
		const struct filter_count *c = &r->counts[i];

		reason_node_text(c->why, c->arg, names, texts[n], PART_BYTES);
		parts[n] = (struct reason_part){ .text = texts[n] };
		for (at = 0; strcmp(parts[at].text, texts[n]) != 0; at++)
			;
		if (c->why != FILTER_CONFLICT)
			parts[at].nodes += c->nodes;
		n += at == n;
	}
	put_parts(o, r->nodes, parts, n);
}

static void put_taints(struct out *o, const struct reason *r, const struct reason_names *names)
{
	const char *before = "; taints not tolerated: ";

	for (uint32_t i = 0; i < counts_n(r); i++) {
		if (r->counts[i].why != FILTER_TAINT)
			continue;
		put(o, "%s{%s} on %u nodes", before, names->taint(names->context, r->counts[i].arg),
		    r->counts[i].nodes);
		before = ", ";
	}
}

static void put_devices(struct out *o, const struct reason *r, const struct reason_names *names)
{
	char text[DEVICE_TEXT_BYTES];

	for (uint32_t i = 0; i < r->lacks_n && i < DEVICE_LACKS_MAX; i++) {
		reason_device_text(&r->lacks[i], names, text, sizeof(text));
		put(o, "; request %s", text);
	}
}

/* Rules over one node exclude each one whatever is free: amounts would only mislead. */
static bool rules_exclude_all(const struct reason *r)
{
	uint64_t nodes = 0;

	for (uint32_t i = 0; i < counts_n(r); i++) {
		if (r->counts[i].why == FILTER_INSUFFICIENT || r->counts[i].why == FILTER_CONFLICT)
			return false;
		nodes += r->counts[i].nodes;
	}
	for (uint32_t i = 0; i < r->shortfalls_n && i < SHORTFALLS_MAX; i++)
		if (r->shortfalls[i].have > 0)
			return false;
	return nodes > 0 && nodes >= r->nodes;
}

static void put_room(struct out *o, const struct reason *r, const char *gang,
                     const struct reason_names *names)
{
	put_nodes(o, r, names);
	if (!gang)
		return;
	put(o, " gang %s: %u of %u members have room", gang, r->fit, r->need);
	if (!rules_exclude_all(r))
		put_shortfalls(o, r, names, "; ");
	put_devices(o, r, names);
	put_taints(o, r, names);
	put(o, ".");
}

#define PRE_FILTER "pre-filter pod"

#define HELD_BACK                                                                                  \
	"controllers that wait until the first pods run (JobSet with startupPolicy InOrder or an "     \
	"exclusive-topology, MPIJob with WaitForWorkersReady, StatefulSet with OrderedReady) create "  \
	"no others"

/* scheduler-plugins */
static const struct dialect_texts texts_podgroup = {
	.held_back = HELD_BACK,
	.missing = "PodGroup not found",
	.pre_filter = true,
	.refused = "",
};

const struct dialect_texts texts_configmap = {
	.missing =
		"running Permit plugin \"sample\": podgroup configmap not found, please create configmap first",
	.refused = "running Permit plugin \"sample\": ",
	.timeout = "rejected due to timeout after waiting ",
	.timeout_end = " at plugin sample",
};

const struct dialect_texts texts_plain = {
	.missing = "the group's object is not there",
	.refused = "",
	.held_back = HELD_BACK,
};

const struct dialect_texts texts_leaderworkerset = {
	.missing = "the group's object is not there",
	.refused = "",
	.held_back = "with startupPolicy LeaderReady the workers are created when the leader is ready: "
				 "such a set needs a gang provider of its controller, or the dialect "
				 "leaderworkerset turned off",
};

static const struct dialect_texts *texts_of(const struct reason_about *about)
{
	return about->texts ? about->texts : &texts_podgroup;
}

/* Errors of plugins begin like this in kube-scheduler, other texts do not. */
#define PLUGIN_ERROR "running "

static bool is_plugin_error(const char *text)
{
	return strncmp(text, PLUGIN_ERROR, strlen(PLUGIN_ERROR)) == 0;
}

const char *reason_condition(const struct reason *r, const char *text)
{
	if (r->why == WAIT_BIND_REFUSED || is_plugin_error(text))
		return "SchedulerError";
	return "Unschedulable";
}

const char *reason_refused(const struct dialect_texts *texts)
{
	return texts ? texts->refused : "";
}

static bool is_timed_out(const struct reason *r, const struct reason_about *about)
{
	if (about->timed_out_ns == 0 || !texts_of(about)->timeout)
		return false;
	return r->why != WAIT_GROUP_MISSING && r->why != WAIT_REFUSED && r->why != WAIT_BIND_REFUSED;
}

/* As Go writes durations: 20s, 1m30s, 2h0m0s, 1.5s. */
static void put_duration(struct out *o, uint64_t ns)
{
	uint64_t seconds = ns / 1000000000u, fraction = ns % 1000000000u;
	char digits[12];
	size_t n = 9;

	if (seconds >= 3600)
		put(o, "%" PRIu64 "h", seconds / 3600);
	if (seconds >= 60)
		put(o, "%" PRIu64 "m", seconds / 60 % 60);
	put(o, "%" PRIu64, seconds % 60);
	snprintf(digits, sizeof(digits), "%09" PRIu64, fraction);
	while (n > 0 && digits[n - 1] == '0')
		n--;
	put(o, "%s%.*ss", n > 0 ? "." : "", (int)n, digits);
}

static void put_timeout(struct out *o, const struct reason_about *about)
{
	const struct dialect_texts *texts = texts_of(about);

	put(o, "%s", texts->timeout);
	put_duration(o, about->timed_out_ns);
	put(o, "%s: gang %s could not be completed. ", texts->timeout_end,
	    about->gang ? about->gang : "");
}

static bool is_pre_filter(const struct reason *r, const struct reason_about *about)
{
	if (!about->gang || is_timed_out(r, about))
		return false;
	return texts_of(about)->pre_filter &&
	       (r->why == WAIT_GATED || (r->why == WAIT_MEMBERS && r->members > 0));
}

size_t reason_pod_at(const struct reason *r, const struct reason_about *about)
{
	return is_pre_filter(r, about) ? strlen(PRE_FILTER) : 0;
}

static void put_members(struct out *o, const struct reason *r, const struct reason_about *about)
{
	/* There is no pod to report it to, so this text is muster's own. */
	if (r->members == 0) {
		put(o, "no member is there: not created yet, ended, or of another scheduler");
		return;
	}
	if (texts_of(about)->pre_filter)
		put(o,
		    PRE_FILTER
		    " cannot find enough sibling pods, current pods number: %u, minMember of group: %u. ",
		    r->members, r->quorum);
	put(o, "gang %s: %u of %u members are there.", about->gang ? about->gang : "", r->members,
	    r->quorum);
	if (about->held_back)
		put(o, " None has come for 30 s: %s.", texts_of(about)->held_back);
}

static void put_gated(struct out *o, const struct reason *r, const struct reason_about *about)
{
	uint32_t free = r->members > r->gated ? r->members - r->gated : 0;

	if (!about->gang) {
		put(o, "Scheduling is blocked due to non-empty scheduling gates");
		return;
	}
	if (texts_of(about)->pre_filter)
		put(o, PRE_FILTER " cannot proceed due to gated pods in the same PodGroup. ");
	put(o, "gang %s: %u of %u members have scheduling gates, %u of the quorum of %u can start.",
	    about->gang, r->gated, r->members, free, r->quorum);
}

static void put_role(struct out *o, const struct reason *r, const char *gang,
                     const struct reason_names *names)
{
	const char *role = names->value ? names->value(names->context, r->role) : "";

	put(o, "gang %s: ", gang ? gang : "");
	if (*role)
		put(o, "role %s", role);
	else
		put(o, "a role");
	put(o, " has %u of the %u members that it needs; %u members are there in all.", r->role_members,
	    r->role_quorum, r->members);
}

static void put_topology(struct out *o, const struct reason *r, const char *gang,
                         const struct reason_names *names)
{
	const char *key = names->key ? names->key(names->context, r->domain_key) : "";
	const char *value = names->value && r->domain_value != ID_NONE
	                        ? names->value(names->context, r->domain_value)
	                        : "";

	if (r->counts_n > 0) {
		put_nodes(o, r, names);
		put(o, " ");
	}
	put(o, "gang %s: ", gang ? gang : "");
	if (r->domains == 0) {
		put(o, "no node has the label %s that its members are to have in common.",
		    *key ? key : "of the level");
		return;
	}
	put(o, "none of %u domains of %s has room for all %u members", r->domains,
	    *key ? key : "the level", r->need);
	if (r->domain_value != ID_NONE)
		put(o, *value ? "; the closest, %s, has room for %u" : "; the closest%s has room for %u",
		    value, r->domain_fit);
	put_shortfalls(o, r, names, "; ");
	put_devices(o, r, names);
	put(o, ".");
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
	put_devices(o, r, names);
	put(o, ".");
}

/* For a lone pod the text of a PreFilter rejection in kube-scheduler, or of the error that ends an
 * attempt, which counts no nodes. */
static void put_refused(struct out *o, const struct reason *r, const struct reason_about *about)
{
	struct reason_part part = { .text = about->refusal };

	if (!about->refusal || !*about->refusal)
		put(o, "muster can't judge a member of its gang");
	else if (!about->gang && r->nodes > 0 && !is_plugin_error(about->refusal))
		put_parts(o, r->nodes, &part, 1);
	else
		put(o, "%s", about->refusal);
}

static void put_missing(struct out *o, const struct reason_about *about)
{
	put(o, "%s: %s", texts_of(about)->missing, about->gang ? about->gang : "");
	if (about->refused_too && *about->refused_too)
		put(o, ". %s", about->refused_too);
}

static void put_bind_refused(struct out *o, const struct reason *r, const char *gang)
{
	put(o, "the API server refused a binding, muster will try again");
	if (gang)
		put(o, ". gang %s: %u of %u members are bound.", gang, r->bound, r->quorum);
}

static void put_victims(struct out *o, const struct reason *r, const char *gang)
{
	put(o, "%u pod%s evicted for it, or ending, and %s not gone yet", r->victims,
	    r->victims == 1 ? " is" : "s are", r->victims == 1 ? "has" : "have");
	if (gang)
		put(o, ". gang %s: %u members have their room.", gang, r->need);
}

static bool is_of_tenant(const struct reason_about *about, const char *gang)
{
	const size_t n = about->tenant ? strlen(about->tenant) : 0;

	return !about->tenant || (strncmp(gang, about->tenant, n) == 0 && gang[n] == '/');
}

/* struct reason.retained_gang: a gang or a pod. */
static void put_held(struct out *o, const struct reason *r, const struct reason_about *about,
                     const struct reason_names *names)
{
	const bool promised = r->promised_away != 0;
	const char *how = promised ? "promised to" : "held for";
	char holder[REASON_GANG_BYTES];

	if (!names->gang || !names->gang(names->context, r->retained_gang, r->retained_generation,
	                                 holder, sizeof(holder)))
		put(o, "room is %s %s", how, promised ? "others" : "a gang that is before it in the queue");
	else if (!is_of_tenant(about, holder))
		put(o, "room is %s a gang of another namespace%s", how,
		    promised ? "" : " that is before it in the queue");
	else
		put(o, "room is %s %s%s", how, holder, promised ? "" : ", which is before it in the queue");
	if (about->gang && promised)
		put(o, ". gang %s: %u member%s room now, but not beside what is promised.", about->gang,
		    r->need, r->need == 1 ? " has" : "s have");
	else if (about->gang)
		put(o, ". gang %s: %u of %u members have room beside it.", about->gang, r->fit, r->need);
}

/* Reservations that are retained: struct reason.retained_nodes. */
static void put_retained(struct out *o, const struct reason *r, const struct reason_about *about,
                         const struct reason_names *names)
{
	char gang[REASON_GANG_BYTES];

	put(o, " %u node%s capacity reserved for ", r->retained_nodes,
	    r->retained_nodes == 1 ? " has" : "s have");
	if (!names->gang ||
	    !names->gang(names->context, r->retained_gang, r->retained_generation, gang, sizeof(gang)))
		put(o, "a gang");
	else if (!is_of_tenant(about, gang))
		put(o, "a gang of another namespace");
	else
		put(o, "gang %s", gang);
	put(o, ", which is bound in part: the API server refused a binding.");
}

/* The API server takes any text of any length as spec.schedulerName, and a pod that names its node
 * needs no scheduler: what is no name is not shown to others. */
static bool is_scheduler_name(const char *text)
{
	const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                              "0123456789-_.");

	return n > 0 && n <= SCHEDULER_NAME_MAX && text[n] == '\0';
}

/* Others bound a pod on capacity that was nominated: struct reason.taken_pod. */
static void put_taken(struct out *o, const struct reason *r, const struct reason_about *about,
                      const struct reason_names *names)
{
	char pod[REASON_GANG_BYTES];
	const char *scheduler = NULL;
	bool own;

	if (names->pod)
		scheduler = names->pod(names->context, r->taken_pod, r->taken_generation, pod, sizeof(pod));
	put(o, " Capacity that it was to have was taken by ");
	if (!scheduler) {
		put(o, "a pod that muster did not place.");
		return;
	}
	own = is_of_tenant(about, pod);
	if (own)
		put(o, "pod %s", pod);
	else
		put(o, "a pod");
	if (is_scheduler_name(scheduler))
		put(o, " of scheduler %s", scheduler);
	put(o, own ? "." : " in another namespace.");
}

/* What keeps capacity from the gang or pod. */
static void put_kept_out(struct out *o, const struct reason *r, const struct reason_about *about,
                         const struct reason_names *names)
{
	if (!waits_for_capacity(r->why))
		return;
	if (r->retained_nodes > 0)
		put_retained(o, r, about, names);
	if (r->taken_generation != 0)
		put_taken(o, r, about, names);
	if (r->unpromised)
		put(o, " No capacity is reserved for it: pods that do not end by themselves use what it "
		       "lacks.");
}

static void put_behind(struct out *o, const struct reason *r, const struct reason_about *about,
                       const struct reason_names *names, const char *queue)
{
	char gang[REASON_GANG_BYTES];

	if (!names->gang || !names->gang(names->context, r->queue_behind, r->queue_behind_generation,
	                                 gang, sizeof(gang)))
		snprintf(gang, sizeof(gang), "another gang");
	else if (!is_of_tenant(about, gang))
		snprintf(gang, sizeof(gang), "a gang of another namespace");
	put(o, "waits behind %s in queue %s (fifo)", gang, queue);
}

/* Amounts are plain numbers in the ledger's units: the texts are a contract. */
static void put_queue(struct out *o, const struct reason *r, const struct reason_about *about,
                      const struct reason_names *names)
{
	static const char *const states[QUEUE_STATES] = { "open", "closing", "closed" };
	const char *own = about->queue ? about->queue : "";
	const char *queue =
		names->queue && r->queue != QUEUE_MISSING ? names->queue(names->context, r->queue) : own;
	const struct shortfall *s = &r->shortfalls[0];
	const char *resource = r->shortfalls_n > 0 ? names->resource(names->context, s->resource) : "";

	switch ((enum queue_by)r->queue_by) {
	case QUEUE_BY_LIMIT:
		put(o, "queue %s is at its limit: %s need %" PRId64 ", have %" PRId64, queue, resource,
		    s->need, s->have);
		break;
	case QUEUE_BY_NEVER:
		put(o, "can never start: queue %s has a limit of %" PRId64 " %s, needs %" PRId64, queue,
		    s->have, resource, s->need);
		break;
	case QUEUE_BY_KEPT:
		put(o, "room is kept for the guarantees of others: %s need %" PRId64 ", have %" PRId64,
		    resource, s->need, s->have);
		break;
	case QUEUE_BY_STATE:
		put(o, "queue %s is %s", queue, states[r->queue_state % QUEUE_STATES]);
		break;
	case QUEUE_BY_MISSING:
		put(o, *own ? "queue %s does not exist" : "its queue does not exist", own);
		break;
	case QUEUE_BY_TWO:
		put(o, "its members name several queues");
		break;
	case QUEUE_BY_CHILDREN:
		put(o, "queue %s has children", queue);
		break;
	case QUEUE_BY_FIFO:
		put_behind(o, r, about, names, queue);
		break;
	case QUEUE_BY_PARKED:
		put(o, "queue %s is not below the root: a parent does not exist, or is in a cycle", queue);
		break;
	case QUEUE_BY_RUN:
		put(o, "queue %s allows a run time of %u s at most (maxRunSeconds), %u s are stated", queue,
		    r->queue_most_s, r->queue_run_s);
		break;
	default:
		put(o, "waits because of its queue");
	}
}

static void put_promised(struct out *o, const struct reason *r)
{
	char time[PROMISE_TIME_BYTES];

	if (r->promised.at_ns == 0)
		return;
	promise_time_text(r->promised.at_ns, time);
	put(o, PROMISED_ENDING, time);
}

static void put_reason(struct out *o, const struct reason *r, const struct reason_about *about,
                       const struct reason_names *names)
{
	switch ((enum wait_reason)r->why) {
	case WAIT_GROUP_MISSING:
		put_missing(o, about);
		break;
	case WAIT_MEMBERS:
		put_members(o, r, about);
		break;
	case WAIT_GATED:
		put_gated(o, r, about);
		break;
	case WAIT_NO_NODES:
		put(o, "%s", NO_NODES);
		break;
	case WAIT_ROOM:
		put_room(o, r, about->gang, names);
		break;
	case WAIT_MIN_RESOURCES:
		put_min_resources(o, r, about->gang, names);
		break;
	case WAIT_REFUSED:
		put_refused(o, r, about);
		break;
	case WAIT_BIND_REFUSED:
		put_bind_refused(o, r, about->gang);
		break;
	case WAIT_GAVE_UP:
		put_gave_up(o, r, about->gang, names);
		break;
	case WAIT_RESERVED:
		put_held(o, r, about, names);
		break;
	case WAIT_ROLE:
		put_role(o, r, about->gang, names);
		break;
	case WAIT_TOPOLOGY:
		put_topology(o, r, about->gang, names);
		break;
	case WAIT_QUEUE:
		put_queue(o, r, about, names);
		break;
	case WAIT_VICTIMS:
		put_victims(o, r, about->gang);
		break;
	default:
		put(o, "not looked at yet");
	}
}

size_t reason_text(const struct reason *reason, const struct reason_about *about,
                   const struct reason_names *names, char *out, size_t out_bytes)
{
	struct out o = { out, out_bytes, 0 };

	if (out_bytes > 0)
		out[0] = '\0';
	if (is_timed_out(reason, about))
		put_timeout(&o, about);
	put_reason(&o, reason, about, names);
	put_kept_out(&o, reason, about, names);
	put_promised(&o, reason);
	/* Texts may be cut within a character; the API server would replace its bytes. */
	if (out_bytes > 0) {
		o.n -= scan_drop_broken(out);
		clean_text(out);
	}
	return o.n;
}
