/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/gpus/shares.h"

#include "ctl/gpus/nodes.h"
#include "ctl/objects/json_check.h"
#include "ctl/objects/members.h"
#include "ctl/term/ctl.h"
#include "frontend/json/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER "gpu-share"
#define SIZES_MAX 8u /* alternatives of a request */
#define API "resource.k8s.io/v1"

/* A pod that has to do with GPUs, by its place among the objects: files grow. */
struct gpu_pod {
	size_t object;
	struct gpu_ask ask;
	struct text node;  /* "": it waits */
	const char *wrong; /* NULL: nothing */
	enum gpu_place place;
};

struct making {
	struct files *files;
	struct arena arena;   /* to the end */
	struct arena scratch; /* of one object */
	struct gpu_nodes nodes;
	uint32_t sizes[SIZES_MAX], sizes_n; /* of memory of a GPU, ascending */
	struct gpu_pod *pods;
	size_t pods_n, pods_cap;
	size_t shares; /* pods with annotations */
	struct bytes notes, json;
};

bool gpu_share_claim(const char *name)
{
	return strncmp(name, GPU_SHARE, strlen(GPU_SHARE)) == 0;
}

__attribute__((format(printf, 2, 3))) static void put(struct bytes *b, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = ctl_vprint(format, args);
	va_end(args);
	bytes_put(b, text);
	free(text);
}

static void quote(struct bytes *b, const char *text)
{
	bytes_quote(b, text, strlen(text));
}

static void quote_named(struct bytes *b, const char *name)
{
	char *text = ctl_print(GPU_SHARE "-%s", name);

	quote(b, text);
	free(text);
}

static struct object object_at(const struct making *m, size_t i)
{
	size_t n;

	return files_objects(m->files, &n)[i];
}

/* Reading. */

static bool has_ended(struct arena *arena, struct text pod)
{
	const struct text phase = raw_text(arena, members_find(arena, pod, "status.phase"));

	return text_is(phase, "Succeeded") || text_is(phase, "Failed");
}

static void note_wrong(struct making *m, const struct object *o, const char *why)
{
	char where[512];

	put(&m->notes, "%s: Pod %s/%s: %s\n", object_where(o, where, sizeof(where)), o->namespace,
	    o->name, why);
}

static void read_pod(struct making *m, size_t i)
{
	const struct object o = object_at(m, i);
	struct gpu_pod pod = { .object = i };

	if (members_find(&m->scratch, o.json, "spec").at == NULL || has_ended(&m->scratch, o.json))
		return;
	if (!gpu_ask_read(&m->arena, o.json, &pod.ask, &pod.wrong))
		note_wrong(m, &o, pod.wrong);
	m->shares += pod.ask.shares;
	pod.node = raw_text(&m->arena, members_find(&m->scratch, o.json, "spec.nodeName"));
	if ((pod.wrong == NULL && pod.ask.count == 0) ||
	    (pod.node.bytes > 0 &&
	     (pod.wrong != NULL || gpu_holds_for_others(&m->scratch, o.json, &pod.ask))))
		return;
	pod.place = gpu_place_of(&m->scratch, o.json, &pod.ask);
	m->pods = must_reach(m->pods, &m->pods_cap, m->pods_n, 64, sizeof(*m->pods));
	m->pods[m->pods_n++] = pod;
}

static bool is_pod(const struct object *o)
{
	return strcmp(o->kind, "Pod") == 0 && strcmp(o->api_version, "v1") == 0;
}

static void read_pods(struct making *m)
{
	size_t n;
	const struct object *objects = files_objects(m->files, &n);
	bool maybe = false;

	for (size_t i = 0; !maybe && i < n; i++)
		maybe = is_pod(&objects[i]) && gpu_ask_maybe(objects[i].json);
	for (size_t i = 0; maybe && i < n; i++)
		if (is_pod(&objects[i])) {
			read_pod(m, i);
			arena_reset(&m->scratch);
		}
}

static void add_size(struct making *m, uint32_t size)
{
	uint32_t i = 0;

	while (i < m->sizes_n && m->sizes[i] < size)
		i++;
	if (size == 0 || i == SIZES_MAX || (i < m->sizes_n && m->sizes[i] == size))
		return;
	m->sizes_n -= m->sizes_n == SIZES_MAX;
	memmove(&m->sizes[i + 1], &m->sizes[i], (m->sizes_n - i) * sizeof(m->sizes[0]));
	m->sizes[i] = size;
	m->sizes_n++;
}

/* Objects. */

static void make(struct making *m, const struct object *from, const char *kind, const char *name)
{
	char *full = name[0] == '<' ? must_copy(name) : ctl_print(GPU_SHARE "-%s", name);

	files_make(m->files, from, API, kind, full, (struct text){ m->json.at, m->json.n });
	free(full);
}

static void head(struct bytes *b, const char *kind, const char *name, const char *namespace)
{
	b->n = 0;
	put(b, "{\"apiVersion\":\"" API "\",\"kind\":\"%s\",\"metadata\":{\"name\":", kind);
	if (name[0] == '<')
		quote(b, name);
	else
		quote_named(b, name);
	if (namespace[0] != '\0') {
		bytes_put(b, ",\"namespace\":");
		quote(b, namespace);
	}
	bytes_put(b, "},\"spec\":{");
}

static void make_class(struct making *m, const struct object *from)
{
	head(&m->json, "DeviceClass", GPU_SHARE, "");
	bytes_put(&m->json,
	          "\"selectors\":[{\"cel\":{\"expression\":\"device.driver == '" DRIVER "'\"}}]}}");
	make(m, from, "DeviceClass", GPU_SHARE);
}

static void make_slice(struct making *m, const struct object *from, const struct gpu_node *node)
{
	struct bytes *b = &m->json;

	head(b, "ResourceSlice", node->name, "");
	bytes_put(b, "\"driver\":\"" DRIVER "\",\"nodeName\":");
	quote(b, node->name);
	bytes_put(b, ",\"pool\":{\"generation\":1,\"resourceSliceCount\":1,\"name\":");
	quote(b, node->name);
	bytes_put(b, "},\"devices\":[");
	for (uint32_t i = 0; i < node->gpus; i++) {
		put(b,
		    "%s{\"name\":\"gpu-%" PRIu32 "\",\"allowMultipleAllocations\":true,\"capacity\":"
		    "{\"gpu\":{\"value\":\"1\"}},\"attributes\":{\"memory\":{\"int\":%" PRIu32
		    "},\"model\":{\"string\":",
		    i > 0 ? "," : "", i, node->memory_mib);
		quote(b, node->model);
		bytes_put(b, "}}}");
	}
	bytes_put(b, "]}}");
	make(m, from, "ResourceSlice", node->name);
}

/* Thousandths where they are exact. */
static void put_parts(struct bytes *b, uint32_t parts)
{
	if (parts == GPU_WHOLE)
		bytes_put(b, "\"1\"");
	else if (parts % 1000000 == 0)
		put(b, "\"%" PRIu32 "m\"", parts / 1000000);
	else
		put(b, "\"%" PRIu32 "n\"", parts);
}

static void put_selector(struct bytes *b, const char *expression)
{
	bytes_put(b, "{\"cel\":{\"expression\":");
	quote(b, expression);
	bytes_put(b, "}}");
}

/* What is asked for on GPUs with that much memory; 0: on all. */
static void put_request(struct bytes *b, const struct gpu_ask *ask, uint32_t memory_mib)
{
	struct bytes models = { 0 };
	char *text;

	put(b,
	    "\"deviceClassName\":\"" GPU_SHARE "\",\"allocationMode\":\"ExactCount\",\"count\":%" PRIu32
	    ",\"capacity\":{\"requests\":{\"gpu\":",
	    ask->count);
	put_parts(b, gpu_parts_on(ask, memory_mib));
	bytes_put(b, "}},\"selectors\":[");
	if (memory_mib > 0) {
		text = ctl_print("device.attributes['" DRIVER "'].memory == %" PRIu32, memory_mib);
		put_selector(b, text);
		free(text);
	}
	for (uint32_t i = 0; i < ask->models_n; i++)
		put(&models, "%s'%s'", i > 0 ? ", " : "", ask->models[i]);
	if (ask->models_n > 0) {
		text =
			ctl_print("device.attributes['" DRIVER "'].model in [%.*s]", (int)models.n, models.at);
		bytes_put(b, memory_mib > 0 ? "," : "");
		put_selector(b, text);
		free(text);
	}
	bytes_put(b, "]");
	bytes_free(&models);
}

/* An amount of memory is another part of GPUs of another size: an alternative each, the smallest
 * GPUs first. */
static void put_spec(const struct making *m, struct bytes *b, const struct gpu_ask *ask)
{
	uint32_t first = 0;

	bytes_put(b, "\"devices\":{\"requests\":[{\"name\":\"gpu\",");
	while (first < m->sizes_n && m->sizes[first] < ask->memory_mib)
		first++;
	if (ask->parts > 0 || m->sizes_n - first <= 1) {
		bytes_put(b, "\"exactly\":{");
		/* 1 MiB: no GPU has so little. */
		put_request(b, ask, ask->parts > 0 ? 0 : first < m->sizes_n ? m->sizes[first] : 1);
		bytes_put(b, "}");
	} else {
		bytes_put(b, "\"firstAvailable\":[");
		for (uint32_t i = first; i < m->sizes_n; i++) {
			put(b, "%s{\"name\":\"of-%" PRIu32 "mib\",", i > first ? "," : "", m->sizes[i]);
			put_request(b, ask, m->sizes[i]);
			bytes_put(b, "}");
		}
		bytes_put(b, "]");
	}
	bytes_put(b, "}]}}");
}

/* The pod names its claim, or one that does not exist and that says what is wrong. */
static void name_claim(struct making *m, const struct gpu_pod *pod)
{
	const struct object o = object_at(m, pod->object);
	struct arena *arena = &m->scratch;
	struct members all = members_of(arena, o.json);
	struct members spec = members_of(arena, members_get(&all, "spec"));
	const struct text list = members_get(&spec, "resourceClaims");
	struct bytes b = { 0 };

	if (list.at != NULL && list.at[0] != '[')
		return; /* decode/ reports what is wrong with the pod */
	bytes_put(&b, "[");
	if (list.at != NULL &&
	    json_blank(list.at + 1, list.at + list.bytes) != list.at + list.bytes - 1) {
		bytes_add(&b, list.at + 1, list.bytes - 2);
		bytes_put(&b, ",");
	}
	bytes_put(&b, "{\"name\":\"" GPU_SHARE "\",\"resourceClaimName\":");
	if (pod->wrong != NULL)
		quote(&b, arena_printf(arena, GPU_SHARE ": %s", pod->wrong));
	else
		quote_named(&b, o.name);
	bytes_put(&b, "}]");
	members_set(arena, &spec, "resourceClaims", (struct text){ b.at, b.n });
	members_set(arena, &all, "spec", members_print(arena, &spec));
	files_replace(m->files, pod->object, members_print(arena, &all));
	bytes_free(&b);
	arena_reset(arena);
}

static void make_claim(struct making *m, const struct gpu_pod *pod)
{
	const struct object o = object_at(m, pod->object);

	head(&m->json, "ResourceClaim", o.name, o.namespace);
	put_spec(m, &m->json, &pod->ask);
	bytes_put(&m->json, "}");
	make(m, &o, "ResourceClaim", o.name);
}

static void put_result(struct bytes *b, const struct gpu_node *node, uint32_t gpu, uint32_t parts,
                       uint64_t share)
{
	put(b,
	    "{\"request\":\"gpu\",\"driver\":\"" DRIVER "\",\"device\":\"gpu-%" PRIu32 "\",\"pool\":",
	    gpu);
	quote(b, node->name);
	put(b,
	    ",\"shareID\":\"%08" PRIx64 "-0000-4000-8000-%012" PRIx32
	    "\",\"consumedCapacity\":{\"gpu\":",
	    share, gpu);
	put_parts(b, parts);
	bytes_put(b, "}}");
}

/* The claim of a bound pod. */
static void make_taken(struct making *m, const struct gpu_pod *pod)
{
	const struct object o = object_at(m, pod->object);
	struct gpu_node *node = gpu_nodes_find(&m->nodes, pod->node);
	struct bytes *b = &m->json;
	uint32_t gpus[GPU_COUNT_MAX], n, parts;

	n = node != NULL ? gpu_node_take(&m->arena, node, o.json, &pod->ask, gpus, &parts) : 0;
	if (n == 0)
		return;
	head(b, "ResourceClaim", o.name, o.namespace);
	bytes_put(b, "\"devices\":{\"requests\":[{\"name\":\"gpu\",\"exactly\":{");
	put_request(b, &pod->ask, 0);
	bytes_put(b, "}}]}},\"status\":{\"allocation\":{\"devices\":{\"results\":[");
	for (uint32_t i = 0; i < n; i++) {
		bytes_put(b, i > 0 ? "," : "");
		put_result(b, node, gpus[i], parts, (uint64_t)pod->object);
	}
	bytes_put(b, "]},\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
	             "\"metadata.name\",\"operator\":\"In\",\"values\":[");
	quote(b, node->name);
	bytes_put(b, "]}]}]}},\"reservedFor\":[{\"resource\":\"pods\",\"name\":");
	quote(b, o.name);
	bytes_put(b, "}]}}");
	make(m, &o, "ResourceClaim", o.name);
}

static void make_devices(struct making *m)
{
	size_t n, objects_n;

	files_objects(m->files, &objects_n);
	for (size_t i = 0; i < objects_n; i++) {
		const struct object o = object_at(m, i);
		const struct gpu_node *node =
			strcmp(o.kind, "Node") == 0 ? gpu_nodes_find(&m->nodes, text_of(o.name)) : NULL;

		if (node != NULL)
			make_slice(m, &o, node);
	}
	make_class(m, &(struct object){ .file = "", .namespace = "", .item = -1 });
	n = m->pods_n;
	for (int place = GPU_SAID; place < GPU_PLACES; place++)
		for (size_t i = 0; i < n; i++)
			if (m->pods[i].node.bytes > 0 && m->pods[i].place == (enum gpu_place)place)
				make_taken(m, &m->pods[i]);
}

static void make_all(struct making *m, bool devices)
{
	m->nodes = gpu_nodes_of(&m->arena, m->files);
	for (size_t i = 0; i < m->nodes.n; i++)
		add_size(m, m->nodes.at[i].memory_mib);
	if (devices)
		make_devices(m);
	for (size_t i = 0; i < m->pods_n; i++) {
		const struct gpu_pod *pod = &m->pods[i];

		if (pod->node.bytes > 0 || (!devices && !pod->ask.shares))
			continue;
		name_claim(m, pod);
		if (devices && pod->wrong == NULL)
			make_claim(m, pod);
	}
}

void gpu_shares(struct files *files, bool devices)
{
	struct making m = { .files = files };

	read_pods(&m);
	if (m.shares > 0) {
		make_all(&m, devices);
		put(&m.notes, "shares of GPUs: %zu pod%s ask for %s by annotations\n", m.shares,
		    m.shares == 1 ? "" : "s", m.shares == 1 ? "one" : "some");
		bytes_add(&m.notes, "", 1);
		files_note(files, text_of(m.notes.at));
	}
	gpu_nodes_free(&m.nodes);
	free(m.pods);
	bytes_free(&m.notes);
	bytes_free(&m.json);
	arena_free(&m.arena);
	arena_free(&m.scratch);
}
