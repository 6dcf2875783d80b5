#include "ctl/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN "??????"

static const char *base(void)
{
	const char *given = getenv("XDG_RUNTIME_DIR");

	/* A socket's path has room for 107 bytes. */
	if (given == NULL || given[0] != '/' || strlen(given) > 64 || access(given, W_OK) != 0)
		return "/tmp";
	return given;
}

bool folder_make(char out[FOLDER_BYTES])
{
	snprintf(out, FOLDER_BYTES, "%s/muster-XXXXXX", base());
	if (mkdtemp(out) != NULL)
		return true;
	out[0] = '\0';
	return false;
}

bool folder_find(const char *name, char *out, size_t out_bytes)
{
	char pattern[FOLDER_BYTES + 32];
	struct stat st;
	size_t found = 0;
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/muster-" PATTERN "/%s", base(), name);
	if (glob(pattern, 0, NULL, &g) != 0)
		return false;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		/* Anybody can make such a folder in /tmp. */
		if (lstat(g.gl_pathv[i], &st) < 0 || st.st_uid != geteuid())
			continue;
		found++;
		snprintf(out, out_bytes, "%s", g.gl_pathv[i]);
	}
	globfree(&g);
	return found == 1;
}

void folder_remove(const char *folder)
{
	const struct dirent *entry;
	DIR *dir;

	if (folder[0] == '\0')
		return;
	dir = opendir(folder);
	if (dir != NULL) {
		while ((entry = readdir(dir)) != NULL)
			unlinkat(dirfd(dir), entry->d_name, 0); /* "." and ".." are refused */
		closedir(dir);
	}
	rmdir(folder);
}
