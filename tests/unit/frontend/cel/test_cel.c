/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors against what k8s.io/dynamic-resource-allocation/cel 1.36.3 answers on 7 devices:
 * tests/data/cel/selectors.json, see its README.md.  Then limits, and what is refused. */
#include "frontend/cel/cel.h"
#include "frontend/cel/program.h"
#include "frontend/devices/devices.h"

#include "tests/unit/test.h"

#include <cjson/cJSON.h>

static cJSON *root;

/* Freed by the end of the test. */
static cJSON *data(void)
{
	char *text;
	FILE *f;
	long n;

	if (root)
		return root;
	f = fopen("tests/data/cel/selectors.json", "r");
	cr_assert_not_null(f, "tests run in the top folder");
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = malloc((size_t)n + 1);
	cr_assert_eq(fread(text, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	text[n] = '\0';
	root = cJSON_Parse(text);
	free(text);
	cr_assert_not_null(root);
	return root;
}

/* The slices are texts: a double would not hold each integer.  Devices point into them. */
static struct devices_row *read_devices(struct devices *d, size_t *n)
{
	cJSON *slice;
	char error[256];

	cJSON_ArrayForEach(slice, cJSON_GetObjectItem(data(), "slices"))
	{
		const char *json = slice->valuestring;

		cr_assert(devices_put(d, "ResourceSlice", json, strlen(json), error, sizeof(error)), "%s",
		          error);
	}
	return devices_list(d, n);
}

static const struct cel_device *find(const struct devices_row *rows, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].id, id) == 0)
			return rows[i].device;
	cr_assert_fail("no device %s", id);
	return NULL;
}

/* The rows of one part of the file: [selector, [true, false or the error, by device]]. */
static void compare(const char *part, int least)
{
	struct devices *d = devices_new();
	size_t n;
	struct devices_row *listed = read_devices(d, &n);
	const cJSON *ids = cJSON_GetObjectItem(data(), "devices"), *row;
	int rows = 0;

	cJSON_ArrayForEach(row, cJSON_GetObjectItem(data(), part))
	{
		const char *selector = cJSON_GetArrayItem(row, 0)->valuestring;
		struct cel_error error;
		struct cel_program *p = cel_compile(text_of(selector), &error);
		const cJSON *want;
		int at = 0;

		cr_assert_not_null(p, "%s: %s", selector, error.text);
		cJSON_ArrayForEach(want, cJSON_GetArrayItem(row, 1))
		{
			const char *id = cJSON_GetArrayItem(ids, at++)->valuestring;
			bool match = false;
			int rc = cel_eval(p, find(listed, n, id), &match, &error);

			if (cJSON_IsBool(want))
				cr_expect(rc == 0 && match == cJSON_IsTrue(want), "%s on %s: %s expected, got %s",
				          selector, id, cJSON_IsTrue(want) ? "true" : "false",
				          rc ? error.text : "the other");
			else
				cr_expect(rc == -EINVAL && strcmp(error.text, want->valuestring) == 0,
				          "%s on %s: \"%s\" expected, got %s", selector, id, want->valuestring,
				          rc ? error.text : "a bool");
		}
		cel_free(p);
		rows++;
	}
	free(listed);
	devices_free(d);
	cJSON_Delete(root);
	root = NULL;
	cr_assert_geq(rows, least);
}

Test(cel, recorded_selectors)
{
	compare("recorded", 230);
}

Test(cel, random_selectors)
{
	compare("random", 400);
}

Test(cel, regular_expressions)
{
	compare("patterns", 250);
}

/* The result for a device without anything: "true", "false", or the error. */
static const char *answer(const char *selector)
{
	static struct cel_error error;
	static const struct cel_device device = { .driver = { "d.example.com", 13 } };
	struct cel_program *p = cel_compile(text_of(selector), &error);
	bool match = false;
	int rc;

	if (!p)
		return error.text;
	rc = cel_eval(p, &device, &match, &error);
	cel_free(p);
	return rc ? error.text : match ? "true" : "false";
}

Test(cel, what_is_not_known_is_named)
{
	cr_expect_str_eq(answer("duration('1s') == duration('1s')"), "function duration");
	cr_expect_str_eq(answer("ip('1.2.3.4').family() == 4"), "function family");
	cr_expect_str_eq(answer("url('http://a') == url('http://a')"), "function url");
	cr_expect_str_eq(answer("b'a' == b'a'"), "a literal of bytes");
	cr_expect_str_eq(answer("device.driver.matches('\\\\pL')"),
	                 "a regular expression with a class of Unicode (\\p)");
	/* The same, known only when it is evaluated. */
	cr_expect_str_eq(answer("device.driver.matches('\\\\p' + 'L')"),
	                 "a regular expression with a class of Unicode (\\p)");
}

Test(cel, syntax_errors_have_a_place)
{
	cr_expect_str_eq(
		answer("1 +"),
		"compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' "
		"expecting an expression");
	cr_expect_str_eq(answer("true &&\n nosuch"),
	                 "compilation failed: undeclared reference to 'nosuch' (in container '')");
	cr_expect_str_eq(
		answer("device.driver == 'x"),
		"compilation failed: ERROR: <input>:1:18: Syntax error: token recognition error: "
		"unterminated string");
	cr_expect_str_eq(answer("9223372036854775808 > 0"),
	                 "compilation failed: ERROR: <input>:1:1: invalid int literal");
	cr_expect_str_eq(answer("-9223372036854775808 < 0"), "true");
	cr_expect_str_eq(
		answer("device.driver.matches('a[')"),
		"compilation failed: invalid matches argument: error parsing regexp: missing closing ]: `[`");
	cr_expect_str_eq(answer("'a'.substring()"),
	                 "compilation failed: found no matching overload for 'substring'");
}

/* `n` times `open`, then `middle`, then `n` times `close`. */
static char *nested(const char *open, const char *middle, const char *close, size_t n)
{
	char *text = calloc(1, n * (strlen(open) + strlen(close)) + strlen(middle) + 1), *to = text;

	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, open);
	to = stpcpy(to, middle);
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, close);
	return text;
}

Test(cel, depth_is_bounded)
{
	static const struct {
		const char *open, *middle, *close;
		size_t n;
		const char *answer;
	} rows[] = {
		{ "(", "true", ")", 63, "true" },
		{ "(", "true", ")", 64, "nesting deeper than 64" },
		{ "[", "", "]", 4000, "nesting deeper than 64" },
		{ "1+", "1 > 0", "", 240, "true" },
		{ "1+", "1 > 0", "", 4000, "more than 250 operators in a chain" },
		{ "true&&", "true", "", 1500, "true" },
		{ " ", "true", " ", 5119, "an expression of more than 10240 bytes" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = nested(rows[i].open, rows[i].middle, rows[i].close, rows[i].n);

		cr_expect_str_eq(answer(text), rows[i].answer, "row %zu", i);
		free(text);
	}
}

Test(cel, work_and_memory_are_bounded)
{
	static const char *const selectors[] = {
		/* five loops of ten, each in the other */
		"[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, "
		"[0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, a+b+c+d+e >= 0)))))",
		/* the same without memory: the list is made once */
		"cel.bind(l, [0,1,2,3,4,5,6,7,8,9], l.all(a, l.all(b, l.all(c, l.all(d, l.all(e, "
		"a+b+c+d+e >= 0))))))",
		/* a text that doubles 64 times */
		"cel.bind(a, 'aaaaaaaaaaaaaaaa', cel.bind(b, a+a+a+a+a+a+a+a, cel.bind(c, b+b+b+b+b+b+b+b, cel.bind(d, "
		"c+c+c+c+c+c+c+c, cel.bind(e, d+d+d+d+d+d+d+d, cel.bind(f, e+e+e+e+e+e+e+e, f+f+f+f == ''))))))",
		"lists.range(100000).size() == 1",
		"lists.range(99999).map(x, [x, x, x, x]).size() == 1",
		/* a pattern that others match in exponential time, often */
		"lists.range(5000).all(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'.matches('(a*)*$') || true)",
		"lists.range(500).all(x, lists.range(500).distinct().size() == 500)",
	};

	for (size_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++)
		cr_expect_str_eq(answer(selectors[i]), "more than 100000 steps or 1024 KiB", "%s: %s",
		                 selectors[i], answer(selectors[i]));
}

/* A program is kept for each selector of a claim, its evaluations are not. */
Test(cel, an_evaluation_keeps_no_memory)
{
	const struct cel_device device = { .driver = text_of("d") };
	struct cel_error error;
	struct cel_program *p = cel_compile(text_of("lists.range(4000).size() > 1"), &error);
	bool match;

	cr_assert(cel_eval(p, &device, &match, &error) == 0 && match);
	cr_expect_eq(arena_bytes(&p->scratch.arena), 0);
	cr_expect_gt(cel_bytes(p), sizeof(*p));
	cel_free(p);
}

/* Some microseconds for the shortest one, which were counted as 5 steps. */
Test(cel, a_pattern_that_is_no_constant_costs_what_its_compiler_takes)
{
	const struct cel_device device = { .driver = text_of("d") };
	struct cel_error error;
	struct cel_program *p =
		cel_compile(text_of("lists.range(20).all(x, 'd'.matches(device.driver))"), &error);
	bool match;

	cr_assert(cel_eval(p, &device, &match, &error) == 0 && match);
	cr_expect_geq(cel_steps(p), 20 * 256);
	cel_free(p);
}

/* The value of cel.bind() is computed when it is first used, once, also inside of loops. */
Test(cel, bind_is_lazy)
{
	cr_expect_str_eq(answer("cel.bind(x, 1/0, true)"), "true");
	cr_expect_str_eq(answer("cel.bind(x, 1/0, x == 1)"), "division by zero");
	cr_expect_str_eq(answer("[1,2,3].map(i, cel.bind(x, i * 2, x + x)) == [4,8,12]"), "true");
	cr_expect_str_eq(
		answer(
			"cel.bind(x, [1,2], cel.bind(y, x.map(i, i+1), y == [2,3] && x == [1,2] && y[0] == 2))"),
		"true");
	cr_expect_str_eq(answer("[1,2].all(i, cel.bind(x, i, [5].all(i, x < i)))"), "true");
}

Test(cel, versions_and_quantities)
{
	struct cel_version a, b;
	struct cel_quantity q;
	struct cel_error error;

	cr_assert(cel_version_parse(text_of("1.2.3-rc.1+b"), &a, &error));
	cr_assert(cel_version_parse(text_of("1.2.3-rc.2"), &b, &error));
	cr_expect_eq(cel_version_compare(&a, &b), -1);
	cr_expect_eq(cel_version_compare(&b, &a), 1);
	cr_assert(cel_version_parse(text_of("1.2.3-rc.1"), &b, &error));
	cr_expect_eq(cel_version_compare(&a, &b), 0);
	cr_assert(cel_version_parse(text_of("1.2.3"), &b, &error));
	cr_expect_eq(cel_version_compare(&a, &b), -1);
	cr_assert(!cel_version_parse(text_of("01.2.3"), &b, &error));
	cr_expect_str_eq(error.text, "Major number must not contain leading zeroes \"01\"");
	cr_assert(!cel_version_parse(text_of("99999999999999999999.2.3"), &b, &error));
	cr_expect_str_eq(error.text,
	                 "strconv.ParseUint: parsing \"99999999999999999999\": value out of range");
	cr_assert(cel_quantity_parse(text_of("80Gi"), &q, &error));
	cr_expect(q.nano == (nano_t)85899345920 * 1000000000);
	cr_assert(!cel_quantity_parse(text_of("1x"), &q, &error));
	cr_assert(!cel_quantity_parse(text_of("1kk"), &q, &error));
	cr_expect_str_eq(error.text, "unable to parse quantity's suffix");
}
