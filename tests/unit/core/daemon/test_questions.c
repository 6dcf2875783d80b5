/* SPDX-License-Identifier: Apache-2.0 */
/* Questions between the control thread and the world's thread. */
#include "core/daemon/questions.h"
#include "tests/unit/test.h"

static struct questions *box;
static unsigned told;

static void answered(void *context)
{
	told++;
}

static void start(void)
{
	told = 0;
	box = questions_new(answered, NULL);
}

static void end(void)
{
	questions_free(box);
}

TestSuite(questions, .init = start, .fini = end);

static int ask(uint32_t gang)
{
	return questions_ask(box, &(struct live_question){ .gang = gang }, &(struct asked_about){ 0 });
}

/* The gang of the oldest question; UINT32_MAX: none waits. */
static uint32_t next(uint32_t *slot)
{
	struct asked_question q;

	return questions_next(box, slot, &q) ? q.question.gang : UINT32_MAX;
}

static void answer(uint32_t slot, uint32_t members)
{
	questions_answer(box, slot, &(struct live_answer){ .members = members });
}

Test(questions, are_answered_in_order)
{
	struct live_answer a;
	uint32_t slot;
	const int first = ask(10), second = ask(11);

	cr_assert(questions_wait(box));
	cr_assert_eq(next(&slot), 10);
	cr_assert(!questions_take(box, (uint32_t)first, &a), "not answered yet");
	answer(slot, 7);
	cr_assert_eq(told, 1);
	cr_assert(questions_take(box, (uint32_t)first, &a));
	cr_assert_eq(a.members, 7);
	cr_assert(!questions_take(box, (uint32_t)first, &a), "once");
	cr_assert_eq(ask(12), first, "the slot is free");
	cr_assert_eq(next(&slot), 11);
	cr_assert_eq(slot, (uint32_t)second);
	cr_assert_eq(next(&slot), 12);
	cr_assert_eq(next(&slot), UINT32_MAX);
	cr_assert(!questions_wait(box));
}

Test(questions, too_many_are_refused)
{
	struct live_answer a;
	uint32_t slot;

	for (uint32_t i = 0; i < ASKED_MAX; i++)
		cr_assert_eq(ask(i), (int)i);
	cr_assert_eq(ask(99), -EBUSY);
	cr_assert_eq(next(&slot), 0);
	answer(slot, 1);
	cr_assert_eq(ask(99), -EBUSY, "the answer was not taken yet");
	cr_assert(questions_take(box, slot, &a));
	cr_assert_eq(ask(99), 0);
}

/* Before, while and after it is answered: the slot is free, and nobody else gets the answer. */
Test(questions, of_askers_that_left)
{
	struct live_answer a;
	uint32_t slot;

	questions_forget(box, (uint32_t)ask(1));
	cr_assert(!questions_wait(box));
	cr_assert_eq(next(&slot), UINT32_MAX);
	ask(2);
	cr_assert_eq(next(&slot), 2);
	questions_forget(box, slot);
	for (uint32_t i = 1; i < ASKED_MAX; i++)
		cr_assert_geq(ask(3), 0);
	cr_assert_eq(ask(4), -EBUSY, "its answer is still being made");
	answer(slot, 1);
	cr_assert(!questions_take(box, slot, &a));
	cr_assert_eq(ask(4), (int)slot);
	cr_assert(!questions_take(box, slot, &a));
	cr_assert_eq(next(&slot), 3);
	answer(slot, 1);
	questions_forget(box, slot);
	cr_assert(!questions_take(box, slot, &a));
}

Test(questions, end_with_the_world)
{
	const int asked = ask(1);
	struct live_answer a;

	questions_close(box);
	cr_assert(questions_take(box, (uint32_t)asked, &a));
	cr_assert_eq(a.verdict, QUESTION_REFUSED);
	cr_assert_str_eq(a.text, "no world follows the loop any more");
	cr_assert_eq(ask(2), -ESHUTDOWN);
	cr_assert(!questions_wait(box));
}
