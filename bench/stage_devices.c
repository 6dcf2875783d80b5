/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a stage's nodes, and claims of its pods for one each. */
#include "bench/stage_impl.h"

#include "bench/bench.h"
#include "ctl/term/ctl.h"

#define API "/apis/resource.k8s.io/v1"
#define DRIVER "bench.muster.dev"

static void make_slice(void *context, uint32_t i, char *path, char **body)
{
	const struct stage *s = context;
	char devices[STAGE_DEVICES * 160] = "";
	size_t n = 0;

	for (uint32_t device = 0; device < STAGE_DEVICES; device++)
		n += (size_t)snprintf(
			devices + n, sizeof(devices) - n,
			"%s{\"name\":\"gpu-%u\",\"attributes\":{\"index\":{\"int\":%u},\"model\":{"
			"\"string\":\"H100\"}},\"capacity\":{\"memory\":{\"value\":\"80Gi\"}}}",
			device > 0 ? "," : "", device, device);
	snprintf(path, 512, API "/resourceslices");
	*body = ctl_print(
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\",\"metadata\":{"
		"\"name\":\"%s-gpu\"},\"spec\":{\"driver\":\"" DRIVER "\",\"nodeName\":\"%s\",\"pool\":{"
		"\"name\":\"%s\",\"generation\":1,\"resourceSliceCount\":1},\"devices\":[%s]}}",
		s->nodes[i], s->nodes[i], s->nodes[i], devices);
}

bool stage_devices(struct stage *s)
{
	static const char class[] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\",\"metadata\":{\"name\":\"gpu\"},"
		"\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"device.driver == '" DRIVER "'\"}}]}}";

	if (client_one(&s->client, "POST", API "/deviceclasses", class) != 201) {
		fprintf(stderr, "muster-bench: can't make a DeviceClass: %d %.300s\n", s->client.status,
		        client_said(&s->client));
		return false;
	}
	return client_row(&s->client, "POST", s->nodes_n, make_slice, s);
}

static void make_claim(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;

	snprintf(path, 512, API "/namespaces/%s/resourceclaims", p->namespace);
	*body =
		ctl_print("{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\",\"metadata\":{"
	              "\"name\":\"pod-%05u\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"gpu\","
	              "\"exactly\":{\"deviceClassName\":\"gpu\",\"allocationMode\":\"ExactCount\","
	              "\"count\":1}}]}}}",
	              i);
}

bool space_make_claims(struct space *p, uint32_t pods)
{
	return client_row(&p->stage->client, "POST", pods, make_claim, p);
}

static void write_finalizer(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;

	snprintf(path, 512, API "/namespaces/%s/resourceclaims/pod-%05u", p->namespace, i);
	*body =
		ctl_print("{\"metadata\":{\"finalizers\":[\"resource.kubernetes.io/delete-protection\"]}}");
}

static void write_allocation(void *context, uint32_t i, char *path, char **body)
{
	const struct space *p = context;
	const char *node = p->stage->nodes[i % p->stage->nodes_n];

	snprintf(path, 512, API "/namespaces/%s/resourceclaims/pod-%05u/status", p->namespace, i);
	*body = ctl_print(
		"{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"gpu\",\"driver\":\"" DRIVER
		"\",\"pool\":\"%s\",\"device\":\"gpu-%u\"}]},\"nodeSelector\":{\"nodeSelectorTerms\":[{"
		"\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"%s\"]}]}]}},"
		"\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"pod-%05u\",\"uid\":\"pod-%05u\"}]}}",
		node, i / p->stage->nodes_n % STAGE_DEVICES, node, i, i);
}

bool stage_claim_writes(struct stage *s, uint32_t pods, double *seconds)
{
	struct space p;
	uint64_t start;
	bool ok;

	if (!space_open(&p, s, "nobody"))
		return false;
	p.claims = true;
	ok = space_make_claims(&p, pods) && client_row(&s->client, "POST", pods, space_make_pod, &p);
	start = bench_now_ns();
	ok = ok && client_row(&s->client, "PATCH", pods, write_finalizer, &p) &&
	     client_row(&s->client, "PATCH", pods, write_allocation, &p) &&
	     client_row(&s->client, "POST", pods, space_make_binding, &p);
	*seconds = (double)(bench_now_ns() - start) / 1e9;
	return space_close(&p, ok);
}
