/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/kubeconfig.h"

#include "frontend/base/log.h"
#include "frontend/base/loopback.h"
#include "ipc/clean.h"

#include <curl/curl.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#define FILE_BYTES_MAX (16u << 20)
#define HOME_BYTES 4096
#define FILES_MAX 16
#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* The files of one kubeconfig, in order: $KUBECONFIG may name several. */
struct config_file {
	char *path;
	yaml_document_t document;
};

struct config {
	struct config_file files[FILES_MAX];
	size_t n;
	char *error;
	size_t error_bytes;
};

/* A mapping in one file, with its path for messages. */
struct place {
	struct config_file *file;
	yaml_node_t *node;
	char name[300]; /* "users[bob]" */
};

/* For text in a header, a URL or a TLS name: a line end would start another one. */
static bool has_control(const char *text)
{
	while ((unsigned char)*text >= ' ' && *text != 0x7f)
		text++;
	return *text != '\0';
}

__attribute__((format(printf, 2, 3))) static int fail(struct config *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->error, c->error_bytes, format, args);
	va_end(args);
	clean_text(c->error); /* has names from the file */
	return -EINVAL;
}

__attribute__((format(printf, 1, 2))) static char *format_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		fatal_memory();
	va_end(args);
	return text;
}

static int file_read(const char *path, struct blob *out)
{
	FILE *f = fopen(path, "re");
	size_t cap = 4096, n = 0, got;
	char *at;

	if (!f)
		return -errno;
	at = must_alloc(cap);
	while ((got = fread(at + n, 1, cap - n - 1, f)) > 0) {
		n += got;
		if (n > FILE_BYTES_MAX)
			break;
		if (n + 1 == cap)
			at = must_grow(at, cap *= 2);
	}
	if (ferror(f) || n > FILE_BYTES_MAX) {
		int rc = n > FILE_BYTES_MAX ? -EFBIG : errno ? -errno : -EIO;

		fclose(f);
		free(at);
		return rc;
	}
	fclose(f);
	at[n] = '\0';
	*out = (struct blob){ .at = at, .bytes = n };
	return 0;
}

static const char *scalar(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static yaml_node_t *member(struct config_file *f, const yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
	     p++) {
		const char *name = scalar(yaml_document_get_node(&f->document, p->key));

		if (name && strcmp(name, key) == 0)
			return yaml_document_get_node(&f->document, p->value);
	}
	return NULL;
}

/* An unquoted null counts as missing. */
static bool is_null(const yaml_node_t *node)
{
	const char *text = scalar(node);

	if (!node)
		return true;
	if (!text || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	return !*text || strcmp(text, "null") == 0 || strcmp(text, "~") == 0;
}

/* A string member: NULL if missing or empty. */
static int string_member(struct config *c, const struct place *p, const char *key, const char **out)
{
	const yaml_node_t *node = member(p->file, p->node, key);
	const char *text = scalar(node);

	*out = NULL;
	if (is_null(node))
		return 0;
	if (!text)
		return fail(c, "%s: %s.%s is not a string", p->file->path, p->name, key);
	if (*text)
		*out = text;
	return 0;
}

static int file_parse(struct config *c, const char *path)
{
	struct config_file *f = &c->files[c->n];
	struct blob text;
	yaml_parser_t parser;
	int rc = file_read(path, &text);

	if (rc < 0)
		return fail(c, "kubeconfig %s: %s", path, strerror(-rc));
	if (!yaml_parser_initialize(&parser))
		fatal_memory();
	yaml_parser_set_input_string(&parser, (const unsigned char *)text.at, text.bytes);
	if (!yaml_parser_load(&parser, &f->document)) {
		rc = fail(c, "kubeconfig %s: line %zu: %s", path, parser.problem_mark.line + 1,
		          parser.problem ? parser.problem : "not YAML");
	} else {
		const yaml_node_t *root = yaml_document_get_root_node(&f->document);

		f->path = must_copy(path);
		c->n++;
		if (!root)
			rc = fail(c, "kubeconfig %s: empty", path);
		else if (root->type != YAML_MAPPING_NODE)
			rc = fail(c, "kubeconfig %s: not a mapping", path);
	}
	yaml_parser_delete(&parser);
	free(text.at);
	return rc;
}

/* Finds the entry of that name in a list such as "clusters", and its member `kind`: the first file
 * that has it wins. */
static int entry_find(struct config *c, const char *list, const char *kind, const char *name,
                      struct place *out)
{
	for (size_t i = 0; i < c->n; i++) {
		struct config_file *f = &c->files[i];
		const yaml_node_t *items = member(f, yaml_document_get_root_node(&f->document), list);

		if (is_null(items))
			continue;
		if (items->type != YAML_SEQUENCE_NODE)
			return fail(c, "%s: %s is not a list", f->path, list);
		for (yaml_node_item_t *it = items->data.sequence.items.start;
		     it < items->data.sequence.items.top; it++) {
			const yaml_node_t *item = yaml_document_get_node(&f->document, *it);
			const char *text = scalar(member(f, item, "name"));

			if (!text || strcmp(text, name) != 0)
				continue;
			out->file = f;
			out->node = member(f, item, kind);
			snprintf(out->name, sizeof(out->name), "%s[%.256s].%s", list, name, kind);
			if (!out->node || out->node->type != YAML_MAPPING_NODE)
				return fail(c, "%s: %s is missing", f->path, out->name);
			return 0;
		}
	}
	return fail(c, "%s: %s has no entry named \"%s\"", c->files[0].path, list, name);
}

/* A path in a kubeconfig is relative to the kubeconfig. */
static char *file_beside(const struct config_file *f, const char *path)
{
	const char *slash = strrchr(f->path, '/');

	if (path[0] == '/' || !slash)
		return must_copy(path);
	return format_text("%.*s/%s", (int)(slash - f->path), f->path, path);
}

static const char pem_mark[] = "-----BEGIN ";

static int pem_check(struct config *c, const struct place *p, const char *key, struct blob *b)
{
	if (strstr(b->at, pem_mark))
		return 0;
	free(b->at);
	*b = (struct blob){ 0 };
	return fail(c, "%s: %s.%s is not PEM (no -----BEGIN)", p->file->path, p->name, key);
}

/* White space is ignored.  The bytes and a 0 behind them. */
static int base64_decode(const char *text, struct blob *out)
{
	gnutls_datum_t from = { .data = (unsigned char *)(uintptr_t)text,
		                    .size = (unsigned)strlen(text) },
				   to;
	int rc;

	/* GnuTLS takes "-" for the end of PEM, and drops the rest. */
	if (strchr(text, '-'))
		return -EINVAL;
	rc = gnutls_base64_decode2(&from, &to);
	if (rc == GNUTLS_E_MEMORY_ERROR)
		fatal_memory();
	if (rc < 0)
		return -EINVAL;
	out->at = must_alloc(to.size + 1);
	memcpy(out->at, to.data, to.size);
	out->at[to.size] = '\0';
	out->bytes = to.size;
	gnutls_free(to.data);
	return 0;
}

/* Reads KEY-data in base64, or the file that KEY names, which is stored in *file. */
static int blob_member(struct config *c, const struct place *p, const char *key, struct blob *out,
                       char **file)
{
	char data_key[64];
	const char *text;
	char *path;
	int rc;

	snprintf(data_key, sizeof(data_key), "%s-data", key);
	if (string_member(c, p, data_key, &text) < 0)
		return -EINVAL;
	if (text) {
		if (base64_decode(text, out) < 0)
			return fail(c, "%s: %s.%s is not base64", p->file->path, p->name, data_key);
		return pem_check(c, p, data_key, out);
	}
	if (string_member(c, p, key, &text) < 0)
		return -EINVAL;
	if (!text)
		return 0;
	path = file_beside(p->file, text);
	rc = file_read(path, out);
	if (rc < 0)
		fail(c, "%s: %s.%s: %s: %s", p->file->path, p->name, key, path, strerror(-rc));
	*file = path;
	return rc < 0 ? -EINVAL : pem_check(c, p, key, out);
}

static int copy_member(struct config *c, const struct place *p, const char *key, char **out)
{
	const char *text;

	if (string_member(c, p, key, &text) < 0)
		return -EINVAL;
	if (text && has_control(text))
		return fail(c, "%s: %s.%s has a control byte in it", p->file->path, p->name, key);
	if (text)
		*out = must_copy(text);
	return 0;
}

static int insecure_read(struct config *c, const struct place *p, const struct access_options *o,
                         struct access *a)
{
	const char *text;

	if (string_member(c, p, "insecure-skip-tls-verify", &text) < 0)
		return -EINVAL;
	if (!text || strcmp(text, "false") == 0)
		return 0;
	if (strcmp(text, "true") != 0)
		return fail(c, "%s: %s.insecure-skip-tls-verify: \"%s\" is not true or false",
		            p->file->path, p->name, text);
	if (!o->allow_insecure)
		return fail(
			c,
			"%s: %s.insecure-skip-tls-verify: true is only taken with the flag --insecure-skip-tls-verify",
			p->file->path, p->name);
	a->insecure = true;
	return 0;
}

/* True for http:// to this host.  The URL is parsed by what connects to it, so that both see the
 * same host in http://localhost@elsewhere. */
static bool is_loopback(const char *server)
{
	char *host = NULL;
	CURLU *url = curl_url();
	bool is;

	if (!url)
		fatal_memory();
	is = strncmp(server, "http://", 7) == 0 &&
	     curl_url_set(url, CURLUPART_URL, server, 0) == CURLUE_OK &&
	     curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK && host_is_loopback(host);
	curl_free(host);
	curl_url_cleanup(url);
	return is;
}

/* True for https:// followed by a host. */
static bool is_https(const char *server)
{
	return strncmp(server, "https://", 8) == 0 && server[8] != '\0' && server[8] != '/';
}

static int cluster_read(struct config *c, const struct place *p, const struct access_options *o,
                        struct access *a)
{
	size_t n;

	if (copy_member(c, p, "server", &a->server) < 0 ||
	    copy_member(c, p, "tls-server-name", &a->tls_server_name) < 0 ||
	    copy_member(c, p, "proxy-url", &a->proxy) < 0 ||
	    blob_member(c, p, "certificate-authority", &a->ca, &a->ca_file) < 0 ||
	    insecure_read(c, p, o, a) < 0)
		return -EINVAL;
	if (!a->server)
		return fail(c, "%s: %s.server is missing", p->file->path, p->name);
	if (!is_https(a->server) && !is_loopback(a->server))
		return fail(c, "%s: %s.server: \"%s\" is not an https:// URL", p->file->path, p->name,
		            a->server);
	n = strlen(a->server);
	while (n > 0 && a->server[n - 1] == '/')
		a->server[--n] = '\0';
	return 0;
}

/* The items of a list, NULL: none; at most `most`. */
static int items_of(struct config *c, const struct place *p, const char *key, size_t most,
                    yaml_node_item_t **items, size_t *n)
{
	const yaml_node_t *node = member(p->file, p->node, key);

	*n = 0;
	if (is_null(node))
		return 0;
	if (node->type != YAML_SEQUENCE_NODE)
		return fail(c, "%s: %s.%s is not a list", p->file->path, p->name, key);
	*items = node->data.sequence.items.start;
	*n = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
	return *n <= most
	           ? 0
	           : fail(c, "%s: %s.%s has more than %zu items", p->file->path, p->name, key, most);
}

static int exec_lists_read(struct config *c, const struct place *p, struct exec_plugin *x)
{
	yaml_document_t *d = &p->file->document;
	yaml_node_item_t *items = NULL;
	size_t n;

	if (items_of(c, p, "args", EXEC_ARGUMENTS_MAX, &items, &n) < 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if ((x->argv[i + 1] = scalar(yaml_document_get_node(d, items[i]))) == NULL)
			return fail(c, "%s: %s.args[%zu] is not a string", p->file->path, p->name, i);
	if (items_of(c, p, "env", EXEC_VARIABLES_MAX, &items, &n) < 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *item = yaml_document_get_node(d, items[i]);

		x->names[i] = scalar(member(p->file, item, "name"));
		x->values[i] = scalar(member(p->file, item, "value"));
		if (!x->names[i] || !*x->names[i] || strchr(x->names[i], '=') || !x->values[i])
			return fail(c, "%s: %s.env[%zu] is no name and value", p->file->path, p->name, i);
	}
	return 0;
}

/* A credential plugin, as client-go takes it: a command with a slash is relative to the file. */
static int exec_read(struct config *c, const struct place *user, const struct access_options *o,
                     struct access *a)
{
	struct place p = { .file = user->file, .node = member(user->file, user->node, "exec") };
	struct exec_plugin x = { 0 };
	const char *command, *mode, *info;
	char *path;
	int rc;

	snprintf(p.name, sizeof(p.name), "%.280s.exec", user->name);
	if (p.node->type != YAML_MAPPING_NODE)
		return fail(c, "%s: %s is not a mapping", p.file->path, p.name);
	if (string_member(c, &p, "command", &command) < 0 ||
	    string_member(c, &p, "apiVersion", &x.api_version) < 0 ||
	    string_member(c, &p, "installHint", &x.hint) < 0 ||
	    string_member(c, &p, "interactiveMode", &mode) < 0 ||
	    string_member(c, &p, "provideClusterInfo", &info) < 0 || exec_lists_read(c, &p, &x) < 0)
		return -EINVAL;
	if (!command || !x.api_version)
		return fail(c, "%s: %s.%s is missing", p.file->path, p.name,
		            command ? "apiVersion" : "command");
	if (mode && strcmp(mode, "Always") == 0)
		return fail(c, "%s: %s.interactiveMode: plugins that ask questions are not run",
		            p.file->path, p.name);
	x.cluster_info = info && strcmp(info, "true") == 0;
	path = strchr(command, '/') ? file_beside(p.file, command) : must_copy(command);
	x.argv[0] = path;
	rc = o->exec(&x, a, c->error, c->error_bytes);
	free(path);
	if (rc < 0)
		clean_text(c->error); /* has names from the file */
	return rc;
}

static int user_refuse(struct config *c, const struct place *p, bool runs_plugins)
{
	static const struct {
		const char *key, *why;
	} refused[] = {
		{ "exec",
		  "credential plugins are not run by muster; use a token, a tokenFile or a client certificate" },
		{ "auth-provider",
		  "auth providers are not supported; use a token, a tokenFile or a client certificate" },
		{ "username",
		  "basic authentication is not supported by the API server; use a token or a client certificate" },
		{ "password",
		  "basic authentication is not supported by the API server; use a token or a client certificate" },
		{ "as", "impersonation is not supported" },
		{ "as-uid", "impersonation is not supported" },
		{ "as-groups", "impersonation is not supported" },
		{ "as-user-extra", "impersonation is not supported" },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const yaml_node_t *node = member(p->file, p->node, refused[i].key);
		const char *command = scalar(member(p->file, node, "command"));

		if (!is_null(node) && !(runs_plugins && strcmp(refused[i].key, "exec") == 0))
			return fail(c, "%s: %s.%s%s%.200s: %s", p->file->path, p->name, refused[i].key,
			            command ? " of " : "", command ? command : "", refused[i].why);
	}
	return 0;
}

static int user_read(struct config *c, const struct place *p, const struct access_options *o,
                     struct access *a)
{
	const char *file;

	if (user_refuse(c, p, o->exec != NULL) < 0 ||
	    blob_member(c, p, "client-certificate", &a->cert, &a->cert_file) < 0 ||
	    blob_member(c, p, "client-key", &a->key, &a->key_file) < 0 ||
	    copy_member(c, p, "token", &a->token) < 0 || string_member(c, p, "tokenFile", &file) < 0)
		return -EINVAL;
	if (!a->cert.at != !a->key.at)
		return fail(c, "%s: %s: client-certificate and client-key are only of use together",
		            p->file->path, p->name);
	if (file && !a->token)
		a->token_file = file_beside(p->file, file);
	/* Who has a token or a certificate needs no plugin, as in client-go. */
	if (!a->token && !a->token_file && !a->cert.at && !is_null(member(p->file, p->node, "exec")) &&
	    exec_read(c, p, o, a) < 0)
		return -EINVAL;
	if (!a->cert_file || !a->key_file) { /* a single file is not reread */
		free(a->cert_file);
		free(a->key_file);
		a->cert_file = a->key_file = NULL;
	}
	return 0;
}

static int context_name(struct config *c, const struct access_options *o, const char **out)
{
	*out = o->context;
	for (size_t i = 0; !*out && i < c->n; i++) {
		struct place root = { .file = &c->files[i],
			                  .node = yaml_document_get_root_node(&c->files[i].document) };
		const char *text = scalar(member(root.file, root.node, "current-context"));

		if (text && *text)
			*out = text;
	}
	return *out ? 0
	            : fail(c, "%s: current-context is missing; name one with --context",
	                   c->files[0].path);
}

static int config_read(struct config *c, const struct access_options *o, struct access *a)
{
	struct place context, place;
	const char *name, *text;

	if (context_name(c, o, &name) < 0 || entry_find(c, "contexts", "context", name, &context) < 0)
		return -EINVAL;
	if (string_member(c, &context, "cluster", &text) < 0)
		return -EINVAL;
	if (!text)
		return fail(c, "%s: %s.cluster is missing", context.file->path, context.name);
	if (entry_find(c, "clusters", "cluster", text, &place) < 0 || cluster_read(c, &place, o, a) < 0)
		return -EINVAL;
	if (string_member(c, &context, "user", &text) < 0)
		return -EINVAL;
	if (text &&
	    (entry_find(c, "users", "user", text, &place) < 0 || user_read(c, &place, o, a) < 0))
		return -EINVAL;
	a->source = format_text("context %s of %s", name, context.file->path);
	return 0;
}

/* PATH[:PATH...]; of several, missing files are skipped, as kubectl does. */
static int paths_parse(struct config *c, const char *paths, bool several)
{
	char *copy = must_copy(paths), *rest = copy, *path;
	int rc = 0;

	while (rc == 0 && (path = several ? strsep(&rest, ":") : rest) != NULL) {
		struct blob probe = { 0 };

		if (!several)
			rest = NULL;
		if (!*path)
			continue;
		if (c->n == FILES_MAX) {
			rc = fail(c, "$KUBECONFIG: more than %d files", FILES_MAX);
		} else if (several && strchr(paths, ':') && file_read(path, &probe) == -ENOENT) {
			continue;
		} else {
			free(probe.at);
			rc = file_parse(c, path);
		}
	}
	free(copy);
	if (rc == 0 && c->n == 0)
		rc = fail(c, "none of the files in %s exists", paths);
	return rc;
}

static int kubeconfig_load(struct access *a, const struct access_options *o, const char *paths,
                           bool several, char *error, size_t error_bytes)
{
	struct config c = { .error = error, .error_bytes = error_bytes };
	int rc = paths_parse(&c, paths, several);

	if (rc == 0)
		rc = config_read(&c, o, a);
	for (size_t i = 0; i < c.n; i++) {
		yaml_document_delete(&c.files[i].document);
		free(c.files[i].path);
	}
	return rc;
}

static int service_account_load(struct access *a, const char *folder, const char *host,
                                const char *port, char *error, size_t error_bytes)
{
	const char *why;
	char *token;
	int rc;

	a->ca_file = format_text("%s/ca.crt", folder);
	rc = file_read(a->ca_file, &a->ca);
	a->in_cluster = true;
	a->source = format_text("the service account in %s", folder);
	a->token_file = format_text("%s/token", folder);
	a->server = strchr(host, ':') ? format_text("https://[%s]:%s", host, port)
	                              : format_text("https://%s:%s", host, port);
	if (rc < 0) {
		snprintf(error, error_bytes, "%s: %s", a->ca_file, strerror(-rc));
	} else {
		token = access_token(a, &why);
		if (!token) {
			snprintf(error, error_bytes, "%s: %s", a->token_file, why);
			rc = -EINVAL;
		}
		free(token);
	}
	return rc < 0 ? -EINVAL : 0;
}

/* ~/.kube/config, if there is one. */
static bool of_home(const char *home, char *path, size_t path_bytes)
{
	int n;

	if (home == NULL || *home == '\0')
		return false;
	n = snprintf(path, path_bytes, "%s/.kube/config", home);
	return n > 0 && (size_t)n < path_bytes && access(path, F_OK) == 0;
}

/* Where access_load() finds it. */
enum found { FOUND_FLAG, FOUND_PATHS, FOUND_SERVICE_ACCOUNT, FOUND_HOME, FOUND_NOTHING };

static enum found find(const struct access_options *o, const char *(*env)(const char *), char *home,
                       size_t home_bytes)
{
	const char *paths = env("KUBECONFIG");
	const char *host = env("KUBERNETES_SERVICE_HOST"), *port = env("KUBERNETES_SERVICE_PORT");

	if (o->kubeconfig)
		return FOUND_FLAG;
	if (paths && *paths)
		return FOUND_PATHS;
	if (host && *host && port && *port)
		return FOUND_SERVICE_ACCOUNT;
	return of_home(env("HOME"), home, home_bytes) ? FOUND_HOME : FOUND_NOTHING;
}

static const char *(*getenv_of(const struct access_options *o))(const char *)
{
	return o->getenv ? o->getenv : (const char *(*)(const char *))getenv;
}

bool access_is_there(const struct access_options *o)
{
	char home[HOME_BYTES];

	return find(o, getenv_of(o), home, sizeof(home)) != FOUND_NOTHING;
}

int access_load(struct access *out, const struct access_options *o, char *error, size_t error_bytes)
{
	const char *(*env)(const char *) = getenv_of(o);
	char home[HOME_BYTES];
	struct access a = { 0 };
	int rc = -EINVAL;

	switch (find(o, env, home, sizeof(home))) {
	case FOUND_FLAG:
		rc = kubeconfig_load(&a, o, o->kubeconfig, false, error, error_bytes);
		break;
	case FOUND_PATHS:
		rc = kubeconfig_load(&a, o, env("KUBECONFIG"), true, error, error_bytes);
		break;
	case FOUND_SERVICE_ACCOUNT:
		rc = service_account_load(&a, o->service_account ? o->service_account : SERVICE_ACCOUNT,
		                          env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT"),
		                          error, error_bytes);
		break;
	case FOUND_HOME:
		rc = kubeconfig_load(&a, o, home, false, error, error_bytes);
		break;
	case FOUND_NOTHING:
		snprintf(error, error_bytes,
		         "no cluster: give --kubeconfig FILE, set KUBECONFIG, run in a pod with a service "
		         "account, or have a ~/.kube/config");
		break;
	}
	if (rc == 0 && a.token_file) {
		const char *why;
		char *token = access_token(&a, &why);

		if (!token) {
			snprintf(error, error_bytes, "%s: %s: %s", a.source, a.token_file, why);
			rc = -EINVAL;
		}
		free(token);
	}
	if (rc < 0) {
		access_free(&a);
		return -EINVAL;
	}
	*out = a;
	return 0;
}

void access_free(struct access *a)
{
	free(a->server);
	free(a->tls_server_name);
	free(a->proxy);
	free(a->ca.at);
	free(a->ca_file);
	free(a->cert.at);
	free(a->key.at);
	free(a->cert_file);
	free(a->key_file);
	free(a->token);
	free(a->token_file);
	free(a->source);
	*a = (struct access){ 0 };
}

int access_ca(const struct access *a, struct blob *out)
{
	struct blob now;
	int rc = a->ca_file ? file_read(a->ca_file, &now) : -ENOENT;

	if (rc < 0)
		return rc;
	if (!strstr(now.at, pem_mark)) {
		free(now.at);
		return -EINVAL;
	}
	*out = now;
	return 0;
}

/* NULL if the key belongs to the certificate, else the fault. */
static const char *pair_fault(const struct blob *cert, const struct blob *key)
{
	const gnutls_datum_t c = { .data = (unsigned char *)cert->at, .size = (unsigned)cert->bytes };
	const gnutls_datum_t k = { .data = (unsigned char *)key->at, .size = (unsigned)key->bytes };
	gnutls_certificate_credentials_t credentials;
	int rc = gnutls_certificate_allocate_credentials(&credentials);

	if (rc < 0)
		fatal_memory();
	rc = gnutls_certificate_set_x509_key_mem(credentials, &c, &k, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	return rc < 0 ? gnutls_strerror(rc) : NULL;
}

int access_pair(const struct access *a, struct blob *cert, struct blob *key, const char **why)
{
	struct blob cert_now, key_now;
	int rc = file_read(a->cert_file, &cert_now);

	if (rc < 0) {
		*why = strerror(-rc);
		return rc;
	}
	rc = file_read(a->key_file, &key_now);
	if (rc < 0) {
		*why = strerror(-rc);
		goto free_cert;
	}
	*why = pair_fault(&cert_now, &key_now);
	if (*why) {
		rc = -EINVAL;
		goto free_key;
	}
	*cert = cert_now;
	*key = key_now;
	return 0;

free_key:
	free(key_now.at);
free_cert:
	free(cert_now.at);
	return rc;
}

char *access_token(const struct access *a, const char **why)
{
	struct blob text;
	int rc;

	if (!a->token_file)
		return a->token ? must_copy(a->token) : NULL;
	rc = file_read(a->token_file, &text);
	if (rc < 0) {
		*why = strerror(-rc);
		return NULL;
	}
	while (text.bytes > 0 && strchr(" \t\r\n", text.at[text.bytes - 1]))
		text.at[--text.bytes] = '\0';
	if (text.bytes == 0 || strlen(text.at) != text.bytes || has_control(text.at)) {
		*why = text.bytes == 0 ? "the file is empty" : "not a token";
		free(text.at);
		return NULL;
	}
	return text.at;
}
