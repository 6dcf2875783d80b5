/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/daemon/confine.h"

#include "ipc/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Used only by an attacker who took over the process. */
#define TRAP(call)                                                                                 \
	{                                                                                              \
		SCMP_SYS(call), SCMP_ACT_TRAP, 0,                                                          \
		{                                                                                          \
			{                                                                                      \
				0                                                                                  \
			}                                                                                      \
		}                                                                                          \
	}
/* A library may try these and works without. */
#define REFUSE(call)                                                                               \
	{                                                                                              \
		SCMP_SYS(call), SCMP_ACT_ERRNO(EPERM), 0,                                                  \
		{                                                                                          \
			{                                                                                      \
				0                                                                                  \
			}                                                                                      \
		}                                                                                          \
	}
#define REFUSE_IF(call, arg, mask, value)                                                          \
	{                                                                                              \
		SCMP_SYS(call), SCMP_ACT_ERRNO(EPERM), 1,                                                  \
		{                                                                                          \
			{                                                                                      \
				arg, SCMP_CMP_MASKED_EQ, mask, value                                               \
			}                                                                                      \
		}                                                                                          \
	}
#define TYPE_MASK UINT64_C(0xf) /* of socket(); the higher bits are flags */
#define REFUSE_FAMILY(family)                                                                      \
	{                                                                                              \
		SCMP_SYS(socket), SCMP_ACT_ERRNO(EAFNOSUPPORT), 1,                                         \
		{                                                                                          \
			{                                                                                      \
				0, SCMP_CMP_EQ, family, 0                                                          \
			}                                                                                      \
		}                                                                                          \
	}
#define REFUSE_OTHER(call, pid)                                                                    \
	{                                                                                              \
		SCMP_SYS(call), SCMP_ACT_ERRNO(EPERM), 1,                                                  \
		{                                                                                          \
			{                                                                                      \
				0, SCMP_CMP_NE, pid, 0                                                             \
			}                                                                                      \
		}                                                                                          \
	}
#define REFUSE_RAW(family)                                                                         \
	{                                                                                              \
		SCMP_SYS(socket), SCMP_ACT_ERRNO(EPERM), 2,                                                \
		{                                                                                          \
			{ 0, SCMP_CMP_EQ, family, 0 },                                                         \
			{                                                                                      \
				1, SCMP_CMP_MASKED_EQ, TYPE_MASK, SOCK_RAW                                         \
			}                                                                                      \
		}                                                                                          \
	}

static const struct confine_rule rules[] = {
	/* Programs and processes. The flags of clone3() are in memory, where a filter cannot see them:
	 * without it, the C library creates threads by clone(). */
	TRAP(execve),
	TRAP(execveat),
	TRAP(fork),
	TRAP(vfork),
	{ SCMP_SYS(clone), SCMP_ACT_TRAP, 1, { { 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0 } } },
	{ SCMP_SYS(clone3), SCMP_ACT_ERRNO(ENOSYS), 0, { { 0 } } },
	TRAP(ptrace),
	TRAP(process_vm_readv),
	TRAP(process_vm_writev),
	TRAP(kcmp),
	REFUSE(pidfd_getfd),

	/* Executable memory is never writable. */
	REFUSE_IF(mmap, 2, PROT_WRITE | PROT_EXEC, PROT_WRITE | PROT_EXEC),
	REFUSE_IF(mprotect, 2, PROT_EXEC, PROT_EXEC),
	REFUSE_IF(pkey_mprotect, 2, PROT_EXEC, PROT_EXEC),

	/* Files are read only: tokens, certificates, the resolver's files. */
	REFUSE_IF(openat, 2, O_CREAT, O_CREAT),
	REFUSE_IF(openat, 2, O_ACCMODE, O_WRONLY),
	REFUSE_IF(openat, 2, O_ACCMODE, O_RDWR),
	REFUSE_IF(open, 1, O_CREAT, O_CREAT),
	REFUSE_IF(open, 1, O_ACCMODE, O_WRONLY),
	REFUSE_IF(open, 1, O_ACCMODE, O_RDWR),
	REFUSE(creat),
	REFUSE(openat2),
	REFUSE(truncate),
	REFUSE(unlink),
	REFUSE(unlinkat),
	REFUSE(rename),
	REFUSE(renameat),
	REFUSE(renameat2),
	REFUSE(link),
	REFUSE(linkat),
	REFUSE(symlink),
	REFUSE(symlinkat),
	REFUSE(mkdir),
	REFUSE(mkdirat),
	REFUSE(rmdir),
	REFUSE(mknod),
	REFUSE(mknodat),
	REFUSE(chmod),
	REFUSE(fchmod),
	REFUSE(fchmodat),
	REFUSE(chown),
	REFUSE(fchown),
	REFUSE(lchown),
	REFUSE(fchownat),
	REFUSE(setxattr),
	REFUSE(lsetxattr),
	REFUSE(fsetxattr),
	REFUSE(removexattr),
	REFUSE(lremovexattr),
	REFUSE(fremovexattr),
	REFUSE(open_by_handle_at),

	/* IP, local sockets, and netlink, which the resolver uses for addresses: no raw packets and no
	   other families. */
	{ SCMP_SYS(socket), SCMP_ACT_ERRNO(EAFNOSUPPORT), 1, { { 0, SCMP_CMP_GT, AF_NETLINK, 0 } } },
	REFUSE_FAMILY(AF_AX25),
	REFUSE_FAMILY(AF_IPX),
	REFUSE_FAMILY(AF_APPLETALK),
	REFUSE_FAMILY(AF_NETROM),
	REFUSE_FAMILY(AF_BRIDGE),
	REFUSE_FAMILY(AF_ATMPVC),
	REFUSE_FAMILY(AF_X25),
	REFUSE_FAMILY(AF_ROSE),
	REFUSE_FAMILY(AF_DECnet),
	REFUSE_FAMILY(AF_NETBEUI),
	REFUSE_FAMILY(AF_SECURITY),
	REFUSE_FAMILY(AF_KEY),
	REFUSE_RAW(AF_INET),
	REFUSE_RAW(AF_INET6),

	/* The system. */
	TRAP(mount),
	TRAP(umount2),
	TRAP(pivot_root),
	TRAP(chroot),
	TRAP(move_mount),
	TRAP(open_tree),
	TRAP(fsopen),
	TRAP(fsconfig),
	TRAP(fsmount),
	TRAP(fspick),
	TRAP(mount_setattr),
	TRAP(swapon),
	TRAP(swapoff),
	TRAP(init_module),
	TRAP(finit_module),
	TRAP(delete_module),
	TRAP(kexec_load),
	TRAP(kexec_file_load),
	TRAP(reboot),
	TRAP(bpf),
	TRAP(perf_event_open),
	REFUSE(userfaultfd),
	REFUSE(io_uring_setup),
	REFUSE(io_uring_enter),
	REFUSE(io_uring_register),
	REFUSE(keyctl),
	REFUSE(add_key),
	REFUSE(request_key),
	TRAP(unshare),
	TRAP(setns),
	TRAP(iopl),
	TRAP(ioperm),
	TRAP(modify_ldt),
	REFUSE(personality),
	TRAP(acct),
	TRAP(quotactl),
	TRAP(sethostname),
	TRAP(setdomainname),
	TRAP(settimeofday),
	TRAP(clock_settime),
	REFUSE(syslog),
	REFUSE(vhangup),

	/* Other users. */
	REFUSE(setuid),
	REFUSE(setgid),
	REFUSE(setreuid),
	REFUSE(setregid),
	REFUSE(setresuid),
	REFUSE(setresgid),
	REFUSE(setgroups),
	REFUSE(setfsuid),
	REFUSE(setfsgid),
	REFUSE(capset),
};

#define RULES_N (sizeof(rules) / sizeof(rules[0]))

int frontend_confine(bool json)
{
	const scmp_datum_t self = (scmp_datum_t)getpid();
	const struct confine_rule of_others[] = {
		REFUSE_OTHER(kill, self),
		REFUSE_OTHER(tgkill, self),
		REFUSE_OTHER(rt_sigqueueinfo, self),
		REFUSE_OTHER(rt_tgsigqueueinfo, self),
		REFUSE(tkill),
		REFUSE(pidfd_send_signal),
	};
	struct confine_rule all[RULES_N + sizeof(of_others) / sizeof(of_others[0])];

	memcpy(all, rules, sizeof(rules));
	memcpy(all + RULES_N, of_others, sizeof(of_others));
	return confine(SCMP_ACT_ALLOW, all, sizeof(all) / sizeof(all[0]), json);
}
