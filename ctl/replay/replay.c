/* SPDX-License-Identifier: Apache-2.0 */
/* musterctl replay: runs a recording again and compares the commands byte for byte. */
#include "core/step/core.h"
#include "core/daemon/policy.h"
#include "ctl/replay/answers.h"
#include "ctl/term/options.h"
#include "ctl/term/print.h"
#include "ctl/replay/recording.h"
#include "ctl/replay/replay_say.h"
#include "ipc/clock.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2048

struct options {
	const char *path;
	enum output output;
	uint64_t until;
	bool print;
	bool answers; /* check-answers */
};

struct kind_time {
	uint64_t records;
	uint64_t ns;
	uint64_t ns_max;
};

/* The first difference. */
struct difference {
	bool found;
	uint64_t record, sequence, offset;
	uint32_t kind;
	uint32_t command; /* number within the record's, from 1 */
	char recorded[TEXT_BYTES], here[TEXT_BYTES];
};

struct replay {
	const struct options *options;
	struct recording recording;
	struct core *core;
	struct answers *answers; /* NULL: not checked */
	struct ledger *ledger;
	uint64_t ledger_bytes;
	struct names *names;
	struct recording_step step;    /* the current one */
	const unsigned char *expected; /* of its commands: the next */
	uint32_t said;                 /* commands of this step */
	uint64_t records, commands;
	uint64_t full; /* steps in which the ring was full for a command */
	uint64_t first_ns;
	struct kind_time times[RECORD_KINDS];
	struct difference difference;
};

/* Where to store a difference; NULL when there was one before. */
static struct difference *differ(struct replay *p)
{
	struct difference *d = &p->difference;

	if (d->found)
		return NULL;
	d->found = true;
	d->record = p->step.number;
	d->sequence = p->step.record->sequence;
	d->offset = p->step.offset;
	d->kind = p->step.record->kind;
	d->command = p->said + 1;
	return d;
}

/* The next expected command. False: there is none. */
static bool expect(const struct replay *p, struct recording_entry *e, const unsigned char **body)
{
	if (p->expected == p->step.commands + p->step.commands_bytes)
		return false;
	memcpy(e, p->expected, sizeof(*e));
	*body = p->expected + sizeof(*e);
	return true;
}

static void print_command(const struct replay *p, const char *text)
{
	uint64_t since_ns = p->step.record->time_ns - p->first_ns;

	printf("%10" PRIu64 " %12.6f  %s\n", p->step.number, (double)since_ns / 1e9, text);
}

/* The texts may be equal where the bytes differ. */
static void tell_bytes(struct difference *d, const unsigned char *recorded,
                       const unsigned char *here, uint32_t bytes)
{
	uint32_t at = 0;
	size_t used = strlen(d->here);

	if (strcmp(d->recorded, d->here) != 0)
		return;
	while (at < bytes && recorded[at] == here[at])
		at++;
	snprintf(d->here + used, sizeof(d->here) - used, " (byte %u of the body differs)", at);
}

static void compare(struct replay *p, uint16_t kind, const void *body, uint32_t bytes)
{
	struct recording_entry e;
	const unsigned char *recorded = NULL;
	bool any = expect(p, &e, &recorded);
	struct difference *d;

	if (any && e.kind == kind && e.bytes - sizeof(e) == bytes &&
	    memcmp(recorded, body, bytes) == 0) {
		p->expected += e.bytes;
		return;
	}
	/* A core that crashed in the step may have sent more. */
	if (!any && p->step.unfinished)
		return;
	d = differ(p);
	if (d == NULL)
		return;
	say_command(p->names, kind, body, bytes, d->here, sizeof(d->here));
	if (!any) {
		snprintf(d->recorded, sizeof(d->recorded), "nothing");
		return;
	}
	say_command(p->names, e.kind, recorded, (uint32_t)(e.bytes - sizeof(e)), d->recorded,
	            sizeof(d->recorded));
	tell_bytes(d, recorded, body, bytes);
}

/* core_emit_fn: the ring has space for as many commands as it had then. */
static bool take_command(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct replay *p = context;
	char text[TEXT_BYTES];

	if (p->said == p->step.commands_n && p->step.refused)
		return false;
	compare(p, (uint16_t)kind, body, bytes);
	if (p->options->print)
		print_command(p, say_command(p->names, (uint16_t)kind, body, bytes, text, sizeof(text)));
	p->said++;
	p->commands++;
	return true;
}

static void say_rc(int rc, const char *fault, char *out, size_t out_bytes)
{
	if (rc == 0)
		snprintf(out, out_bytes, "the record is taken");
	else
		snprintf(out, out_bytes, "the record is rejected: %s%s%s", strerror(-rc),
		         *fault ? ": " : "", fault);
}

static void compare_end(struct replay *p, int rc)
{
	struct recording_entry e;
	const unsigned char *body;
	struct difference *d;

	if (p->step.unfinished)
		return;
	if (expect(p, &e, &body)) {
		d = differ(p);
		if (d == NULL)
			return;
		say_command(p->names, e.kind, body, (uint32_t)(e.bytes - sizeof(e)), d->recorded,
		            sizeof(d->recorded));
		snprintf(d->here, sizeof(d->here), "nothing");
	} else if (rc != p->step.error) {
		d = differ(p);
		if (d == NULL)
			return;
		say_rc(p->step.error, "", d->recorded, sizeof(d->recorded));
		say_rc(rc, rc == -EPROTO ? core_fault(p->core) : "", d->here, sizeof(d->here));
	}
}

static void run_step(struct replay *p)
{
	const struct record *record = p->step.record;
	struct kind_time *t = &p->times[record->kind];
	uint64_t start_ns, took_ns;
	int rc;

	p->expected = p->step.commands;
	p->said = 0;
	if (p->records++ == 0)
		p->first_ns = record->time_ns;
	/* Before the step, so that its commands can be printed with names. */
	names_follow(p->names, record);
	start_ns = clock_monotonic_ns();
	rc = core_step(p->core, record);
	took_ns = clock_monotonic_ns() - start_ns;
	if (rc == -ENOMEM)
		fatal_memory();
	compare_end(p, rc);
	if (p->answers)
		answers_follow(p->answers, p->core, record, rc);
	p->full += p->step.refused;
	t->records++;
	t->ns += took_ns;
	if (took_ns > t->ns_max)
		t->ns_max = took_ns;
}

/* -1: the file is damaged. */
static int run(struct replay *p)
{
	int rc = 0;

	while (!p->difference.found && p->records < p->options->until &&
	       (rc = recording_next(&p->recording, &p->step)) > 0)
		run_step(p);
	return rc;
}

static bool start(struct replay *p, const char *command)
{
	const struct recording_head *head = &p->recording.head;
	struct core_config config = { .limits = head->limits,
		                          .reserve_after_ns = head->reserve_after_ns,
		                          .retain_for_ns = head->retain_for_ns,
		                          .promise_depth = head->promise_depth,
		                          .promise_grain_ns = head->promise_grain_ns,
		                          .promise_window_ns = head->promise_window_ns,
		                          .backfill_by_soft = head->backfill_by_soft,
		                          .emit = take_command,
		                          .context = p };
	const char *what = "";

	p->ledger_bytes = core_ledger_bytes(&head->limits, &what);
	if (p->ledger_bytes == 0)
		return ctl_usage(command, "%s: its limits make no core: %s", p->options->path, what), false;
	if (!policy_find(head->score, &config.score))
		return ctl_usage(command, "%s: recorded with --score %s, which this program has not",
		                 p->options->path, head->score),
		       false;
	p->ledger = core_ledger_new(p->ledger_bytes);
	p->core = p->ledger != NULL ? core_new(&config, p->ledger) : NULL;
	if (p->core == NULL)
		fatal_memory();
	p->names = names_new(&head->limits);
	return true;
}

static void stop(struct replay *p)
{
	core_free(p->core);
	core_ledger_free(p->ledger, p->ledger_bytes);
	if (p->names != NULL)
		names_free(p->names);
	if (p->answers)
		answers_free(p->answers);
	recording_close(&p->recording);
}

static bool went_to_end(const struct replay *p)
{
	return !p->difference.found && p->records < p->options->until;
}

static void print_difference(const struct difference *d)
{
	printf("record %" PRIu64 " (%s %" PRIu64 ", offset %" PRIu64
	       "), command %u:\n  recorded: %s\n  here:     %s\n",
	       d->record, record_kind_text(d->kind), d->sequence, d->offset, d->command, d->recorded,
	       d->here);
}

static void print_text(const struct replay *p)
{
	char tail[96];

	printf("%" PRIu64 " records, %" PRIu64 " commands, %s\n", p->records, p->commands,
	       p->difference.found ? "different" : "equal");
	if (p->difference.found)
		print_difference(&p->difference);
	if (went_to_end(p))
		printf("The recording, of muster-core %s, %s.\n", p->recording.head.program,
		       recording_tail_text(&p->recording, tail, sizeof(tail)));
	printf("\n%-20s %10s %12s %10s %10s\n", "KIND", "RECORDS", "TOTAL ms", "MEAN us", "MOST us");
	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
		const struct kind_time *t = &p->times[kind];

		if (t->records > 0)
			printf("%-20s %10" PRIu64 " %12.3f %10.3f %10.3f\n", record_kind_text(kind), t->records,
			       (double)t->ns / 1e6, (double)t->ns / 1e3 / (double)t->records,
			       (double)t->ns_max / 1e3);
	}
}

static cJSON *difference_json(const struct difference *d)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_number(o, "record", (int64_t)d->record);
	json_add_text(o, "kind", record_kind_text(d->kind));
	json_add_number(o, "sequence", (int64_t)d->sequence);
	json_add_number(o, "offset", (int64_t)d->offset);
	json_add_number(o, "command", d->command);
	json_add_text(o, "recorded", d->recorded);
	json_add_text(o, "here", d->here);
	return o;
}

static void print_json(const struct replay *p)
{
	cJSON *o = json_checked(cJSON_CreateObject()), *kinds;
	char tail[96];

	json_add_number(o, "records", (int64_t)p->records);
	json_add_number(o, "commands", (int64_t)p->commands);
	json_checked(cJSON_AddBoolToObject(o, "equal", !p->difference.found));
	if (p->difference.found)
		cJSON_AddItemToObject(o, "difference", difference_json(&p->difference));
	json_add_number(o, "full", (int64_t)p->full);
	json_add_text(o, "program", p->recording.head.program);
	if (went_to_end(p))
		json_add_text(o, "end", recording_tail_text(&p->recording, tail, sizeof(tail)));
	kinds = json_checked(cJSON_AddArrayToObject(o, "kinds"));
	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
		const struct kind_time *t = &p->times[kind];
		cJSON *k;

		if (t->records == 0)
			continue;
		k = json_checked(cJSON_CreateObject());
		json_add_text(k, "kind", record_kind_text(kind));
		json_add_number(k, "records", (int64_t)t->records);
		json_add_number(k, "total_ns", (int64_t)t->ns);
		json_add_number(k, "most_ns", (int64_t)t->ns_max);
		cJSON_AddItemToArray(kinds, k);
	}
	json_print(o, true);
}

static void print_answers(const struct replay *p)
{
	const struct answers_counts *n = answers_counts(p->answers);
	cJSON *o;

	if (p->options->output == OUTPUT_TEXT) {
		printf("%" PRIu64 " records, %" PRIu64 " answers: %" PRIu64 " equal, %" PRIu64
		       " of searches that were cut, %" PRIu64 " different\n",
		       p->records, n->answers, n->equal, n->cut, n->differ);
		if (n->differ > 0)
			puts(n->difference);
		if (p->difference.found)
			print_difference(&p->difference);
		return;
	}
	o = json_checked(cJSON_CreateObject());
	json_add_number(o, "records", (int64_t)p->records);
	json_checked(cJSON_AddBoolToObject(o, "replay_equal", !p->difference.found));
	json_add_number(o, "answers", (int64_t)n->answers);
	json_add_number(o, "equal", (int64_t)n->equal);
	json_add_number(o, "cut", (int64_t)n->cut);
	json_add_number(o, "different", (int64_t)n->differ);
	if (n->differ > 0)
		json_add_text(o, "difference", n->difference);
	json_print(o, true);
}

static bool is_different(const struct replay *p)
{
	return p->difference.found || (p->answers && answers_counts(p->answers)->differ > 0);
}

/* EXIT_DONE, or the exit code and a message. */
static int open_both(struct replay *p, const char *command)
{
	char error[320];
	int rc = EXIT_DONE;

	if (p->options->answers)
		rc = answers_read(&p->answers, p->options->path, error, sizeof(error));
	if (rc != EXIT_DONE)
		return ctl_usage(command, "%s: %s", p->options->path, error), rc;
	rc = recording_open(&p->recording, p->options->path);
	if (rc != EXIT_DONE)
		ctl_usage(command, "%s: %s", p->options->path, p->recording.error);
	return rc;
}

static int replay(const struct options *options, const char *command)
{
	struct replay *p = must_alloc(sizeof(*p));
	int rc;

	p->options = options;
	rc = open_both(p, command);
	if (rc != EXIT_DONE) {
		/* it was said */
	} else if (!start(p, command)) {
		rc = EXIT_USAGE;
	} else if (run(p) < 0) {
		rc = ctl_usage(command, "%s: %s; the %" PRIu64 " records before it are equal",
		               options->path, p->recording.error, p->records);
	} else {
		if (p->answers)
			print_answers(p);
		else if (options->output == OUTPUT_JSON)
			print_json(p);
		else
			print_text(p);
		rc = is_different(p) ? EXIT_NO : EXIT_DONE;
	}
	stop(p);
	free(p);
	return rc;
}

static bool read_until(const char *command, const char *text, void *to)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *text == '-' || n == 0)
		return ctl_usage(command, "--until %s: not the number of a record", text), false;
	*(uint64_t *)to = n;
	return true;
}

static const struct flag flags[] = {
	FLAG_OUTPUT(struct options, output, "JSON instead of text"),
	{ "until", 0, "--until N", "stop after record N", NULL, read_until,
	  offsetof(struct options, until) },
	{ "print", 0, "--print", "print each command: record, seconds since the first one, command",
	  NULL, NULL, offsetof(struct options, print) },
	{ 0 },
};

static int run_command(int argc, char **argv)
{
	struct options o = { .until = UINT64_MAX };
	int rc = command_read_flags(&replay_command, argc, argv, &o);

	if (rc != -1)
		return rc;
	if (optind + 1 != argc)
		return ctl_usage(argv[0], "%s; see %s --help",
		                 optind < argc ? "one FILE at a time" : "FILE is missing", argv[0]);
	if (o.print && o.output == OUTPUT_JSON)
		return ctl_usage(argv[0], "--print and -o json exclude each other");
	o.path = argv[optind];
	return replay(&o, argv[0]);
}

const struct command replay_command = {
	.name = "replay",
	.summary = "repeat a recording of muster-core --record, and compare the commands",
	.usage = "FILE [-o json] [--until N] [--print]",
	.about = "Runs what muster-core --record wrote down again, in this process, and compares each\n"
			 "command byte for byte. FILE may be packed by gzip; - is standard input.\n",
	.exits = "0 equal, 1 different: the first difference is printed, 2 bad file, 78 recorded\n"
			 "with another memory layout.",
	.flags = flags,
	.argument = "FILE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run_command,
};

static const struct flag answers_flags[] = {
	FLAG_OUTPUT(struct options, output, "JSON instead of text"),
	{ 0 },
};

static int run_answers(int argc, char **argv)
{
	struct options o = { .until = UINT64_MAX, .answers = true };
	int rc = command_read_flags(&check_answers_command, argc, argv, &o);

	if (rc != -1)
		return rc;
	if (optind + 1 != argc || strcmp(argv[optind], "-") == 0)
		return ctl_usage(argv[0], "one FILE is needed, and it is read twice; see %s --help",
		                 argv[0]);
	o.path = argv[optind];
	return replay(&o, argv[0]);
}

const struct command check_answers_command = {
	.name = "check-answers",
	.summary = "repeat the searches of a recording, and compare the answers",
	.usage = "FILE [-o json]",
	.about =
		"A recording has the answers of the searches beside the loop: victims of gangs, and\n"
		"placements of unlike members. Each is searched for again in the state of that moment,\n"
		"and compared. Searches that were ended early, when records waited, need not be equal.\n",
	.exits = "0 equal, 1 an answer or the replay is different, 2 bad file, 78 recorded with\n"
			 "another memory layout.",
	.flags = answers_flags,
	.argument = "FILE",
	.arguments_max = ARGUMENTS_ANY,
	.run = run_answers,
};
