/* SPDX-License-Identifier: Apache-2.0 */
/* Pods whose claims, of devices or volumes, change: when they are planned again. */
#include "tests/unit/support_rules.h"

#define PODS 20
#define REST_NS UINT64_C(100000000) /* 5 ms for each of them */
#define FIRST_NS (1000 * REST_NS)
#define DEVICES "resource.k8s.io/v1"
#define WAITS "its claims were changed again soon after a change, which applies within a minute"

static void start_live(void)
{
	start_model((struct model_config){ .limits = SMALL, .devices_live = true }, 1);
	replay_add_core(&s.replay);
	put(DEVICES, "DeviceClass", "", "gpus", "", "\"spec\":{}");
	cr_assert_eq(model_respread(s.m, FIRST_NS), UINT64_MAX);
}

TestSuite(model_claims, .init = start_live, .fini = end);

static const struct claim {
	const char *api_version, *kind, *of_pod, *spec, *other, *gone;
} device_claim = {
	DEVICES,
	"ResourceClaim",
	"\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"c\"}]",
	"\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpus\"}}]}}",
	"\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpus\","
	"\"count\":2}}]}}",
	"could not find ResourceClaim \"ns/c\"",
}, volume_claim = {
	"v1",
	"PersistentVolumeClaim",
	"\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]",
	"\"spec\":{\"volumeName\":\"here\",\"accessModes\":[\"ReadWriteMany\"]}",
	"\"spec\":{\"volumeName\":\"there\",\"accessModes\":[\"ReadWriteMany\"]}",
	"persistentvolumeclaim \"c\" not found",
};

static void put_volume(const char *name)
{
	char rest[512];

	snprintf(rest, sizeof(rest),
	         "\"spec\":{\"claimRef\":{\"namespace\":\"ns\",\"name\":\"c\",\"uid\":\"u-c\"},"
	         "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{"
	         "\"key\":\"place\",\"operator\":\"In\",\"values\":[\"%s\"]}]}]}}}",
	         name);
	put("v1", "PersistentVolume", "", name, "", rest);
}

static void put_claim(const struct claim *c, const char *spec)
{
	put(c->api_version, c->kind, "ns", "c",
	    "\"annotations\":{\"pv.kubernetes.io/bind-completed\":\"yes\"}", spec);
}

static void remove_claim(const struct claim *c)
{
	delete (c->api_version, c->kind, "ns", "c");
}

static void put_pods(const struct claim *c)
{
	char name[16];

	put_volume("here");
	put_volume("there");
	for (int i = 0; i < PODS; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		put_pod(name, "\"app\":\"web\"", c->of_pod);
	}
}

/* Sends everything first.  All pods are refused with that text, NULL: none. */
static void expect(const char *refusal, const char *when)
{
	char name[16];

	flush();
	for (int i = 0; i < PODS; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		cr_assert_eq(!(pod(name)->flags & POD_REFUSED), !refusal, "%s, %s: %s", name, when,
		             view_of(name).refusal);
		if (refusal)
			cr_assert(strstr(view_of(name).refusal, refusal), "%s, %s: %s", name, when,
			          view_of(name).refusal);
	}
}

/* A tenant whose 2,000 waiting pods name a claim that it deleted and created 50 times a second kept
 * the gangs of other namespaces from being planned. */
static void changes_wait(const struct claim *c)
{
	put_pods(c);
	expect(c->gone, "before");
	put_claim(c, c->spec);
	expect(NULL, "the first claim");
	remove_claim(c);
	expect(c->gone, "deleted");
	put_claim(c, c->spec);
	expect(NULL, "one change");
	for (uint64_t i = 1; i < 50; i++) {
		model_respread(s.m, FIRST_NS + i * REST_NS / 51);
		remove_claim(c);
		expect(i == 1 ? c->gone : WAITS, "deleted again");
		put_claim(c, i % 2 ? c->spec : c->other);
		expect(WAITS, "created again");
	}
	put_pod("after", "\"app\":\"web\"", c->of_pod);
	put_pod("p0", "\"app\":\"web\",\"x\":\"y\"", c->of_pod);
	expect(WAITS, "a pod is written");
	cr_assert(!(pod("after")->flags & POD_REFUSED), "a new pod has its first claim");
	cr_assert_eq(model_respread(s.m, FIRST_NS + REST_NS - 1), FIRST_NS + REST_NS);
	expect(WAITS, "just before its time");
	cr_assert_eq(model_respread(s.m, FIRST_NS + REST_NS), UINT64_MAX);
	expect(NULL, "in time");
}

/* What applied was a change, after which they wait as long; but not with a claim that is gone. */
static void gone_meanwhile(const struct claim *c)
{
	put_pods(c);
	put_claim(c, c->spec);
	expect(NULL, "the first claim");
	put_claim(c, c->other);
	expect(NULL, "one change");
	model_respread(s.m, FIRST_NS + 1);
	put_claim(c, c->spec);
	expect(WAITS, "another one");
	remove_claim(c);
	expect(WAITS, "deleted");
	model_respread(s.m, FIRST_NS + REST_NS);
	expect(c->gone, "in time");
	model_respread(s.m, FIRST_NS + 2 * REST_NS);
	put_claim(c, c->spec);
	expect(NULL, "created");
	model_respread(s.m, FIRST_NS + 9 * REST_NS);
	put_claim(c, c->other);
	expect(NULL, "a change now and then");
}

Test(model_claims, of_devices_that_change_again_and_again_let_their_pods_wait)
{
	changes_wait(&device_claim);
}

Test(model_claims, of_volumes_that_change_again_and_again_let_their_pods_wait)
{
	changes_wait(&volume_claim);
}

Test(model_claims, of_devices_that_are_gone_when_changes_apply_refuse_their_pods)
{
	gone_meanwhile(&device_claim);
}

Test(model_claims, of_volumes_that_are_gone_when_changes_apply_refuse_their_pods)
{
	gone_meanwhile(&volume_claim);
}

/* Others of the namespace are planned, and what leaves a pod as it is does not count. */
Test(model_claims, that_change_concern_the_pods_that_name_them)
{
	put_pods(&device_claim);
	put_claim(&device_claim, device_claim.spec);
	put_pod("other", "", "\"resourceClaims\":[{\"name\":\"g\",\"resourceClaimName\":\"d\"}]");
	put_pod("plain", "", "");
	flush();
	put_claim(&device_claim, device_claim.other);
	expect(NULL, "one change");
	model_respread(s.m, FIRST_NS + 1);
	put_claim(&device_claim, device_claim.other);
	expect(NULL, "nothing changes");
	put_claim(&device_claim, device_claim.spec);
	put(DEVICES, "ResourceClaim", "ns", "d", "", device_claim.spec);
	put_pod("plain", "\"a\":\"b\"", "");
	expect(WAITS, "another one");
	cr_assert(!(pod("other")->flags & POD_REFUSED), "its first claim");
	cr_assert(!(pod("plain")->flags & POD_REFUSED));
	/* Without them its names are free: nothing is left of them. */
	for (int i = 0; i < PODS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		delete ("v1", "Pod", "ns", name);
	}
	put_pod("new", "", device_claim.of_pod);
	flush();
	cr_assert(!(pod("new")->flags & POD_REFUSED), "in the slot of one that waited");
	model_respread(s.m, FIRST_NS + REST_NS);
	flush();
}

/* One write of the claim of one pod is one plan, as of the pod. */
Test(model_claims, of_one_pod_that_change_apply_at_once)
{
	put_volume("here");
	put_volume("there");
	put_pod("p", "", device_claim.of_pod);
	put_pod("q", "", volume_claim.of_pod);
	for (uint64_t i = 0; i < 10; i++) {
		model_respread(s.m, FIRST_NS + i);
		put_claim(&device_claim, i % 2 ? device_claim.spec : device_claim.other);
		put_claim(&volume_claim, i % 2 ? volume_claim.spec : volume_claim.other);
		flush();
		cr_assert(!(pod("p")->flags & POD_REFUSED), "%s", view_of("p").refusal);
		cr_assert(!(pod("q")->flags & POD_REFUSED), "%s", view_of("q").refusal);
	}
}
