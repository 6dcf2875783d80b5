/* The command line of muster-frontend. */
#ifndef MUSTER_FRONTEND_OPTIONS_H
#define MUSTER_FRONTEND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHEDULER_NAMES_MAX 64

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct options {
	const char *socket;
	const char *kubeconfig; /* NULL: not given */
	const char *context;
	const char *scheduler_names[SCHEDULER_NAMES_MAX];
	size_t scheduler_names_n;
	const char *listen; /* NULL: off */
	unsigned bind_connections;
	unsigned report_per_second;
	uint64_t event_ring_bytes;
	uint64_t result_ring_bytes;
	int cpu; /* -1: any */
	bool insecure;
	enum log_level log_level;
};

/* Fill *out.  -1 to go on; else the exit code: 0 after --help or --version, 2 on
 * bad usage, which was named on standard error. */
int options_read(int argc, char **argv, struct options *out);

/* "debug" ... "error"; -1 for anything else. */
int log_level_read(const char *text);

#endif
