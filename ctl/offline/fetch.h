/* SPDX-License-Identifier: Apache-2.0 */
/* Every object that placement depends on, from a live API server, as kubectl get prints them. */
#ifndef MUSTER_CTL_FETCH_H
#define MUSTER_CTL_FETCH_H

#include "ctl/objects/files.h"
#include "ctl/term/options.h"
#include "frontend/api/kubeconfig.h"

/* Flags of the commands that read the API server, into a struct access_options. */
#define FLAG_KUBECONFIG(type, field)                                                               \
	{                                                                                              \
		"kubeconfig", 0, "--kubeconfig FILE", KUBECONFIG_HELP, NULL, option_text,                  \
			offsetof(type, field.kubeconfig)                                                       \
	}
#define KUBECONFIG_HELP                                                                            \
	"the API server; else $KUBECONFIG, else the pod's service\naccount, else ~/.kube/config"
#define FLAG_CONTEXT(type, field)                                                                  \
	{                                                                                              \
		"context", 0, "--context NAME", "of the kubeconfig, instead of its current-context", NULL, \
			option_text, offsetof(type, field.context)                                             \
	}

/* Lists all of them into `files`; kinds that the cluster does not serve are skipped. 0, or `error`
 * and -EACCES: the caller may not list one of them, -EIO: anything else. */
int fetch_all(struct files *files, const struct access_options *options, char *error,
              size_t error_bytes);

/* The same with only the nodes that have these labels, as muster-frontend --node-selector; NULL:
 * all. */
int fetch_selected(struct files *files, const struct access_options *options,
                   const char *node_selector, char *error, size_t error_bytes);

/* ResourceSlices and ResourceClaims, and if wanted DeviceClasses.  False and `error`, also where
 * they are not served. */
bool fetch_claims(struct files *files, const struct access_options *options, bool classes,
                  char *error, size_t error_bytes);

/* What the caller may see of gangs: pods, and the objects that describe groups. */
struct fetch_gangs {
	const struct access_options *access;
	const char *namespace; /* NULL: all */
	const char *selector;  /* of pods, for `selected`; NULL: none */
	struct model *served;  /* learns which kinds the cluster serves */
	char refused[1024];    /* the kinds whose list the API server refused: "podgroups, jobs" */
};

/* Lists them into `files`, and the pods of the selector into `selected` as well. Without the right
 * to list pods it fails; kinds of groups that may not be listed are named in q->refused. False and
 * `error`. */
bool fetch_gangs(struct fetch_gangs *q, struct files *files, struct files *selected, char *error,
                 size_t error_bytes);

/* Nodes and what is bound to them, as the caller may see it. */
struct fetch_nodes {
	const struct access_options *access;
	const char *name;     /* of one node; NULL: all */
	const char *selector; /* of nodes; NULL: all */
	bool pods;            /* also pods with a node, and the objects that describe their groups */
	struct model *served; /* learns which kinds the cluster serves */
	char refused[1024];   /* as in struct fetch_gangs */
};

/* Lists them into `files`.  False and `error`. */
bool fetch_nodes(struct fetch_nodes *q, struct files *files, char *error, size_t error_bytes);

#endif
