/* One writer moves amounts between rows and publishes; readers add all rows of a picture
 * up.  Whatever they look at has the sum of all amounts, is whole, does not change while
 * they hold it and is never older than what they saw before; ThreadSanitizer watches for a
 * piece that is used again while somebody may still look at it.
 *
 *   stress_snapshot [PICTURES] */
#include "core/rcu.h"
#include "core/snapshot.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS       5000u /* more than one page has */
#define EACH       1000u
#define READERS    3u
#define MOVES_MOST 8u
#define PATIENCE_S 60

struct row {
	uint64_t amount;
	uint64_t version; /* of the picture that it was changed for */
	uint64_t check;
};

struct job {
	struct snapshots *snapshots;
	struct row rows[ROWS]; /* the writer's own */
	uint64_t pictures;
	_Atomic bool done;
	_Atomic(const char *) failure;
	_Atomic uint64_t looks;
	_Atomic uint64_t newest_looked_at;
};

static uint64_t mix(uint64_t n)
{
	n = (n ^ (n >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ (n >> 27)) * UINT64_C(0x94d049bb133111eb);
	return n ^ (n >> 31);
}

static uint64_t check_of(const struct row *r, uint32_t index)
{
	return mix(r->amount * 7 + r->version) ^ index;
}

static void fail(struct job *job, const char *what)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&job->failure, &none, what);
}

/* ---- reader ---------------------------------------------------------------------------- */

/* NULL when all is well. */
static const char *look_at(const struct snapshot *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < ROWS; i++) {
		const struct row *r = snapshot_row(p, i);

		if (r->check != check_of(r, i))
			return "a row is not whole";
		if (r->version > snapshot_version(p))
			return "a row is newer than its picture";
		sum += r->amount;
	}
	return sum == (uint64_t)ROWS * EACH ? NULL : "a move was seen by half";
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* Now and then somebody holds a picture for long, waits, or leaves and comes back. */
static void read_some(struct job *job, uint64_t turn, uint64_t *seen)
{
	const struct snapshot *p = snapshots_look(job->snapshots);
	const char *wrong = NULL;

	if (p) {
		if (snapshot_version(p) < *seen)
			wrong = "an older picture came after a newer one";
		*seen = snapshot_version(p);
		if (!wrong)
			wrong = look_at(p);
		if (turn % 16 == 3)
			pause_ms(3);
		if (!wrong && turn % 4 == 3)
			wrong = look_at(p);
		if (!wrong && snapshot_version(p) != *seen)
			wrong = "a picture changed while it was held";
		atomic_fetch_add(&job->looks, 1);
		if (*seen > atomic_load(&job->newest_looked_at))
			atomic_store(&job->newest_looked_at, *seen);
	}
	if (wrong)
		fail(job, wrong);
	if (turn % 32 == 7) {
		rcu_away();
		pause_ms(1);
		rcu_back();
	} else {
		rcu_rest();
	}
}

static void *reader(void *context)
{
	struct job *job = context;
	uint64_t seen = 0;

	snapshots_start(job->snapshots);
	for (uint64_t turn = 0; !atomic_load(&job->done) && !atomic_load(&job->failure); turn++) {
		read_some(job, turn, &seen);
		if (turn % 64 == 40) {
			snapshots_stop(job->snapshots);
			sched_yield();
			snapshots_start(job->snapshots);
		}
	}
	snapshots_stop(job->snapshots);
	return NULL;
}

/* ---- writer ---------------------------------------------------------------------------- */

static void copy_row(void *context, uint32_t index, void *out)
{
	const struct job *job = context;

	memcpy(out, &job->rows[index], sizeof(job->rows[index]));
}

static void add(struct job *job, uint32_t index, uint64_t amount, uint64_t version)
{
	struct row *r = &job->rows[index];

	r->amount += amount;
	r->version = version;
	r->check = check_of(r, index);
	snapshots_touch(job->snapshots, index);
}

/* How often a picture had to wait for pieces. */
static uint64_t write_all(struct job *job)
{
	time_t start = time(NULL);
	uint64_t waits = 0, random = 1;

	for (uint64_t version = 1; version <= job->pictures && !atomic_load(&job->failure); version++) {
		uint64_t moves = mix(random++) % MOVES_MOST;

		for (uint64_t i = 0; i < moves; i++) {
			uint64_t dice = mix(random++);
			uint32_t from = (uint32_t)(dice % ROWS), to = (uint32_t)(dice / ROWS % ROWS);
			uint64_t amount = job->rows[from].amount / 3;

			add(job, from, -amount, version);
			add(job, to, amount, version);
		}
		while (!snapshots_publish(job->snapshots, version, copy_row, job) && !atomic_load(&job->failure)) {
			waits++;
			sched_yield();
			if (time(NULL) - start > PATIENCE_S)
				fail(job, "it takes too long");
		}
	}
	return waits;
}

int main(int argc, char **argv)
{
	static struct job job;
	pthread_t threads[READERS];
	uint64_t waits;
	const char *wrong;

	job.pictures = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000;
	if (snapshots_new(&job.snapshots, ROWS, sizeof(struct row)) < 0) {
		puts("stress_snapshot: no memory");
		return 1;
	}
	for (uint32_t i = 0; i < ROWS; i++)
		add(&job, i, EACH, 0);
	for (uint32_t i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader, &job) != 0)
			return 1;
	/* Nothing is published before somebody looks. */
	while (atomic_load(&job.looks) < READERS && !atomic_load(&job.failure)) {
		snapshots_publish(job.snapshots, 0, copy_row, &job);
		sched_yield();
	}
	waits = write_all(&job);
	atomic_store(&job.done, true);
	for (uint32_t i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	snapshots_free(job.snapshots);
	wrong = atomic_load(&job.failure);
	if (wrong) {
		printf("FAIL snapshot: %s\n", wrong);
		return 1;
	}
	printf("ok snapshot: %llu pictures, %llu waits for pieces, %llu looks, the newest at %llu\n",
	       (unsigned long long)job.pictures, (unsigned long long)waits,
	       (unsigned long long)atomic_load(&job.looks), (unsigned long long)atomic_load(&job.newest_looked_at));
	return 0;
}
