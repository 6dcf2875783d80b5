/* SPDX-License-Identifier: Apache-2.0 */
/* TokenReviews: the token "apisim:NAME" is that user's, any other is nobody's.  Reviews of one's
 * own access: everything is allowed, but for the fault deny-access. */
#include "tests/apisim/call.h"

#include <string.h>

static const char path[] = "/apis/authentication.k8s.io/v1/tokenreviews";
static const char prefix[] = "apisim:";

bool as_is_token_review(const struct as_call *c)
{
	return strcmp(c->path, path) == 0;
}

int as_token_review(struct as_call *c)
{
	struct as_json *body, *status, *user;
	const char *token;
	bool good;

	if (strcmp(c->request->method, "POST") != 0)
		return as_refuse_method(c);
	body = as_body(c);
	if (body == NULL)
		return -1;
	token = as_json_string(as_json_get(body, "spec"), "token");
	good = token != NULL && strncmp(token, prefix, strlen(prefix)) == 0;
	status = as_json_new(c->arena, AS_OBJECT);
	user = as_json_new(c->arena, AS_OBJECT);
	if (good) {
		as_json_set(c->arena, status, "authenticated", as_json_new(c->arena, AS_TRUE));
		as_json_set_string(c->arena, user, "username", token + strlen(prefix));
	}
	as_json_set(c->arena, status, "user", user);
	as_json_set(c->arena, body, "status", status);
	return as_answer_json(c, 201, body);
}

bool as_is_access_review(const struct as_call *c)
{
	return strcmp(c->path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews") == 0;
}

int as_access_review(struct as_call *c)
{
	bool denied = as_fault_take(&c->api->faults, AS_FAULT_DENY_ACCESS);
	struct as_json *body, *status;

	if (strcmp(c->request->method, "POST") != 0)
		return as_refuse_method(c);
	body = as_body(c);
	if (body == NULL)
		return -1;
	status = as_json_new(c->arena, AS_OBJECT);
	as_json_set(c->arena, status, "allowed", as_json_new(c->arena, denied ? AS_FALSE : AS_TRUE));
	as_json_set(c->arena, body, "status", status);
	return as_answer_json(c, 201, body);
}
