/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of muster-apisim. */
#ifndef MUSTER_APISIM_OPTIONS_H
#define MUSTER_APISIM_OPTIONS_H

#include "tests/apisim/api.h"
#include "tests/apisim/kubelet.h"
#include "tests/apisim/load.h"

#define AS_LIST_MAX 64

struct as_options {
	const char *listen;
	uint16_t port;
	const char *kubeconfig;
	const char *token; /* NULL: random */
	bool tls;
	const char *certificate, *key, *ca; /* files */
	uint32_t latency_ms;
	size_t history;
	size_t watch_lag;
	uint32_t bookmark_ms;
	uint64_t seed; /* 0: from the system */
	struct as_node_plan nodes;
	struct as_kubelet_config kubelet;
	const char *gates[AS_LIST_MAX + 1];
	const char *crds[AS_LIST_MAX + 1];
	const char *loads[AS_LIST_MAX + 1];
};

/* Prints help or what is wrong.  -1: go on; else the exit code. */
int as_options_read(struct as_options *o, int argc, char **argv);

#endif
