/* SPDX-License-Identifier: Apache-2.0 */
/* One more object in a small store of claims and volumes is accepted, or refused with a reason; the
 * pods and nodes that refer to it then equal those of a store that had it from the start. */
#include "frontend/decode/extract.h"
#include "frontend/volume/volume.h"

#include "tests/fuzz/fuzz.h"

#include <stdarg.h>

#define BYTES_MAX 4096
#define PODS 3
#define NODES 2

/* clang-format off */
static const char *const words[] = {
	"{", "}", "[", "]", ",", ":", "\"", "null", "true", "-1", "1e30", "\"c0\"", "\"c1\"", "\"v0\"",
	"\"v1\"", "\"made\"", "\"local\"", "\"d\"", "\"n0\"", "\"n1\"", "\"zone\"", "\"z1\"", "\"ns\"",
	"\"1Gi\"", "\"0\"", "\"9E\"", "__", "\"ReadWriteOncePod\"", "\"WaitForFirstConsumer\"",
	"\"Available\"", "\"Lost\"", "\"In\"", "\"Exists\"", "\"Gt\"", "\"matchFields\"",
	"\"claimRef\":{},", "\"nodeAffinity\":{\"required\":{}},", "\"volumeName\":\"v1\",",
	"\"csi\":{},", "\"selector\":{},", "\"resourceVersion\":\"5\",", "\\u0000", "\\ud800", "\xff",
	NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "volume", .bytes_max = BYTES_MAX, .words = words };

static const struct {
	enum volume_kind kind;
	const char *json;
} base[] = {
	{ VOLUME_KIND_CLASS,
	  "{\"metadata\":{\"name\":\"local\"},\"provisioner\":\"kubernetes.io/no-provisioner\","
	  "\"volumeBindingMode\":\"WaitForFirstConsumer\"}" },
	{ VOLUME_KIND_CLASS,
	  "{\"metadata\":{\"name\":\"made\"},\"provisioner\":\"d\",\"volumeBindingMode\":\"WaitForFirstConsumer\"}" },
	{ VOLUME_KIND_CLAIM,
	  "{\"metadata\":{\"name\":\"c0\",\"namespace\":\"ns\"},\"spec\":{\"storageClassName\":\"local\"}}" },
	{ VOLUME_KIND_CLAIM,
	  "{\"metadata\":{\"name\":\"c1\",\"namespace\":\"ns\"},\"spec\":{\"storageClassName\":\"made\","
	  "\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}" },
	{ VOLUME_KIND_VOLUME,
	  "{\"metadata\":{\"name\":\"v1\"},\"spec\":{\"storageClassName\":\"local\",\"capacity\":{\"storage\":\"1Gi\"}},"
	  "\"status\":{\"phase\":\"Available\"}}" },
	{ VOLUME_KIND_CAPACITY,
	  "{\"metadata\":{\"name\":\"s1\"},\"storageClassName\":\"made\",\"capacity\":\"2Gi\",\"nodeTopology\":{}}" },
};

#define POD(n, volumes)                                                                            \
	"{\"metadata\":{\"name\":\"p" n "\",\"namespace\":\"ns\",\"uid\":\"u" n                        \
	"\"},\"spec\":{\"volumes\":[" volumes "]}}"
#define CLAIM(name) "{\"persistentVolumeClaim\":{\"claimName\":\"" name "\"}}"

static const char *const pods[PODS] = {
	POD("0", CLAIM("c0")),
	POD("1", CLAIM("c1") "," CLAIM("c0")),
	POD("2", "{\"name\":\"e\",\"ephemeral\":{}}"),
};

struct store {
	struct volumes *vs;
	struct arena arena;
	char said[PODS + NODES][16384];
};

struct saying {
	char *at;
	size_t n, cap;
};

__attribute__((format(printf, 2, 3))) static void say(struct saying *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->at + s->n, s->cap - s->n, format, args);
	va_end(args);
	s->n = s->n + (size_t)n < s->cap ? s->n + (size_t)n : s->cap - 1;
}

#define T(t) (int)(t).bytes, (t).at

static void say_rule(struct saying *s, const struct volume_rule_object *rule)
{
	say(s, "rule %u", rule->why);
	for (size_t t = 0; t < rule->n; t++) {
		if (rule->terms[t].n == 0)
			fuzz_found("a term without rules");
		say(s, " |");
		for (size_t c = 0; c < rule->terms[t].n; c++) {
			const struct node_rule *r = &rule->terms[t].rules[c];

			if (r->is_void)
				fuzz_found("a rule that is void");
			say(s, " %.*s %u %d", T(r->key), r->op, r->is_field);
			for (size_t v = 0; v < r->values_n; v++)
				say(s, ",%.*s", T(r->values[v]));
		}
	}
	say(s, "\n");
}

static void join_pod(struct store *s, uint32_t pod)
{
	struct saying out = { s->said[pod], 0, sizeof(s->said[pod]) };
	struct pod_storage p;

	volumes_join_pod(s->vs, pod, false, &s->arena, &p);
	if ((p.refused != VOLUME_REFUSED_NOT) != (*p.refusal != '\0'))
		fuzz_found("a refusal without text");
	say(&out, "%u %s\n", p.refused, p.refusal);
	for (size_t i = 0; i < p.rules_n; i++)
		say_rule(&out, &p.rules[i]);
	for (size_t i = 0; i < p.attachments_n; i++)
		say(&out, "%.*s %.*s\n", T(p.attachments[i].driver), T(p.attachments[i].volume));
	for (size_t i = 0; i < p.exclusives_n; i++)
		say(&out, "%.*s %u\n", T(p.exclusives[i].thing), p.exclusives[i].flags);
}

static void join_node(struct store *s, uint32_t node)
{
	struct saying out = { s->said[PODS + node], 0, sizeof(s->said[PODS + node]) };
	struct node_storage n;

	volumes_join_node(s->vs, node, &s->arena, &n);
	out.at[0] = '\0';
	for (size_t i = 0; i < n.limits_n; i++)
		say(&out, "%.*s %u\n", T(n.limits[i].driver), n.limits[i].most);
	for (size_t i = 0; i < n.attached_n; i++)
		say(&out, "%.*s %.*s\n", T(n.attached[i].driver), T(n.attached[i].volume));
}

static void set_pod(struct store *s, uint32_t pod, const char *json, size_t bytes)
{
	struct pod_object object;
	struct decode_error error;

	if (extract_pod(json, bytes, &s->arena, &object, &error) == 0)
		volumes_set_pod(s->vs, pod, &object);
}

static void start(struct store *s)
{
	static const uint64_t key[2] = { 7, 8 };
	static const char *const names[NODES] = { "n0", "n1" };
	struct decode_error error;

	s->arena = (struct arena){ 0 };
	s->vs = volumes_new(key, true);
	for (size_t i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		if (volumes_put(s->vs, base[i].kind, base[i].json, strlen(base[i].json), &s->arena,
		                &error) < 0)
			fuzz_found("the base: %s", error.text);
	for (uint32_t i = 0; i < NODES; i++) {
		struct pair pair = { text_of("zone"), text_of(i ? "z2" : "z1") };
		const struct pairs labels = { &pair, 1, 1 };

		volumes_set_node(s->vs, i, text_of(names[i]), &labels);
	}
	for (uint32_t i = 0; i < PODS; i++)
		set_pod(s, i, pods[i], strlen(pods[i]));
}

static void join_all(struct store *s)
{
	for (uint32_t i = 0; i < PODS; i++)
		join_pod(s, i);
	for (uint32_t i = 0; i < NODES; i++)
		join_node(s, i);
}

static void end(struct store *s)
{
	volumes_free(s->vs);
	arena_free(&s->arena);
}

/* The input as an object of that kind; VOLUME_KINDS: as a pod. */
static void put(struct store *s, int kind, const char *json, size_t bytes)
{
	struct decode_error error = { .text = "" };
	int rc;

	if (kind == VOLUME_KINDS) {
		set_pod(s, PODS - 1, json, bytes);
		join_pod(s, PODS - 1);
		return;
	}
	rc = volumes_put(s->vs, (enum volume_kind)kind, json, bytes, &s->arena, &error);
	if (rc < 0 && (rc != -EINVAL || !*error.text))
		fuzz_found("refused without a reason: %d", rc);
}

/* By the first name of a kind in it; without one, any. */
static int kind_of(const char *json, size_t bytes)
{
	for (int kind = 0; kind < VOLUME_KINDS; kind++)
		if (memmem(json, bytes, volume_resources[kind].kind, strlen(volume_resources[kind].kind)))
			return kind;
	if (memmem(json, bytes, "\"Pod\"", 5))
		return VOLUME_KINDS;
	return (int)(bytes % (VOLUME_KINDS + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct store changed, fresh;
	const char *json = (const char *)data;
	int kind = kind_of(json, bytes);
	uint32_t i;

	start(&changed);
	join_all(&changed);
	put(&changed, kind, json, bytes);
	while (volumes_next_pod(changed.vs, &i))
		join_pod(&changed, i);
	while (volumes_next_node(changed.vs, &i))
		join_node(&changed, i);
	start(&fresh);
	put(&fresh, kind, json, bytes);
	join_all(&fresh);
	for (i = 0; i < PODS + NODES; i++)
		if (strcmp(changed.said[i], fresh.said[i]) != 0)
			fuzz_found("kind %d: %s\nis not\n%s", kind, changed.said[i], fresh.said[i]);
	end(&changed);
	end(&fresh);
	return 0;
}
