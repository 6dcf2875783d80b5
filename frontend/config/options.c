/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/config/options.h"

#include "frontend/api/lease.h"
#include "frontend/config/config.h"
#include "frontend/serve/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char usage[] = "usage: muster-frontend --socket PATH [options]\n"
							"\n"
							"Watches the API server for muster-core and writes its bindings.\n"
							"\n";

static const char usage_end[] =
	"  --config FILE               all of this and more, in YAML; flags go before it\n"
	"  --check-config FILE         read it, print what comes of it and the flags, and exit\n"
	"  --help-config               print a file of comments: every key, what it is for, its default\n"
	"  --help-metrics              print a table of what /metrics has\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 done, 1 failure, 2 usage or bad input, 78 the core is of another build,\n"
	"or --listen is taken.\n";

int log_level_read(const char *text)
{
	static const char *const names[] = { "debug", "info", "warn", "error" };

	for (int i = 0; i < 4; i++)
		if (strcmp(text, names[i]) == 0)
			return i;
	return -1;
}

/* ---- arguments ------------------------------------------------------------------ */

/* One flag: its setting, or NULL when it is one of those that are not in the file. */
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

/* The argument at *i and its value, which may be the next one.  -1, or the exit code. */
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

/* What is not in the table: the files, and what is only printed. */
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
	uint64_t bit = setting_bit(a->setting);
	char why[500];

	/* The first one takes the place of what the file says. */
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
	if (rc >= 0 || !check)
		return rc;
	config_print(out, stdout);
	return 0;
}
