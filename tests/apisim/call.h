/* SPDX-License-Identifier: Apache-2.0 */
/* One request while it is handled: its route, its parameters, and the message of its refusal.
 * Internal to the library. */
#ifndef MUSTER_APISIM_CALL_H
#define MUSTER_APISIM_CALL_H

#include "tests/apisim/api.h"
#include "tests/apisim/faults.h"
#include "tests/apisim/stats.h"
#include "tests/apisim/store.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct as_api {
	struct as_config config;
	struct as_resources resources;
	struct as_resource *nodes, *pods, *namespaces, *priority_classes, *crds;
	struct as_store *store;
	struct as_arena arena; /* of the current call */
	struct as_stats stats;
	struct as_faults faults;
};

struct as_query {
	const char *name, *value;
	struct as_query *next;
};

struct as_call {
	struct as_api *api;
	struct as_arena *arena;
	const struct as_request *request;
	struct as_response *response;
	uint64_t now_ns;
	const char *path; /* decoded */
	struct as_query *query;
	struct as_resource *resource;
	const char *namespace;   /* NULL: cluster scope, or all namespaces */
	const char *name;        /* NULL: the collection */
	const char *subresource; /* NULL: the object itself */
	bool dry_run;
	struct as_json *causes; /* of an Invalid answer */
};

/* The last value of a parameter, or NULL. */
const char *as_query_get(const struct as_call *c, const char *name);
bool as_query_true(const struct as_call *c, const char *name);

/* A resourceVersion or limit: decimal digits alone. */
bool as_parse_version(const char *text, uint64_t *out);

/* Each answers the call with a Status and returns -1. */
int as_refuse(struct as_call *c, int code, const char *reason, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define as_refuse_bad(c, ...) as_refuse(c, 400, "BadRequest", __VA_ARGS__)
int as_refuse_not_found(struct as_call *c, const struct as_resource *resource, const char *name);
int as_refuse_exists(struct as_call *c, const char *name);
/* The body is no object of the kind: 400, or 422 about "patch" in a PATCH. */
int as_refuse_undecodable(struct as_call *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int as_refuse_no_resource(struct as_call *c);
int as_refuse_method(struct as_call *c);
int as_refuse_conflict(struct as_call *c, const char *qualified, const char *name,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
int as_refuse_forbidden(struct as_call *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int as_refuse_media_type(struct as_call *c);

/* Note what is wrong with a field; cause is such as "FieldValueRequired".  The
 * field may be made with as_arena_printf(). */
void as_invalid(struct as_call *c, const char *cause, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* 0 if nothing was noted, else the 422 answer and -1. */
int as_refuse_invalid(struct as_call *c, const char *name);
/* The same about another kind; the details name `details_kind`. */
int as_refuse_invalid_kind(struct as_call *c, const char *group, const char *kind,
                           const char *details_kind, const char *name);
/* Note what is wrong with the options of a list or a watch; 0 or -1. */
int as_check_list_options(struct as_call *c, bool watch); /* read.c */

int as_answer_success(struct as_call *c, int code, const struct as_json *details);
int as_answer_object(struct as_call *c, int code, const struct as_object *object);
/* A tree without kind and apiVersion that is not stored (dry run). */
int as_answer_tree(struct as_call *c, int code, const struct as_json *tree);
int as_answer_json(struct as_call *c, int code, const struct as_json *value);

/* Parameters (";charset=utf-8") are passed over. */
bool as_media_type_is(const char *type, const char *wanted);
/* The request's body as an object, or NULL after a refusal. */
struct as_json *as_body(struct as_call *c);
/* "2026-11-21T10:59:00Z" */
char *as_time(struct as_arena *a, uint64_t now_ns);
char *as_new_uid(struct as_api *api);
/* Percent-decoded in place. */
void as_decode(char *text, bool plus_is_space);

int as_get(struct as_call *c); /* read.c */
int as_list(struct as_call *c);
int as_watch_start(struct as_call *c); /* watch.c */
int as_create(struct as_call *c);      /* create.c */
int as_create_object(struct as_call *c, struct as_json *object);
int as_update(struct as_call *c); /* update.c */
int as_patch(struct as_call *c);
int as_delete(struct as_call *c); /* delete.c */
int as_delete_collection(struct as_call *c);
/* Deletes the pod of the call, which exists, as DeleteOptions ask; 0, or -1 after a refusal. */
int as_delete_evicted(struct as_call *c, const struct as_json *options);
int as_evict(struct as_call *c);                  /* evict.c */
int as_bind(struct as_call *c);                   /* bind.c */
int as_discovery(struct as_call *c, bool *found); /* discovery.c */
bool as_group_served(const struct as_api *api, const char *const *segments, size_t n);
bool as_is_token_review(const struct as_call *c); /* review.c */
int as_token_review(struct as_call *c);
bool as_is_access_review(const struct as_call *c);
int as_access_review(struct as_call *c);
int as_admin(struct as_call *c); /* admin.c */

/* Store the tree's next version, with what follows from it: custom resources
 * are registered, an object whose last finalizer went is removed. */
struct as_object *as_commit(struct as_api *api, struct as_resource *resource, struct as_arena *a,
                            struct as_json *tree, uint64_t now_ns);
struct as_object *as_commit_removal(struct as_api *api, struct as_resource *resource,
                                    struct as_arena *a, struct as_json *tree);

#endif
