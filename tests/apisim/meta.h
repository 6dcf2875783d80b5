/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata that the server fills in and guards. */
#ifndef MUSTER_APISIM_META_H
#define MUSTER_APISIM_META_H

#include "tests/apisim/call.h"

/* DNS-1123: a label, or with dots a subdomain. */
bool as_name_valid(const char *name, bool dots, size_t longest);
bool as_label_name_valid(const char *name);
bool as_label_value_valid(const char *value);

/* The object's metadata, made if missing; NULL after a refusal. */
struct as_json *as_metadata(struct as_call *c, struct as_json *object);
/* Maps and lists with nothing in them are not there. */
void as_drop_empty(struct as_json *metadata);
/* Compare kind and apiVersion with the resource's and take them away. */
int as_check_type(struct as_call *c, struct as_json *object);
/* The status is an object and its conditions a list of objects.  0 or -1. */
int as_check_status(struct as_call *c, const struct as_json *object);
/* Note what is wrong with name and labels. */
void as_validate_metadata(struct as_call *c, const struct as_json *object);

#endif
