/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of the store of volumes fails once: the call says so, and the same
 * call again does what it would have done. */
#include "frontend/decode/extract.h"
#include "frontend/volume/volume.h"

#include "tests/unit/support_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define CLAIMS 3

struct run {
	struct volumes *vs;
	struct arena arena;
	unsigned failures;
	char said[16384];
	size_t n;
};

/* Again, if it failed; each call may fail once. */
#define AGAIN(r, call)                                                                             \
	do {                                                                                           \
		int rc_ = (call);                                                                          \
		if (rc_ == -ENOMEM) {                                                                      \
			(r)->failures++;                                                                       \
			arena_reset(&(r)->arena);                                                              \
			rc_ = (call);                                                                          \
		}                                                                                          \
		cr_assert_eq(rc_, 0);                                                                      \
	} while (0)

static void put(struct run *r, enum volume_kind kind, const char *json)
{
	struct decode_error error;

	AGAIN(r, volumes_put(r->vs, kind, json, strlen(json), &r->arena, &error));
}

static void put_claim(struct run *r, int i)
{
	char json[1024];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"c%d\",\"namespace\":\"ns\",\"annotations\":{\"volume.beta.kubernetes.io/storage-class\":"
		"\"lo\\u0063al\"}},\"spec\":{\"accessModes\":[\"ReadWriteOncePod\"],\"resources\":{\"requests\":{\"storage\":\"%dGi\"}}}}",
		i, i);
	put(r, VOLUME_KIND_CLAIM, json);
	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"v%d\",\"labels\":{\"topology.kubernetes.io/zone\":\"z__y\"}},\"spec\":{\"storageClassName\":\"local\","
		"\"accessModes\":[\"ReadWriteOncePod\"],\"capacity\":{\"storage\":\"%dGi\"},\"csi\":{\"driver\":\"d\",\"volumeHandle\":\"h%d\"},"
		"\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"%s\","
		"\"values\":[\"a\"]}]}]}}},\"status\":{\"phase\":\"Available\"}}",
		i, i, i, i % 2 ? "In" : "NotIn");
	put(r, VOLUME_KIND_VOLUME, json);
}

static void set_pod(struct run *r, int i)
{
	struct decode_error error;
	struct pod_object object;
	char json[1024];

	snprintf(
		json, sizeof(json),
		"{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\"},\"spec\":{\"volumes\":[{\"persistentVolumeClaim\":{\"claimName\":\"c%d\"}},"
		"{\"rbd\":{\"monitors\":[\"m\",\"\\u006e\"],\"image\":\"i\"}}%s]}}",
		i, i, i == 0 ? ",{\"persistentVolumeClaim\":{\"claimName\":\"c1\"}}" : "");
	AGAIN(r, extract_pod(json, strlen(json), &r->arena, &object, &error));
	/* The object stands where a reset would take it away. */
	if (volumes_set_pod(r->vs, (uint32_t)i, &object) < 0) {
		r->failures++;
		cr_assert_eq(volumes_set_pod(r->vs, (uint32_t)i, &object), 0);
	}
}

static void say(struct run *r, const char *what, struct text t)
{
	r->n += (size_t)snprintf(r->said + r->n, sizeof(r->said) - r->n, "%s %.*s\n", what,
	                         (int)t.bytes, t.at);
	cr_assert_lt(r->n, sizeof(r->said));
}

static void join_pods(struct run *r)
{
	struct pod_storage s;

	for (uint32_t p = 0; p < CLAIMS; p++) {
		AGAIN(r, volumes_join_pod(r->vs, p, false, &r->arena, &s));
		say(r, "refusal", text_of(s.refusal));
		for (size_t i = 0; i < s.rules_n; i++)
			for (size_t t = 0; t < s.rules[i].n; t++)
				for (size_t c = 0; c < s.rules[i].terms[t].n; c++)
					for (size_t v = 0; v < s.rules[i].terms[t].rules[c].values_n; v++)
						say(r, "value", s.rules[i].terms[t].rules[c].values[v]);
		for (size_t i = 0; i < s.attachments_n; i++)
			say(r, "attach", s.attachments[i].volume);
		for (size_t i = 0; i < s.exclusives_n; i++)
			say(r, "alone", s.exclusives[i].thing);
	}
}

static void join_node(struct run *r)
{
	struct node_storage s;

	AGAIN(r, volumes_join_node(r->vs, 0, &r->arena, &s));
	for (size_t i = 0; i < s.limits_n; i++)
		say(r, "limit", s.limits[i].driver);
	for (size_t i = 0; i < s.attached_n; i++)
		say(r, "attached", s.attached[i].volume);
}

static void set_nodes(struct run *r)
{
	static const char *const names[] = { "n0", "n1" };
	struct pair pair = { text_of("k"), text_of("a") };
	const struct pairs labels = { &pair, 1, 1 }, none = { NULL, 0, 0 };

	for (uint32_t i = 0; i < 2; i++)
		AGAIN(r, volumes_set_node(r->vs, i, text_of(names[i]), i ? &labels : &none));
}

static void work(struct run *r)
{
	put(r, VOLUME_KIND_CLASS,
	    "{\"metadata\":{\"name\":\"local\"},\"provisioner\":\"d\",\"volumeBindingMode\":\"WaitForFirstConsumer\","
	    "\"allowedTopologies\":[{\"matchLabelExpressions\":[{\"key\":\"k\",\"values\":[\"b\"]}]}]}");
	put(r, VOLUME_KIND_NODE,
	    "{\"metadata\":{\"name\":\"n0\"},\"spec\":{\"drivers\":[{\"name\":\"d\",\"allocatable\":{\"count\":2}}]}}");
	put(r, VOLUME_KIND_ATTACHMENT,
	    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"attacher\":\"d\",\"nodeName\":\"n0\","
	    "\"source\":{\"persistentVolumeName\":\"v1\"}}}");
	set_nodes(r);
	for (int i = 0; i < CLAIMS; i++) {
		put_claim(r, i);
		set_pod(r, i);
	}
	join_node(r);
	join_pods(r);
	AGAIN(r, volumes_assume(r->vs, 0, 0, &r->arena));
	join_pods(r);
	join_node(r);
}

/* The text of a run in which the allocation after `after` others fails. */
static unsigned run(long after, char *said, size_t bytes)
{
	static const uint64_t key[2] = { 5, 6 };
	struct run *r = calloc(1, sizeof(*r));
	unsigned failures;

	r->vs = volumes_new(key, true);
	cr_assert(r->vs);
	fail_in = after;
	work(r);
	fail_in = -1;
	snprintf(said, bytes, "%s", r->said);
	failures = r->failures;
	volumes_free(r->vs);
	arena_free(&r->arena);
	free(r);
	return failures;
}

Test(volume, every_allocation_fails_once)
{
	static char whole[16384], said[16384];
	long after = 0;

	cr_assert_eq(run(-1, whole, sizeof(whole)), 0);
	cr_assert(strstr(whole, "attach h2"));
	if (!CAN_FAIL)
		return;
	while (run(after, said, sizeof(said)) > 0) {
		cr_expect_str_eq(said, whole, "allocation %ld", after);
		after++;
	}
	cr_expect_gt(after, 50, "%ld", after);
}
