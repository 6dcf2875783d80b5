/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed of answers that are none. */
#include "ctl/live/live.h"
#include "ctl/term/ctl.h"
#include "ipc/message.h"

#include "tests/unit/test.h"

#include <criterion/redirect.h>
#include <sys/socket.h>
#include <unistd.h>

/* The user has two programs, and no other way to see which one to replace. */
Test(live_ask, another_version_of_questions_is_named)
{
	const struct live_question q = { .version = QUESTION_VERSION };
	const struct message_answer m = {
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_ANSWER },
		.answer = { .version = QUESTION_VERSION + 3 }
	};
	struct live l = { .command = "test" };
	struct live_answer a;
	char text[256];
	int ends[2];

	cr_redirect_stderr();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	cr_assert_eq(message_send(ends[1], &m, sizeof(m), -1), 0);
	l.observer.link.fd = ends[0];
	cr_expect_eq(live_ask(&l, &q, &a), EXIT_CONFIG);
	fflush(stderr);
	snprintf(text, sizeof(text),
	         "test: muster-core takes questions of version %u and this musterctl asks those of "
	         "version %u: use the musterctl of muster-core's release\n",
	         QUESTION_VERSION + 3, QUESTION_VERSION);
	cr_assert_stderr_eq_str(text);
	close(ends[0]);
	close(ends[1]);
}
