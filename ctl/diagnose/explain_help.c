/* SPDX-License-Identifier: Apache-2.0 */
/* What would let a gang start: each change is tried with a placement of its own. */
#include "ctl/diagnose/explain_impl.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES_MAX 4096u
#define FIRST_PRIORITY 2000000000 /* above the largest value of a user's PriorityClass */

static void progress(const char *what)
{
	static unsigned n;
	const char *term = getenv("TERM");

	/* A terminal without escape sequences could not clear the line again. */
	if (!isatty(STDERR_FILENO) || term == NULL || strcmp(term, "dumb") == 0)
		return;
	fprintf(stderr, "\r\033[K%s", what);
	if (*what)
		fprintf(stderr, " (%u tries so far)", n++);
}

struct kind {
	const struct object *like; /* the first of them */
	char *traits;
	uint32_t nodes;
};

/* The fields of an empty node that placement depends on, without its name. NULL: it can't be
 * parsed. */
static char *traits_of(const struct object *node)
{
	static const char *const spec_parts[] = { "taints", "unschedulable" };
	cJSON *o = cJSON_ParseWithLength(node->json.at, node->json.bytes),
		  *traits = cJSON_CreateObject();
	cJSON *part, *status;
	cJSON *labels = cJSON_DetachItemFromObjectCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(o, "metadata"), "labels");
	char *text;

	if (o == NULL) {
		cJSON_Delete(traits);
		return NULL;
	}
	cJSON_DeleteItemFromObjectCaseSensitive(labels, "kubernetes.io/hostname");
	if (labels != NULL)
		cJSON_AddItemToObject(traits, "labels", labels);
	status = cJSON_GetObjectItemCaseSensitive(o, "status");
	part = cJSON_DetachItemFromObjectCaseSensitive(status, "allocatable");
	if (part == NULL) /* absent: equal to the capacity */
		part = cJSON_DetachItemFromObjectCaseSensitive(status, "capacity");
	if (part != NULL)
		cJSON_AddItemToObject(traits, "allocatable", part);
	for (size_t i = 0; i < 2; i++) {
		part = cJSON_DetachItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "spec"),
		                                               spec_parts[i]);
		if (part != NULL)
			cJSON_AddItemToObject(traits, spec_parts[i], part);
	}
	text = cJSON_PrintUnformatted(traits);
	cJSON_Delete(traits);
	cJSON_Delete(o);
	if (text == NULL)
		fatal_memory();
	return text;
}

static int most_first(const void *a, const void *b)
{
	const struct kind *left = a, *right = b;

	if (left->nodes != right->nodes)
		return left->nodes > right->nodes ? -1 : 1;
	return strcmp(left->like->name, right->like->name);
}

static struct kind *kinds_find(const struct files *files, size_t *n)
{
	size_t objects_n;
	const struct object *objects = files_objects(files, &objects_n);
	struct kind *kinds = NULL;

	*n = 0;
	for (size_t i = 0; i < objects_n; i++) {
		char *traits;
		size_t k = 0;

		if (strcmp(objects[i].kind, "Node") != 0)
			continue;
		traits = traits_of(&objects[i]);
		if (traits == NULL)
			continue;
		while (k < *n && strcmp(kinds[k].traits, traits) != 0)
			k++;
		if (k == *n) {
			kinds = must_grow(kinds, (k + 1) * sizeof(*kinds));
			kinds[(*n)++] = (struct kind){ .like = &objects[i], .traits = traits };
			traits = NULL;
		}
		kinds[k].nodes++;
		free(traits);
	}
	if (*n > 0)
		qsort(kinds, *n, sizeof(*kinds), most_first);
	return kinds;
}

static bool starts_with(const struct explanation *x, const struct object *like, uint32_t nodes)
{
	struct change change = { .like = like, .nodes = nodes };

	progress("trying more nodes");
	return trial_starts(x->config, &change, x->gang);
}

/* With that many each pod that has no node yet could have one for itself. */
static uint32_t nodes_bound(const struct explanation *x)
{
	const size_t pending = x->now.answers->placements_n;

	return pending < NODES_MAX ? (uint32_t)pending : NODES_MAX;
}

/* How many more nodes of the class let it start; 0: not even x->nodes_tried. As a rule one less
 * does not; half as many never do. */
static uint32_t nodes_needed(const struct explanation *x, const struct object *like)
{
	const uint32_t most = x->nodes_tried;
	uint32_t low = 0, high = x->result->members > 0 ? x->result->members : 1;

	high = high < most ? high : most;
	if (!starts_with(x, like, high)) {
		/* Other gangs take some of them. */
		if (high == most || !starts_with(x, like, most))
			return 0;
		do {
			low = high;
			high = high < most / 2 ? high * 2 : most;
		} while (high < most && !starts_with(x, like, high));
	}
	for (;;) {
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;

			if (starts_with(x, like, middle))
				high = middle;
			else
				low = middle;
		}
		if (high / 2 == 0 || high / 2 == low || !starts_with(x, like, high / 2))
			return high;
		high /= 2;
		low = 0;
	}
}

static void help_by_nodes(struct explanation *x)
{
	size_t n;
	struct kind *kinds = kinds_find(x->config->files, &n);

	x->kinds_cut = n > KINDS_MAX;
	x->nodes_tried = nodes_bound(x);
	for (size_t i = 0; i < n && i < KINDS_MAX && x->helps_n < HELPS_MAX; i++) {
		uint32_t nodes = nodes_needed(x, kinds[i].like);

		if (nodes > 0)
			x->helps[x->helps_n++] = (struct help_nodes){ kinds[i].like, nodes, kinds[i].nodes };
	}
	for (size_t i = 0; i < n; i++)
		free(kinds[i].traits);
	free(kinds);
}

static void help_by_turn(struct explanation *x)
{
	struct change change = { .favoured = x->gang, .priority = FIRST_PRIORITY };
	const struct gang_result *g;
	char error[512];

	progress("trying it before all others");
	if (!world_make(x->config, &change, &x->first, error, sizeof(error))) {
		world_free(&x->first);
		return;
	}
	g = world_gang(&x->first, x->gang);
	x->starts_first = g != NULL && g->state == GANG_PLACED;
	if (!x->starts_first)
		world_free(&x->first);
}

static int ascending(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

static void help_by_time(struct explanation *x)
{
	size_t n, ends_n = 0, low, high;
	const struct object *objects = files_objects(x->config->files, &n);
	int64_t *ends = must_array(n + 1, sizeof(*ends));

	for (size_t i = 0; i < n; i++) {
		int64_t end = strcmp(objects[i].kind, "Pod") == 0 ? pod_known_end(&objects[i]) : 0;

		if (end > 0)
			ends[ends_n++] = end;
	}
	qsort(ends, ends_n, sizeof(*ends), ascending);
	progress("trying it when others have ended");
	if (ends_n > 0 &&
	    trial_starts(x->config, &(struct change){ .ended_s = ends[ends_n - 1] }, x->gang)) {
		for (low = 0, high = ends_n - 1; low < high;) {
			size_t middle = low + (high - low) / 2;

			if (trial_starts(x->config, &(struct change){ .ended_s = ends[middle] }, x->gang))
				high = middle;
			else
				low = middle + 1;
		}
		x->starts_by_s = ends[high];
		for (size_t i = 0; i < ends_n && ends[i] <= x->starts_by_s; i++)
			x->ended++;
	}
	free(ends);
}

struct runner {
	const struct object *pod;
	int64_t since;
};

static int longest_first(const void *a, const void *b)
{
	const struct runner *left = a, *right = b;

	if (left->since != right->since)
		return left->since < right->since ? -1 : 1;
	return left->pod < right->pod ? -1 : left->pod > right->pod;
}

static int by_address(const void *a, const void *b)
{
	const struct object *left = *(const struct object *const *)a;
	const struct object *right = *(const struct object *const *)b;

	return left < right ? -1 : left > right;
}

/* True if it starts when the first n of these have ended. */
static bool starts_without(const struct explanation *x, size_t n)
{
	const struct object **ended = must_array(n + 1, sizeof(*ended));
	struct change change = { .ended = ended, .ended_n = n };
	bool starts;

	memcpy(ended, x->ends, n * sizeof(*ended));
	qsort(ended, n, sizeof(*ended), by_address);
	progress("trying it when others have ended");
	starts = trial_starts(x->config, &change, x->gang);
	free(ended);
	return starts;
}

static void help_by_ends(struct explanation *x)
{
	size_t n, low = 0, high;
	const struct object *objects = files_objects(x->config->files, &n);
	struct runner *runners = must_array(n + 1, sizeof(*runners));

	x->ends = must_array(n + 1, sizeof(*x->ends));
	for (size_t i = 0; i < n; i++) {
		struct runner *r = &runners[x->ends_all];

		r->pod = &objects[i];
		if (strcmp(objects[i].kind, "Pod") == 0 && pod_may_end(r->pod, &r->since))
			x->ends_all++;
	}
	if (x->ends_all > 0)
		qsort(runners, x->ends_all, sizeof(*runners), longest_first);
	for (size_t i = 0; i < x->ends_all; i++)
		x->ends[i] = runners[i].pod;
	free(runners);
	high = x->ends_all;
	if (high == 0 || !starts_without(x, high))
		return;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (starts_without(x, middle))
			high = middle;
		else
			low = middle;
	}
	x->ends_n = high;
}

void explain_help(struct explanation *x)
{
	help_by_turn(x);
	help_by_time(x);
	help_by_ends(x);
	help_by_nodes(x);
	x->helps_tried = true;
	progress("");
}
