/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/gpus/ask.h"

#include "ctl/objects/members.h"
#include "ctl/term/ctl.h"
#include "frontend/json/json.h"
#include "frontend/json/quantity.h"

#include <stdio.h>
#include <string.h>

#define ALIBABA "alibabacloud.com/gpu-"
#define VALUE_BYTES_MAX 64 /* of a value: longer ones are none */
#define MEMORY_MIB_MAX 100000000u

/* Resources of a pod or node that count whole GPUs; the first one that is there counts. */
static const char *const gpu_resources[2] = { "nvidia.com/gpu", ALIBABA "count" };

enum { FRACTION, MEMORY, DEVICES, MILLI, COUNT, MODEL, KEYS };

static const char *const keys[KEYS] = {
	[FRACTION] = "gpu-fraction", [MEMORY] = "gpu-memory",   [DEVICES] = "gpu-fraction-num-devices",
	[MILLI] = ALIBABA "milli",   [COUNT] = ALIBABA "count", [MODEL] = ALIBABA "card-model",
};

/* Values of the annotations; NULL: absent or empty. */
struct values {
	const char *at[KEYS];
	bool no_text[KEYS]; /* a number, ...: as it is written */
};

struct reading {
	struct arena *arena;
	struct values values;
	struct gpu_ask *out;
	const char **why;
};

bool gpu_ask_maybe(struct text pod)
{
	static const char *const parts[] = { "\"gpu-", "/gpu-" };

	for (size_t i = 0; i < 2; i++)
		if (memmem(pod.at, pod.bytes, parts[i], strlen(parts[i])) != NULL)
			return true;
	return false;
}

static struct values values_of(struct arena *arena, struct text pod)
{
	const struct text map = members_find(arena, pod, "metadata.annotations");
	struct values v = { 0 };
	struct text name, raw;
	struct json j;

	if (map.at == NULL || map.at[0] != '{')
		return v;
	json_begin(&j, map.at, map.bytes, arena);
	if (!json_object(&j))
		return v;
	while (json_key(&j, &name)) {
		if (!json_raw(&j, &raw))
			break;
		for (int i = 0; i < KEYS; i++)
			if (text_is(name, keys[i])) {
				const struct text value = raw.at[0] == '"' ? raw_text(arena, raw) : raw;

				v.no_text[i] = raw.at[0] != '"';
				v.at[i] =
					value.bytes > 0 && !text_is(raw, "null") ? arena_copy(arena, value) : NULL;
			}
	}
	return v;
}

static bool fail(const struct reading *r, int key, const char *what)
{
	char value[VALUE_BYTES_MAX + 1];

	snprintf(value, sizeof(value), "%s", r->values.at[key]);
	ctl_plain(value);
	*r->why = arena_printf(r->arena, "metadata.annotations[\"%s\"]: \"%s%s\": %s", keys[key], value,
	                       strlen(r->values.at[key]) > VALUE_BYTES_MAX ? "..." : "", what);
	return false;
}

bool gpu_number(const char *text, uint32_t most, uint32_t *out)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; text[i] >= '0' && text[i] <= '9' && i < 10; i++)
		n = n * 10 + (uint64_t)(text[i] - '0');
	*out = (uint32_t)n;
	return i > 0 && text[i] == '\0' && n <= most;
}

static bool number(const struct reading *r, int key, uint32_t least, uint32_t most, uint32_t *out)
{
	if (gpu_number(r->values.at[key], most, out) && *out >= least)
		return true;
	return fail(r, key, arena_printf(r->arena, "not a whole number from %u to %u", least, most));
}

/* "0.5" as parts: digits alone, since a quantity may have a suffix. What is below a part is cut. */
static bool fraction(const struct reading *r, uint32_t *out)
{
	const char *text = r->values.at[FRACTION], *digits = text + strspn(text, "0");
	uint32_t n = 0;
	size_t i = 0;

	if (*digits == '.')
		for (digits++; digits[i] >= '0' && digits[i] <= '9'; i++)
			n = i < 9 ? n * 10 + (uint32_t)(digits[i] - '0') : n;
	for (size_t k = i; k < 9; k++)
		n *= 10;
	*out = n;
	if (i > 0 && digits[i] == '\0' && n > 0)
		return true;
	return fail(r, FRACTION, "not a number above 0 and below 1");
}

static bool read_kai(const struct reading *r)
{
	struct gpu_ask *out = r->out;

	out->count = 1;
	if (r->values.at[FRACTION] == NULL && r->values.at[MEMORY] == NULL)
		return fail(r, DEVICES, "beside neither gpu-fraction nor gpu-memory");
	if (r->values.at[FRACTION] != NULL && r->values.at[MEMORY] != NULL)
		return fail(r, MEMORY, "beside gpu-fraction");
	if (r->values.at[DEVICES] != NULL && !number(r, DEVICES, 1, GPU_COUNT_MAX, &out->count))
		return false;
	return r->values.at[FRACTION] != NULL ? fraction(r, &out->parts)
	                                      : number(r, MEMORY, 1, MEMORY_MIB_MAX, &out->memory_mib);
}

/* Names of models with "|" between; they are labels, and nothing else gets into a selector. */
static bool read_models(const struct reading *r)
{
	const char *at = r->values.at[MODEL];

	while (*at != '\0') {
		const size_t n = strcspn(at, "|");

		if (n == 0 || n > 63 || r->out->models_n == GPU_MODELS_MAX ||
		    strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") < n)
			return fail(r, MODEL, "not up to 16 values of a label with | between");
		r->out->models[r->out->models_n++] = arena_copy(r->arena, (struct text){ at, n });
		at += n + (at[n] == '|');
	}
	return true;
}

static bool read_alibaba(const struct reading *r)
{
	struct gpu_ask *out = r->out;
	uint32_t milli = 1000;

	out->count = 1;
	if ((r->values.at[MILLI] != NULL && !number(r, MILLI, 0, 1000, &milli)) ||
	    (r->values.at[COUNT] != NULL && !number(r, COUNT, 0, GPU_COUNT_MAX, &out->count)))
		return false;
	if (milli == 0 || out->count == 0) {
		out->count = 0;
		return true;
	}
	if (out->count > 1 && milli < 1000)
		return fail(r, MILLI, "a part of more than one GPU (alibabacloud.com/gpu-count)");
	out->parts = milli * (GPU_WHOLE / 1000);
	return r->values.at[MODEL] == NULL || read_models(r);
}

/* Amounts of a resource are text or a number. */
static bool amount_of(struct arena *arena, struct text raw, nano_t *out)
{
	const struct text value = raw.at != NULL && raw.at[0] == '"' ? raw_text(arena, raw) : raw;

	return raw.at != NULL && quantity_parse(value.at, value.bytes, out) == 0 && *out > 0;
}

uint32_t gpu_count_of(struct arena *arena, struct text resources)
{
	const struct members m = members_of(arena, resources);
	nano_t amount;

	for (size_t i = 0; i < 2; i++)
		if (amount_of(arena, members_get(&m, gpu_resources[i]), &amount)) {
			const int64_t n = quantity_value(amount);

			return n > GPU_COUNT_MAX ? GPU_COUNT_MAX : (uint32_t)n;
		}
	return 0;
}

/* Of one container; a resource that is only limited is asked for as well. */
static uint32_t container_gpus(struct arena *arena, struct text container)
{
	const uint32_t n = gpu_count_of(arena, members_find(arena, container, "resources.requests"));

	return n > 0 ? n : gpu_count_of(arena, members_find(arena, container, "resources.limits"));
}

/* As kube-scheduler adds up a pod's requests: containers and sidecars together, or what an init
 * container asks for beside the sidecars that started before it. */
static uint32_t whole_gpus(struct arena *arena, struct text pod)
{
	static const char *const lists[] = { "spec.initContainers", "spec.containers" };
	uint32_t sum = 0, most = 0;
	struct text one;
	struct json j;

	for (size_t i = 0; i < 2; i++) {
		const struct text list = members_find(arena, pod, lists[i]);

		if (list.at == NULL || list.at[0] != '[')
			continue;
		json_begin(&j, list.at, list.bytes, arena);
		for (bool more = json_array(&j); more && json_item(&j) && json_raw(&j, &one);) {
			const uint32_t n = container_gpus(arena, one);
			const struct text policy = raw_text(arena, members_find(arena, one, "restartPolicy"));

			most = sum + n > most ? sum + n : most;
			sum += i == 1 || text_is(policy, "Always") ? n : 0;
			sum = sum > GPU_COUNT_MAX ? GPU_COUNT_MAX : sum;
		}
	}
	return most > GPU_COUNT_MAX ? GPU_COUNT_MAX : most;
}

bool gpu_ask_read(struct arena *arena, struct text pod, struct gpu_ask *out, const char **why)
{
	struct reading r = { arena, values_of(arena, pod), out, why };
	const char *const *v = r.values.at;
	const bool kai = v[FRACTION] != NULL || v[MEMORY] != NULL || v[DEVICES] != NULL;
	const bool alibaba = v[MILLI] != NULL || v[COUNT] != NULL;
	const uint32_t whole = whole_gpus(arena, pod);
	const int key = v[FRACTION] != NULL ? FRACTION : v[MEMORY] != NULL ? MEMORY : DEVICES;

	*out = (struct gpu_ask){ .count = whole, .parts = GPU_WHOLE };
	if (!kai && !alibaba)
		return true;
	*out = (struct gpu_ask){ .shares = true };
	for (int i = 0; i < KEYS; i++)
		if (v[i] != NULL && r.values.no_text[i])
			return fail(&r, i, "not a string");
	if (kai && alibaba)
		return fail(&r, key, "beside annotations of alibabacloud.com");
	if (!(kai ? read_kai(&r) : read_alibaba(&r)))
		return false;
	if (whole > 0 && out->count > 0)
		return fail(&r,
		            kai                ? key
		            : v[MILLI] != NULL ? MILLI
		                               : COUNT,
		            "beside whole GPUs in the resources of a container");
	return true;
}
