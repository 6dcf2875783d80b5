/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/lack.h"

#include "ctl/offline/claims.h"
#include "ctl/term/ctl.h"
#include "ctl/term/print.h"
#include "frontend/base/bytes.h"
#include "frontend/devices/live.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct live *live_of(const struct offline *o)
{
	const struct claims *claims = offline_claims(o);

	return claims != NULL && claims_by_records(claims) ? model_live(offline_own_model(o)) : NULL;
}

uint32_t lacks_question(const struct offline *o, uint32_t pod)
{
	return live_of(o) != NULL ? live_asks(live_of(o), pod) : UINT32_MAX;
}

struct device_lack *lacks_of(const struct offline *o, uint32_t pod, uint32_t pods, size_t *n)
{
	struct device_lack *lacks = NULL;
	struct live_supply s;

	*n = 0;
	while (live_of(o) != NULL && live_supply(live_of(o), pod, (uint32_t)*n, &s)) {
		lacks = must_grow(lacks, (*n + 1) * sizeof(*lacks));
		lacks[(*n)++] = (struct device_lack){
			.request = must_copy(s.request),
			.class = must_copy(s.class),
			.attribute = s.attribute != NULL ? must_copy(s.attribute) : NULL,
			.pods = pods,
			.count = s.count,
			.match = s.match,
			.taken = s.taken,
			.tainted = s.tainted,
			.shut = s.shut,
			.free = s.free,
			.nodes = s.nodes,
			.most = s.most,
			.alike = s.alike,
		};
	}
	return lacks;
}

void lacks_free(struct device_lack *lacks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(lacks[i].request);
		free(lacks[i].class);
		free(lacks[i].attribute);
	}
	free(lacks);
}

__attribute__((format(printf, 2, 3))) static void put(struct bytes *out, const char *format, ...)
{
	char text[700];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bytes_put(out, text);
}

static void put_rest(struct bytes *out, const struct device_lack *l)
{
	put(out, " (%" PRIu32 " match", l->match);
	if (l->taken > 0)
		put(out, ", %" PRIu32 " %s taken", l->taken, l->taken == 1 ? "is" : "are");
	if (l->tainted > 0)
		put(out, ", %" PRIu32 " %s tainted", l->tainted, l->tainted == 1 ? "is" : "are");
	if (l->shut > 0)
		put(out, ", %" PRIu32 " find%s no counters left", l->shut, l->shut == 1 ? "s" : "");
	bytes_put(out, ")");
}

char *lack_text(const struct device_lack *l)
{
	const uint64_t needed = (uint64_t)l->count * l->pods;
	struct bytes out = { 0 };
	char *text;

	if (l->count == 0)
		put(&out, "%s: all devices of class %s of a node are needed, by %" PRIu32 " member%s",
		    l->request, l->class, l->pods, l->pods == 1 ? "" : "s");
	else
		put(&out, "%s: %" PRIu64 " device%s of class %s %s needed", l->request, needed,
		    needed == 1 ? "" : "s", l->class, needed == 1 ? "is" : "are");
	put(&out, ", %" PRIu32 " %s free on %" PRIu32 " node%s", l->free, l->free == 1 ? "is" : "are",
	    l->nodes, l->nodes == 1 ? "" : "s");
	put_rest(&out, l);
	if (l->count > 1 && l->most < l->count)
		put(&out, ", no %" PRIu32 " of them on one node", l->count);
	else if (l->count > 1 && l->attribute != NULL && l->alike < l->count)
		put(&out, ", no %" PRIu32 " of them on one node under one %s", l->count, l->attribute);
	bytes_add(&out, "", 1);
	text = must_copy(out.at);
	bytes_free(&out);
	ctl_plain(text);
	return text;
}

void lacks_json(cJSON *o, const struct device_lack *lacks, size_t n)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(o, "devices"));

	for (size_t i = 0; i < n; i++) {
		const struct device_lack *l = &lacks[i];
		cJSON *one = json_checked(cJSON_CreateObject());

		json_add_text(one, "request", l->request);
		json_add_text(one, "class", l->class);
		json_add_number(one, "members", l->pods);
		if (l->count > 0)
			json_add_number(one, "needed", (int64_t)l->count * l->pods);
		json_add_number(one, "free", l->free);
		json_add_number(one, "nodes", l->nodes);
		json_add_number(one, "match", l->match);
		json_add_number(one, "taken", l->taken);
		json_add_number(one, "tainted", l->tainted);
		json_add_number(one, "without_counters", l->shut);
		json_add_number(one, "most_on_a_node", l->most);
		if (l->attribute != NULL) {
			json_add_text(one, "attribute", l->attribute);
			json_add_number(one, "most_alike", l->alike);
		}
		cJSON_AddItemToArray(list, one);
	}
}
