/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/probe/operand.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define REGISTER(field, q, d, w, b)                                                                \
	{                                                                                              \
		{ q, d, w, b }, offsetof(struct user_regs_struct, field)                                   \
	}

static const struct {
	const char *names[4]; /* by 8, 4, 2 and 1 bytes */
	size_t at;
} registers[] = {
	REGISTER(rax, "rax", "eax", "ax", "al"),      REGISTER(rbx, "rbx", "ebx", "bx", "bl"),
	REGISTER(rcx, "rcx", "ecx", "cx", "cl"),      REGISTER(rdx, "rdx", "edx", "dx", "dl"),
	REGISTER(rsi, "rsi", "esi", "si", "sil"),     REGISTER(rdi, "rdi", "edi", "di", "dil"),
	REGISTER(rbp, "rbp", "ebp", "bp", "bpl"),     REGISTER(rsp, "rsp", "esp", "sp", "spl"),
	REGISTER(r8, "r8", "r8d", "r8w", "r8b"),      REGISTER(r9, "r9", "r9d", "r9w", "r9b"),
	REGISTER(r10, "r10", "r10d", "r10w", "r10b"), REGISTER(r11, "r11", "r11d", "r11w", "r11b"),
	REGISTER(r12, "r12", "r12d", "r12w", "r12b"), REGISTER(r13, "r13", "r13d", "r13w", "r13b"),
	REGISTER(r14, "r14", "r14d", "r14w", "r14b"), REGISTER(r15, "r15", "r15d", "r15w", "r15b"),
};

/* "%name" at *text. */
static bool register_take(const char **text, const struct user_regs_struct *regs, uint64_t *value)
{
	const char *at = *text + 1;
	size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");

	if (**text != '%')
		return false;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		for (int width = 0; width < 4; width++) {
			const char *name = registers[i].names[width];

			if (strlen(name) != n || memcmp(name, at, n) != 0)
				continue;
			memcpy(value, (const char *)regs + registers[i].at, sizeof(*value));
			*text = at + n;
			return true;
		}
	return false;
}

/* "offset(%base)" or "offset(%base,%index,scale)" at *text: what lies there. */
static bool memory_take(const char **text, pid_t tid, const struct user_regs_struct *regs,
                        size_t bytes, uint64_t *value)
{
	uint64_t base = 0, index = 0, scale = 1;
	struct iovec here = { .iov_base = value, .iov_len = bytes }, there = { .iov_len = bytes };
	char *end;
	int64_t offset = strtoll(*text, &end, 0);

	*text = end;
	if (*(*text)++ != '(' || !register_take(text, regs, &base))
		return false;
	if (**text == ',') {
		++*text;
		if (!register_take(text, regs, &index))
			return false;
		if (**text == ',') {
			scale = strtoull(*text + 1, &end, 10);
			*text = end;
		}
	}
	if (*(*text)++ != ')')
		return false;
	*value = 0;
	there.iov_base = (void *)(uintptr_t)(base + index * scale + (uint64_t)offset);
	return process_vm_readv(tid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The low bytes alone. */
static int64_t cut(uint64_t value, size_t bytes, bool is_signed)
{
	unsigned shift = 64 - 8 * (unsigned)bytes;

	return is_signed ? (int64_t)(value << shift) >> shift : (int64_t)(value << shift >> shift);
}

bool operand_take(const char **text, pid_t tid, const struct user_regs_struct *regs, int64_t *value)
{
	const char *at = *text + strspn(*text, " ");
	char *end;
	uint64_t raw = 0;
	long size;
	bool ok = true;

	*text = at;
	if (!*at)
		return false;
	size = strtol(at, &end, 10);
	if (*end != '@' || labs(size) > 8 || size == 0)
		return false;
	at = end + 1;
	if (*at == '$') {
		raw = (uint64_t)strtoll(at + 1, &end, 0);
		at = end;
	} else if (*at == '%') {
		ok = register_take(&at, regs, &raw);
	} else {
		ok = memory_take(&at, tid, regs, (size_t)labs(size), &raw);
	}
	if (!ok || (*at && *at != ' '))
		return false;
	*text = at;
	*value = cut(raw, (size_t)labs(size), size < 0);
	return true;
}
