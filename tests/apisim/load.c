/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/load.h"

#include "tests/apisim/call.h"

static int post(struct as_api *api, const char *target, const char *body, size_t bytes,
                uint64_t now_ns, bool quiet)
{
	struct as_response response = { 0 };
	int rc = 0;

	as_api_handle(api,
	              &(struct as_request){ .method = "POST",
	                                    .target = target,
	                                    .body = body,
	                                    .body_bytes = bytes,
	                                    .now_ns = now_ns,
	                                    .loading = true },
	              &response);
	if (response.status != 201 && !(quiet && response.status == 409)) {
		fprintf(stderr, "muster-apisim: POST %s: %.*s\n", target, (int)response.body.bytes,
		        response.body.at);
		rc = -1;
	}
	as_text_free(&response.body);
	return rc;
}

int as_load_nodes(struct as_api *api, const struct as_node_plan *plan, uint64_t now_ns)
{
	struct as_text body = { 0 };
	int digits = 1, rc = 0;

	for (unsigned n = plan->n > 0 ? plan->n - 1 : 0; n >= 10; n /= 10)
		digits++;
	for (unsigned i = 0; i < plan->n && rc == 0; i++) {
		body.bytes = 0;
		as_text_printf(
			&body,
			"{\"metadata\":{\"name\":\"node-%0*u\",\"labels\":{\"kubernetes.io/hostname\":\"node-%0*u\","
			"\"kubernetes.io/os\":\"linux\",\"kubernetes.io/arch\":\"amd64\"",
			digits, i, digits, i);
		if (plan->zones > 0)
			as_text_printf(&body, ",\"topology.kubernetes.io/zone\":\"zone-%u\"", i % plan->zones);
		as_text_printf(
			&body,
			"}},\"status\":{\"capacity\":{\"cpu\":\"%s\",\"memory\":\"%s\",\"pods\":\"%u\","
			"\"ephemeral-storage\":\"100Gi\"",
			plan->cpu, plan->memory, plan->pods);
		if (plan->gpus > 0)
			as_text_printf(&body, ",\"nvidia.com/gpu\":\"%u\"", plan->gpus);
		as_text_put(
			&body,
			"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\"}]}}");
		rc = post(api, "/api/v1/nodes", body.at, body.bytes, now_ns, false);
	}
	as_text_free(&body);
	return rc;
}

static int read_file(const char *path, struct as_text *out)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char part[65536];
	size_t n;

	if (f == NULL) {
		fprintf(stderr, "muster-apisim: %s: %s\n", path, strerror(errno));
		return -1;
	}
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		as_text_add(out, part, n);
	if (ferror(f)) {
		fprintf(stderr, "muster-apisim: %s: %s\n", path, strerror(errno));
		return -1;
	}
	if (f != stdin)
		fclose(f);
	return 0;
}

static const struct as_resource *find_kind(const struct as_api *api, const struct as_json *object)
{
	const char *kind = as_json_string(object, "kind"),
			   *version = as_json_string(object, "apiVersion");

	for (size_t i = 0; kind != NULL && version != NULL && i < api->resources.n; i++) {
		const struct as_resource *r = api->resources.at[i];

		if (!r->gone && strcmp(r->kind, kind) == 0 && strcmp(r->api_version, version) == 0)
			return r;
	}
	return NULL;
}

static int load_object(struct as_api *api, struct as_arena *a, struct as_json *object,
                       uint64_t now_ns)
{
	const struct as_resource *r = find_kind(api, object);
	struct as_json *metadata = as_json_get(object, "metadata");
	const char *namespace = as_json_string(metadata, "namespace");
	struct as_text body = { 0 };
	char *target;
	int rc = 0;

	if (r == NULL) {
		const char *kind = as_json_string(object, "kind"),
				   *version = as_json_string(object, "apiVersion");

		fprintf(stderr, "muster-apisim: kind %s of %s is not served\n",
		        kind != NULL ? kind : "(none)", version != NULL ? version : "(no apiVersion)");
		return -1;
	}
	as_json_remove(metadata, "resourceVersion");
	if (r->namespaced && namespace == NULL)
	namespace = "default";
	if (r->namespaced && as_index_find(&api->namespaces->index, namespace) == NULL) {
		as_text_printf(&body, "{\"metadata\":{\"name\":\"%s\"}}", namespace);
		rc = post(api, "/api/v1/namespaces", body.at, body.bytes, now_ns, false);
		body.bytes = 0;
	}
	target = as_arena_printf(a, "%s/%s%s%s/%s", r->group[0] == '\0' ? "/api" : "/apis",
	                         r->api_version, r->namespaced ? "/namespaces/" : "",
	                         r->namespaced ? namespace : "", r->plural);
	as_json_print(&body, object);
	/* Every cluster has its own default namespace already. */
	if (rc == 0)
		rc = post(api, target, body.at, body.bytes, now_ns, r == api->namespaces);
	as_text_free(&body);
	return rc;
}

static int load_document(struct as_api *api, struct as_arena *a, struct as_json *document,
                         uint64_t now_ns)
{
	const char *kind = as_json_string(document, "kind");
	struct as_json *items = as_json_array(document, "items");
	size_t bytes = kind != NULL ? strlen(kind) : 0;

	if (items == NULL || bytes < 4 || strcmp(kind + bytes - 4, "List") != 0)
		return load_object(api, a, document, now_ns);
	for (struct as_json *e = items->first; e != NULL; e = e->next)
		if (load_object(api, a, e, now_ns) < 0)
			return -1;
	return 0;
}

/* Where the first value of a text ends: objects may follow one another. */
static size_t first_value(const char *text, size_t bytes)
{
	size_t depth = 0;
	bool string = false;

	for (size_t i = 0; i < bytes; i++) {
		if (string) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				string = false;
			continue;
		}
		if (text[i] == '"')
			string = true;
		else if (text[i] == '{' || text[i] == '[')
			depth++;
		else if ((text[i] == '}' || text[i] == ']') && depth > 0 && --depth == 0)
			return i + 1;
	}
	return bytes;
}

int as_load_file(struct as_api *api, const char *path, uint64_t now_ns)
{
	struct as_arena arena = { 0 };
	struct as_text text = { 0 };
	size_t at = 0;
	int rc = read_file(path, &text);

	while (rc == 0 && at < text.bytes) {
		size_t n = first_value(text.at + at, text.bytes - at);
		const char *error = NULL;
		struct as_json *document;

		document = as_json_parse(&arena, text.at + at, n, &error);
		if (document == NULL) {
			fprintf(stderr, "muster-apisim: %s: %s\n", path, error);
			rc = -1;
			break;
		}
		rc = load_document(api, &arena, document, now_ns);
		at += n;
		while (at < text.bytes && strchr(" \t\r\n", text.at[at]) != NULL)
			at++;
	}
	as_text_free(&text);
	as_arena_free(&arena);
	return rc;
}
