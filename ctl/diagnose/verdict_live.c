/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/verdict_live.h"

#include "core/filter/evaluate.h"
#include "ctl/diagnose/file_pod.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text of HELD_... about a gang, of which many nodes have the same. */
struct held {
	uint32_t kind, gang;
	char *text;
};

/* The answer about one pod. */
struct answered {
	struct live *live;
	const char *pod;
	const struct file_pod *file; /* NULL: the cluster has the pod */
	struct live_answer answer;   /* the last page */
	struct question_row *rows;   /* of all pages */
	uint32_t rows_n;
	struct verdict_node *nodes; /* of the rows whose nodes are still there; own their names */
	size_t nodes_n;
	struct held *held;
	size_t held_n;
	struct verdict verdict;
};

/* The pages one after the other; EXIT_DONE, or the exit code and a message. */
static int pages_take(struct answered *a)
{
	struct live_question q = { .version = QUESTION_VERSION, .about = ABOUT_POD };
	const struct question_page *page = &a->answer.page;
	int rc;

	snprintf(q.pod, sizeof(q.pod), "%s", a->pod);
	do {
		q.from = a->rows_n;
		rc = a->file != NULL && q.number == 0 ? live_ask_pod(a->live, &a->file->records, &a->answer)
		                                      : live_ask(a->live, &q, &a->answer);
		if (rc != EXIT_DONE || a->answer.verdict != QUESTION_NODES)
			return rc;
		if (page->from != a->rows_n || page->nodes > a->live->observer.places.limits.nodes ||
		    (page->rows_n == 0 && page->nodes > a->rows_n)) {
			fprintf(stderr, "%s: the answer of muster-core makes no sense\n", a->live->command);
			return EXIT_NO;
		}
		a->rows = must_grow(a->rows, (a->rows_n + page->rows_n + 1u) * sizeof(*a->rows));
		memcpy(a->rows + a->rows_n, page->rows, page->rows_n * sizeof(*a->rows));
		a->rows_n += page->rows_n;
		q.number = page->number;
	} while (a->rows_n < page->nodes);
	return EXIT_DONE;
}

static const char *gang_name(const struct answered *a, uint32_t gang, struct gang_copy *copy)
{
	if (gang < a->live->observer.places.limits.gangs)
		return observe_gang(&a->live->observer, gang, copy) ? copy->name : "a gang";
	return gang == a->answer.reserved_gang && a->answer.text[0] != '\0' ? a->answer.text
	                                                                    : "another pod";
}

static const char *held_text(struct answered *a, const struct question_row *r)
{
	const uint32_t gang = r->held == HELD_RESERVED ? a->answer.reserved_gang : r->promised;
	struct gang_copy copy;
	const char *name;
	struct held *h;

	for (size_t i = 0; i < a->held_n; i++)
		if (a->held[i].kind == r->held && a->held[i].gang == gang)
			return a->held[i].text;
	a->held = must_grow(a->held, (a->held_n + 1) * sizeof(*a->held));
	h = &a->held[a->held_n++];
	name = gang_name(a, gang, &copy);
	*h = (struct held){ .kind = r->held, .gang = gang };
	if (r->held == HELD_RESERVED)
		h->text = ctl_print(
			"node(s) with capacity reserved for %s, which is before it in the queue", name);
	else
		h->text = ctl_print("node(s) %s promised to %s",
		                    r->held == HELD_PROMISED ? "with capacity" : "where it may be", name);
	return h->text;
}

/* Rows become an evaluation of this process; a node that is gone meanwhile is left out. */
static void nodes_fill(struct answered *a, struct evaluation *e)
{
	const struct limits *limits = &a->live->observer.places.limits;
	struct node_view node;

	a->nodes = must_array(a->rows_n + 1u, sizeof(*a->nodes));
	for (uint32_t i = 0; i < a->rows_n; i++) {
		const struct question_row *r = &a->rows[i];

		if (r->node >= limits->nodes || !observe_node(&a->live->observer, r->node, &node) ||
		    node.generation != r->generation)
			continue;
		e->whys[r->node] = r->whys;
		e->taint[r->node] = r->taint;
		e->short_of[r->node] = r->short_of;
		e->scores[r->node] = r->score;
		a->nodes[a->nodes_n++] =
			(struct verdict_node){ .name = must_copy(node.name),
			                       .id = r->node,
			                       .held = r->whys == 0 && r->held != HELD_NONE ? held_text(a, r)
			                                                                    : NULL,
			                       .binding = r->binding,
			                       .nominated = r->nominated };
	}
	verdict_nodes_sort(a->nodes, a->nodes_n);
}

/* muster-core has no text for a resource that only the pod of the file asks for. */
static const char *name_of(const void *context, uint32_t id)
{
	const struct answered *a = context;
	const char *name = a->file != NULL ? file_names_find(&a->file->names, id) : NULL;

	return name != NULL ? name : live_name(a->live, id);
}

static void verdict_take(struct answered *a)
{
	const struct reason_names names = { .resource = name_of, .taint = name_of, .context = a };
	const struct question_page *page = &a->answer.page;
	struct amount absent[RESOURCES_MAX] = { 0 };
	struct evaluation e;

	evaluation_init(&e, &a->live->observer.places.limits, false);
	for (uint32_t i = 0; i < page->absent_n; i++)
		absent[i].resource = page->absent[i];
	e.absent = absent;
	e.absent_n = page->absent_n;
	nodes_fill(a, &e);
	verdict_fill(&a->verdict, must_copy(a->pod), &names, NULL, "", &e, a->nodes, a->nodes_n);
	a->verdict.queue_waits = a->answer.queue_waits != 0;
	evaluation_free(&e);
}

/* The message of a pod that has a node. */
static int say_placed(const struct answered *a)
{
	static const char *const before[PLACED_KINDS] = { [PLACED_BOUND] = "it is bound to node",
		                                              [PLACED_BINDING] =
		                                                  "its binding is in flight to node",
		                                              [PLACED_NOMINATED] =
		                                                  "it is nominated to node" };
	const struct question_page *page = &a->answer.page;
	struct node_view node = { .name = "(gone)" };

	if (page->node < a->live->observer.places.limits.nodes)
		observe_node(&a->live->observer, page->node, &node);
	return ctl_usage(a->live->command, "--pod %s: %s %s, only a pending pod is judged", a->pod,
	                 before[page->placed < PLACED_KINDS ? page->placed : PLACED_BOUND], node.name);
}

static int answer_take(struct answered *a)
{
	const size_t n = strlen(a->pod);
	const char *slash = strchr(a->pod, '/');
	int rc;

	if (slash == NULL || slash == a->pod || slash[1] == '\0' || n >= QUESTION_NAME)
		return ctl_usage(a->live->command, "--pod %s: not of the form NS/NAME", a->pod);
	rc = pages_take(a);
	if (rc != EXIT_DONE)
		return rc;
	if (a->answer.verdict == QUESTION_PLACED)
		return say_placed(a);
	verdict_take(a);
	return EXIT_DONE;
}

static void answered_free(struct answered *a)
{
	verdict_free(&a->verdict);
	for (size_t i = 0; i < a->nodes_n; i++)
		free((char *)(uintptr_t)a->nodes[i].name);
	for (size_t i = 0; i < a->held_n; i++)
		free(a->held[i].text);
	free(a->nodes);
	free(a->held);
	free(a->rows);
}

static int verdict_file(struct live *l, const struct verdict_options *o, const char *listen)
{
	struct file_pod file;
	struct answered a = { .live = l, .file = &file };
	int rc = file_pod_read(l->command, &o->files, listen, &file);

	a.pod = file.name;
	if (rc == EXIT_DONE)
		rc = answer_take(&a);
	if (rc == EXIT_DONE)
		rc = verdict_print(&a.verdict, 1, o->output);
	answered_free(&a);
	file_pod_free(&file);
	return rc;
}

static int verdict_pods(struct live *l, const struct verdict_options *o)
{
	struct answered *all = must_array(o->pods.n, sizeof(*all));
	struct verdict *verdicts = must_array(o->pods.n, sizeof(*verdicts));
	int rc = EXIT_DONE;

	for (size_t i = 0; rc == EXIT_DONE && i < o->pods.n; i++) {
		all[i].live = l;
		all[i].pod = o->pods.at[i];
		rc = answer_take(&all[i]);
		verdicts[i] = all[i].verdict;
	}
	if (rc == EXIT_DONE)
		rc = verdict_print(verdicts, o->pods.n, o->output);
	for (size_t i = 0; i < o->pods.n; i++)
		answered_free(&all[i]);
	free(verdicts);
	free(all);
	return rc;
}

int verdict_live(struct live *l, const struct verdict_options *o, const char *listen)
{
	return o->files.n > 0 ? verdict_file(l, o, listen) : verdict_pods(l, o);
}
