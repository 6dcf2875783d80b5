/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/file_pod.h"

#include "ctl/live/http.h"
#include "ctl/objects/admission.h"
#include "ctl/offline/offline.h"
#include "ctl/term/print.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000L

/* The only pod, whose classes are known to the admission then; NULL and a message. */
static const struct object *pod_of(const char *command, struct files *files,
                                   struct admission *admission)
{
	const struct object *objects, *pod = NULL;
	char text[2048], where[512];
	size_t n;

	if (!offline_expand(files, false, text, sizeof(text)))
		return ctl_usage(command, "%s", text), NULL;
	objects = files_objects(files, &n);
	for (size_t i = 0; i < n; i++) {
		if (admission_takes(&objects[i]) &&
		    !admission_put(admission, &objects[i], text, sizeof(text)))
			return ctl_usage(command, "%s", text), NULL;
		if (strcmp(objects[i].kind, "Pod") != 0)
			continue;
		if (pod != NULL)
			return ctl_usage(command, "%s: Pod %s/%s is one more pod, and --live judges one",
			                 object_where(&objects[i], where, sizeof(where)), objects[i].namespace,
			                 objects[i].name),
			       NULL;
		pod = &objects[i];
	}
	if (pod == NULL)
		ctl_usage(command, "there is no pod in the files");
	return pod;
}

static const char *field_of(const cJSON *o, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));

	return text != NULL ? text : "";
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The number of bytes that were written behind the first `used`; 0: it is no record of bytes. */
static uint32_t record_read(const char *hex, struct live_pod *p, uint32_t used)
{
	const size_t n = strlen(hex);

	if (n == 0 || n % 16 != 0 || n / 2 > QUESTION_RECORDS - used)
		return 0;
	for (size_t i = 0; i < n; i += 2) {
		const int high = digit(hex[i]), low = digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		p->records[used + i / 2] = (unsigned char)(high << 4 | low);
	}
	return (uint32_t)(n / 2);
}

static bool records_read(const cJSON *answer, struct file_pod *out)
{
	struct live_pod *p = &out->records;
	const cJSON *name;

	p->version = QUESTION_VERSION;
	p->epoch = strtoull(field_of(answer, "epoch"), NULL, 10);
	p->shape_bytes = record_read(field_of(answer, "shape"), p, 0);
	p->pod_bytes = record_read(field_of(answer, "pod"), p, p->shape_bytes);
	cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(answer, "names"))
	{
		const cJSON *id = cJSON_GetObjectItemCaseSensitive(name, "id");

		if (!cJSON_IsNumber(id) || id->valuedouble < 0 || id->valuedouble > 1e9 ||
		    out->names_n == RESOURCES_MAX)
			return false;
		out->names[out->names_n].id = (name_id)id->valuedouble;
		out->names[out->names_n++].text = must_copy(field_of(name, "name"));
	}
	return p->shape_bytes > 0 && p->pod_bytes > 0;
}

static int answer_take(const char *command, const struct object *pod, const char *url,
                       const char *json, struct file_pod *out)
{
	cJSON *answer = cJSON_Parse(json);
	const char *error = field_of(answer, "error"), *refused = field_of(answer, "refused");
	const char *field = field_of(answer, "field");
	char where[512];
	int rc = EXIT_NO;

	if (*error != '\0')
		rc = ctl_usage(command, "%s: Pod %s/%s: %s%s%s", object_where(pod, where, sizeof(where)),
		               pod->namespace, pod->name, field, *field != '\0' ? ": " : "", error);
	else if (*refused != '\0')
		fprintf(stderr, "%s: muster would not place %s: %s\n", command, out->name, refused);
	else if (records_read(answer, out))
		rc = EXIT_DONE;
	else
		fprintf(stderr, "%s: %s: the answer is not muster-frontend's\n", command, url);
	cJSON_Delete(answer);
	return rc;
}

static int records_ask(const char *command, const struct object *pod, struct text json,
                       const char *listen, struct file_pod *out)
{
	char error[800], url[1200];
	struct bytes body = { 0 };
	long status;
	int rc = EXIT_NO;

	http_url(listen, "/pod", url, sizeof(url));
	status = http_post(url, TIMEOUT_MS, json.at, json.bytes, &body, error, sizeof(error));
	if (status == 0)
		fprintf(stderr, "%s: %s; is muster-frontend there? See --listen\n", command, error);
	else if (status == 404 || status == 405)
		fprintf(stderr, "%s: %s: muster-frontend is older and takes no pods of files\n", command,
		        url);
	else if (status != 200)
		fprintf(stderr, "%s: %s: HTTP %ld: %.*s\n", command, url, status,
		        (int)strcspn(body.at, "\n"), body.at);
	else
		rc = answer_take(command, pod, url, body.at, out);
	bytes_free(&body);
	return rc;
}

int file_pod_read(const char *command, const struct arguments *paths, const char *listen,
                  struct file_pod *out)
{
	struct files *files = files_new();
	struct admission *admission = admission_new();
	const struct object *pod = NULL;
	char text[2048];
	struct text json;
	int rc = EXIT_USAGE;
	size_t i = 0;

	memset(out, 0, sizeof(*out));
	while (i < paths->n && files_read(files, paths->at[i], text, sizeof(text)))
		i++;
	if (i < paths->n)
		ctl_usage(command, "%s", text);
	else
		pod = pod_of(command, files, admission);
	if (pod != NULL && !admission_pod(admission, pod, &json, text, sizeof(text))) {
		ctl_usage(command, "%s", text);
	} else if (pod != NULL) {
		out->name = ctl_print("%s/%s", pod->namespace, pod->name);
		rc = records_ask(command, pod, json, listen, out);
	}
	admission_free(admission);
	files_free(files);
	return rc;
}

void file_pod_free(struct file_pod *p)
{
	free(p->name);
	for (size_t i = 0; i < p->names_n; i++)
		free(p->names[i].text);
}
