/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/preempt/preempt.h"

#include "ctl/offline/verdict.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MOST UINT64_C(100000000) /* about a second */

static bool read_policy(const char *command, const struct preempt_options *o,
                        struct facts_policy *out)
{
	char *end;

	*out = (struct facts_policy){ .respect = true, .steps_most = STEPS_MOST };
	if (o->victims != NULL && strcmp(o->victims, "own") != 0 && strcmp(o->victims, "all") != 0)
		return ctl_usage(command, "--preempt-victims %s: own or all", o->victims), false;
	if (o->budgets != NULL && strcmp(o->budgets, "respect") != 0 &&
	    strcmp(o->budgets, "best-effort") != 0)
		return ctl_usage(command, "--preempt-budgets %s: respect or best-effort", o->budgets),
		       false;
	out->all = o->victims != NULL && strcmp(o->victims, "all") == 0;
	out->respect = o->budgets == NULL || strcmp(o->budgets, "respect") == 0;
	if (o->steps == NULL)
		return true;
	errno = 0;
	out->steps_most = strtoull(o->steps, &end, 10);
	if (errno != 0 || end == o->steps || *end != '\0' || strchr(o->steps, '-') != NULL)
		return ctl_usage(command, "--search-steps %s: not a number", o->steps), false;
	return true;
}

/* The answer about a pod whose objects alone exclude it: no node is tried. */
static void refuse(struct pod_search *search, const struct offline *o, bool never)
{
	*search = (struct pod_search){ .answer = never ? POD_NEVER : POD_NONE };
	search->tries = must_array(offline_ledger(o)->limits.nodes, sizeof(*search->tries));
}

static bool starts(enum pod_answer answer)
{
	return answer == POD_FITS || answer == POD_WAITS || answer == POD_VICTIMS;
}

static int ask_pods(struct offline *o, struct facts *facts, const struct pod_view *pods, size_t n,
                    enum output output)
{
	size_t nodes_n;
	struct verdict_node *nodes = verdict_nodes(o, &nodes_n);
	int rc = EXIT_DONE;

	if (output == OUTPUT_JSON && n > 1)
		fputs("[", stdout);
	for (size_t i = 0; i < n; i++) {
		const struct pod_view *pod = &pods[i];
		const struct search_facts *known = facts_for(facts, pod->scheduler_name);
		struct pod_search search;
		int asked;

		if (i > 0)
			fputs(output == OUTPUT_JSON ? ",\n" : "\n", stdout);
		if (pod->refusal[0] != '\0') {
			refuse(&search, o, known->pods[pod->id].never);
		} else {
			asked = search_pod(offline_core(o), known, pod->id, &search);
			assert(asked == 0); /* it is pending, so the core has it */
			(void)asked;
		}
		preempt_print_pod(&(struct pod_answered){ o, pod, &search, nodes, nodes_n }, output);
		if (!starts(search.answer))
			rc = EXIT_NO;
		pod_search_free(&search);
	}
	if (output == OUTPUT_JSON)
		fputs(n > 1 ? "]\n" : "\n", stdout);
	free(nodes);
	return rc;
}

/* The gang of that name, or ID_NONE. */
static gang_id find_gang(const struct model *m, const char *name, struct gang_view *view)
{
	const char *slash = strchr(name, '/');

	for (gang_id id = 0; slash != NULL && id < model_gang_slots(m); id++) {
		const uint32_t generation = model_gang_generation(m, id);

		if (generation != 0 && model_gang(m, id, generation, view) &&
		    strlen(view->namespace) == (size_t)(slash - name) &&
		    strncmp(view->namespace, name, (size_t)(slash - name)) == 0 &&
		    strcmp(view->name, slash + 1) == 0)
			return id;
	}
	return ID_NONE;
}

static int ask_gang(const char *command, struct offline *o, struct facts *facts, const char *name,
                    enum output output)
{
	struct gang_view view;
	const gang_id id = find_gang(offline_model(o), name, &view);
	struct gang_search search;
	int rc;

	if (id == ID_NONE)
		return ctl_usage(command, "--gang %s: there is no such gang in these objects", name);
	if (search_gang(offline_core(o), facts_for(facts, view.scheduler_name), id, &search) < 0)
		return ctl_usage(command, "--gang %s: the core has no such gang", name);
	preempt_print_gang(o, name, &search, output);
	rc = search.found || search.answer == VICTIMS_NEEDLESS || search.answer == VICTIMS_WAITS
	         ? EXIT_DONE
	         : EXIT_NO;
	gang_search_free(&search);
	return rc;
}

static int answer(const char *command, const struct preempt_options *options, struct offline *o,
                  const struct files *files, enum output output)
{
	struct facts_policy policy;
	struct facts *facts;
	struct pod_view *pods = must_array(options->pods.n + 1, sizeof(*pods));
	char error[2048];
	int rc = EXIT_DONE;

	if (!read_policy(command, options, &policy))
		rc = EXIT_USAGE;
	for (size_t i = 0; rc == EXIT_DONE && i < options->pods.n; i++)
		if (!verdict_find_pod(command, options->pods.at[i], o, files, &pods[i]))
			rc = EXIT_USAGE;
	if (rc == EXIT_DONE) {
		facts = facts_new(o, files, &policy, error, sizeof(error));
		if (facts == NULL)
			rc = ctl_usage(command, "%s", error);
		else if (options->gang != NULL)
			rc = ask_gang(command, o, facts, options->gang, output);
		else
			rc = ask_pods(o, facts, pods, options->pods.n, output);
		facts_free(facts);
	}
	free(pods);
	return rc;
}

int preempt_explain(const char *command, const struct preempt_options *options,
                    const struct arguments *paths, enum output output, enum score_policy score)
{
	const struct offline_config config = { .score = score, .reads_budgets = true };
	struct files *files = files_new();
	struct offline *o = offline_new(&config);
	char text[2048];
	int rc;

	if (!offline_read(o, files, paths->at, paths->n, text, sizeof(text)) ||
	    !offline_start(o, text, sizeof(text))) {
		rc = ctl_usage(command, "%s", text);
	} else {
		offline_say(o, files, command);
		rc = answer(command, options, o, files, output);
	}
	offline_free(o);
	files_free(files);
	return rc;
}
