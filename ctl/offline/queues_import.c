/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/offline/queues_import.h"

#include "ctl/objects/read.h"
#include "ctl/term/ctl.h"
#include "ctl/term/print.h"
#include "frontend/json/quantity.h"
#include "frontend/json/yaml.h"
#include "frontend/queues/queues.h"
#include "ipc/memory.h"

#include <stdlib.h>
#include <string.h>

struct import {
	const char *path;
	FILE *queues, *notes; /* what is written; what has no field */
	uint32_t n;
	char *error; /* "": none yet */
	size_t error_bytes;
};

/* The text of a scalar, to be freed: of a string without quotes. */
static char *scalar_text(const cJSON *value)
{
	char *text;

	if (cJSON_IsString(value))
		return must_copy(value->valuestring);
	text = cJSON_PrintUnformatted(value);
	if (!text)
		abort();
	return text;
}

static void note(struct import *m, const char *queue, const char *field, const cJSON *value)
{
	char *text = scalar_text(value);
	char *line = ctl_print("%s%s%s: %.200s", queue, queue[0] != '\0' ? ": " : "", field, text);

	ctl_plain(line); /* names and fields may have newlines, which would end the comment */
	fprintf(m->notes, "#   %s\n", line);
	free(line);
	free(text);
}

static bool wrong(struct import *m, const char *queue, const char *field, const cJSON *value,
                  const char *why)
{
	char *text = scalar_text(value);

	if (m->error[0] == '\0')
		snprintf(m->error, m->error_bytes, "%s: queue %s: %s: %.200s %s", m->path, queue, field,
		         text, why);
	ctl_plain(m->error);
	free(text);
	return false;
}

static void quote(FILE *out, const char *text)
{
	struct bytes quoted = { 0 };

	bytes_quote_clean(&quoted, text, strlen(text));
	fwrite(quoted.at, 1, quoted.n, out);
	bytes_free(&quoted);
}

/* resources.guaranteed and resources.max: YuniKorn's quantities are ones of Kubernetes, and a vcore
 * is a cpu. */
static bool amounts_write(struct import *m, const char *queue, const cJSON *amounts,
                          const char *field, const char *as)
{
	const cJSON *a;
	char path[320];
	nano_t nano;

	if (!cJSON_IsObject(amounts))
		return wrong(m, queue, field, amounts, "is not an object");
	fprintf(m->queues, "  %s: {", as);
	cJSON_ArrayForEach(a, amounts)
	{
		char *text = scalar_text(a);
		const bool right = (cJSON_IsString(a) || cJSON_IsNumber(a)) &&
		                   quantity_parse(text, strlen(text), &nano) == 0 && nano >= 0;

		if (right) {
			quote(m->queues, strcmp(a->string, "vcore") == 0 ? "cpu" : a->string);
			fputs(": ", m->queues);
			quote(m->queues, text);
			fputs(a->next ? ", " : "", m->queues);
		}
		free(text);
		snprintf(path, sizeof(path), "%s.%.200s", field, a->string);
		if (!right)
			return wrong(m, queue, path, a, "is not a quantity of 0 or more");
	}
	fputs("}\n", m->queues);
	return true;
}

static bool resources_write(struct import *m, const char *queue, const cJSON *resources)
{
	const cJSON *field;
	bool ok = true;

	cJSON_ArrayForEach(field, resources)
	{
		if (ok && strcmp(field->string, "guaranteed") == 0)
			ok = amounts_write(m, queue, field, "resources.guaranteed", "guarantee");
		else if (ok && strcmp(field->string, "max") == 0)
			ok = amounts_write(m, queue, field, "resources.max", "limit");
		else
			note(m, queue, "resources", field);
	}
	return ok;
}

/* An offset is added to the priorities of a queue's pods among those of its siblings. */
static bool properties_write(struct import *m, const char *queue, const cJSON *properties)
{
	const cJSON *field;

	cJSON_ArrayForEach(field, properties)
	{
		char *text = scalar_text(field), *end;
		const long long value = strtoll(text, &end, 10);
		const bool number =
			*text != '\0' && *end == '\0' && value >= INT32_MIN && value <= INT32_MAX;
		const bool offset = strcmp(field->string, "priority.offset") == 0;
		const bool kept =
			strcmp(field->string, "preemption.policy") == 0 && strcmp(text, "disabled") == 0;

		free(text);
		if (offset && !number)
			return wrong(m, queue, "properties.priority.offset", field,
			             "is not a whole number of 32 bits");
		if (offset)
			fprintf(m->queues, "  priority: %lld\n", value);
		else if (kept)
			fputs("  reclaimable: false\n", m->queues);
		else
			note(m, queue, field->string, field);
	}
	return true;
}

static bool queues_write(struct import *m, const char *parent, const cJSON *queues, uint32_t depth);

/* The fields of a queue but those that say where it is; `path` is YuniKorn's. */
static bool fields_write(struct import *m, const char *path, const cJSON *queue)
{
	const bool root = strcmp(path, "root") == 0; /* of which muster reads none */
	const cJSON *field;
	bool ok = true;

	cJSON_ArrayForEach(field, queue)
	{
		const char *name = field->string;

		if (!ok || strcmp(name, "name") == 0 || strcmp(name, "queues") == 0 ||
		    strcmp(name, "parent") == 0)
			continue;
		if (strcmp(name, "resources") == 0 && !root)
			ok = resources_write(m, path, field);
		else if (strcmp(name, "properties") == 0 && !root)
			ok = properties_write(m, path, field);
		else
			note(m, path, name, field);
	}
	return ok;
}

static bool queue_write(struct import *m, const char *parent, const cJSON *queue, uint32_t depth)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(queue, "name");
	const cJSON *children = cJSON_GetObjectItemCaseSensitive(queue, "queues");
	const cJSON *inner = cJSON_GetObjectItemCaseSensitive(queue, "parent");
	char *path;
	bool ok;

	if (!cJSON_IsString(name) || name->valuestring[0] == '\0' || strchr(name->valuestring, '.'))
		return wrong(m, parent, "queues.name", name ? name : queue, "is not the name of a queue");
	path = ctl_print("%s.%s", parent, name->valuestring);
	fputs("- name: ", m->queues);
	quote(m->queues, path + sizeof("root.") - 1);
	fputc('\n', m->queues);
	if (strcmp(parent, "root") != 0) {
		fputs("  parent: ", m->queues);
		quote(m->queues, parent + sizeof("root.") - 1);
		fputc('\n', m->queues);
	}
	m->n++;
	if (cJSON_IsTrue(inner) && cJSON_GetArraySize(children) == 0)
		note(m, path, "parent", inner); /* it takes pods here */
	ok = fields_write(m, path, queue) && queues_write(m, path, children, depth + 1);
	free(path);
	return ok;
}

static bool queues_write(struct import *m, const char *parent, const cJSON *queues, uint32_t depth)
{
	const cJSON *queue;

	if (queues && !cJSON_IsArray(queues))
		return wrong(m, parent, "queues", queues, "is not a list");
	if (queues && depth > QUEUE_DEPTH_MAX)
		return wrong(m, parent, "queues", queues, "are too deep below the root");
	cJSON_ArrayForEach(queue, queues) if (!queue_write(m, parent, queue, depth)) return false;
	return true;
}

/* The root may be left out. */
static bool partition_write(struct import *m, const cJSON *partition)
{
	const cJSON *queues = cJSON_GetObjectItemCaseSensitive(partition, "queues"), *field;
	const cJSON *first = cJSON_GetArrayItem(queues, 0);
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(first, "name");

	cJSON_ArrayForEach(field, partition) if (strcmp(field->string, "name") != 0 &&
	                                         strcmp(field->string, "queues") != 0)
		note(m, "", field->string, field);
	if (cJSON_GetArraySize(queues) != 1 || !cJSON_IsString(name) ||
	    strcmp(name->valuestring, "root") != 0)
		return queues_write(m, "root", queues, 1);
	return fields_write(m, "root", first) &&
	       queues_write(m, "root", cJSON_GetObjectItemCaseSensitive(first, "queues"), 1);
}

/* The first one, which is named default where there are several. */
static bool document_write(struct import *m, const cJSON *o)
{
	const cJSON *partitions = cJSON_GetObjectItemCaseSensitive(o, "partitions"), *partition;
	const cJSON *taken = cJSON_GetArrayItem(partitions, 0);

	if (!cJSON_IsObject(taken)) {
		snprintf(m->error, m->error_bytes,
		         "%s: a list of partitions is missing: \"partitions\", or \"queues.yaml\" of a "
		         "ConfigMap",
		         m->path);
		return false;
	}
	cJSON_ArrayForEach(partition, partitions)
	{
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(partition, "name");

		if (cJSON_IsString(name) && strcmp(name->valuestring, "default") == 0)
			taken = partition;
	}
	cJSON_ArrayForEach(partition, partitions)
	{
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(partition, "name");

		if (partition != taken)
			note(m, "", "partitions", name ? name : partition);
	}
	return partition_write(m, taken);
}

static bool yaml_write(struct import *m, const char *yaml, size_t bytes, bool of_map)
{
	struct bytes json = { 0 };
	struct yaml_error e;
	const cJSON *map;
	cJSON *o;
	bool ok;

	if (!yaml_to_json(yaml, bytes, &json, NULL, &e)) {
		snprintf(m->error, m->error_bytes, "%s: %zu:%zu: %s", m->path, e.line, e.column, e.text);
		bytes_free(&json);
		return false;
	}
	o = cJSON_ParseWithLength(json.at, json.n);
	map = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(o, "data"),
	                                       "queues.yaml");
	ok = !of_map && cJSON_IsString(map)
	         ? yaml_write(m, map->valuestring, strlen(map->valuestring), true)
	         : document_write(m, o);
	cJSON_Delete(o);
	bytes_free(&json);
	return ok;
}

/* What is printed is what the frontend takes. */
static bool is_read(struct import *m, struct text yaml)
{
	struct queues_read *q = queues_new(QUEUES_CONFIG);
	const bool ok = queues_read_config(q, m->path, yaml, m->error, m->error_bytes) &&
	                queues_arrange(q, true, m->error, m->error_bytes);

	queues_read_free(q);
	return ok;
}

bool queues_import_yunikorn(const char *path, const struct bytes *yaml, FILE *out, char *error,
                            size_t error_bytes)
{
	char *queues = NULL, *notes = NULL;
	size_t queues_n = 0, notes_n = 0;
	struct import m = { .path = path, .error = error, .error_bytes = error_bytes };
	bool ok;

	error[0] = '\0';
	m.queues = open_memstream(&queues, &queues_n);
	m.notes = open_memstream(&notes, &notes_n);
	if (!m.queues || !m.notes)
		abort();
	fputs("queues:\n", m.queues);
	ok = yaml_write(&m, yaml->at, yaml->n, false);
	if (ok && m.n == 0)
		fputs("  []\n", m.queues);
	fclose(m.queues);
	fclose(m.notes);
	ok = ok && is_read(&m, (struct text){ queues, queues_n });
	if (ok) {
		fputs(
			"# Of YuniKorn. Pods name a queue by the label muster.dev/queue: a.b in place of root.a.b.\n",
			out);
		fprintf(out, "%s%s%s", notes_n > 0 ? "# Not taken over:\n" : "", notes, queues);
	}
	free(queues);
	free(notes);
	return ok;
}

int queues_import(const char *source, const char *path, const char *command)
{
	struct bytes yaml = { 0 };
	char error[1024];
	bool ok;

	if (strcmp(source, "yunikorn") != 0)
		return ctl_usage(command, "import: %s: yunikorn is the one there is", source);
	ok = read_whole(path, &yaml, error, sizeof(error)) &&
	     queues_import_yunikorn(path, &yaml, stdout, error, sizeof(error));
	bytes_free(&yaml);
	if (!ok)
		return ctl_usage(command, "%s", error);
	return ctl_flush(command) ? EXIT_DONE : EXIT_NO;
}
