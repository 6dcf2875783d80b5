/* SPDX-License-Identifier: Apache-2.0 */
/* Would a gang or lone pods that do not exist start if they were created now?  It is asked, then
 * they are created, and the loop has to do what was answered.  Nothing changes by the question: the
 * next record of the loop finds the world equal, and the model has nothing to send. */
#include "core/world/live_gang.h"
#include "core/world/what_if.h"
#include "frontend/model/put/outsider_gang.h"
#include "frontend/model/valid.h"
#include "tests/unit/support_nominations.h"
#include "tests/unit/support_random.h"

#include <errno.h>

TestSuite(what_if_created, .init = start, .fini = scene_end);

#define MEMBERS_MOST 12

/* A gang of a file: its group, and pods that are all alike. */
struct manifest {
	const char *name, *queue;
	int members, quorum, priority, cpu;
	const char *spec; /* of its pods, with a comma at the end */
	bool lone;        /* its pods are in no gang; quorum is 0 */
	int created_s;    /* since the records began, below 60; 0: without a creationTimestamp */
};

#define CREATED ",\"creationTimestamp\":\"2027-01-15T08:00:%02dZ\""

static const char *stamp_of(const struct manifest *f)
{
	static char json[64];

	snprintf(json, sizeof(json), CREATED, f->created_s);
	return f->created_s > 0 ? json : "";
}

static const char *group_json(const struct manifest *f)
{
	static char json[512];

	snprintf(json, sizeof(json),
	         "{\"apiVersion\":\"" API "\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\","
	         "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"1\"%s},"
	         "\"spec\":{\"minMember\":%d}}",
	         f->name, f->name, stamp_of(f), f->quorum);
	return json;
}

static const char *pod_json(const struct manifest *f, int i)
{
	static char json[2048];
	char label[96] = "";

	if (!f->lone)
		snprintf(label, sizeof(label), "\"scheduling.x-k8s.io/pod-group\":\"%s\"", f->name);
	snprintf(
		json, sizeof(json),
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%d\","
		"\"namespace\":\"ns\",\"uid\":\"u-%s-%d\",\"resourceVersion\":\"1\",\"labels\":{%s}%s%s%s%s},"
		"\"spec\":{\"schedulerName\":\"muster\","
		"%s\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{"
		"\"cpu\":\"%d\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
		f->name, i, f->name, i, label,
		f->queue ? ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"" : "",
		f->queue ? f->queue : "", f->queue ? "\"}" : "", stamp_of(f), f->spec ? f->spec : "",
		f->priority, f->cpu > 0 ? f->cpu : 1);
	return json;
}

static const char *array_json(const struct manifest *f)
{
	static char json[MEMBERS_MOST * 2048 + 1024];

	snprintf(json, sizeof(json), "[%s", f->lone ? "" : group_json(f));
	for (int i = 0; i < f->members; i++)
		snprintf(json + strlen(json), sizeof(json) - strlen(json), "%s%s",
		         i == 0 && f->lone ? "" : ",", pod_json(f, i));
	strcat(json, "]");
	return json;
}

static void *no_record(void *context, enum record_kind kind, uint32_t bytes)
{
	cr_assert_fail("a record of kind %u is to be sent, of %u bytes", kind, bytes);
	return NULL;
}

static void model_holds(void)
{
	char why[512];

	cr_assert(model_valid(x.m, why, sizeof(why)), "%s", why);
}

static const struct outsider_gang *records_of(const char *json)
{
	static struct outsider_gang g;
	struct decode_error error = { 0 };

	cr_assert_eq(model_outsider_gang(x.m, json, strlen(json), &g, &error), 0, "%s: %s: %s",
	             error.object, error.field, error.text);
	g.gang.epoch = x.loop.core->epoch;
	model_holds();
	cr_assert(model_flush(x.m, &(struct model_sink){ .reserve = no_record }));
	return &g;
}

static bool ended(void *context)
{
	return context != NULL;
}

static const struct live_answer *ask_records(const struct live_gang *g, bool end)
{
	static struct live_answer a;
	const struct keeper_hooks hooks = { .ends = ended, .context = end ? &x : NULL };
	const struct live_question q = { .version = QUESTION_VERSION };

	cr_assert_null(live_gang_fault(g, &LIMITS));
	what_if(&(struct what_if_of){ .keeper = follower_keeper(x.loop.world),
	                              .world = follower_core(x.loop.world),
	                              .gang = g,
	                              .hooks = &hooks },
	        &q, &a);
	flush(); /* the world follows, and is valid */
	return &a;
}

static void places_say(char *text, size_t bytes, const uint32_t *members)
{
	for (uint32_t i = 0; i < 8; i++)
		if (members[i] > 0)
			snprintf(text + strlen(text), bytes - strlen(text), " %ux%u", i, members[i]);
}

/* "starts: 0x2 1x2", by node; "waits: 3", of lone pods "waits: 3: 0x2" with those that start; or
 * the text of a refusal. */
static const char *words_of(const struct live_answer *a)
{
	static char text[512];
	uint32_t members[8] = { 0 };

	for (uint32_t i = 0; a->verdict <= QUESTION_WAITS && i < a->nodes; i++)
		members[a->places[i].node] = a->places[i].members;
	if (a->verdict == QUESTION_STARTS) {
		snprintf(text, sizeof(text), "starts:");
		places_say(text, sizeof(text), members);
	} else if (a->verdict == QUESTION_WAITS) {
		snprintf(text, sizeof(text), "waits: %u%s", a->reason.why, a->text[0] ? ":" : "");
		places_say(text, sizeof(text), members);
	} else {
		snprintf(text, sizeof(text), "%s", a->verdict == QUESTION_REFUSED ? a->text : "gave up");
	}
	return text;
}

static const char *asked_of(const struct manifest *f)
{
	return words_of(ask_records(&records_of(array_json(f))->gang, false));
}

static const char *created_lone(const struct manifest *f, const uint32_t *members)
{
	static char text[512];
	const struct core *c = x.loop.core;

	snprintf(text, sizeof(text), "starts:");
	for (int i = f->members - 1; i >= 0; i--) {
		const struct pod *p = pod_slot(numbered(f->name, i));
		const uint32_t index = LIMITS.gangs + (uint32_t)(p - c->pods.slots);

		if (p->node == ID_NONE)
			snprintf(text, sizeof(text), "waits: %u:", c->gangs.slots[index].published_why);
	}
	places_say(text, sizeof(text), members);
	return text;
}

/* The gang is created: the same words of what the loop did. */
static const char *created(const struct manifest *f)
{
	static char text[512];
	uint32_t members[8] = { 0 }, n = 0;
	const struct pod *first;
	int resource = model_resource_index(x.m, API, "PodGroup");

	if (!f->lone)
		cr_assert_eq(model_put(x.m, resource, group_json(f), strlen(group_json(f)), NULL), 0);
	for (int i = 0; i < f->members; i++)
		cr_assert_eq(
			model_put(x.m, RESOURCE_INDEX_PODS, pod_json(f, i), strlen(pod_json(f, i)), NULL), 0);
	flush();
	for (int i = 0; i < f->members; i++) {
		const struct pod *p = pod_slot(numbered(f->name, i));

		if (p->node == ID_NONE)
			continue;
		members[p->node]++;
		n++;
	}
	if (f->lone)
		return created_lone(f, members);
	first = pod_slot(numbered(f->name, 0));
	if (n < (uint32_t)f->quorum) {
		cr_assert_eq(n, 0);
		snprintf(text, sizeof(text), "waits: %u",
		         x.loop.core->ledger.gangs[first->gang].reason.why);
		return text;
	}
	snprintf(text, sizeof(text), "starts:");
	places_say(text, sizeof(text), members);
	return text;
}

static void comes_true(const struct manifest *f, const char *words)
{
	cr_assert_str_eq(asked_of(f), words);
	cr_assert_str_eq(created(f), words);
}

Test(what_if_created, starts_where_it_was_answered)
{
	const struct manifest fits = { .name = "g", .members = 4, .quorum = 4 };
	const struct manifest large = { .name = "h", .members = 5, .quorum = 5 };
	char why[64];

	node("n1", 3);
	node("n2", 2);
	pod("there", 0, "", "n2", "");
	flush();
	cr_assert_str_eq(asked_of(&fits),
	                 "muster-frontend does not ask for searches: --preemption is off, or it is "
	                 "not there");
	synced();
	snprintf(why, sizeof(why), "waits: %d", WAIT_ROOM);
	cr_assert_str_eq(asked_of(&large), why);
	cr_assert_str_eq(words_of(ask_records(&records_of(array_json(&fits))->gang, true)), "gave up");
	comes_true(&fits, "starts: 0x3 1x1");
	comes_true(&large, why);
}

Test(what_if_created, who_would_have_to_go)
{
	const struct manifest f = { .name = "g", .members = 2, .quorum = 2, .priority = 10 };

	node("n1", 2);
	pod("low-0", 0, "", "n1", "");
	pod("low-1", 0, "", "n1", "");
	synced();
	asked_of(&f);
	cr_assert_eq(ask_records(&records_of(array_json(&f))->gang, false)->victims.pods, 2);
	cr_assert_eq(api.evicts, 0);
}

/* What waits there was tried, and stands where it stood: a gang behind it may pass. */
Test(what_if_created, gangs_that_wait_are_not_before_what_fits)
{
	const struct manifest f = { .name = "g", .members = 2, .quorum = 2 };

	node("n1", 3);
	synced();
	waits("big", 4, 10);
	flush();
	comes_true(&f, "starts: 0x2");
}

Test(what_if_created, reserved_capacity_is_for_the_owner)
{
	const struct manifest behind = { .name = "g", .members = 1, .quorum = 1, .priority = 5 };
	const struct manifest before = { .name = "h", .members = 1, .quorum = 1, .priority = 11 };
	char why[64];

	start_with(MODEL_QUEUES_NONE, 0, S);
	node("n1", 4);
	ends("low-0", 50, "n1", 1);
	ends("low-1", 50, "n1", 1);
	model_set_synced(x.m);
	waits("big", 4, 10);
	reserved();
	snprintf(why, sizeof(why), "waits: %d", WAIT_RESERVED);
	comes_true(&behind, why);
	comes_true(&before, "starts: 0x1");
}

/* Of its priority it is the last one, also if the file has the time of an earlier creation. */
Test(what_if_created, it_is_younger_than_what_waits)
{
	struct manifest f = { .name = "g", .members = 1, .quorum = 1, .priority = 10 };
	char why[64], stamp[64];

	start_with(MODEL_QUEUES_NONE, 0, S);
	node("n1", 4);
	ends("low-0", 50, "n1", 1);
	ends("low-1", 50, "n1", 1);
	synced();
	tick(6 * S);
	snprintf(stamp, sizeof(stamp), CREATED, 5);
	group_with("waits", 4, stamp);
	for (int i = 0; i < 4; i++)
		pod(numbered("waits", i), 10, "waits", "", stamp);
	reserved();
	snprintf(why, sizeof(why), "waits: %d", WAIT_RESERVED);
	cr_assert_str_eq(asked_of(&f), why);
	f.created_s = 2;
	cr_assert_str_eq(asked_of(&f), why);
	f.created_s = 18;
	cr_assert_str_eq(created(&f), why);
}

Test(what_if_created, a_start_that_breaks_a_promise_is_none)
{
	const struct manifest long_one = { .name = "g", .members = 1, .quorum = 1, .priority = 10 };
	const struct manifest short_one = { .name = "h",
		                                .members = 1,
		                                .quorum = 1,
		                                .priority = 10,
		                                .spec = "\"restartPolicy\":\"Never\","
		                                        "\"activeDeadlineSeconds\":10," };
	char why[64];

	start_with(MODEL_QUEUES_NONE, 4, 0);
	node("n1", 2);
	ends("low-0", 100, "n1", 1);
	synced();
	promised(2);
	snprintf(why, sizeof(why), "waits: %d", WAIT_RESERVED);
	comes_true(&long_one, why);
	comes_true(&short_one, "starts: 0x1");
}

Test(what_if_created, its_queue_refuses_it)
{
	struct manifest f = { .name = "g", .queue = "small", .members = 3, .quorum = 3 };
	char why[64];

	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	queue("small", "\"capability\":{\"cpu\":\"2\"}");
	node("n1", 8);
	synced();
	snprintf(why, sizeof(why), "waits: %d", WAIT_QUEUE);
	comes_true(&f, why);
	f = (struct manifest){ .name = "h", .queue = "small", .members = 2, .quorum = 2 };
	comes_true(&f, "starts: 0x2");
}

static void fails_by(const char *json, const char *text)
{
	struct outsider_gang g;
	struct decode_error error = { 0 };

	cr_assert_eq(model_outsider_gang(x.m, json, strlen(json), &g, &error), -EINVAL);
	cr_assert(strstr(error.text, text), "%s: %s: %s", error.object, error.field, error.text);
	model_holds();
	cr_assert(model_flush(x.m, &(struct model_sink){ .reserve = no_record }));
}

Test(what_if_created, files_without_a_new_gang)
{
	const struct manifest f = { .name = "g", .members = 2, .quorum = 2 };
	struct outsider_gang other;
	char json[8192];

	node("n1", 1);
	synced();
	fails_by("[]", "there are no pods");
	fails_by("[", "is cut off");
	fails_by("[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}]",
	         "is neither that of a pod nor that of a group");
	snprintf(json, sizeof(json), "[%s,{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}]",
	         pod_json(&f, 0));
	fails_by(json, "a gang is asked about, or pods without a gang, not both");
	snprintf(json, sizeof(json), "[%s,{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"}}]",
	         group_json(&f));
	fails_by(json, "is in no gang, and there is a group");
	snprintf(json, sizeof(json), "[%s]", group_json(&f));
	fails_by(json, "there are no pods");
	snprintf(json, sizeof(json), "[%s,%s]", group_json(&f), group_json(&f));
	fails_by(json, "the cluster has a group of this name");
	/* Without its group. */
	snprintf(json, sizeof(json), "[%s]", pod_json(&f, 0));
	other = *records_of(json);
	cr_assert_eq(ask_records(&other.gang, false)->reason.why, WAIT_GROUP_MISSING);
	other.gang.epoch++;
	cr_assert_str_eq(words_of(ask_records(&other.gang, false)),
	                 "muster-frontend has connected again since it read the gang; ask again");
	created(&f);
	fails_by(array_json(&f), "the cluster has a group of this name");
	snprintf(json, sizeof(json), "[%s]", pod_json(&f, 7));
	fails_by(json, "is in a gang that the cluster has");
}

/* Anybody may send 2 MiB of them: 23,000 pods, or 180,000 labels that no pod has, took the loop a
 * quarter of a second each time, and tables of the model stay as long as they once were. */
Test(what_if_created, no_more_pods_are_put_than_a_question_has_space_for)
{
	char *json = malloc((size_t)1 << 20), *at = json;
	unsigned label = 0;

	flush();
	for (int i = 0; i < 40; i++) {
		at += sprintf(at,
		              "%s{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\",\"labels\":{"
		              "\"scheduling.x-k8s.io/pod-group\":\"g\"",
		              i > 0 ? "," : "[", i);
		for (int k = 0; k < 1000; k++)
			at += sprintf(at, ",\"l%u\":\"\"", label++);
		at += sprintf(at, "}},\"spec\":{\"schedulerName\":\"muster\"}}");
	}
	sprintf(at, ",{\"kind\":\"Pod\",\"metadata\":{\"name\":\"q\"},\"spec\":{\"nodeName\":\"n\"}}]");
	fails_by(json, "the gang is too large for a question to muster-core");
	free(json);
}

/* One bit, one word or the length is another: it has a fault, or is answered. */
static void edit_records(bool lone)
{
	struct random r = random_start(lone ? "what_if_created.edited_lone" : "what_if_created.edited");
	const struct manifest f = { .name = "g",
		                        .members = 2,
		                        .quorum = 2,
		                        .lone = lone,
		                        .spec = "\"nodeSelector\":{\"zone\":\"z1\"},"
		                                "\"tolerations\":[{\"operator\":\"Exists\"}]," };
	unsigned faults = 0, answers = 0;
	struct live_gang g;

	node("n1", 4);
	synced();
	waits("big", 5, 10);
	flush();
	g = records_of(array_json(&f))->gang;
	for (unsigned i = 0; i < 5000; i++) {
		struct live_gang edited = g;

		for (uint32_t k = random_below(&r, 3); k < 3; k++) {
			const uint32_t word = 4 * random_below(&r, g.bytes / 4), kind = random_below(&r, 4);
			const uint32_t values[] = { random_below(&r, 16), UINT32_MAX,
				                        1u << random_below(&r, 32) };

			if (kind < 3)
				memcpy(edited.records + word, &values[kind], 4);
			else if (random_below(&r, 20) == 0)
				edited.bytes = random_below(&r, QUESTION_GANG_RECORDS + 64);
			else
				edited.records[word] ^= (unsigned char)(1u << random_below(&r, 8));
		}
		if (live_gang_fault(&edited, &LIMITS))
			faults++;
		else
			answers += ask_records(&edited, false)->verdict != QUESTION_REFUSED;
	}
	fprintf(stderr, "%u have a fault, %u are answered\n", faults, answers);
	cr_assert(faults > 500 && answers > 300);
}

Test(what_if_created, records_that_were_edited)
{
	edit_records(false);
}

Test(what_if_created, records_of_lone_pods_that_were_edited)
{
	edit_records(true);
}

static void random_cluster(struct random *r)
{
	const int nodes = 2 + (int)random_below(r, 4);
	char name[16];

	for (int i = 0; i < nodes; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		node(name, 2 + (int)random_below(r, 6));
	}
	for (int i = 0; i < nodes; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		if (random_below(r, 2) == 0)
			ends(numbered("end", i), 50, name, 1 + (int)random_below(r, 2));
		if (random_below(r, 2) == 0)
			pod(numbered("lasts", i), 50, "", name, "");
	}
	synced();
}

static struct manifest random_gang(struct random *r, char name[16], int number, bool queues,
                                   bool lone)
{
	static const char *const all[] = {
		"", "\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":60,",
		"\"restartPolicy\":\"Never\",\"activeDeadlineSeconds\":5000,"
	};
	static const char *const names[] = { "a", "b", NULL };
	const int members = 1 + (int)random_below(r, 8);

	snprintf(name, 16, "g%d", number);
	return (struct manifest){ .name = name,
		                      .queue = queues ? names[random_below(r, 3)] : NULL,
		                      .members = members,
		                      .lone = lone,
		                      .quorum = random_below(r, 3) == 0 ? 1 + members / 2 : members,
		                      .priority = (int)random_below(r, 3),
		                      .cpu = 1 + (int)random_below(r, 2),
		                      .spec = all[random_below(r, 3)] };
}

/* Of random clusters, with promises, reservations and queues: gang after gang is asked about, and
 * then created. */
static void random_do_what_was_answered(const char *label, bool lone)
{
	struct random r = random_start(label);
	unsigned starts = 0, wait = 0, standing = 0, reserved = 0;
	char name[16];

	for (int round = 0; round < 50; round++) {
		const bool queues = random_below(&r, 2) == 0;

		start_with(queues ? MODEL_QUEUES_VOLCANO : MODEL_QUEUES_NONE, random_below(&r, 2) * 4,
		           random_below(&r, 2) * S);
		if (queues) {
			queue("a", "\"capability\":{\"cpu\":\"9\"}");
			queue("b", "\"guarantee\":{\"resource\":{\"cpu\":\"3\"}}");
		}
		random_cluster(&r);
		for (int i = 0; i < 8; i++) {
			struct manifest f = random_gang(&r, name, i, queues, lone);
			const struct live_answer *a = ask_records(&records_of(array_json(&f))->gang, false);
			char words[512];

			snprintf(words, sizeof(words), "%s", words_of(a));
			starts += a->verdict == QUESTION_STARTS;
			wait += a->verdict == QUESTION_WAITS;
			standing += x.loop.ledger->starts.standing > 0;
			reserved += x.loop.core->backfill.gang != ID_NONE;
			f.created_s = (int)(x.loop.core->now_ns / S - 1800000000);
			cr_assert_lt(f.created_s, 60);
			cr_assert_str_eq(created(&f), words, "round %d, gang %d", round, i);
			tick(random_below(&r, 3) * S + S);
		}
	}
	fprintf(stderr, "%u start, %u wait; promises stand in %u, a reservation in %u\n", starts, wait,
	        standing, reserved);
	cr_assert(starts > 50 && wait > 100 && standing > 20 && reserved > 20);
}

Test(what_if_created, random_gangs_do_what_was_answered)
{
	random_do_what_was_answered("what_if_created.random", false);
}

Test(what_if_created, random_lone_pods_do_what_was_answered)
{
	random_do_what_was_answered("what_if_created.random_lone", true);
}

Test(what_if_created, lone_pods_start_when_they_can)
{
	struct manifest f = { .name = "g", .members = 3, .lone = true };
	const struct live_answer *a;
	char why[64];

	node("n1", 3);
	pod("low", 0, "", "n1", "");
	synced();
	snprintf(why, sizeof(why), "waits: %d: 0x2", WAIT_ROOM);
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_str_eq(words_of(a), why);
	cr_assert_str_eq(a->text, "ns/g-2");
	cr_assert_eq(a->reason.counts[0].nodes, 1);
	cr_assert_eq(a->victims.answer, VICTIMS_ROW_IMPOSSIBLE);
	f.priority = 10;
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_str_eq(words_of(a), why);
	cr_assert_eq(a->victims.answer, VICTIMS_ROW_PROVED);
	cr_assert_str_eq(a->victims.text, "ns/low\n");
	f.spec = "\"schedulingGates\":[{\"name\":\"later\"}],";
	f.members = 1;
	snprintf(why, sizeof(why), "waits: %d:", WAIT_GATED);
	cr_assert_str_eq(asked_of(&f), why);
	f = (struct manifest){ .name = "h", .members = 2, .lone = true };
	comes_true(&f, "starts: 0x2");
}

static void start_reclaim(uint32_t flags)
{
	start_with(MODEL_QUEUES_VOLCANO, 0, 0);
	x.loop.preemption |= PREEMPTION_RECLAIM | flags;
	x.m->preemption_flags |= PREEMPTION_RECLAIM | flags;
}

/* With reclaim a lone pod evicts none of another queue, as in the loop. */
Test(what_if_created, lone_pods_evict_in_their_queue)
{
	struct manifest f = { .name = "g", .queue = "a", .members = 1, .priority = 10, .lone = true };
	const struct live_answer *a;

	start_reclaim(0);
	queue("a", "\"weight\":1");
	queue("b", "\"weight\":1");
	node("n1", 2);
	pod("of-a", 5, "", "n1", ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"a\"}");
	pod("of-b", 0, "", "n1", ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"b\"}");
	synced();
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_eq(a->victims.answer, VICTIMS_ROW_PROVED);
	cr_assert_str_eq(a->victims.text, "ns/of-a\n");
	f.queue = "b";
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_str_eq(a->victims.text, "ns/of-b\n");
	f.priority = 0;
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_eq(a->victims.answer, VICTIMS_ROW_IMPOSSIBLE);
}

static void runs_in(const char *queue_name, const char *name, int priority, const char *of,
                    const char *on)
{
	char meta[128];

	snprintf(meta, sizeof(meta), ",\"annotations\":{\"scheduling.volcano.sh/queue-name\":\"%s\"}",
	         queue_name);
	pod(name, priority, of, on, meta);
}

/* Of a higher priority, and of the queue that borrows. */
Test(what_if_created, a_gang_reclaims_by_queues)
{
	struct manifest f = { .name = "g", .queue = "a", .members = 2, .quorum = 2 };
	const struct live_answer *a;

	start_reclaim(0);
	queue("a", "\"deserved\":{\"cpu\":\"2\"}");
	queue("b", "\"weight\":1");
	node("n1", 2);
	for (int i = 0; i < 2; i++)
		runs_in("b", numbered("of-b", i), 5, "", "n1");
	synced();
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_eq(a->verdict, QUESTION_WAITS);
	cr_assert_eq(a->victims.answer, VICTIMS_ROW_PROVED);
	cr_assert_str_eq(a->victims.text, "ns/of-b-0\nns/of-b-1\n");
	f.priority = 10;
	f.queue = "b";
	a = ask_records(&records_of(array_json(&f))->gang, false);
	cr_assert_str_eq(a->victims.text, "ns/of-b-0\nns/of-b-1\n");
}

/* About the gang, which waits. */
static const struct live_answer *ask_named(gang_id gang, const struct question_change *change)
{
	static struct live_answer a;
	const struct core *world = follower_core(x.loop.world);
	struct live_question q = { .version = QUESTION_VERSION,
		                       .gang = gang,
		                       .generation = world->gangs.slots[gang].generation,
		                       .changes_n = change != NULL };

	if (change)
		q.changes[0] = *change;
	cr_assert_null(question_fault(&q, &LIMITS));
	what_if(&(struct what_if_of){ .keeper = follower_keeper(x.loop.world), .world = world }, &q,
	        &a);
	cr_assert_eq(a.verdict, QUESTION_WAITS);
	return &a;
}

/* It gives two pods while it has four: of three, one. */
Test(what_if_created, the_use_of_a_queue_is_without_the_pod)
{
	const struct manifest f = { .name = "g", .queue = "a", .members = 3, .quorum = 3 };
	const struct question_change without = { CHANGE_WITHOUT_POD, 0, "ns/of-b-3" };
	gang_id gang;

	start_reclaim(0);
	queue("a", "\"deserved\":{\"cpu\":\"3\"}");
	queue("b", "\"deserved\":{\"cpu\":\"2\"}");
	queue("kept", "\"reclaimable\":false");
	node("n1", 3);
	node("n2", 1);
	node("n3", 1);
	runs_in("kept", "of-kept", 5, "", "n3");
	for (int i = 0; i < 4; i++)
		runs_in("b", numbered("of-b", i), 5, "", i < 3 ? "n1" : "n2");
	synced();
	created(&f);
	gang = pod_slot("g-0")->gang;
	cr_assert_eq(ask_named(gang, &without)->victims.answer, VICTIMS_ROW_IMPOSSIBLE);
	gone("of-b-3");
	preempt_evicts(0);
}

/* Without its namespace. */
static const char *name_of(pod_id id)
{
	static char name[48];
	const struct pod *p = &x.loop.core->pods.slots[id];

	snprintf(name, sizeof(name), "%.*s", (int)(p->name_bytes - 3), p->name + 3);
	return name;
}

/* The search of the loop for the gang, which was created, has the victims that were answered. */
static bool evicts_what_was_answered(const struct manifest *f)
{
	struct live_answer a = *ask_records(&records_of(array_json(f))->gang, false);
	const struct event_answer *body;
	const struct answer_pod *victims;
	const unsigned before = api.evicts;
	char names[VICTIMS_TEXT] = "";

	created(f);
	if (a.verdict != QUESTION_WAITS)
		return false;
	cr_assert_str_eq(ask_named(pod_slot(numbered(f->name, 0))->gang, NULL)->victims.text,
	                 a.victims.text);
	search();
	cr_assert(x.answer);
	body = (const void *)(x.answer + 1);
	victims = (const void *)(body + 1);
	for (uint32_t i = 0; i < body->victims_n; i++) {
		const struct pod *p = &x.loop.core->pods.slots[victims[i].pod];

		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%.*s\n", (int)p->name_bytes,
		         p->name);
	}
	a.victims.text[a.victims.text_bytes] = '\0';
	cr_assert_str_eq(a.victims.text, names);
	answer_apply();
	cr_assert_eq(api.evicts - before, a.victims.pods);
	for (pod_id id = 0; id < PODS; id++)
		if (api.asked[id] != 0)
			goes(name_of(id));
	return a.victims.pods > 0;
}

/* Gang after gang, each of which evicts some of the others. */
Test(what_if_created, random_gangs_evict_what_was_answered)
{
	static const char *const names[] = { "a", "b", "c" };
	struct random r = random_start("what_if_created.random_reclaim");
	unsigned evict = 0;
	char name[16];

	for (int round = 0; round < 60; round++) {
		start_reclaim(random_below(&r, 2) == 0 ? PREEMPTION_FAIR : 0);
		queue("a", "\"deserved\":{\"cpu\":\"4\"}");
		queue("b", random_below(&r, 2) == 0 ? "\"deserved\":{\"cpu\":\"3\"}" : "\"weight\":2");
		queue("c", "\"weight\":1");
		node("n0", 4);
		node("n1", 6);
		for (int i = 0; i < 10; i++)
			runs_in(names[random_below(&r, 3)], numbered("r", i), (int)random_below(&r, 3), "",
			        i < 4 ? "n0" : "n1");
		synced();
		for (int i = 0; i < 5; i++) {
			const int members = 1 + (int)random_below(&r, 4);
			const struct manifest f = { .name = name,
				                        .queue = names[random_below(&r, 3)],
				                        .members = members,
				                        .quorum = random_below(&r, 3) == 0 ? 1 : members,
				                        .priority = (int)random_below(&r, 3) };

			snprintf(name, sizeof(name), "g%d", i);
			evict += evicts_what_was_answered(&f);
			tick(S);
		}
	}
	fprintf(stderr, "%u evict\n", evict);
	cr_assert(evict > 40);
}
