/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of the page and of musterctl: read by the port's thread, answered by the loop.
 *
 * An answer is kept for half a second for who asks the same.  The loop gives at most a fifth of its
 * time to them, whatever is asked, and a bounded amount of memory is kept by readers that are slow.
 */
#include "frontend/serve/serve_impl.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_NS (500 * NS_PER_MS)     /* how long an answer is given again */
#define PATIENCE_NS (200 * NS_PER_MS) /* how long a question waits until the loop has time */
#define SHARE 4u /* after an answer the loop has so many times as long for itself */
#define ANSWERS_BYTES_MAX ((size_t)32 << 20)
#define BUSY "the loop is busy"
#define MANY "too many answers are being read"

static const char *const paths[QUESTIONS] = {
	[QUESTION_STATE] = "/state.json",   [QUESTION_CELLS] = "/cells.json",
	[QUESTION_GANGS] = "/gangs.json",   [QUESTION_GANG] = "/gang.json",
	[QUESTION_NODE] = "/node.json",     [QUESTION_HISTORY] = "/history.json",
	[QUESTION_QUEUES] = "/queues.json",
};

enum question_kind serve_question_kind(const char *url)
{
	int kind = 0;

	while (kind < QUESTIONS && strcmp(paths[kind], url) != 0)
		kind++;
	return (enum question_kind)kind;
}

static const char *argument(struct MHD_Connection *connection, const char *name)
{
	const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);

	return text ? text : "";
}

static uint32_t argument_number(struct MHD_Connection *connection, const char *name)
{
	const unsigned long number = strtoul(argument(connection, name), NULL, 10);

	return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static void question_read(struct MHD_Connection *connection, enum question_kind kind,
                          struct question *out)
{
	memset(out, 0, sizeof(*out));
	out->kind = kind;
	out->from = argument_number(connection, "from");
	out->count = argument_number(connection, "count");
	out->down = argument_number(connection, "down") != 0;
#define TEXT(field) snprintf(out->field, sizeof(out->field), "%s", argument(connection, #field))
	TEXT(name);
	TEXT(label);
	TEXT(resource);
	TEXT(filter);
	TEXT(state);
	TEXT(sort);
	TEXT(span);
#undef TEXT
}

/* The place of an answer to that question, else that of the oldest one. */
static struct kept_answer *kept_place(struct serve *s, const struct question *q)
{
	struct kept_answer *oldest = &s->kept[0];

	for (size_t i = 0; i < KEPT_ANSWERS; i++) {
		struct kept_answer *k = &s->kept[i];

		if (k->response && memcmp(&k->question, q, sizeof(*q)) == 0)
			return k;
		if (!k->response || (oldest->response && k->made_ns < oldest->made_ns))
			oldest = k;
	}
	return oldest;
}

/* A copy of the text, which counts until the last reader has it. */
struct answer_text {
	struct serve *serve;
	size_t bytes;
	char at[];
};

static void answer_text_free(void *text)
{
	struct answer_text *t = text;

	t->serve->answer_bytes -= t->bytes;
	free(t);
}

/* With the lock held: the answer that the loop gave as a response, NULL: nothing has that name. */
static struct MHD_Response *response_make(struct serve *s)
{
	const struct asked *a = &s->asked;
	struct answer_text *t;
	struct MHD_Response *r;

	if (!a->text)
		return NULL;
	t = must_alloc(sizeof(*t) + a->bytes);
	t->serve = s;
	t->bytes = a->bytes;
	memcpy(t->at, a->text, a->bytes);
	s->answer_bytes += t->bytes;
	r = MHD_create_response_from_buffer_with_free_callback_cls(t->bytes, t->at, answer_text_free,
	                                                           t);
	if (!r)
		fatal_memory();
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json");
	return r;
}

/* With the lock held: has the loop answer.  The body is passed on; NULL: none. */
static bool ask(struct serve *s, const struct question *q, char *body, size_t bytes)
{
	struct asked *a = &s->asked;
	const uint64_t now = env_now(s->config.env);

	if (a->due_ns > now) {
		struct timespec until;

		if (a->due_ns - now > PATIENCE_NS) {
			free(body);
			return false;
		}
		until = serve_after_ns(a->due_ns - now);
		while (pthread_cond_timedwait(&s->fresh, &s->lock, &until) == 0)
			;
	}
	a->question = *q;
	free(a->body);
	a->body = body;
	a->body_bytes = bytes;
	a->number++;
	return serve_wait_fresh(s, &a->wanted, &a->answered);
}

enum MHD_Result serve_question(struct serve *s, struct MHD_Connection *connection,
                               enum question_kind kind)
{
	struct question q;
	struct kept_answer *k;
	bool answered = true;

	question_read(connection, kind, &q);
	k = kept_place(s, &q);
	if (k->response && memcmp(&k->question, &q, sizeof(q)) == 0 &&
	    env_now(s->config.env) - k->made_ns <= KEPT_NS)
		return MHD_queue_response(connection, MHD_HTTP_OK, k->response);
	if (k->response)
		MHD_destroy_response(k->response);
	k->response = NULL;
	if (s->answer_bytes >= ANSWERS_BYTES_MAX)
		return serve_answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, MANY);
	pthread_mutex_lock(&s->lock);
	answered = ask(s, &q, NULL, 0);
	if (answered)
		k->response = response_make(s);
	pthread_mutex_unlock(&s->lock);
	k->question = q;
	k->made_ns = env_now(s->config.env);
	if (k->response)
		return MHD_queue_response(connection, MHD_HTTP_OK, k->response);
	return answered ? serve_answer_line(connection, MHD_HTTP_NOT_FOUND, "nothing has that name")
	                : serve_answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY);
}

/* No answer is kept: objects differ. */
enum MHD_Result serve_question_outsider(struct serve *s, struct MHD_Connection *connection,
                                        char *body, size_t bytes)
{
	const struct question q = { .kind = QUESTION_OUTSIDER };
	struct MHD_Response *response = NULL;
	enum MHD_Result queued;

	if (s->answer_bytes >= ANSWERS_BYTES_MAX) {
		free(body);
		return serve_answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, MANY);
	}
	pthread_mutex_lock(&s->lock);
	if (ask(s, &q, body, bytes))
		response = response_make(s);
	pthread_mutex_unlock(&s->lock);
	if (!response)
		return serve_answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY);
	queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return queued;
}

char *serve_take_body(struct serve *s, size_t *bytes)
{
	struct asked *a = &s->asked;
	char *body;

	pthread_mutex_lock(&s->lock);
	body = a->taken == a->number ? a->body : NULL;
	*bytes = body ? a->body_bytes : 0;
	if (body)
		a->body = NULL;
	pthread_mutex_unlock(&s->lock);
	return body;
}

void serve_questions_free(struct serve *s)
{
	for (size_t i = 0; i < KEPT_ANSWERS; i++)
		if (s->kept[i].response)
			MHD_destroy_response(s->kept[i].response);
	free(s->asked.text);
	free(s->asked.body);
}

bool serve_take_question(struct serve *s, struct question *out)
{
	struct asked *a = &s->asked;

	/* Relaxed: see serve_wait_fresh(). */
	if (!atomic_exchange_explicit(&a->wanted, false, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&s->lock);
	*out = a->question;
	a->taken = a->number;
	a->taken_ns = env_now(s->config.env);
	pthread_mutex_unlock(&s->lock);
	return true;
}

void serve_give_answer(struct serve *s, const char *json, size_t bytes)
{
	struct asked *a = &s->asked;
	char *text = json ? memcpy(must_alloc(bytes + 1), json, bytes) : NULL;
	uint64_t now;

	pthread_mutex_lock(&s->lock);
	now = env_now(s->config.env);
	a->due_ns = now + SHARE * (now - a->taken_ns);
	if (a->taken == a->number) {
		free(a->text);
		a->text = text;
		a->bytes = bytes;
		a->answered++;
		text = NULL;
		pthread_cond_broadcast(&s->fresh);
	}
	pthread_mutex_unlock(&s->lock);
	free(text);
}
