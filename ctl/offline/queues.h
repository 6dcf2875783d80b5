/* SPDX-License-Identifier: Apache-2.0 */
/* The queues of files, for the core (core/share/share.h): muster's own file, or the objects of
 * Volcano, Koordinator or KAI, and which queue each pod names.
 *
 *   queues_read() ─► queues_bind() by the model's names and pods ─► struct share_set */
#ifndef MUSTER_CTL_QUEUES_H
#define MUSTER_CTL_QUEUES_H

#include "core/share/share.h"
#include "ctl/objects/files.h"
#include "ctl/term/options.h"
#include "frontend/model/model.h"

struct queues;

#define QUEUES_HELP                                                                                \
	"share the cluster by queues: volcano, koordinator or kai takes the\n"                         \
	"Queues or ElasticQuotas of the files; else FILE is muster's own\n"                            \
	"list of queues, or a ConfigMap with it (docs/fairness.md)"
#define FLAG_UNSHARED(type, field)                                                                 \
	{                                                                                              \
		"unshared-resource", 0, "--unshared-resource NAME",                                        \
			"with --queues, a resource that does not count in the order of turns;\n"               \
			"may be repeated (default pods and ephemeral-storage)",                                \
			NULL, option_texts, offsetof(type, field)                                              \
	}

/* `source` as of --queues; `unshared` as of --unshared-resource, good as long as the result.  NULL
 * and `error`: file, queue, field and value. */
struct queues *queues_read(const char *source, const struct arguments *unshared,
                           const struct files *files, char *error, size_t error_bytes);
void queues_free(struct queues *q);

/* True if the object is a queue that was taken; what follows a space in `kind` is passed over. */
bool queues_take(const struct queues *q, const char *api_version, const char *kind);

/* Amounts by the model's resource ids, and the queue of each of its pods (below `pods`).  Lives as
 * long as `q`.  Resources that no node and no pod has are left out. */
const struct share_set *queues_bind(struct queues *q, const struct model *model, uint32_t pods);

/* "volcano", "koordinator", "kai" or "config". */
const char *queues_source(const struct queues *q);

/* The queue that a pod names, and "namespace/name" of the pod; good as long as `q`. */
const char *queues_name(const struct queues *q, uint32_t queue);
const char *queues_named(const struct queues *q, uint32_t pod);
const char *queues_pod_name(const struct queues *q, uint32_t pod);

/* musterctl queues of files: what each queue has once everything pending in them was placed,
 * with `evicts` as of struct offline_config; `order`: whose turn comes next among the gangs that
 * wait then.  Returns the exit code. */
int queues_files(const struct arguments *paths, const char *source,
                 const struct arguments *unshared, uint32_t evicts, bool order, enum output output,
                 const char *command);

#endif
