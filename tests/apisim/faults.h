/* SPDX-License-Identifier: Apache-2.0 */
/* Failures on demand: POST /apisim/faults.  See README.md for the names. */
#ifndef MUSTER_APISIM_FAULTS_H
#define MUSTER_APISIM_FAULTS_H

#include "tests/apisim/json.h"

enum as_fault {
	AS_FAULT_NONE,
	AS_FAULT_BIND_500_BEFORE, /* refused, nothing written */
	AS_FAULT_BIND_500_AFTER,  /* written, then answered 500 */
	AS_FAULT_BIND_504_AFTER,  /* written, then answered 504 */
	AS_FAULT_BIND_409_BEFORE, /* etcd's timeout as a Conflict, nothing written */
	AS_FAULT_BIND_409_AFTER,  /* the same, but written */
	AS_FAULT_BIND_429,        /* Too many requests, with Retry-After */
	AS_FAULT_BIND_CUT_BEFORE, /* connection closed, nothing written */
	AS_FAULT_BIND_CUT_AFTER,  /* connection closed, but written */
	AS_FAULT_BIND_LATE,       /* answered 504 at once, written `ms` later */
	AS_FAULT_DELAY,           /* any answer, held back for `ms` */
	AS_FAULT_ERROR_500,       /* any request but those of /apisim, refused */
	AS_FAULT_DENY_ACCESS,     /* a review of one's own access says no */
	AS_FAULT_CUT_WATCHES,     /* at once */
	AS_FAULT_COMPACT,         /* at once: all history is forgotten */
	AS_FAULTS
};

struct as_late {
	uint64_t due_ns;
	char *target;
	char *body;
	size_t body_bytes;
	struct as_late *next;
};

struct as_faults {
	struct {
		uint64_t count; /* requests still to be hit */
		uint32_t ms;
		uint32_t retry_after_s;
	} armed[AS_FAULTS];
	struct as_late *late; /* by due_ns */
};

/* AS_FAULT_NONE if there is no such name. */
enum as_fault as_fault_named(const char *name);
const char *as_fault_name(enum as_fault fault);
/* The armed fault of a binding, and count it down. */
enum as_fault as_fault_take_bind(struct as_faults *f);
bool as_fault_take(struct as_faults *f, enum as_fault fault);
struct as_json *as_faults_json(const struct as_faults *f, struct as_arena *a);
void as_faults_clear(struct as_faults *f);

#endif
