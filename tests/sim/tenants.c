/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner of one namespace can do to the others, by the rights that anybody has in a
 * namespace of their own (F5 to F7, F10, F12 and F13 of the audit).  Afterwards the gangs of the
 * others have to start as if it were not there: sim.c compares with a core whose limits are far. */
#include "tests/sim/making.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENANT_PODS "/api/v1/namespaces/" SIM_TENANT "/pods"
#define TENANT_GROUPS "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/" SIM_TENANT "/podgroups"
#define SHAPES 70u /* above SIM_TENANT_SHAPES */
#define NAMES 12u
#define REPLICAS 24u

enum trick {
	TRICK_SHAPES,       /* pods that all differ: F7 */
	TRICK_NAMES,        /* resources that no node has: F6 */
	TRICK_QUORUM,       /* a gang of one runs */
	TRICK_QUORUM_MORE,  /* and asks for 24 more: F10 */
	TRICK_TEXT,         /* names with controls: F5, F13 */
	TRICK_ENDING,       /* half of a gang runs */
	TRICK_ENDING_ENDS,  /* the namespace is deleted, */
	TRICK_ENDING_OPENS, /* and then the other half may be tried: F12 */
};

static void pod_post(struct sim *s, const char *name, uint32_t i, const char *metadata,
                     const char *spec, const char *requests)
{
	sim_user(
		s, "POST", TENANT_PODS,
		"{\"metadata\":{\"name\":\"%s%u\"%s},\"spec\":{\"schedulerName\":\"muster\"%s,"
		"\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{%s}}}]}}",
		name, i, metadata, spec, requests);
}

static void member_post(struct sim *s, const char *name, uint32_t i, const char *spec)
{
	char metadata[120];

	snprintf(metadata, sizeof(metadata), ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"%s\"}",
	         name);
	pod_post(s, name, i, metadata, spec, "\"cpu\":\"1\"");
}

static void group_post(struct sim *s, const char *name)
{
	sim_user(s, "POST", TENANT_GROUPS,
	         "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\","
	         "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"minMember\":1}}",
	         name);
}

static void quorum_set(struct sim *s, const char *name, uint32_t quorum)
{
	char path[160];

	snprintf(path, sizeof(path), TENANT_GROUPS "/%s", name);
	sim_user(s, "PATCH", path, "{\"spec\":{\"minMember\":%u}}", quorum);
}

static void shapes_post(struct sim *s)
{
	char requests[40];

	for (uint32_t i = 0; i < SHAPES; i++) {
		snprintf(requests, sizeof(requests), "\"cpu\":\"%um\"", 100001 + i);
		pod_post(s, "shape", i, "", "", requests);
	}
}

static void names_post(struct sim *s)
{
	char requests[60];

	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(requests, sizeof(requests), "\"cpu\":\"1m\",\"evil.com/%u\":\"1\"", i);
		pod_post(s, "name", i, "", "", requests);
	}
}

/* CSI, OSC and an override of the direction of text; a NUL. */
static void text_post(struct sim *s)
{
	static const char *const groups[] = { "a\\u009b31m\\u202eb", "\\u001b]0;x\\u0007", "i\\u0000j",
		                                  "x\\ny" };
	char metadata[200];

	for (uint32_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		snprintf(metadata, sizeof(metadata),
		         ",\"annotations\":{\"scheduling.k8s.io/group-name\":\"%s\","
		         "\"scheduling.k8s.io/group-pod-num\":\"3\"}",
		         groups[i]);
		pod_post(s, "text", i, metadata, "", "\"cpu\":\"50m\"");
	}
}

void tenants_do(struct sim *s, uint32_t trick)
{
	static const char gate[] = ",\"schedulingGates\":[{\"name\":\"sim/wait\"}]";

	switch ((enum trick)trick) {
	case TRICK_SHAPES:
		shapes_post(s);
		break;
	case TRICK_NAMES:
		names_post(s);
		break;
	case TRICK_QUORUM:
		group_post(s, "grows");
		member_post(s, "grows", 0, "");
		break;
	case TRICK_QUORUM_MORE:
		quorum_set(s, "grows", REPLICAS + 1);
		for (uint32_t i = 1; i <= REPLICAS; i++)
			member_post(s, "grows", i, "");
		break;
	case TRICK_TEXT:
		text_post(s);
		break;
	case TRICK_ENDING:
		group_post(s, "ends");
		member_post(s, "ends", 0, "");
		member_post(s, "ends", 1, gate);
		break;
	case TRICK_ENDING_ENDS:
		quorum_set(s, "ends", 2);
		sim_user(s, "DELETE", "/api/v1/namespaces/" SIM_TENANT, "%s", "");
		break;
	case TRICK_ENDING_OPENS:
		sim_user(s, "PATCH", TENANT_PODS "/ends1", "%s", "{\"spec\":{\"schedulingGates\":null}}");
		break;
	}
}

void making_tenants(struct making *m)
{
	const uint64_t end = m->p->end_ns;
	uint64_t at = sim_below(&m->random, end / 4);

	m->p->tenants = true;
	/* Many reports, and each event in a namespace that ends is refused several times. */
	m->p->knobs.report_per_second = 50;
	m->p->knobs.report_queue = 1000;
	for (uint32_t trick = TRICK_SHAPES; trick <= TRICK_TEXT; trick++)
		if (trick == TRICK_QUORUM_MORE || making_below(m, 2) == 0)
			making_add(m, at + trick * SIM_S, ACTION_TENANT, trick, 0, 0);
	if (making_below(m, 2) == 0) {
		at += 5 * SIM_S + sim_below(&m->random, SIM_S);
		making_add(m, at, ACTION_TENANT, TRICK_ENDING, 0, 0);
		making_add(m, at + SIM_S, ACTION_TENANT, TRICK_ENDING_ENDS, 0, 0);
		making_add(m, at + 2 * SIM_S, ACTION_TENANT, TRICK_ENDING_OPENS, 0, 0);
	}
	/* Others come after it: a node with a resource that is new, and a pod that needs it. */
	if (m->pods == SIM_PODS)
		return;
	making_add(m, at + 3 * SIM_S, ACTION_NODE_NEW, SIM_GPU_NODE, making_below(m, 9), 0);
	making_add(m, at + 3 * SIM_S, ACTION_POD_NEW, m->pods++, SIM_NONE, SIM_GPU);
}
