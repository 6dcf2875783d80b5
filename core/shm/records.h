/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing and validation of the records of the other process.  No part of a record is used before
 * it was checked here. */
#ifndef MUSTER_CORE_RECORDS_H
#define MUSTER_CORE_RECORDS_H

#include "ipc/abi.h"

/* Pointers into the record, good as long as it is.  Each count was checked against the length of
 * the record and each id against its limit; whether an id is in use is checked by the tables. */
struct name_record {
	const struct event_name *body;
	const char *text;
};

struct node_record {
	const struct event_node *body;
	const struct amount *amounts;
	const struct label *labels;
	const struct taint *taints;
	const struct node_image *images;
	const struct attach_limit *limits;
	const struct attachment *attached;
	const char *name;
};

struct shape_record {
	const struct event_shape *body;
	const struct amount *amounts;
	const struct requirement *requirements;
	const uint32_t *values;
	const struct toleration *tolerations;
	const struct requirement *clauses;
	const struct preference *preferences;
	const struct span *alternatives;
	const struct volume_rule *volume_rules;
	const struct pod_term *pod_terms;
	const struct spread *spreads;
	const struct host_port *ports;
	const uint32_t *images;
	const struct attachment *attachments;
	const struct exclusive *exclusives;
	const struct policy *policies;
	const struct policy_share *shares;
	uint32_t bytes; /* of the whole body */
};

struct gang_record {
	const struct event_gang *body;
	const struct amount *amounts;
	const struct gang_role *roles;
	const struct gang_level *levels;
	const char *name;
};

struct assume_record {
	const struct event_assume *body;
	const uint64_t *nodes; /* body->words */
};

struct namespace_record {
	const struct event_namespace *body;
	const struct pod_label *labels;
};

struct pod_record {
	const struct event_pod *body;
	const struct pod_label *labels;
	const char *name;
};

struct budget_record {
	const struct event_budget *body;
	const struct requirement *clauses;
	const uint32_t *values;
	const char *names;
};

struct answer_record {
	const struct event_answer *body;
	const struct answer_pod *victims;
	const struct answer_pod *places;
};

struct node_devices_record {
	const struct event_node_devices *body;
	const uint64_t *taken;
	const uint64_t *shared; /* without NODE_DEVICES_SHARED: of no words */
	const struct node_counter *counters;
	const struct node_use *uses;
	const struct node_capacity *capacities;
	const struct node_common *commons;
};

struct question_record {
	const struct event_question *body;
	const struct question_option *options;
	const struct question_constraint *constraints;
	const char *text;
};

struct match_record {
	const struct event_match *body;
	const uint64_t *sets;   /* by option: match, tolerated */
	const uint32_t *values; /* by constraint and device, each constraint padded to 8 bytes */
	const struct match_amount *amounts; /* by option and capacity */
};

struct queue_record {
	const struct event_queue *body;
	const struct queue_amount *amounts;
	const char *name;
};

struct queue_past_record {
	const struct event_queue_past *body;
	const struct queue_past *amounts;
};

/* Each returns NULL if the record is valid, else a static text with the reason. */
const char *record_check(const struct record *r);
const char *record_name(const struct record *r, const struct limits *l, struct name_record *out);
const char *record_node(const struct record *r, const struct limits *l, struct node_record *out);
const char *record_shape(const struct record *r, const struct limits *l, struct shape_record *out);
const char *record_gang(const struct record *r, const struct limits *l, struct gang_record *out);
const char *record_namespace(const struct record *r, struct namespace_record *out);
const char *record_pod(const struct record *r, const struct limits *l, struct pod_record *out);
const char *record_assume(const struct record *r, const struct limits *l,
                          struct assume_record *out);
const char *record_preemption(const struct record *r, const struct event_preemption **out);
const char *record_budget(const struct record *r, struct budget_record *out);
const char *record_queue(const struct record *r, const struct limits *l, struct queue_record *out);
const char *record_queue_terms(const struct record *r, const struct event_queue_terms **out);
const char *record_queue_past(const struct record *r, const struct limits *l,
                              struct queue_past_record *out);
const char *record_pod_facts(const struct record *r, const struct limits *l,
                             const struct event_pod_facts **out);
const char *record_answer(const struct record *r, const struct limits *l,
                          struct answer_record *out);
const char *record_evicted(const struct record *r, const struct limits *l,
                           const struct evict_result **out);
const char *record_node_devices(const struct record *r, const struct limits *l,
                                struct node_devices_record *out);
const char *record_question(const struct record *r, struct question_record *out);
const char *record_match(const struct record *r, const struct limits *l, struct match_record *out);
const char *record_promised(const struct record *r, const struct limits *l,
                            const struct event_promised **out);
const char *record_drop(const struct record *r, uint32_t limit, const struct event_drop **out);
const char *record_result(const struct record *r, const struct limits *l,
                          const struct result **out);

/* The parts of a pod's record that a core accepted (record_pod()) and that this process keeps:
 * those who read it again need not check it. */
static inline struct pod_record pod_record_of(const struct record *accepted)
{
	struct pod_record p = { .body = (const void *)(accepted + 1) };

	p.labels = (const void *)(p.body + 1);
	p.name = (const char *)p.labels + PADDED(p.body->labels_n * sizeof(*p.labels));
	return p;
}

#endif
