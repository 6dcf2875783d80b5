/* SPDX-License-Identifier: Apache-2.0 */
/* The static probes of a program on disk: section .note.stapsdt of an x86_64 ELF file, as
 * systemtap's <sys/sdt.h> writes it. */
#ifndef MUSTER_TESTS_PROBE_NOTES_H
#define MUSTER_TESTS_PROBE_NOTES_H

#include <stddef.h>
#include <stdint.h>

struct note {
	const char *provider, *name;
	const char *arguments; /* "4@%eax 8@16(%rbx)", "" */
	uint64_t address;      /* of the nop, before the program is loaded anywhere */
};

struct notes {
	struct note *at;
	size_t n;
	uint64_t entry; /* e_entry, to find out where it was loaded */
	void *file;     /* texts lie in here */
	size_t bytes;
};

/* 0, or a negative errno: -ENOEXEC for what is no x86_64 ELF file or makes no sense; -ENOENT for
 * one without probes. */
int notes_read(struct notes *out, const char *path);
void notes_free(struct notes *notes);

#endif
