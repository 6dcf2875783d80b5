/* SPDX-License-Identifier: Apache-2.0 */
/* Static probes (USDT): one nop each at run time, and an ELF note with its address and the places
 * of its arguments.  docs/tracing.md lists them; names and arguments are a stable interface.
 *
 * Each program has its provider: core/base/probe.h, frontend/base/probe.h.  Arguments are existing
 * integers: nothing is computed for a probe.  Without <sys/sdt.h> (systemtap-sdt-dev) there are no
 * probes, and the compiler only checks the arguments. */
#ifndef MUSTER_IPC_PROBE_H
#define MUSTER_IPC_PROBE_H

#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define MUSTER_PROBE(provider, name, ...) STAP_PROBEV(provider, name, ##__VA_ARGS__)
#else
static inline void probe_nothing(int first, ...)
{
}
#define MUSTER_PROBE(provider, name, ...)                                                          \
	do {                                                                                           \
		if (0)                                                                                     \
			probe_nothing(0, ##__VA_ARGS__);                                                       \
	} while (0)
#endif

#endif
