#include "ctl/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool folder_make(char out[FOLDER_BYTES])
{
	const char *base = getenv("XDG_RUNTIME_DIR");

	/* A socket's path has room for 107 bytes. */
	if (base == NULL || base[0] != '/' || strlen(base) > 64 || access(base, W_OK) != 0)
		base = "/tmp";
	snprintf(out, FOLDER_BYTES, "%s/muster-XXXXXX", base);
	if (mkdtemp(out) != NULL)
		return true;
	out[0] = '\0';
	return false;
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
