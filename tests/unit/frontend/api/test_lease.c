/* SPDX-License-Identifier: Apache-2.0 */
/* The lease, against an API server that the test plays: who may act, from when and until when. */
#include "frontend/api/lease.h"

#include "tests/unit/support_world.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/sys/leases"

static struct scene {
	struct world w;
	struct lease *l;
} s;

static struct lease *new_lease(struct world *w, const char *identity)
{
	return lease_new(&(struct lease_config){
		.env = &w->env,
		.namespace = "sys",
		.name = "muster",
		.identity = identity,
		.duration_ns = 15 * SECOND,
		.renew_ns = 10 * SECOND,
		.retry_ns = 2 * SECOND,
	});
}

static void begin(void)
{
	world_init(&s.w);
	s.l = new_lease(&s.w, "me");
}

static void end(void)
{
	lease_free(s.l);
	world_free(&s.w);
}

TestSuite(lease, .init = begin, .fini = end);

static const char *object(const char *holder, const char *renewed, int transitions,
                          const char *version)
{
	static char text[600];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"muster\",\"namespace\":\"sys\",\"resourceVersion\":\"%s\",\"labels\":{\"keep\":\"me\"}},"
		"\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":15,\"acquireTime\":\"A\",\"renewTime\":\"%s\",\"leaseTransitions\":%d}}",
		version, holder, renewed, transitions);
	return text;
}

static const char *released(const char *version)
{
	static char text[300];

	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"resourceVersion\":\"%s\"},\"spec\":{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}}",
		version);
	return text;
}

static void pass(uint64_t ns)
{
	s.w.now_ns += ns;
	lease_poll(s.l);
}

static void answer(const char *method, int status, const char *body)
{
	world_answer(world_take(&s.w, method, PATH "/muster"), status, body);
}

static void absent(const char *method, const char *message)
{
	answer(method, 404, world_status(404, "NotFound", message));
}

static void holds(const struct http_call *c, const char *part)
{
	cr_assert(strstr(c->body, part), "%s lacks %s", c->body, part);
}

/* From nothing to leader: 404, created. */
static void lead(void)
{
	struct http_call *c;

	lease_poll(s.l);
	cr_assert(!lease_held(s.l));
	/* Somebody may have deleted it who acts still. */
	for (int i = 0; i < 8; i++) {
		absent("GET", "no lease");
		cr_assert_eq(world_open(&s.w), 0);
		pass(2 * SECOND);
	}
	absent("GET", "no lease");
	c = world_take(&s.w, "POST", PATH);
	cr_assert_eq(c->lane, HTTP_LEASE);
	holds(c, "\"metadata\":{\"name\":\"muster\",\"namespace\":\"sys\"}");
	holds(c, "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15");
	holds(c, "\"leaseTransitions\":0");
	cr_assert(!lease_held(s.l), "not before it was taken");
	world_answer(c, 201, object("me", "R1", 0, "7"));
	cr_assert(lease_held(s.l));
}

Test(lease, is_made_and_renewed)
{
	struct http_call *c;

	lead();
	cr_assert_eq(lease_poll(s.l), s.w.now_ns + 2 * SECOND);
	pass(2 * SECOND);
	c = world_take(&s.w, "PUT", PATH "/muster");
	holds(c, "\"resourceVersion\":\"7\",\"labels\":{\"keep\":\"me\"}"); /* others' parts stay */
	holds(c, "\"acquireTime\":\"A\"");
	holds(c, "\"leaseTransitions\":0");
	s.w.now_ns +=
		SECOND; /* it takes a second to be answered: the deadline counts from the sending */
	world_answer(c, 200, object("me", "R2", 0, "8"));
	s.w.now_ns += 9 * SECOND - 1;
	cr_assert(lease_held(s.l) && !lease_lost(s.l));
	s.w.now_ns += 1;
	cr_assert(!lease_held(s.l) && lease_lost(s.l));
}

/* After a break of the network every kept connection may be dead; two of them in a row take longer
 * than the renew deadline. */
Test(lease, is_asked_for_on_a_fresh_connection_after_no_answer)
{
	struct http_call *c;

	lead();
	pass(2 * SECOND);
	c = world_take(&s.w, "PUT", PATH "/muster");
	cr_assert(!c->fresh_connection);
	s.w.now_ns += 5 * SECOND;
	world_fail(c, HTTP_BROKEN);
	pass(2 * SECOND);
	c = world_take(&s.w, "GET", PATH "/muster");
	cr_assert(c->fresh_connection);
	world_answer(c, 200, object("me", "R1", 0, "7"));
	c = world_take(&s.w, "PUT", PATH "/muster");
	cr_assert(c->fresh_connection, "any that was kept might be taken");
	world_answer(c, 200, object("me", "R2", 0, "8"));
	cr_assert(lease_held(s.l));
	for (int i = 0; i < 30; i++) {
		pass(2 * SECOND);
		c = world_take(&s.w, "PUT", PATH "/muster");
		cr_assert_eq(c->fresh_connection, i < 28, "%d", i);
		world_answer(c, 200, object("me", "R2", 0, "8"));
	}
}

Test(lease, is_lost_for_good_when_it_is_not_renewed)
{
	lead();
	for (int i = 0; i < 4; i++) {
		pass(2 * SECOND);
		if (i == 0)
			world_fail(world_take(&s.w, "PUT", PATH "/muster"), HTTP_BROKEN);
		else
			answer("GET", 500, "{}");
		cr_assert(lease_held(s.l));
	}
	/* An answer that comes too late does not bring it back. */
	pass(1 * SECOND);
	pass(1 * SECOND);
	cr_assert(lease_lost(s.l));
	pass(100 * SECOND);
	cr_assert(lease_lost(s.l) && !lease_held(s.l));
}

Test(lease, of_another_is_waited_out)
{
	struct http_call *c;

	lease_poll(s.l);
	/* The record's own times are long past: that means nothing. */
	answer("GET", 200, object("other", "1999-01-01T00:00:00.000000Z", 3, "5"));
	cr_assert_str_eq(lease_holder(s.l), "other");
	for (int i = 0; i < 6; i++) {
		pass(2 * SECOND);
		answer("GET", 200, object("other", "1999-01-01T00:00:00.000000Z", 3, "5"));
	}
	/* It lives: from here on once more. */
	pass(2 * SECOND);
	answer("GET", 200, object("other", "R", 3, "6"));
	for (int i = 0; i < 7; i++) {
		pass(2 * SECOND);
		answer("GET", 200, object("other", "R", 3, "6"));
	}
	cr_assert(!lease_held(s.l) && world_open(&s.w) == 0);
	pass(2 * SECOND);
	answer("GET", 200, object("other", "R", 3, "6"));
	c = world_take(&s.w, "PUT", PATH "/muster");
	holds(c, "\"holderIdentity\":\"me\"");
	holds(c, "\"leaseTransitions\":4");
	world_answer(c, 200, object("me", "R2", 4, "7"));
	cr_assert(lease_held(s.l));
}

Test(lease, goes_to_one_of_two_that_want_it)
{
	lease_poll(s.l);
	answer("GET", 200, released("5"));
	answer("PUT", 409, world_status(409, "Conflict", "changed"));
	cr_assert(!lease_held(s.l) && world_open(&s.w) == 0);
	pass(2 * SECOND);
	answer("GET", 200, object("other", "R", 4, "6"));
	cr_assert(!lease_held(s.l) && !lease_lost(s.l) && world_open(&s.w) == 0);
}

Test(lease, that_somebody_deletes_is_made_again)
{
	lead();
	pass(2 * SECOND);
	absent("PUT", "gone");
	cr_assert(lease_held(s.l));
	pass(2 * SECOND);
	absent("GET", "gone");
	world_answer(world_take(&s.w, "POST", PATH), 201, object("me", "R3", 0, "20"));
	s.w.now_ns += 9 * SECOND;
	cr_assert(lease_held(s.l));
}

Test(lease, of_another_that_somebody_deletes_is_waited_out)
{
	lease_poll(s.l);
	answer("GET", 200, object("other", "R", 3, "5"));
	for (int i = 0; i < 8; i++) {
		pass(2 * SECOND);
		absent("GET", "gone");
		cr_assert_eq(world_open(&s.w), 0, "it acts still");
	}
	pass(2 * SECOND);
	absent("GET", "gone");
	world_answer(world_take(&s.w, "POST", PATH), 201, object("me", "R", 0, "9"));
	cr_assert(lease_held(s.l));
}

Test(lease, that_another_took_is_lost_at_once)
{
	lead();
	pass(2 * SECOND);
	answer("PUT", 409, world_status(409, "Conflict", "changed"));
	pass(0);
	answer("GET", 200, object("other", "R", 1, "9"));
	cr_assert(lease_lost(s.l) && !lease_held(s.l));
}

Test(lease, is_released_for_the_next)
{
	struct http_call *c;

	lead();
	lease_release(s.l);
	cr_assert(!lease_held(s.l) && !lease_lost(s.l) && !lease_released(s.l));
	c = world_take(&s.w, "PUT", PATH "/muster");
	holds(c, "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,");
	world_answer(c, 200, object("", "R", 0, "8"));
	cr_assert(lease_released(s.l));
	end();
	begin();
	lease_release(s.l);
	cr_assert(lease_released(s.l), "there is nothing to release");
}

/* The renewal under way has landed; or a server that was restored has another version of it. */
Test(lease, is_released_in_the_version_that_it_has)
{
	struct http_call *c;

	lead();
	pass(2 * SECOND);
	world_take(&s.w, "PUT", PATH "/muster");
	lease_release(s.l);
	answer("PUT", 409, world_status(409, "Conflict", "the object has been modified"));
	cr_assert(!lease_released(s.l));
	answer("GET", 200, object("me", "R2", 0, "8"));
	c = world_take(&s.w, "PUT", PATH "/muster");
	holds(c, "\"resourceVersion\":\"8\"");
	holds(c, "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,");
	cr_assert(!lease_released(s.l) && !lease_held(s.l));
	world_answer(c, 409, world_status(409, "Conflict", "again"));
	cr_assert(lease_released(s.l), "once is enough");
}

/* A server that is put back: the renewal finds nobody there, and the instance starts over before
 * the next. */
Test(lease, is_released_after_a_renewal_that_failed)
{
	struct http_call *c;

	lead();
	pass(2 * SECOND);
	answer("PUT", 500, world_status(500, "InternalError", "not now"));
	lease_release(s.l);
	cr_assert(!lease_released(s.l) && !lease_held(s.l));
	answer("GET", 200, object("me", "R2", 0, "8"));
	c = world_take(&s.w, "PUT", PATH "/muster");
	holds(c, "\"resourceVersion\":\"8\"");
	holds(c, "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,");
	world_answer(c, 200, object("", "R3", 0, "9"));
	cr_assert(lease_released(s.l));
}

Test(lease, of_another_is_not_released)
{
	lead();
	lease_release(s.l);
	answer("PUT", 409, world_status(409, "Conflict", "the object has been modified"));
	answer("GET", 200, object("her", "R2", 1, "8"));
	cr_assert(lease_released(s.l));
	cr_assert_eq(world_open(&s.w), 0);
}

Test(lease, needs_times_that_leave_cap)
{
	cr_assert_null(lease_times_fault(15 * SECOND, 10 * SECOND, 2 * SECOND));
	cr_assert_not_null(lease_times_fault(10 * SECOND, 10 * SECOND, 2 * SECOND));
	cr_assert_not_null(lease_times_fault(15 * SECOND, 12 * SECOND, 10 * SECOND));
	cr_assert_not_null(lease_times_fault(15 * SECOND, 10 * SECOND, 0));
}

struct server {
	char holder[64], renewed[64];
	long duration, transitions;
	unsigned version;
	bool exists;
};

static const char *part_of(const char *body, const char *name)
{
	static char text[64];
	const char *at = strstr(body, name);

	cr_assert(at, "%s lacks %s", body, name);
	at += strlen(name);
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, "\","), at);
	return text;
}

/* `lost`: it is done, and the answer never comes. */
static void serve(struct server *sv, struct http_call *c, bool lost)
{
	char text[600], version[32];

	if (strcmp(c->method, "POST") != 0 && !sv->exists) {
		world_answer(c, 404, "{}");
		return;
	}
	snprintf(version, sizeof(version), "\"resourceVersion\":\"%u\"", sv->version);
	if (strcmp(c->method, "POST") == 0
	        ? sv->exists
	        : strcmp(c->method, "PUT") == 0 && !strstr(c->body, version)) {
		world_answer(c, 409, "{}");
		return;
	}
	if (strcmp(c->method, "GET") != 0) {
		snprintf(sv->holder, sizeof(sv->holder), "%s", part_of(c->body, "\"holderIdentity\":\""));
		snprintf(sv->renewed, sizeof(sv->renewed), "%s", part_of(c->body, "\"renewTime\":\""));
		sv->duration = atol(part_of(c->body, "\"leaseDurationSeconds\":"));
		sv->transitions = atol(part_of(c->body, "\"leaseTransitions\":"));
		sv->version++;
		sv->exists = true;
	}
	if (lost) {
		world_fail(c, HTTP_BROKEN);
		return;
	}
	snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"resourceVersion\":\"%u\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%ld,"
		"\"renewTime\":\"%s\",\"leaseTransitions\":%ld}}",
		sv->version, sv->holder, sv->duration, sv->renewed, sv->transitions);
	world_answer(c, 200, text);
}

/* Requests are lost, answered late or not at all, and instances stand still for a while; each has a
 * clock of its own, one of them 20 % fast.  Never do two hold the lease; one that lost it is
 * replaced by a new one. */
Test(lease, is_never_held_by_two)
{
	enum { N = 3, STEPS = 200000 };
	static struct world w[N];
	struct lease *l[N];
	struct server sv = { 0 };
	uint64_t stopped_until[N] = { 0 }, now = 1000 * SECOND, random = 88172645463325252u;
	unsigned born = 0, led = 0, lost = 0;
	static char names[STEPS / 10][16];

	for (int i = 0; i < N; i++) {
		world_init(&w[i]);
		snprintf(names[born], sizeof(names[born]), "i%u", born);
		l[i] = new_lease(&w[i], names[born++]);
	}
	for (unsigned step = 0; step < STEPS; step++) {
		int holders = 0;

		now += 100 * MS;
		for (int i = 0; i < N; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			w[i].now_ns = i == 0 ? 1000 * SECOND + (now - 1000 * SECOND) / 5 * 6 : now;
			w[i].random = random >> 11;
			holders += lease_held(l[i]);
			if (stopped_until[i] > now)
				continue;
			if (random % 5000 == 1)
				sv.exists = false; /* deleted by hand */
			if (random % 3000 == 0)
				stopped_until[i] = now + random / 7 % 40 * SECOND;
			for (struct http_call *c = w[i].calls; c; c = c->next) {
				if (!c->open || random % 4 == 0)
					continue;
				if (random % 31 == 2)
					world_fail(c, HTTP_BROKEN);
				else
					serve(&sv, c, random % 29 == 3);
				break;
			}
			lease_poll(l[i]);
			if (lease_lost(l[i])) {
				lost++;
				lease_free(l[i]);
				world_free(&w[i]);
				world_init(&w[i]);
				snprintf(names[born], sizeof(names[born]), "i%u", born);
				w[i].now_ns = i == 0 ? 1000 * SECOND + (now - 1000 * SECOND) / 5 * 6 : now;
				l[i] = new_lease(&w[i], names[born++]);
			}
		}
		cr_assert(holders <= 1, "step %u: %d hold it", step, holders);
		led += holders > 0;
	}
	cr_assert(led > STEPS / 2 && lost > 10, "held in %u of %u steps, lost %u times", led, STEPS,
	          lost);
	for (int i = 0; i < N; i++) {
		lease_free(l[i]);
		world_free(&w[i]);
	}
}
