/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of YAML: whatever it makes is JSON, one document a line; and of what is JSON
 * already it makes the same document. */
#include "tests/fuzz/fuzz.h"

#include "ctl/objects/json_check.h"
#include "frontend/json/yaml.h"
#include "frontend/json/json.h"

/* clang-format off */
static const char *const words[] = {
	"---\n", "...\n", "\n- ", "\n  ", ": ", "&a ", "*a", "!!str ", "!!int ", "|\n ", ">-\n ",
	"<<: *a", "# c\n", "? ", "~", "null", "true", "0x1f", "0o17", "1_000", ".inf", ".nan", "1e3",
	"-0", "\"\\u00e9\"", "'it''s'", "{a: 1}", "[1, 2]", "\t", "\r\n", "%YAML 1.2\n",
	"\xef\xbb\xbf", "\xe2\x80\xa8", "\"\\ud83d\\ude00\"", "\"", "'", "{", "}", "[", "]", ",", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "yaml", .bytes_max = 4096, .words = words };

/* Every line is a document. */
static void check_lines(const struct bytes *json)
{
	const char *p = json->at, *end = json->at + json->n, *where, *what;

	while (p < end) {
		const char *line = memchr(p, '\n', (size_t)(end - p));

		if (!line)
			fuzz_found("the last line does not end");
		p = json_check(p, line, &where, &what);
		if (!p)
			fuzz_found("no JSON: %s", what);
		if (json_blank(p, line) != line)
			fuzz_found("more than a document in a line");
		p = line + 1;
	}
}

/* The value as the reader of YAML writes it.  False: it has a part that YAML or the scanner can not
 * express. */
static bool again(struct json *j, struct bytes *out)
{
	const char *p = json_blank(j->at, j->end);
	struct text t;
	size_t items = 0;
	char c = p < j->end ? *p : '\0';

	if (c == '{' && json_object(j)) {
		bytes_put(out, "{");
		while (json_key(j, &t)) {
			bytes_put(out, items++ > 0 ? "," : "");
			bytes_quote(out, t.at, t.bytes);
			bytes_put(out, ":");
			if (!again(j, out))
				return false;
		}
		bytes_put(out, "}");
	} else if (c == '[' && json_array(j)) {
		bytes_put(out, "[");
		while (json_item(j)) {
			bytes_put(out, items++ > 0 ? "," : "");
			if (!again(j, out))
				return false;
		}
		bytes_put(out, "]");
	} else if (c == '"' && json_string(j, &t)) {
		bytes_quote(out, t.at, t.bytes);
	} else if (c != '\0' && !strchr("{[\"", c) && json_raw(j, &t)) {
		bytes_add(out, t.at, t.bytes);
	}
	return !j->failed;
}

static bool has(const uint8_t *data, size_t bytes, const char *piece)
{
	return memmem(data, bytes, piece, strlen(piece)) != NULL;
}

/* JSON that YAML 1.1, which libyaml reads, means or refuses otherwise: line ends in the
 * middle of a string, halves of a pair, bytes that are not to be printed, tabs. */
static bool is_other_in_yaml(const uint8_t *data, size_t bytes)
{
	if (has(data, bytes, "\xe2\x80\xa8") || has(data, bytes, "\xe2\x80\xa9") ||
	    has(data, bytes, "\xc2\x85"))
		return true;
	return has(data, bytes, "\\ud") || has(data, bytes, "\\uD") || has(data, bytes, "\t");
}

/* JSON may be refused for what a person would not write: see frontend/json/yaml.c. */
static bool may_be_refused(const char *text)
{
	static const char *const
		texts[] = { "twice in one mapping", "merge keys", "nested too deeply", "control characters",
		            "could not find expected ':'" /* a key past 1024 bytes */ };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strstr(text, texts[i]))
			return true;
	return false;
}

static void check_same(const uint8_t *data, size_t bytes, const struct bytes *got,
                       const char *refusal)
{
	const char *text = (const char *)data, *end = text + bytes, *where, *what;
	const char *p = json_check(text, end, &where, &what);
	struct bytes wanted = { 0 };
	struct arena arena = { 0 };
	struct json j;

	if (!p || json_blank(p, end) != end || is_other_in_yaml(data, bytes))
		return;
	json_begin(&j, text, bytes, &arena);
	if (again(&j, &wanted) && json_end(&j)) {
		bytes_put(&wanted, "\n");
		/* A line may not end between a key and its colon. */
		if (refusal && !may_be_refused(refusal) && !has(data, bytes, "\n") &&
		    !has(data, bytes, "\r"))
			fuzz_found("%s: %.*s", refusal, (int)wanted.n, wanted.at);
		if (!refusal && (wanted.n != got->n || memcmp(wanted.at, got->at, got->n) != 0))
			fuzz_found("wanted %.*sgot %.*s", (int)wanted.n, wanted.at, (int)got->n, got->at);
	}
	bytes_free(&wanted);
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct bytes json = { 0 };
	struct yaml_error e = { 0 };

	if (yaml_to_json((const char *)data, bytes, &json, NULL, &e)) {
		check_lines(&json);
		check_same(data, bytes, &json, NULL);
	} else {
		if (e.line == 0 || e.column == 0 || e.text[0] == '\0')
			fuzz_found("refused without a word");
		check_same(data, bytes, &json, e.text);
	}
	bytes_free(&json);
	return 0;
}
