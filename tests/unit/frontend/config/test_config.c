/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: what it sets, and what is said of one that is wrong. */
#include "frontend/config/config.h"
#include "frontend/dialect/dialects.h"
#include "frontend/api/label_selector.h"
#include "frontend/config/options.h"

#include "tests/unit/test.h"

#include <unistd.h>

#define HEAD "apiVersion: muster.dev/v1alpha1\nkind: Configuration\n"

static char error[1200];

static int read_text(struct options *o, const char *text)
{
	error[0] = '\0';
	options_start(o);
	return config_read_text("c.yaml", text, strlen(text), o, error, sizeof(error));
}

Test(config, defaults)
{
	struct options o;

	cr_assert_eq(read_text(&o, HEAD), 0, "%s", error);
	cr_expect_str_eq(o.socket, "/run/muster/muster.sock");
	cr_expect_str_eq(o.listen, "127.0.0.1:10261");
	cr_expect_null(o.kubeconfig);
	cr_expect_null(o.node_selector);
	cr_expect_eq(o.scheduler_names.n, 1);
	cr_expect_str_eq(o.scheduler_names.at[0], "muster");
	cr_expect_eq(o.bind_connections, 0, "it seeks");
	cr_expect_eq(o.event_ring_bytes, 8 << 20);
	cr_expect_eq(o.cpu, -1);
	cr_expect_not(o.insecure);
	cr_expect_eq(o.permit_s, -1, "upstream's 60 is for what is not held here");
	cr_expect_eq(o.core.reserve_after_s, 60);
	cr_expect_eq(o.from_file, 0);
	options_settle(&o);
	cr_expect_eq(options_off(&o), 0, "all dialects are on");
	cr_expect_eq(o.dialects.n, dialects_n);
	options_free(&o);
}

Test(config, all_kinds)
{
	struct options o;

	cr_assert_eq(
		read_text(
			&o, HEAD
			"schedulerNames: [a, 'b', a]\nnodeSelector: 'pool in (x, y)'\nlisten: off\n"
			"insecureSkipTLSVerify: true\nreportQPS: 0x10\neventRingBytes: 131072\nlogLevel: warn\n"
			"coscheduling: {podGroupRejectPercentage: 0, permitWaitingTimeSeconds: 900}\n"
			"core:\n  record: &r /tmp/r\n  maxNodes: 1048576\nkubeconfig: *r\ncontext: ~\n"),
		0, "%s", error);
	cr_expect_eq(o.scheduler_names.n, 2, "one name twice is one");
	cr_expect_str_eq(o.scheduler_names.at[1], "b");
	cr_expect_str_eq(o.node_selector, "pool in (x, y)");
	cr_expect_str_eq(o.listen, "off");
	cr_expect(o.insecure);
	cr_expect_eq(o.report_per_second, 16);
	cr_expect_eq(o.event_ring_bytes, 131072);
	cr_expect_str_eq(o.log_level, "warn");
	cr_expect_eq(o.reject_percent, 0);
	cr_expect_eq(o.permit_s, 900);
	cr_expect_eq(o.core.max_nodes, 1048576);
	cr_expect_str_eq(o.core.record, "/tmp/r");
	cr_expect_str_eq(o.kubeconfig, "/tmp/r");
	cr_expect_null(o.context, "a null is as good as not there");
	cr_expect(o.from_file & setting_bit(setting_by_flag("--kubeconfig")));
	cr_expect_not(o.from_file & setting_bit(setting_by_flag("--context")));
	options_free(&o);
}

Test(config, a_key_by_its_former_name)
{
	struct options o;

	cr_assert_eq(read_text(&o, HEAD "core:\n  holdAfterSeconds: 7\n"), 0, "%s", error);
	cr_expect_eq(o.core.reserve_after_s, 7);
	options_free(&o);
}

/* Instances that divide a cluster have a journal each, those that elect a leader share one. */
Test(config, journals)
{
	static const char *const texts[] = { "",
		                                 "leaderElection: {leaderElect: true, resourceName: east}\n"
		                                 "nodeSelector: a=b\n",
		                                 "journal: off\n",
		                                 "schedulerNames: [a]\n",
		                                 "schedulerNames: [b]\n",
		                                 "schedulerNames: [a, b]\n",
		                                 "schedulerNames: [b, a]\n",
		                                 "nodeSelector: a=b\n",
		                                 "nodeSelector: a=c\n",
		                                 "schedulerNames: [a]\nnodeSelector: a=b\n" };
	struct journal_place places[sizeof(texts) / sizeof(texts[0])], past;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[300];
		struct options o;

		snprintf(text, sizeof(text), "%s%s", HEAD, texts[i]);
		cr_assert_eq(read_text(&o, text), 0, "%s", error);
		cr_expect_eq(options_journal(&o, &places[i]), i != 2);
		cr_expect(!options_past(&o, &past), "history is off");
		options_free(&o);
		for (size_t k = 3; i > 3 && k < i; k++)
			cr_expect_str_neq(places[k].name, places[i].name, "%s and %s", texts[k], texts[i]);
	}
	cr_expect_str_eq(places[0].namespace, "muster-system");
	cr_expect_str_eq(places[0].name, "muster-journal");
	cr_expect_str_eq(places[1].name, "east-journal");
	cr_expect_str_eq(places[3].name, "muster-journal-b89b1813", "the next version reads it");
}

/* The history of queues is beside the journal. */
Test(config, the_place_of_history)
{
	static const struct {
		const char *text, *namespace, *name;
	} cases[] = {
		{ "", "muster-system", "muster-queue-history" },
		{ "journal: off\n", "muster-system", "muster-queue-history" },
		{ "journal: other/j\n", "other", "muster-queue-history" },
		{ "leaderElection: {leaderElect: true, resourceName: east, resourceNamespace: n}\n", "n",
		  "east-queue-history" },
		{ "schedulerNames: [a]\n", "muster-system", "muster-queue-history-b89b1813" },
	};
	struct journal_place past;
	struct options o;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[300];

		snprintf(text, sizeof(text), "%squeues: {source: config, historyFactor: 1}\n%s", HEAD,
		         cases[i].text);
		cr_assert_eq(read_text(&o, text), 0, "%s", error);
		cr_assert(options_past(&o, &past));
		cr_expect_str_eq(past.namespace, cases[i].namespace);
		cr_expect_str_eq(past.name, cases[i].name);
		options_free(&o);
	}
	cr_assert_eq(read_text(&o, HEAD "queues: {historyFactor: 1}\n"), 0, "%s", error);
	cr_assert(!options_past(&o, &past), "there are no queues");
	options_free(&o);
}

Test(config, unshared_resources)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{ "gpu", ":23: queues.unsharedResources[0]: \"gpu\": no resource: there are cpu, memory," },
		{ "pods, a/b/c", "queues.unsharedResources[1]: \"a/b/c\": no resource" },
		{ "a/", "\"a/\": no resource" },
		{ "/a", "\"/a\": no resource" },
		{ "\"a b/c\"", "\"a b/c\": no resource" },
		{ "\"\"", "no resource" },
		{ "1", "queues.unsharedResources[0]: a text is expected, not a number" },
	};
	struct options o;
	char text[300];

	cr_assert_eq(read_text(&o, HEAD), 0, "%s", error);
	cr_assert_eq(o.unshared.n, 2);
	cr_expect_str_eq(o.unshared.at[0], "pods");
	cr_expect_str_eq(o.unshared.at[1], "ephemeral-storage");
	options_free(&o);
	cr_assert_eq(read_text(&o, HEAD "queues: {unsharedResources: []}\n"), 0, "%s", error);
	cr_expect_eq(o.unshared.n, 0);
	cr_expect_not_null(o.unshared.at, "all resources count");
	options_free(&o);
	cr_assert_eq(
		read_text(&o, HEAD "queues: {unsharedResources: [hugepages-2Mi, nvidia.com/gpu]}\n"), 0,
		"%s", error);
	cr_assert_eq(o.unshared.n, 2);
	cr_expect_str_eq(o.unshared.at[1], "nvidia.com/gpu");
	options_free(&o);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(text, sizeof(text), HEAD "queues:\n  unsharedResources: [%s]\n", wrong[i].text);
		cr_assert_eq(read_text(&o, text), -EINVAL);
		cr_expect_not_null(strstr(error, wrong[i].error), "%s: %s", wrong[i].text, error);
		options_free(&o);
	}
}

Test(config, dialects)
{
	char text[200];
	struct options o;

	cr_assert_eq(read_text(&o, HEAD "disabledDialects: [scheduler-plugins]\n"), 0, "%s", error);
	options_settle(&o);
	cr_expect_eq(options_off(&o), UINT64_C(1) << dialect_find("scheduler-plugins"));
	cr_expect_eq(o.dialects.n, dialects_n - 1);
	options_free(&o);

	for (size_t i = 0; i < dialects_n; i++) {
		snprintf(text, sizeof(text), HEAD "dialects: [%s]\n", dialects[i]->name);
		cr_assert_eq(read_text(&o, text), 0, "%s", error);
		options_settle(&o);
		cr_expect_eq(o.dialects.n, 1);
		cr_expect_eq(options_off(&o) | UINT64_C(1) << i, (UINT64_C(1) << dialects_n) - 1);
		cr_expect_not(options_off(&o) >> i & 1);
		options_free(&o);
	}

	cr_assert_eq(read_text(&o, HEAD "dialects: []\n"), 0, "%s", error);
	options_settle(&o);
	cr_expect_eq(options_off(&o), (UINT64_C(1) << dialects_n) - 1, "none is on");
	options_free(&o);
}

static const struct {
	const char *text; /* behind HEAD: line 3 is its first */
	const char *error;
} wrongs[] = {
	/* keys */
	{ "schedulerName: x\n", "c.yaml:3:1: schedulerName: no such key; is schedulerNames meant?" },
	{ "Listen: x\n", "c.yaml:3:1: Listen: no such key; is listen meant?" },
	{ "\n\nxyzzyplugh: 1\n",
	  "c.yaml:5:1: xyzzyplugh: no such key; see muster-frontend --help-config" },
	{ "maxNodes: 5\n", "c.yaml:3:1: maxNodes: no such key; is core.maxNodes meant?" },
	{ "core:\n  maxNode: 5\n", "c.yaml:4:3: core.maxNode: no such key; is core.maxNodes meant?" },
	{ "core: {spinUs: 1, listen: x}\n", "c.yaml:3:19: core.listen: no such key; is listen meant?" },
	{ "cor: {}\n", "c.yaml:3:1: cor: no such key; is core meant?" },
	{ "core.maxNodes: 5\n",
	  "c.yaml:3:1: core.maxNodes: no such key; is maxNodes in the mapping core meant?" },
	{ "core: {core: {}}\n", "c.yaml:3:8: core.core: no such key; is core.score meant?" },
	{ "core: {apiVersion: a}\n",
	  "c.yaml:3:8: core.apiVersion: no such key; see muster-frontend --help-config" },
	{ "listen: off\ncpu: 1\nlisten: off\n",
	  "c.yaml:5:1: the key \"listen\" stands twice in one mapping" },
	{ "core:\n  cpu: 1\n  'cpu': 1\n", "c.yaml:5:3: the key \"cpu\" stands twice in one mapping" },
	{ "\"a\\0b\": 1\n", "c.yaml:3:1: a key: contains a NUL" },
	{ "\"a\\tb\": 1\n", "c.yaml:3:1: a?b: no such key; see muster-frontend --help-config" },
	{ "? [a]\n: 1\n", "c.yaml:3:3: a key that is no plain text" },
	/* types */
	{ "listen: 5\n", "c.yaml:3:9: listen: a text is expected, not a number: put it in quotes" },
	{ "context: true\n",
	  "c.yaml:3:10: context: a text is expected, not true or false: put it in quotes" },
	{ "context: {}\n", "c.yaml:3:10: context: a text is expected, not a mapping" },
	{ "bindConnections: '5'\n", "c.yaml:3:18: bindConnections: a number is expected, not a text" },
	{ "bindConnections: [5]\n", "c.yaml:3:18: bindConnections: a number is expected, not a list" },
	{ "insecureSkipTLSVerify: yes\n",
	  "c.yaml:3:24: insecureSkipTLSVerify: true or false is expected, not a text" },
	{ "schedulerNames: muster\n", "c.yaml:3:17: schedulerNames: a list is expected, not a text" },
	{ "schedulerNames:\n- a\n- 5\n",
	  "c.yaml:5:3: schedulerNames[1]: a text is expected, not a number: put it in quotes" },
	{ "schedulerNames: [~]\n", "c.yaml:3:18: schedulerNames[0]: a text is expected, not null" },
	{ "core: 5\n", "c.yaml:3:7: core: a mapping is expected, not a number" },
	{ "core: [maxNodes]\n", "c.yaml:3:7: core: a mapping is expected, not a list" },
	/* values */
	{ "bindConnections: 257\n",
	  "c.yaml:3:18: bindConnections: \"257\": not a number from 0 to 256" },
	{ "bindConnections: -1\n", "c.yaml:3:18: bindConnections: \"-1\": not a number from 0 to 256" },
	{ "bindConnections: 1.0\n",
	  "c.yaml:3:18: bindConnections: \"1.0\": not a number from 0 to 256" },
	{ "core: {recordBytes: 99999999999999999999}\n",
	  "c.yaml:3:21: core.recordBytes: \"99999999999999999999\": not a number from 4096 to 1125899906842624" },
	{ "coscheduling:\n  podGroupRejectPercentage: 101\n",
	  "c.yaml:4:29: coscheduling.podGroupRejectPercentage: \"101\": not a number from 0 to 100" },
	{ "eventRingBytes: 8388607\n", "c.yaml:3:17: eventRingBytes: \"8388607\": not a power of two" },
	{ "eventRingBytes: 1\n",
	  "c.yaml:3:17: eventRingBytes: \"1\": not a number from 131072 to 268435456" },
	{ "logLevel: trace\n",
	  "c.yaml:3:11: logLevel: \"trace\": not one of debug, info, warn or error" },
	{ "core: {score: best}\n",
	  "c.yaml:3:15: core.score: \"best\": not one of kube, pack, bestfit, fgd or muster" },
	{ "context: ''\n", "c.yaml:3:10: context: \"\": empty" },
	{ "context: \"a\\0\"\n", "c.yaml:3:10: context: contains a NUL" },
	{ "listen: here\n", "c.yaml:3:9: listen: \"here\": \"here\" is not ADDR:PORT" },
	{ "listen: ':70000'\n", "c.yaml:3:9: listen: \":70000\": \":70000\": \"70000\" is not a port" },
	{ "nodeSelector: a in (\n",
	  "c.yaml:3:15: nodeSelector: \"a in (\": the list of \"a\" is not closed" },
	{ "schedulerNames: []\n", "c.yaml:3:17: schedulerNames: the list is empty" },
	{ "dialects: [scheduler-plugins, scheduler-plugin]\n",
	  "c.yaml:3:31: dialects[1]: \"scheduler-plugin\": no dialect; is scheduler-plugins meant?" },
	{ "dialects: []\ndisabledDialects: []\n",
	  "c.yaml:4:1: disabledDialects: only one of dialects and disabledDialects can be given" },
	/* arguments of plugins */
	{ "coscheduling: {kind: NodeResourcesFitArgs}\n",
	  "c.yaml:3:22: coscheduling.kind: \"NodeResourcesFitArgs\": only \"CoschedulingArgs\", as in the "
	  "args of the Coscheduling plugin, is known" },
	{ "coscheduling: {apiVersion: kubescheduler.config.k8s.io}\n",
	  "c.yaml:3:28: coscheduling.apiVersion: \"kubescheduler.config.k8s.io\": only "
	  "\"kubescheduler.config.k8s.io/VERSION\", as in the args of the Coscheduling plugin, is known" },
	{ "coscheduling: {kind: 1}\n",
	  "c.yaml:3:22: coscheduling.kind: a text is expected, not a number" },
	{ "coscheduling: {kind: CoschedulingArgs, kubeConfigPath: /a}\n",
	  "c.yaml:3:40: coscheduling.kubeConfigPath: no such key; is kubeconfig meant?" },
	{ "coscheduling: {kind: CoschedulingArgs, defaultTimeout: 600s}\n",
	  "c.yaml:3:40: coscheduling.defaultTimeout: no such key; is defaultTimeouts meant?" },
	{ "core: {kind: Configuration}\n",
	  "c.yaml:3:8: core.kind: no such key; see muster-frontend --help-config" },
	/* by an alias: where that is */
	{ "kubeconfig: &a x\ncpu: *a\n", "c.yaml:4:6: cpu: a number is expected, not a text" },
	{ "core: &a {maxNodes: 5}\ncoscheduling: *a\n",
	  "c.yaml:4:15: coscheduling.maxNodes: no such key; is core.maxNodes meant?" },
	{ "core: {<<: {}}\n", "c.yaml:3:8: merge keys (<<) are not supported" },
	/* documents */
	{ "---\na: 1\n", "c.yaml:4:1: a second document; only one is read" },
	{ "apiVersion: a\n", "c.yaml:3:1: the key \"apiVersion\" stands twice in one mapping" },
	{ "listen: [\n", "c.yaml:4:1: did not find expected node content" },
};

Test(config, wrongs)
{
	struct options o;
	char text[400];

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		snprintf(text, sizeof(text), HEAD "%s", wrongs[i].text);
		cr_expect_eq(read_text(&o, text), -EINVAL, "taken: %s", wrongs[i].text);
		cr_expect_str_eq(error, wrongs[i].error);
		options_free(&o);
	}
}

Test(config, head)
{
	static const struct {
		const char *text, *error;
	} heads[] = {
		{ "", "c.yaml:1:1: the file is empty" },
		{ "# nothing\n", "c.yaml:1:1: the file is empty" },
		{ "[]\n", "c.yaml:1:1: a mapping is expected, not a list" },
		{ "kind: Configuration\n", "c.yaml:1:1: apiVersion: missing; it is muster.dev/v1alpha1" },
		{ "apiVersion: muster.dev/v1alpha1\n", "c.yaml:1:1: kind: missing; it is Configuration" },
		{ "apiVersion: v1\n",
		  "c.yaml:1:13: apiVersion: \"v1\": only \"muster.dev/v1alpha1\" is known" },
		{ "apiVersion: 1\n", "c.yaml:1:13: apiVersion: \"muster.dev/v1alpha1\" is expected" },
		{ "kind: ~\n", "c.yaml:1:7: kind: \"Configuration\" is expected" },
		{ "kind: KubeSchedulerConfig\n",
		  "c.yaml:1:7: kind: \"KubeSchedulerConfig\": only \"Configuration\" is known" },
		{ "apiVersion: kubescheduler.config.k8s.io\n",
		  "c.yaml:1:13: apiVersion: \"kubescheduler.config.k8s.io\": only \"muster.dev/v1alpha1\" is "
		  "known" },
	};
	struct options o;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		cr_expect_eq(read_text(&o, heads[i].text), -EINVAL);
		cr_expect_str_eq(error, heads[i].error);
		options_free(&o);
	}
}

#define FOREIGN                                                                                    \
	": a configuration of kube-scheduler, not of muster; docs/migration.md has what becomes of "   \
	"each key, muster-frontend --help-config the keys of muster"

/* Whichever key comes first, also where kube-scheduler and muster have a section of one name. */
Test(config, of_kube_scheduler)
{
	static const struct {
		const char *text, *error;
	} files[] = {
		{ "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n",
		  "c.yaml:1:13: \"kubescheduler.config.k8s.io/v1beta2\"" FOREIGN },
		{ "kind: KubeSchedulerConfiguration\n",
		  "c.yaml:1:7: \"KubeSchedulerConfiguration\"" FOREIGN },
		{ "leaderElection: {leaderElect: false, leaseDuration: 15s}\n"
		  "profiles: [{schedulerName: a, pluginConfig: []}]\n"
		  "apiVersion: kubescheduler.config.k8s.io/v1\n",
		  "c.yaml:3:13: \"kubescheduler.config.k8s.io/v1\"" FOREIGN },
	};
	struct options o;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		cr_expect_eq(read_text(&o, files[i].text), -EINVAL);
		cr_expect_str_eq(error, files[i].error);
		options_free(&o);
	}
}

/* The whole args block of a kube-scheduler's Coscheduling plugin. */
Test(config, args_with_their_type)
{
	static const char *const versions[] = { "v1beta1", "v1beta2", "v1beta3", "v1" };
	struct options o;
	char text[400];

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		snprintf(text, sizeof(text),
		         HEAD "coscheduling:\n"
		              "  apiVersion: kubescheduler.config.k8s.io/%s\n"
		              "  deniedPGExpirationTimeSeconds: 3\n"
		              "  kind: CoschedulingArgs\n"
		              "  permitWaitingTimeSeconds: 10\n",
		         versions[i]);
		cr_expect_eq(read_text(&o, text), 0, "%s", error);
		cr_expect_eq(o.permit_s, 10);
		cr_expect_eq(o.denied_s, 3);
		options_free(&o);
	}
}

/* Depth, names and aliases have an end. */
Test(config, limits)
{
	char *text = malloc(1 << 20), *at;
	struct options o;

	at = text + sprintf(text, HEAD "core: ");
	for (int i = 0; i < 100; i++)
		*at++ = '[';
	*at = '\0';
	cr_expect_eq(read_text(&o, text), -EINVAL);
	cr_expect_str_eq(error, "c.yaml:3:70: nested too deeply");
	options_free(&o);

	at = text + sprintf(text, HEAD "schedulerNames: [");
	for (int i = 0; i <= TEXT_LIST_MAX; i++)
		at += sprintf(at, "name-%d,\n", i);
	sprintf(at, "]\n");
	cr_expect_eq(read_text(&o, text), -EINVAL);
	cr_expect_str_eq(error, "c.yaml:67:1: schedulerNames[64]: \"name-64\": one of more than 64");
	options_free(&o);

	/* Ten times ten times ... the same. */
	at = text + sprintf(text, HEAD "a0: &a0 [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n");
	for (int i = 1; i < 10; i++) {
		at += sprintf(at, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			at += sprintf(at, "*a%d,", i - 1);
		at += sprintf(at, "]\n");
	}
	cr_expect_eq(read_text(&o, text), -EINVAL);
	cr_expect_not_null(strstr(error, ": aliases make this document far larger than it is"), "%s",
	                   error);
	options_free(&o);
	free(text);
}

Test(config, files)
{
	char path[] = "/tmp/muster-config-XXXXXX", wanted[200];
	struct options o;
	int fd = mkstemp(path);

	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, HEAD "cpu: x\n", sizeof(HEAD "cpu: x\n") - 1),
	             (ssize_t)sizeof(HEAD "cpu: x\n") - 1);
	options_start(&o);
	cr_expect_eq(config_read(path, &o, error, sizeof(error)), -EINVAL);
	snprintf(wanted, sizeof(wanted), "%s:3:6: cpu: a number is expected, not a text", path);
	cr_expect_str_eq(error, wanted);
	cr_assert_eq(ftruncate(fd, CONFIG_BYTES_MAX + 1), 0);
	cr_expect_eq(config_read(path, &o, error, sizeof(error)), -EFBIG);
	snprintf(wanted, sizeof(wanted), "%s: File too large", path);
	cr_expect_str_eq(error, wanted);
	unlink(path);
	close(fd);
	cr_expect_eq(config_read(path, &o, error, sizeof(error)), -ENOENT);
	cr_expect_eq(config_read("/", &o, error, sizeof(error)), -EISDIR);
	cr_expect_str_eq(error, "/: Is a directory");
	options_free(&o);
}

Test(config, flags_first)
{
	char path[] = "/tmp/muster-config-XXXXXX";
	char line[200], *argv[16], *word;
	int argc = 0;
	static const char text[] = HEAD "listen: ':2'\nschedulerNames: [a, b]\nreportQPS: 5\n";
	struct options o;
	int fd = mkstemp(path);

	cr_assert_eq(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	snprintf(line, sizeof(line),
	         "muster-frontend --listen=:1 --scheduler-name c --config %s --scheduler-name d", path);
	for (word = strtok(line, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	cr_assert_eq(options_read(argc, argv, &o), -1);
	cr_expect_str_eq(o.listen, ":1");
	cr_expect_eq(o.scheduler_names.n, 2);
	cr_expect_str_eq(o.scheduler_names.at[0], "c");
	cr_expect_str_eq(o.scheduler_names.at[1], "d");
	cr_expect_eq(o.report_per_second, 5);
	options_free(&o);
	unlink(path);
	close(fd);
}

/* Paths and flags name one setting each, and a section is known. */
Test(config, table)
{
	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *s = &settings[i];
		const char *dot = strchr(s->path, '.');
		bool known = dot == NULL;

		cr_expect_eq(setting_by_path(s->path, strlen(s->path)), s, "%s is there twice", s->path);
		if (s->flag && !setting_of_core(s))
			cr_expect_eq(setting_by_flag(s->flag), s, "%s is there twice", s->flag);
		for (size_t k = 0; dot && k < settings_sections_n; k++)
			known =
				known || strncmp(settings_sections[k].name, s->path, (size_t)(dot - s->path)) == 0;
		cr_expect(known, "%s has no section", s->path);
		cr_expect(s->at < offsetof(struct options, from_file), "%s has no place", s->path);
		for (size_t k = 0; k < i; k++)
			cr_expect(settings[k].at != s->at, "%s and %s share a place", settings[k].path,
			          s->path);
	}
}

Test(config, selectors)
{
	/* clang-format off */
	static const char *const good[] = {
		"", " ", "a", "!a", "! a", "a=b", "a==b", "a!=b", "a = b , c", "a=", "a in (b)",
		"a in(b,c)", "a notin (b,)", "a in ()", "x.io/a-b_c.D=1.2-3_4", "a>5,b<-7",
		"pool=a,zone in (x,y),!spot", "kubernetes.io/hostname=n1",
	};
	/* clang-format on */
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "a b", "one of =, ==, !=, in, notin, <, > is expected behind \"a\"" },
		{ ",", "a key is expected before \",\"" },
		{ "a,", "a key is expected at its end" },
		{ "=b", "a key is expected before \"=b\"" },
		{ "a in b", "\"a in\": a list in brackets is expected" },
		{ "a in (b", "the list of \"a\" is not closed" },
		{ "a in (b c)", "the list of \"a\" is not closed" },
		{ "a=b=c", "\"=c\" is one too many" },
		{ "a)", "one of =, ==, !=, in, notin, <, > is expected behind \"a\"" },
		{ "!a=b", "\"=b\" is one too many" },
		{ "-a", "\"-a\" is not a label's key" },
		{ "/a", "\"/a\" is not a label's key" },
		{ "X.io/a", "\"X.io/a\" is not a label's key" },
		{ "a..b/c", "\"a..b/c\" is not a label's key" },
		{ "a/b/c", "\"a/b/c\" is not a label's key" },
		{ "a=b/c", "\"b/c\" is not a label's value" },
		{ "a=-b", "\"-b\" is not a label's value" },
		{ "a in (b,c_)", "\"c_\" is not a label's value" },
		{ "a>b", "\"a\": a whole number is expected behind < or >" },
		{ "a>", "\"a\": a whole number is expected behind < or >" },
		{ "a=\xc3\xa9", "\"\xc3\xa9\" is not a label's value" },
	};
	char long_name[70], why[500];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect_eq(label_selector_check(good[i], why, sizeof(why)), 0, "\"%s\": %s", good[i],
		             why);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cr_expect_eq(label_selector_check(bad[i].text, why, sizeof(why)), -EINVAL,
		             "\"%s\" is taken", bad[i].text);
		cr_expect_str_eq(why, bad[i].why);
	}
	memset(long_name, 'a', 64);
	long_name[64] = '\0';
	cr_expect_eq(label_selector_check(long_name, why, sizeof(why)), -EINVAL, "a name of 64 bytes");
	cr_expect_eq(label_selector_check(long_name + 1, why, sizeof(why)), 0, "a name of 63 bytes");
}
