/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors: an expression that is evaluated in another frame (as the value of cel.bind(), as a
 * branch, as an item of a list) gives the same answer, within the limits of steps and memory; and a
 * second time, in the memory of the first. */
#include "frontend/cel/cel.h"

#include "tests/fuzz/fuzz.h"

#define BYTES_MAX 1024

/* clang-format off */
static const char *const words[] = {
	"device", ".driver", ".attributes", ".capacity", "[\"d.io\"]", ".model", ".index", ".memory", "&&", "||", "!",
	"==", "!=", "<=", " in ", "?", ":", ".?", "[?", "(", ")", "[", "]", "{", "}", ",", "1", "2u", "1.5", "\"a\"",
	"'H100'", "true", "false", "null", "+", "-", "*", "/", "%", "has(", "cel.bind(x,", ".all(x,", ".exists(x,",
	".exists_one(x,", ".map(x,", ".filter(x,", ".all(k,v,", ".transformMap(k,v,", ".transformList(i,v,", "size(",
	"optional.of(", "optional.none()", ".orValue(", ".or(", ".value()", ".optMap(x,", ".optFlatMap(x,", "int(",
	"string(", "double(", "dyn(", "type(", "quantity(\"1Gi\")", "semver(\"1.2.3\")", ".compareTo(", ".add(",
	".matches(\"", ".find(\"", ".findAll(\"", "(a|b)*", "[^a]", "{2,5}", ".split(", ".replace(", ".substring(",
	".join(", ".sort()", ".distinct()", ".flatten()", "lists.range(", "sets.contains(", "x", "k", "v", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "cel", .bytes_max = BYTES_MAX, .words = words };

static struct cel_attribute attributes[] = {
	{ .kind = CEL_ATTRIBUTE_STRING },
	{ .kind = CEL_ATTRIBUTE_INT, .number = 3 },
	{ .kind = CEL_ATTRIBUTE_BOOL, .number = 1 },
	{ .kind = CEL_ATTRIBUTE_VERSION },
};
static struct cel_capacity capacities[1];
static struct cel_device device;

static void make_device(void)
{
	static const char *const names[] = { "model", "index", "healthy", "version" };
	struct cel_error error;

	if (device.attributes)
		return;
	for (size_t i = 0; i < 4; i++) {
		attributes[i].domain = text_of("d.io");
		attributes[i].name = text_of(names[i]);
	}
	attributes[0].string = text_of("H100 \xc3\xa9");
	if (!cel_version_parse(text_of("550.54.15-rc.1"), &attributes[3].version, &error) ||
	    !cel_quantity_parse(text_of("80Gi"), &capacities[0].value, &error))
		fuzz_found("the device: %s", error.text);
	capacities[0].domain = text_of("d.io");
	capacities[0].name = text_of("memory");
	device = (struct cel_device){ .driver = text_of("d.io"),
		                          .attributes = attributes,
		                          .attributes_n = 4,
		                          .capacities = capacities,
		                          .capacities_n = 1 };
}

struct answer {
	int rc;
	bool match;
	struct cel_error error;
};

static struct answer ask(struct cel_program *p)
{
	struct answer a = { 0 };

	a.rc = cel_eval(p, &device, &a.match, &a.error);
	return a;
}

static void same(const struct answer *a, const struct answer *b, const char *what)
{
	/* One of them may have come to the limit of steps. */
	if (a->rc == -E2BIG || b->rc == -E2BIG)
		return;
	if (a->rc != b->rc || a->match != b->match || strcmp(a->error.text, b->error.text) != 0)
		fuzz_found("%s: %d %d \"%s\", not %d %d \"%s\"", what, b->rc, b->match, b->error.text,
		           a->rc, a->match, a->error.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const char *const frames[][2] = {
		{ "cel.bind(fuzz_frame, (", "\n), fuzz_frame)" },
		{ "(true ? (", "\n) : false)" },
		{ "[(", "\n)][0]" },
		{ "cel.bind(fuzz_frame, 1, fuzz_frame == 2 ? 3 : (", "\n))" },
	};
	struct text text = { (const char *)data, bytes };
	struct cel_error error;
	struct cel_program *p;
	struct answer first, again;
	char framed[BYTES_MAX + 128];

	make_device();
	p = cel_compile(text, &error);
	if (!p) {
		if (!error.text[0])
			fuzz_found("an expression that does not compile has no error");
		return 0;
	}
	first = ask(p);
	again = ask(p);
	same(&first, &again, "a second time");
	cel_free(p);
	/* An optional with '?' at the beginning of the text is no expression, but an item. */
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]) && bytes <= BYTES_MAX; i++) {
		int n = snprintf(framed, sizeof(framed), "%s%.*s%s", frames[i][0], (int)bytes,
		                 (const char *)data, frames[i][1]);

		if (memchr(data, '\0', bytes))
			break;
		p = cel_compile((struct text){ framed, (size_t)n }, &error);
		if (!p) {
			if (!error.limit)
				fuzz_found("in a frame: %s", error.text);
			continue;
		}
		again = ask(p);
		same(&first, &again, frames[i][0]);
		cel_free(p);
	}
	return 0;
}
