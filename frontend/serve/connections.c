/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/connections.h"

#include "frontend/base/log.h"
#include "ipc/clock.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

struct entry {
	TAILQ_ENTRY(entry) link; /* the earliest deadline first */
	uint64_t deadline_ns;
	struct in6_addr address; /* IPv4 ones mapped */
	int fd;                  /* open until libmicrohttpd has notified us */
	bool suspended;
	bool shut;
};

struct connections {
	struct connections_config config;
	pthread_t thread;
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t changed;
	TAILQ_HEAD(, entry) entries;
	unsigned open; /* entries that are not shut */
	bool stopping;
	struct connection_counts counts;
};

static void entry_shut(struct connections *cs, struct entry *e)
{
	assert(!e->shut);
	e->shut = true;
	cs->open--;
	(void)shutdown(e->fd, SHUT_RDWR); /* the peer may have reset it */
}

static struct entry *entry_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

/* Shuts down what is due.  Returns the next deadline, or NEVER_NS. */
static uint64_t deadlines_enforce(struct connections *cs)
{
	uint64_t now = clock_monotonic_ns();
	struct entry *e;

	TAILQ_FOREACH (e, &cs->entries, link) {
		if (e->shut)
			continue;
		if (e->deadline_ns > now)
			return e->deadline_ns;
		entry_shut(cs, e);
		cs->counts.late++;
	}
	return NEVER_NS;
}

static void *watch(void *context)
{
	struct connections *cs = context;

	pthread_mutex_lock(&cs->lock);
	while (!cs->stopping) {
		uint64_t next = deadlines_enforce(cs);
		struct timespec until = { .tv_sec = (time_t)(next / NS_PER_S),
			                      .tv_nsec = (long)(next % NS_PER_S) };

		if (next == NEVER_NS)
			pthread_cond_wait(&cs->changed, &cs->lock);
		else
			pthread_cond_timedwait(&cs->changed, &cs->lock, &until);
	}
	pthread_mutex_unlock(&cs->lock);
	return NULL;
}

struct connections *connections_new(const struct connections_config *config)
{
	struct connections *cs = must_alloc(sizeof(*cs));
	pthread_condattr_t attributes;

	cs->config = *config;
	TAILQ_INIT(&cs->entries);
	pthread_mutex_init(&cs->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&cs->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (pthread_create(&cs->thread, NULL, watch, cs) != 0)
		fatal_memory();
	return cs;
}

void connections_free(struct connections *cs)
{
	if (!cs)
		return;
	assert(TAILQ_EMPTY(&cs->entries));
	pthread_mutex_lock(&cs->lock);
	cs->stopping = true;
	pthread_cond_signal(&cs->changed);
	pthread_mutex_unlock(&cs->lock);
	pthread_join(cs->thread, NULL);
	pthread_cond_destroy(&cs->changed);
	pthread_mutex_destroy(&cs->lock);
	free(cs);
}

static struct in6_addr address_of(struct MHD_Connection *connection)
{
	const struct sockaddr *from =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (from->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	memcpy(a.s6_addr + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	return a;
}

/* Shuts down the one with the earliest deadline besides `fresh`: of its address, or of any. */
static void entry_evict(struct connections *cs, const struct entry *fresh, bool same_address)
{
	struct entry *e;

	TAILQ_FOREACH (e, &cs->entries, link) {
		if (e == fresh || e->shut || e->suspended ||
		    (same_address && memcmp(&e->address, &fresh->address, sizeof(e->address)) != 0))
			continue;
		entry_shut(cs, e);
		cs->counts.evicted++;
		return;
	}
}

static void entry_begin(struct connections *cs, struct MHD_Connection *connection, void **entry)
{
	struct entry *e = must_alloc(sizeof(*e)), *other;
	unsigned same = 0;

	e->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	e->address = address_of(connection);
	*entry = e;
	pthread_mutex_lock(&cs->lock);
	e->deadline_ns = clock_monotonic_ns() + cs->config.deadline_ms * NS_PER_MS;
	TAILQ_INSERT_TAIL(&cs->entries, e, link);
	cs->open++;
	cs->counts.accepted++;
	TAILQ_FOREACH (other, &cs->entries, link)
		same += !other->shut && memcmp(&other->address, &e->address, sizeof(e->address)) == 0;
	/* One less than libmicrohttpd accepts: at its limit it would not accept the next. */
	if (same > cs->config.most_of_address)
		entry_evict(cs, e, true);
	else if (cs->open >= cs->config.most)
		entry_evict(cs, e, false);
	pthread_cond_signal(&cs->changed);
	pthread_mutex_unlock(&cs->lock);
}

static void entry_end(struct connections *cs, struct entry *e)
{
	pthread_mutex_lock(&cs->lock);
	TAILQ_REMOVE(&cs->entries, e, link);
	cs->open -= !e->shut;
	pthread_mutex_unlock(&cs->lock);
	free(e);
}

void connections_notify(void *context, struct MHD_Connection *connection, void **entry,
                        enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		entry_begin(context, connection, entry);
	else
		entry_end(context, *entry);
}

/* The new deadline is the latest of all, since all spans are the same. */
void connections_advance(struct connections *cs, struct MHD_Connection *connection)
{
	struct entry *e = entry_of(connection);

	pthread_mutex_lock(&cs->lock);
	e->deadline_ns = clock_monotonic_ns() + cs->config.deadline_ms * NS_PER_MS;
	TAILQ_REMOVE(&cs->entries, e, link);
	TAILQ_INSERT_TAIL(&cs->entries, e, link);
	pthread_mutex_unlock(&cs->lock);
}

void connections_set_suspended(struct connections *cs, struct MHD_Connection *connection, bool is)
{
	pthread_mutex_lock(&cs->lock);
	entry_of(connection)->suspended = is;
	pthread_mutex_unlock(&cs->lock);
}

void connections_counts(struct connections *cs, struct connection_counts *out)
{
	pthread_mutex_lock(&cs->lock);
	*out = cs->counts;
	out->open = cs->open;
	pthread_mutex_unlock(&cs->lock);
}
