/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/demo/trace.h"

#include "ctl/term/ctl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 16
#define NUMBER_MAX 100000000ul

/* A CSV file without quotes, line by line. */
struct table_file {
	FILE *file;
	const char *path;
	char line[1024];
	char *cells[COLUMNS_MAX];
	size_t cells_n;
	size_t number; /* of the line */
	char *error;
	size_t error_bytes;
};

static bool fail(struct table_file *f, const char *what)
{
	if (f->number == 0)
		snprintf(f->error, f->error_bytes, "%s: %s", f->path, what);
	else
		snprintf(f->error, f->error_bytes, "%s: line %zu: %s", f->path, f->number, what);
	return false;
}

/* 1: a line, 0: the end, -1: an error was reported. */
static int next_line(struct table_file *f)
{
	char *rest = f->line;

	if (fgets(f->line, sizeof(f->line), f->file) == NULL)
		return ferror(f->file) ? (fail(f, strerror(errno)), -1) : 0;
	f->number++;
	f->line[strcspn(f->line, "\r\n")] = '\0';
	for (f->cells_n = 0; rest != NULL && f->cells_n < COLUMNS_MAX; f->cells_n++)
		f->cells[f->cells_n] = strsep(&rest, ",");
	return 1;
}

static bool number(struct table_file *f, size_t column, unsigned *out)
{
	unsigned long value;
	char *end;

	if (column >= f->cells_n)
		return fail(f, "too few columns");
	errno = 0;
	value = strtoul(f->cells[column], &end, 10);
	if (end == f->cells[column] || *end != '\0' || errno != 0 || value > NUMBER_MAX)
		return fail(f, "not a number where one is expected");
	*out = (unsigned)value;
	return true;
}

static bool node_line(struct trace *t, struct table_file *f)
{
	struct trace_node *n;

	t->nodes = must_grow(t->nodes, (t->nodes_n + 1) * sizeof(*t->nodes));
	n = &t->nodes[t->nodes_n];
	memset(n, 0, sizeof(*n));
	if (!number(f, 1, &n->cpu_milli) || !number(f, 2, &n->memory_mib) || !number(f, 3, &n->gpus))
		return false;
	if (f->cells_n < 5)
		return fail(f, "too few columns");
	snprintf(n->name, sizeof(n->name), "%s", f->cells[0]);
	snprintf(n->model, sizeof(n->model), "%s", f->cells[4]);
	t->nodes_n++;
	t->gpus_there += n->gpus;
	return true;
}

static bool job_line(struct trace *t, struct table_file *f)
{
	struct trace_job *j;
	unsigned id;

	t->jobs = must_grow(t->jobs, (t->jobs_n + 1) * sizeof(*t->jobs));
	j = &t->jobs[t->jobs_n];
	memset(j, 0, sizeof(*j));
	if (!number(f, 0, &id) || !number(f, 2, &j->gpus) || !number(f, 3, &j->submit_min) ||
	    !number(f, 6, &j->duration_min))
		return false;
	if (j->gpus == 0)
		return fail(f, "a job without GPUs");
	snprintf(j->name, sizeof(j->name), "job-%u", id);
	snprintf(j->namespace, sizeof(j->namespace), "%s", f->cells[1]);
	for (char *c = j->namespace; *c != '\0'; c++)
		if (*c == '_')
			*c = '-';
	j->pods = (j->gpus + GPUS_PER_POD_MAX - 1) / GPUS_PER_POD_MAX;
	t->jobs_n++;
	return true;
}

static bool read_file(struct trace *t, const char *folder, const char *name, const char *head,
                      bool (*take)(struct trace *t, struct table_file *f), char *error,
                      size_t error_bytes)
{
	char path[512];
	struct table_file f = { .path = path, .error = error, .error_bytes = error_bytes };
	bool ok = true;
	int got;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f.file = fopen(path, "r");
	if (f.file == NULL)
		return fail(&f, strerror(errno));
	got = next_line(&f);
	if (got == 1 && strcmp(f.cells[0], head) != 0)
		got = (fail(&f, "not the heading that is expected"), -1);
	while (got == 1 && ok) {
		got = next_line(&f);
		ok = got != 1 || take(t, &f);
	}
	fclose(f.file);
	return ok && got == 0;
}

static int compare_jobs(const void *a, const void *b)
{
	const struct trace_job *x = a, *y = b;

	if (x->submit_min != y->submit_min)
		return x->submit_min < y->submit_min ? -1 : 1;
	return strcmp(x->name, y->name);
}

bool trace_read(struct trace *t, const char *folder, size_t jobs_max, char *error,
                size_t error_bytes)
{
	memset(t, 0, sizeof(*t));
	if (!read_file(t, folder, "openb/openb_node_list_gpu_node.csv", "sn", node_line, error,
	               error_bytes) ||
	    !read_file(t, folder, "philly/jobs.csv", "job_id", job_line, error, error_bytes)) {
		trace_free(t);
		return false;
	}
	if (t->jobs_n > 0)
		qsort(t->jobs, t->jobs_n, sizeof(*t->jobs), compare_jobs);
	if (t->jobs_n > jobs_max)
		t->jobs_n = jobs_max;
	for (size_t i = 0; i < t->jobs_n; i++) {
		t->pods_n += t->jobs[i].pods;
		t->gangs_n += t->jobs[i].pods > 1;
		t->gpus_wanted += t->jobs[i].gpus;
	}
	return true;
}

void trace_free(struct trace *t)
{
	free(t->nodes);
	free(t->jobs);
	memset(t, 0, sizeof(*t));
}

unsigned trace_pod_gpus(const struct trace_job *job, unsigned i)
{
	return job->gpus / job->pods + (i < job->gpus % job->pods);
}
