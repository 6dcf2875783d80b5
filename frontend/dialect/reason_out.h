/* SPDX-License-Identifier: Apache-2.0 */
/* Where reason.c and reason_devices.c write a reason's text. */
#ifndef MUSTER_FRONTEND_REASON_OUT_H
#define MUSTER_FRONTEND_REASON_OUT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Output that is truncated at `cap`; n counts on. */
struct out {
	char *at;
	size_t cap;
	size_t n;
};

__attribute__((format(printf, 2, 3))) static inline void put(struct out *o, const char *format, ...)
{
	size_t used = o->n < o->cap ? o->n : o->cap;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(used < o->cap ? o->at + used : NULL, o->cap - used, format, args);
	va_end(args);
	if (n > 0)
		o->n += (size_t)n;
}

#endif
