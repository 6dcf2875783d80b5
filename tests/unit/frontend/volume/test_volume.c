/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, volumes and classes joined into what a pod asks of nodes. */
#include "frontend/decode/extract.h"
#include "frontend/volume/volume.h"

#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

static const uint64_t KEY[2] = { 3, 4 };

static struct store {
	struct volumes *vs;
	struct arena arena;
	char said[16384];
	size_t n;
} s;

static void store_init(bool can_wait)
{
	s = (struct store){ .vs = volumes_new(KEY, can_wait) };
	cr_assert(s.vs);
}

static void store_free(void)
{
	volumes_free(s.vs);
	arena_free(&s.arena);
}

TestSuite(volume, .fini = store_free);

__attribute__((format(printf, 1, 0))) static const char *quoted(const char *format, va_list args)
{
	char text[2048];
	char *copy;

	cr_assert_lt(vsnprintf(text, sizeof(text), format, args), (int)sizeof(text));
	copy = arena_copy(&s.arena, text_of(text));
	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	return copy;
}

__attribute__((format(printf, 2, 3))) static int put(enum volume_kind kind, const char *format, ...)
{
	struct decode_error error;
	const char *json;
	va_list args;

	va_start(args, format);
	json = quoted(format, args);
	va_end(args);
	return volumes_put(s.vs, kind, json, strlen(json), &s.arena, &error);
}

#define put_claim(...) put(VOLUME_KIND_CLAIM, __VA_ARGS__)
#define put_volume(...) put(VOLUME_KIND_VOLUME, __VA_ARGS__)
#define put_class(...) put(VOLUME_KIND_CLASS, __VA_ARGS__)

static void gone(enum volume_kind kind, const char *namespace, const char *name)
{
	struct meta meta = { .namespace = text_of(namespace), .name = text_of(name) };

	volumes_remove(s.vs, kind, &meta);
}

/* The pod ns/p<number> with the uid u<number>. */
static void pod(uint32_t number, const char *volumes)
{
	struct pod_object object;
	struct decode_error error;
	char text[4096];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p%u\",\"uid\":\"u%u\"},\"spec\":{\"volumes\":[%s]}}",
		number, number, volumes);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	cr_assert_eq(extract_pod(text, strlen(text), &s.arena, &object, &error), 0, "%s %s",
	             error.field, error.text);
	volumes_set_pod(s.vs, number, &object);
}

static void node(uint32_t number, const char *name, const char *zone)
{
	struct pair pair = { text_of("zone"), text_of(zone) };
	struct pairs labels = { &pair, *zone ? 1 : 0, 1 };

	volumes_set_node(s.vs, number, text_of(name), &labels);
}

#define CLAIM(name) "{'persistentVolumeClaim':{'claimName':'" name "'}}"
/* A claim of class c that is bound to the volume v, and that volume. */
#define BOUND(claim, volume)                                                                       \
	"{'metadata':{'namespace':'ns','name':'" claim                                                 \
	"','annotations':{'pv.kubernetes.io/bind-completed':'yes'}},"                                  \
	"'spec':{'storageClassName':'c','volumeName':'" volume "','accessModes':['ReadWriteOnce']}}"
#define VOLUME(name, rest)                                                                         \
	"{'metadata':{'name':'" name "'},'spec':{'storageClassName':'c'," rest "}}"
#define IN_ZONE(zone)                                                                                      \
	"'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone','operator':'In'," \
	"'values':['" zone "']}]}]}}"

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	s.n += (size_t)vsnprintf(s.said + s.n, sizeof(s.said) - s.n, format, args);
	va_end(args);
	cr_assert_lt(s.n, sizeof(s.said));
}

#define T(t) (int)(t).bytes, (t).at

static void say_rule(const struct volume_rule_object *rule)
{
	static const char *const ops[] = { "=", "!=", "exists", "missing" };
	static const char *const whys[FILTER_REASONS] = {
		[FILTER_VOLUME_NODE] = "node",   [FILTER_VOLUME_BIND] = "bind",
		[FILTER_VOLUME_SPACE] = "space", [FILTER_VOLUME_GONE] = "gone",
		[FILTER_VOLUME_ZONE] = "zone",
	};

	say("%s:", whys[rule->why]);
	for (size_t t = 0; t < rule->n; t++) {
		say("%s", t ? " |" : "");
		for (size_t r = 0; r < rule->terms[t].n; r++) {
			const struct node_rule *c = &rule->terms[t].rules[r];

			say(" %.*s %s", T(c->key), ops[c->op]);
			for (size_t v = 0; v < c->values_n; v++)
				say("%c%.*s", v ? ',' : ' ', T(c->values[v]));
		}
	}
	say("\n");
}

static const char *joined(uint32_t number, bool bound)
{
	struct pod_storage p;

	s.n = 0;
	s.said[0] = '\0';
	volumes_join_pod(s.vs, number, bound, &s.arena, &p);
	if (p.refused != VOLUME_REFUSED_NOT)
		say("%s: %s\n", p.refused == VOLUME_REFUSED_KUBE ? "no" : "not by us", p.refusal);
	for (size_t i = 0; i < p.rules_n; i++)
		say_rule(&p.rules[i]);
	for (size_t i = 0; i < p.attachments_n; i++)
		say("attach: %.*s %.*s\n", T(p.attachments[i].driver), T(p.attachments[i].volume));
	for (size_t i = 0; i < p.exclusives_n; i++)
		say("alone: %.*s%s%s\n", T(p.exclusives[i].thing),
		    p.exclusives[i].flags & EXCLUSIVE_SHARED ? " shared" : "",
		    p.exclusives[i].flags & EXCLUSIVE_CLAIM ? " everywhere" : "");
	return s.said;
}

static char *first_line(const char *text)
{
	static char line[1024];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

static void expect_said(uint32_t number, const char *part)
{
	cr_expect(strstr(joined(number, false), part), "%s is not in %s", part, s.said);
}

static void expect_first(uint32_t number, const char *line)
{
	cr_expect_str_eq(first_line(joined(number, false)), line);
}

static const char *joined_node(uint32_t number)
{
	struct node_storage n;

	s.n = 0;
	s.said[0] = '\0';
	volumes_join_node(s.vs, number, &s.arena, &n);
	for (size_t i = 0; i < n.limits_n; i++)
		say("limit: %.*s %u\n", T(n.limits[i].driver), n.limits[i].most);
	for (size_t i = 0; i < n.attached_n; i++)
		say("attached: %.*s %.*s\n", T(n.attached[i].driver), T(n.attached[i].volume));
	return s.said;
}

/* The texts are kube-scheduler's, and so is the order in which it finds fault. */
Test(volume, refuses_a_pod_in_the_order_of_the_plugins)
{
	store_init(true);
	put_class(
		"{'metadata':{'name':'wait'},'provisioner':'p','volumeBindingMode':'WaitForFirstConsumer'}");
	put_class("{'metadata':{'name':'now'},'provisioner':'p','volumeBindingMode':'Immediate'}");
	put_claim(BOUND("gone", "v-gone"));
	put_claim("{'metadata':{'namespace':'ns','name':'now'},'spec':{'storageClassName':'now'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'none'},'spec':{'storageClassName':'missing'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'asks'},'spec':{'storageClassName':'wait','volumeName':'v'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'lost'},'spec':{'volumeName':'v9'},'status':{'phase':'Lost'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'going','deletionTimestamp':'2026-01-01T00:00:00Z'}}");
	put_claim("{'metadata':{'namespace':'ns','name':'p1-e'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'p1-mine','ownerReferences':[{'kind':'Pod','uid':'u1','controller':true}]},"
		"'spec':{'storageClassName':'now'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'p1-his','ownerReferences':[{'kind':'Pod','uid':'u1','controller':false}]}}");
	static const struct {
		const char *volumes, *said;
	} rows[] = {
		{ CLAIM("x"), "no: persistentvolumeclaim \"x\" not found" },
		{ CLAIM("now"), "no: pod has unbound immediate PersistentVolumeClaims" },
		{ CLAIM("none"), "no: pod has unbound immediate PersistentVolumeClaims" },
		{ CLAIM("asks"), "no: pod has unbound immediate PersistentVolumeClaims" },
		{ CLAIM("gone"), "no: persistentvolume \"v-gone\" not found" },
		{ CLAIM("lost"),
		  "no: persistentvolumeclaim \"lost\" bound to non-existent persistentvolume \"v9\"" },
		{ CLAIM("going"), "no: persistentvolumeclaim \"going\" is being deleted" },
		{ "{'name':'z','ephemeral':{}}",
		  "no: waiting for ephemeral volume controller to create the persistentvolumeclaim \"p1-z\"" },
		{ "{'name':'e','ephemeral':{}}",
		  "no: PVC ns/p1-e was not created for pod ns/p1 (pod is not owner)" },
		{ "{'name':'his','ephemeral':{}}",
		  "no: PVC ns/p1-his was not created for pod ns/p1 (pod is not owner)" },
		{ "{'name':'mine','ephemeral':{}}",
		  "no: pod has unbound immediate PersistentVolumeClaims" },
		/* VolumeRestrictions before VolumeBinding; there, volume by volume; zones last. */
		{ "{'name':'z','ephemeral':{}}," CLAIM("lost") "," CLAIM("x"),
		  "no: persistentvolumeclaim \"x\" not found" },
		{ CLAIM("gone") "," CLAIM("now") "," CLAIM("going"),
		  "no: persistentvolumeclaim \"going\" is being deleted" },
		{ CLAIM("gone") "," CLAIM("now"), "no: pod has unbound immediate PersistentVolumeClaims" },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pod(1, rows[i].volumes);
		cr_expect_str_eq(first_line(joined(1, false)), rows[i].said, "%s: %s", rows[i].volumes,
		                 s.said);
		/* A pod that stands somewhere is past all that. */
		cr_expect(strncmp(joined(1, true), "no:", 3) != 0, "%s", rows[i].volumes);
	}
}

/* A claim of a pod's own volume that was bound to one which is gone: no node will do. */
Test(volume, ephemeral_volume_that_is_gone)
{
	store_init(true);
	put_claim(
		"{'metadata':{'namespace':'ns','name':'p1-e','annotations':{'pv.kubernetes.io/bind-completed':'yes'},"
		"'ownerReferences':[{'kind':'Pod','uid':'u1','controller':true}]},'spec':{'volumeName':'v'}}");
	pod(1, "{'name':'e','ephemeral':{}}");
	cr_expect_str_eq(joined(1, false), "gone:\n");
}

Test(volume, affinity_and_zones_of_bound_volumes)
{
	store_init(false);
	put_claim(BOUND("a", "va"));
	put_volume(VOLUME("va", IN_ZONE("z1")));
	put_claim(BOUND("b", "vb"));
	put_volume("{'metadata':{'name':'vb','labels':{'topology.kubernetes.io/zone':'z1__z2',"
	           "'failure-domain.beta.kubernetes.io/region':'r'}},'spec':{}}");
	put_claim(BOUND("c", "vc"));
	put_volume("{'metadata':{'name':'vc','labels':{'topology.kubernetes.io/zone':'z1__'}},'spec':{"
	           "'nodeAffinity':{'required':{'nodeSelectorTerms':[{}]}}}}");
	pod(1, CLAIM("a") "," CLAIM("b"));
	cr_expect_str_eq(
		joined(1, false),
		"node: zone = z1\n"
		"zone: failure-domain.beta.kubernetes.io/region = r |"
		" failure-domain.beta.kubernetes.io/region missing topology.kubernetes.io/region = r |"
		" failure-domain.beta.kubernetes.io/zone missing failure-domain.beta.kubernetes.io/region missing"
		" topology.kubernetes.io/zone missing topology.kubernetes.io/region missing\n"
		"zone: topology.kubernetes.io/zone = z1,z2 |"
		" failure-domain.beta.kubernetes.io/zone missing failure-domain.beta.kubernetes.io/region missing"
		" topology.kubernetes.io/zone missing topology.kubernetes.io/region missing\n");
	/* A label with an empty zone counts for nothing; a term without rules matches nothing. */
	pod(2, CLAIM("c"));
	cr_expect_str_eq(joined(2, false), "node:\n");
}

/* A volume's node selector sees no node's name, so In never holds, NotIn always. */
Test(volume, affinity_about_the_name_of_a_node)
{
	store_init(true);
	put_claim(BOUND("a", "va"));
	put_volume(VOLUME("va", "'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchFields':["
	                        "{'key':'metadata.name','operator':'NotIn','values':['n1']}]}]}}"));
	pod(1, CLAIM("a"));
	cr_expect_str_eq(joined(1, false), "node: metadata.name != \n");
}

Test(volume, attachments_are_distinct_volumes)
{
	store_init(false);
	put_class(
		"{'metadata':{'name':'ebs'},'provisioner':'kubernetes.io/aws-ebs','volumeBindingMode':'WaitForFirstConsumer'}");
	put_class("{'metadata':{'name':'d'},'provisioner':'d.example.com'}");
	put_claim(BOUND("a", "va"));
	put_volume(VOLUME("va", "'csi':{'driver':'d','volumeHandle':'h'}"));
	put_claim(BOUND("b", "vb"));
	put_volume(VOLUME("vb", "'csi':{'driver':'d','volumeHandle':'h'}"));
	put_claim(BOUND("l", "vl"));
	put_volume(VOLUME("vl", "'local':{'path':'/x'}"));
	put_claim(BOUND("t", "vt"));
	put_volume(VOLUME("vt", "'awsElasticBlockStore':{'volumeID':'aws://eu-1a/vol-7'}"));
	put_claim("{'metadata':{'namespace':'ns','name':'w'},'spec':{'storageClassName':'ebs'}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'i','annotations':"
		"{'volume.beta.kubernetes.io/storage-class':'d'}},'spec':{'storageClassName':'ebs'}}");
	pod(1,
	    CLAIM("a") "," CLAIM("b") "," CLAIM("a") "," CLAIM("l") "," CLAIM("t") "," CLAIM("w") "," CLAIM(
			"i") ",{'gcePersistentDisk':{'pdName':'pd'}},{'awsElasticBlockStore':{'volumeID':'vol-7'}},{'emptyDir':{}}");
	cr_expect_str_eq(
		joined(1, true),
		"attach: d h\n"
		"attach: ebs.csi.aws.com vol-7\n"
		"attach: ebs.csi.aws.com unbound ns/w\n"
		"attach: d.example.com unbound ns/i\n"
		"attach: pd.csi.storage.gke.io projects/UNSPECIFIED/zones/UNSPECIFIED/disks/pd\n"
		"alone: gce\npd\n"
		"alone: aws\nvol-7\n");
}

Test(volume, what_two_pods_cant_have_at_once)
{
	store_init(false);
	put_claim(
		"{'metadata':{'namespace':'ns','name':'one'},'spec':{'accessModes':['ReadWriteOncePod']}}");
	put_claim(
		"{'metadata':{'namespace':'ns','name':'p1-one','ownerReferences':[{'kind':'Pod','uid':'u1','controller':true}]},"
		"'spec':{'accessModes':['ReadWriteOncePod']}}");
	pod(1, CLAIM("one") ",{'name':'one','ephemeral':{}}");
	cr_expect_str_eq(joined(1, true), "alone: claim\nns\none everywhere\n");
	pod(2,
	    "{'gcePersistentDisk':{'pdName':'d','readOnly':true}},{'iscsi':{'iqn':'i','readOnly':true}},"
	    "{'iscsi':{'iqn':'i'}},{'rbd':{'monitors':['m1','m2'],'image':'x','readOnly':true}},"
	    "{'awsElasticBlockStore':{'volumeID':'v','readOnly':true}}");
	cr_expect_str_eq(strstr(joined(2, false), "alone"), "alone: gce\nd shared\n"
	                                                    "alone: iscsi\ni\n"
	                                                    "alone: rbd\nm1\nrbd\nx shared\n"
	                                                    "alone: rbd\nm2\nrbd\nx shared\n"
	                                                    "alone: aws\nv\n");
}

Test(volume, limits_and_attachments_of_a_node)
{
	store_init(false);
	node(4, "n1", "");
	put(VOLUME_KIND_NODE,
	    "{'metadata':{'name':'n1'},'spec':{'drivers':[{'name':'d2','allocatable':{'count':0}},"
	    "{'name':'d3','allocatable':{}},{'name':'d1','allocatable':{'count':7}},{'name':'d0'}]}}");
	put_volume(VOLUME("v1", "'csi':{'driver':'d1','volumeHandle':'h1'}"));
	put_volume(VOLUME("v2", "'local':{'path':'/'}"));
	for (int i = 0; i < 4; i++)
		put(VOLUME_KIND_ATTACHMENT,
		    "{'metadata':{'name':'a%d'},'spec':{'attacher':'d1','nodeName':'%s',"
		    "'source':{'persistentVolumeName':'v%d'}}}",
		    i, i == 0 ? "n2" : "n1", i);
	put(VOLUME_KIND_ATTACHMENT,
	    "{'metadata':{'name':'again'},'spec':{'attacher':'d1','nodeName':'n1',"
	    "'source':{'persistentVolumeName':'v1'}}}");
	cr_expect_str_eq(joined_node(4), "limit: d1 7\nlimit: d2 0\nattached: d1 h1\n");
}

static uint32_t dirty_pods(void)
{
	uint32_t bits = 0, p;

	while (volumes_next_pod(s.vs, &p))
		bits |= 1u << p;
	return bits;
}

static void waiting_world(bool binds)
{
	store_init(binds);
	put_class("{'metadata':{'name':'local'},'provisioner':'kubernetes.io/no-provisioner',"
	          "'volumeBindingMode':'WaitForFirstConsumer'}");
	put_class(
		"{'metadata':{'name':'made'},'provisioner':'d','volumeBindingMode':'WaitForFirstConsumer',"
		"'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['z1','z2']}]}]}");
	put(VOLUME_KIND_DRIVER, "{'metadata':{'name':'d'},'spec':{'storageCapacity':true}}");
	put(VOLUME_KIND_CAPACITY,
	    "{'metadata':{'namespace':'k','name':'c1'},'storageClassName':'made','capacity':'10Gi',"
	    "'nodeTopology':{'matchLabels':{'zone':'z1'}}}");
	put(VOLUME_KIND_CAPACITY,
	    "{'metadata':{'namespace':'k','name':'c2'},'storageClassName':'made','capacity':'10Gi',"
	    "'maximumVolumeSize':'1Gi','nodeTopology':{'matchLabels':{'zone':'z2'}}}");
	node(0, "n1", "z1");
	node(1, "n2", "z2");
	node(2, "n3", "z3");
}

static void wants(const char *name, const char *class, const char *size, const char *more)
{
	put_claim("{'metadata':{'namespace':'ns','name':'%s'%s},'spec':{'storageClassName':'%s',"
	          "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'%s'}}}}",
	          name, more, class, size);
}

static void has(const char *name, const char *size, const char *zone, const char *more)
{
	put_volume(
		"{'metadata':{'name':'%s'},'spec':{'storageClassName':'local','accessModes':['ReadWriteOnce'],"
		"'capacity':{'storage':'%s'}%s,'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'zone',"
		"'operator':'In','values':['%s']}]}]}}},'status':{'phase':'Available'}}",
		name, size, more, zone);
}

Test(volume, waiting_claims_are_matched_or_provisioned)
{
	waiting_world(true);
	wants("a", "local", "1Gi", "");
	wants("b", "local", "2Gi", "");
	wants("m", "made", "2Gi", "");
	wants("s", "made", "1Gi", ",'annotations':{'volume.kubernetes.io/selected-node':'n1'}");
	has("v1", "5Gi", "z1", "");
	has("v2", "2Gi", "z2", "");
	has("v3", "1Gi", "z2", "");
	has("v4", "512Mi", "z3", "");
	pod(1, CLAIM("a"));
	expect_first(1, "bind: metadata.name != n3");
	/* The smaller claim takes the smaller volume, whoever is named first. */
	pod(1, CLAIM("b") "," CLAIM("a"));
	expect_first(1, "bind: metadata.name = n2");
	/* No such zone; and no room for 2Gi where a volume may have 1Gi. */
	pod(1, CLAIM("m"));
	expect_said(1, "bind: metadata.name != n3\nspace: metadata.name != n2\n");
	pod(1, CLAIM("s"));
	expect_said(1, "bind: metadata.name = n1\n");
	/* Both reasons on one node: the first that can't be had is the one that is said. */
	pod(1, CLAIM("m") "," CLAIM("a"));
	expect_said(1, "bind: metadata.name != n3\nspace: metadata.name != n2\n");
}

Test(volume, waiting_claim_with_a_volume_of_its_own)
{
	waiting_world(true);
	wants("a", "local", "1Gi", "");
	has("v1", "1Gi", "z1", "");
	has("v2", "9Gi", "z2", ",'claimRef':{'namespace':'ns','name':'a'}");
	has("v3", "1Gi", "z3", ",'claimRef':{'namespace':'ns','name':'other'}");
	pod(1, CLAIM("a"));
	expect_said(1, "bind: metadata.name = n2\n");
	/* Too small, it is no candidate at all. */
	has("v2", "1Mi", "z2", ",'claimRef':{'namespace':'ns','name':'a'}");
	expect_said(1, "bind: metadata.name = n1\n");
}

/* Other modes, labels and states than the claim wants. */
Test(volume, volumes_that_will_not_do)
{
	waiting_world(true);
	put_claim(
		"{'metadata':{'namespace':'ns','name':'a'},'spec':{'storageClassName':'local','accessModes':['ReadWriteMany'],"
		"'volumeMode':'Block','volumeAttributesClassName':'gold','selector':{'matchLabels':{'tier':'1'}},'resources':{'requests':{'storage':'1Gi'}}}}");
	pod(1, CLAIM("a"));
	static const struct {
		const char *labels, *spec, *phase;
		bool will;
	} rows[] = {
		{ "'tier':'1'",
		  "'accessModes':['ReadWriteMany','ReadWriteOnce'],'volumeMode':'Block','volumeAttributesClassName':'gold','capacity':{'storage':'1Gi'}",
		  "Available", true },
		{ "'tier':'2'",
		  "'accessModes':['ReadWriteMany'],'volumeMode':'Block','volumeAttributesClassName':'gold','capacity':{'storage':'1Gi'}",
		  "Available", false },
		{ "'tier':'1'",
		  "'accessModes':['ReadWriteOnce'],'volumeMode':'Block','volumeAttributesClassName':'gold','capacity':{'storage':'1Gi'}",
		  "Available", false },
		{ "'tier':'1'",
		  "'accessModes':['ReadWriteMany'],'volumeAttributesClassName':'gold','capacity':{'storage':'1Gi'}",
		  "Available", false },
		{ "'tier':'1'",
		  "'accessModes':['ReadWriteMany'],'volumeMode':'Block','capacity':{'storage':'1Gi'}",
		  "Available", false },
		{ "'tier':'1'",
		  "'accessModes':['ReadWriteMany'],'volumeMode':'Block','volumeAttributesClassName':'gold','capacity':{'storage':'1023Mi'}",
		  "Available", false },
		{ "'tier':'1'",
		  "'accessModes':['ReadWriteMany'],'volumeMode':'Block','volumeAttributesClassName':'gold','capacity':{'storage':'1Gi'}",
		  "Released", false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_volume(
			"{'metadata':{'name':'v','labels':{%s}},'spec':{'storageClassName':'local',%s},'status':{'phase':'%s'}}",
			rows[i].labels, rows[i].spec, rows[i].phase);
		cr_expect_eq(strstr(joined(1, false), "bind:") == NULL, rows[i].will, "row %zu: %s", i,
		             s.said);
	}
}

/* The one who goes first takes the volume. */
Test(volume, what_was_assumed_is_taken)
{
	uint32_t dirty = UINT32_MAX;

	waiting_world(true);
	wants("a", "local", "1Gi", "");
	wants("b", "local", "1Gi", "");
	wants("m", "made", "1Gi", "");
	has("v1", "1Gi", "z1", "");
	pod(1, CLAIM("a") "," CLAIM("m") "," CLAIM("a"));
	pod(2, CLAIM("b"));
	pod(3, CLAIM("m"));
	for (uint32_t p = 1; p <= 3; p++)
		joined(p, false);
	/* Named twice, the claim finds one volume only. */
	expect_said(1, "bind:\n");
	pod(1, CLAIM("a") "," CLAIM("m"));
	expect_said(1, "bind: metadata.name = n1\n");
	volumes_assume(s.vs, 1, 0, &s.arena);
	cr_assert(volumes_next_pod(s.vs, &dirty));
	expect_first(1, "node: zone = z1");
	expect_said(2, "bind:\n");
	expect_said(3, "bind: metadata.name = n1\n");
}

/* Two that are planned at once must not both count on one volume. */
Test(volume, those_who_wait_for_the_same_are_kept_apart)
{
	waiting_world(true);
	wants("a", "local", "1Gi", "");
	wants("b", "local", "1Gi", "");
	wants("m", "made", "1Gi", "");
	has("v1", "1Gi", "z1", "");
	pod(1, CLAIM("a"));
	pod(2, CLAIM("b"));
	pod(3, CLAIM("m"));
	expect_said(1, "alone: wait\nlocal\n");
	expect_said(2, "alone: wait\nlocal\n");
	cr_expect_not(strstr(joined(3, false), "alone"), "%s", s.said);
	/* A claim that two pods share is bound by one of them. */
	pod(4, CLAIM("m") "," CLAIM("a"));
	cr_expect_eq(dirty_pods(), 1u << 1 | 1u << 3);
	expect_said(3, "alone: wait\nns\nm everywhere\n");
	cr_expect_str_eq(
		strstr(joined(4, false), "alone"),
		"alone: wait\nns\nm everywhere\nalone: wait\nlocal\nalone: wait\nns\na everywhere\n");
	cr_expect_not(strstr(joined(4, true), "alone"), "%s", s.said);
	pod(4, "");
	cr_expect_eq(dirty_pods(), 1u << 1 | 1u << 3);
	cr_expect_not(strstr(joined(3, false), "alone"), "%s", s.said);
}

Test(volume, live_waiting_claims_are_refused_by_us)
{
	waiting_world(false);
	wants("a", "local", "1Gi", "");
	pod(1, CLAIM("a"));
	expect_first(
		1, "not by us: persistentvolumeclaim \"a\" waits for its first consumer (class \"local\"), "
		   "and muster does not bind claims");
}

Test(volume, a_change_concerns_those_who_looked)
{
	uint32_t n;

	store_init(false);
	put_claim(BOUND("a", "va"));
	put_claim(BOUND("b", "vb"));
	put_volume(VOLUME("va", "'csi':{'driver':'d','volumeHandle':'h'}"));
	put_volume(VOLUME("vb", "'local':{}"));
	pod(1, CLAIM("a"));
	pod(2, CLAIM("a") "," CLAIM("b"));
	pod(3, CLAIM("missing"));
	for (uint32_t p = 1; p <= 3; p++)
		joined(p, false);
	cr_expect_eq(dirty_pods(), 0);
	put_volume(VOLUME("va", IN_ZONE("z")));
	cr_expect_eq(dirty_pods(), 1u << 1 | 1u << 2);
	put_volume(VOLUME("vb", IN_ZONE("z")));
	cr_expect_eq(dirty_pods(), 1u << 2);
	put_claim(BOUND("missing", "va"));
	cr_expect_eq(dirty_pods(), 1u << 3);
	gone(VOLUME_KIND_CLAIM, "ns", "a");
	cr_expect_eq(dirty_pods(), 1u << 1 | 1u << 2);
	pod(2, "");
	for (uint32_t p = 1; p <= 3; p++)
		joined(p, false);
	/* Pod 2 has no volumes any more. */
	put_claim(BOUND("a", "va"));
	cr_expect_eq(dirty_pods(), 1u << 1);
	/* A node: its CSINode, its attachments, their volumes. */
	node(0, "n1", "");
	joined_node(0);
	put(VOLUME_KIND_ATTACHMENT,
	    "{'metadata':{'name':'x'},'spec':{'attacher':'d','nodeName':'n1','source':{'persistentVolumeName':'vx'}}}");
	cr_assert(volumes_next_node(s.vs, &n));
	cr_expect_str_eq(joined_node(0), "");
	put_volume(VOLUME("vx", "'csi':{'driver':'d','volumeHandle':'h'}"));
	cr_assert(volumes_next_node(s.vs, &n));
	cr_expect_str_eq(joined_node(0), "attached: d h\n");
	put(VOLUME_KIND_NODE, "{'metadata':{'name':'n2'},'spec':{}}");
	cr_assert_not(volumes_next_node(s.vs, &n));
}

Test(volume, old_versions_lists_and_bad_objects)
{
	store_init(false);
#define LOST(version, phase)                                                                       \
	"{'metadata':{'namespace':'ns','name':'a','uid':'1','resourceVersion':'" version               \
	"'},'spec':{'volumeName':'v'},"                                                                \
	"'status':{'phase':'" phase "'}}"
	cr_assert_eq(put_claim(LOST("9", "Lost")), 0);
	pod(1, CLAIM("a"));
	cr_assert_eq(put_claim(LOST("8", "Bound")), 0);
	cr_expect(strstr(joined(1, false), "non-existent"));
	cr_assert_eq(put_claim(LOST("10", "Bound")), 0);
	cr_expect_eq(dirty_pods(), 1u << 1);
	cr_expect(strstr(joined(1, false), "unbound immediate"));
	/* A list without it. */
	volumes_replace_begin(s.vs, VOLUME_KIND_CLAIM);
	volumes_replace_abort(s.vs, VOLUME_KIND_CLAIM);
	volumes_replace_end(s.vs, VOLUME_KIND_CLAIM);
	cr_expect(strstr(joined(1, false), "unbound immediate"));
	volumes_replace_begin(s.vs, VOLUME_KIND_CLAIM);
	volumes_replace_end(s.vs, VOLUME_KIND_CLAIM);
	cr_expect_eq(dirty_pods(), 1u << 1);
	cr_expect(strstr(joined(1, false), "not found"));
	/* One that can't be read is as good as none, until a good version comes. */
	cr_assert_eq(put_claim(LOST("11", "Lost")), 0);
	cr_assert_eq(put_claim("{'metadata':{'namespace':'ns','name':'a'},'spec':{'volumeName':7}}"),
	             -EINVAL);
	cr_expect_eq(dirty_pods(), 1u << 1);
	cr_expect(strstr(joined(1, false), "not found"));
	cr_assert_eq(put_claim(LOST("10", "Lost")), 0);
	cr_expect(strstr(joined(1, false), "non-existent"));
	cr_assert_eq(put_claim("{'metadata':{}}"), -EINVAL);
	cr_assert_eq(
		put_claim("{'metadata':{'name':'q'},'spec':{'resources':{'requests':{'storage':'-1'}}}}"),
		-EINVAL);
}

#define WORLD_OBJECTS 5
#define WORLD_PODS 6
#define WORLD_NODES 3

struct world {
	struct random random;
	char objects[VOLUME_KINDS][WORLD_OBJECTS][1024]; /* "": there is none */
	char pods[WORLD_PODS][512];
	int zones[WORLD_NODES]; /* 0: no such node */
	char pod_said[WORLD_PODS][4096];
	char node_said[WORLD_NODES][4096];
};

static uint32_t any(struct world *w, uint32_t n)
{
	return random_below(&w->random, n);
}

static const char *maybe(struct world *w, const char *text)
{
	return any(w, 2) ? text : "";
}

static const char *const random_classes[] = { "c0", "c1", "c2" };

static void random_claim(struct world *w, uint32_t i, char *out, size_t bytes)
{
	char name[16];

	if (i < 3)
		snprintf(name, sizeof(name), "k%u", i);
	else
		snprintf(name, sizeof(name), "p%u-e", i);
	snprintf(
		out, bytes,
		"{'metadata':{'namespace':'ns','name':'%s'%s,'ownerReferences':[{'kind':'Pod','uid':'u%u','controller':true}],"
		"'annotations':{'x':'y'%s%s}},'spec':{'storageClassName':'%s','accessModes':['ReadWriteOnce'%s],"
		"'resources':{'requests':{'storage':'%uGi'}}",
		name, any(w, 12) ? "" : ",'deletionTimestamp':'2026-01-01T00:00:00Z'", i,
		maybe(w, ",'pv.kubernetes.io/bind-completed':''"),
		any(w, 6) ? "" : ",'volume.kubernetes.io/selected-node':'n1'", random_classes[any(w, 3)],
		any(w, 3) ? "" : ",'ReadWriteOncePod'", 1 + any(w, 3));
	if (any(w, 3) == 0)
		snprintf(out + strlen(out), bytes - strlen(out), ",'volumeName':'v%u'",
		         any(w, WORLD_OBJECTS));
	snprintf(out + strlen(out), bytes - strlen(out), "},'status':{'phase':'%s'}}",
	         any(w, 15) ? "Bound" : "Lost");
}

static void random_volume(struct world *w, uint32_t i, char *out, size_t bytes)
{
	static const char *const sources[] = { "'csi':{'driver':'d0','volumeHandle':'h1'}",
		                                   "'csi':{'driver':'d1','volumeHandle':'h2'}",
		                                   "'local':{}", "'azureDisk':{'diskURI':'u'}" };

	snprintf(
		out, bytes,
		"{'metadata':{'name':'v%u','labels':{'topology.kubernetes.io/zone':'%s'}},'spec':{'storageClassName':'%s',"
		"'capacity':{'storage':'%uGi'},'accessModes':['ReadWriteOnce'],%s,%s%s},'status':{'phase':'%s'}}",
		i, maybe(w, "z1__z2"), random_classes[any(w, 3)], 1 + any(w, 4), sources[any(w, 4)],
		any(w, 2) ? IN_ZONE("z1") : IN_ZONE("z2"),
		any(w, 4) ? "" : ",'claimRef':{'namespace':'ns','name':'k0'}",
		any(w, 3) ? "Available" : "Bound");
}

static void random_object(struct world *w, enum volume_kind kind, uint32_t i, char *out,
                          size_t bytes)
{
	switch (kind) {
	case VOLUME_KIND_CLAIM:
		random_claim(w, i, out, bytes);
		break;
	case VOLUME_KIND_VOLUME:
		random_volume(w, i, out, bytes);
		break;
	case VOLUME_KIND_CLASS:
		snprintf(
			out, bytes,
			"{'metadata':{'name':'c%u'},'provisioner':'d%u','volumeBindingMode':'%s'%s}", i,
			any(w, 2), any(w, 4) ? "WaitForFirstConsumer" : "Immediate",
			maybe(
				w,
				",'allowedTopologies':[{'matchLabelExpressions':[{'key':'zone','values':['z1']}]}]"));
		break;
	case VOLUME_KIND_NODE:
		snprintf(
			out, bytes,
			"{'metadata':{'name':'n%u'},'spec':{'drivers':[{'name':'d0','allocatable':{'count':%u}}]}}",
			i, any(w, 9));
		break;
	case VOLUME_KIND_DRIVER:
		snprintf(out, bytes, "{'metadata':{'name':'d%u'},'spec':{'storageCapacity':%s}}", i,
		         any(w, 3) ? "true" : "false");
		break;
	case VOLUME_KIND_CAPACITY:
		snprintf(
			out, bytes,
			"{'metadata':{'namespace':'k','name':'s%u'},'storageClassName':'%s','capacity':'%uGi','nodeTopology':{%s}}",
			i, random_classes[any(w, 3)], any(w, 4), maybe(w, "'matchLabels':{'zone':'z1'}"));
		break;
	default:
		snprintf(
			out, bytes,
			"{'metadata':{'name':'a%u'},'spec':{'attacher':'d0','nodeName':'n%u','source':{'persistentVolumeName':'v%u'}}}",
			i, any(w, WORLD_NODES), any(w, WORLD_OBJECTS));
		break;
	}
}

static void random_pod(struct world *w, char *out, size_t bytes)
{
	static const char *const volumes[] = { CLAIM("k0"), CLAIM("k1"), CLAIM("k2"),
		                                   "{'name':'e','ephemeral':{}}",
		                                   "{'rbd':{'monitors':['m'],'image':'x'}}" };

	snprintf(out, bytes, "%s%s%s", volumes[any(w, 5)], any(w, 2) ? "," : "", "");
	if (out[strlen(out) - 1] == ',')
		snprintf(out + strlen(out), bytes - strlen(out), "%s", volumes[any(w, 5)]);
	if (any(w, 8) == 0)
		*out = '\0';
}

static void put_object(enum volume_kind kind, const char *text, const char *name_of)
{
	struct meta meta = { .kind = { "", 0 } };
	struct decode_error error;

	if (*text) {
		cr_assert_eq(put(kind, "%s", text), 0);
		return;
	}
	if (!*name_of)
		return;
	const char *json = arena_copy(&s.arena, text_of(name_of));
	for (char *c = strchr(json, '{'); *c; c++)
		if (*c == '\'')
			*c = '"';
	cr_assert_eq(extract_meta(json, strlen(json), &s.arena, &meta, &error), 0);
	volumes_remove(s.vs, kind, &meta);
}

static void set_node(uint32_t i, int zone)
{
	static const char *const names[] = { "n0", "n1", "n2" };
	static const char *const zones[] = { "", "z1", "z2" };

	if (zone)
		node(i, names[i], zones[zone - 1]);
	else
		volumes_drop_node(s.vs, i);
}

/* What a store says that never knew anything else. */
static void check_world(struct world *w)
{
	const struct store kept = s;

	store_init(true);
	for (uint32_t i = 0; i < WORLD_NODES; i++)
		set_node(i, w->zones[i]);
	for (int k = VOLUME_KINDS - 1; k >= 0; k--)
		for (int i = WORLD_OBJECTS - 1; i >= 0; i--)
			put_object((enum volume_kind)k, w->objects[k][i], "");
	for (uint32_t i = 0; i < WORLD_PODS; i++)
		pod(i, w->pods[i]);
	for (uint32_t i = 0; i < WORLD_PODS; i++) {
		cr_assert_str_eq(w->pod_said[i], joined(i, i == 0), "pod %u: %s", i, w->pods[i]);
	}
	for (uint32_t i = 0; i < WORLD_NODES; i++) {
		/* Attachments come in any order. */
		cr_assert_eq(strlen(w->node_said[i]), strlen(joined_node(i)), "node %u: %s not %s", i,
		             w->node_said[i], s.said);
	}
	store_free();
	s = kept;
}

static void change_world(struct world *w)
{
	uint32_t what = any(w, 10), i;

	if (what == 0) {
		i = any(w, WORLD_NODES);
		w->zones[i] = (int)any(w, 4);
		set_node(i, w->zones[i]);
		snprintf(w->node_said[i], sizeof(w->node_said[i]), "%s", joined_node(i));
	} else if (what == 1) {
		i = any(w, WORLD_PODS);
		random_pod(w, w->pods[i], sizeof(w->pods[i]));
		pod(i, w->pods[i]);
		snprintf(w->pod_said[i], sizeof(w->pod_said[i]), "%s", joined(i, i == 0));
	} else {
		enum volume_kind kind = (enum volume_kind)any(w, VOLUME_KINDS);
		char old[1024];

		i = any(w, WORLD_OBJECTS);
		memcpy(old, w->objects[kind][i], sizeof(old));
		w->objects[kind][i][0] = '\0';
		if (any(w, 5))
			random_object(w, kind, i, w->objects[kind][i], sizeof(w->objects[kind][i]));
		put_object(kind, w->objects[kind][i], old);
	}
}

Test(volume, changes_one_by_one_are_as_good_as_all_at_once)
{
	struct world *w = calloc(1, sizeof(*w));
	uint32_t i, joins = 0, waited = 0;

	store_init(true);
	w->random = random_start("volume");
	for (int step = 0; step < 3000; step++) {
		change_world(w);
		for (; volumes_next_pod(s.vs, &i); joins++)
			snprintf(w->pod_said[i], sizeof(w->pod_said[i]), "%s", joined(i, i == 0));
		for (; volumes_next_node(s.vs, &i); joins++)
			snprintf(w->node_said[i], sizeof(w->node_said[i]), "%s", joined_node(i));
		for (i = 0; i < WORLD_PODS; i++)
			waited += strstr(w->pod_said[i], "bind: m") || strstr(w->pod_said[i], "space: m");
		if (step % 4 == 0)
			check_world(w);
		arena_reset(&s.arena);
	}
	cr_expect_gt(joins, 500);
	cr_expect_gt(waited, 100);
	free(w);
}
