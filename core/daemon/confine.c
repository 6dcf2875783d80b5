/* SPDX-License-Identifier: Apache-2.0 */
#include "core/daemon/confine.h"

#include "ipc/confine.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ALLOW(call)                                                                                \
	{                                                                                              \
		SCMP_SYS(call), SCMP_ACT_ALLOW, 0,                                                         \
		{                                                                                          \
			{                                                                                      \
				0                                                                                  \
			}                                                                                      \
		}                                                                                          \
	}
/* If (argument & mask) == value. */
#define ALLOW_IF(call, arg, mask, value)                                                           \
	{                                                                                              \
		SCMP_SYS(call), SCMP_ACT_ALLOW, 1,                                                         \
		{                                                                                          \
			{                                                                                      \
				arg, SCMP_CMP_MASKED_EQ, mask, value                                               \
			}                                                                                      \
		}                                                                                          \
	}
#define WHOLE UINT64_MAX

int core_confine(bool json)
{
	const struct confine_rule rules[] = {
		/* The socket, and checks of the segments that peers pass. */
		ALLOW(accept4),
		ALLOW(recvmsg),
		ALLOW(sendmsg),
		ALLOW(getsockopt),
		ALLOW(getsockname),
		ALLOW(geteuid),
		ALLOW(close),
		ALLOW_IF(fcntl, 1, WHOLE, F_GET_SEALS),
		ALLOW(fstat),
		ALLOW_IF(newfstatat, 3, AT_EMPTY_PATH, AT_EMPTY_PATH),
		ALLOW_IF(statx, 2, AT_EMPTY_PATH, AT_EMPTY_PATH),
		/* Removing the socket file at the end. */
		ALLOW(unlink),
		ALLOW(unlinkat),
		/* signalfd, eventfd, the log, the recording. */
		ALLOW(poll),
		ALLOW(ppoll),
		ALLOW(read),
		ALLOW(write),
		ALLOW(writev),
		ALLOW(lseek),
		ALLOW(ftruncate),
		/* Existing threads. */
		ALLOW(futex),
		ALLOW(sched_yield),
		ALLOW(membarrier),
		ALLOW(getpid),
		ALLOW(gettid),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(set_robust_list),
		ALLOW(rseq),
		/* Memory, never executable. */
		ALLOW_IF(mmap, 2, PROT_EXEC, 0),
		ALLOW_IF(mprotect, 2, PROT_EXEC, 0),
		ALLOW(munmap),
		ALLOW(mremap),
		ALLOW(madvise),
		ALLOW(brk),
		ALLOW(getrandom),
		/* Further pages of the ledger. */
		ALLOW_IF(fallocate, 1, WHOLE, 0),
		/* qsort() reads the size of memory. */
		ALLOW(sysinfo),
		/* Time, where there is no vDSO. */
		ALLOW(clock_gettime),
		ALLOW(gettimeofday),
		ALLOW(nanosleep),
		ALLOW(clock_nanosleep),
		ALLOW(restart_syscall),
		/* Signals, to itself only. */
		ALLOW(rt_sigreturn),
		ALLOW(rt_sigprocmask),
		ALLOW_IF(tgkill, 0, WHOLE, (scmp_datum_t)getpid()),
		ALLOW_IF(kill, 0, WHOLE, (scmp_datum_t)getpid()),
	};

	/* /etc/localtime is read once, now. */
	tzset();
	return confine(SCMP_ACT_TRAP, rules, sizeof(rules) / sizeof(rules[0]), json);
}
