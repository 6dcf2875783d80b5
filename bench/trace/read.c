/* SPDX-License-Identifier: Apache-2.0 */
/* Reads logs of jobs. */
#include "bench/trace/recording.h"

#include "core/daemon/recording.h"
#include "ipc/memory.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LINE_BYTES 8192
#define COLUMNS_MOST 64u
#define JOBS_MOST 4000000u
#define TIME_MOST_S INT64_C(4000000000) /* a century */
#define MEMBERS_MOST 1000000
#define MILLI 1000u

struct reading {
	struct trace *t;
	const char *path;
	uint64_t line;
	size_t room;
	int64_t first_s; /* the earliest submission */
	uint32_t columns_n;
	/* CSV: the column of each field, COLUMNS_MOST: there is none. */
	uint32_t gpus, gpu_milli, submit, length, begin, end, number, user;
	struct keys users;
	enum { FORMAT_UNKNOWN, FORMAT_SWF, FORMAT_PHILLY, FORMAT_OPENB } format;
};

struct raw {
	int64_t number, submit_s, run_s, limit_s, milli;
	const char *user; /* NULL: not known */
};

static bool wrong(const struct reading *r, const char *field, const char *value)
{
	fprintf(stderr, "muster-bench: %s:%" PRIu64 ": %s \"%.40s\" is not valid\n", r->path, r->line,
	        field, value);
	return false;
}

/* A whole number; a fraction is cut off.  *text is where it ends. */
static bool number_read(const char **text, int64_t *out)
{
	char *end;
	double whole;

	errno = 0;
	whole = strtod(*text, &end);
	if (end == *text || errno == ERANGE || !(whole >= -1e15 && whole <= 1e15))
		return false;
	*out = (int64_t)whole;
	*text = end;
	return true;
}

/* Adds a job, unless it says too little. */
static bool job_add(struct reading *r, const struct raw *raw)
{
	struct trace *t = r->t;
	const int64_t each = raw->milli < t->node_milli ? raw->milli : t->node_milli;
	const char *user = raw->user ? raw->user : "";

	if (raw->milli <= 0 || raw->run_s < 0 || raw->submit_s < 0) {
		t->unusable++;
		return true;
	}
	if (raw->submit_s > TIME_MOST_S || raw->run_s > TIME_MOST_S || raw->limit_s > TIME_MOST_S) {
		fprintf(stderr, "muster-bench: %s:%" PRIu64 ": a time is more than a century\n", r->path,
		        r->line);
		return false;
	}
	if (raw->milli / each >= MEMBERS_MOST || t->jobs_n == JOBS_MOST) {
		fprintf(stderr, "muster-bench: %s:%" PRIu64 ": %s\n", r->path, r->line,
		        t->jobs_n == JOBS_MOST ? "there are more than 4000000 jobs"
		                               : "a job has more than 1000000 members");
		return false;
	}
	t->jobs = must_reach(t->jobs, &r->room, t->jobs_n, 1024, sizeof(*t->jobs));
	if (t->jobs_n == 0 || raw->submit_s < r->first_s)
		r->first_s = raw->submit_s;
	t->jobs[t->jobs_n] = (struct trace_job){
		.number = raw->number > 0 ? (uint64_t)raw->number : t->jobs_n + UINT64_C(1),
		.submit_s = (uint64_t)raw->submit_s,
		.run_s = (uint64_t)raw->run_s,
		/* Without a limit it is the run time; a job that ends at once takes a second of plans. */
		.limit_s = raw->limit_s > 0 ? (uint64_t)raw->limit_s
		           : raw->run_s > 0 ? (uint64_t)raw->run_s
		                            : 1,
		.stated_s = raw->limit_s > 0 ? (uint32_t)raw->limit_s : 0,
		.members = (uint32_t)((raw->milli + each - 1) / each),
		.milli = (uint32_t)each,
		.place = t->jobs_n,
		.user = keys_take(&r->users, user, strlen(user)),
	};
	t->jobs_n++;
	return true;
}

/* `; MaxNodes: 100` and `; MaxProcs: 100`: a node of ours is a processor. */
static void header_read(struct reading *r, const char *line)
{
	static const char *const keys[] = { "MaxProcs:", "MaxNodes:" };

	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(line, keys[i]);
		int64_t n;

		if (!at)
			continue;
		at += strlen(keys[i]);
		if (number_read(&at, &n) && n > 0 && n <= MEMBERS_MOST && (i == 0 || r->t->nodes == 0))
			r->t->nodes = (uint32_t)n;
	}
}

/* Columns: 1 job, 2 submission, 4 run time, 5 processors, 8 processors wanted, 9 time wanted, 12
 * user. */
static bool swf_read(struct reading *r, const char *line)
{
	int64_t f[18];
	struct raw raw;
	char user[32];
	const char *at = line;
	size_t n = 0;

	for (size_t i = 0; i < 18; i++)
		f[i] = -1;
	while (n < 18) {
		at += strspn(at, " \t\r\n");
		if (*at == '\0' || *at == ';')
			break;
		if (!number_read(&at, &f[n++]) || (*at != '\0' && !isspace((unsigned char)*at)))
			return wrong(r, "field", at);
	}
	if (n < 5) {
		fprintf(stderr, "muster-bench: %s:%" PRIu64 ": %zu fields; a job of SWF has 18\n", r->path,
		        r->line, n);
		return false;
	}
	raw = (struct raw){ .number = f[0], .submit_s = f[1], .run_s = f[3], .limit_s = f[8] };
	raw.milli = f[7] > 0 ? f[7] : f[4];
	raw.milli = raw.milli > 0 && raw.milli < INT64_MAX / MILLI ? raw.milli * MILLI : -1;
	snprintf(user, sizeof(user), "user-%" PRId64, f[11]);
	raw.user = f[11] >= 0 ? user : NULL;
	return job_add(r, &raw);
}

static uint32_t column(char *const *columns, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(columns[i], name) == 0)
			return i;
	return COLUMNS_MOST;
}

static uint32_t split(char *line, char **columns)
{
	uint32_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (n < COLUMNS_MOST) {
		char *comma = strchr(line, ',');

		columns[n++] = line;
		if (!comma)
			break;
		*comma = '\0';
		line = comma + 1;
	}
	return n;
}

static bool csv_header_read(struct reading *r, char *line)
{
	char *columns[COLUMNS_MOST];
	const uint32_t n = split(line, columns);

	r->columns_n = n;
	r->number = column(columns, n, "job_id");
	r->gpus = column(columns, n, "num_gpu");
	r->gpu_milli = column(columns, n, "gpu_milli");
	r->submit = column(columns, n, "submit_time");
	r->length = column(columns, n, "duration");
	r->begin = column(columns, n, "creation_time");
	r->end = column(columns, n, "deletion_time");
	r->user = column(columns, n, "user");
	r->t->node_milli = 8 * MILLI; /* GPUs of a node */
	r->t->gpus = true;
	r->format = r->gpus == COLUMNS_MOST                                ? FORMAT_UNKNOWN
	            : r->submit < COLUMNS_MOST && r->length < COLUMNS_MOST ? FORMAT_PHILLY
	            : r->gpu_milli < COLUMNS_MOST && r->begin < COLUMNS_MOST && r->end < COLUMNS_MOST
	                ? FORMAT_OPENB
	                : FORMAT_UNKNOWN;
	if (r->format != FORMAT_UNKNOWN)
		return true;
	fprintf(stderr,
	        "muster-bench: %s:%" PRIu64
	        ": neither a job of the Standard Workload Format nor a header "
	        "with num_gpu and submit_time, duration (Philly) or gpu_milli, creation_time, "
	        "deletion_time (openb)\n",
	        r->path, r->line);
	return false;
}

static bool csv_number(const struct reading *r, char *const *columns, uint32_t n, uint32_t at,
                       const char *field, int64_t *out)
{
	const char *text;

	*out = -1;
	if (at >= n)
		return wrong(r, field, "");
	text = columns[at];
	if (*text == '\0')
		return true;
	if (!number_read(&text, out) || *text != '\0')
		return wrong(r, field, columns[at]);
	return true;
}

static bool csv_read(struct reading *r, char *line)
{
	char *columns[COLUMNS_MOST];
	const uint32_t n = split(line, columns);
	struct raw raw = { .number = -1, .limit_s = -1 };
	int64_t gpus, share = MILLI, end;

	if (!csv_number(r, columns, n, r->gpus, "num_gpu", &gpus))
		return false;
	if (r->format == FORMAT_PHILLY) {
		if (!csv_number(r, columns, n, r->submit, "submit_time", &raw.submit_s) ||
		    !csv_number(r, columns, n, r->length, "duration", &raw.run_s))
			return false;
		if (raw.submit_s > TIME_MOST_S || raw.run_s > TIME_MOST_S)
			return wrong(r, "submit_time or duration", "more than a century");
		raw.submit_s = raw.submit_s < 0 ? -1 : raw.submit_s * 60;
		raw.run_s = raw.run_s < 0 ? -1 : raw.run_s * 60;
	} else {
		if (!csv_number(r, columns, n, r->gpu_milli, "gpu_milli", &share) ||
		    !csv_number(r, columns, n, r->begin, "creation_time", &raw.submit_s) ||
		    !csv_number(r, columns, n, r->end, "deletion_time", &end))
			return false;
		raw.run_s = end < raw.submit_s ? -1 : end - raw.submit_s;
	}
	if (r->number < n && !csv_number(r, columns, n, r->number, "job_id", &raw.number))
		return false;
	raw.user = r->user < n ? columns[r->user] : NULL;
	raw.milli = gpus > 0 && share > 0 && gpus < MEMBERS_MOST && share <= MILLI ? gpus * share : -1;
	return job_add(r, &raw);
}

static bool line_read(struct reading *r, char *line)
{
	const char *at = line + strspn(line, " \t\r\n");

	if (*at == ';') {
		header_read(r, at);
		return true;
	}
	if (*at == '\0')
		return true;
	if (r->format == FORMAT_UNKNOWN && (isdigit((unsigned char)*at) || *at == '-'))
		r->format = FORMAT_SWF;
	if (r->format == FORMAT_UNKNOWN)
		return csv_header_read(r, line);
	return r->format == FORMAT_SWF ? swf_read(r, at) : csv_read(r, line);
}

static int by_submission(const void *a, const void *b)
{
	const struct trace_job *x = a, *y = b;

	if (x->submit_s != y->submit_s)
		return x->submit_s < y->submit_s ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

/* By time of submission; jobs of one time stay in the order of the file. */
static void sort_jobs(struct trace *t)
{
	bool sorted = true;

	for (uint32_t i = 1; i < t->jobs_n && sorted; i++)
		sorted = t->jobs[i - 1].submit_s <= t->jobs[i].submit_s;
	if (!sorted)
		qsort(t->jobs, t->jobs_n, sizeof(*t->jobs), by_submission);
}

/* The first line of a recording begins with its magic number. */
static bool is_recording(const struct reading *r, const char *line, size_t bytes)
{
	const uint64_t magic = RECORDING_MAGIC;

	return r->line == 1 && bytes > sizeof(magic) && memcmp(line, &magic, sizeof(magic)) == 0;
}

bool trace_read(struct trace *t, const char *path)
{
	struct reading r = { .t = t, .path = path };
	char line[LINE_BYTES] = "";
	gzFile f = gzopen(path, "rb");
	bool ok = f != NULL;
	int error = Z_OK;

	*t = (struct trace){ .node_milli = MILLI };
	if (!f) {
		fprintf(stderr, "muster-bench: %s: %s\n", path, strerror(errno));
		return false;
	}
	while (ok && gzgets(f, line, sizeof(line))) {
		r.line++;
		if (is_recording(&r, line, sizeof(line))) {
			gzclose_r(f);
			return trace_recording_read(t, path);
		}
		if (strlen(line) + 1 == sizeof(line)) {
			fprintf(stderr, "muster-bench: %s:%" PRIu64 ": a line is too long\n", path, r.line);
			ok = false;
		}
		ok = ok && line_read(&r, line);
	}
	gzerror(f, &error);
	if (ok && error != Z_OK && error != Z_STREAM_END) {
		fprintf(stderr, "muster-bench: %s: can't be read to its end\n", path);
		ok = false;
	}
	gzclose_r(f);
	trace_users_set(t, &r.users);
	keys_free(&r.users);
	if (ok && t->jobs_n == 0) {
		fprintf(stderr, "muster-bench: %s: there is no job in it\n", path);
		ok = false;
	}
	if (!ok) {
		trace_free(t);
		return false;
	}
	for (uint32_t i = 0; i < t->jobs_n; i++)
		t->jobs[i].submit_s -= (uint64_t)r.first_s;
	sort_jobs(t);
	return true;
}

void trace_users_set(struct trace *t, const struct keys *users)
{
	t->users = must_array(users->n + 1u, sizeof(*t->users));
	for (; t->users_n < users->n; t->users_n++)
		t->users[t->users_n] = must_copy(keys_text(users, t->users_n));
}

void trace_free(struct trace *t)
{
	for (uint32_t i = 0; i < t->users_n; i++)
		free(t->users[i]);
	free(t->users);
	free(t->jobs);
	if (!t->world_is_borrowed)
		world_free(t->world);
	*t = (struct trace){ 0 };
}

uint32_t trace_user(const struct trace *t, const char *name)
{
	uint32_t i = 0;

	while (i < t->users_n && strcmp(t->users[i], name) != 0)
		i++;
	return i;
}

bool trace_multiply(struct trace *out, const struct trace *t, uint32_t user, uint32_t times)
{
	uint64_t more = 0;

	for (uint32_t i = 0; i < t->jobs_n; i++)
		more += t->jobs[i].user == user ? times - UINT64_C(1) : 0;
	if (t->jobs_n + more > JOBS_MOST) {
		fprintf(stderr, "muster-bench: with --busy-times %u there are more than 4000000 jobs\n",
		        times);
		return false;
	}
	*out = *t;
	out->world_is_borrowed = true;
	out->jobs = must_array(t->jobs_n + more, sizeof(*out->jobs));
	out->users = must_array(t->users_n, sizeof(*out->users));
	out->jobs_n = 0;
	for (uint32_t i = 0; i < t->users_n; i++)
		out->users[i] = must_copy(t->users[i]);
	for (uint32_t i = 0; i < t->jobs_n; i++)
		for (uint32_t k = 0; k < (t->jobs[i].user == user ? times : 1); k++)
			out->jobs[out->jobs_n++] = t->jobs[i];
	return true;
}
