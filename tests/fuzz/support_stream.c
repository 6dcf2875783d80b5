/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/support_stream.h"

#include "ctl/objects/files.h"
#include "frontend/model/model.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support_limits.h"

const struct limits stream_limits =
	LIMITS_WITH(.nodes = STREAM_NODES, .pods = STREAM_PODS, .gangs = STREAM_GANGS,
                .shapes = STREAM_SHAPES, .names = STREAM_NAMES, .resources = STREAM_RESOURCES,
                .name_bytes = 16384);

static void *reserve(void *context, enum record_kind kind, uint32_t body_bytes)
{
	struct stream *s = context;
	struct record *r = calloc(1, sizeof(*r) + body_bytes);

	if (r == NULL || s->n == STREAM_RECORDS)
		fuzz_found("the world is too large");
	r->bytes = (uint32_t)sizeof(*r) + body_bytes;
	r->kind = (uint16_t)kind;
	r->time_ns = STREAM_TIME_NS;
	s->at[s->n++] = r;
	return r + 1;
}

static void put_all(struct model *m, const struct files *files)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; i < n; i++) {
		int resource = model_resource_index(m, objects[i].api_version, objects[i].kind);
		struct decode_error e = { .text = "no such kind" };

		if (resource < 0 ||
		    model_put(m, resource, objects[i].json.at, objects[i].json.bytes, &e) < 0)
			fuzz_found("tests/fuzz/world.json: %s: %s: %s", objects[i].name, e.field, e.text);
	}
}

struct model *stream_model(bool judges_others)
{
	static const char *const names[] = { "muster" };
	const struct model_config config = { .scheduler_names = names,
		                                 .scheduler_names_n = 1,
		                                 .limits = stream_limits,
		                                 .judges_others = judges_others,
		                                 .preemption = true,
		                                 .devices_live = true,
		                                 .hash_key = { 1, 2 } };
	static struct files *files; /* read once */
	struct model *m = model_new(&config);
	char error[2000] = "memory was short";

	if (files == NULL) {
		files = files_new();
		if (!files_read(files, "tests/fuzz/world.json", error, sizeof(error)))
			fuzz_found("%s", error);
	}
	if (m == NULL)
		fuzz_found("%s", error);
	put_all(m, files);
	return m;
}

const struct stream *stream_get(void)
{
	static struct stream stream;
	const struct model_sink sink = { .reserve = reserve, .context = &stream };
	struct model *m;

	if (stream.n > 0)
		return &stream;
	m = stream_model(false);
	model_restart(m);
	model_set_synced(m);
	do {
		if (!model_flush(m, &sink))
			fuzz_found("the world is not told whole");
	} while (model_has_more(m));
	model_free(m);
	return &stream;
}
