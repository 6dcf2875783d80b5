/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of probes are in registers: there is one struct control, which the compiler may address
 * by its symbol, and that no tracer reads. */
#define STAP_SDT_ARG_CONSTRAINT nr

#include "core/daemon/control.h"

#include "core/daemon/confine.h"
#include "ipc/logline.h"
#include "core/daemon/loop.h"
#include "core/daemon/questions.h"
#include "core/daemon/searchers.h"
#include "core/daemon/sizing.h"
#include "core/world/live_gang.h"
#include "core/world/live_verdict.h"
#include "core/world/what_if.h"
#include "core/base/probe.h"
#include "ipc/clock.h"
#include "ipc/memory.h"
#include "ipc/confine.h"
#include "ipc/link.h"
#include "ipc/message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OBSERVERS_MAX 64u
#define READERS_MAX 48u /* of them of the group: the rest stays for our user and root */
#define REPEAT_MS 2     /* pokes may be lost */
#define QUESTION_MS 50
#define REST_MS 500 /* after accept() failed for want of descriptors or memory */
#define USAGE 2

enum { POLL_SIGNAL, POLL_LISTEN, POLL_NEWS, POLL_FRONTEND, POLL_OBSERVERS };

struct control {
	const struct control_config *config;
	struct loop *loop;
	struct recorder *recorder;   /* NULL: none */
	struct searchers *searchers; /* NULL: none */
	int signal_fd;
	int listen_fd;
	int news_fd;               /* written by the loop: the state of the frontend changed */
	struct link_peer frontend; /* in place while loop_peer() is not PEER_FREE */
	bool welcomed;
	bool leaving; /* it hung up */
	bool rests;   /* accepts no peer in this turn */
	struct link_peer observers[OBSERVERS_MAX];
	uint32_t asked[OBSERVERS_MAX]; /* of each: the slot of its question + 1; 0: none is open */
	size_t observers_n, readers_n;
	uint64_t refused;
	uint64_t silent_ns; /* until then nothing is logged about readers that were refused */
};

static void notify(void *context)
{
	const struct control *k = context;
	uint64_t one = 1;
	ssize_t ignored = write(k->news_fd, &one, sizeof(one));

	(void)ignored; /* EAGAIN: it is readable anyway */
}

/* A reader may be refused as often as it likes: one line a second. */
static bool refusal_is_logged(struct control *k, const struct link_peer *peer)
{
	const uint64_t now_ns = clock_monotonic_ns();

	k->refused++;
	if (!peer->reader)
		return true;
	if (now_ns < k->silent_ns)
		return false;
	k->silent_ns = now_ns + NS_PER_S;
	return true;
}

static void observer_refuse(struct control *k, struct link_peer *peer)
{
	if (refusal_is_logged(k, peer))
		log_line(LOG_WARN,
		         "msg=\"an observer was rejected, so many are connected\" most=%u refused=%llu",
		         peer->reader ? READERS_MAX : OBSERVERS_MAX, (unsigned long long)k->refused);
	link_refuse(peer, LINK_REFUSED_BUSY, "too many observers are connected");
}

/* One of the observers.  False: it is gone. */
static bool observer_welcome(const struct control *k, const struct link_peer *peer)
{
	if (link_welcome(peer, loop_ledger(k->loop), &k->config->core.limits, loop_epoch(k->loop)) < 0)
		return false;
	log_line(LOG_DEBUG, "msg=\"observer connected\"");
	PROBE(observer_welcomed, k->observers_n);
	return true;
}

static void observer_remove(struct control *k, size_t i)
{
	if (k->asked[i] > 0)
		questions_forget(searchers_questions(k->searchers), k->asked[i] - 1);
	k->readers_n -= k->observers[i].reader;
	link_peer_close(&k->observers[i]);
	k->observers[i] = k->observers[--k->observers_n];
	k->asked[i] = k->asked[k->observers_n];
}

static void observer_add(struct control *k, struct link_peer *peer)
{
	if (k->observers_n == OBSERVERS_MAX || (peer->reader && k->readers_n == READERS_MAX)) {
		observer_refuse(k, peer);
		return;
	}
	k->readers_n += peer->reader;
	k->asked[k->observers_n] = 0;
	k->observers[k->observers_n++] = *peer;
	if (peer->role == LINK_OBSERVER && !observer_welcome(k, peer))
		observer_remove(k, k->observers_n - 1);
}

static void frontend_add(struct control *k, struct link_peer *peer)
{
	if (loop_peer(k->loop) != PEER_FREE) {
		log_line(LOG_WARN, "msg=\"another frontend is connected, this one was rejected\"");
		link_refuse(peer, LINK_REFUSED_BUSY, "another frontend is connected");
		return;
	}
	k->frontend = *peer;
	k->welcomed = false;
	k->leaving = false;
	PROBE(frontend_hello);
	loop_offer(k->loop, &k->frontend);
	PROBE(frontend_offered);
}

static void refusal_log(const struct control *k, const struct link_error *e)
{
	struct log_text text;

	log_line(LOG_WARN,
	         "msg=\"a peer was rejected\" why=%s our_layout=%016llx their_layout=%016llx "
	         "refused=%llu",
	         log_quote(&text, e->text), (unsigned long long)e->our_hash,
	         (unsigned long long)e->their_hash, (unsigned long long)k->refused);
}

/* A reader has sent its HELLO.  False: it is closed. */
static bool reader_greet(struct control *k, struct link_peer *peer)
{
	struct link_error e = { 0 };
	const int rc = link_hello(peer, &e);

	if (rc == 0)
		return observer_welcome(k, peer);
	if (rc != -ECONNRESET && refusal_is_logged(k, peer))
		refusal_log(k, &e);
	return false;
}

static void accept_one(struct control *k)
{
	struct link_peer peer;
	struct link_error e = { 0 };
	int rc = link_accept(k->listen_fd, k->config->socket_group != NULL, &peer, &e);

	if (rc < 0) {
		if (rc == -ECONNRESET)
			return;
		k->refused++;
		k->rests = rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM || rc == -ENOBUFS;
		refusal_log(k, &e);
		return;
	}
	if (peer.role == LINK_FRONTEND)
		frontend_add(k, &peer);
	else
		observer_add(k, &peer);
}

/* Follows the loop's state of the frontend and its socket.  Nothing is closed before the loop has
 * released it. */
static void frontend_follow(struct control *k)
{
	switch (loop_peer(k->loop)) {
	case PEER_SERVED:
		if (!k->welcomed && !k->leaving) {
			k->welcomed = true;
			PROBE(frontend_welcome, loop_epoch(k->loop));
			k->leaving = link_welcome(&k->frontend, loop_ledger(k->loop), &k->config->core.limits,
			                          loop_epoch(k->loop)) < 0;
			PROBE(frontend_welcomed, loop_epoch(k->loop));
			if (!k->leaving)
				log_line(LOG_INFO, "msg=\"frontend connected\" epoch=%llu",
				         (unsigned long long)loop_epoch(k->loop));
		}
		if (k->leaving)
			loop_take_back(k->loop);
		break;
	case PEER_BROKEN:
		loop_take_back(k->loop);
		break;
	case PEER_LEFT:
		log_line(LOG_INFO, "msg=\"frontend gone\" epoch=%llu",
		         (unsigned long long)loop_epoch(k->loop));
		PROBE(frontend_left, loop_epoch(k->loop));
		link_peer_close(&k->frontend);
		loop_free(k->loop);
		break;
	default:
		break;
	}
}

/* False: it could not be sent, or this was the last answer. */
static bool answer_send(const struct control *k, size_t i, const struct live_answer *answer)
{
	const struct message_answer m = {
		.head = { .magic = MESSAGE_MAGIC, .hash = abi_layout_hash(), .kind = MESSAGE_ANSWER },
		.answer = *answer
	};

	return message_send(k->observers[i].fd, &m, sizeof(m), -1) == 0;
}

static bool refuse(const struct control *k, size_t i, const char *why)
{
	struct live_answer a = { .version = QUESTION_VERSION, .verdict = QUESTION_REFUSED };

	snprintf(a.text, sizeof(a.text), "%s", why);
	return answer_send(k, i, &a);
}

static bool is_question(const union message *m, size_t bytes)
{
	switch (m->head.kind) {
	case MESSAGE_QUESTION:
		return bytes == sizeof(m->question);
	case MESSAGE_POD:
		return bytes == sizeof(m->pod);
	case MESSAGE_GANG:
		return bytes > offsetof(struct message_gang, gang.records) &&
		       bytes - offsetof(struct message_gang, gang.records) == m->gang.gang.bytes;
	default:
		return false;
	}
}

static const char *fault_of(const struct control *k, const union message *m)
{
	const struct limits *limits = &k->config->core.limits;

	if (m->head.kind == MESSAGE_POD)
		return live_pod_fault(&m->pod.pod, limits);
	if (m->head.kind == MESSAGE_GANG)
		return live_gang_fault(&m->gang.gang, limits);
	return question_fault(&m->question.question, limits);
}

/* To the world's thread: its slot, or as questions_ask(). */
static int message_ask(struct control *k, const union message *m)
{
	const bool of_pod = m->head.kind == MESSAGE_POD, of_gang = m->head.kind == MESSAGE_GANG;
	const struct live_question beside = { .version = QUESTION_VERSION,
		                                  .about = of_pod ? ABOUT_POD : ABOUT_GANG };
	const struct asked_about about = { .pod = of_pod ? &m->pod.pod : NULL,
		                               .gang = of_gang ? &m->gang.gang : NULL };

	return questions_ask(searchers_questions(k->searchers),
	                     of_pod || of_gang ? &beside : &m->question.question, &about);
}

/* Reads what an observer sent.  False: it is closed, since it hung up or sent what is no question.
 */
static bool observer_read(struct control *k, size_t i)
{
	const char *fault;
	union message m;
	int fd, slot, got;

	if (k->observers[i].role != LINK_OBSERVER)
		return reader_greet(k, &k->observers[i]);
	got = message_receive(k->observers[i].fd, &m, &fd, 0);
	if (fd >= 0)
		close(fd);
	if (got == -EPROTO || (got >= 0 && (fd >= 0 || !is_question(&m, (size_t)got))))
		return refuse(k, i, "this is no question"), false;
	if (got < 0)
		return false;
	fault = fault_of(k, &m);
	if (fault)
		return refuse(k, i, fault), false;
	if (!k->searchers)
		return refuse(k, i, "no world follows the loop: muster-core runs with --searchers 0");
	if (k->asked[i] > 0)
		return refuse(k, i, "the last question is not answered yet"), false;
	slot = message_ask(k, &m);
	if (slot == -EBUSY)
		return refuse(k, i, "too many questions are asked at once; ask again");
	if (slot < 0)
		return refuse(k, i, "no world follows the loop any more");
	k->asked[i] = (uint32_t)slot + 1;
	searchers_wake(k->searchers);
	return true;
}

static void observers_follow(struct control *k, const struct pollfd *fds, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (fds[i].revents != 0 && !observer_read(k, i))
			observer_remove(k, i);
}

/* Sends what the world's thread has answered. */
static void answers_send(struct control *k)
{
	struct live_answer answer;

	for (size_t i = k->observers_n; i-- > 0;) {
		if (k->asked[i] == 0 ||
		    !questions_take(searchers_questions(k->searchers), k->asked[i] - 1, &answer))
			continue;
		k->asked[i] = 0;
		if (!answer_send(k, i, &answer))
			observer_remove(k, i);
	}
}

/* True if the loop has not taken notice of a state that was set for it. */
static bool loop_has_news(const struct control *k)
{
	enum loop_peer peer = loop_peer(k->loop);

	return peer == PEER_OFFERED || peer == PEER_LEAVING;
}

/* True if the world's thread may have slept through a question. */
static bool questions_are_new(const struct control *k)
{
	return k->searchers && questions_wait(searchers_questions(k->searchers));
}

/* False when a signal ends the process. */
static bool control_turn(struct control *k)
{
	struct pollfd fds[POLL_OBSERVERS + OBSERVERS_MAX] = {
		[POLL_SIGNAL] = { .fd = k->signal_fd, .events = POLLIN },
		[POLL_LISTEN] = { .fd = k->listen_fd, .events = POLLIN },
		[POLL_NEWS] = { .fd = k->news_fd, .events = POLLIN },
		[POLL_FRONTEND] = { .fd = -1 },
	};
	size_t observers = k->observers_n;
	int wait_ms = loop_has_news(k)       ? REPEAT_MS
	              : questions_are_new(k) ? QUESTION_MS
	              : k->rests             ? REST_MS
	                                     : -1;
	uint64_t ignored;

	if (k->rests)
		fds[POLL_LISTEN].fd = -1;
	k->rests = false;

	if (loop_peer(k->loop) != PEER_FREE && !k->leaving)
		fds[POLL_FRONTEND] = (struct pollfd){ .fd = k->frontend.fd, .events = POLLIN };
	for (size_t i = 0; i < observers; i++)
		fds[POLL_OBSERVERS + i] = (struct pollfd){ .fd = k->observers[i].fd, .events = POLLIN };
	if (poll(fds, POLL_OBSERVERS + observers, wait_ms) < 0 && errno != EINTR)
		return false;
	if (fds[POLL_SIGNAL].revents)
		return false;
	if (fds[POLL_NEWS].revents && read(k->news_fd, &ignored, sizeof(ignored)) < 0)
		ignored = 0;
	/* A frontend sends nothing after the handshake: anything readable is its end. */
	if (fds[POLL_FRONTEND].revents)
		k->leaving = true;
	observers_follow(k, fds + POLL_OBSERVERS, observers);
	if (k->searchers)
		answers_send(k);
	if (questions_are_new(k))
		searchers_wake(k->searchers);
	frontend_follow(k);
	if (loop_has_news(k))
		loop_poke(k->loop);
	if (fds[POLL_LISTEN].revents)
		accept_one(k);
	return true;
}

static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	/* Before any thread, so that all of them inherit it. */
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of write() or ftruncate() */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int fail(const char *what, int rc)
{
	fprintf(stderr, "muster-core: %s: %s\n", what, strerror(-rc));
	return 1;
}

/* True if another start would fail in the same way. */
static bool is_for_good(int rc)
{
	return rc != -ENOSPC && rc != -EDQUOT && rc != -EIO && rc != -ENOMEM && rc != -EAGAIN &&
	       rc != -ENFILE && rc != -EMFILE;
}

static int record(struct control *k)
{
	struct log_text text;
	struct recorder_config config = { .path = k->config->record,
		                              .bytes = k->config->record_bytes,
		                              .core = k->config->core };
	int rc;

	if (!config.path)
		return 0;
	rc = recorder_open(&k->recorder, &config);
	if (rc == 0)
		return 0;
	k->recorder = NULL;
	/* As when a recording ends: the core serves without it. */
	if (!is_for_good(rc)) {
		log_line(LOG_ERROR, "msg=\"nothing is recorded\" file=%s why=\"%s\"",
		         log_quote(&text, config.path), strerror(-rc));
		return 0;
	}
	fprintf(stderr, "muster-core: --record %s: %s\n", config.path,
	        rc == -EEXIST ? "the file is there and is no recording" : strerror(-rc));
	return USAGE;
}

/* The loop serves without a world as well. */
static void world_failed(struct control *k, int rc)
{
	log_line(LOG_ERROR, "msg=\"no world follows the loop\" why=\"%s\"", strerror(-rc));
	if (k->searchers && k->loop)
		return; /* the loop has its feed */
	searchers_close(k->searchers);
	k->searchers = NULL;
}

static void world_open(struct control *k)
{
	const struct searchers_config config = {
		.core = k->config->core, .searchers = k->config->searchers, .answered = notify, .context = k
	};
	const int rc = config.searchers > 0 ? searchers_open(&k->searchers, &config) : 0;

	if (rc < 0)
		world_failed(k, rc);
}

/* After the loop, which has the ledger, and before its first record. */
static void world_start(struct control *k)
{
	struct ledger *ledger = loop_ledger(k->loop)->base;
	const int rc = k->searchers ? searchers_start(k->searchers, ledger) : 0;

	if (rc < 0)
		world_failed(k, rc);
}

/* What the limits may need, against --max-memory. */
static void memory_log(const struct control *k)
{
	const struct segment *ledger = loop_ledger(k->loop);
	const uint64_t most = sizing_bytes(&k->config->core.limits, k->config->searchers);
	const bool fits = k->config->max_memory == 0 || most <= k->config->max_memory;

	log_line(fits ? LOG_INFO : LOG_WARN,
	         "msg=\"%s\" limits_bytes=%llu max_memory=%llu ledger_bytes=%llu on_huge_pages=%llu",
	         fits ? "memory" : "the limits need more than --max-memory", (unsigned long long)most,
	         (unsigned long long)k->config->max_memory, (unsigned long long)ledger->bytes,
	         (unsigned long long)segment_huge_bytes(ledger));
}

static int start(struct control *k)
{
	struct loop_config loop = { .core = k->config->core,
		                        .spin_ns = k->config->spin_us * 1000,
		                        .cpu = k->config->cpu,
		                        .recorder = k->recorder,
		                        .feed = k->searchers ? searchers_feed(k->searchers) : NULL,
		                        .answers = k->searchers ? searchers_answers(k->searchers) : NULL,
		                        .notify = notify,
		                        .context = k };
	const char *what = "";
	int rc = loop_start(&k->loop, &loop, &what);

	if (rc == 0) {
		world_start(k);
		memory_log(k);
		return 0;
	}
	if (k->recorder)
		recorder_close(k->recorder);
	searchers_close(k->searchers);
	return fail(what, rc);
}

static int listen_failed(const struct control_config *config, int rc)
{
	const char *why =
		rc == -EADDRINUSE ? "another muster-core serves it, or it is no socket" : strerror(-rc);

	if (rc == -EPERM && config->socket_group)
		fprintf(stderr,
		        "muster-core: --socket-group %s: %s can't be given to this group: "
		        "muster-core has to be one of its members, or root\n",
		        config->socket_group, config->socket);
	else
		fprintf(stderr, "muster-core: --socket %s: %s\n", config->socket, why);
	return 1;
}

static int control_open(struct control *k)
{
	int rc;

	k->signal_fd = signals_open();
	k->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (k->signal_fd < 0 || k->news_fd < 0)
		return fail("signals", -errno);
	k->listen_fd = link_listen(k->config->socket,
	                           k->config->socket_group ? k->config->socket_gid : LINK_NO_READERS);
	if (k->listen_fd < 0)
		return listen_failed(k->config, k->listen_fd);
	PROBE(socket_open);
	/* After the socket is bound: a core that can't serve must not touch the recording of one that
	 * does. */
	rc = record(k);
	if (rc == 0) {
		world_open(k);
		rc = start(k);
	}
	if (rc != 0)
		unlink(k->config->socket);
	return rc;
}

static void out_of_memory(void)
{
	log_line(LOG_ERROR, "msg=\"out of memory\"");
	recorder_crash(0);
}

/* A filter that can't be installed is logged; the core serves without it. */
static void confine_core(const struct control_config *config)
{
	const char *how = "on", *privileges = config->no_new_privileges ? "yes" : "no";
	int rc;

	if (!config->seccomp || !CONFINE_POSSIBLE) {
		how = config->seccomp ? "not in this build" : "off";
	} else {
		confine_before_end(recorder_crash);
		rc = core_confine(log_is_json());
		if (rc < 0) {
			log_line(LOG_WARN, "msg=\"system calls can't be filtered here\" error=%d why=\"%s\"",
			         -rc, strerror(-rc));
			how = "unavailable";
		}
	}
	log_line(LOG_INFO, "msg=\"confined\" no_new_privileges=\"%s\" seccomp=\"%s\"", privileges, how);
}

int control_run(const struct control_config *config)
{
	static struct control k; /* large, and one for a process */
	struct log_text text;
	int rc;

	memory_before_end(out_of_memory);
	k = (struct control){ .config = config, .signal_fd = -1, .listen_fd = -1, .news_fd = -1 };
	rc = control_open(&k);
	if (rc != 0)
		return rc;
	if (k.recorder)
		log_line(LOG_INFO, "msg=\"recording\" file=%s most_bytes=%llu",
		         log_quote(&text, config->record), (unsigned long long)config->record_bytes);
	log_line(
		LOG_INFO, "msg=\"listening\" socket=%s version=%s layout=%016llx nodes=%u pods=%u gangs=%u",
		log_quote(&text, config->socket), MUSTER_VERSION, (unsigned long long)abi_layout_hash(),
		config->core.limits.nodes, config->core.limits.pods, config->core.limits.gangs);
	PROBE(listening);
	confine_core(config);
	while (control_turn(&k))
		;
	PROBE(stopping);
	/* Before the loop stops, so that a frontend can't connect to a core that ends. */
	unlink(config->socket);
	close(k.listen_fd);
	searchers_stop(k.searchers);
	loop_stop(k.loop);
	searchers_close(k.searchers);
	if (k.recorder)
		recorder_close(k.recorder);
	log_line(LOG_INFO, "msg=\"stopped\"");
	return 0;
}
