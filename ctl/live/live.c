/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/live.h"

#include "ctl/up/folder.h"
#include "frontend/dialect/dialect.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Those of musterctl up, when live_socket() has looked for them. */
static char found[10 * FOLDER_BYTES];
static size_t found_n;

const char *live_socket(const char *given)
{
	const char *socket = given != NULL ? given : getenv("MUSTER_SOCKET");

	if (socket != NULL && socket[0] != '\0')
		return socket;
	if (access(LINK_DEFAULT_SOCKET, F_OK) != 0)
		found_n = folder_sockets(found, sizeof(found));
	return found_n == 1 ? found : LINK_DEFAULT_SOCKET;
}

enum { OPT_SOCKET = 256, OPT_HELP, OPT_VERSION };

int live_options(struct live *l, int argc, char **argv, const char *help)
{
	static const struct option flags[] = {
		{ "socket", required_argument, NULL, OPT_SOCKET },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, OPT_HELP },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ 0 },
	};
	const char *socket = NULL;
	int c;

	l->command = argv[0];
	while ((c = getopt_long(argc, argv, "o:h", flags, NULL)) != -1) {
		switch (c) {
		case OPT_SOCKET:
			socket = optarg;
			break;
		case 'o':
			if (!ctl_output(argv[0], optarg, &l->output))
				return EXIT_USAGE;
			break;
		case 'h':
		case OPT_HELP:
			printf(
				"%s"
				"\n"
				"  --socket PATH    muster-core's socket (default: $MUSTER_SOCKET, or\n"
				"                   " LINK_DEFAULT_SOCKET ", or that of musterctl up)\n"
				"  -o json          JSON instead of text\n"
				"\n"
				"Exit status: 0 done, 1 no scheduler is there or nothing has that name, 2 usage,\n"
				"78 it has another memory layout.\n",
				help);
			return EXIT_DONE;
		case OPT_VERSION:
			puts("musterctl " MUSTER_VERSION);
			return EXIT_DONE;
		default:
			return EXIT_USAGE; /* getopt has said what is wrong */
		}
	}
	l->socket = live_socket(socket);
	return -1;
}

int live_open(struct live *l)
{
	struct link_error e;
	int rc = observer_open(&l->observer, l->socket, &e);

	if (rc == 0) {
		l->names = ctl_alloc(l->observer.places.limits.names, sizeof(*l->names));
		return EXIT_DONE;
	}
	if (found_n > 1)
		fprintf(stderr, "%s: %zu musters run: %s; --socket or $MUSTER_SOCKET names one of them\n",
		        l->command, found_n, found);
	else if (rc == -ENOENT || rc == -ECONNREFUSED)
		fprintf(stderr,
		        "%s: no muster-core serves %s; --socket or $MUSTER_SOCKET names another place\n",
		        l->command, l->socket);
	else
		fprintf(stderr, "%s: %s\n", l->command, e.text);
	return rc == -EPROTONOSUPPORT ? EXIT_CONFIG : EXIT_NO;
}

static void forget_names(struct live *l)
{
	for (uint32_t i = 0; i < l->observer.places.limits.names; i++) {
		free(l->names[i]);
		l->names[i] = NULL;
	}
}

bool live_is_there(struct live *l)
{
	struct pollfd socket = { .fd = l->observer.link.fd };

	if (poll(&socket, 1, 0) > 0)
		return false;
	/* An id that was dropped may have another name now. */
	forget_names(l);
	return true;
}

void live_close(struct live *l)
{
	forget_names(l);
	free(l->names);
	observer_close(&l->observer);
}

bool live_again(struct live *l)
{
	struct observer o;
	struct link_error e;

	if (observer_open(&o, l->socket, &e) < 0)
		return false;
	live_close(l);
	l->observer = o;
	l->names = ctl_alloc(l->observer.places.limits.names, sizeof(*l->names));
	return true;
}

const char *live_name(const void *live, uint32_t id)
{
	const struct live *l = live;
	char text[OBSERVE_NAME_MAX];

	if (id >= l->observer.places.limits.names)
		return "";
	if (l->names[id] == NULL)
		l->names[id] = ctl_copy(observe_name(&l->observer, id, text));
	return l->names[id];
}

char *live_reason(const struct live *l, const struct gang_copy *gang)
{
	struct reason_names names = { .resource = live_name, .taint = live_name, .context = l };
	/* The text of a refusal is in the frontend and in the pod's condition. */
	const char *refusal = "refused; the PodScheduled condition of its pods says why";
	uint32_t dialect = gang->row.dialect;
	const struct reason_about about = {
		.gang = gang->name,
		.refusal = refusal,
		.texts = dialect < dialects_n ? dialects[dialect]->texts : NULL,
	};
	size_t n = reason_text(&gang->row.reason, &about, &names, NULL, 0);
	char *text = ctl_alloc(n + 1, 1);

	reason_text(&gang->row.reason, &about, &names, text, n + 1);
	return text;
}

uint64_t live_wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
