/* SPDX-License-Identifier: Apache-2.0 */
/* What tests/unit/frontend/model/test_random.c knows of the objects that it puts and removes:
 * support_truth_change.c changes them, support_truth_same.c compares the records with them. */
#ifndef MUSTER_TESTS_SUPPORT_TRUTH_H
#define MUSTER_TESTS_SUPPORT_TRUTH_H

#include "frontend/model/valid.h"

#include "tests/unit/support_random.h"
#include "tests/unit/support_replay.h"
#include "tests/unit/test.h"

#define NODES 6
#define PODS 14
#define GROUPS 3
#define KEYS 3
#define PAIRS 2 /* labels of pods, which services select by */
#define SERVICES 4
#define POLICIES 2

enum rule { RULE_NONE, RULE_SELECTOR, RULE_NOT_IN, RULE_EXISTS, RULE_NAME, RULE_GT, RULES };

/* The content of the objects. */
struct node_truth {
	bool exists, bad, cordoned;
	int version, cpu, gpu, taint; /* -1: none */
	int labels[KEYS];             /* -1: none */
	char json[1024];
};

struct pod_truth {
	bool exists, ours, ended, gated, deleting;
	int version, uid, node, group, cpu, priority;
	enum rule rule;
	int key, value, tolerates;
	int labels[PAIRS]; /* -1: none */
	bool spreads;      /* has a constraint of its own */
	int policy;        /* -1: none; POLICIES: one that never is */
	int binding;       /* node, -1 */
	uint32_t binding_id, binding_generation;
	char json[2048];
};

struct group_truth {
	bool exists;
	int version, uid, min, gpu;
	char json[1024];
};

struct service_truth {
	bool exists;
	int version;
	int selects[PAIRS]; /* -1: any */
	char json[512];
};

struct policy_truth {
	bool exists, bad, fill, required;
	int version, uid, selects; /* value of label l0; -1: any */
	int shares;                /* domains k1=0, 1, ... of so many replicas */
	char json[1024];
};

struct namespace_truth {
	bool exists;
	int version, team;
	char json[256];
};

struct truth {
	struct random r;
	struct model *m;
	struct replay replay;
	int version;
	bool is_tight; /* limits are reached: only the order of records is checked */
	struct node_truth nodes[NODES];
	struct pod_truth pods[PODS];
	struct group_truth groups[GROUPS];
	struct service_truth services[SERVICES];
	struct policy_truth policies[POLICIES];
	struct namespace_truth namespace; /* of all pods */
	int resource_services, resource_namespaces, resource_policies;
};

/* Puts, changes or removes something at random, or restarts the core. */
void truth_step(struct truth *t);

/* The records of the replay are those of the objects.  All has been sent. */
void truth_check(struct truth *t);

#endif
