/* SPDX-License-Identifier: Apache-2.0 */
/* muster-apisim: an embedded Kubernetes API server with simulated kubelets. */
#include "tests/apisim/http.h"
#include "tests/apisim/options.h"
#include "tests/apisim/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* splitmix64: the uids of a run can be had again with --seed. */
static uint64_t next_random(void *context)
{
	uint64_t *state = context, z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t system_random(void)
{
	uint64_t value;

	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		as_die("getrandom: %s", strerror(errno));
	return value;
}

static char *read_text(const char *path)
{
	struct as_text text = { 0 };
	char part[4096];
	size_t n;
	FILE *f = fopen(path, "re");

	if (f == NULL)
		as_die("%s: %s", path, strerror(errno));
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		as_text_add(&text, part, n);
	fclose(f);
	as_text_add(&text, "", 1);
	return text.at;
}

static void put_base64(struct as_text *out, const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = 0;
		char four[4];

		for (size_t b = 0; b < 3; b++)
			bits = bits << 8 | (i + b < n ? (unsigned char)text[i + b] : 0);
		for (size_t d = 0; d < 4; d++)
			four[d] = i + d <= n ? digits[bits >> (18 - 6 * d) & 63] : '=';
		as_text_add(out, four, 4);
	}
}

/* A reader sees the whole file or none. */
static int write_kubeconfig(const struct as_options *o, const struct as_tls *tls, const char *token,
                            uint16_t port)
{
	struct as_text text = { 0 };
	char *temporary;
	int fd, rc = -1;

	as_text_printf(&text,
	               "apiVersion: v1\nkind: Config\ncurrent-context: apisim\n"
	               "clusters:\n- name: apisim\n  cluster:\n    server: %s://%s:%u\n",
	               o->tls ? "https" : "http", o->listen, port);
	if (o->tls) {
		as_text_put(&text, "    certificate-authority-data: ");
		put_base64(&text, tls->ca_pem);
		as_text_put(&text, "\n");
	}
	as_text_printf(&text,
	               "users:\n- name: apisim\n  user:\n    token: \"%s\"\n"
	               "contexts:\n- name: apisim\n  context:\n    cluster: apisim\n    user: apisim\n",
	               token);
	if (asprintf(&temporary, "%s.%d", o->kubeconfig, (int)getpid()) < 0)
		as_die("out of memory");
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool whole = write(fd, text.at, text.bytes) == (ssize_t)text.bytes;

		if (close(fd) == 0 && whole)
			rc = rename(temporary, o->kubeconfig);
	}
	if (rc < 0) {
		fprintf(stderr, "muster-apisim: %s: %s\n", o->kubeconfig, strerror(errno));
		unlink(temporary);
	}
	free(temporary);
	as_text_free(&text);
	return rc;
}

/* GROUP/VERSION/PLURAL[/KIND[/nostatus]] */
static int add_custom(struct as_api *api, const char *flag)
{
	char *copy = as_copy(flag), *rest = copy, *part[5] = { NULL }, *why = NULL;
	char kind[64];
	size_t n = 0;
	int rc = 0;

	while (n < 5 && rest != NULL)
		part[n++] = strsep(&rest, "/");
	if (n < 3 || rest != NULL || (n == 5 && strcmp(part[4], "nostatus") != 0)) {
		fprintf(stderr, "muster-apisim: --crd %s: not GROUP/VERSION/PLURAL[/KIND[/nostatus]]\n",
		        flag);
		free(copy);
		return 2;
	}
	/* "things" holds Things. */
	snprintf(kind, sizeof(kind), "%.*s", (int)strlen(part[2]) - 1, part[2]);
	if (kind[0] >= 'a' && kind[0] <= 'z')
		kind[0] = (char)(kind[0] - 'a' + 'A');
	if (as_api_add_custom(api, part[0], part[1], part[2], n >= 4 ? part[3] : kind, true, n < 5,
	                      as_clock_ns(), &why) < 0) {
		fprintf(stderr, "muster-apisim: --crd %s: %s\n", flag, why);
		free(why);
		rc = 2;
	}
	free(copy);
	return rc;
}

static int add_customs(struct as_api *api, const struct as_options *o)
{
	static const char *const usual[] = { "scheduling.x-k8s.io/v1alpha1/podgroups/PodGroup",
		                                 "scheduling.sigs.k8s.io/v1alpha1/podgroups/PodGroup",
		                                 NULL };
	int rc = 0;

	for (const char *const *at = usual; *at != NULL && rc == 0; at++)
		rc = add_custom(api, *at);
	for (const char *const *at = o->crds; *at != NULL && rc == 0; at++)
		rc = add_custom(api, *at);
	return rc;
}

static int add_objects(struct as_api *api, const struct as_options *o)
{
	if (as_load_nodes(api, &o->nodes, as_clock_ns()) < 0)
		return 2;
	for (const char *const *file = o->loads; *file != NULL; file++)
		if (as_load_file(api, *file, as_clock_ns()) < 0)
			return 2;
	return 0;
}

static int serve(const struct as_options *o, struct as_api *api, int stop_fd)
{
	struct as_kubelets *kubelets = as_kubelets_new(api, &o->kubelet);
	struct as_server *server;
	struct as_tls tls = { 0 };
	char token[33];
	int rc = 1;

	snprintf(token, sizeof(token), "%016llx%016llx", (unsigned long long)system_random(),
	         (unsigned long long)system_random());
	if (o->certificate != NULL) {
		tls.ca_pem = read_text(o->ca);
		tls.certificate_pem = read_text(o->certificate);
		tls.key_pem = read_text(o->key);
	} else if (o->tls) {
		as_tls_make(&tls);
	}
	server = as_server_start(api, kubelets,
	                         &(struct as_server_config){
								 .address = o->listen,
								 .port = o->port,
								 .token = o->token != NULL ? o->token : token,
								 .certificate_pem = tls.certificate_pem,
								 .key_pem = tls.key_pem,
								 .latency_ms = o->latency_ms,
							 });
	if (server == NULL)
		goto free_all;
	if (o->kubeconfig != NULL &&
	    write_kubeconfig(o, &tls, o->token != NULL ? o->token : token, as_server_port(server)) < 0)
		goto stop_server;
	printf("muster-apisim: %s://%s:%u\n", o->tls ? "https" : "http", o->listen,
	       as_server_port(server));
	fflush(stdout);
	as_server_run(server, stop_fd);
	rc = 0;
stop_server:
	as_server_stop(server);
free_all:
	as_kubelets_free(kubelets);
	as_tls_free(&tls);
	return rc;
}

int main(int argc, char **argv)
{
	struct as_options o;
	struct as_api *api;
	const char *bad_gate = NULL;
	sigset_t stop;
	uint64_t state;
	int rc = as_options_read(&o, argc, argv);

	if (rc >= 0)
		return rc;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	signal(SIGPIPE, SIG_IGN);

	state = o.seed != 0 ? o.seed : system_random();
	api = as_api_new(&(struct as_config){
		.history = o.history,
		.watch_lag = o.watch_lag,
		.bookmark_ms = o.bookmark_ms,
		.random = next_random,
		.context = &state,
		.gates = o.gates,
		.bad_gate = &bad_gate,
		.now_ns = as_clock_ns(),
	});
	if (api == NULL) {
		fprintf(stderr, "muster-apisim: unknown gate %s\n", bad_gate);
		return 2;
	}
	rc = add_customs(api, &o);
	if (rc == 0)
		rc = add_objects(api, &o);
	if (rc == 0)
		rc = serve(&o, api, signalfd(-1, &stop, SFD_CLOEXEC));
	as_api_free(api);
	return rc;
}
