/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a pod that the cluster does not have, for musterctl verdict. */
#include "frontend/model/put/outsider.h"
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

static void records_add(const struct outsider_records *r, uint64_t epoch, struct jsonout *out)
{
	char *shape = hex(r->pod.records, r->pod.shape_bytes);
	char *pod = hex(r->pod.records + r->pod.shape_bytes, r->pod.pod_bytes);

	jsonout_add(out, "{\"epoch\":\"@u\",\"shape\":\"@r\",\"pod\":\"@r\",\"names\":[", (ull)epoch,
	            shape, pod);
	for (uint32_t i = 0; i < r->names_n; i++)
		jsonout_add(out, i > 0 ? ",{\"id\":@u,\"name\":@s}" : "{\"id\":@u,\"name\":@s}",
		            (ull)r->names[i].id, r->names[i].text);
	jsonout_add(out, "]}");
	free(shape);
	free(pod);
}

void answer_outsider(struct model *m, uint64_t epoch, const char *json, size_t bytes,
                     struct jsonout *out)
{
	struct decode_error error = { 0 };
	struct outsider_records *r = must_alloc(sizeof(*r));

	jsonout_clear(out);
	if (model_outsider(m, json, bytes, r, &error) < 0)
		jsonout_add(out, "{\"object\":@s,\"field\":@s,\"error\":@s}", error.object, error.field,
		            error.text);
	else if (r->refusal)
		jsonout_add(out, "{\"refused\":@s}", r->refusal);
	else
		records_add(r, epoch, out);
	free(r);
}
