/* SPDX-License-Identifier: Apache-2.0 */
/* The extractor's slow counterpart: the same questions asked of cJSON's tree.
 *
 * Each says what differs, or NULL; the text is good until the next call.  The
 * object is one that the extractor took. */
#ifndef MUSTER_TESTS_SUPPORT_EXTRACT_H
#define MUSTER_TESTS_SUPPORT_EXTRACT_H

#include "frontend/decode/extract.h"

#include <cjson/cJSON.h>

const char *pod_differs(const struct pod_object *pod, const cJSON *object);
const char *node_differs(const struct node_object *node, const cJSON *object);
const char *meta_differs(const struct meta *meta, const cJSON *object);
const char *service_differs(const struct service_object *service, const cJSON *object);
const char *controller_differs(const struct controller_object *controller, const cJSON *object,
                               bool is_map);

/* The value of the last member of that name; of null, or of none, NULL. */
const cJSON *tree_get(const cJSON *object, const char *name);
/* The same of all members `part` of the object together: spec, metadata, status. */
const cJSON *tree_of(const cJSON *object, const char *part, const char *name);
const char *tree_string(const cJSON *value); /* "" when it is none */

#endif
