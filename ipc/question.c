/* SPDX-License-Identifier: Apache-2.0 */
/* The observer's side of a question. */
#include "ipc/clean.h"
#include "ipc/message.h"
#include "ipc/observe.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static_assert(sizeof(struct message_answer) < 16384, "one message of a socket");

/* All versions have theirs there, so that it can be read of an answer of any length. */
#define VERSION_END (sizeof(struct message_head) + sizeof(uint32_t))
static_assert(offsetof(struct message_answer, answer.version) + sizeof(uint32_t) == VERSION_END,
              "the same in every version");

/* Its counts are within its arrays. */
static bool page_is_whole(const struct question_page *p)
{
	return p->rows_n <= QUESTION_ROWS && p->absent_n <= RESOURCES_MAX && p->from <= p->nodes &&
	       p->rows_n <= p->nodes - p->from;
}

/* The part of the union that the asker will read is the one that was checked. */
static bool verdict_fits(uint32_t about, uint32_t verdict)
{
	const bool of_pod = verdict == QUESTION_NODES || verdict == QUESTION_PLACED;

	return verdict == QUESTION_REFUSED || of_pod == (about == ABOUT_POD);
}

static int answer_receive(const struct observer *o, uint32_t about, uint64_t timeout_ns,
                          struct live_answer *out)
{
	union message m;
	int fd, got = message_receive(o->link.fd, &m, &fd, timeout_ns);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return got;
	if (fd >= 0 || m.head.kind != MESSAGE_ANSWER || (size_t)got < VERSION_END)
		return -EPROTO;
	if (m.answer.answer.version != QUESTION_VERSION) {
		out->version = m.answer.answer.version;
		return -EPROTONOSUPPORT;
	}
	if ((size_t)got != sizeof(m.answer) || m.answer.answer.verdict >= QUESTION_VERDICTS ||
	    !verdict_fits(about, m.answer.answer.verdict))
		return -EPROTO;
	if (m.answer.answer.verdict == QUESTION_NODES && !page_is_whole(&m.answer.answer.page))
		return -EPROTO;
	*out = m.answer.answer;
	if (out->verdict == QUESTION_WAITS) {
		observe_reason_check(&out->reason);
		observe_victims_check(&out->victims);
	}
	out->text[sizeof(out->text) - 1] = '\0';
	clean_text(out->text);
	return 0;
}

int observer_ask(const struct observer *o, const struct live_question *q, uint64_t timeout_ns,
                 struct live_answer *out)
{
	const struct message_question asked = {
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_QUESTION },
		.question = *q
	};
	const int rc = message_send(o->link.fd, &asked, sizeof(asked), -1);

	return rc < 0 ? rc : answer_receive(o, q->about, timeout_ns, out);
}

int observer_ask_pod(const struct observer *o, const struct live_pod *p, uint64_t timeout_ns,
                     struct live_answer *out)
{
	const struct message_pod asked = {
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_POD },
		.pod = *p
	};
	const int rc = message_send(o->link.fd, &asked, sizeof(asked), -1);

	return rc < 0 ? rc : answer_receive(o, ABOUT_POD, timeout_ns, out);
}

int observer_ask_gang(const struct observer *o, const struct live_gang *g, uint64_t timeout_ns,
                      struct live_answer *out)
{
	struct message_gang asked = {
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_GANG },
		.gang = { .version = g->version, .bytes = g->bytes, .epoch = g->epoch }
	};
	int rc;

	if (g->bytes > QUESTION_GANG_RECORDS)
		return -EMSGSIZE;
	memcpy(asked.gang.records, g->records, g->bytes);
	rc = message_send(o->link.fd, &asked, offsetof(struct message_gang, gang.records) + g->bytes,
	                  -1);
	return rc < 0 ? rc : answer_receive(o, ABOUT_GANG, timeout_ns, out);
}
