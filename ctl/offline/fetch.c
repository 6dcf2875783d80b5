/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/fetch.h"

#include "ctl/objects/apiclient.h"
#include "ctl/offline/offline.h"
#include "ctl/up/credential.h"
#include "frontend/api/apistatus.h"
#include "frontend/devices/live.h"
#include "frontend/dialect/dialects.h"
#include "frontend/json/json.h"
#include "frontend/json/jsonout.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAIT_MS 1000u

struct fetching {
	struct apiclient *client;
	struct files *files;
	struct jsonout path;
	const char *namespace; /* of the current list; NULL: all */
	const char *selector;  /* likewise, NULL */
	const char *field;     /* likewise, "spec.nodeName=NAME"; NULL */
	char more[2048];       /* token of the next page, "" */
	/* Token of the page whose number is the last power of two: in a cycle it comes again (Brent).
	 */
	char seen[2048];
	unsigned pages_n;
	int status;
	bool ok;
	char *error;
	size_t error_bytes;
};

/* metadata.continue of a list. False and an error: it is invalid. */
static bool read_more(struct fetching *f, const char *body, size_t bytes)
{
	struct arena arena = { 0 };
	struct text more = { 0 };
	struct json j;
	const char *wrong = NULL;

	json_begin(&j, body, bytes, &arena);
	if (!json_find_text(&j, "metadata", "continue", &more))
		wrong = "not a text";
	else if (more.bytes >= sizeof(f->more))
		wrong = "longer than 2047 bytes";
	else if (more.bytes > 0 && more.bytes == strlen(f->seen) &&
	         memcmp(more.at, f->seen, more.bytes) == 0)
		wrong = "names a page that has come before"; /* the list would never end */
	else if (more.bytes > 0)
		memcpy(f->more, more.at, more.bytes);
	f->more[wrong == NULL ? more.bytes : 0] = '\0';
	f->pages_n++;
	if ((f->pages_n & (f->pages_n - 1)) == 0)
		strcpy(f->seen, f->more);
	arena_free(&arena);
	if (wrong != NULL)
		snprintf(f->error, f->error_bytes, "%s: metadata.continue: %s", f->path.at, wrong);
	return wrong == NULL;
}

/* Commands run credential plugins, as kubectl does. */
static struct apiclient *client_new(const struct access_options *options, char *error,
                                    size_t error_bytes)
{
	struct access_options with = *options;

	with.exec = credential_exec;
	return apiclient_new(&with, 1, error, error_bytes);
}

static void on_done(void *context, int status, const char *body, size_t bytes)
{
	struct fetching *f = context;
	const char *server = apiclient_server(f->client);
	struct apistatus s;

	f->status = status;
	f->ok = false;
	if (status == 200) {
		f->ok = files_take(f->files, f->path.at, body, bytes, f->error, f->error_bytes) &&
		        read_more(f, body, bytes);
	} else if (status == 0) {
		snprintf(f->error, f->error_bytes, "%s%s: %.300s (the server of %s)", server, f->path.at,
		         body, apiclient_source(f->client));
	} else if (status == 401) {
		snprintf(f->error, f->error_bytes,
		         "%s%s: 401 Unauthorized: the server refuses the credentials of %s: is the token "
		         "right and not expired?",
		         server, f->path.at, apiclient_source(f->client));
	} else {
		apistatus_read(body, bytes, &s);
		snprintf(f->error, f->error_bytes, "%s%s: %d %.300s", server, f->path.at, status,
		         s.message);
	}
}

static void get(struct fetching *f, const struct resource *r, const char *version)
{
	jsonout_clear(&f->path);
	jsonout_add(&f->path, *r->group ? "/apis/@p/" : "/api@p/", r->group);
	jsonout_add(&f->path, "@p/", version);
	if (f->namespace != NULL)
		jsonout_add(&f->path, "namespaces/@p/", f->namespace);
	jsonout_add(&f->path, "@p?limit=500", r->plural);
	if (f->selector != NULL)
		jsonout_add(&f->path, "&labelSelector=@p", f->selector);
	if (f->field != NULL)
		jsonout_add(&f->path, "&fieldSelector=@p", f->field);
	if (*f->more)
		jsonout_add(&f->path, "&continue=@p", f->more);
	f->more[0] = '\0';
	apiclient_send(f->client, "GET", f->path.at, NULL, on_done, f);
	while (apiclient_open(f->client) > 0)
		apiclient_run(f->client, WAIT_MS);
}

static void fetch_pages(struct fetching *f, const struct resource *r, const char *version)
{
	f->seen[0] = '\0';
	f->pages_n = 0;
	do
		get(f, r, version);
	while (f->ok && *f->more);
}

/* All pages of one kind; of an older version if the server does not serve the newest. */
static bool fetch_kind(struct fetching *f, const struct model *m, int index)
{
	size_t n;
	const struct resource *r = &model_resources(m, &n)[index];
	const char *version = NULL;

	while ((version = model_resource_older(m, index, version)) != NULL) {
		fetch_pages(f, r, version);
		if (f->ok || f->status != 404)
			break;
	}
	return f->ok || (f->status == 404 && r->optional);
}

bool fetch_claims(struct files *files, const struct access_options *options, bool classes,
                  char *error, size_t error_bytes)
{
	static const enum live_kind kinds[] = { LIVE_SLICES, LIVE_CLAIMS, LIVE_CLASSES };
	struct fetching f = { .files = files, .error = error, .error_bytes = error_bytes };
	bool ok;

	f.client = client_new(options, error, error_bytes);
	ok = f.client != NULL;
	for (size_t i = 0; ok && i < (classes ? 3 : 2); i++) {
		fetch_pages(&f, &live_resources[kinds[i]], live_resources[kinds[i]].version);
		ok = f.ok;
	}
	apiclient_free(f.client);
	jsonout_free(&f.path);
	return ok;
}

int fetch_all(struct files *files, const struct access_options *options, char *error,
              size_t error_bytes)
{
	return fetch_selected(files, options, NULL, error, error_bytes);
}

int fetch_selected(struct files *files, const struct access_options *options,
                   const char *node_selector, char *error, size_t error_bytes)
{
	struct offline *offline = offline_new(&(struct offline_config){ 0 });
	struct model *m = offline_own_model(offline);
	struct fetching f = { .files = files, .error = error, .error_bytes = error_bytes };
	size_t n;
	bool ok;

	f.client = client_new(options, error, error_bytes);
	ok = f.client != NULL;
	model_resources(m, &n);
	for (size_t i = 0; ok && i < n; i++) {
		f.selector = i == RESOURCE_INDEX_NODES ? node_selector : NULL;
		ok = fetch_kind(&f, m, (int)i);
	}
	apiclient_free(f.client);
	jsonout_free(&f.path);
	offline_free(offline);
	return ok ? 0 : f.status == 403 ? -EACCES : -EIO;
}

static size_t group_kinds(void)
{
	size_t n = 0;

	for (size_t i = 0; i < dialects_n; i++)
		n += dialects[i]->resource != NULL;
	return n;
}

#define REFUSED_BYTES sizeof(((struct fetch_gangs *)0)->refused)

/* The objects of one kind that describes groups; one that may not be listed is noted. */
static bool fetch_group(struct fetching *f, struct model *served, char *refused, int index)
{
	size_t n, used = strlen(refused);
	const struct resource *r = &model_resources(served, &n)[index];
	const bool ok = fetch_kind(f, served, index);

	if (f->ok)
		model_resource_served(served, index, true);
	if (ok || f->status != 403)
		return ok;
	snprintf(refused + used, REFUSED_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "", r->plural,
	         *r->group ? "." : "", r->group);
	return true;
}

static bool fetch_groups(struct fetching *f, struct model *served, char *refused)
{
	const int end = RESOURCE_INDEX_DIALECTS + (int)group_kinds();
	bool ok = true;

	for (int i = RESOURCE_INDEX_DIALECTS; ok && i < end; i++)
		ok = fetch_group(f, served, refused, i);
	return ok;
}

bool fetch_gangs(struct fetch_gangs *q, struct files *files, struct files *selected, char *error,
                 size_t error_bytes)
{
	struct fetching f = {
		.files = files, .namespace = q->namespace, .error = error, .error_bytes = error_bytes
	};
	bool ok;

	f.client = client_new(q->access, error, error_bytes);
	ok = f.client != NULL && fetch_kind(&f, q->served, RESOURCE_INDEX_PODS);
	if (f.status == 403 && q->namespace == NULL)
		snprintf(error + strlen(error), error_bytes - strlen(error),
		         "; -n names a namespace that may be read");
	ok = ok && fetch_groups(&f, q->served, q->refused);
	f.files = selected;
	f.selector = q->selector;
	ok = ok && (q->selector == NULL || fetch_kind(&f, q->served, RESOURCE_INDEX_PODS));
	apiclient_free(f.client);
	jsonout_free(&f.path);
	return ok;
}

bool fetch_nodes(struct fetch_nodes *q, struct files *files, char *error, size_t error_bytes)
{
	struct fetching f = {
		.files = files, .selector = q->selector, .error = error, .error_bytes = error_bytes
	};
	char field[400] = "";
	bool ok;

	static_assert(sizeof(q->refused) == REFUSED_BYTES, "fetch_groups() writes both");
	if (q->name != NULL) {
		snprintf(field, sizeof(field), "metadata.name=%.300s", q->name);
		f.field = field;
	}
	f.client = client_new(q->access, error, error_bytes);
	ok = f.client != NULL && fetch_kind(&f, q->served, RESOURCE_INDEX_NODES);
	f.selector = NULL;
	if (q->name != NULL)
		snprintf(field, sizeof(field), "spec.nodeName=%.300s", q->name);
	ok = ok && (!q->pods || fetch_kind(&f, q->served, RESOURCE_INDEX_PODS));
	f.field = NULL;
	ok = ok && (!q->pods || fetch_groups(&f, q->served, q->refused));
	apiclient_free(f.client);
	jsonout_free(&f.path);
	return ok;
}
