/* SPDX-License-Identifier: Apache-2.0 */
/* Credential plugins: which output is taken, with a shell as the plugin. */
#include "ctl/up/credential.h"
#include "tests/unit/test.h"

#define V1 "client.authentication.k8s.io/v1"
#define CREDENTIAL(status)                                                                         \
	"{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":" status "}"

static char error[600];

/* Runs sh with that script and one variable. */
static int run(const char *script, const char *api_version, struct access *a)
{
	const struct exec_plugin x = { .argv = { "/bin/sh", "-c", script },
		                           .names = { "SAID" },
		                           .values = { CREDENTIAL("{\"token\":\"by-env\"}") },
		                           .api_version = api_version,
		                           .cluster_info = true };

	error[0] = '\0';
	return credential_exec(&x, a, error, sizeof(error));
}

static struct access nobody(void)
{
	return (struct access){ .server = strdup("https://h") };
}

Test(credential, token_and_certificate)
{
	struct access a = nobody();

	cr_assert_eq(run("echo \"$SAID\"", V1, &a), 0, "%s", error);
	cr_assert_str_eq(a.token, "by-env");
	access_free(&a);
	a = nobody();
	cr_assert_eq(
		run("echo '" CREDENTIAL("{\"clientCertificateData\":\"-----BEGIN A\",\"clientKeyData\":"
	                            "\"-----BEGIN B\"}") "'",
	        V1, &a),
		0, "%s", error);
	cr_assert_eq(a.token, NULL);
	cr_assert_str_eq(a.cert.at, "-----BEGIN A");
	cr_assert_str_eq(a.key.at, "-----BEGIN B");
	access_free(&a);
	/* The cluster is told on request, its CA in base64. */
	a = nobody();
	a.ca = (struct blob){ .at = strdup("abc"), .bytes = 3 };
	cr_assert_eq(
		run("case \"$KUBERNETES_EXEC_INFO\" in *'\"certificate-authority-data\":\"YWJj\"'*) "
	        "echo \"$SAID\";; esac",
	        V1, &a),
		0, "%s", error);
	access_free(&a);
}

Test(credential, what_is_refused)
{
	static const struct {
		const char *script, *version, *said;
	} cases[] = {
		{ "exit 1", V1, "failed" },
		{ "echo \"$SAID\"; exit 1", V1, "failed" },
		{ "kill -9 $$", V1, "failed" },
		{ "echo", V1, "no ExecCredential" },
		{ "echo '{\"kind\":\"Pod\"}'", V1, "no ExecCredential" },
		{ "echo \"$SAID\"", "client.authentication.k8s.io/v1beta1", "another apiVersion" },
		{ "echo \"$SAID\"", "client.authentication.k8s.io/v1x", "neither" },
		{ "echo \"$SAID\"", "v1", "neither" },
		{ "echo '" CREDENTIAL("{\"token\":\"\"}") "'", V1, "neither a token" },
		{ "echo '" CREDENTIAL("{\"token\":\"a b\"}") "'", V1, "white space" },
		{ "echo '" CREDENTIAL("{\"token\":\"t\",\"clientKeyData\":\"k\"}") "'", V1, "a key alone" },
		{ "head -c 3000000 /dev/zero", V1, "failed" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct access a = nobody();

		cr_assert_eq(run(cases[i].script, cases[i].version, &a), -EINVAL, "%zu", i);
		cr_assert(strstr(error, cases[i].said) != NULL, "%zu: %s", i, error);
		cr_assert(a.token == NULL && a.cert.at == NULL && a.key.at == NULL, "%zu", i);
		access_free(&a);
	}
}
