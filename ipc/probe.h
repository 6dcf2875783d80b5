/* SPDX-License-Identifier: Apache-2.0 */
/* Static probes (USDT): one nop each at run time, and a note in the program that says where it is
 * and where its arguments are.  docs/tracing.md lists them; their names and arguments are a
 * contract.
 *
 * Each program has its provider: core/base/probe.h, frontend/base/probe.h.  Arguments are integers
 * that are at hand anyway: nothing is worked out for a probe.  Without <sys/sdt.h>
 * (systemtap-sdt-dev) there are none, and the arguments are only looked at by the compiler. */
#ifndef MUSTER_IPC_PROBE_H
#define MUSTER_IPC_PROBE_H

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define MUSTER_PROBE(provider, name, ...) STAP_PROBEV(provider, name, ##__VA_ARGS__)
#else
static inline void probe_nothing(int first, ...)
{
	(void)first;
}
#define MUSTER_PROBE(provider, name, ...)                                                          \
	do {                                                                                           \
		if (0)                                                                                     \
			probe_nothing(0, ##__VA_ARGS__);                                                       \
	} while (0)
#endif

#endif
