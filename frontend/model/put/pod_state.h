/* SPDX-License-Identifier: Apache-2.0 */
/* The next state of a pod, read from its object, before its entry takes it over. */
#ifndef MUSTER_FRONTEND_MODEL_POD_STATE_H
#define MUSTER_FRONTEND_MODEL_POD_STATE_H

#include "frontend/model/base/state.h"

/* What is a number or a slot is referenced. */
struct pod_state {
	uint32_t shape;
	uint32_t gang; /* not yet joined; ID_NONE */
	uint32_t gang_dialect;
	uint32_t declared_spec;
	uint32_t role;
	uint32_t node;
	uint32_t scheduler;
	uint8_t flags;
	bool retry;
	bool unaccounted; /* it is bound, and its usage could not be stored */
	uint32_t read_at; /* it is bound; resources without a column then, model.columns_taken, were
	                   * skipped; UINT32_MAX: none */
	uint32_t namespace;
	struct pod_label *labels;
	uint32_t labels_n;
	uint32_t owner;
	uint8_t owner_kind;
	uint32_t policy; /* not yet joined; ID_NONE */
	bool spreads;
	bool bare;           /* as in struct pod_entry */
	bool unshaped;       /* its shape could not be stored */
	const char *refusal; /* "": none */
	bool refusal_is_kube;
	uint32_t devices;  /* number of what it needs (frontend/devices/devices.h); 0: none */
	const char *flag;  /* of a limit that was reached, NULL */
	const char *fault; /* of rules that a bound pod is counted without, NULL */
};

/* `known`: the pod's slot, or SLOT_NONE.
 *   -ENOSPC  with s->flag: its node found no slot; nothing is referenced */
int pod_state_of(struct model *m, const struct pod_object *pod, uint32_t known,
                 struct pod_state *s);
void pod_state_release(struct model *m, struct pod_state *s);
/* pod_objects.c: gives the object to the entry, a new one if it is SLOT_NONE.
 *   -ENOSPC, -EINVAL  as model_put(); m->last_put is the entry if there is one */
int pod_accept(struct model *m, uint32_t pod, const struct pod_object *object,
               struct decode_error *error);
/* It names resource claims, or asks for a resource of a domain, which devices may serve. */
bool pod_may_claim(const struct pod_object *pod);
/* Refuse the pod; the first text stays. */
void pod_state_refuse(struct pod_state *s, const char *text);

#endif
