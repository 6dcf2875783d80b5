/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a pod that the cluster does not have, for musterctl verdict; and of a gang or of
 * pods without a gang, which come as an array of objects, for musterctl explain. */
#include "frontend/model/put/outsider_gang.h"
#include "frontend/page/answer.h"
#include "frontend/page/answer_impl.h"

#include <stdlib.h>

/* Good until it is freed. */
static char *hex(const unsigned char *at, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *text = must_alloc(2 * n + 1);

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[at[i] >> 4];
		text[2 * i + 1] = digits[at[i] & 15];
	}
	return text;
}

static void names_add(const struct outsider_name *names, uint32_t n, struct jsonout *out)
{
	for (uint32_t i = 0; i < n; i++)
		jsonout_add(out, i > 0 ? ",{\"id\":@u,\"name\":@s}" : "{\"id\":@u,\"name\":@s}",
		            (ull)names[i].id, names[i].text);
	jsonout_add(out, "]}");
}

static void records_add(const struct outsider_records *r, uint64_t epoch, struct jsonout *out)
{
	char *shape = hex(r->pod.records, r->pod.shape_bytes);
	char *pod = hex(r->pod.records + r->pod.shape_bytes, r->pod.pod_bytes);

	jsonout_add(out, "{\"epoch\":\"@u\",\"shape\":\"@r\",\"pod\":\"@r\",\"names\":[", (ull)epoch,
	            shape, pod);
	names_add(r->names, r->names_n, out);
	free(shape);
	free(pod);
}

static void error_add(const struct decode_error *error, struct jsonout *out)
{
	jsonout_add(out, "{\"object\":@s,\"field\":@s,\"error\":@s}", error->object, error->field,
	            error->text);
}

static void pod_answer(struct model *m, uint64_t epoch, const char *json, size_t bytes,
                       struct jsonout *out)
{
	struct decode_error error = { 0 };
	struct outsider_records *r = must_alloc(sizeof(*r));

	if (model_outsider(m, json, bytes, r, &error) < 0)
		error_add(&error, out);
	else if (r->refusal)
		jsonout_add(out, "{\"refused\":@s}", r->refusal);
	else
		records_add(r, epoch, out);
	free(r);
}

static void gang_answer(struct model *m, uint64_t epoch, const char *json, size_t bytes,
                        struct jsonout *out)
{
	struct decode_error error = { 0 };
	struct outsider_gang *g = must_alloc(sizeof(*g));

	if (model_outsider_gang(m, json, bytes, g, &error) < 0) {
		error_add(&error, out);
	} else if (g->refusal) {
		jsonout_add(out, "{\"gang\":@s,\"refused\":@s}", g->name, g->refusal);
	} else {
		char *records = hex(g->gang.records, g->gang.bytes);

		jsonout_add(out,
		            "{\"epoch\":\"@u\",\"gang\":@s,\"lone\":@u,\"dialect\":@u,\"records\":\"@r\","
		            "\"names\":[",
		            (ull)epoch, g->name, (ull)g->lone, (ull)g->dialect, records);
		names_add(g->names, g->names_n, out);
		free(records);
	}
	free(g);
}

void answer_outsider(struct model *m, uint64_t epoch, const char *json, size_t bytes,
                     struct jsonout *out)
{
	jsonout_clear(out);
	if (bytes > 0 && *json == '[')
		gang_answer(m, epoch, json, bytes, out);
	else
		pod_answer(m, epoch, json, bytes, out);
}
