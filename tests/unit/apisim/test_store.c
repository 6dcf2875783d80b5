/* SPDX-License-Identifier: Apache-2.0 */
/* apisim's store: versions, history, and lists of the past against a plain copy
 * of it. */
#include "tests/unit/support_apisim.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

#include "tests/apisim/store.h"

static struct as_resource things = {
	.group = "",
	.version = "v1",
	.plural = "things",
	.kind = "Thing",
	.namespaced = true,
	.prefix = "{",
};
static struct as_arena arena;
static struct as_store *store;

static void setup(void)
{
	store = as_store_new(100);
}

static void teardown(void)
{
	as_store_free(store);
	as_index_free(&things.index);
	as_arena_free(&arena);
}

TestSuite(apisim_store, .init = setup, .fini = teardown);

static struct as_json *thing(const char *key, int value)
{
	struct as_json *o = as_json_new(&arena, AS_OBJECT), *metadata;
	const char *slash = strchr(key, '/');

	as_json_set_integer(&arena, o, "value", value);
	metadata = as_json_member(&arena, o, "metadata", AS_OBJECT);
	as_json_set_string(&arena, metadata, "namespace",
	                   as_arena_copy(&arena, key, (size_t)(slash - key)));
	as_json_set_string(&arena, metadata, "name", slash + 1);
	return o;
}

static void put(const char *key, int value)
{
	as_store_write(store, &things, &arena, thing(key, value));
}

static void drop(const char *key)
{
	as_store_remove(store, &things, &arena, thing(key, 0));
}

/* "a/x=1 b/y=2" of a version; namespace NULL: all. */
static const char *listed(const char *namespace, const char *after, uint64_t version)
{
	static struct as_text out;
	struct as_cursor cursor;
	struct as_object *o;

	out.bytes = 0;
	if (as_cursor_open(store, &things, &arena, namespace, after, version, &cursor) < 0)
		return "gone";
	while ((o = as_cursor_next(&cursor)) != NULL) {
		int64_t value = -1;

		as_json_integer(as_object_tree(&arena, o), "value", &value);
		as_text_printf(&out, "%s%s=%d", out.bytes > 0 ? " " : "", o->key, (int)value);
	}
	as_text_add(&out, "", 1);
	return out.at;
}

Test(apisim_store, every_write_is_a_version)
{
	uint64_t start = as_store_version(store);
	const struct as_event *e;

	put("a/x", 1);
	put("a/x", 2);
	drop("a/x");
	cr_expect_eq(as_store_version(store), start + 3);
	e = as_store_event(store, start + 1);
	cr_expect(e->kind == AS_ADDED && e->previous == NULL && e->object->version == start + 1);
	e = as_store_event(store, start + 2);
	cr_expect(e->kind == AS_MODIFIED && e->previous->version == start + 1);
	e = as_store_event(store, start + 3);
	cr_expect(e->kind == AS_DELETED && e->object->version == start + 3 &&
	          e->previous->version == start + 2);
	cr_expect_null(as_index_find(&things.index, "a/x"));
}

Test(apisim_store, keys_order_as_etcds)
{
	put("b/y", 1);
	put("a-b/x", 2);
	put("a/z", 3);
	put("a0/q", 4);
	put("a/b.c", 5);
	put("a/b", 6);
	cr_expect_str_eq(listed(NULL, NULL, as_store_version(store)),
	                 "a-b/x=2 a/b=6 a/b.c=5 a/z=3 a0/q=4 b/y=1");
	cr_expect_str_eq(listed("a", NULL, as_store_version(store)), "a/b=6 a/b.c=5 a/z=3");
	cr_expect_str_eq(listed("a", "a/b", as_store_version(store)), "a/b.c=5 a/z=3");
	cr_expect_str_eq(listed("none", NULL, as_store_version(store)), "");
}

Test(apisim_store, an_old_version_can_be_listed)
{
	uint64_t old;

	put("a/x", 1);
	put("a/y", 2);
	old = as_store_version(store);
	put("a/x", 3);
	drop("a/y");
	put("a/z", 4);
	put("a/y", 5);
	cr_expect_str_eq(listed(NULL, NULL, old), "a/x=1 a/y=2");
	cr_expect_str_eq(listed(NULL, "a/x", old), "a/y=2");
	cr_expect_str_eq(listed(NULL, NULL, old + 2), "a/x=3");
	cr_expect_str_eq(listed(NULL, NULL, as_store_version(store)), "a/x=3 a/y=5 a/z=4");
}

Test(apisim_store, history_ends)
{
	uint64_t old;

	put("a/x", 1);
	old = as_store_version(store);
	for (int i = 0; i < 100; i++)
		put("a/x", i);
	cr_expect_eq(as_store_oldest(store), old);
	cr_expect_str_eq(listed(NULL, NULL, old), "a/x=1");
	put("a/x", 100);
	cr_expect_str_eq(listed(NULL, NULL, old), "gone");
	as_store_compact(store);
	cr_expect_str_eq(listed(NULL, NULL, as_store_version(store)), "a/x=100");
	cr_expect_str_eq(listed(NULL, NULL, as_store_version(store) - 1), "gone");
}

/* Random writes; now and then a list of some version that is still known must be
 * what was written down when it was the present. */
Test(apisim_store, lists_of_the_past_are_the_past)
{
	struct random r = random_start("apisim_store");
	char *past[100] = { NULL };

	for (int i = 0; i < 3000; i++) {
		static const char *const namespaces[] = { "a", "a-b", "b" };
		uint64_t version, back;
		char key[32];

		snprintf(key, sizeof(key), "%s/n%u", namespaces[random_below(&r, 3)], random_below(&r, 12));
		if (random_below(&r, 3) == 0 && as_index_find(&things.index, key) != NULL)
			drop(key);
		else
			put(key, i);
		version = as_store_version(store);
		free(past[version % 100]);
		past[version % 100] = as_copy(listed(NULL, NULL, version));
		back = random_below(&r, 99);
		if (back < version && version - back > as_store_oldest(store))
			cr_assert_str_eq(listed(NULL, NULL, version - back), past[(version - back) % 100],
			                 "version %llu seen from %llu", (unsigned long long)(version - back),
			                 (unsigned long long)version);
		as_arena_reset(&arena);
	}
	for (int i = 0; i < 100; i++)
		free(past[i]);
}

/* 50,000 objects: a page costs a page. */
Test(apisim_store, many_objects_in_pages)
{
	struct server s;
	uint64_t version = 0;
	char target[512] = "/api/v1/pods?limit=500";
	unsigned seen = 0, pages = 0;

	server_start(&s, 1000);
	for (unsigned i = 0; i < 50000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "p%u", i * 7919 % 50000);
		server_pod(&s, name);
	}
	do {
		const struct as_json *items;

		cr_assert_eq(server_send(&s, "GET", target, NULL), 200);
		cr_assert(version == 0 || server_version(&s) == version, "pages of different versions");
		version = server_version(&s);
		items = as_json_array(s.body, "items");
		for (const struct as_json *e = items->first; e != NULL; e = e->next)
			seen++;
		pages++;
		cr_assert_eq(strtoul(server_text(&s, "metadata.remainingItemCount"), NULL, 10),
		             50000 - seen);
		snprintf(target, sizeof(target), "/api/v1/pods?limit=500&continue=%s",
		         server_text(&s, "metadata.continue"));
		if (pages == 3)
			server_pod(&s, "between-pages");
	} while (server_text(&s, "metadata.continue")[0] != '\0' || pages == 3);
	cr_expect_eq(seen, 50000);
	cr_expect_eq(pages, 100);
	server_stop(&s);
}
