/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/report/event.h"

#include "ipc/promises.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NAME_BYTES_MAX 253

void event_time(char *out, size_t out_bytes, uint64_t wall_ns, bool micro)
{
	time_t seconds = (time_t)(wall_ns / 1000000000u);
	unsigned micros = (unsigned)(wall_ns % 1000000000u / 1000);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(out, out_bytes, "%Y-%m-%dT%H:%M:%S", &tm);
	if (micro)
		snprintf(out + n, out_bytes - n, ".%06uZ", micros);
	else
		snprintf(out + n, out_bytes - n, "Z");
}

void event_write(struct jsonout *out, const struct event_text *e)
{
	char when[EVENT_TIME_BYTES];

	event_time(when, sizeof(when), e->wall_ns, true);
	jsonout_add(
		out,
		"{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{\"name\":@s,\"namespace\":@s},"
		"\"eventTime\":@s,\"type\":@s,\"reason\":@s,\"action\":@s,\"note\":@b,\"reportingController\":@s,"
		"\"reportingInstance\":@s,\"regarding\":{\"apiVersion\":@s,\"kind\":@s,\"namespace\":@s,"
		"\"name\":@s,\"uid\":@s}}",
		e->name, e->namespace, when, e->type, e->reason, e->action, e->note, e->controller,
		e->instance, e->api_version ? e->api_version : "v1", e->kind ? e->kind : "Pod",
		e->namespace, e->object, e->uid);
}

void event_series_write(struct jsonout *out, uint64_t count, uint64_t wall_ns)
{
	char when[EVENT_TIME_BYTES];

	event_time(when, sizeof(when), wall_ns, true);
	jsonout_add(out, "{\"series\":{\"count\":@u,\"lastObservedTime\":@s}}",
	            (unsigned long long)count, when);
}

void condition_write(struct jsonout *out, const struct condition_text *c, uint64_t wall_ns)
{
	char when[EVENT_TIME_BYTES], start[PROMISE_TIME_BYTES];

	jsonout_add(out, "{\"metadata\":{\"uid\":@s", c->uid);
	if (c->promised_s > 0) {
		promise_time_text(c->promised_s * UINT64_C(1000000000), start);
		jsonout_add(out, ",\"annotations\":{@s:@s}", PROMISED_ANNOTATION, start);
	}
	jsonout_add(out, "},\"status\":{");
	if (c->nominated && *c->nominated)
		jsonout_add(out, "\"nominatedNodeName\":@s,", c->nominated);
	else if (c->nominated)
		jsonout_add(out, "\"nominatedNodeName\":null,");
	jsonout_add(out,
	            "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","
	            "\"reason\":@s,\"message\":@s",
	            c->reason, c->message);
	if (c->turned) {
		event_time(when, sizeof(when), wall_ns, false);
		jsonout_add(out, ",\"lastTransitionTime\":@s", when);
	}
	jsonout_add(out, "}]}}");
}

void event_name(char *out, size_t out_bytes, const char *object, uint64_t wall_ns)
{
	char suffix[24];
	size_t cap;

	snprintf(suffix, sizeof(suffix), ".%llx", (unsigned long long)wall_ns);
	cap = NAME_BYTES_MAX - strlen(suffix);
	snprintf(out, out_bytes, "%.*s%s", (int)cap, object, suffix);
}
