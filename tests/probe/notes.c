/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/probe/notes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_TYPE 3u /* NT_STAPSDT */
#define ADDRESSES 3u /* of the nop, of .stapsdt.base when it was written, of the semaphore */

static const void *part(const struct notes *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->bytes && bytes <= f->bytes - offset ? (const char *)f->file + offset : NULL;
}

static const Elf64_Ehdr *header(const struct notes *f)
{
	const Elf64_Ehdr *e = part(f, 0, sizeof(*e));

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_machine != EM_X86_64 || e->e_shentsize != sizeof(Elf64_Shdr) ||
	    e->e_shstrndx >= e->e_shnum)
		return NULL;
	return e;
}

static const Elf64_Shdr *section(const struct notes *f, const Elf64_Ehdr *e, const char *name)
{
	const Elf64_Shdr *all = part(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*all));
	const size_t bytes = strlen(name) + 1;

	for (unsigned i = 0; all && i < e->e_shnum; i++) {
		const char *text = part(f, all[e->e_shstrndx].sh_offset + all[i].sh_name, bytes);

		if (text && memcmp(text, name, bytes) == 0)
			return &all[i];
	}
	return NULL;
}

/* The text at *at, which is after it then; NULL when it does not end. */
static const char *text_take(const char **at, const char *end)
{
	const char *text = *at, *zero = memchr(text, '\0', (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : NULL;
}

static bool describe(const char *at, const char *end, uint64_t base, struct note *out)
{
	uint64_t address[ADDRESSES];

	if (end - at < (ptrdiff_t)sizeof(address))
		return false;
	memcpy(address, at, sizeof(address));
	at += sizeof(address);
	out->provider = text_take(&at, end);
	out->name = out->provider ? text_take(&at, end) : NULL;
	out->arguments = out->name ? text_take(&at, end) : NULL;
	/* The linker may have moved the section. */
	out->address = address[0] + base - address[1];
	return out->arguments != NULL;
}

static int collect(struct notes *f, const char *at, const char *end, uint64_t base)
{
	Elf64_Nhdr n;

	while (end - at >= (ptrdiff_t)sizeof(n)) {
		uint64_t name, text;
		struct note *grown;

		memcpy(&n, at, sizeof(n));
		at += sizeof(n);
		name = ((uint64_t)n.n_namesz + 3) & ~UINT64_C(3);
		text = ((uint64_t)n.n_descsz + 3) & ~UINT64_C(3);
		if (name + text > (uint64_t)(end - at) || n.n_type != NOTE_TYPE)
			return -ENOEXEC;
		grown = realloc(f->at, (f->n + 1) * sizeof(*f->at));
		if (!grown)
			return -ENOMEM;
		f->at = grown;
		if (!describe(at + name, at + name + n.n_descsz, base, &f->at[f->n]))
			return -ENOEXEC;
		f->n++;
		at += name + text;
	}
	return f->n > 0 ? 0 : -ENOENT;
}

static int map_file(struct notes *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		f->bytes = (size_t)st.st_size;
		f->file = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	} else {
		f->file = MAP_FAILED;
		errno = ENOEXEC;
	}
	if (f->file == MAP_FAILED) {
		rc = -errno;
		f->file = NULL;
	}
	close(fd);
	return rc;
}

int notes_read(struct notes *out, const char *path)
{
	struct notes f = { 0 };
	const Elf64_Ehdr *e;
	const Elf64_Shdr *s, *base;
	const char *at;
	int rc = map_file(&f, path);

	if (rc < 0)
		return rc;
	e = header(&f);
	s = e ? section(&f, e, ".note.stapsdt") : NULL;
	base = e ? section(&f, e, ".stapsdt.base") : NULL;
	at = s ? part(&f, s->sh_offset, s->sh_size) : NULL;
	if (!e || (s && (!at || !base)))
		rc = -ENOEXEC;
	else
		rc = s ? collect(&f, at, at + s->sh_size, base->sh_addr) : -ENOENT;
	if (rc < 0) {
		notes_free(&f);
		return rc;
	}
	f.entry = e->e_entry;
	*out = f;
	return 0;
}

void notes_free(struct notes *notes)
{
	free(notes->at);
	if (notes->file)
		munmap(notes->file, notes->bytes);
	*notes = (struct notes){ 0 };
}
