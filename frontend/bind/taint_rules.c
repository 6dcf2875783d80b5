/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/bind/taint_rules.h"

#include "frontend/base/log.h"
#include "frontend/json/jsontree.h"

#include <stdlib.h>

#define LOOK_NS (600 * NS_PER_S)
#define TIMEOUT_MS 5000
#define VERSIONS 2u

/* The newest first; that of an API server which has both. */
static const char *const paths[VERSIONS] = {
	"/apis/resource.k8s.io/v1beta2/devicetaintrules?limit=1",
	"/apis/resource.k8s.io/v1alpha3/devicetaintrules?limit=1",
};

struct taint_rules {
	const struct env *env;
	unsigned at; /* of `paths` */
	uint64_t due_ns;
	struct http_call *call;
};

struct taint_rules *taint_rules_new(const struct env *env)
{
	struct taint_rules *t = must_alloc(sizeof(*t));

	t->env = env;
	return t;
}

void taint_rules_free(struct taint_rules *t)
{
	if (!t)
		return;
	if (t->call)
		t->env->transport->ops->cancel(t->env->transport, t->call);
	free(t);
}

/* True if the list has one; it is named. */
static bool found(const struct taint_rules *t, const char *body, size_t bytes)
{
	struct arena arena = { 0 };
	char error[200];
	const struct tree *list = jsontree_read(body, bytes, &arena, error, sizeof(error));
	const struct tree *first = list ? jsontree_get(list, "items")->first : NULL;

	if (first) {
		const struct text name =
			jsontree_text(jsontree_get(jsontree_get(first, "metadata"), "name"));

		env_log(t->env, "warn",
		        "--devices auto: DeviceTaintRule %.*s is ignored, as all are: devices that they "
		        "taint are given to pods (docs/devices.md); taints of ResourceSlices count",
		        (int)name.bytes, name.at);
	}
	arena_free(&arena);
	return first != NULL;
}

static void done(void *context, const struct http_answer *answer, const char *body, size_t bytes)
{
	struct taint_rules *t = context;
	const bool answered = answer->end == HTTP_ANSWERED;

	t->call = NULL;
	t->due_ns = env_now(t->env) + LOOK_NS;
	if (answered && answer->status == 404 && t->at + 1 < VERSIONS) {
		t->at++;
		t->due_ns = 0;
		return;
	}
	t->at = 0;
	if (answered && answer->status == 200 && found(t, body, bytes))
		t->due_ns = NEVER_NS;
}

uint64_t taint_rules_poll(struct taint_rules *t)
{
	const struct http_request request = {
		.method = "GET", .path = paths[t->at], .lane = HTTP_CALL, .timeout_ms = TIMEOUT_MS
	};
	const struct http_handler handler = { .done = done, .context = t };

	if (t->call)
		return NEVER_NS;
	if (env_now(t->env) < t->due_ns)
		return t->due_ns;
	t->call = t->env->transport->ops->start(t->env->transport, &request, &handler);
	if (!t->call)
		fatal_memory();
	return NEVER_NS;
}
