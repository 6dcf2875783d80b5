/* SPDX-License-Identifier: Apache-2.0 */
/* One gang as a trace: the trace events that chrome://tracing and ui.perfetto.dev read, or the
 * spans of an ExportTraceServiceRequest in the JSON of OTLP/HTTP (opentelemetry-proto, trace/v1).
 */
#include "ctl/live/latency.h"

#include "frontend/json/jsonout.h"

#include <cjson/cJSON.h>
#include <stdio.h>
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

static uint32_t events_write(const cJSON *o, struct jsonout *out)
{
	const cJSON *stages = cJSON_GetObjectItemCaseSensitive(o, "stages"), *pod;
	uint32_t n = 0;

	jsonout_add(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	add_name(out, "process_name", 0, text_of(o, "gang"));
	cJSON_ArrayForEach(pod, cJSON_GetObjectItemCaseSensitive(o, "pods"))
	{
		if (cJSON_GetObjectItemCaseSensitive(pod, "us"))
			add_pod(out, stages, pod, ++n);
	}
	jsonout_add(out, "\n]}\n");
	return n;
}

/* Ids are hashes of names and of when the gang was first read, so that a gang that is exported
 * again has the same, and a later one of its name others. */
static uint64_t mix(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3); /* FNV-1a */
	while (*text++);
	return hash;
}

struct spans {
	struct jsonout *out;
	const cJSON *stages;
	uint64_t trace[2], gang; /* ids */
	ull start_us;            /* since 1970 */
	ull last_us;             /* the end of the last stage, after start_us */
	uint32_t n;              /* members */
};

static uint64_t span_id(const struct spans *s, const char *of, const char *stage)
{
	const uint64_t id = mix(mix(s->gang, of), stage);

	return id != 0 ? id : 1; /* 0 is no id */
}

/* Begins a span, up to its attributes. */
static void span_begin(struct spans *s, const char *name, uint64_t id, uint64_t parent, ull from_us,
                       ull to_us)
{
	char ids[120], parent_text[24] = "";

	if (parent != 0)
		snprintf(parent_text, sizeof(parent_text), "%016llx", (ull)parent);
	snprintf(ids, sizeof(ids),
	         "\"traceId\":\"%016llx%016llx\",\"spanId\":\"%016llx\",\"parentSpanId\":",
	         (ull)s->trace[0], (ull)s->trace[1], (ull)id);
	jsonout_add(s->out, "@r{@r@s,\"name\":@s,\"kind\":1,", parent != 0 ? ",\n" : "", ids,
	            parent_text, name);
	jsonout_add(s->out,
	            "\"startTimeUnixNano\":\"@u000\",\"endTimeUnixNano\":\"@u000\",\"attributes\":[",
	            s->start_us + from_us, s->start_us + to_us);
}

static void span_attribute(struct spans *s, bool first, const char *key, const char *value)
{
	jsonout_add(s->out, "@r{\"key\":@s,\"value\":{\"stringValue\":@s}}", first ? "" : ",", key,
	            value);
}

static void member_write(struct spans *s, const cJSON *pod)
{
	const cJSON *us = cJSON_GetObjectItemCaseSensitive(pod, "us");
	const int n = cJSON_GetArraySize(us);
	const ull start = number_of(cJSON_GetObjectItemCaseSensitive(pod, "start_us"));
	const char *name = text_of(pod, "pod");
	const uint64_t id = span_id(s, name, "");
	ull at = start;

	for (int i = 0; i < n; i++) {
		const cJSON *stage = cJSON_GetArrayItem(s->stages, i);
		const char *of = cJSON_GetStringValue(cJSON_GetArrayItem(stage, 0));
		const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(stage, 1));
		const ull took = number_of(cJSON_GetArrayItem(us, i));

		if (!of || !text)
			break;
		span_begin(s, of, span_id(s, name, of), id, at, at + took);
		span_attribute(s, true, "muster.what", text);
		if (strcmp(of, text_of(pod, "at")) == 0)
			span_attribute(s, false, "muster.unfinished", "true");
		jsonout_add(s->out, "]}");
		at += took;
	}
	span_begin(s, name, id, s->gang, start, at);
	span_attribute(s, true, "k8s.pod.name", name);
	span_attribute(s, false, "k8s.node.name", text_of(pod, "node"));
	jsonout_add(s->out, "]}");
	s->last_us = at > s->last_us ? at : s->last_us;
	s->n++;
}

/* The gang's span lasts until the end of its last member, so it comes after them. */
static void gang_write(struct spans *s, const char *gang, const struct jsonout *members)
{
	const size_t bytes = strcspn(gang, "/");
	char namespace[256];

	snprintf(namespace, sizeof(namespace), "%.*s", (int)(bytes < 255 ? bytes : 255), gang);
	span_begin(s, gang, s->gang, 0, 0, s->last_us);
	span_attribute(s, true, "k8s.namespace.name", namespace);
	span_attribute(s, false, "muster.gang", gang);
	jsonout_add(s->out, "]}@r", members->at ? members->at : "");
}

static uint32_t spans_write(const cJSON *o, struct jsonout *out)
{
	struct jsonout members = { 0 };
	const char *gang = text_of(o, "gang");
	struct spans s = { .out = &members,
		               .stages = cJSON_GetObjectItemCaseSensitive(o, "stages"),
		               .start_us =
		                   number_of(cJSON_GetObjectItemCaseSensitive(o, "start_unix_us")) };
	const cJSON *pod;
	char boot[24];

	snprintf(boot, sizeof(boot), "%llu",
	         number_of(cJSON_GetObjectItemCaseSensitive(o, "start_boot_us")));
	s.trace[0] = mix(mix(UINT64_C(0xcbf29ce484222325), gang), boot);
	s.trace[1] = mix(s.trace[0], "trace");
	s.gang = mix(s.trace[1], "gang") | 1;
	cJSON_ArrayForEach(pod, cJSON_GetObjectItemCaseSensitive(o, "pods"))
	{
		if (cJSON_GetObjectItemCaseSensitive(pod, "us"))
			member_write(&s, pod);
	}
	s.out = out;
	jsonout_add(out,
	            "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
	            "\"value\":{\"stringValue\":\"muster\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":"
	            "\"muster.latency\"},\"spans\":[\n");
	if (s.n > 0)
		gang_write(&s, gang, &members);
	jsonout_add(out, "\n]}]}]}\n");
	jsonout_free(&members);
	return s.n;
}

uint32_t latency_trace(const char *text, size_t bytes, enum trace_format format, FILE *to)
{
	cJSON *o = cJSON_ParseWithLength(text, bytes);
	struct jsonout out = { 0 };
	const uint32_t n = format == TRACE_OTLP ? spans_write(o, &out) : events_write(o, &out);

	fwrite(out.at, 1, out.bytes, to);
	jsonout_free(&out);
	cJSON_Delete(o);
	return n;
}
