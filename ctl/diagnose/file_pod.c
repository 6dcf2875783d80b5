/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/file_pod.h"

#include "ctl/objects/admission.h"
#include "ctl/offline/offline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool records_read(const cJSON *answer, struct file_pod *out)
{
	struct live_pod *p = &out->records;

	p->version = QUESTION_VERSION;
	p->epoch = strtoull(file_records_field(answer, "epoch"), NULL, 10);
	p->shape_bytes = file_records_bytes(answer, "shape", p->records, QUESTION_RECORDS);
	p->pod_bytes = file_records_bytes(answer, "pod", p->records + p->shape_bytes,
	                                  QUESTION_RECORDS - p->shape_bytes);
	return file_records_names(answer, &out->names) && p->shape_bytes > 0 && p->pod_bytes > 0;
}

static int answer_take(const char *command, const struct object *pod, const cJSON *answer,
                       struct file_pod *out)
{
	const char *error = file_records_field(answer, "error");
	const char *refused = file_records_field(answer, "refused");
	const char *field = file_records_field(answer, "field");
	char where[512];

	if (*error != '\0')
		return ctl_usage(command, "%s: Pod %s/%s: %s%s%s", object_where(pod, where, sizeof(where)),
		                 pod->namespace, pod->name, field, *field != '\0' ? ": " : "", error);
	if (*refused != '\0')
		fprintf(stderr, "%s: muster would not place %s: %s\n", command, out->name, refused);
	else if (records_read(answer, out))
		return EXIT_DONE;
	else
		fprintf(stderr, "%s: the answer of muster-frontend makes no sense\n", command);
	return EXIT_NO;
}

static int records_ask(const char *command, const struct object *pod, struct text json,
                       const char *listen, struct file_pod *out)
{
	cJSON *answer = NULL;
	int rc = file_records_post(command, json, listen, "pods", &answer);

	if (rc == EXIT_DONE)
		rc = answer_take(command, pod, answer, out);
	cJSON_Delete(answer);
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
	file_names_free(&p->names);
}
