/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/live.h"

#include "ctl/term/former.h"
#include "ctl/up/tempdir.h"
#include "frontend/dialect/dialects.h"
#include "ipc/clock.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_NS (60 * NS_PER_S) /* others may have asked before */

/* Sockets of musterctl up, if find_socket() had to look for them. */
static char found[10 * TEMPDIR_BYTES];
static size_t found_n;

static const char *find_socket(const char *given)
{
	const char *socket = given != NULL ? given : getenv("MUSTER_SOCKET");

	if (socket != NULL && socket[0] != '\0')
		return socket;
	if (access(LINK_DEFAULT_SOCKET, F_OK) != 0)
		found_n = tempdir_sockets(found, sizeof(found));
	return found_n == 1 ? found : LINK_DEFAULT_SOCKET;
}

bool live_is_served(const struct live *l)
{
	const char *named = getenv("MUSTER_SOCKET");

	return l->socket != NULL || (named != NULL && named[0] != '\0') ||
	       access(find_socket(NULL), W_OK) == 0 || found_n > 1;
}

int live_run(const struct command *c, int argc, char **argv,
             int (*show)(struct live *l, const char *argument))
{
	struct live l = { .command = argv[0] };
	int rc = command_read_flags(c, argc, argv, &l);

	if (rc != -1)
		return rc;
	rc = live_open(&l);
	if (rc == EXIT_DONE) {
		rc = show(&l, argv[optind]);
		live_close(&l);
	}
	return rc;
}

/* As kubectl, where a person reads: a head without rows may be a mistake in a name. */
static void say_none(const struct live *l, const struct list_kind *kind)
{
	const bool one = l->namespace != NULL && !l->all_namespaces;

	if (kind->none != NULL)
		fprintf(stderr, "%s\n", kind->none);
	else
		fprintf(stderr, "No %s found%s%s.\n", kind->items, one ? " in namespace " : "",
		        one ? l->namespace : "");
}

int live_list(struct live *l, const struct list_kind *kind, const char *argument,
              cJSON *(*list)(struct live *l, const char *argument))
{
	cJSON *before = NULL, *items;
	int rc = EXIT_DONE;

	if (l->list.watch && (l->list.form == LIST_JSON || l->list.form == LIST_YAML))
		return ctl_usage(l->command, "--watch goes with text, -o wide, name and custom-columns");
	while ((items = list(l, argument)) != NULL) {
		json_add_former(items);
		if (!list_sort(l->command, &l->list, kind, items))
			rc = EXIT_USAGE;
		else
			rc = list_print(l->command, &l->list, kind, items, before);
		if (rc == EXIT_DONE && items->child == NULL && before == NULL &&
		    l->list.form != LIST_JSON && l->list.form != LIST_YAML)
			say_none(l, kind);
		cJSON_Delete(before);
		before = items;
		if (rc != EXIT_DONE || !l->list.watch || !ctl_flush(l->command))
			break;
		sleep(1);
		if (!live_is_there(l)) {
			fprintf(stderr, "%s: muster-core went away\n", l->command);
			rc = EXIT_NO;
			break;
		}
	}
	cJSON_Delete(before);
	return items == NULL ? EXIT_NO : rc;
}

/* The caller is neither the core's user nor root, nor of the socket's group. */
static void say_denied(const struct live *l)
{
	const struct passwd *user = getpwuid(geteuid()), *owner;
	const struct group *group;
	struct stat st;

	fprintf(stderr, "%s: user %s (%u) may not connect to %s: ", l->command,
	        user ? user->pw_name : "", (unsigned int)geteuid(), l->socket);
	if (stat(l->socket, &st) < 0) {
		fputs("a folder above it can't be searched", stderr);
	} else if ((st.st_mode & S_IWGRP) != 0) {
		group = getgrgid(st.st_gid);
		fprintf(stderr,
		        "its mode is %04o and its group %s (%u), of which this process is no member",
		        st.st_mode & 07777u, group ? group->gr_name : "", (unsigned int)st.st_gid);
	} else {
		owner = getpwuid(st.st_uid);
		fprintf(
			stderr,
			"its mode is %04o and its owner %s (%u); --socket-group of muster-core lets a group in",
			st.st_mode & 07777u, owner ? owner->pw_name : "", (unsigned int)st.st_uid);
	}
	fputs("; gangs, nodes and explain can ask the API server instead: --kubeconfig\n", stderr);
}

int live_open(struct live *l)
{
	struct link_error e;
	int rc;

	l->socket = find_socket(l->socket);
	rc = observer_open(&l->observer, l->socket, &e);
	if (rc == 0) {
		l->names = must_array(l->observer.places.limits.names, sizeof(*l->names));
		return EXIT_DONE;
	}
	if (found_n > 1)
		fprintf(stderr, "%s: %zu musters run: %s; --socket or $MUSTER_SOCKET names one of them\n",
		        l->command, found_n, found);
	else if (rc == -ENOENT || rc == -ECONNREFUSED)
		fprintf(stderr,
		        "%s: no muster-core serves %s; --socket or $MUSTER_SOCKET names another place\n",
		        l->command, l->socket);
	else if (rc == -EACCES)
		say_denied(l);
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
	/* An id that was dropped may have been reused for another name. */
	forget_names(l);
	return true;
}

void live_own(struct live *l, const struct ledger *ledger)
{
	l->observer = (struct observer){ 0 };
	observer_own(&l->observer, ledger);
	l->names = must_array(l->observer.places.limits.names, sizeof(*l->names));
	l->from_cluster = true;
}

void live_close(struct live *l)
{
	forget_names(l);
	free(l->names);
	if (!l->from_cluster)
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
	l->names = must_array(l->observer.places.limits.names, sizeof(*l->names));
	return true;
}

const char *live_name(const void *live, uint32_t id)
{
	const struct live *l = live;
	char text[OBSERVE_NAME_MAX];

	if (id >= l->observer.places.limits.names)
		return "";
	if (l->names[id] == NULL)
		l->names[id] = must_copy(observe_name(&l->observer, id, text));
	return l->names[id];
}

void live_name_lacks(const struct live *l, uint32_t id, const char *text)
{
	if (id < l->observer.places.limits.names && *live_name(l, id) == '\0') {
		free(l->names[id]);
		l->names[id] = must_copy(text);
	}
}

static bool live_gang(const void *live, uint32_t gang, uint32_t generation, char *out,
                      size_t out_bytes)
{
	const struct live *l = live;
	struct gang_copy copy;

	if (gang >= l->observer.places.limits.gangs || !observe_gang(&l->observer, gang, &copy) ||
	    copy.row.generation != generation)
		return false;
	snprintf(out, out_bytes, "%s", copy.name);
	return true;
}

static const char *live_queue(const void *live, uint32_t queue)
{
	struct live *l = (struct live *)(uintptr_t)live;
	struct queue_copy *copy = must_alloc(sizeof(*copy));

	l->queue[0] = '\0';
	if (observe_queue(&l->observer, queue, copy))
		snprintf(l->queue, sizeof(l->queue), "%s", copy->row.name);
	free(copy);
	return l->queue;
}

char *live_queue_name(const struct live *l, uint32_t queue)
{
	return must_copy(live_queue(l, queue));
}

static bool live_device(const void *live, const struct device_lack *lack, char *out,
                        size_t out_bytes)
{
	const struct live *l = live;
	char text[OBSERVE_NAME_MAX];

	snprintf(out, out_bytes, "%s",
	         observe_text(&l->observer, lack->names_offset, lack->names_bytes, text));
	return text[0] != '\0';
}

struct reason_names live_names(const struct live *l)
{
	return (struct reason_names){
		.resource = live_name,
		.taint = live_name,
		.gang = live_gang,
		.queue = live_queue,
		.device = live_device,
		.context = l,
	};
}

char *live_reason(const struct live *l, const struct gang_copy *gang)
{
	const struct reason_names names = live_names(l);
	/* Why muster rejects it is in the frontend and in the pod's condition. */
	const char *refusal = "rejected; the reason is in the PodScheduled condition of its pods";
	uint32_t dialect = gang->row.dialect;
	const struct reason_about about = {
		.gang = gang->name[0] != '\0' ? gang->name : NULL,
		.refusal = refusal,
		.texts = dialect < dialects_n ? dialects[dialect]->texts : NULL,
	};
	size_t n = reason_text(&gang->row.reason, &about, &names, NULL, 0);
	char *text = must_array(n + 1, 1);

	reason_text(&gang->row.reason, &about, &names, text, n + 1);
	return text;
}

static const char *ask_error(int rc)
{
	if (rc == -ECONNRESET || rc == -EPIPE)
		return "it ended the connection";
	return rc == -EPROTO ? "its answer makes no sense" : strerror(-rc);
}

static int answered(const struct live *l, int rc, const struct live_answer *out)
{
	if (rc == -EPROTONOSUPPORT) {
		fprintf(stderr,
		        "%s: muster-core takes questions of version %u and this musterctl asks those of "
		        "version %u: use the musterctl of muster-core's release\n",
		        l->command, out->version, QUESTION_VERSION);
		return EXIT_CONFIG;
	}
	if (rc < 0)
		fprintf(stderr, "%s: muster-core gives no answer: %s\n", l->command, ask_error(rc));
	else if (out->verdict == QUESTION_REFUSED)
		fprintf(stderr, "%s: muster-core does not answer: %s\n", l->command, out->text);
	return rc < 0 || out->verdict == QUESTION_REFUSED ? EXIT_NO : EXIT_DONE;
}

int live_ask(const struct live *l, const struct live_question *q, struct live_answer *out)
{
	return answered(l, observer_ask(&l->observer, q, ASK_NS, out), out);
}

int live_ask_pod(const struct live *l, const struct live_pod *p, struct live_answer *out)
{
	return answered(l, observer_ask_pod(&l->observer, p, ASK_NS, out), out);
}

int live_ask_gang(const struct live *l, const struct live_gang *g, struct live_answer *out)
{
	return answered(l, observer_ask_gang(&l->observer, g, ASK_NS, out), out);
}

uint64_t live_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}
