/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/decode/job.h"

#include "frontend/decode/extract.h"

static void extract_deadline(struct json *j, void *object)
{
	struct job_object *out = object;

	out->has_deadline = !json_null(j);
	if (out->has_deadline)
		json_int64(j, &out->deadline_s);
}

struct condition {
	struct text type, status;
};

static const struct json_field condition_fields[] = {
	JSON_FIELD("type", json_field_text, struct condition, type),
	JSON_FIELD("status", json_field_text, struct condition, status),
};

/* IsJobFinished() of pkg/controller/job. */
static void extract_condition(struct json *j, void *object)
{
	struct job_object *out = object;
	struct condition c = { TEXT_NONE, TEXT_NONE };

	json_fields(j, condition_fields, &c);
	if (text_is(c.status, "True") && (text_is(c.type, "Complete") || text_is(c.type, "Failed")))
		out->finished = true;
}

static void extract_conditions(struct json *j, void *object)
{
	json_items(j, extract_condition, object);
}

static const struct json_field job_spec[] = {
	JSON_WHOLE("activeDeadlineSeconds", extract_deadline),
	JSON_FIELD("suspend", json_field_bool, struct job_object, suspended),
	JSON_FIELD("managedBy", json_field_text, struct job_object, manager),
};

static const struct json_field job_status[] = {
	JSON_FIELD("startTime", extract_time, struct job_object, start_ns),
	JSON_WHOLE("conditions", extract_conditions),
};

static const struct json_field job_fields[] = {
	EXTRACT_OBJECT_FIELDS(struct job_object),
	JSON_NESTED("spec", job_spec),
	JSON_NESTED("status", job_status),
};

int extract_job(const char *json, size_t bytes, struct arena *arena, struct job_object *out,
                struct decode_error *error)
{
	*out = (struct job_object){ .manager = TEXT_NONE };
	extract_meta_start(&out->meta);
	return extract_document(json, bytes, arena, job_fields, out, &out->meta, "Job", error);
}

bool job_enforces(const struct job_object *job)
{
	return job->has_deadline && job->deadline_s >= 0 && !job_is_over(job) &&
	       (job->manager.bytes == 0 || text_is(job->manager, "kubernetes.io/job-controller"));
}

bool job_is_over(const struct job_object *job)
{
	return job->suspended || job->finished || job->meta.deleting;
}
