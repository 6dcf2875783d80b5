/* SPDX-License-Identifier: Apache-2.0 */
/* An API server without a socket, for tests: requests as one-liners. */
#ifndef MUSTER_TESTS_SUPPORT_APISIM_H
#define MUSTER_TESTS_SUPPORT_APISIM_H

#include "tests/apisim/api.h"
#include "tests/apisim/json.h"
#include "tests/apisim/kubelet.h"

#define SECOND_NS UINT64_C(1000000000)

struct server {
	struct as_api *api;
	struct as_kubelets *kubelets; /* NULL: none */
	uint64_t now_ns;
	uint64_t random;
	struct as_arena arena; /* of the last answer */
	const char *type;      /* content type of the next request; NULL again after it */
	int status;
	uint32_t retry_after_s;
	bool cut;
	struct as_watch *watch; /* if the last answer was one; the caller frees it */
	struct as_json *body;   /* NULL if it is not JSON */
};

void server_start(struct server *s, size_t history);
void server_stop(struct server *s);
/* The status; the rest is in *s. */
int server_send(struct server *s, const char *method, const char *target, const char *body);
/* The same, with a text that is formatted. */
int server_sendf(struct server *s, const char *method, const char *target, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A string at a dotted path of the last answer; "" if there is none. */
const char *server_text(const struct server *s, const char *path);
/* metadata.resourceVersion of the last answer. */
uint64_t server_version(const struct server *s);

/* The watch's next events as "ADDED name, MODIFIED name"; "(end)" closes a stream
 * that ended.  Good until the next call. */
const char *server_events(struct server *s, struct as_watch *w);

void server_pod(struct server *s, const char *name); /* of 1 cpu, must be created */
void server_node(struct server *s, const char *name, const char *cpu); /* the same */
int server_bind(struct server *s, const char *pod, const char *node);

#endif
