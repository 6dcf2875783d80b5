/* SPDX-License-Identifier: Apache-2.0 */
/* A world for the frontend's logic: a clock that stands still until told, and a
 * transport whose answers the test writes. */
#ifndef TESTS_UNIT_SUPPORT_WORLD_H
#define TESTS_UNIT_SUPPORT_WORLD_H

#include "frontend/base/env.h"
#include "frontend/model/model.h"
#include "tests/unit/test.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

/* A request that was started.  The world keeps it until the end. */
struct http_call {
	struct http_call *next;
	char method[16];
	char *path;
	char *body;
	char type[64];
	enum http_lane lane;
	uint32_t timeout_ms;
	size_t answer_bytes_max;
	bool fresh_connection;
	struct http_handler handler;
	bool open; /* not answered and not cancelled */
	bool cancelled;
	bool taken; /* by world_take() */
	int status;
};

struct world {
	struct transport transport; /* first */
	struct env env;
	uint64_t now_ns;
	uint64_t random; /* what random() says */
	struct http_call *calls, **calls_end;
	unsigned calls_n;
	unsigned renewals;
	char log[65536]; /* "level: message\n" each */
};

void world_init(struct world *w);
void world_free(struct world *w);

/* Requests that wait for an answer. */
unsigned world_open(const struct world *w);
/* If there is no open request, time goes on to when a poll, the i-th of ten, said that it is due.
 */
void world_wait(struct world *w, int i, uint64_t due_ns);
/* The oldest open request that was not taken yet, which must be METHOD PATH...: the
 * beginning of its path.  Fails the test else. */
struct http_call *world_take(struct world *w, const char *method, const char *path);
/* The same, of which the body has `part`. */
struct http_call *world_take_with(struct world *w, const char *method, const char *path,
                                  const char *part);

/* The whole answer. */
void world_answer(struct http_call *c, int status, const char *body);
void world_answer_after(struct http_call *c, int status, const char *body, int64_t retry_after_ms);
void world_answer_repeated(struct http_call *c, int status,
                           const char *body); /* to the second try of it */
void world_too_long(struct http_call *c);     /* longer than an answer may be */
void world_fail(struct http_call *c, enum http_end end);
/* Piece by piece, for a handler with data(); says what data() said. */
bool world_piece(struct http_call *c, int status, const char *bytes, size_t n);
bool world_text(struct http_call *c, const char *text); /* status 200 */
void world_end(struct http_call *c); /* the end of the body, after world_text() */

bool world_said(const struct world *w, const char *part); /* in the log */

/* Objects as JSON; the text is good until the next call. */
const char *world_pod(const char *name, const char *version, const char *more_spec,
                      const char *more_status);
/* Answers the read, the fence and the read of a pod whose earlier Binding does not land. */
void world_binding_dies(struct world *w, const char *pod, void (*turns)(void));
const char *world_member(const char *name, const char *version, const char *group,
                         const char *more_spec);
const char *world_group(const char *name, const char *version, unsigned quorum);
const char *world_node(const char *name, const char *version);
/* The journal "j" that another instance wrote in epoch 7; lines as in JSON. */
const char *world_journal(unsigned version, const char *lines);

extern const struct limits world_limits;

/* A model that serves the scheduler "muster". */
struct model *world_model(void);
struct model *world_model_of_all(void); /* ... and judges others' pods */
/* The scheduler and world_limits are its own. */
struct model *world_model_with(struct model_config config);
void world_put(struct model *m, int resource, const char *json);
/* All that changed goes to world_sink. */
void world_flush(struct model *m);
/* What the core commands for the pod, of attempt 7: its Binding to node n1. */
struct cmd_bind world_bind(const struct model *m, const char *namespace, const char *pod);

/* What the API server says of a failure. */
const char *world_status(int code, const char *reason, const char *message);

/* A sink that takes everything, and one that is full. */
extern const struct model_sink world_sink;

#endif
