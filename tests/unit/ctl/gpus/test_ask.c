/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations for shares of GPUs that anybody may write: whatever they are, what is read of them is
 * in bounds, or the message is plain text. */
#include "ctl/gpus/ask.h"

#include "frontend/base/bytes.h"
#include "tests/unit/test.h"

static const char *const keys[] = {
	"gpu-fraction",
	"gpu-memory",
	"gpu-fraction-num-devices",
	"alibabacloud.com/gpu-milli",
	"alibabacloud.com/gpu-count",
	"alibabacloud.com/gpu-card-model",
};

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33) % below;
}

static void put_value(struct bytes *b)
{
	static const char *const parts[] = {
		"0", "1", "9",       "5",   "0.", ".",    "|", "T4",   "-",  "e3", "m",    "Gi",
		"'", " ", "\\u001b", "\\n", "€",  "\xff", "]", "1000", "12", "64", "\\\"", "\\u0000"
	};
	const uint32_t n = draw(20) == 0 ? draw(200) : draw(4);

	if (draw(20) == 0) {
		bytes_put(b, draw(2) == 0 ? "null" : "{\"a\":[1]}");
		return;
	}
	bytes_put(b, "\"");
	for (uint32_t i = 0; i < n; i++)
		bytes_put(b, parts[draw(sizeof(parts) / sizeof(parts[0]))]);
	bytes_put(b, "\"");
}

static void put_pod(struct bytes *b)
{
	b->n = 0;
	bytes_put(b, "{\"metadata\":{\"annotations\":{\"x\":\"\"");
	for (uint32_t n = draw(4); n > 0; n--) {
		bytes_put(b, ",\"");
		bytes_put(b, keys[draw(6)]);
		bytes_put(b, "\":");
		put_value(b);
	}
	bytes_put(b, "}},\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":");
	if (draw(4) == 0)
		put_value(b);
	else
		bytes_put(b, "\"0\"");
	bytes_put(b, "}}}]}}");
	if (draw(50) == 0)
		b->n -= draw((uint32_t)b->n);
	bytes_add(b, "", 1);
	b->n--;
}

static void check_ask(const struct gpu_ask *ask, const char *pod)
{
	cr_assert(ask->count <= GPU_COUNT_MAX && ask->parts <= GPU_WHOLE, "%s", pod);
	cr_assert(ask->count == 0 || ask->parts > 0 || ask->memory_mib > 0, "%s", pod);
	cr_assert(ask->memory_mib <= 100000000 && ask->models_n <= GPU_MODELS_MAX, "%s", pod);
	for (uint32_t i = 0; i < ask->models_n; i++) {
		const size_t n = strlen(ask->models[i]);

		cr_assert(n > 0 && n < 64 && strpbrk(ask->models[i], "'|\\ ]\"\n\x1b") == NULL, "%s", pod);
	}
}

static void check_why(const char *why, const char *pod)
{
	cr_assert(why != NULL && strncmp(why, "metadata.annotations[\"", 22) == 0, "%s", pod);
	cr_assert(strlen(why) < 400, "%s", pod);
	for (const char *p = why; *p != '\0'; p++)
		cr_assert((unsigned char)*p >= 0x20 && *p != '\xff', "%s", pod);
}

Test(ask, any_annotations_are_read_in_bounds)
{
	struct arena arena = { 0 };
	struct bytes pod = { 0 };
	uint32_t good = 0, wrong = 0;

	for (uint32_t i = 0; i < 50000; i++) {
		struct gpu_ask ask;
		const char *why = NULL;

		put_pod(&pod);
		if (gpu_ask_read(&arena, (struct text){ pod.at, pod.n }, &ask, &why)) {
			check_ask(&ask, pod.at);
			good += ask.shares;
		} else {
			check_why(why, pod.at);
			wrong++;
		}
		arena_reset(&arena);
	}
	cr_assert(good > 1000 && wrong > 10000, "%u %u", good, wrong);
	arena_free(&arena);
	bytes_free(&pod);
}
