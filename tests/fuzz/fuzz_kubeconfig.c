/* SPDX-License-Identifier: Apache-2.0 */
/* A kubeconfig is accepted, or refused with a message that names the file; the values of an
 * accepted one can be sent, request no more than is allowed, and run no program. */
#include "frontend/api/kubeconfig.h"

#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <unistd.h>
#include <yaml.h>

#define PEM64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="

/* clang-format off */
static const char *const words[] = {
	"current-context: ", "contexts:\n", "clusters:\n", "users:\n", "- name: ",
	"\n  context: {cluster: c, user: u}\n", "\n  cluster: {server: 'https://h:6443'}\n",
	"\n  user: {token: t}\n", "server: ", "https://", "http://127.0.0.1:1", "http://localhost", "http://[::1]", "http://a@localhost", "http://127.1.evil",
	"certificate-authority-data: " PEM64, "client-certificate-data: " PEM64 ", ",
	"client-key-data: " PEM64, "certificate-authority: ca.pem", "client-key: ca.pem, ",
	"tokenFile: token", "tokenFile: empty", "token: \"a\\nb\"", "token: \"\\x7f\"",
	"tls-server-name: ", "proxy-url: ", "insecure-skip-tls-verify: true", "exec: {command: sh}",
	"exec: null", "auth-provider: {name: x}", "username: a", "password: b", "as: root",
	"as-groups: [a]", "as-user-extra: {a: [b]}", "PEM64", "==", "null", "~", "&a ", "*a", "<<: *a",
	"|\n  ", ">-\n  ", "!!binary ", "{", "}", "[", "]", ", ", "\n", "\t", "\"", "'", "/", "..",
	"\xef\xbb\xbf", "\"\\0\"", "\"\\u2028\"", "---\n", "%YAML 1.1\n", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "kubeconfig", .bytes_max = 4096, .words = words };

static char folder[64];

static void remove_folder(void)
{
	static const char *const names[] = { "k", "ca.pem", "token", "empty" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* Its path: good until the next call. */
static const char *file(const char *name, const void *text, size_t bytes)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f || (bytes > 0 && fwrite(text, bytes, 1, f) != 1) || fclose(f) != 0)
		fuzz_found("no file to write to");
	return path;
}

static void make_folder(void)
{
	static const char pem[] = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

	strcpy(folder, "/tmp/muster-fuzz-XXXXXX");
	if (!mkdtemp(folder))
		fuzz_found("no folder to work in");
	atexit(remove_folder);
	file("ca.pem", pem, sizeof(pem) - 1);
	file("token", "abc\n", 4);
	file("empty", "", 0);
}

static const char *no_env(const char *name)
{
	return NULL;
}

/* It becomes part of a header, a URL or a TLS server name. */
static void check_text(const char *text, const char *what)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			fuzz_found("a control byte in the %s", what);
}

static void check_pem(const struct blob *b, const char *what)
{
	if (b->at && (!strstr(b->at, "-----BEGIN ") || b->at[b->bytes] != '\0'))
		fuzz_found("the %s is no PEM", what);
}

/* The host of an http URL is this one, by address or as "localhost". */
static bool is_loopback(const char *url)
{
	const char *host = url + strlen("http://"), *at;
	size_t n = strcspn(host, "/?#");
	char text[256];
	struct in6_addr v6;
	struct in_addr v4;

	for (at = host; at < host + n; at++) {
		if (*at == '@') {
			n -= (size_t)(at + 1 - host);
			host = at + 1;
		}
	}
	n = *host == '[' ? strcspn(++host, "]%") : strcspn(host, ":/?#");
	if (n >= sizeof(text))
		return false;
	memcpy(text, host, n);
	text[n] = '\0';
	if (host[-1] == '[')
		return inet_pton(AF_INET6, text, &v6) == 1 &&
		       (IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127));
	return strcasecmp(text, "localhost") == 0 ||
	       (inet_aton(text, &v4) != 0 && ntohl(v4.s_addr) >> 24 == 127);
}

static void check_access(const struct access *a, bool insecure)
{
	bool sound = strncmp(a->server, "https://", 8) == 0 ||
	             (strncmp(a->server, "http://", 7) == 0 && is_loopback(a->server));

	if (!sound || a->server[strlen(a->server) - 1] == '/')
		fuzz_found("server %s", a->server);
	check_text(a->server, "server");
	check_text(a->tls_server_name, "name in TLS");
	check_text(a->proxy, "proxy");
	check_pem(&a->ca, "authority");
	check_pem(&a->cert, "certificate");
	check_pem(&a->key, "key");
	if (!a->cert.at != !a->key.at)
		fuzz_found("a certificate without its key");
	if (a->insecure && !insecure)
		fuzz_found("not verified, and nobody said so");
	if (a->in_cluster || !a->source)
		fuzz_found("from elsewhere");
}

static void check_token(const struct access *a)
{
	const char *why = NULL;
	char *token = access_token(a, &why);

	if (!token && (a->token || a->token_file))
		fuzz_found("no token: %s", why ? why : "no reason");
	if (token && !*token)
		fuzz_found("an empty token");
	check_text(token, "token");
	free(token);
}

static const char *text_of(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static yaml_node_t *of(yaml_document_t *d, const yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const char *name = text_of(yaml_document_get_node(d, p->key));

		if (name && strcmp(name, key) == 0)
			return yaml_document_get_node(d, p->value);
	}
	return NULL;
}

/* The first of that name in a list. */
static yaml_node_t *named(yaml_document_t *d, const char *list, const char *name)
{
	const yaml_node_t *items = of(d, yaml_document_get_root_node(d), list);

	if (!items || items->type != YAML_SEQUENCE_NODE)
		return NULL;
	for (yaml_node_item_t *it = items->data.sequence.items.start;
	     it < items->data.sequence.items.top; it++) {
		yaml_node_t *item = yaml_document_get_node(d, *it);
		const char *text = text_of(of(d, item, "name"));

		if (text && strcmp(text, name) == 0)
			return item;
	}
	return NULL;
}

/* A kubeconfig with a plugin, a password or impersonation was not accepted without these. */
static void check_user(const uint8_t *data, size_t bytes)
{
	static const char *const refused[] = { "exec", "auth-provider", "username",  "password",
		                                   "as",   "as-uid",        "as-groups", "as-user-extra" };
	yaml_parser_t parser;
	yaml_document_t d;
	const char *context, *user;

	if (!yaml_parser_initialize(&parser))
		fuzz_found("memory was short");
	yaml_parser_set_input_string(&parser, data, bytes);
	if (!yaml_parser_load(&parser, &d))
		fuzz_found("taken, and no YAML");
	context = text_of(of(&d, yaml_document_get_root_node(&d), "current-context"));
	user =
		context ? text_of(of(&d, of(&d, named(&d, "contexts", context), "context"), "user")) : NULL;
	for (size_t i = 0; user && i < sizeof(refused) / sizeof(refused[0]); i++) {
		const yaml_node_t *node = of(&d, of(&d, named(&d, "users", user), "user"), refused[i]);
		const char *text = text_of(node);

		if (node && !(text && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		              (!*text || strcmp(text, "null") == 0 || strcmp(text, "~") == 0)))
			fuzz_found("taken with %s", refused[i]);
	}
	yaml_document_delete(&d);
	yaml_parser_delete(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct access_options o = { .getenv = no_env };
	struct access a;
	char error[1024];

	if (!*folder)
		make_folder();
	o.kubeconfig = file("k", data, bytes);
	o.allow_insecure = bytes % 2 == 1;
	memset(error, 0, sizeof(error));
	if (access_load(&a, &o, error, sizeof(error)) == 0) {
		check_access(&a, o.allow_insecure);
		check_token(&a);
		check_user(data, bytes);
		access_free(&a);
	} else {
		if (!strstr(error, o.kubeconfig))
			fuzz_found("no file is named: %s", error);
		check_text(error, "message");
	}
	return 0;
}
