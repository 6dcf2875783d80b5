/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings: what is written can be read, every end leaves them readable, and damage is detected.
 */
#include "core/step/core.h"
#include "core/daemon/recorder.h"

#include "ipc/logline.h"
#include "ctl/term/options.h"
#include "ctl/replay/recording.h"
#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include <criterion/redirect.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct limits limits = LIMITS_WITH(.shapes = 4, .names = 16, .resources = 4);

static char folder[64], path[96], old[96];

static void setup(void)
{
	strcpy(folder, "/tmp/muster-recorder-XXXXXX");
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/r", folder);
	snprintf(old, sizeof(old), "%s/r.old", folder);
	log_set_level(LOG_ERROR + 1);
}

static void teardown(void)
{
	unlink(path);
	unlink(old);
	rmdir(folder);
}

TestSuite(recorder, .init = setup, .fini = teardown);

static struct recorder *record(uint64_t bytes)
{
	struct recorder_config config = { .path = path, .bytes = bytes, .core.limits = limits };
	struct recorder *r;

	cr_assert_eq(recorder_open(&r, &config), 0);
	recorder_here(r);
	return r;
}

struct made {
	alignas(8) unsigned char bytes[4096];
	struct record *record;
	uint32_t commands;
	bool refused;
	int error;
};

static void make(struct made *m, uint64_t number)
{
	struct random r = { number * 2654435761u + 1 };
	uint32_t body = (uint32_t)random_below(&r, 400) * 8;

	m->record = (struct record *)m->bytes;
	*m->record = (struct record){ .bytes = (uint32_t)sizeof(*m->record) + body,
		                          .kind = EVENT_TICK,
		                          .sequence = number };
	for (uint32_t i = 0; i < body; i++)
		m->bytes[sizeof(*m->record) + i] = (unsigned char)random_below(&r, 256);
	m->commands = (uint32_t)random_below(&r, 4);
	m->refused = random_below(&r, 5) == 0;
	m->error = random_below(&r, 7) == 0 ? -ENOSPC : 0;
}

static void write_step(struct recorder *r, uint64_t number)
{
	struct made m;
	struct cmd_bind bind = { .attempt = (uint32_t)number };

	make(&m, number);
	recorder_input(r, m.record);
	for (uint32_t i = 0; i < m.commands; i++) {
		bind.pod = i;
		recorder_output(r, CMD_BIND, &bind, sizeof(bind));
	}
	recorder_done(r, m.error, m.refused);
}

static void same_step(const struct recording_step *s, uint64_t number)
{
	struct made m;

	make(&m, number);
	cr_assert_eq(s->number, number);
	cr_assert_eq(s->record->bytes, m.record->bytes);
	cr_assert_eq(memcmp(s->record, m.record, m.record->bytes), 0);
	cr_assert(s->refused == m.refused && s->error == m.error && !s->unfinished);
	cr_assert_eq(s->commands_n, m.commands);
	for (uint32_t i = 0; i < m.commands; i++) {
		struct cmd_bind bind;

		memcpy(&bind, s->commands + i * (8 + sizeof(bind)) + 8, sizeof(bind));
		cr_assert(bind.pod == i && bind.attempt == number);
	}
}

/* Checks each step; returns how many there are.  `r` stays open. */
static uint64_t read_steps(struct recording *r)
{
	struct recording_step s;
	uint64_t n = 0;
	int rc;

	cr_assert_eq(recording_open(r, path), EXIT_DONE, "%s", r->error);
	while ((rc = recording_next(r, &s)) > 0)
		same_step(&s, ++n);
	cr_assert_eq(rc, 0, "%s", r->error);
	return n;
}

static uint64_t file_bytes(void)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

Test(recorder, what_is_written_is_read_again)
{
	struct recorder *r = record(RECORD_BYTES_DEFAULT);
	struct recording in;

	/* Twice around the buffer. */
	for (uint64_t i = 1; i <= 20000; i++) {
		write_step(r, i);
		if (i % 2000 == 0)
			usleep(40000);
	}
	recorder_close(r);
	cr_expect_eq(read_steps(&in), 20000);
	cr_expect(in.tail == TAIL_ENDED && in.tail_arg == END_STOPPED);
	cr_expect_eq(memcmp(&in.head.limits, &limits, sizeof(limits)), 0);
	cr_expect_str_eq(in.head.score, "kube");
	recording_close(&in);
}

Test(recorder, what_is_published_is_in_the_file_soon)
{
	struct recorder *r = record(RECORD_BYTES_DEFAULT);
	struct recording in;
	uint64_t n = 0;

	for (uint64_t i = 1; i <= 10; i++)
		write_step(r, i);
	for (int i = 0; i < 500 && n < 10; i++) {
		usleep(10000);
		n = read_steps(&in);
		recording_close(&in);
	}
	cr_expect_eq(n, 10);
	recorder_close(r);
}

Test(recorder, ends_at_its_limit_with_whole_steps)
{
	struct recorder *r = record(100000);
	struct recording in;
	uint64_t n;

	for (uint64_t i = 1; i <= 1000; i++)
		write_step(r, i);
	recorder_close(r);
	cr_expect_leq(file_bytes(), 100000);
	n = read_steps(&in);
	cr_expect(n > 20 && n < 1000, "%llu steps", (unsigned long long)n);
	cr_expect(in.tail == TAIL_ENDED && in.tail_arg == END_LIMIT);
	recording_close(&in);
}

static void in_child(void (*work)(void), int exit_code, int end_signal)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		work();
		_exit(99);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	if (end_signal)
		cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == end_signal, "status %x",
		          (unsigned)status);
	else
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == exit_code, "status %x",
		          (unsigned)status);
}

static void fill_the_disk(void)
{
	struct recorder *r = record(RECORD_BYTES_DEFAULT);
	struct rlimit small = { .rlim_cur = 64 * 1024, .rlim_max = 64 * 1024 };

	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t i = 1; i <= 1000; i++) {
		write_step(r, i);
		if (i % 20 == 0)
			usleep(25000);
	}
	recorder_close(r);
	_exit(0);
}

Test(recorder, a_full_disk_ends_the_recording_alone)
{
	struct recording in;
	uint64_t n;

	in_child(fill_the_disk, 0, 0);
	n = read_steps(&in);
	cr_expect(n > 0 && n < 1000, "%llu steps", (unsigned long long)n);
	cr_expect(in.tail == TAIL_OPEN || (in.tail == TAIL_ENDED && in.tail_arg == END_FAILED));
	recording_close(&in);
}

/* One more step than complete ones, during which the process dies. */
static void die_in_a_step(void)
{
	struct recorder *r = record(RECORD_BYTES_DEFAULT);
	struct made m;

	for (uint64_t i = 1; i <= 50; i++)
		write_step(r, i);
	make(&m, 51);
	recorder_input(r, m.record);
	signal(SIGALRM, SIG_DFL);
	alarm(20);
	raise(SIGBUS);
}

Test(recorder, a_crash_writes_the_record_that_caused_it)
{
	struct recording in;
	struct recording_step s;
	struct made m;
	uint64_t n = 0;

	in_child(die_in_a_step, 0, SIGBUS);
	cr_assert_eq(recording_open(&in, path), EXIT_DONE);
	while (n < 50 && recording_next(&in, &s) > 0)
		same_step(&s, ++n);
	cr_assert_eq(n, 50);
	cr_assert_eq(recording_next(&in, &s), 1, "%s", in.error);
	make(&m, 51);
	cr_expect(s.unfinished);
	cr_expect_eq(memcmp(s.record, m.record, m.record->bytes), 0);
	cr_expect_eq(recording_next(&in, &s), 0);
	cr_expect(in.tail == TAIL_CRASHED && in.tail_arg == SIGBUS);
	recording_close(&in);
}

static void run_out_of_memory(void)
{
	struct recorder *r = record(RECORD_BYTES_DEFAULT);
	struct made m;

	write_step(r, 1);
	make(&m, 2);
	recorder_input(r, m.record);
	recorder_crash(0);
	_exit(1);
}

Test(recorder, memory_that_runs_out_is_a_crash)
{
	struct recording in;
	struct recording_step s;
	char text[128];

	in_child(run_out_of_memory, 1, 0);
	cr_assert_eq(recording_open(&in, path), EXIT_DONE);
	cr_assert_eq(recording_next(&in, &s), 1);
	cr_assert_eq(recording_next(&in, &s), 1, "%s", in.error);
	cr_expect(s.unfinished);
	cr_expect_eq(recording_next(&in, &s), 0);
	cr_expect_str_eq(recording_tail_text(&in, text, sizeof(text)),
	                 "ended when the core ran out of memory");
	recording_close(&in);
}

Test(recorder, a_pipe_that_nobody_reads_stops_nothing)
{
	struct recorder *r;
	int reader;

	cr_assert_eq(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	cr_assert_geq(reader, 0);
	r = record(RECORD_BYTES_DEFAULT);
	for (uint64_t i = 1; i <= 20000; i++)
		write_step(r, i);
	/* Its end wakes the writer. */
	signal(SIGPIPE, SIG_IGN);
	close(reader);
	recorder_close(r);
}

Test(recorder, only_a_recording_is_replaced)
{
	struct recorder_config config = { .path = path,
		                              .bytes = RECORD_BYTES_DEFAULT,
		                              .core.limits = limits };
	struct recorder *r = record(RECORD_BYTES_DEFAULT);
	struct recording in;
	int fd;

	write_step(r, 1);
	recorder_close(r);
	/* Starts without a step: the recording before them is kept. */
	recorder_close(record(RECORD_BYTES_DEFAULT));
	recorder_close(record(RECORD_BYTES_DEFAULT));
	cr_expect_eq(read_steps(&in), 0);
	recording_close(&in);
	cr_assert_eq(rename(old, path), 0);
	cr_expect_eq(read_steps(&in), 1);
	recording_close(&in);

	fd = open(path, O_WRONLY | O_TRUNC);
	cr_assert(write(fd, "something else", 14) == 14);
	close(fd);
	cr_expect_eq(recorder_open(&r, &config), -EEXIST);
	config.path = folder;
	cr_expect_lt(recorder_open(&r, &config), 0);
	config.path = "/no/such/folder/r";
	cr_expect_eq(recorder_open(&r, &config), -ENOENT);
}

static unsigned char *load(size_t *bytes)
{
	unsigned char *all;
	FILE *f = fopen(path, "rb");

	cr_assert(f);
	*bytes = (size_t)file_bytes();
	all = malloc(*bytes);
	cr_assert(all && fread(all, 1, *bytes, f) == *bytes);
	fclose(f);
	return all;
}

static void save(const unsigned char *all, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert(fd >= 0 && write(fd, all, bytes) == (ssize_t)bytes);
	close(fd);
}

/* Reads it all; true if nothing is wrong. */
static bool sound(uint64_t *steps)
{
	struct recording in;
	struct recording_step s;
	int rc = recording_open(&in, path) == EXIT_DONE ? 1 : -1;

	*steps = 0;
	while (rc > 0) {
		rc = recording_next(&in, &s);
		*steps += rc > 0;
	}
	cr_assert(rc == 0 || in.error[0] != '\0');
	recording_close(&in);
	return rc == 0;
}

static void write_few(uint64_t steps)
{
	struct recorder *r = record(RECORD_BYTES_DEFAULT);

	for (uint64_t i = 1; i <= steps; i++)
		write_step(r, i);
	recorder_close(r);
}

Test(recorder, every_flipped_byte_is_found)
{
	struct random r = random_start("recorder.flip");
	unsigned char *all;
	uint64_t steps;
	size_t bytes;
	int fd;

	write_few(3);
	all = load(&bytes);
	fd = open(path, O_WRONLY);
	cr_assert(sound(&steps) && steps == 3);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char flipped = (unsigned char)(all[i] ^ 1u << random_below(&r, 8));

		cr_assert_eq(pwrite(fd, &flipped, 1, (off_t)i), 1);
		cr_assert(!sound(&steps), "byte %zu of %zu", i, bytes);
		cr_assert_eq(pwrite(fd, &all[i], 1, (off_t)i), 1);
	}
	close(fd);
	free(all);
}

Test(recorder, a_file_that_was_cut_is_read_up_to_there)
{
	uint64_t steps, most = 4;
	size_t bytes;

	write_few(most);
	bytes = (size_t)file_bytes();
	for (size_t n = bytes; n-- > 0;) {
		cr_assert_eq(truncate(path, (off_t)n), 0);
		if (n < sizeof(struct recording_head))
			cr_assert(!sound(&steps));
		else
			/* One block, or several if the writer woke up between the steps. */
			cr_assert(sound(&steps) && steps <= most, "%zu bytes", n);
		if (n >= sizeof(struct recording_head))
			most = steps;
	}
}

/* Right checksums over wrong entries. */
Test(recorder, what_is_not_an_entry_is_refused)
{
	const size_t head = sizeof(struct recording_head),
				 entries = head + sizeof(struct recording_block);
	struct random r = random_start("recorder.entries");
	unsigned char *all;
	uint64_t steps;
	size_t bytes;

	write_few(4);
	all = load(&bytes);
	for (int i = 0; i < 1000; i++) {
		struct recording_block b;
		unsigned char *copy = malloc(bytes);
		size_t at =
			entries + (size_t)random_below(&r, (uint32_t)(bytes - entries - sizeof(b))) / 8 * 8;

		memcpy(copy, all, bytes);
		copy[at + (size_t)random_below(&r, 8)] ^= (unsigned char)random_below(&r, 256);
		memcpy(&b, copy + head, sizeof(b));
		b.entries_sum = recording_sum(SUM_START, copy + entries, b.bytes);
		b.sum = recording_sum(SUM_START, &b, offsetof(struct recording_block, sum));
		memcpy(copy + head, &b, sizeof(b));
		save(copy, bytes);
		sound(&steps);
		free(copy);
	}
	free(all);
}

Test(recorder, another_layout_is_refused_with_both)
{
	struct recording in;
	unsigned char *all;
	char ours[32];
	size_t bytes;

	write_few(1);
	all = load(&bytes);
	all[offsetof(struct recording_head, layout_hash)] ^= 1;
	save(all, bytes);
	free(all);
	cr_assert_eq(recording_open(&in, path), EXIT_CONFIG);
	snprintf(ours, sizeof(ours), "0x%016llx", (unsigned long long)abi_layout_hash());
	cr_expect(strstr(in.error, ours), "%s", in.error);
	snprintf(ours, sizeof(ours), "0x%016llx", (unsigned long long)abi_layout_hash() ^ 1);
	cr_expect(strstr(in.error, ours), "%s", in.error);
	recording_close(&in);
}

struct live {
	struct core *core;
	struct ledger *ledger;
	struct recorder *recorder;
	uint64_t sequence;
	uint32_t room; /* commands that are accepted in one step */
	bool refused;
};

static bool live_emit(void *context, enum record_kind kind, const void *body, uint32_t bytes)
{
	struct live *l = context;

	if (l->refused || l->room == 0) {
		l->refused = true;
		return false;
	}
	l->room--;
	recorder_output(l->recorder, kind, body, bytes);
	return true;
}

static void live_start(struct live *l)
{
	struct core_config config = { .limits = limits, .emit = live_emit, .context = l };

	*l = (struct live){ .recorder = record(RECORD_BYTES_DEFAULT) };
	l->ledger = aligned_alloc(CACHE_LINE, (core_ledger_bytes(&limits, NULL) + 63) / 64 * 64);
	cr_assert(l->ledger);
	memset(l->ledger, 0, core_ledger_bytes(&limits, NULL));
	l->core = core_new(&config, l->ledger);
	cr_assert(l->core);
}

static int live_step(struct live *l, enum record_kind kind, const void *body, size_t body_bytes,
                     const void *more, size_t more_bytes, const char *name)
{
	alignas(8) unsigned char bytes[512] = { 0 };
	struct record *r = (struct record *)bytes;
	size_t n = sizeof(*r);
	int rc;

	*r = (struct record){
		.kind = (uint16_t)kind, .epoch = 1, .sequence = ++l->sequence, .time_ns = l->sequence * 1000
	};
	memcpy(bytes + n, body ? body : "", body_bytes);
	n += body_bytes;
	memcpy(bytes + n, more ? more : "", more_bytes);
	n += more_bytes;
	memcpy(bytes + n, name, strlen(name));
	r->bytes = (uint32_t)(n + PADDED(strlen(name)));
	l->refused = false;
	recorder_input(l->recorder, r);
	rc = core_step(l->core, r);
	recorder_done(l->recorder, rc, l->refused);
	return rc;
}

static void live_end(struct live *l)
{
	recorder_close(l->recorder);
	core_free(l->core);
	free(l->ledger);
}

/* Three pods on two nodes; the second command is not accepted at first. */
static void live_run(void)
{
	struct amount room[] = { { .resource = RESOURCE_CPU, .value = 4000 },
		                     { .resource = RESOURCE_PODS, .value = 10 } };
	struct amount request[] = { { .resource = RESOURCE_CPU, .value = 1000 },
		                        { .resource = RESOURCE_PODS, .value = 1 } };
	struct event_shape shape = { .amounts_n = 2, .scored_cpu_milli = 1000 };
	struct live l;
	char name[16];

	live_start(&l);
	l.room = 1;
	cr_assert_eq(live_step(&l, EVENT_BEGIN, NULL, 0, NULL, 0, ""), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct event_node node = {
			.node = i, .generation = 1, .flags = NODE_PRESENT, .name_bytes = 2, .amounts_n = 2
		};

		snprintf(name, sizeof(name), "n%u", i);
		cr_assert_eq(live_step(&l, EVENT_NODE, &node, sizeof(node), room, sizeof(room), name), 0,
		             "%s", core_fault(l.core));
	}
	cr_assert_eq(live_step(&l, EVENT_SHAPE, &shape, sizeof(shape), request, sizeof(request), ""), 0,
	             "%s", core_fault(l.core));
	for (uint32_t i = 0; i < 3; i++) {
		struct event_pod pod = { .pod = i,
			                     .generation = 1,
			                     .flags = POD_OURS,
			                     .gang = ID_NONE,
			                     .node = ID_NONE,
			                     .name_bytes = 4,
			                     .created_ns = i + 1,
			                     .uid = { i, 1 } };

		snprintf(name, sizeof(name), "d/p%u", i);
		cr_assert_eq(live_step(&l, EVENT_POD, &pod, sizeof(pod), NULL, 0, name), 0, "%s",
		             core_fault(l.core));
	}
	cr_assert_eq(live_step(&l, EVENT_SYNCED, NULL, 0, NULL, 0, ""), 0);
	/* Refused: it came twice. */
	cr_assert_eq(live_step(&l, EVENT_SYNCED, NULL, 0, NULL, 0, ""), -EPROTO);
	while (core_wants_plan(l.core)) {
		cr_assert_eq(live_step(&l, EVENT_PLAN, NULL, 0, NULL, 0, ""), 0);
		l.room = 4;
	}
	live_end(&l);
}

static int replay(const char *option)
{
	char command[] = "musterctl replay", copy[32];
	char *argv[] = { command, path, copy, NULL };

	snprintf(copy, sizeof(copy), "%s", option ? option : "");

	optind = 0;
	return replay_command.run(option ? 3 : 2, argv);
}

static void output_has(const char *text)
{
	static char all[16384];
	FILE *out;
	size_t n;

	fflush(stdout);
	out = cr_get_redirected_stdout();
	n = fread(all + strlen(all), 1, sizeof(all) - 1 - strlen(all), out);
	(void)n;
	cr_assert(strstr(all, text), "no \"%s\" in: %s", text, all);
}

Test(recorder, replay_says_the_same)
{
	cr_redirect_stdout();
	live_run();
	cr_assert_eq(replay("--print"), EXIT_DONE);
	output_has("bind d/p0 to n0, attempt 1\n");
	output_has("bind d/p2 to ");
	output_has("3 commands, equal\n");
}

/* As if the core had chosen another node. */
Test(recorder, replay_tells_the_first_difference)
{
	struct recording_block b;
	struct cmd_bind *bind;
	unsigned char *all;
	size_t bytes, at = sizeof(struct recording_head);

	cr_redirect_stdout();
	live_run();
	all = load(&bytes);
	/* Whatever blocks there are: one bind of the pod 1, wherever it lies. */
	for (size_t i = at; i + sizeof(*bind) + 8 <= bytes; i += 8) {
		struct recording_entry e;

		memcpy(&b, all + i, sizeof(b));
		if (b.magic == BLOCK_MAGIC)
			at = i;
		memcpy(&e, all + i, sizeof(e));
		bind = (struct cmd_bind *)(void *)(all + i + sizeof(e));
		if (e.kind != CMD_BIND || e.bytes != sizeof(e) + sizeof(*bind) || bind->pod != 1)
			continue;
		bind->node ^= 1;
		memcpy(&b, all + at, sizeof(b));
		b.entries_sum = recording_sum(SUM_START, all + at + sizeof(b), b.bytes);
		b.sum = recording_sum(SUM_START, &b, offsetof(struct recording_block, sum));
		memcpy(all + at, &b, sizeof(b));
		break;
	}
	save(all, bytes);
	free(all);
	cr_assert_eq(replay(NULL), EXIT_NO);
	output_has("different\n");
	output_has("(EVENT_PLAN ");
	output_has("recorded: bind d/p1 to n0, attempt 1\n  here:     bind d/p1 to n1, attempt 1\n");
}
