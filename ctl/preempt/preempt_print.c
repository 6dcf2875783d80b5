/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as JSON (a contract, see the design, section 7) or as text. */
#include "ctl/offline/verdict.h"
#include "ctl/preempt/preempt.h"
#include "ctl/term/former.h"
#include "ctl/term/print.h"
#include "ctl/term/table.h"
#include "ipc/clean.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER_TEXT "not eligible due to preemptionPolicy=Never."
#define TERMINATING_TEXT "not eligible due to a terminating pod on the nominated node."

/* defaultpreemption: PodEligibleToPreemptOthers; NULL: it is eligible. */
static const char *ineligible_text(enum pod_answer answer)
{
	if (answer == POD_NEVER)
		return NEVER_TEXT;
	return answer == POD_TERMINATING ? TERMINATING_TEXT : NULL;
}

/* Why evicting does not help (framework/preemption: Preempt), to be freed. */
static char *preemption_text(const struct pod_answered *a)
{
	const struct reason_names names = reason_names_of(offline_model(a->offline));
	struct parts parts = { 0 };
	char *text;

	for (size_t i = 0; i < a->nodes_n; i++) {
		const node_id id = a->nodes[i].id;

		if (a->search->tries[id] == TRY_NO_ROOM)
			parts_count_node(&parts, &names, &a->search->after, id, NULL, NULL);
		else if (a->search->tries[id] == TRY_NO_VICTIMS)
			parts_count(&parts, "No preemption victims found for incoming pod", false);
		else
			parts_count(&parts, "Preemption is not helpful for scheduling", false);
	}
	text = parts_message(&parts, a->nodes_n);
	parts_free(&parts);
	return text;
}

/* A PreFilter plugin rejects the pod: then the PostFilter plugin DynamicResources has no state to
 * read, whose error ends the message. */
static bool is_rejected(const struct pod_answered *a)
{
	if (a->pod->refusal[0] != '\0')
		return a->pod->refusal_is_kube;
	return a->search->first.whole != FILTER_PASSED;
}

/* kube-scheduler's whole FailedScheduling text, to be freed; NULL: some node is feasible. */
static char *message_of(const struct pod_answered *a)
{
	const enum pod_answer answer = a->search->answer;
	const struct evaluation *first = a->pod->refusal[0] == '\0' ? &a->search->first : NULL;
	const char *why = ineligible_text(answer);
	char *inner = NULL, *text;
	struct verdict v;

	if (answer == POD_FITS)
		return NULL;
	verdict_make(&v, a->offline, a->pod, first, a->nodes, a->nodes_n);
	if (answer == POD_NONE)
		why = inner = preemption_text(a);
	if (is_rejected(a))
		text = ctl_print("%s not found", v.message);
	else if (why == NULL || a->pod->refusal[0] != '\0' || v.message == NULL)
		text = must_copy(v.message != NULL ? v.message : "");
	else
		text = ctl_print("%s no new claims to deallocate, preemption: %s", v.message, why);
	verdict_free(&v);
	free(inner);
	return text;
}

/* "ns/name", to be freed. */
static char *pod_name(struct offline *o, pod_id pod)
{
	uint32_t bytes;
	const char *name = search_pod_name(offline_core(o), pod, &bytes);

	return ctl_print("%.*s", (int)bytes, name);
}

static void add_pods(cJSON *object, struct offline *o, const pod_id *pods, uint32_t n)
{
	cJSON *list = json_checked(cJSON_AddArrayToObject(object, "victims"));

	for (uint32_t i = 0; i < n; i++) {
		char *name = pod_name(o, pods[i]);

		cJSON_AddItemToArray(list, json_checked(cJSON_CreateString(name)));
		free(name);
	}
}

static const char *const pod_outcomes[] = {
	[POD_FITS] = "fits",       [POD_NEVER] = "never",   [POD_TERMINATING] = "never",
	[POD_WAITS] = "waits",     [POD_VICTIMS] = "evict", [POD_NONE] = "none",
	[POD_GAVE_UP] = "gave up",
};

/* The node that is chosen, or NULL. */
static const struct node_victims *chosen(const struct pod_search *s)
{
	return s->nodes_n > 0 ? &s->nodes[s->best] : NULL;
}

static void add_or_null(cJSON *object, const char *name, const char *text)
{
	if (text != NULL)
		json_add_text(object, name, text);
	else
		json_checked(cJSON_AddNullToObject(object, name));
}

static void print_candidates(const struct pod_answered *a)
{
	for (uint32_t i = 0; i < a->search->nodes_n; i++) {
		const struct node_victims *v = &a->search->nodes[i];
		cJSON *o = json_checked(cJSON_CreateObject());

		json_add_text(o, "node", offline_node_name(a->offline, v->node));
		add_pods(o, a->offline, v->pods, v->objective.pods);
		json_add_number(o, "violations", (int64_t)v->objective.violations);
		json_print_line(o, i == 0);
	}
}

/* The object without its last brace, so that candidates follow, a line each. */
static void print_pod_json(const struct pod_answered *a)
{
	const struct node_victims *best = chosen(a->search);
	const char *why = ineligible_text(a->search->answer);
	char *name = ctl_print("%s/%s", a->pod->namespace, a->pod->name), *message = message_of(a);
	cJSON *o = json_checked(cJSON_CreateObject());
	char *text;

	json_add_text(o, "pod", name);
	json_add_text(o, "outcome", pod_outcomes[a->search->answer]);
	json_checked(cJSON_AddBoolToObject(o, "eligible", why == NULL));
	add_or_null(o, "reason", why);
	add_or_null(o, "node", best != NULL ? offline_node_name(a->offline, best->node) : NULL);
	add_pods(o, a->offline, best != NULL ? best->pods : NULL,
	         best != NULL ? best->objective.pods : 0);
	json_add_number(o, "violations", best != NULL ? (int64_t)best->objective.violations : 0);
	add_or_null(o, "message", message);
	json_add_former(o);
	text = cJSON_PrintUnformatted(o);
	if (text == NULL)
		fatal_memory();
	clean_lines(text);
	text[strlen(text) - 1] = '\0';
	printf("%s,\n \"candidates\": [", text);
	print_candidates(a);
	fputs("]}", stdout);
	cJSON_free(text);
	cJSON_Delete(o);
	free(name);
	free(message);
}

static void print_nodes(const struct pod_answered *a, enum output output)
{
	struct text_table *t = text_table_new("LRRL");

	text_table_cell(t, "NODE");
	text_table_cell(t, "VICTIMS");
	text_table_cell(t, "VIOLATIONS");
	text_table_cell(t, "HIGHEST PRIORITY");
	for (uint32_t i = 0; i < a->search->nodes_n; i++) {
		const struct node_victims *v = &a->search->nodes[i];

		text_table_cell(t, "%s", offline_node_name(a->offline, v->node));
		text_table_cell(t, "%" PRIu32, v->objective.pods);
		text_table_cell(t, "%" PRIu64, v->objective.violations);
		text_table_cell(t, "%" PRId32, v->objective.highest);
	}
	text_table_fit(t, output, NULL);
	text_table_print(t, stdout);
	text_table_free(t);
}

static void print_victims(struct offline *o, const pod_id *pods, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		char *name = pod_name(o, pods[i]);

		ctl_say("  %s\n", name);
		free(name);
	}
}

static const char *const pod_texts[] = {
	[POD_FITS] = "it fits on a node as things are",
	[POD_NEVER] = "it may not preempt (preemptionPolicy: Never)",
	[POD_TERMINATING] = "its victims on the node it is nominated to have not gone yet",
	[POD_WAITS] = "it fits when the pods that are being deleted have gone",
	[POD_NONE] = "evicting pods of lower priority would not help",
	[POD_GAVE_UP] = "the search gave up: --search-steps",
};

static void print_pod_text(const struct pod_answered *a, enum output output)
{
	const struct node_victims *best = chosen(a->search);
	char *message = message_of(a);

	if (a->search->answer != POD_VICTIMS)
		ctl_say("%s/%s: %s\n", a->pod->namespace, a->pod->name, pod_texts[a->search->answer]);
	if (best != NULL) {
		ctl_say("%s/%s: with %" PRIu32 " pods of node %s evicted it would start:\n",
		        a->pod->namespace, a->pod->name, best->objective.pods,
		        offline_node_name(a->offline, best->node));
		print_victims(a->offline, best->pods, best->objective.pods);
		if (best->objective.violations > 0)
			ctl_say("%" PRIu64 " of them exceed a PodDisruptionBudget.\n",
			        best->objective.violations);
	}
	if (message != NULL)
		ctl_say("%s\n", message);
	if (a->search->nodes_n > 1)
		print_nodes(a, output);
	free(message);
}

void preempt_print_pod(const struct pod_answered *a, enum output output)
{
	if (output == OUTPUT_JSON)
		print_pod_json(a);
	else
		print_pod_text(a, output);
}

static const struct {
	const char *name, *text;
} gang_answers[] = {
	[VICTIMS_UNASKED] = { "unasked", "it does not wait for capacity: it lacks members, or has its "
	                                 "quorum" },
	[VICTIMS_NEVER] = { "never", "it may not preempt (preemptionPolicy: Never)" },
	[VICTIMS_NEEDLESS] = { "fits", "it fits as things are" },
	[VICTIMS_WAITS] = { "waits", "it fits when the pods that are being deleted have gone" },
	[VICTIMS_PROVED] = { "proved", "" },
	[VICTIMS_IMPOSSIBLE] = { "impossible", "evicting every pod of lower priority would not help" },
	[VICTIMS_GAVE_UP] = { "gave_up", "the search gave up: --search-steps" },
	[VICTIMS_DEVICES] = { "devices", "its pods ask for devices, which the search does not know" },
};

static void add_wide(cJSON *object, const char *name, uint64_t value)
{
	char text[32];

	/* More than a double holds. */
	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_add_text(object, name, text);
}

void preempt_objective_json(cJSON *answer, const struct objective *v)
{
	cJSON *o = json_checked(cJSON_AddObjectToObject(answer, "objective"));

	json_add_number(o, "violations", (int64_t)v->violations);
	json_add_number(o, "highest_priority", v->highest);
	json_add_number(o, "gangs_broken", v->broken);
	add_wide(o, "priority_sum", v->sum);
	json_add_number(o, "pods", v->pods);
	add_wide(o, "start_sum", v->start_sum);
}

static void print_gang_text(struct offline *o, const char *gang, const struct gang_search *s)
{
	const struct objective *v = &s->objective;

	if (s->answer != VICTIMS_PROVED)
		ctl_say("%s: %s\n", gang, gang_answers[s->answer].text);
	if (!s->found)
		return;
	ctl_say("%s: with %" PRIu32 " pods evicted it would start: no priority above %" PRId32
	        ", %" PRIu32 " gangs broken, %" PRIu64 " budgets exceeded.\n",
	        gang, v->pods, v->highest, v->broken, v->violations);
	print_victims(o, s->pods, v->pods);
	ctl_say(s->answer == VICTIMS_PROVED ? "Proved: there is no better set.\n"
	                                    : "There may be a better set.\n");
}

void preempt_print_gang(struct offline *offline, const char *gang, const struct gang_search *s,
                        enum output output)
{
	cJSON *o;

	if (output != OUTPUT_JSON) {
		print_gang_text(offline, gang, s);
		return;
	}
	o = json_checked(cJSON_CreateObject());
	json_add_text(o, "gang", gang);
	json_add_text(o, "answer", gang_answers[s->answer].name);
	if (s->found)
		preempt_objective_json(o, &s->objective);
	else
		json_checked(cJSON_AddNullToObject(o, "objective"));
	add_pods(o, offline, s->pods, s->found ? s->objective.pods : 0);
	json_add_number(o, "steps", (int64_t)s->steps);
	json_print(o, true);
}
