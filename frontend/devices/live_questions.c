/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: claims with equal specs are read once, and their selectors are compiled once. */
#include "frontend/devices/live_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT(t) (int)(t).bytes, (t).at

/* The weights of all questions: 1,024 of one request. */
#define WEIGHTS_MAX (2 * QUESTIONS_MAX)
/* Of selectors: in a flush; and of a question for each look of an option at a device, on average
 * but for the first ones. */
#define FLUSH_STEPS 2000000u
#define LOOK_STEPS 1000u
#define FIRST_STEPS 1000000u
/* Of a request; a device has no more.  Each is looked for at each capacity of all devices. */
#define ASKS_MAX 32u
/* Of the selectors of a question: text of 64 KiB can be 180 MiB when it is compiled. */
#define SELECTOR_BYTES_MAX ((size_t)4 << 20)
/* Of selectors and specs for each weight: all questions together have less than 200 MiB. */
#define WEIGHT_BYTES 65536u

static void selectors_drop(struct live_question *q)
{
	for (uint32_t i = 0; i < q->options_n; i++) {
		for (uint32_t k = 0; k < q->options[i].selectors_n; k++)
			selector_free(q->options[i].selectors[k]);
		q->options[i].selectors_n = 0;
	}
	q->bytes = 0;
}

static void options_free(struct live_question *q)
{
	selectors_drop(q);
	for (uint32_t i = 0; i < q->options_n; i++)
		free(q->options[i].selectors);
	free(q->options);
	q->options = NULL;
	q->options_n = q->constraints_n = 0;
}

static void reading_free(struct live_question *q)
{
	options_free(q);
	arena_free(&q->arena);
	free(q->refusal);
	free(q->error);
	free(q->error_class);
	q->refusal = q->error = q->error_class = NULL;
	q->error_at = NULL;
	q->steps = q->looks = 0;
}

void live_question_free(struct live_question *q)
{
	reading_free(q);
	free(q->text);
	free(q->one);
	memset(q, 0, sizeof(*q));
}

__attribute__((format(printf, 3, 4))) static bool refuse(struct live_question *q, bool kube,
                                                         const char *format, ...)
{
	char text[600];
	va_list args;

	if (q->refusal)
		return false;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	q->refusal = must_copy(text);
	q->refusal_is_kube = kube;
	return false;
}

/* `whose`: what has these selectors, for the reason. */
static void selectors_add(struct live_question *q, struct live_option *o, const struct tree *list,
                          const char *whose)
{
	o->selectors = must_grow(o->selectors, (o->selectors_n + list->n + 1) * sizeof(*o->selectors));
	TREE_EACH(selector, list)
	{
		struct selector *s;
		const char *what;

		if (q->refusal)
			return;
		s = selector_new(jsontree_text(jsontree_get(jsontree_get(selector, "cel"), "expression")));
		what = selector_refused(s);
		o->selectors[o->selectors_n++] = s;
		q->bytes += selector_bytes(s);
		if (q->bytes > SELECTOR_BYTES_MAX)
			refuse(
				q, false,
				"the selectors of its resource claims take more than %zu KiB when they are compiled",
				SELECTOR_BYTES_MAX >> 10);
		if (what)
			refuse(q, false, "selector of %s uses %s, which muster does not know", whose, what);
	}
}

/* All are quantities, and none is below 0. */
static bool asks_hold(const struct option_entry *o)
{
	bool good = o->asks_n == jsontree_get(jsontree_get(o->tree, "capacity"), "requests")->n;

	for (size_t i = 0; i < o->asks_n; i++)
		good = good && o->asks[i].amount >= 0;
	return good;
}

static bool option_read(struct live *l, struct live_question *q, uint32_t claim, uint32_t request,
                        const struct option_entry *o)
{
	const struct request_entry *r = &q->claims[claim].requests[request];
	const struct class_entry *class = class_find(l->store, o->class);
	struct live_option *out;
	char whose[300];

	if (class == NULL)
		return refuse(q, true, "request %.*s%s%.*s: device class %.*s does not exist",
		              TEXT(r->name), r->prioritized ? "/" : "", TEXT(o->name), TEXT(o->class));
	if (!asks_hold(o))
		return refuse(q, false, "a capacity that its resource claims request is no amount");
	if (o->asks_n > ASKS_MAX)
		return refuse(q, false, "a request of its resource claims is for more than %u capacities",
		              ASKS_MAX);
	q->options = must_grow(q->options, (q->options_n + 1) * sizeof(*q->options));
	out = &q->options[q->options_n++];
	*out = (struct live_option){ .entry = o,
		                         .claim = claim,
		                         .request = request,
		                         .group = live_group_of_request(q->claims[claim].spec, request) };
	snprintf(whose, sizeof(whose), "class %.*s", TEXT(o->class));
	selectors_add(q, out, jsontree_get(class->spec, "selectors"), whose);
	out->of_class_n = out->selectors_n;
	snprintf(whose, sizeof(whose), "request %.*s%s%.*s of its resource claims", TEXT(r->name),
	         r->prioritized ? "/" : "", TEXT(o->name));
	selectors_add(q, out, jsontree_get(o->tree, "selectors"), whose);
	return true;
}

/* Devices that the options of a request may ask for, beyond what a claim can have: one more. */
static uint32_t option_count(const struct option_entry *o)
{
	if (o->all)
		return 0;
	return o->count > DEVICE_RESULTS_MAX ? DEVICE_RESULTS_MAX + 1 : (uint32_t)o->count;
}

/* What a record of the question can hold. */
static void bounds_check(struct live_question *q)
{
	uint64_t picks = 0;

	for (uint32_t i = 0; i < q->options_n;) {
		const struct live_option *first = &q->options[i];
		uint32_t fewest = UINT32_MAX, most = 0;

		for (; i < q->options_n && q->options[i].claim == first->claim &&
		       q->options[i].request == first->request;
		     i++) {
			const uint32_t count = option_count(q->options[i].entry);

			fewest = count < fewest ? count : fewest;
			most = count > most && count <= DEVICE_RESULTS_MAX ? count : most;
		}
		picks += most;
		if (fewest > DEVICE_RESULTS_MAX)
			refuse(q, false, "a request of its resource claims is for more than %u devices",
			       DEVICE_RESULTS_MAX);
	}
	if (q->options_n > QUESTION_OPTIONS_MAX || q->constraints_n > QUESTION_CONSTRAINTS_MAX ||
	    picks > DEVICE_PICKS_MAX)
		refuse(q, false,
		       "its resource claims ask for too much: at most %u requests and alternatives, %u "
		       "constraints "
		       "and %u devices",
		       QUESTION_OPTIONS_MAX, QUESTION_CONSTRAINTS_MAX, DEVICE_PICKS_MAX);
}

/* The text is a JSON list of specs. */
static void question_read(struct live *l, struct live_question *q)
{
	struct arena keep = l->store->arena;
	char error[256];
	const struct tree *list;

	list = jsontree_read(q->text, strlen(q->text), &q->arena, error, sizeof(error));
	q->claims = arena_array(&q->arena, (list ? list->n : 0) + 1, sizeof(*q->claims));
	q->claims_n = 0;
	q->constraints_n = 0;
	if (!list) {
		refuse(q, false, "its resource claims cannot be read: %s", error);
		return;
	}
	l->store->arena = q->arena;
	TREE_EACH(spec, list)
	{
		struct claim_entry *c = &q->claims[q->claims_n++];

		c->spec = spec;
		if (!requests_read(l->store, c, error, sizeof(error)))
			refuse(q, false, "its resource claims cannot be read: %s", error);
		/* The core's record numbers the claims by their requests (ipc/abi_devices.h). */
		if (c->requests_n == 0)
			refuse(q, false, "muster does not support resource claims without requests yet");
		q->constraints_n += jsontree_get(spec, "constraints")->n;
	}
	q->arena = l->store->arena;
	l->store->arena = keep;
	for (uint32_t c = 0; !q->refusal && c < q->claims_n; c++)
		for (uint32_t r = 0; !q->refusal && r < q->claims[c].requests_n; r++)
			for (size_t o = 0; !q->refusal && o < q->claims[c].requests[r].options_n; o++)
				option_read(l, q, c, r, &q->claims[c].requests[r].options[o]);
	if (!q->refusal)
		bounds_check(q);
	if (q->refusal) /* it looks at no device */
		selectors_drop(q);
}

/* On all nodes. */
static void matches_forget(struct live *l, uint32_t number)
{
	for (size_t i = 0; i < l->nodes_n; i++) {
		if (l->nodes[i] && number < l->nodes[i]->matched_n)
			l->nodes[i]->matched[number] = false;
		if (!l->questions[number].refusal)
			live_node_touch(l, (uint32_t)i);
	}
}

void live_questions_reset(struct live *l)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		if (!l->questions[i].text)
			continue;
		reading_free(&l->questions[i]);
		l->questions[i].sent = false;
		question_read(l, &l->questions[i]);
		matches_forget(l, i);
	}
}

/* Of the free ones the one that was freed longest ago, more or less. */
static uint32_t question_free_number(struct live *l)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		l->questions_last = (l->questions_last + 1) % QUESTIONS_MAX;
		if (!l->questions[l->questions_last].text)
			return l->questions_last;
	}
	return LIVE_NONE;
}

static void space_charge(struct live *l, const struct live_question *q, bool more)
{
	uint32_t *n;

	l->by_space = must_reach(l->by_space, &l->by_space_n, q->space, 64, sizeof(*l->by_space));
	n = &l->by_space[q->space];
	l->spaces_n -= *n > 0;
	*n = more ? *n + q->weight : *n - q->weight;
	l->spaces_n += *n > 0;
	l->weights = more ? l->weights + q->weight : l->weights - q->weight;
}

static bool space_may(const struct live *l, const struct live_question *q)
{
	const uint32_t own = q->space < l->by_space_n ? l->by_space[q->space] : 0;
	const uint32_t all = l->weights + q->weight;

	return all <= WEIGHTS_MAX - WEIGHTS_MAX / 8 ||
	       (all <= WEIGHTS_MAX && own + q->weight <= WEIGHTS_MAX / (l->spaces_n + 1));
}

static uint32_t question_new(struct live *l, const char *namespace, char *text, const char *one)
{
	const uint32_t number = question_free_number(l);
	struct live_question *q;

	if (number == LIVE_NONE) {
		free(text);
		return LIVE_NONE;
	}
	q = &l->questions[number];
	q->text = text;
	q->one = one ? must_copy(one) : NULL;
	q->space = live_number(&l->spaces, text_of(namespace));
	q->refs = 1;
	question_read(l, q);
	q->weight =
		1 + q->constraints_n + (uint32_t)((q->bytes + arena_bytes(&q->arena)) / WEIGHT_BYTES);
	for (uint32_t i = 0; i < q->claims_n; i++)
		for (uint32_t r = 0; r < q->claims[i].requests_n; r++)
			q->weight += (uint32_t)q->claims[i].requests[r].options_n;
	if (!space_may(l, q)) {
		intern_give(&l->spaces, q->space);
		live_question_free(q);
		return LIVE_NONE;
	}
	space_charge(l, q, true);
	matches_forget(l, number);
	return number;
}

static bool is_of(const struct live_question *q, const char *one)
{
	return q->one && one ? strcmp(q->one, one) == 0 : q->one == one;
}

uint32_t live_question_of(struct live *l, const char *namespace,
                          const struct live_claim *const *claims, uint32_t n, bool one)
{
	const char *name = one ? intern_text(&l->claim_names, claims[0]->number) : NULL;
	struct bytes text = { 0 };
	uint32_t number;

	for (uint32_t i = 0; i < n; i++) {
		bytes_put(&text, i > 0 ? "," : "[");
		bytes_put(&text, claims[i]->spec[0] ? claims[i]->spec : "{}");
	}
	bytes_add(&text, "]", 2);
	for (number = 0; number < QUESTIONS_MAX; number++)
		if (l->questions[number].text && strcmp(l->questions[number].text, text.at) == 0 &&
		    is_of(&l->questions[number], name))
			break;
	if (number < QUESTIONS_MAX) {
		l->questions[number].refs++;
		bytes_free(&text);
		return number;
	}
	return question_new(l, namespace, text.at, name);
}

void live_question_give(struct live *l, uint32_t question)
{
	struct live_question *q = &l->questions[question];

	if (--q->refs > 0)
		return;
	space_charge(l, q, false);
	intern_give(&l->spaces, q->space);
	live_question_free(q);
	live_unasked_note(l);
}

/* Records. */

uint32_t live_question_next(const struct live *l)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		if (l->questions[i].text && !l->questions[i].refusal && !l->questions[i].sent)
			return i;
	return UINT32_MAX;
}

size_t live_question_bytes(const struct live *l, uint32_t question)
{
	const struct live_question *q = &l->questions[question];

	char text[QUESTION_TEXT_MAX];

	return sizeof(struct event_question) + q->options_n * sizeof(struct question_option) +
	       q->constraints_n * sizeof(struct question_constraint) +
	       PADDED(live_labels(l, question, text));
}

static bool restricts(const struct live_question *q, const struct live_option *o,
                      const struct tree *constraint)
{
	return option_is_listed(jsontree_get(constraint, "requests"),
	                        &q->claims[o->claim].requests[o->request], o->entry);
}

void live_question_write(struct live *l, uint32_t question, void *record)
{
	struct live_question *q = &l->questions[question];
	struct event_question *e = record;
	struct question_option *options = (void *)(e + 1);
	struct question_constraint *c = (void *)(options + q->options_n);
	char text[QUESTION_TEXT_MAX] = { 0 };
	const uint32_t text_bytes = live_labels(l, question, text);

	*e = (struct event_question){ .question = question,
		                          .options_n = q->options_n,
		                          .constraints_n = q->constraints_n,
		                          .text_bytes = text_bytes };
	for (uint32_t i = 0; i < q->options_n; i++) {
		const struct live_option *o = &q->options[i];

		options[i] = (struct question_option){
			.claim = o->claim,
			.request = o->request,
			.flags = (o->entry->all ? QUESTION_ALL : 0) | (o->entry->admin ? QUESTION_ADMIN : 0) |
			         (q->claims[o->claim].requests[o->request].prioritized ? QUESTION_PREFERS : 0) |
			         (q->one ? QUESTION_ONE : 0) | o->group << DEVICE_GROUP_SHIFT,
			.count = option_count(o->entry),
		};
	}
	for (uint32_t claim = 0; claim < q->claims_n; claim++)
		TREE_EACH(constraint, jsontree_get(q->claims[claim].spec, "constraints"))
		{
			*c = (struct question_constraint){
				.claim = claim,
				.flags = jsontree_get(constraint, "distinctAttribute")->kind == TREE_TEXT
				             ? QUESTION_DISTINCT
				             : 0,
			};
			for (uint32_t i = 0; i < q->options_n; i++)
				if (q->options[i].claim == claim && restricts(q, &q->options[i], constraint))
					c->options |= UINT64_C(1) << i;
			c++;
		}
	memcpy(c, text, PADDED(text_bytes));
	live_labels_sent(l, question, text_bytes);
	q->sent = true;
}

uint32_t live_match_next(const struct live *l, uint32_t at)
{
	const struct live_node *n = l->nodes[at];

	for (uint32_t i = 0; n->devices_n > 0 && i < QUESTIONS_MAX; i++)
		if (l->questions[i].sent && !(i < n->matched_n && n->matched[i]))
			return i;
	return UINT32_MAX;
}

static size_t values_bytes(const struct live_node *n)
{
	return PADDED(n->devices_n * sizeof(uint32_t));
}

/* By option; 0 when those of all options are too many for a record. */
static uint32_t amounts_n(const struct live_question *q, const struct live_node *n)
{
	return n->capacities_n * q->options_n <= MATCH_AMOUNTS_MAX ? n->capacities_n : 0;
}

size_t live_match_bytes(const struct live *l, uint32_t at, uint32_t question)
{
	const struct live_question *q = &l->questions[question];
	const struct live_node *n = l->nodes[at];

	return sizeof(struct event_match) +
	       (size_t)2 * q->options_n * DEVICE_WORDS(n->devices_n) * sizeof(uint64_t) +
	       q->constraints_n * values_bytes(n) +
	       (size_t)q->options_n * amounts_n(q, n) * sizeof(struct match_amount);
}

/* What a live server does not serve yet, or not so many of. */
static bool is_served(const struct live_question *q, const struct live_node *n, uint32_t device)
{
	const struct device_entry *e = n->devices[device];
	const bool shared = live_is_shared(n, device);
	const struct node_entry node = live_node_entry(n);

	if (live_is_several(e->slice) &&
	    (n->commons[device] == LIVE_NONE || (e->slice->per_device && !device_selected(e, &node))))
		return false;
	return !e->unusable && (e->uses_n == 0 || n->uses_n > 0) &&
	       e->facts.allow_multiple_allocations == shared &&
	       (!shared || amounts_n(q, n) == n->capacities_n);
}

static void pods_note(struct live *l, const struct live_question *q)
{
	for (uint32_t pod = 0; pod < l->pods_n; pod++)
		if (l->pods[pod].name && l->pods[pod].question == (uint32_t)(q - l->questions))
			live_pod_note(l, pod);
}

void live_errors_forget(struct live *l, const struct live_node *n)
{
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		struct live_question *q = &l->questions[i];

		if (q->error_at != n)
			continue;
		free(q->error);
		free(q->error_class);
		q->error = q->error_class = NULL;
		q->error_at = NULL;
		matches_forget(l, i);
		pods_note(l, q);
	}
}

void live_flush_begin(struct live *l)
{
	l->steps = 0;
}

bool live_flush_ends(const struct live *l)
{
	return l->steps > FLUSH_STEPS;
}

/* False: the question has taken too many. */
static bool steps_count(struct live *l, struct live_question *q, uint64_t steps)
{
	l->steps += steps;
	q->steps += steps;
	if (q->steps <= FIRST_STEPS + LOOK_STEPS * q->looks)
		return true;
	refuse(q, false, "the selectors of its resource claims take more than %u steps on a device",
	       LOOK_STEPS);
	pods_note(l, q);
	return false;
}

/* An error fails every attempt of the question's pods: they are judged again. */
static void note_error(struct live *l, struct live_question *q, const struct live_node *n,
                       const struct live_option *o, uint32_t selector, const char *error)
{
	if (q->error)
		return;
	q->error = must_copy(error);
	q->error_at = n;
	q->error_claim = o->claim;
	q->error_selector = selector < o->of_class_n ? selector : selector - o->of_class_n;
	if (selector < o->of_class_n) {
		q->error_class = must_alloc(o->entry->class.bytes + 1);
		memcpy(q->error_class, o->entry->class.at, o->entry->class.bytes);
	}
	pods_note(l, q);
}

static bool is_selected(struct live *l, struct live_question *q, const struct live_node *n,
                        const struct live_option *o, const struct device_entry *e)
{
	enum selector_result result = SELECTOR_TRUE;
	char error[600];

	if (q->refusal)
		return false;
	q->looks++;
	for (uint32_t i = 0; i < o->selectors_n && result == SELECTOR_TRUE; i++) {
		result = selector_match(o->selectors[i], &e->facts, error, sizeof(error));
		if (result == SELECTOR_ERROR)
			note_error(l, q, n, o, i, error);
		if (!steps_count(l, q, selector_steps(o->selectors[i])))
			return false;
	}
	return result == SELECTOR_TRUE;
}

/* By option two sets of the node's devices: those that it may have, and those without a taint. */
static void sets_of(struct live *l, struct live_question *q, const struct live_node *n,
                    uint64_t *sets)
{
	const size_t words = DEVICE_WORDS(n->devices_n);

	memset(sets, 0, 2 * q->options_n * words * sizeof(*sets));
	for (uint32_t i = 0; i < q->options_n; i++) {
		const struct live_option *o = &q->options[i];
		const struct tree *tolerations = jsontree_get(o->entry->tree, "tolerations");

		for (uint32_t d = 0; d < n->devices_n; d++) {
			if (is_served(q, n, d) && !(o->entry->all && n->broken) &&
			    capacities_allow(n->devices[d], o->entry) && is_selected(l, q, n, o, n->devices[d]))
				device_add(sets + 2 * i * words, d);
			/* As if it had a taint: `All` has it or fails. */
			if (tolerated(n->devices[d], tolerations) && !live_is_avoided(l, n->keys[d]))
				device_add(sets + (2 * i + 1) * words, d);
		}
	}
}

void live_match_write(struct live *l, uint32_t at, uint32_t question, node_id node,
                      uint32_t generation, void *record)
{
	struct live_question *q = &l->questions[question];
	struct live_node *n = l->nodes[at];
	struct event_match *e = record;
	uint64_t *sets = (uint64_t *)(e + 1);
	char *values = (char *)(sets + 2 * q->options_n * DEVICE_WORDS(n->devices_n));

	*e = (struct event_match){ .question = question,
		                       .node = node,
		                       .generation = generation,
		                       .layout = n->layout,
		                       .devices_n = n->devices_n,
		                       .options_n = q->options_n,
		                       .constraints_n = q->constraints_n,
		                       .capacities_n = amounts_n(q, n) };
	sets_of(l, q, n, sets);
	memset(values, 0, q->constraints_n * values_bytes(n));
	for (uint32_t claim = 0; claim < q->claims_n; claim++)
		TREE_EACH(constraint, jsontree_get(q->claims[claim].spec, "constraints"))
		{
			struct text name = jsontree_text(jsontree_get(constraint, "distinctAttribute"));

			if (name.bytes == 0)
				name = jsontree_text(jsontree_get(constraint, "matchAttribute"));
			for (uint32_t d = 0; d < n->devices_n; d++)
				((uint32_t *)(void *)values)[d] = attribute_value(l->store, n->devices[d], name);
			values += values_bytes(n);
		}
	if (amounts_n(q, n) > 0)
		live_amounts_write(q, n, (void *)values);
	n->matched = must_reach(n->matched, &n->matched_n, question, 8, sizeof(*n->matched));
	n->matched[question] = true;
}
