/* SPDX-License-Identifier: Apache-2.0 */
/* Reading objects from files: JSON as it stands, YAML as kubectl reads it, gzip, and
 * a message with the place for everything that is wrong. */
#include "ctl/objects/files.h"
#include "frontend/json/yaml.h"

#include "tests/unit/test.h"

#include <time.h>
#include <unistd.h>
#include <zlib.h>

static char path[64];

static void make_path(void)
{
	int fd;

	strcpy(path, "/tmp/muster-files-XXXXXX");
	fd = mkstemp(path);
	cr_assert(fd >= 0);
	close(fd);
}

static void remove_path(void)
{
	unlink(path);
}

TestSuite(files, .init = make_path, .fini = remove_path);

static void write_bytes(const char *text, size_t n)
{
	FILE *f = fopen(path, "wb");

	cr_assert(f != NULL);
	cr_assert(fwrite(text, 1, n, f) == n);
	fclose(f);
}

static struct files *read_ok(const char *text)
{
	struct files *files = files_new();
	char error[512] = "";

	write_bytes(text, strlen(text));
	cr_assert(files_read(files, path, error, sizeof(error)), "%s", error);
	cr_assert(files_check(files, error, sizeof(error)), "%s", error);
	return files;
}

/* The message after the path and ": ". */
static const char *read_bad(const char *text, size_t n)
{
	static char error[512];
	struct files *files = files_new();
	bool ok;

	write_bytes(text, n);
	error[0] = '\0';
	ok = files_read(files, path, error, sizeof(error)) && files_check(files, error, sizeof(error));
	files_free(files);
	cr_assert(!ok, "taken: %s", text);
	cr_assert(strncmp(error, path, strlen(path)) == 0, "the file is not named: %s", error);
	return error + strlen(path) + 2;
}

static const struct object *only(const struct files *files)
{
	size_t n;
	const struct object *o = files_objects(files, &n);

	cr_assert(n == 1, "%zu objects", n);
	return o;
}

static void expect_json(const struct object *o, const char *json)
{
	cr_assert(o->json.bytes == strlen(json) && memcmp(o->json.at, json, o->json.bytes) == 0,
	          "got %.*s", (int)o->json.bytes, o->json.at);
}

#define NODE(name) "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"" name "\"}}"
#define POD(name)                                                                                  \
	"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name                       \
	"\",\"namespace\":\"a\"}}"

/* A number keeps its digits: nothing goes through a double. */
Test(files, one_json_object_is_taken_as_it_stands)
{
	const char *text =
		"{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"n\"}, "
		"\"x\": 9007199254740993, \"y\": 0.10000000000000000000001}";
	struct files *files = read_ok(text);
	const struct object *o = only(files);

	expect_json(o, text);
	cr_assert_str_eq(o->kind, "Node");
	cr_assert_str_eq(o->namespace, "");
	cr_assert_str_eq(o->name, "n");
	files_free(files);
}

Test(files, list_typed_list_and_lists_in_lists)
{
	struct files *files = read_ok("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" NODE(
		"a") "," NODE("b") ","
	                       "{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":["
	                       "{\"metadata\":{\"name\":\"p\",\"namespace\":\"x\"}}]}]}");
	size_t n;
	const struct object *o = files_objects(files, &n);
	char where[256], expected[128];

	cr_assert(n == 3);
	cr_assert_str_eq(o[2].kind, "Pod");
	cr_assert_str_eq(o[2].api_version, "v1");
	cr_assert_str_eq(o[2].namespace, "x");
	snprintf(expected, sizeof(expected), "%s: items[1]", path);
	cr_assert_str_eq(object_where(&o[1], where, sizeof(where)), expected);
	files_free(files);
}

Test(files, documents_one_behind_the_other)
{
	struct files *files = read_ok(NODE("a") "\n" NODE("b") NODE("c"));
	size_t n;
	const struct object *o = files_objects(files, &n);
	char where[256], expected[128];

	cr_assert(n == 3);
	snprintf(expected, sizeof(expected), "%s: document 3", path);
	cr_assert_str_eq(object_where(&o[2], where, sizeof(where)), expected);
	files_free(files);
}

Test(files, an_empty_list_is_no_mistake)
{
	struct files *files = read_ok("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}");
	size_t n;

	files_objects(files, &n);
	cr_assert(n == 0);
	files_free(files);
}

Test(files, namespace_is_default_when_missing)
{
	struct files *files = read_ok(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},\"spec\":{}}");

	expect_json(only(files), "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
	                         "\"namespace\":\"default\"},\"spec\":{}}");
	cr_assert_str_eq(only(files)->namespace, "default");
	files_free(files);
}

Test(files, yaml_documents)
{
	struct files *files = read_ok("# nodes\n"
	                              "---\n"
	                              "apiVersion: v1\n"
	                              "kind: Node\n"
	                              "metadata:\n"
	                              "  name: \"1\"\n"
	                              "  labels: {a: \"true\", b: yes}\n"
	                              "status: {allocatable: {cpu: 1.50, pods: 110, memory: 1e3}}\n"
	                              "---\n"
	                              "---\n"
	                              "apiVersion: v1\n"
	                              "kind: Pod\n"
	                              "metadata: {name: p, namespace: x}\n");
	size_t n;
	const struct object *o = files_objects(files, &n);

	cr_assert(n == 2);
	expect_json(
		&o[0],
		"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"1\",\"labels\":"
		"{\"a\":\"true\",\"b\":\"yes\"}},\"status\":{\"allocatable\":{\"cpu\":1.50,\"pods\":110,"
		"\"memory\":1e3}}}");
	cr_assert(o[1].document == 2);
	files_free(files);
}

Test(files, yaml_anchors)
{
	struct files *files = read_ok("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
	                              "a: &x {k: [1, &y two]}\nb: *x\nc: *y\n");

	expect_json(only(files),
	            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"},"
	            "\"a\":{\"k\":[1,\"two\"]},\"b\":{\"k\":[1,\"two\"]},\"c\":\"two\"}");
	files_free(files);
}

Test(files, packed_in_two_members)
{
	const char *parts[] = { NODE("a"), NODE("b") };
	struct files *files = files_new();
	char error[256];
	size_t n;

	for (int i = 0; i < 2; i++) {
		gzFile f = gzopen(path, i == 0 ? "wb" : "ab");

		cr_assert(f != NULL);
		cr_assert(gzputs(f, parts[i]) > 0);
		gzclose(f);
	}
	cr_assert(files_read(files, path, error, sizeof(error)), "%s", error);
	files_objects(files, &n);
	cr_assert(n == 2);
	files_free(files);
}

Test(files, packed_and_cut)
{
	gzFile f = gzopen(path, "wb");
	char text[4096];
	size_t n;
	FILE *raw;

	cr_assert(gzputs(f, NODE("a")) > 0);
	gzclose(f);
	raw = fopen(path, "rb");
	n = fread(text, 1, sizeof(text), raw);
	fclose(raw);
	cr_assert_str_eq(read_bad(text, n - 9), "damaged gzip data: it ends too early");
}

static const struct bad {
	const char *text;
	const char *message;
} bad[] = {
	{ "", "the file is empty" },
	{ " \n", "the file is empty" },
	{ "{\"apiVersion\":\"v1\",\n \"kind\":\"No",
	  "line 2, column 12: the text ends in the middle of a value" },
	{ "{\"a\":1,}", "line 1, column 8: a name in quotes is expected" },
	{ "{\"a\":tru}", "line 1, column 9: not a value" },
	{ "{\"a\":01}", "line 1, column 7: \",\" or \"}\" is expected" },
	{ "{\"a\":\"\\x\"}", "line 1, column 8: no such escape" },
	{ "{\"a\":\"\xff\"}", "line 1, column 7: a string that is not UTF-8" },
	{ "{\"a\" 1}", "line 1, column 6: \":\" is expected" },
	{ NODE("a") "]", "line 1, column 58: not a value" },
	{ "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" NODE("a") ",7]}",
	  "items[1]: 7 is no object" },
	{ "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[null]}", "items[0]: null is no object" },
	{ "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":7}", "items: not an array" },
	{ "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}]}",
	  "items[0]: object x: kind is missing" },
	{ "{\"metadata\":{}}", "object without a name: kind is missing" },
	{ "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\"}}", "object x: apiVersion is missing" },
	{ "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{}}", "Pod: metadata.name is missing" },
	{ "[]", "[] is no object" },
	{ "7", "7 is no object" },
	{ "a: 1\nb: [\n", "line 3, column 1: did not find expected node content" },
	{ "a: 1\na: 2\n", "line 2, column 1: the key \"a\" stands twice in one mapping" },
	{ "a: .inf\n", "line 1, column 4: JSON has no such number" },
	{ "a: !!binary aGk=\n", "line 1, column 4: this tag is not supported" },
	{ "a: &x 1\nb: {<<: *x}\n", "line 2, column 5: merge keys (<<) are not supported" },
	{ "a: &x [*x]\n", "line 1, column 8: an alias that contains itself" },
	{ "a: *x\n", "line 1, column 4: an alias of an anchor that is not there" },
	{ "? {a: 1}\n: 2\n", "line 1, column 3: a key that is no plain text" },
};

Test(files, bad_input_is_named)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_str_eq(read_bad(bad[i].text, strlen(bad[i].text)), bad[i].message,
		                 "%s: got \"%s\", not \"%s\"", bad[i].text,
		                 read_bad(bad[i].text, strlen(bad[i].text)), bad[i].message);
}

Test(files, the_same_object_twice)
{
	static const char text[] = NODE("a") POD("a") NODE("a");
	char expected[256];

	snprintf(expected, sizeof(expected),
	         "document 3: Node a: metadata.name: the same object is at %s: document 1", path);
	cr_assert_str_eq(read_bad(text, strlen(text)), expected);
}

Test(files, two_groups_may_use_one_kind)
{
	files_free(read_ok(
		"{\"apiVersion\":\"a.io/v1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\"}}"
		"{\"apiVersion\":\"b.io/v1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g\"}}"));
}

Test(files, nothing_grows_without_end)
{
	char text[2000];
	size_t n = (size_t)snprintf(text, sizeof(text), "a0: &a0 [%0200d]\n", 0);

	for (int i = 1; i < 20; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d]\n", i, i,
		                      i - 1, i - 1, i - 1, i - 1);
	cr_assert(strstr(read_bad(text, n), "aliases make this document far larger than it is") !=
	          NULL);
}

Test(files, nesting_is_bounded)
{
	char text[4000];

	memset(text, '[', sizeof(text));
	text[0] = '{';
	memcpy(text + 1, "\"a\":", 4);
	cr_assert(strstr(read_bad(text, sizeof(text)), "nested too deeply") != NULL);
	memset(text, '[', sizeof(text));
	cr_assert(strstr(read_bad(text, sizeof(text)), "nested too deeply") != NULL);
}

Test(files, missing_file)
{
	struct files *files = files_new();
	char error[256];

	cr_assert(!files_read(files, "/nowhere/at/all.json", error, sizeof(error)));
	cr_assert_str_eq(error, "/nowhere/at/all.json: No such file or directory");
	files_free(files);
}

/* Whatever stands in a file, it is taken or refused with a message; under ASan. */
Test(files, damaged_files_do_no_harm, .timeout = 60)
{
	static const char *const seeds[] = {
		"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[" NODE(
			"a") ",{\"apiVersion\":\"v1\",\"kind\":\"PodList\","
				 "\"items\":[" POD("\\u00e9") ", " POD("b\\n") "]}]} " NODE("c"),
		"a: &x {k: [1, &y two]}\nb: *x\n? c\n: |\n  text\n  more\n---\napiVersion: v1\nkind: Pod\n"
		"metadata: {name: 'it''s', labels: {\"q\": -0x1F, r: .5e3}}\n...\n--- \n!!str 5\n",
	};
	uint64_t state = (uint64_t)time(NULL);

	printf("seed %llu\n", (unsigned long long)state);
	for (int round = 0; round < 4000; round++) {
		struct files *files = files_new();
		char text[1024], error[512] = "";
		size_t n = strlen(seeds[round % 2]);

		memcpy(text, seeds[round % 2], n);
		for (int i = 0; i < 1 + round % 4; i++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
			text[(state >> 33) % n] =
				(state & 1) ? (char)(state >> 25) : "{}[]\":,&*-\n \\"[(state >> 20) % 13];
		}
		write_bytes(text, n);
		if (!files_read(files, path, error, sizeof(error)))
			cr_expect(strncmp(error, path, strlen(path)) == 0, "round %d: %s", round, error);
		else
			files_check(files, error, sizeof(error));
		files_free(files);
	}
}

static const struct plain {
	const char *text;
	const char *json; /* NULL: a string */
} plain[] = {
	{ "", "null" },
	{ "~", "null" },
	{ "null", "null" },
	{ "true", "true" },
	{ "False", "false" },
	{ "yes", NULL },
	{ "on", NULL },
	{ "0", "0" },
	{ "12", "12" },
	{ "-7", "-7" },
	{ "+5", "5" },
	{ "1.5", "1.5" },
	{ ".5", "0.5" },
	{ "1.", "1" },
	{ "1e3", "1e3" },
	{ "-1.5E-3", "-1.5E-3" },
	{ "0x1F", "31" },
	{ "0o17", "15" },
	{ "017", "15" },
	{ "089", "89" },
	{ "00.5", "0.5" },
	{ "1_000", NULL },
	{ "1Gi", NULL },
	{ "100m", NULL },
	{ "1.2.3", NULL },
	{ "-", NULL },
	{ ".", NULL },
	{ "e3", NULL },
	{ "1e", NULL },
	{ "2026-01-02", NULL },
	{ "12:30:45", NULL },
	{ "=", NULL },
	{ "18446744073709551616", "18446744073709551616" },
};

Test(yaml, plain_scalars)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		struct bytes out = { 0 };
		bool bad_number;
		bool is_value = yaml_plain(plain[i].text, strlen(plain[i].text), &out, &bad_number);

		cr_expect(!bad_number);
		cr_expect(is_value == (plain[i].json != NULL), "\"%s\"", plain[i].text);
		if (is_value && plain[i].json != NULL)
			cr_expect(out.n == strlen(plain[i].json) && memcmp(out.at, plain[i].json, out.n) == 0,
			          "\"%s\" is %.*s", plain[i].text, (int)out.n, out.at);
		bytes_free(&out);
	}
}
