/* SPDX-License-Identifier: Apache-2.0 */
/* One gang as trace events, the JSON that chrome://tracing and ui.perfetto.dev read. */
#include "ctl/live/latency.h"

#include "frontend/json/jsonout.h"

#include <cjson/cJSON.h>
#include <string.h>

typedef unsigned long long ull;

static const char *text_of(const cJSON *o, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));

	return text ? text : "";
}

static ull number_of(const cJSON *value)
{
	return cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < 1e18
	           ? (ull)value->valuedouble
	           : 0;
}

static void add_name(struct jsonout *out, const char *what, ull tid, const char *name)
{
	jsonout_add(out, "@r{\"name\":@s,\"ph\":\"M\",\"pid\":1,\"tid\":@u,\"args\":{\"name\":@s}}",
	            tid > 0 ? ",\n" : "", what, tid, name);
}

static void add_pod(struct jsonout *out, const cJSON *stages, const cJSON *pod, ull tid)
{
	const cJSON *us = cJSON_GetObjectItemCaseSensitive(pod, "us");
	const int n = cJSON_GetArraySize(us);
	ull at = number_of(cJSON_GetObjectItemCaseSensitive(pod, "start_us"));

	add_name(out, "thread_name", tid, text_of(pod, "pod"));
	for (int i = 0; i < n; i++) {
		const cJSON *stage = cJSON_GetArrayItem(stages, i);
		const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(stage, 0));
		const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(stage, 1));
		const ull took = number_of(cJSON_GetArrayItem(us, i));

		if (!name || !text)
			break;
		jsonout_add(out,
		            ",\n{\"name\":@s,\"cat\":\"stage\",\"ph\":\"X\",\"pid\":1,\"tid\":@u,\"ts\":@u,"
		            "\"dur\":@u,\"args\":{\"node\":@s,\"what\":@s@r}}",
		            name, tid, at, took, text_of(pod, "node"), text,
		            strcmp(name, text_of(pod, "at")) == 0 ? ",\"unfinished\":true" : "");
		at += took;
	}
}

uint32_t latency_trace(const char *text, size_t bytes, FILE *to)
{
	cJSON *o = cJSON_ParseWithLength(text, bytes);
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(o, "stages"), *pod;
	struct jsonout out = { 0 };
	uint32_t n = 0;

	jsonout_add(&out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	add_name(&out, "process_name", 0, text_of(o, "gang"));
	cJSON_ArrayForEach(pod, cJSON_GetObjectItemCaseSensitive(o, "pods"))
	{
		if (cJSON_GetObjectItemCaseSensitive(pod, "us"))
			add_pod(&out, stages, pod, ++n);
	}
	jsonout_add(&out, "\n]}\n");
	fwrite(out.at, 1, out.bytes, to);
	jsonout_free(&out);
	cJSON_Delete(o);
	return n;
}
