/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/options.h"

#include "frontend/config/config.h"
#include "frontend/api/lease.h"
#include "frontend/serve/address.h"
#include "frontend/serve/metrics.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "usage: muster-frontend --socket PATH [options]\n"
							"\n"
							"Watches the API server for muster-core and writes its bindings.\n"
							"\n";

static const char usage_end[] =
	"  --config FILE               settings in YAML; flags have precedence\n"
	"  --check-config FILE         check the file, print the settings of file and flags, and exit\n"
	"  --help-config               print a configuration file with every key, its meaning and default\n"
	"  --help-metrics              print a table of the metrics\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 done, 1 failure, 2 usage or bad input, 78 the core is of another build,\n"
	"or --listen is taken.\n";

/* A flag and its setting; NULL for a flag without a key. */
struct argument {
	const struct setting *setting;
	char name[64];
	const char *value; /* NULL: none */
};

static bool is_any(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* Reads the argument at *i and its value, which may be the next one. -1, or the exit code. */
static int argument_take(int argc, char **argv, int *i, struct argument *out)
{
	static const char *const alone[] = { "--help",         "-h", "--version", "--help-config",
		                                 "--help-metrics", NULL };
	static const char *const own[] = { "--config", "--check-config", NULL };
	static const char *const later[] = {
		"--secure-port",
		"--feature-gates",
		NULL,
	};
	const char *equals = strchr(argv[*i], '=');
	int n = equals ? (int)(equals - argv[*i]) : (int)strlen(argv[*i]);

	snprintf(out->name, sizeof(out->name), "%.*s", n < 63 ? n : 63, argv[*i]);
	out->setting = setting_by_flag(out->name);
	out->value = equals ? equals + 1 : NULL;
	if (is_any(out->name, later)) {
		fprintf(stderr, "muster-frontend: %s: not supported yet\n", out->name);
		return 2;
	}
	if (!out->setting && !is_any(out->name, own) && !is_any(out->name, alone)) {
		fprintf(stderr, "muster-frontend: %s: no such flag; see --help\n", out->name);
		return 2;
	}
	if (out->value || is_any(out->name, alone))
		return -1;
	if (out->setting && out->setting->kind == SETTING_YES) {
		out->value = "true";
		return -1;
	}
	if (*i + 1 == argc) {
		fprintf(stderr, "muster-frontend: %s: a value is needed\n", out->name);
		return 2;
	}
	out->value = argv[++*i];
	return -1;
}

/* Flags outside of the table: files, and those that print. */
static int own_take(const struct argument *a, const char **config, const char **check)
{
	if (strcmp(a->name, "--config") == 0 || strcmp(a->name, "--check-config") == 0) {
		*(a->name[2] == 'c' && a->name[3] == 'h' ? check : config) = a->value;
		return -1;
	}
	if (strcmp(a->name, "--version") == 0) {
		puts("muster-frontend " MUSTER_VERSION);
	} else if (strcmp(a->name, "--help-config") == 0) {
		config_print_schema(stdout);
	} else if (strcmp(a->name, "--help-metrics") == 0) {
		metrics_help(stdout);
	} else {
		fputs(usage, stdout);
		config_print_flags(stdout);
		fputs(usage_end, stdout);
	}
	return 0;
}

static int setting_take(const struct argument *a, struct options *o)
{
	setting_set bit = setting_bit(a->setting);
	char why[500];

	/* The first one replaces the file's list. */
	if (setting_is_list(a->setting) && !(o->from_flag & bit))
		setting_clear(a->setting, o);
	o->from_flag |= bit;
	if (setting_put(a->setting, o, a->value, why, sizeof(why)) == 0)
		return -1;
	fprintf(stderr, "muster-frontend: %s %s: %s\n", a->name, *a->value ? a->value : "\"\"", why);
	return 2;
}

static int file_read(const char *path, struct options *o)
{
	char error[1200];

	if (!path || config_read(path, o, error, sizeof(error)) == 0)
		return -1;
	fprintf(stderr, "%s\n", error);
	return 2;
}

static int lease_check(const struct options *o)
{
	const char *fault =
		lease_times_fault((uint64_t)o->lease_s, (uint64_t)o->renew_s, (uint64_t)o->retry_s);

	if (!fault)
		return -1;
	fprintf(stderr, "muster-frontend: leader election: %s (%d, %d and %d seconds)\n", fault,
	        (int)o->lease_s, (int)o->renew_s, (int)o->retry_s);
	return 2;
}

enum extender_auth options_auth(const struct options *o)
{
	return strcmp(o->extender_auth, "mtls") == 0    ? EXTENDER_AUTH_MTLS
	       : strcmp(o->extender_auth, "token") == 0 ? EXTENDER_AUTH_TOKEN
	                                                : EXTENDER_AUTH_NONE;
}

/* NULL, or why these settings would serve the extender to clients that it cannot tell apart. */
static const char *port_fault(const struct options *o)
{
	const bool local = address_is_off(o->listen) || address_is_loopback(o->listen);
	const enum extender_auth auth = options_auth(o);

	if (!o->tls_cert != !o->tls_key)
		return "--tls-cert-file and --tls-private-key-file are only of use together";
	if (o->extender_keep_s == 0)
		return NULL;
	if (auth == EXTENDER_AUTH_NONE && !local)
		return "--extender-keep: who reaches --listen could reserve the cluster: --extender-auth mtls or "
			   "token, or a loopback address";
	if (auth == EXTENDER_AUTH_MTLS && (!o->tls_cert || !o->client_ca))
		return "--extender-auth mtls: needs --tls-cert-file, --tls-private-key-file and --client-ca-file";
	if (auth == EXTENDER_AUTH_TOKEN && !local && !o->tls_cert)
		return "--extender-auth token: tokens would come in clear: --tls-cert-file, or a loopback address";
	return NULL;
}

static int port_check(const struct options *o)
{
	const char *fault = port_fault(o);

	if (!fault)
		return -1;
	fprintf(stderr, "muster-frontend: %s\n", fault);
	return 2;
}

int options_read(int argc, char **argv, struct options *out)
{
	const char *config = NULL, *check = NULL;
	struct argument a;
	int rc = -1;

	options_start(out);
	for (int i = 1; rc < 0 && i < argc; i++) {
		rc = argument_take(argc, argv, &i, &a);
		if (rc < 0 && !a.setting)
			rc = own_take(&a, &config, &check);
	}
	if (rc < 0)
		rc = file_read(check ? check : config, out);
	for (int i = 1; rc < 0 && i < argc; i++) {
		rc = argument_take(argc, argv, &i, &a);
		if (rc < 0 && a.setting)
			rc = setting_take(&a, out);
	}
	options_settle(out);
	if (rc < 0)
		rc = lease_check(out);
	if (rc < 0)
		rc = port_check(out);
	if (rc >= 0 || !check)
		return rc;
	config_print(out, stdout);
	return 0;
}
