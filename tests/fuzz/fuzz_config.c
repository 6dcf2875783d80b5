/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file: it is read, or refused with a place in it; what is read is in
 * range, and printed and read again it is the same. */
#include "frontend/config/config.h"

#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

/* clang-format off */
static const char *const words[] = {
	"apiVersion: muster.dev/v1alpha1\nkind: Configuration\n", "listen: ", "schedulerNames: [",
	"- a\n", "\ncore:\n  ", "maxNodes: 5\n", "nodeSelector: a in (b)\n", "dialects: []\n",
	"disabledDialects: [scheduler-plugins]\n", "coscheduling: {", "podGroupRejectPercentage: 100",
	"logLevel: debug\n", "record: \"\\u2028\"\n", "*a", "&a ", "null", "true", "\"off\"", "0x10",
	"1e3", "\n---\n", ",", "}", "]", ": ", NULL,
};
/* clang-format on */

const struct fuzzer fuzzer = { .name = "config", .bytes_max = 4096, .words = words };

static char *print(const struct options *o, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	if (!out)
		fuzz_found("memory was short");
	config_print(o, out);
	fclose(out);
	return text;
}

static void check_place(const char *error)
{
	unsigned long line, column;

	if (sscanf(error, "fuzz:%lu:%lu: ", &line, &column) != 2 || line == 0 || column == 0)
		fuzz_found("no place: %s", error);
	for (const char *c = error; *c; c++)
		if ((unsigned char)*c < 0x20)
			fuzz_found("a control byte in the message");
}

static void check_values(const struct options *o)
{
	char cap[24];

	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *s = &settings[i];
		const char *text = setting_is_number(s) ? setting_get(s, o, cap) : NULL;
		int64_t n = text ? strtoll(text, NULL, 10) : s->least;

		if (n < s->least || n > s->most)
			fuzz_found("%s is %" PRId64, s->path, n);
		if ((o->from_file & setting_bit(s)) && !setting_is_list(s) && !setting_get(s, o, cap))
			fuzz_found("%s was in the file and is not set", s->path);
	}
	if (o->scheduler_names.n == 0 || o->scheduler_names.n > TEXT_LIST_MAX)
		fuzz_found("%zu names", o->scheduler_names.n);
}

static void check_again(const struct options *o)
{
	size_t once_bytes, twice_bytes;
	char *once = print(o, &once_bytes), *twice, error[1200];
	struct options again;

	options_start(&again);
	if (config_read_text("again", once, once_bytes, &again, error, sizeof(error)) < 0)
		fuzz_found("what was printed is refused: %s\n%s", error, once);
	options_settle(&again);
	twice = print(&again, &twice_bytes);
	if (strcmp(once, twice) != 0)
		fuzz_found("read again it is other:\n%s\n%s", once, twice);
	options_free(&again);
	free(once);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char error[1200] = "";
	struct options o;

	options_start(&o);
	if (config_read_text("fuzz", (const char *)data, bytes, &o, error, sizeof(error)) == 0) {
		options_settle(&o);
		check_values(&o);
		check_again(&o);
	} else {
		check_place(error);
	}
	options_free(&o);
	return 0;
}
