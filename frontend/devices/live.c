/* SPDX-License-Identifier: Apache-2.0 */
/* The objects. */
#include "frontend/devices/live.h"

#include "frontend/base/version.h"
#include "frontend/devices/live_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 1024

const struct resource live_resources[LIVE_KINDS] = {
	{ "resource.k8s.io", "v1", "resourceslices", "ResourceSlice", true },
	{ "resource.k8s.io", "v1", "deviceclasses", "DeviceClass", true },
	{ "resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true },
};

static char *copy_of(struct text t)
{
	char *copy = must_alloc(t.bytes + 1);

	if (t.bytes > 0)
		memcpy(copy, t.at, t.bytes);
	return copy;
}

struct live *live_new(const uint64_t key[2])
{
	struct live *l = must_alloc(sizeof(*l));
	struct intern *interns[] = { &l->slice_names, &l->node_names, &l->claim_names, &l->device_names,
		                         &l->draw_names,  &l->spaces,     &l->owners };

	for (size_t i = 0; i < sizeof(interns) / sizeof(interns[0]); i++)
		intern_init(interns[i], key, UINT32_MAX - 1);
	intern_init(&l->common_names, key, COMMON_DEVICES_MAX);
	l->store = devices_new();
	l->layouts = 1;
	l->names_most = UINT64_MAX;
	return l;
}

static void claim_free(struct live_claim *c)
{
	for (size_t i = 0; i < c->reserved_n; i++) {
		free(c->reserved[i]);
		free(c->consumers[i]);
	}
	free(c->reserved);
	free(c->consumers);
	free(c->finalizers);
	free(c->devices);
	free(c->written);
	free(c->shares);
	free(c->states);
	free(c->failure);
	free(c->draws.at);
	free(c->namespace);
	free(c->name);
	free(c->uid);
	free(c->version);
	free(c->owner);
	free(c->spec);
	free(c->allocation);
	free(c->node);
	free(c->selector);
	free(c);
}

static void class_free(struct live_class *c)
{
	arena_free(&c->arena);
	free(c);
}

static void slices_free(struct live *l)
{
	for (size_t i = 0; i < l->slices_n; i++) {
		if (!l->slices[i])
			continue;
		arena_free(&l->slices[i]->arena);
		free(l->slices[i]);
	}
	free(l->slices);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	live_departed_free(l);
	slices_free(l);
	for (size_t i = 0; i < l->nodes_n; i++)
		if (l->nodes[i])
			live_node_free(l->nodes[i]);
	for (size_t i = 0; i < l->claims_n; i++)
		if (l->claims[i])
			claim_free(l->claims[i]);
	for (size_t i = 0; i < l->users_n; i++)
		free(l->users[i].at);
	for (size_t i = 0; i < l->pods_n; i++)
		live_pod_free(&l->pods[i]);
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++)
		live_question_free(&l->questions[i]);
	for (size_t i = 0; i < l->classes_n; i++)
		class_free(l->classes[i]);
	/* Entries in it belong to the arenas above. */
	l->store->classes_n = l->store->slices_n = l->store->claims_n = 0;
	devices_free(l->store);
	intern_free(&l->slice_names);
	intern_free(&l->node_names);
	intern_free(&l->claim_names);
	intern_free(&l->device_names);
	intern_free(&l->draw_names);
	intern_free(&l->spaces);
	intern_free(&l->common_names);
	free(l->several);
	free(l->by_space);
	free(l->nodes);
	free(l->claims);
	free(l->users);
	for (size_t i = 0; i < l->owned_n; i++)
		free(l->owned[i].claims);
	free(l->owned);
	intern_free(&l->owners);
	free(l->classes);
	free(l->taken);
	free(l->whole);
	free(l->device_node);
	free(l->avoided);
	free(l->contested);
	free(l->drawn);
	free(l->pods);
	free(l->due);
	free(l->text);
	arena_free(&l->scratch);
	free(l);
}

/* Classes. */

/* The store finds classes by name: it gets all of them again. */
static void classes_changed(struct live *l)
{
	struct devices *d = l->store;

	d->classes = must_grow(d->classes, (l->classes_n + 1) * sizeof(*d->classes));
	d->classes_cap = l->classes_n + 1;
	for (size_t i = 0; i < l->classes_n; i++)
		d->classes[i] = l->classes[i]->entry;
	d->classes_n = l->classes_n;
	l->classes_version++;
	live_questions_reset(l);
	live_pods_note_all(l);
}

static size_t class_at(const struct live *l, struct text name)
{
	size_t i = 0;

	while (i < l->classes_n && !text_equal(l->classes[i]->name, name))
		i++;
	return i;
}

static void class_drop(struct live *l, size_t at)
{
	if (at == l->classes_n)
		return;
	class_free(l->classes[at]);
	l->classes[at] = l->classes[--l->classes_n];
	classes_changed(l);
}

/* device_read() into the arena; the entry is taken out of the store again. */
static bool read_into(struct live *l, const char *kind, const struct tree *t, struct arena *arena,
                      struct decode_error *error)
{
	struct arena keep = l->store->arena;
	bool good;

	l->store->arena = *arena;
	good = device_read(l->store, kind, t, error->text, sizeof(error->text));
	*arena = l->store->arena;
	l->store->arena = keep;
	return good;
}

static int class_put(struct live *l, const struct tree *t, struct arena arena,
                     struct decode_error *error)
{
	const struct text name = jsontree_text(jsontree_get(jsontree_get(t, "metadata"), "name"));
	struct live_class *c = must_alloc(sizeof(*c));
	const size_t n = l->store->classes_n;
	size_t at = class_at(l, name);
	bool good;

	c->arena = arena;
	c->name = name;
	c->round = l->round[LIVE_CLASSES];
	good = read_into(l, "DeviceClass", t, &c->arena, error);
	c->entry = good ? l->store->classes[n] : NULL;
	l->store->classes_n = n;
	if (!good) {
		class_free(c);
		return -EINVAL;
	}
	if (at < l->classes_n && text_equal(l->classes[at]->entry->spec->raw, c->entry->spec->raw)) {
		l->classes[at]->round = c->round;
		class_free(c);
		return 0;
	}
	if (at < l->classes_n) {
		class_free(l->classes[at]);
	} else {
		if (l->classes_n == l->classes_cap) {
			l->classes_cap = l->classes_cap * 2 + 8;
			l->classes = must_grow(l->classes, l->classes_cap * sizeof(*l->classes));
		}
		l->classes_n++;
	}
	l->classes[at] = c;
	classes_changed(l);
	return 0;
}

/* Claims. */

static void device_key(char *key, const struct tree *result)
{
	const struct text driver = jsontree_text(jsontree_get(result, "driver"));
	const struct text pool = jsontree_text(jsontree_get(result, "pool"));
	const struct text name = jsontree_text(jsontree_get(result, "device"));

	snprintf(key, KEY_BYTES, "%.*s/%.*s/%.*s", (int)driver.bytes, driver.at, (int)pool.bytes,
	         pool.at, (int)name.bytes, name.at);
}

static void claim_devices(struct live *l, struct live_claim *c, const struct tree *allocation)
{
	const struct tree *results = jsontree_get(jsontree_get(allocation, "devices"), "results");
	char key[KEY_BYTES];

	c->devices = must_array(results->n + 1, sizeof(*c->devices));
	c->shares = must_array(results->n + 1, sizeof(*c->shares));
	TREE_EACH(result, results)
	{
		if (jsontree_true(jsontree_get(result, "adminAccess")))
			continue;
		device_key(key, result);
		c->devices[c->devices_n] = live_number(&l->device_names, text_of(key));
		live_device_take(l, c->devices[c->devices_n]);
		c->shares[c->devices_n] = jsontree_text(jsontree_get(result, "shareID")).bytes > 0;
		if (c->shares[c->devices_n])
			live_draws_read(l, result, c->devices[c->devices_n], c->number, &c->draws);
		else
			live_device_whole(l, c->devices[c->devices_n], 1);
		c->devices_n++;
	}
}

/* The node of a selector that names one by its field; "" for any other. */
static char *selected_node(const struct tree *selector)
{
	const struct tree *terms = jsontree_get(selector, "nodeSelectorTerms");
	const struct tree *fields = terms->n == 1 ? jsontree_get(terms->first, "matchFields") : terms;
	const struct tree *values;

	if (terms->n != 1 || fields->n != 1 || jsontree_get(terms->first, "matchExpressions")->n > 0 ||
	    !text_is(jsontree_text(jsontree_get(fields->first, "key")), "metadata.name") ||
	    !text_is(jsontree_text(jsontree_get(fields->first, "operator")), "In"))
		return must_copy("");
	values = jsontree_get(fields->first, "values");
	return values->n == 1 ? copy_of(jsontree_text(values->first)) : must_copy("");
}

char *live_allocated_node(const char *allocation)
{
	struct arena arena = { 0 };
	char error[200];
	const struct tree *t =
		jsontree_read(allocation, strlen(allocation), &arena, error, sizeof(error));
	char *node = selected_node(jsontree_get(t, "nodeSelector"));

	arena_free(&arena);
	return node;
}

static void claim_status(struct live *l, struct live_claim *c, const struct tree *status)
{
	const struct tree *allocation = jsontree_get(status, "allocation");
	const struct tree *reserved = jsontree_get(status, "reservedFor");

	c->reserved = must_array(reserved->n + 1, sizeof(*c->reserved));
	c->consumers = must_array(reserved->n + 1, sizeof(*c->consumers));
	TREE_EACH(one, reserved)
	{
		c->consumers[c->reserved_n] = copy_of(one->raw);
		c->reserved[c->reserved_n++] = copy_of(jsontree_text(jsontree_get(one, "uid")));
	}
	if (allocation->kind != TREE_MAP)
		return;
	c->allocation = copy_of(allocation->raw);
	c->node = selected_node(jsontree_get(allocation, "nodeSelector"));
	if (!c->node[0] && jsontree_get(allocation, "nodeSelector")->kind == TREE_MAP)
		c->selector = copy_of(jsontree_get(allocation, "nodeSelector")->raw);
	claim_devices(l, c, allocation);
	live_conditions_read(c, status);
}

static char *controller_uid(const struct tree *meta)
{
	TREE_EACH(owner, jsontree_get(meta, "ownerReferences"))
	if (jsontree_true(jsontree_get(owner, "controller")))
		return copy_of(jsontree_text(jsontree_get(owner, "uid")));
	return must_copy("");
}

static void claim_finalizers(struct live_claim *c, const struct tree *list)
{
	struct bytes items = { 0 };

	TREE_EACH(finalizer, list)
	{
		if (text_is(jsontree_text(finalizer), LIVE_FINALIZER)) {
			c->finalizer = true;
			continue;
		}
		bytes_put(&items, items.n > 0 ? "," : "");
		bytes_add(&items, finalizer->raw.at, finalizer->raw.bytes);
	}
	bytes_add(&items, "", 1);
	c->finalizers = items.at;
}

static struct live_claim *claim_make(struct live *l, const struct tree *t, uint32_t number)
{
	const struct tree *meta = jsontree_get(t, "metadata");
	struct live_claim *c = must_alloc(sizeof(*c));

	c->number = number;
	c->round = l->round[LIVE_CLAIMS];
	c->namespace = copy_of(live_namespace(meta));
	c->name = copy_of(jsontree_text(jsontree_get(meta, "name")));
	c->uid = copy_of(jsontree_text(jsontree_get(meta, "uid")));
	c->version = copy_of(jsontree_text(jsontree_get(meta, "resourceVersion")));
	c->owner = controller_uid(meta);
	c->deleting = jsontree_get(meta, "deletionTimestamp")->kind != TREE_NULL;
	claim_finalizers(c, jsontree_get(meta, "finalizers"));
	c->spec = copy_of(jsontree_get(jsontree_get(t, "spec"), "devices")->raw);
	claim_status(l, c, jsontree_get(t, "status"));
	live_claim_own(l, c, meta);
	return c;
}

/* What it held is given back after the next version has taken what it has. */
static void claim_drop(struct live *l, struct live_claim *c)
{
	live_claim_disown(l, c);
	live_draws_give(l, &c->draws);
	for (size_t i = 0; i < c->devices_n; i++) {
		live_device_give(l, c->devices[i]);
		if (!c->shares[i])
			live_device_whole(l, c->devices[i], -1);
		intern_give(&l->device_names, c->devices[i]);
	}
	intern_give(&l->claim_names, c->number);
	claim_free(c);
}

static uint32_t claim_number(struct live *l, struct text namespace, struct text name)
{
	char key[KEY_BYTES];

	snprintf(key, sizeof(key), "%.*s/%.*s", (int)namespace.bytes, namespace.at, (int)name.bytes,
	         name.at);
	return live_number(&l->claim_names, text_of(key));
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Its pods are judged alike: what a tenant may write at any time, such as a label, does not count.
 */
static bool is_alike(const struct live_claim *a, const struct live_claim *b)
{
	bool same = strcmp(a->uid, b->uid) == 0 && strcmp(a->owner, b->owner) == 0 &&
	            strcmp(a->spec, b->spec) == 0 && a->deleting == b->deleting &&
	            (a->conditions == LIVE_FAILED) == (b->conditions == LIVE_FAILED) &&
	            same_text(a->allocation, b->allocation) && a->reserved_n == b->reserved_n;

	for (size_t i = 0; same && i < a->reserved_n; i++)
		same = strcmp(a->reserved[i], b->reserved[i]) == 0;
	return same;
}

static void claim_put(struct live *l, const struct tree *t)
{
	const struct tree *meta = jsontree_get(t, "metadata");
	const uint32_t number =
		claim_number(l, live_namespace(meta), jsontree_text(jsontree_get(meta, "name")));
	struct live_claim *old, *c;

	l->claims = must_reach(l->claims, &l->claims_n, number, 256, sizeof(struct live_claim *));
	old = l->claims[number];
	c = claim_make(l, t, number);
	/* An answer to a write may be ahead of the watch. */
	if (old && strcmp(old->uid, c->uid) == 0 && version_newer(old->version, c->version)) {
		old->round = c->round;
		claim_drop(l, c);
		return;
	}
	l->claims[number] = c;
	live_claim_count(l, c);
	if (!old || !same_text(old->allocation, c->allocation)) {
		live_draws_touch(l, &c->draws);
		if (old) {
			live_draws_touch(l, &old->draws);
			live_conflicts_freed(l, old->devices, old->devices_n);
		}
	}
	if (c->allocation) {
		live_claim_landed(l, number);
		live_departed_landed(l, c);
	}
	if (c->allocation && c->extended && l->owned[c->owned].pod > 0)
		live_pod_landed(l, l->owned[c->owned].pod - 1, LIVE_NONE);
	if (!old || !is_alike(old, c))
		live_claim_note(l, number);
	if (old)
		claim_drop(l, old);
}

static void claim_remove(struct live *l, uint32_t number)
{
	struct live_claim *c = number < l->claims_n ? l->claims[number] : NULL;

	if (!c)
		return;
	l->claims[number] = NULL;
	live_claim_note(l, number);
	live_draws_touch(l, &c->draws);
	live_conflicts_freed(l, c->devices, c->devices_n);
	claim_drop(l, c);
}

/* Slices. */

static int slice_put(struct live *l, const struct tree *t, struct arena arena,
                     struct decode_error *error)
{
	struct devices *d = l->store;
	struct live_slice *s = must_alloc(sizeof(*s));
	const size_t n = d->slices_n;
	bool good;

	s->arena = arena;
	s->round = l->round[LIVE_SLICES];
	good = read_into(l, "ResourceSlice", t, &s->arena, error);
	s->slice = good ? d->slices[n] : NULL;
	d->slices_n = n;
	if (!good) {
		arena_free(&s->arena);
		free(s);
		return -EINVAL;
	}
	live_slice_put(l, t, s);
	live_several_note(l, s, error);
	live_node_note(l, s, error);
	return 0;
}

int live_put(struct live *l, enum live_kind kind, const char *json, size_t bytes,
             struct decode_error *error)
{
	struct decode_error own = { .text = "" };
	struct arena arena = { 0 };
	char *copy = arena_alloc(&arena, bytes + 1);
	const struct tree *t;

	error = error ? error : &own;
	memcpy(copy, json, bytes);
	copy[bytes] = '\0';
	t = jsontree_read(copy, bytes, &arena, error->text, sizeof(error->text));
	snprintf(error->object, sizeof(error->object), "%s", live_resources[kind].kind);
	if (!t) {
		arena_free(&arena);
		return -EINVAL;
	}
	if (kind == LIVE_SLICES)
		return slice_put(l, t, arena, error);
	if (kind == LIVE_CLASSES)
		return class_put(l, t, arena, error);
	claim_put(l, t);
	arena_free(&arena);
	return 0;
}

void live_remove(struct live *l, enum live_kind kind, struct text namespace, struct text name)
{
	uint32_t number;

	if (kind == LIVE_CLASSES) {
		class_drop(l, class_at(l, name));
	} else if (kind == LIVE_CLAIMS) {
		number = claim_number(l, namespace, name);
		claim_remove(l, number);
		intern_give(&l->claim_names, number);
	} else {
		number = intern_find(&l->slice_names, name);
		if (number != SLOT_NONE)
			live_slice_drop(l, number);
	}
	live_names_recycle(l);
}

void live_replace_begin(struct live *l, enum live_kind kind)
{
	l->round[kind]++;
}

void live_replace_end(struct live *l, enum live_kind kind)
{
	const uint32_t round = l->round[kind];

	for (size_t i = 0; kind == LIVE_CLAIMS && i < l->claims_n; i++)
		if (l->claims[i] && l->claims[i]->round != round)
			claim_remove(l, (uint32_t)i);
	for (size_t i = 0; kind == LIVE_SLICES && i < l->slices_n; i++)
		if (l->slices[i] && l->slices[i]->round != round)
			live_slice_drop(l, (uint32_t)i);
	for (size_t i = l->classes_n; kind == LIVE_CLASSES && i-- > 0;)
		if (l->classes[i]->round != round)
			class_drop(l, i);
	live_names_recycle(l);
}
