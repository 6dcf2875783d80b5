/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/gpus/nodes.h"

#include "ctl/objects/members.h"
#include "frontend/json/json.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

#define GPU_INDEX "alibabacloud.com/gpu-index"
/* KAI: the label of pods on one GPU, whose pod that reserves it has it as well; with "/" and the
 * group behind it where a pod is on several. */
#define GPU_GROUP "runai-gpu-group"

/* A text of metadata.labels or metadata.annotations, whose names may have dots. */
static struct text meta_text(struct arena *arena, struct text object, const char *map,
                             const char *name)
{
	const struct members m = members_of(arena, members_find(arena, object, map));

	return raw_text(arena, members_get(&m, name));
}

static struct text label(struct arena *arena, struct text object, const char *name)
{
	return meta_text(arena, object, "metadata.labels", name);
}

static bool node_read(struct arena *arena, const struct object *object, struct gpu_node *out)
{
	struct text resources = members_find(arena, object->json, "status.allocatable"), model;

	if (resources.at == NULL)
		resources = members_find(arena, object->json, "status.capacity");
	*out = (struct gpu_node){ .name = object->name,
		                      .object = object->json,
		                      .gpus = gpu_count_of(arena, resources) };
	if (out->gpus == 0)
		return false;
	if (!gpu_number(arena_copy(arena, label(arena, object->json, "nvidia.com/gpu.memory")),
	                UINT32_MAX, &out->memory_mib))
		out->memory_mib = 0;
	model = label(arena, object->json, "alibabacloud.com/gpu-card-model");
	if (model.bytes == 0)
		model = label(arena, object->json, "nvidia.com/gpu.product");
	out->model = arena_copy(arena, model);
	for (uint32_t i = 0; i < out->gpus; i++)
		out->left[i] = GPU_WHOLE;
	return true;
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct gpu_node *)a)->name, ((const struct gpu_node *)b)->name);
}

struct gpu_nodes gpu_nodes_of(struct arena *arena, const struct files *files)
{
	struct gpu_nodes nodes = { 0 };
	size_t n, cap = 0;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; i < n; i++) {
		struct gpu_node node;

		if (strcmp(objects[i].kind, "Node") != 0 || strcmp(objects[i].api_version, "v1") != 0 ||
		    !node_read(arena, &objects[i], &node))
			continue;
		nodes.at = must_reach(nodes.at, &cap, nodes.n, 16, sizeof(*nodes.at));
		nodes.at[nodes.n++] = node;
	}
	if (nodes.n > 0)
		qsort(nodes.at, nodes.n, sizeof(*nodes.at), compare_nodes);
	return nodes;
}

void gpu_nodes_free(struct gpu_nodes *nodes)
{
	free(nodes->at);
	*nodes = (struct gpu_nodes){ 0 };
}

static int compare_name(const void *name, const void *node)
{
	return text_order(*(const struct text *)name, text_of(((const struct gpu_node *)node)->name));
}

struct gpu_node *gpu_nodes_find(const struct gpu_nodes *nodes, struct text name)
{
	return nodes->n > 0 ? bsearch(&name, nodes->at, nodes->n, sizeof(*nodes->at), compare_name)
	                    : NULL;
}

uint32_t gpu_parts_on(const struct gpu_ask *ask, uint32_t memory_mib)
{
	if (ask->parts > 0)
		return ask->parts;
	if (ask->memory_mib >= memory_mib)
		return GPU_WHOLE;
	return (uint32_t)(((uint64_t)ask->memory_mib * GPU_WHOLE + memory_mib - 1) / memory_mib);
}

/* GPUs that a pod says it is on. */
struct said {
	uint32_t gpus[GPU_COUNT_MAX];
	const char *groups[GPU_COUNT_MAX];
	uint32_t gpus_n, groups_n;
};

/* "2" or "2-3-4". */
static void read_index(struct arena *arena, struct text pod, struct said *out)
{
	char *rest = arena_copy(arena, meta_text(arena, pod, "metadata.annotations", GPU_INDEX)), *one;

	while ((one = strtok_r(rest, "-", &rest)) != NULL && out->gpus_n < GPU_COUNT_MAX)
		if (gpu_number(one, GPU_COUNT_MAX - 1, &out->gpus[out->gpus_n]))
			out->gpus_n++;
}

static void read_groups(struct arena *arena, struct text pod, struct said *out)
{
	const struct members m = members_of(arena, members_find(arena, pod, "metadata.labels"));

	for (size_t i = 0; i < m.n && out->groups_n < GPU_COUNT_MAX; i++)
		if (text_is(m.at[i].name, GPU_GROUP) || text_starts(m.at[i].name, GPU_GROUP "/"))
			out->groups[out->groups_n++] = arena_copy(arena, raw_text(arena, m.at[i].raw));
}

static struct said said_of(struct arena *arena, struct text pod)
{
	struct said s = { 0 };

	read_index(arena, pod, &s);
	read_groups(arena, pod, &s);
	return s;
}

enum gpu_place gpu_place_of(struct arena *arena, struct text pod, const struct gpu_ask *ask)
{
	const struct said s = said_of(arena, pod);

	return s.gpus_n > 0 || s.groups_n > 0           ? GPU_SAID
	       : ask->shares && ask->parts != GPU_WHOLE ? GPU_SHARED
	                                                : GPU_ALONE;
}

bool gpu_holds_for_others(struct arena *arena, struct text pod, const struct gpu_ask *ask)
{
	return !ask->shares && ask->count > 0 && label(arena, pod, GPU_GROUP).bytes > 0;
}

/* The GPU of a group: when it is seen first, the first GPU that is not in use.  The node's number
 * of GPUs: there is none. */
static uint32_t gpu_of_group(struct gpu_node *node, const char *group)
{
	uint32_t unused = node->gpus;

	for (uint32_t i = node->gpus; i-- > 0;) {
		if (node->groups[i] != NULL && strcmp(node->groups[i], group) == 0)
			return i;
		if (node->groups[i] == NULL && node->left[i] == GPU_WHOLE)
			unused = i;
	}
	if (unused < node->gpus)
		node->groups[unused] = group;
	return unused;
}

static void add(struct gpu_node *node, uint32_t gpu, uint32_t parts, bool had[], uint32_t *n)
{
	if (gpu >= node->gpus || had[gpu])
		return;
	had[gpu] = true;
	node->left[gpu] -= node->left[gpu] < parts ? node->left[gpu] : parts;
	++*n;
}

uint32_t gpu_node_take(struct arena *arena, struct gpu_node *node, struct text pod,
                       const struct gpu_ask *ask, uint32_t gpus[GPU_COUNT_MAX], uint32_t *parts)
{
	const struct said s = said_of(arena, pod);
	bool had[GPU_COUNT_MAX] = { 0 };
	uint32_t n = 0;

	*parts = gpu_parts_on(ask, node->memory_mib);
	for (uint32_t i = 0; i < s.gpus_n && n < ask->count; i++)
		add(node, s.gpus[i], *parts, had, &n);
	for (uint32_t i = 0; i < s.groups_n && n < ask->count; i++)
		add(node, gpu_of_group(node, s.groups[i]), *parts, had, &n);
	for (uint32_t i = 0; i < node->gpus && n < ask->count; i++)
		if (node->left[i] >= *parts)
			add(node, i, *parts, had, &n);
	n = 0;
	for (uint32_t i = 0; i < node->gpus; i++)
		if (had[i])
			gpus[n++] = i;
	return n;
}
