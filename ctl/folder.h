/* A folder of our own for a socket and logs, gone at the end. */
#ifndef MUSTER_CTL_FOLDER_H
#define MUSTER_CTL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define FOLDER_BYTES 96

/* In $XDG_RUNTIME_DIR if there is a usable one, else in /tmp; mode 0700.  False: errno
 * says why. */
bool folder_make(char out[FOLDER_BYTES]);

/* The path of a file of this name in the one such folder of this user that has it.
 * False: there is none, or more than one. */
bool folder_find(const char *name, char *out, size_t out_bytes);

/* The folder and the files in it.  "" is no folder. */
void folder_remove(const char *folder);

#endif
