/* SPDX-License-Identifier: Apache-2.0 */
/* Routes a request to its handler. */
#include "tests/apisim/call.h"

#define DEFAULT_HISTORY 50000
#define DEFAULT_BOOKMARK_MS 60000

static bool add_gates(struct as_api *api, const struct as_config *config)
{
	for (const char *const *gate = config->gates; gate != NULL && *gate != NULL; gate++) {
		if (as_resources_add_gate(&api->resources, *gate))
			continue;
		if (config->bad_gate != NULL)
			*config->bad_gate = *gate;
		return false;
	}
	return true;
}

/* Objects that every cluster has from its start. */
static const char *const seed[][2] = {
	{ "/api/v1/namespaces", "{\"metadata\":{\"name\":\"default\"}}" },
	{ "/api/v1/namespaces", "{\"metadata\":{\"name\":\"kube-system\"}}" },
	{ "/api/v1/namespaces", "{\"metadata\":{\"name\":\"kube-public\"}}" },
	{ "/api/v1/namespaces", "{\"metadata\":{\"name\":\"kube-node-lease\"}}" },
	{ "/apis/scheduling.k8s.io/v1/priorityclasses",
	  "{\"metadata\":{\"name\":\"system-cluster-critical\"},\"value\":2000000000,\"description\":"
	  "\"Used for system critical pods that must run in the cluster, but can be moved to another node if "
	  "necessary.\"}" },
	{ "/apis/scheduling.k8s.io/v1/priorityclasses",
	  "{\"metadata\":{\"name\":\"system-node-critical\"},\"value\":2000001000,\"description\":"
	  "\"Used for system critical pods that must not be moved from their current node.\"}" },
};

static void add_seed(struct as_api *api)
{
	for (size_t i = 0; i < sizeof(seed) / sizeof(seed[0]); i++) {
		struct as_response response = { 0 };

		as_api_handle(api,
		              &(struct as_request){ .method = "POST",
		                                    .target = seed[i][0],
		                                    .body = seed[i][1],
		                                    .now_ns = api->config.now_ns,
		                                    .body_bytes = strlen(seed[i][1]) },
		              &response);
		if (response.status != 201)
			as_die("%s: %.*s", seed[i][0], (int)response.body.bytes, response.body.at);
		as_text_free(&response.body);
	}
	memset(&api->stats, 0, sizeof(api->stats));
}

struct as_api *as_api_new(const struct as_config *config)
{
	struct as_api *api = as_alloc(sizeof(*api));

	api->config = *config;
	if (api->config.history == 0)
		api->config.history = DEFAULT_HISTORY;
	if (api->config.bookmark_ms == 0)
		api->config.bookmark_ms = DEFAULT_BOOKMARK_MS;
	if (api->config.watch_lag == 0)
		api->config.watch_lag = api->config.history / 2 + 1;
	as_resources_add_builtin(&api->resources);
	if (!add_gates(api, config)) {
		as_resources_free(&api->resources);
		free(api);
		return NULL;
	}
	api->nodes = as_resources_find(&api->resources, "", "v1", "nodes");
	api->pods = as_resources_find(&api->resources, "", "v1", "pods");
	api->namespaces = as_resources_find(&api->resources, "", "v1", "namespaces");
	api->priority_classes =
		as_resources_find(&api->resources, "scheduling.k8s.io", "v1", "priorityclasses");
	api->crds = as_resources_find(&api->resources, "apiextensions.k8s.io", "v1",
	                              "customresourcedefinitions");
	api->store = as_store_new(api->config.history);
	add_seed(api);
	return api;
}

void as_api_free(struct as_api *api)
{
	if (api == NULL)
		return;
	as_faults_clear(&api->faults);
	as_store_free(api->store);
	as_resources_free(&api->resources);
	as_arena_free(&api->arena);
	free(api);
}

void as_api_count_lag(struct as_api *api)
{
	api->stats.watches_lagged++;
}

static void parse_query(struct as_call *c, char *text)
{
	struct as_query **link = &c->query;

	while (text != NULL && *text != '\0') {
		struct as_query *q = as_arena_alloc(c->arena, sizeof(*q));
		char *next = strchr(text, '&'), *equals;

		if (next != NULL)
			*next++ = '\0';
		equals = strchr(text, '=');
		if (equals != NULL)
			*equals++ = '\0';
		as_decode(text, true);
		if (equals != NULL)
			as_decode(equals, true);
		*q = (struct as_query){ .name = text, .value = equals != NULL ? equals : "" };
		*link = q;
		link = &q->next;
		text = next;
	}
}

#define SEGMENTS_MAX 9

/* Split the path; a segment is decoded after the split, so that %2F stays in it. */
static size_t split_path(struct as_call *c, const char *path, const char *segments[SEGMENTS_MAX])
{
	char *at = as_arena_copy(c->arena, path, strlen(path));
	size_t n = 0;

	while (at != NULL) {
		char *slash;

		while (*at == '/')
			at++;
		if (*at == '\0')
			break;
		slash = strchr(at, '/');
		if (slash != NULL)
			*slash++ = '\0';
		as_decode(at, false);
		if (n == SEGMENTS_MAX)
			return n;
		segments[n++] = at;
		at = slash;
	}
	return n;
}

/* api/V/... or apis/G/V/...; false when no such resource is served. */
static bool find_resource(struct as_call *c, const char *const *s, size_t n)
{
	const char *group = "", *version;

	if (strcmp(s[0], "apis") == 0) {
		if (n < 4)
			return false;
		group = s[1];
		s++, n--;
	} else if (n < 3) {
		return false;
	}
	version = s[1];
	s += 2, n -= 2;
	/* namespaces/NS/PLURAL, but namespaces/NS/status is of the namespace. */
	if (n >= 3 && strcmp(s[0], "namespaces") == 0 && strcmp(s[2], "status") != 0 &&
	    strcmp(s[2], "finalize") != 0) {
		c->namespace = s[1];
		s += 2, n -= 2;
	}
	c->resource = as_resources_find(&c->api->resources, group, version, s[0]);
	c->name = n > 1 ? s[1] : NULL;
	c->subresource = n > 2 ? s[2] : NULL;
	if (c->resource == NULL && group[0] == '\0' && strcmp(s[0], "bindings") == 0 && n == 1) {
		c->resource = c->api->pods;
		c->subresource = "binding";
	}
	if (c->resource == NULL || n > 3)
		return false;
	return c->resource->namespaced || c->namespace == NULL;
}

static int serve_collection(struct as_call *c, const char *method)
{
	bool whole = !c->resource->namespaced || c->namespace != NULL;

	if (strcmp(method, "GET") == 0)
		return as_query_true(c, "watch") ? as_watch_start(c) : as_list(c);
	if (strcmp(method, "POST") == 0 && whole)
		return as_create(c);
	if (strcmp(method, "DELETE") == 0 && whole && !c->resource->one_by_one)
		return as_delete_collection(c);
	return as_refuse_method(c);
}

static int serve_object(struct as_call *c, const char *method)
{
	if (strcmp(method, "GET") == 0)
		return as_get(c);
	if (strcmp(method, "PUT") == 0)
		return as_update(c);
	if (strcmp(method, "PATCH") == 0)
		return as_patch(c);
	if (strcmp(method, "DELETE") == 0 && c->subresource == NULL)
		return as_delete(c);
	return as_refuse_method(c);
}

static int serve_resource(struct as_call *c)
{
	const char *method = c->request->method;

	if (c->resource == c->api->pods && c->subresource != NULL &&
	    strcmp(c->subresource, "binding") == 0)
		return strcmp(method, "POST") == 0 ? as_bind(c) : as_refuse_method(c);
	if (c->resource == c->api->pods && c->subresource != NULL &&
	    strcmp(c->subresource, "eviction") == 0)
		return strcmp(method, "POST") == 0 ? as_evict(c) : as_refuse_method(c);
	if (c->subresource != NULL &&
	    (strcmp(c->subresource, "status") != 0 || !c->resource->has_status))
		return c->resource->custom ? as_refuse_not_found(c, c->resource, c->name)
		                           : as_refuse_no_resource(c);
	if (c->resource->view != NULL && c->name != NULL && strcmp(method, "DELETE") == 0)
		c->resource = c->resource->stored;
	if (c->resource->view != NULL && strcmp(method, "GET") != 0)
		return as_refuse_method(c);
	if (c->name == NULL)
		return serve_collection(c, method);
	if (c->resource->namespaced && c->namespace == NULL)
		return as_refuse_no_resource(c);
	return serve_object(c, method);
}

static int read_dry_run(struct as_call *c)
{
	const char *value = as_query_get(c, "dryRun"), *strict = as_query_get(c, "fieldValidation");

	if (value != NULL && value[0] != '\0') {
		if (strcmp(value, "All") != 0)
			return as_refuse(c, 422, "Invalid", "dryRun: Unsupported value: \"%s\"", value);
		c->dry_run = true;
	}
	if (strict != NULL && strcmp(strict, "Strict") == 0)
		return as_refuse_bad(
			c, "fieldValidation=Strict is not supported: apisim keeps unknown fields");
	return 0;
}

static void count(struct as_call *c)
{
	char what[96] = "other";

	if (c->resource != NULL)
		snprintf(what, sizeof(what), "%s%s%s", c->resource->qualified,
		         c->subresource != NULL ? "/" : "", c->subresource != NULL ? c->subresource : "");
	as_stats_count(&c->api->stats, c->response->watch != NULL ? "WATCH" : c->request->method, what,
	               c->response->status);
}

static void answer_plain(struct as_call *c, int status, const char *text)
{
	c->response->status = status;
	c->response->content_type = "text/plain; charset=utf-8";
	as_text_put(&c->response->body, text);
}

/* Only JSON is served.  Parameters request other forms of it, such as Tables; a client that
 * accepts those accepts plain objects too. */
static bool accepts_json(const char *accept)
{
	static const char *const ranges[] = { "application/json", "*/*", "application/*" };

	for (size_t i = 0; accept != NULL && i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (strcasestr(accept, ranges[i]) != NULL)
			return true;
	return accept == NULL || accept[0] == '\0';
}

static void serve(struct as_call *c, const char *const *segments, size_t n)
{
	bool found = false;

	if (n == 1 && (strcmp(segments[0], "healthz") == 0 || strcmp(segments[0], "livez") == 0 ||
	               strcmp(segments[0], "readyz") == 0)) {
		answer_plain(c, 200, "ok");
		return;
	}
	if (n > 1 && strcmp(segments[0], "apisim") == 0) {
		as_admin(c);
		return;
	}
	if (!accepts_json(c->request->accept)) {
		as_refuse(c, 406, "NotAcceptable",
		          "only the following media types are accepted: application/json");
		return;
	}
	if (as_is_token_review(c)) {
		as_token_review(c);
		return;
	}
	if (as_is_access_review(c)) {
		as_access_review(c);
		return;
	}
	as_discovery(c, &found);
	if (found)
		return;
	if (n >= 2 && (strcmp(segments[0], "api") == 0 || strcmp(segments[0], "apis") == 0) &&
	    find_resource(c, segments, n)) {
		if (as_fault_take(&c->api->faults, AS_FAULT_ERROR_500))
			as_refuse(c, 500, "InternalError", "Internal error occurred: fault error-500");
		else if (read_dry_run(c) == 0)
			serve_resource(c);
		if (as_fault_take(&c->api->faults, AS_FAULT_DELAY))
			c->response->delay_ms = c->api->faults.armed[AS_FAULT_DELAY].ms;
		return;
	}
	if (n >= 2 && as_group_served(c->api, segments, n))
		as_refuse_no_resource(c);
	else
		answer_plain(c, 404, "404 page not found\n");
}

void as_api_handle(struct as_api *api, const struct as_request *request,
                   struct as_response *response)
{
	struct as_call c = {
		.api = api,
		.arena = &api->arena,
		.request = request,
		.response = response,
		.now_ns = request->now_ns,
	};
	const char *segments[SEGMENTS_MAX];
	char *path, *query;
	size_t n;

	as_arena_reset(&api->arena);
	*response = (struct as_response){ .content_type = "application/json" };
	path = as_arena_copy(c.arena, request->target, strlen(request->target));
	query = strchr(path, '?');
	if (query != NULL)
		*query++ = '\0';
	c.path = path;
	parse_query(&c, query);
	n = split_path(&c, path, segments);
	serve(&c, segments, n);
	count(&c);
}
