/* SPDX-License-Identifier: Apache-2.0 */
/* All settings in one table, from which the flags of muster-frontend with their help, the keys of
 * the configuration file (frontend/config/config.h), --help-config and docs/configuration.md are
 * made.
 *
 * The section "core" belongs to muster-core: it is checked here, and `musterctl up` passes it on as
 * flags. */
#ifndef MUSTER_FRONTEND_SETTINGS_H
#define MUSTER_FRONTEND_SETTINGS_H

#include "frontend/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_LIST_MAX 64

struct text_list {
	const char *at[TEXT_LIST_MAX];
	size_t n;
};

/* A bit for each setting. */
__extension__ typedef unsigned __int128 setting_set;

/* The values. Unset texts are NULL, unset numbers -1. It owns its texts. */
struct options {
	const char *socket;
	const char *kubeconfig;
	const char *context;
	const char *listen, *health_listen; /* "off": nowhere */
	const char *log_level;
	const char *log_format;
	const char *seccomp;
	const char *node_selector;
	const char *max_memory;
	struct text_list scheduler_names;
	struct text_list allowed_hosts;
	struct text_list dialects; /* enabled ones */
	struct text_list dialects_off;
	struct text_list volcano_queues; /* whose PodGroups become Inqueue */
	bool policies;
	bool job_deadlines;
	bool queue_status;              /* what queues use is written into their objects */
	const char *stream_lists;       /* "off" or "auto" */
	const char *devices;            /* "off" or "auto" */
	const char *preemption;         /* "off", "explain" or "on" */
	const char *preemption_budgets; /* "respect" or "best-effort" */
	const char *preempt_victims;    /* "own" or "all" */
	const char *reclaim;            /* "off", "guarantee" or "fair" */
	int64_t preempt_min_run_s, preempt_cooldown_s, preempt_patience_s, reclaim_patience_s;
	int64_t evictions_per_second;
	const char *queues; /* "none", "auto", "config" ...: in the order of enum model_queues_of */
	const char *queues_configmap;
	struct text_list unshared; /* resources that don't count in the order of turns */
	int64_t history_factor, history_half_life_s;
	int64_t bind_connections;
	int64_t volume_bind_s; /* 0: claims that wait for a consumer are not bound */
	int64_t device_bind_s;
	int64_t report_per_second;
	int64_t core_stall_s;
	int64_t extender_keep_s; /* 0: no extender */
	int64_t extender_reservations;
	const char *extender_auth;
	struct text_list extender_users;
	const char *tls_cert, *tls_key, *client_ca;
	int64_t event_ring_bytes;
	int64_t result_ring_bytes;
	int64_t cpu;
	bool insecure;

	bool leader_elect;
	int64_t lease_s, renew_s, retry_s;
	const char *lease_name, *lease_namespace;
	const char *journal; /* "off": none */

	int64_t permit_s; /* of scheduler-plugins' groups without a timeout */
	int64_t backoff_s;
	int64_t reject_percent;
	int64_t denied_s;
	int64_t configmap_s;
	int64_t annotations_s;

	struct {
		const char *score;
		const char *record;
		const char *log_level;
		const char *log_format;
		const char *seccomp;
		const char *max_memory;
		int64_t reserve_after_s;
		int64_t retain_for_s;
		int64_t promise_depth, promise_grain_s, promise_window_s;
		const char *by_soft;
		int64_t spin_us;
		int64_t searchers;
		int64_t cpu;
		int64_t max_nodes, max_pods, max_gangs, max_shapes, max_resources, max_names,
			max_name_bytes;
		int64_t command_ring_bytes;
		int64_t record_bytes;
	} core;

	setting_set from_file; /* bit i: settings[i] was in the file */
	setting_set from_flag; /* ... was a flag */
	struct arena texts;
};

enum setting_kind {
	SETTING_TEXT,
	SETTING_LISTEN,    /* ADDR:PORT, or "off" */
	SETTING_SELECTOR,  /* of labels */
	SETTING_JOURNAL,   /* NAMESPACE/NAME, or "off" */
	SETTING_OBJECT,    /* NAMESPACE/NAME */
	SETTING_WORD,      /* one of `words` */
	SETTING_NUMBER,    /* from `least` to `most` */
	SETTING_POWER,     /* the same, a power of two */
	SETTING_BYTES,     /* a size, as a text: ipc/size.h */
	SETTING_YES,       /* true or false */
	SETTING_NAMES,     /* a list of texts; the flag may be repeated */
	SETTING_RESOURCES, /* likewise of names of resources; it may be empty */
	SETTING_DIALECTS,  /* a list of names of dialects */
};

struct setting {
	const char *path;     /* in the file: "coscheduling.podGroupBackoffSeconds" */
	const char *flag;     /* "--listen", of muster-core in its section; NULL: none */
	const char *argument; /* of the flag, in the help; or the unit, for the file */
	const char *initial;  /* as a flag has it; NULL: not set */
	const char *help;     /* starts in lower case, ends without a full stop */
	const char *const *words;
	size_t at; /* offset of the field in struct options */
	int64_t least, most;
	enum setting_kind kind;
	bool without_effect;     /* accepted for users of scheduler-plugins, without effect */
	const char *former_path; /* the path before it was renamed, accepted as well; NULL: none */
};

/* At most as many settings and sections, checked when settings.c is compiled. */
#define SETTINGS_MAX 128
#define SETTINGS_SECTIONS_MAX 16

extern const struct setting settings[];
extern const size_t settings_n;

/* A section of the file: "coscheduling", and its purpose. */
struct settings_section {
	const char *name;
	const char *help;
};
extern const struct settings_section settings_sections[];
extern const size_t settings_sections_n;

/* Sets the defaults. */
void options_start(struct options *o);
void options_free(struct options *o);

/* Call after the file and the flags: reconciles both lists of dialects. */
void options_settle(struct options *o);

/* The journal's ConfigMap; false: none is kept.  Instances without leader election that divide a
 * cluster, by scheduler names or a node selector, have one each. */
struct journal_place {
	char namespace[64], name[254];
};
bool options_journal(const struct options *o, struct journal_place *out);

/* The ConfigMap of the history of queues, beside the journal; false: it does not count. */
bool options_past(const struct options *o, struct journal_place *out);

/* The ConfigMap of --queues config. */
void options_queues_place(const struct options *o, struct journal_place *out);
/* --queues as a number: the words in their order (enum model_queues_of). */
int options_queues(const struct options *o);

/* Bit i: dialects[i] is off. */
uint64_t options_off(const struct options *o);

/* By path or by flag of muster-frontend; NULL if there is none. */
const struct setting *setting_by_path(const char *path, size_t bytes);
const struct setting *setting_by_flag(const char *flag);
bool setting_is_list(const struct setting *s);
bool setting_is_number(const struct setting *s);
bool setting_of_core(const struct setting *s);
setting_set setting_bit(const struct setting *s);

/* Sets the value, or appends to a list. -EINVAL with the reason in `why`; nothing has changed. */
int setting_put(const struct setting *s, struct options *o, const char *text, char *why,
                size_t why_bytes);
/* Clears a list. */
void setting_clear(const struct setting *s, struct options *o);

/* The value as for a flag, in `room`: NULL if unset. Not for lists. */
const char *setting_get(const struct setting *s, const struct options *o, char cap[24]);
const struct text_list *setting_list(const struct setting *s, const struct options *o);

/* The accepted values: "1 to 64", "debug, info, warn or error", "ADDR:PORT"; "" for any. */
void setting_range(const struct setting *s, char *out, size_t out_bytes);

/* The most similar of these names to `text`, or NULL. */
const char *name_nearest(const char *text, const char *const *names, size_t n);

#endif
