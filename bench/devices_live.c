/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/devices_live.h"

#include "bench/bench.h"
#include "ctl/term/ctl.h"
#include "ipc/devices.h"

#define GPUS 8u
#define RECORD_BYTES 4096u
#define DRIVER "gpu.example.com"

static void put(struct live *l, enum live_kind kind, char *json)
{
	struct decode_error error = { 0 };

	if (live_put(l, kind, json, strlen(json), &error) < 0) {
		fprintf(stderr, "muster-bench: %s\n", error.text);
		exit(1);
	}
	free(json);
}

/* As a driver publishes it. */
static void put_slice(struct live *l, uint32_t node)
{
	char devices[GPUS * 512] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < GPUS; i++)
		n += (size_t)snprintf(
			devices + n, sizeof(devices) - n,
			"%s{\"name\":\"gpu-%u\",\"attributes\":{\"type\":{\"string\":\"gpu\"},\"index\":{\"int\":%u},"
			"\"productName\":{\"string\":\"NVIDIA H100 80GB HBM3\"},\"uuid\":{\"string\":\"GPU-%08x-%u\"},"
			"\"driverVersion\":{\"version\":\"570.86.15\"},\"resource.kubernetes.io/pcieRoot\":{"
			"\"string\":\"pci0000:%02u\"}},\"capacity\":{\"memory\":{\"value\":\"81559Mi\"}}}",
			i > 0 ? "," : "", i, i, node, i, i / 2);
	put(l, LIVE_SLICES,
	    ctl_print(
			"{\"metadata\":{\"name\":\"node-%u-gpu\",\"uid\":\"s%u\",\"resourceVersion\":\"1\"},"
			"\"spec\":{\"driver\":\"" DRIVER "\",\"nodeName\":\"node-%u\",\"pool\":{\"name\":"
			"\"node-%u\",\"generation\":1,\"resourceSliceCount\":1},\"devices\":[%s]}}",
			node, node, node, node, devices));
}

#define REQUEST(more)                                                                                       \
	"\"spec\":{\"devices\":{\"requests\":[{\"name\":\"gpu\",\"exactly\":{\"deviceClassName\":\"gpu\"," more \
	"\"allocationMode\":\"ExactCount\",\"count\":1}}]}}"

static void put_allocated(struct live *l, uint32_t i, uint32_t nodes)
{
	const uint32_t node = i / GPUS % nodes;

	put(l, LIVE_CLAIMS,
	    ctl_print(
			"{\"metadata\":{\"name\":\"train-%u-gpu-x7k2p\",\"namespace\":\"team-a\",\"uid\":"
			"\"1b4e28ba-2fa1-11d2-883f-%012u\",\"resourceVersion\":\"%u\",\"finalizers\":[\"" LIVE_FINALIZER
			"\"],\"annotations\":{\"resource.kubernetes.io/pod-claim-name\":\"gpu\"},"
			"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"train-%u\","
			"\"uid\":\"6fa459ea-ee8a-3ca4-894e-%012u\",\"controller\":true}]}," REQUEST(
				"") ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"gpu\","
					"\"driver\":\"" DRIVER
					"\",\"pool\":\"node-%u\",\"device\":\"gpu-%u\"}]},\"nodeSelector\":{"
					"\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":"
					"\"In\",\"values\":[\"node-%u\"]}]}]}},\"reservedFor\":[{\"resource\":\"pods\","
					"\"name\":\"train-%u\",\"uid\":\"6fa459ea-ee8a-3ca4-894e-%012u\"}]}}",
			i, i, i + 1, i, i, node, i % GPUS, node, i, i));
}

struct live *devices_live(uint32_t nodes, uint32_t claims)
{
	static const uint64_t key[2] = { 1, 2 };
	struct live *l = live_new(key);

	live_names_limit(l, UINT64_MAX);
	put(l, LIVE_CLASSES,
	    ctl_print(
			"{\"metadata\":{\"name\":\"gpu\",\"uid\":\"c\",\"resourceVersion\":\"1\"},\"spec\":{"
			"\"selectors\":[{\"cel\":{\"expression\":\"device.driver == '" DRIVER
			"' && device.attributes['" DRIVER "'].type == 'gpu'\"}}]}}"));
	for (uint32_t node = 0; node < nodes; node++)
		put_slice(l, node);
	for (uint32_t i = 0; i < claims; i++)
		put_allocated(l, i, nodes);
	return l;
}

static uint32_t write_questions(struct live *l, uint64_t *record)
{
	uint32_t question, written = 0;

	for (; (question = live_question_next(l)) != UINT32_MAX; written++)
		if (live_question_bytes(l, question) <= RECORD_BYTES)
			live_question_write(l, question, record);
	return written;
}

/* As the model flushes them; the matches that were written, and the devices in them. */
static uint32_t write_nodes(struct live *l, uint64_t *record, uint32_t *devices)
{
	const struct event_match *e = (const void *)record;
	uint32_t at, question, written = 0;

	live_flush_begin(l);
	while ((at = live_node_next(l)) != UINT32_MAX) {
		if (live_node_bytes(l, at) <= RECORD_BYTES) /* lays its devices out, too */
			live_node_write(l, at, at, 1, record);
		for (; (question = live_match_next(l, at)) != UINT32_MAX; written++) {
			if (live_match_bytes(l, at, question) <= RECORD_BYTES)
				live_match_write(l, at, question, at, 1, record);
			*devices += (uint32_t)__builtin_popcountll(record[sizeof(*e) / sizeof(*record)]);
		}
		if (live_flush_ends(l))
			live_flush_begin(l);
	}
	return written;
}

uint64_t devices_live_ask(struct live *l, uint32_t turn, bool regex, bool *ok)
{
	static const char pod[] =
		"{\"metadata\":{\"namespace\":\"team-a\",\"name\":\"p\",\"uid\":\"p\"},\"spec\":{"
		"\"resourceClaims\":[{\"name\":\"x\",\"resourceClaimName\":\"asks\"}]}}";
	static uint64_t record[RECORD_BYTES / sizeof(uint64_t)];
	struct live_verdict verdict;
	uint32_t devices = 0, questions, matches;
	uint64_t start;

	write_nodes(l, record, &devices); /* of the slices, the first time */
	put(l, LIVE_CLAIMS,
	    ctl_print("{\"metadata\":{\"name\":\"asks\",\"namespace\":\"team-a\",\"uid\":\"a%u\","
	              "\"resourceVersion\":\"%u\"}," REQUEST(
					  "\"selectors\":[{\"cel\":{\"expression\":\"device.attributes['" DRIVER
					  "'].%s && device.capacity['" DRIVER
					  "'].memory.compareTo(quantity('%uMi')) >= 0\"}}],") "}",
	              turn, turn + 1,
	              regex ? "productName.lowerAscii().matches('^.*h100.*$')" : "index < 8",
	              40000 + turn));
	devices = 0;
	start = bench_now_ns();
	live_pod_set(l, 0, pod, sizeof(pod) - 1);
	live_judge(l, 0, false, &verdict);
	questions = write_questions(l, record);
	matches = write_nodes(l, record, &devices);
	start = bench_now_ns() - start;
	*ok = !verdict.refusal && questions == 1 && devices == matches * GPUS && matches > 0;
	live_pod_drop(l, 0);
	live_remove(l, LIVE_CLAIMS, (struct text){ "team-a", 6 }, (struct text){ "asks", 4 });
	return start;
}
