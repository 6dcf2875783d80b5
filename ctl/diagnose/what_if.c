/* SPDX-License-Identifier: Apache-2.0 */
/* explain --what-if: the running core says whether a gang would start with a change, or a gang or
 * pods of files if they were created. */
#include "ctl/diagnose/explain_impl.h"
#include "ctl/diagnose/file_gang.h"
#include "ctl/live/live.h"
#include "ctl/term/print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_SHOWN 10u

struct what_if {
	const struct live *live;
	const struct arguments *changes; /* as they were given */
	bool created;                    /* the cluster does not have the gang */
	struct gang_copy gang;           /* of lone pods without a name */
	uint32_t lone;                   /* pods of files without a gang */
	const char *first;               /* the first of them */
	struct live_question question;
	struct live_answer answer;
	struct explain_victims victims;
	char *reason;
	char like[OBSERVE_NAME_MAX]; /* node; "": none were added */
};

static bool number_read(const char *text, int32_t *out, const char **end)
{
	char *after;
	long number;

	errno = 0;
	number = strtol(text, &after, 10);
	if (errno || after == text || number < INT32_MIN || number > INT32_MAX)
		return false;
	*out = (int32_t)number;
	*end = after;
	return true;
}

static bool name_read(const char *text, char out[QUESTION_NAME])
{
	const size_t n = strlen(text);

	if (n == 0 || n >= QUESTION_NAME)
		return false;
	memcpy(out, text, n + 1);
	return true;
}

/* "nodes=4", "nodes=4xn1", "priority=10", "without-pod=ns/a", "without-namespace=ns". */
static bool change_read(const char *text, struct question_change *c)
{
	const char *value = strchr(text, '='), *end;
	const size_t n = value ? (size_t)(value++ - text) : 0;

	if (n == strlen("nodes") && memcmp(text, "nodes", n) == 0) {
		c->kind = CHANGE_NODES;
		return number_read(value, &c->number, &end) && c->number >= 1 &&
		       c->number <= (int32_t)QUESTION_NODES_MAX &&
		       (*end == '\0' || (*end == 'x' && name_read(end + 1, c->name)));
	}
	if (n == strlen("priority") && memcmp(text, "priority", n) == 0) {
		c->kind = CHANGE_PRIORITY;
		return number_read(value, &c->number, &end) && *end == '\0';
	}
	if (n == strlen("without-pod") && memcmp(text, "without-pod", n) == 0) {
		c->kind = CHANGE_WITHOUT_POD;
		return name_read(value, c->name) && strchr(value, '/');
	}
	if (n == strlen("without-namespace") && memcmp(text, "without-namespace", n) == 0) {
		c->kind = CHANGE_WITHOUT_NAMESPACE;
		return name_read(value, c->name) && !strchr(value, '/');
	}
	return false;
}

/* EXIT_DONE, or the exit code and a message. */
static int changes_read(struct what_if *w)
{
	if (w->changes->n > QUESTION_CHANGES_MAX)
		return ctl_usage(w->live->command, "--what-if: at most %u changes", QUESTION_CHANGES_MAX);
	for (size_t i = 0; i < w->changes->n; i++)
		if (!change_read(w->changes->at[i], &w->question.changes[w->question.changes_n++]))
			return ctl_usage(w->live->command,
			                 "--what-if %s: not nodes=N or nodes=NxNODE (N from 1 to %u), "
			                 "priority=N, without-pod=NS/NAME or without-namespace=NS",
			                 w->changes->at[i], QUESTION_NODES_MAX);
	return EXIT_DONE;
}

static bool gang_find(struct what_if *w, const char *gang)
{
	const uint32_t there = observe_gangs_there(&w->live->observer);
	bool found = false;

	for (gang_id id = 0; !found && id < there; id++) {
		found = observe_gang(&w->live->observer, id, &w->gang) && strcmp(w->gang.name, gang) == 0;
		w->question.gang = id;
	}
	w->question.generation = w->gang.row.generation;
	return found;
}

static const char *node_text(const struct what_if *w, const struct question_place *p,
                             struct node_view *node, char out[OBSERVE_NAME_MAX + 32])
{
	if (p->node == ID_NONE)
		snprintf(out, OBSERVE_NAME_MAX + 32, "new node %" PRIu32, p->number);
	else if (p->node < w->live->observer.places.limits.nodes &&
	         observe_node(&w->live->observer, p->node, node))
		snprintf(out, OBSERVE_NAME_MAX + 32, "%s", node->name);
	else
		snprintf(out, OBSERVE_NAME_MAX + 32, "(gone)");
	return out;
}

static uint32_t listed(const struct live_answer *a)
{
	return a->nodes < QUESTION_PLACES ? a->nodes : QUESTION_PLACES;
}

static const char *verdict_text(const struct live_answer *a)
{
	return a->verdict == QUESTION_STARTS  ? "starts"
	       : a->verdict == QUESTION_WAITS ? "waits"
	                                      : "gave_up";
}

/* Of lone pods some may start though others wait. */
static bool has_places(const struct what_if *w)
{
	return w->answer.verdict == QUESTION_STARTS ||
	       (w->lone > 0 && w->answer.verdict == QUESTION_WAITS);
}

static void json_lone(cJSON *o, const struct what_if *w)
{
	const struct live_answer *a = &w->answer;

	json_checked(cJSON_AddNullToObject(o, "gang"));
	json_add_number(o, "pods", w->lone);
	json_add_number(o, "pods_started", a->members);
	if (a->verdict == QUESTION_WAITS)
		json_add_text(o, "pod_waits", a->text);
}

static void print_json(const struct what_if *w)
{
	const struct live_answer *a = &w->answer;
	cJSON *o = json_checked(cJSON_CreateObject());
	cJSON *changes, *places;
	char text[OBSERVE_NAME_MAX + 32];
	struct node_view node;
	struct gang_copy owner;

	if (w->lone > 0)
		json_lone(o, w);
	else
		json_add_text(o, "gang", w->gang.name);
	changes = json_checked(cJSON_AddArrayToObject(o, "what_if"));
	for (size_t i = 0; i < w->changes->n; i++)
		cJSON_AddItemToArray(changes, json_checked(cJSON_CreateString(w->changes->at[i])));
	json_add_text(o, "answer", verdict_text(a));
	if (w->like[0] != '\0')
		json_add_text(o, "nodes_like", w->like);
	json_add_number(o, "pods_without", a->without);
	places = json_checked(cJSON_AddArrayToObject(o, "places"));
	for (uint32_t i = 0; has_places(w) && i < listed(a); i++) {
		cJSON *place = json_checked(cJSON_CreateObject());

		json_add_text(place, "node", node_text(w, &a->places[i], &node, text));
		json_add_number(place, "members", a->places[i].members);
		cJSON_AddItemToArray(places, place);
	}
	json_add_number(o, "nodes", a->nodes);
	if (w->reason)
		json_add_text(o, "reason", w->reason);
	if (a->verdict == QUESTION_WAITS && a->victims.generation != 0)
		explain_victims_json(o, &w->victims);
	if (a->reserved_gang != ID_NONE)
		json_add_text(o, "room_held_for",
		              observe_gang(&w->live->observer, a->reserved_gang, &owner) ? owner.name
		                                                                         : "(gone)");
	json_checked(cJSON_AddBoolToObject(o, "queue_waits", a->queue_waits != 0));
	json_print(o, true);
}

static void print_places(const struct what_if *w)
{
	const struct live_answer *a = &w->answer;
	char text[OBSERVE_NAME_MAX + 32];
	struct node_view node;
	const uint32_t shown = listed(a) < PLACES_SHOWN ? listed(a) : PLACES_SHOWN;

	for (uint32_t i = 0; i < shown; i++)
		ctl_say("  %s: %" PRIu32 "\n", node_text(w, &a->places[i], &node, text),
		        a->places[i].members);
	if (a->nodes > shown)
		printf("  and %" PRIu32 " nodes more\n", a->nodes - shown);
}

static void print_beside(const struct what_if *w)
{
	const struct live_answer *a = &w->answer;
	struct gang_copy owner;

	if (a->reserved_gang != ID_NONE && observe_gang(&w->live->observer, a->reserved_gang, &owner))
		ctl_say("Capacity is reserved for %s, which is before it in the queue: what is reserved is "
		        "not left out here.\n",
		        owner.name);
	if (a->queue_waits)
		puts("Its queue does not let it start as things are now; queues are not looked at here.");
}

#define GAVE_UP                                                                                    \
	" not known: its turn in the queue did not come within the work that a question may take."

/* Pods without a gang. */
static void print_lone(const struct what_if *w)
{
	const struct live_answer *a = &w->answer;

	if (w->lone == 1)
		ctl_say("pod %s, if it was created now:", w->first);
	else
		printf("%" PRIu32 " pods, if they were created now:", w->lone);
	if (a->verdict == QUESTION_GAVE_UP) {
		puts(GAVE_UP);
		return;
	}
	if (w->lone == 1)
		puts(a->members > 0 ? " It would start." : " It would wait.");
	else if (a->members > 0)
		printf(" %" PRIu32 " would start, on %" PRIu32 " node%s.\n", a->members, a->nodes,
		       a->nodes == 1 ? "" : "s");
	else
		puts(" All would wait.");
	print_places(w);
	if (a->verdict != QUESTION_WAITS)
		return;
	if (w->lone > 1)
		ctl_say("\n%s would wait:", a->text);
	ctl_say("\n%s\n", w->reason);
	if (a->victims.generation != 0)
		explain_victims_print(&w->victims);
}

static void print_text(const struct what_if *w)
{
	const struct live_answer *a = &w->answer;

	if (w->lone > 0) {
		print_lone(w);
		return;
	}
	ctl_say("gang %s, if", w->gang.name);
	for (size_t i = 0; !w->created && i < w->changes->n; i++)
		ctl_say("%s %s", i > 0 ? "," : "", w->changes->at[i]);
	if (w->created)
		ctl_say(" it was created now");
	if (w->like[0] != '\0')
		ctl_say(" (nodes like %s)", w->like);
	if (a->without > 0)
		printf(" (%" PRIu32 " pod%s less)", a->without, a->without == 1 ? "" : "s");
	putchar(':');
	if (a->verdict == QUESTION_STARTS) {
		printf(" It would start: %" PRIu32 " member%s on %" PRIu32 " node%s.\n", a->members,
		       a->members == 1 ? "" : "s", a->nodes, a->nodes == 1 ? "" : "s");
		print_places(w);
	} else if (a->verdict == QUESTION_GAVE_UP) {
		puts(GAVE_UP);
	} else {
		ctl_say(" It would wait.\n\n%s\n", w->reason);
		if (a->victims.generation != 0)
			explain_victims_print(&w->victims);
	}
	print_beside(w);
}

static int answered(struct what_if *w)
{
	const struct live *l = w->live;
	struct live_answer *a = &w->answer;
	struct node_view node;

	if (a->like < l->observer.places.limits.nodes && observe_node(&l->observer, a->like, &node))
		memcpy(w->like, node.name, sizeof(w->like));
	if (a->verdict == QUESTION_WAITS) {
		w->gang.row.reason = a->reason;
		w->reason = live_reason(l, &w->gang);
		w->victims.row = a->victims;
		explain_victims_names(&l->observer, &w->victims);
	}
	if (l->output == OUTPUT_JSON)
		print_json(w);
	else
		print_text(w);
	return a->verdict == QUESTION_STARTS ? EXIT_DONE : EXIT_NO;
}

int explain_what_if(const struct live *l, const char *gang, const struct arguments *changes)
{
	struct what_if *w = must_alloc(sizeof(*w));
	int rc;

	w->live = l;
	w->changes = changes;
	w->question.version = QUESTION_VERSION;
	rc = changes_read(w);
	if (rc == EXIT_DONE && !gang_find(w, gang)) {
		fprintf(stderr,
		        "%s: there is no gang %s; --what-if answers about gangs, of a pod without a gang "
		        "musterctl verdict --live %s does\n",
		        l->command, gang, gang);
		rc = EXIT_NO;
	}
	if (rc == EXIT_DONE)
		rc = live_ask(l, &w->question, &w->answer);
	if (rc == EXIT_DONE)
		rc = answered(w);
	free(w->reason);
	free(w);
	return rc;
}

int explain_what_if_created(const struct live *l, const struct arguments *files, const char *listen)
{
	static const char *created[] = { "created" };
	const struct arguments changes = { .at = created, .n = 1 };
	struct what_if *w = must_alloc(sizeof(*w));
	struct file_gang *file = must_alloc(sizeof(*file));
	int rc = file_gang_read(l->command, files, listen, file);

	w->live = l;
	w->changes = &changes;
	w->created = true;
	if (rc == EXIT_DONE) {
		w->lone = file->lone;
		w->first = file->name;
		if (w->lone == 0)
			snprintf(w->gang.name, sizeof(w->gang.name), "%s", file->name);
		w->gang.row.dialect = file->dialect;
		for (size_t i = 0; i < file->names.n; i++)
			live_name_lacks(l, file->names.at[i].id, file->names.at[i].text);
		rc = live_ask_gang(l, &file->records, &w->answer);
	}
	if (rc == EXIT_DONE)
		rc = answered(w);
	free(w->reason);
	free(w);
	file_gang_free(file);
	free(file);
	return rc;
}
