/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/file_gang.h"

#include "ctl/objects/admission.h"
#include "ctl/offline/offline.h"
#include "frontend/base/bytes.h"
#include "frontend/dialect/dialects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if the object may describe a gang; versions of one group are read alike. */
static bool is_group(const struct object *o)
{
	for (size_t i = 0; i < dialects_n; i++) {
		const struct resource *r = dialects[i]->resource;
		const size_t n = r != NULL ? strlen(r->group) : 0;

		if (r == NULL || strcmp(r->kind, o->kind) != 0)
			continue;
		if (n == 0 ? strchr(o->api_version, '/') == NULL
		           : strncmp(o->api_version, r->group, n) == 0 && o->api_version[n] == '/')
			return true;
	}
	return false;
}

/* Adds what muster-frontend reads of the files to an array. False and `error`. */
static bool objects_add(const struct files *files, struct admission *admission, struct bytes *out,
                        char *error, size_t error_bytes)
{
	size_t n;
	const struct object *objects = files_objects(files, &n);

	for (size_t i = 0; i < n; i++)
		if (admission_takes(&objects[i]) &&
		    !admission_put(admission, &objects[i], error, error_bytes))
			return false;
	bytes_add(out, "[", 1);
	for (size_t i = 0; i < n; i++) {
		const bool is_pod = strcmp(objects[i].kind, "Pod") == 0;
		struct text json = objects[i].json;

		if (!is_pod && !is_group(&objects[i]))
			continue;
		if (is_pod && !admission_pod(admission, &objects[i], &json, error, error_bytes))
			return false;
		if (out->n > 1)
			bytes_add(out, ",", 1);
		bytes_add(out, json.at, json.bytes);
	}
	bytes_add(out, "]", 1);
	return true;
}

/* What unroll() made and left of the files. */
static void notes_say(const char *command, const struct files *files)
{
	const char *line = files_notes(files), *end;

	for (; (end = strchr(line, '\n')) != NULL; line = end + 1)
		fprintf(stderr, "%s: %.*s\n", command, (int)(end - line), line);
}

static uint32_t number_below(const cJSON *answer, const char *name, uint32_t end,
                             uint32_t otherwise)
{
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(answer, name);

	return cJSON_IsNumber(n) && n->valuedouble >= 0 && n->valuedouble < end
	           ? (uint32_t)n->valuedouble
	           : otherwise;
}

static bool records_read(const cJSON *answer, struct file_gang *out)
{
	struct live_gang *g = &out->records;

	out->name = must_copy(file_records_field(answer, "gang"));
	out->lone = number_below(answer, "lone", QUESTION_GANG_RECORDS, 0);
	out->dialect = number_below(answer, "dialect", (uint32_t)dialects_n, UINT32_MAX);
	g->version = QUESTION_VERSION;
	g->epoch = strtoull(file_records_field(answer, "epoch"), NULL, 10);
	g->bytes = file_records_bytes(answer, "records", g->records, QUESTION_GANG_RECORDS);
	return file_records_names(answer, &out->names) && g->bytes > 0 && out->name[0] != '\0';
}

static int answer_take(const char *command, const cJSON *answer, struct file_gang *out)
{
	const char *error = file_records_field(answer, "error");
	const char *refused = file_records_field(answer, "refused");
	const char *object = file_records_field(answer, "object");
	const char *field = file_records_field(answer, "field");

	if (*error != '\0')
		return ctl_usage(command, "%s: %s%s%s", object, field, *field != '\0' ? ": " : "", error);
	if (*refused != '\0')
		fprintf(stderr, "%s: muster would not place %s: %s\n", command,
		        file_records_field(answer, "gang"), refused);
	else if (records_read(answer, out))
		return EXIT_DONE;
	else
		fprintf(stderr, "%s: the answer of muster-frontend makes no sense\n", command);
	return EXIT_NO;
}

static int records_ask(const char *command, const struct files *files, const char *listen,
                       struct file_gang *out)
{
	struct admission *admission = admission_new();
	struct bytes json = { 0 };
	cJSON *answer = NULL;
	char text[2048];
	int rc;

	if (!objects_add(files, admission, &json, text, sizeof(text)))
		rc = ctl_usage(command, "%s", text);
	else
		rc = file_records_post(command, (struct text){ json.at, json.n }, listen, "gangs", &answer);
	if (rc == EXIT_DONE)
		rc = answer_take(command, answer, out);
	cJSON_Delete(answer);
	bytes_free(&json);
	admission_free(admission);
	return rc;
}

int file_gang_read(const char *command, const struct arguments *paths, const char *listen,
                   struct file_gang *out)
{
	struct files *files = files_new();
	char text[2048];
	size_t i = 0;
	int rc;

	memset(out, 0, sizeof(*out));
	while (i < paths->n && files_read(files, paths->at[i], text, sizeof(text)))
		i++;
	if (i < paths->n || !offline_expand(files, false, text, sizeof(text))) {
		rc = ctl_usage(command, "%s", text);
	} else {
		notes_say(command, files);
		rc = records_ask(command, files, listen, out);
	}
	files_free(files);
	return rc;
}

void file_gang_free(struct file_gang *g)
{
	free(g->name);
	file_names_free(&g->names);
}
