/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs and service accounts: what is taken, and what is said of bad ones. */
#include "frontend/api/kubeconfig.h"

#include "tests/unit/support_pair.h"
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char error[1024];

static void make_folder(void)
{
	strcpy(folder, "/tmp/muster-test-XXXXXX");
	cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(kubeconfig, .init = make_folder, .fini = remove_folder);

/* The path of a file in the folder, written with this text unless it is NULL. */
static const char *file(const char *name, const char *text)
{
	static char paths[4][128];
	static int at;
	char *path = paths[at = (at + 1) % 4];
	FILE *f;

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	if (!text)
		return path;
	f = fopen(path, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static const char *vars[4]; /* KUBECONFIG, KUBERNETES_SERVICE_HOST, _PORT, HOME */

static const char *fake_getenv(const char *name)
{
	static const char *const names[] = { "KUBECONFIG", "KUBERNETES_SERVICE_HOST",
		                                 "KUBERNETES_SERVICE_PORT", "HOME" };

	for (int i = 0; i < 4; i++)
		if (strcmp(name, names[i]) == 0)
			return vars[i];
	return NULL;
}

static int load(struct access *a, const char *path, const char *context, bool insecure)
{
	struct access_options o = {
		.kubeconfig = path,
		.context = context,
		.allow_insecure = insecure,
		.getenv = fake_getenv,
		.service_account = folder,
	};

	error[0] = '\0';
	return access_load(a, &o, error, sizeof(error));
}

#define CONFIG(cluster, user)                                                                                      \
	"apiVersion: v1\nkind: Config\ncurrent-context: here\n"                                                        \
	"contexts:\n- {name: here, context: {cluster: c, user: u}}\n- {name: there, context: {cluster: d, user: u}}\n" \
	"clusters:\n- name: c\n  cluster: {" cluster                                                                   \
	"}\n- name: d\n  cluster: {server: 'https://d:1/'}\n"                                                          \
	"users:\n- name: u\n  user: {" user "}\n"

#define PEM "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
/* The same in base64. */
#define PEM64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

static void loaded(struct access *a, const char *text)
{
	cr_assert_eq(load(a, file("k", text), NULL, false), 0, "%s", error);
}

Test(kubeconfig, takes_a_token_and_a_ca)
{
	struct access a;
	const char *why;
	char *token;

	loaded(&a, CONFIG("server: 'https://h:6443', certificate-authority-data: " PEM64
	                  ", tls-server-name: kubernetes.default.svc",
	                  "token: sesame"));
	cr_assert_str_eq(a.server, "https://h:6443");
	cr_assert_str_eq(a.tls_server_name, "kubernetes.default.svc");
	cr_assert_str_eq(a.ca.at, PEM);
	cr_assert_str_eq(a.token, "sesame");
	cr_assert(!a.insecure && !a.in_cluster && !a.cert.at);
	token = access_token(&a, &why);
	cr_assert_str_eq(token, "sesame");
	free(token);
	access_free(&a);
}

Test(kubeconfig, another_context_and_json)
{
	struct access a;

	cr_assert_eq(
		load(&a, file("k", CONFIG("server: 'https://h:6443'", "token: t")), "there", false), 0,
		"%s", error);
	cr_assert_str_eq(a.server, "https://d:1", "no slash at its end");
	access_free(&a);
	cr_assert_eq(
		load(
			&a,
			file(
				"j",
				"{\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\"}}],"
				"\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"http://127.0.0.1:8001\"}}]}"),
			NULL, false),
		0, "%s", error);
	cr_assert_str_eq(a.server, "http://127.0.0.1:8001");
	access_free(&a);
}

Test(kubeconfig, files_are_beside_it_and_data_wins)
{
	struct access a;

	file("ca.pem", PEM);
	file("cert.pem", PEM);
	file("key.pem", "-----BEGIN PRIVATE KEY-----\n");
	loaded(&a, CONFIG("server: 'https://h:1', certificate-authority: ca.pem",
	                  "client-certificate: /nowhere, client-certificate-data: " PEM64
	                  ", client-key: key.pem"));
	cr_assert_str_eq(a.ca.at, PEM);
	cr_assert_str_eq(a.cert.at, PEM);
	cr_assert_str_eq(a.key.at, "-----BEGIN PRIVATE KEY-----\n");
	access_free(&a);
}

Test(kubeconfig, a_token_file_is_read_again)
{
	struct access a;
	const char *why;
	char *token;

	file("token", "one\n");
	loaded(&a, CONFIG("server: 'https://h:1'", "tokenFile: token"));
	token = access_token(&a, &why);
	cr_assert_str_eq(token, "one");
	free(token);
	file("token", "two");
	token = access_token(&a, &why);
	cr_assert_str_eq(token, "two");
	free(token);
	file("token", "\n");
	cr_assert_null(access_token(&a, &why));
	cr_assert_str_eq(why, "the file is empty");
	unlink(a.token_file);
	cr_assert_null(access_token(&a, &why));
	cr_assert_str_eq(why, "No such file or directory");
	access_free(&a);
}

Test(kubeconfig, a_ca_file_is_read_again)
{
	struct access a;
	struct blob now;

	file("ca", PEM);
	loaded(&a, CONFIG("server: 'https://h:1', certificate-authority: ca", "token: t"));
	file("ca", PEM PEM);
	cr_assert_eq(access_ca(&a, &now), 0);
	cr_assert_str_eq(now.at, PEM PEM);
	free(now.at);
	file("ca", "half a fi");
	cr_assert_eq(access_ca(&a, &now), -EINVAL);
	unlink(a.ca_file);
	cr_assert_eq(access_ca(&a, &now), -ENOENT);
	access_free(&a);
}

Test(kubeconfig, a_client_certificate_is_read_again)
{
	struct access a;
	struct blob cert, key;
	const char *why = "";

	pair_write(file("cert", ""), file("key", ""));
	loaded(&a, CONFIG("server: 'https://h:1'", "client-certificate: cert, client-key: key"));
	pair_write(a.cert_file, a.key_file);
	cr_assert_eq(access_pair(&a, &cert, &key, &why), 0, "%s", why);
	cr_assert(strcmp(cert.at, a.cert.at) != 0 && strcmp(key.at, a.key.at) != 0);
	free(cert.at);
	free(key.at);
	pair_write(NULL, a.key_file);
	cr_assert_eq(access_pair(&a, &cert, &key, &why), -EINVAL, "a key of another certificate");
	cr_assert(*why);
	file("cert", "half a fi");
	cr_assert_eq(access_pair(&a, &cert, &key, &why), -EINVAL);
	unlink(a.key_file);
	cr_assert_eq(access_pair(&a, &cert, &key, &why), -ENOENT);
	cr_assert_str_eq(why, "No such file or directory");
	access_free(&a);
}

Test(kubeconfig, half_a_pair_in_files_is_not_read_again)
{
	struct access a;

	file("cert.pem", PEM);
	loaded(&a, CONFIG("server: 'https://h:1'",
	                  "client-certificate: cert.pem, client-key-data: " PEM64));
	cr_assert(a.cert.at && a.key.at && !a.cert_file && !a.key_file);
	access_free(&a);
}

/* Each message names the file and the key. */
static void expect_bad(const char *text, const char *wanted)
{
	struct access a;
	const char *path = file("k", text);

	cr_assert_eq(load(&a, path, NULL, false), -EINVAL, "%s", text);
	cr_assert(strstr(error, path), "no file in: %s", error);
	cr_assert(strstr(error, wanted), "wanted \"%s\" in: %s", wanted, error);
}

Test(kubeconfig, says_what_is_wrong)
{
	expect_bad("", "empty");
	expect_bad("a: [b\n c: {", "line 2");
	expect_bad("- a\n", "not a mapping");
	expect_bad("clusters: []\n", "current-context is missing");
	expect_bad("current-context: x\ncontexts: []\n", "contexts has no entry named \"x\"");
	expect_bad("current-context: x\ncontexts: 5\n", "contexts is not a list");
	expect_bad("current-context: x\ncontexts: [{name: x, context: {user: u}}]\n",
	           "contexts[x].context.cluster is missing");
	expect_bad("current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n",
	           "clusters has no entry named \"c\"");
	expect_bad(CONFIG("proxy-url: ''", ""), "clusters[c].cluster.server is missing");
	expect_bad(CONFIG("server: [1]", ""), "clusters[c].cluster.server is not a string");
	expect_bad(CONFIG("server: 'http://elsewhere:80'", "token: t"), "is not an https:// URL");
	expect_bad(CONFIG("server: 'ftp://h'", "token: t"), "is not an https:// URL");
	expect_bad(CONFIG("server: 'https://h', certificate-authority: no.pem", ""),
	           "cluster.certificate-authority: ");
	expect_bad(CONFIG("server: 'https://h', certificate-authority: no.pem", ""),
	           "no.pem: No such file");
	expect_bad(CONFIG("server: 'https://h', certificate-authority-data: '***'", ""),
	           "certificate-authority-data is not base64");
	expect_bad(CONFIG("server: 'https://h', certificate-authority-data: bm9uZQ==", ""),
	           "certificate-authority-data is not PEM");
	expect_bad(CONFIG("server: 'https://h', insecure-skip-tls-verify: true", ""),
	           "--insecure-skip-tls-verify");
	expect_bad(CONFIG("server: 'https://h', insecure-skip-tls-verify: maybe", ""),
	           "\"maybe\" is not true or false");
	expect_bad(CONFIG("server: 'https://h'", "exec: {command: aws-get-token}"),
	           "users[u].user.exec of aws-get-token: ");
	expect_bad(CONFIG("server: 'https://h'", "auth-provider: {name: gcp}"),
	           "users[u].user.auth-provider: ");
	expect_bad(CONFIG("server: 'https://h'", "username: a, password: b"),
	           "users[u].user.username: ");
	expect_bad(CONFIG("server: 'https://h'", "as: root"), "users[u].user.as: ");
	expect_bad(CONFIG("server: 'https://h'", "client-key-data: " PEM64), "only of use together");
	expect_bad(CONFIG("server: 'https://h'", "tokenFile: no-token"), "no-token: No such file");
}

static int plugin(const struct exec_plugin *x, struct access *a, char *why, size_t why_bytes)
{
	if (strstr(x->argv[0], "bad") != NULL)
		return snprintf(why, why_bytes, "no\nway"), -EINVAL;
	a->token = strdup("t");
	return 0;
}

/* A caller need not initialise it: it is written if the plugin fails, and then cleaned. */
Test(kubeconfig, the_error_of_a_plugin_that_succeeds_is_not_touched)
{
	struct access_options o = { .getenv = fake_getenv, .exec = plugin };
	char why[64];
	struct access a;

	memset(why, '\n', sizeof(why));
	why[sizeof(why) - 1] = '\0';
	o.kubeconfig =
		file("good", CONFIG("server: 'https://h'", "exec: {command: good, apiVersion: v1}"));
	cr_assert_eq(access_load(&a, &o, why, sizeof(why)), 0);
	cr_assert_str_eq(a.token, "t");
	cr_assert_eq(strspn(why, "\n"), sizeof(why) - 1);
	access_free(&a);
	o.kubeconfig =
		file("bad", CONFIG("server: 'https://h'", "exec: {command: bad, apiVersion: v1}"));
	cr_assert_eq(access_load(&a, &o, why, sizeof(why)), -EINVAL);
	cr_assert(strncmp(why, "no", 2) == 0 && strchr(why, '\n') == NULL, "%s", why);
}

/* A line end would begin a header of its own; found by fuzz_kubeconfig. */
Test(kubeconfig, nothing_that_is_sent_has_control_bytes)
{
	struct access a;
	const char *why;

	expect_bad(CONFIG("server: 'https://h'", "token: \"a\\r\\nX-Remote-User: b\""),
	           "users[u].user.token has a control byte");
	expect_bad(CONFIG("server: \"https://h\\n\"", ""),
	           "clusters[c].cluster.server has a control byte");
	expect_bad(CONFIG("server: 'https://h', tls-server-name: \"a\\x7f\"", ""),
	           "tls-server-name has a control byte");
	expect_bad("current-context: \"a\\eb\"\ncontexts: []\n", "no entry named \"a?b\"");
	file("token", "one");
	loaded(&a, CONFIG("server: 'https://h:1'", "tokenFile: token"));
	file("token", "a\tb\n");
	cr_assert_null(access_token(&a, &why));
	cr_assert_str_eq(why, "not a token");
	access_free(&a);
}

Test(kubeconfig, insecure_only_with_the_flag)
{
	struct access a;

	cr_assert_eq(load(&a,
	                  file("k", CONFIG("server: 'https://h', insecure-skip-tls-verify: true", "")),
	                  NULL, true),
	             0);
	cr_assert(a.insecure);
	access_free(&a);
}

Test(kubeconfig, a_missing_file_is_named)
{
	struct access a;

	cr_assert_eq(load(&a, file("nothing", NULL), NULL, false), -EINVAL);
	cr_assert(strstr(error, "nothing: No such file or directory"), "%s", error);
	cr_assert_eq(load(&a, folder, NULL, false), -EINVAL);
	cr_assert(strstr(error, "directory"), "%s", error);
}

/* kubectl merges the files of $KUBECONFIG; the first that says something wins. */
Test(kubeconfig, the_environment_may_name_several)
{
	struct access a;
	char paths[512];

	snprintf(
		paths, sizeof(paths), "%s:%s:%s", file("nothing", NULL),
		file("one", "current-context: x\nusers: [{name: u, user: {token: one}}]\n"),
		file(
			"two",
			"current-context: y\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
			"clusters: [{name: c, cluster: {server: 'https://two'}}]\nusers: [{name: u, user: {token: two}}]\n"));
	vars[0] = paths;
	cr_assert_eq(load(&a, NULL, NULL, false), 0, "%s", error);
	cr_assert_str_eq(a.server, "https://two");
	cr_assert_str_eq(a.token, "one");
	access_free(&a);
	vars[0] = NULL;
}

Test(kubeconfig, the_service_account_is_the_last_resort)
{
	struct access a;
	const char *why;
	char *token;

	cr_assert_eq(load(&a, NULL, NULL, false), -EINVAL);
	cr_assert(strstr(error, "--kubeconfig"), "%s", error);
	vars[1] = "fd00::1";
	vars[2] = "443";
	cr_assert_eq(load(&a, NULL, NULL, false), -EINVAL);
	cr_assert(strstr(error, "ca.crt: No such file"), "%s", error);
	file("ca.crt", PEM);
	cr_assert_eq(load(&a, NULL, NULL, false), -EINVAL);
	cr_assert(strstr(error, "token: No such file"), "%s", error);
	file("token", "abc");
	cr_assert_eq(load(&a, NULL, NULL, false), 0, "%s", error);
	cr_assert_str_eq(a.server, "https://[fd00::1]:443");
	cr_assert(a.in_cluster);
	token = access_token(&a, &why);
	cr_assert_str_eq(token, "abc");
	free(token);
	access_free(&a);
	vars[1] = vars[2] = NULL;
}

/* As kubectl has it, but behind the service account: a pod is not its home's user. */
Test(kubeconfig, the_home_is_looked_at_when_nothing_else_says)
{
	struct access a;
	char path[160];

	vars[3] = folder;
	cr_assert_eq(load(&a, NULL, NULL, false), -EINVAL);
	cr_assert(strstr(error, "have a ~/.kube/config"), "%s", error);
	snprintf(path, sizeof(path), "%s/.kube", folder);
	cr_assert(mkdir(path, 0700) == 0);
	file(".kube/config", CONFIG("server: 'https://home'", "token: t"));
	cr_assert_eq(load(&a, NULL, NULL, false), 0, "%s", error);
	cr_assert_str_eq(a.server, "https://home");
	access_free(&a);
	file("ca.crt", PEM);
	file("token", "abc");
	vars[1] = "10.0.0.1";
	vars[2] = "443";
	cr_assert_eq(load(&a, NULL, NULL, false), 0, "%s", error);
	cr_assert(a.in_cluster);
	access_free(&a);
	vars[1] = vars[2] = vars[3] = NULL;
}

/* Behind the first 12 bytes of PEM. */
Test(kubeconfig, decodes_base64_exactly)
{
	static const struct {
		const char *text, *bytes; /* NULL: refused */
	} rows[] = {
		{ "", "" },           { "YQ==", "a" },       { "YWI=", "ab" },
		{ "YWJj", "abc" },    { "Y W\\nJj", "abc" }, { "Pz8/", "???" },
		{ "YQ", NULL },       { "YQ=", NULL },       { "YQ===", NULL },
		{ "Y===", NULL },     { "YWJj=", NULL },     { "Y-Jj", NULL },
		{ "YQ==YQ==", NULL }, { "YR==", NULL }, /* bits that are in no byte */
		{ "YWJj-_8=", NULL },                   /* for URLs: the bytes before "-" are whole */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct access a;
		char text[512];
		int rc;

		snprintf(text, sizeof(text),
		         CONFIG("server: 'https://h', certificate-authority-data: \"LS0tLS1CRUdJTiBB%s\"",
		                "token: t"),
		         rows[i].text);
		rc = load(&a, file("k", text), NULL, false);
		cr_assert_eq(rc, rows[i].bytes ? 0 : -EINVAL, "%s: %s", rows[i].text, error);
		if (!rows[i].bytes) {
			cr_assert(strstr(error, "certificate-authority-data is not base64"), "%s", error);
			continue;
		}
		cr_assert_eq(a.ca.bytes, 12 + strlen(rows[i].bytes), "%s", rows[i].text);
		cr_assert(strncmp(a.ca.at, "-----BEGIN A", 12) == 0 &&
		          strcmp(a.ca.at + 12, rows[i].bytes) == 0);
		access_free(&a);
	}
}

/* Audit F11: a token goes in clear only to this host, which is known by its address. */
Test(kubeconfig, f11_http_is_for_loopback_addresses_alone)
{
	static const char *const elsewhere[] = {
		"http://127.evil.example.com",
		"htTp://127.0.0.1:8001",
		"http:/localhost:8080",
		"http://127.0.0.1.evil.example:80",
		"http://localhost.evil.example",
		"http://localhost@evil.example",
		"http://127.0.0.1@evil.example/",
		"http://127.0.0.1:80@evil.example",
		"http://[::1].evil.example",
		"http://[fe80::1]:8001",
		"http://128.0.0.1",
		"http://evil.example/127.0.0.1",
		"http://evil.example#@127.0.0.1",
		"ftp://127.0.0.1",
	};
	static const char *const here[] = {
		"http://127.0.0.1:8001", "http://127.8.9.10", "http://localhost:8001/prefix",
		"http://LOCALHOST",      "http://[::1]:8001",
	};
	char text[1024];
	struct access a;

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		snprintf(text, sizeof(text), CONFIG("server: '%s'", "token: t"), elsewhere[i]);
		cr_assert_eq(load(&a, file("k", text), NULL, false), -EINVAL, "%s", elsewhere[i]);
		cr_assert(strstr(error, "is not an https:// URL"), "%s: %s", elsewhere[i], error);
	}
	for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
		snprintf(text, sizeof(text), CONFIG("server: '%s'", "token: t"), here[i]);
		cr_assert_eq(load(&a, file("k", text), NULL, false), 0, "%s: %s", here[i], error);
		access_free(&a);
	}
}
