/* SPDX-License-Identifier: Apache-2.0 */
/* The extractor against cJSON's tree: an accepted object has the tree's values; a refused one has a
 * reason; and an equal object in another form (order, white space, escapes, unknown members) is
 * accepted too. */
#include "frontend/decode/extract.h"
#include "frontend/json/json.h"

#include "tests/fuzz/fuzz.h"
#include "tests/unit/support_extract.h"

#define BYTES_MAX 8192

/* clang-format off */
static const char *const words[] = {
	"{", "}", "[", "]", ",", ":", "\"", "null", "true", "false", "{}", "[]", "-1", "1e3", "0.5",
	"9223372036854775807", "-9223372036854775808", "9223372036854775808", "2147483648", "1e400",
	"\\u0000", "\\ud800", "\\ud83d\\ude00", "\\", "\\/", "\"nodeName\":\"n\",",
	"\"spec\":{\"priority\":7},", "\"metadata\":{\"labels\":{\"app\":\"x\"}},",
	"\"containers\":[],", "\"matchLabelKeys\":[\"app\"],", "\"mismatchLabelKeys\":[\"app\"],",
	"\"labelSelector\":{},", "\"labelSelector\":null,", "\"namespaceSelector\":{},",
	"\"operator\":\"Exists\",", "\"values\":[],", "\"operator\":\"Gt\",", "\"hostNetwork\":true,",
	"\"hostPort\":0,", "\"minDomains\":2,", "\"weight\":0,",
	"\"whenUnsatisfiable\":\"ScheduleAnyway\",", "\"restartPolicy\":\"Always\",",
	"\"requests\":{\"cpu\":\"1\"},", "\"limits\":{\"a/b\":\"1\"},", "\"controller\":true,",
	"\"kind\":\"Node\",", "\"kind\":\"Pod\",", "\"affinity\":null,", "\"spec\":null,", "\xff",
	"\x01", "\xc3\xa9", NULL,
};
/* clang-format on */

static size_t change(struct random *r, uint8_t *data, size_t bytes, size_t cap);

const struct fuzzer fuzzer = {
	.name = "extract", .bytes_max = BYTES_MAX, .words = words, .change = change
};

static size_t tree_size(const cJSON *t)
{
	size_t n = 1;

	for (const cJSON *c = t->child; c; c = c->next)
		n += tree_size(c);
	return n;
}

/* The n-th value in the order of the document; its parent, too. */
static cJSON *tree_at(cJSON *t, size_t *n, cJSON **parent)
{
	for (cJSON *c = t->child; c; c = c->next) {
		cJSON *found;

		*parent = t;
		if ((*n)-- == 0)
			return c;
		found = tree_at(c, n, parent);
		if (found)
			return found;
	}
	return NULL;
}

static cJSON *any_value(struct random *r)
{
	static const char *const texts[] = {
		"",           "a",     "In",   "NotIn",  "Exists", "Honor",        "Ignore",
		"NoSchedule", "Equal", "100m", "1.5Gi",  "TCP",    "UDP",          "-1",
		"x/y",        "A_b.c", "-bad", "Always", "app",    "metadata.name"
	};
	static const double numbers[] = { 0,     1,          -1,           100,           101,  65535,
		                              65536, 2147483647, 2147483648.0, -2147483648.0, 1e15, 0.5 };
	cJSON *list;

	switch (random_below(r, 7)) {
	case 0:
		return cJSON_CreateNull();
	case 1:
		return cJSON_CreateBool((cJSON_bool)random_below(r, 2));
	case 2:
		return cJSON_CreateNumber(numbers[random_below(r, sizeof(numbers) / sizeof(numbers[0]))]);
	case 3:
		return cJSON_CreateObject();
	case 4:
		return cJSON_CreateArray();
	case 5:
		list = cJSON_CreateArray();
		for (uint32_t i = random_below(r, 90); i > 0; i--) {
			cJSON *outer = cJSON_CreateArray();

			cJSON_AddItemToArray(outer, list);
			list = outer;
		}
		return list;
	default:
		return cJSON_CreateString(texts[random_below(r, sizeof(texts) / sizeof(texts[0]))]);
	}
}

/* One value becomes another one, one of the same tree, two, or none. */
static void tree_change(struct random *r, cJSON *t)
{
	size_t size = tree_size(t), n = random_below(r, (uint32_t)size),
		   m = random_below(r, (uint32_t)size);
	cJSON *parent = t, *other_parent = t, *at, *other, *copy;

	if (size < 2)
		return;
	at = tree_at(t, &n, &parent);
	other = tree_at(t, &m, &other_parent);
	if (!at)
		return;
	switch (random_below(r, 4)) {
	case 0:
		cJSON_DetachItemViaPointer(parent, at);
		cJSON_Delete(at);
		return;
	case 1:
		copy = other ? cJSON_Duplicate(other, 1) : any_value(r);
		break;
	case 2:
		copy = cJSON_Duplicate(at, 1);
		if (copy && cJSON_IsObject(parent))
			cJSON_AddItemToObject(parent, at->string, copy);
		else if (copy)
			cJSON_AddItemToArray(parent, copy);
		return;
	default:
		copy = any_value(r);
	}
	if (!copy)
		return;
	if (cJSON_IsObject(parent)) {
		char *name = strdup(at->string);

		free(copy->string);
		copy->string = name;
	}
	cJSON_ReplaceItemViaPointer(parent, at, copy);
}

static size_t change(struct random *r, uint8_t *data, size_t bytes, size_t cap)
{
	cJSON *t = cJSON_ParseWithLength((const char *)data, bytes);
	char *text;
	size_t n;

	if (!t)
		return 0;
	tree_change(r, t);
	text = cJSON_PrintUnformatted(t);
	cJSON_Delete(t);
	n = text ? strlen(text) : 0;
	if (n > cap)
		n = 0;
	if (n > 0)
		memcpy(data, text, n);
	free(text);
	return n;
}

struct printer {
	struct random r;
	char *at;
	size_t n, cap;
};

static void print_byte(struct printer *p, char c)
{
	if (p->n == p->cap) {
		p->cap = p->cap * 2 + 4096;
		p->at = realloc(p->at, p->cap);
		if (!p->at)
			abort();
	}
	p->at[p->n++] = c;
}

static void print_text(struct printer *p, const char *text)
{
	for (; *text; text++)
		print_byte(p, *text);
}

static void print_space(struct printer *p)
{
	for (uint32_t n = random_below(&p->r, 8); n > 5; n--)
		print_byte(p, " \n\r\t"[random_below(&p->r, 4)]);
}

static void print_string(struct printer *p, const char *text)
{
	char escape[16];

	print_byte(p, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == '"' || c == '\\' || (c < 0x80 && random_below(&p->r, 12) == 0)) {
			snprintf(escape, sizeof(escape), random_below(&p->r, 2) ? "\\u%04x" : "\\u%04X", c);
			print_text(p, escape);
		} else {
			print_byte(p, *text);
		}
	}
	print_byte(p, '"');
}

static void print_number(struct printer *p, const cJSON *t)
{
	char text[64];

	snprintf(text, sizeof(text), "%.17g", t->valuedouble);
	print_text(p, text);
}

static void print_value(struct printer *p, const cJSON *t);

static void print_unknown(struct printer *p)
{
	static const char *const members[] = { "\"x\":null",
		                                   "\"managedFields\":[{\"f:x\":{\"}\":\"]\\\"\"}}]",
		                                   "\"x-y\":-0.5e-7",
		                                   "\"\":{}",
		                                   "\"Kind\":\"Node\"",
		                                   "\"x\":[[],[{}],\"\\\\\"]",
		                                   "\"metaData\":{\"name\":\"other\"}" };

	print_text(p, members[random_below(&p->r, sizeof(members) / sizeof(members[0]))]);
}

/* Members of a struct are printed in any order, with unknown ones among them; the tree is then
 * parsed from this text, because it keeps the order. */
static void print_children(struct printer *p, const cJSON *t, bool is_struct)
{
	bool first = true;

	for (const cJSON *c = t->child; c; c = c->next) {
		if (!first)
			print_byte(p, ',');
		first = false;
		print_space(p);
		if (is_struct && random_below(&p->r, 8) == 0) {
			print_unknown(p);
			print_byte(p, ',');
		}
		if (cJSON_IsObject(t)) {
			print_string(p, c->string);
			print_space(p);
			print_byte(p, ':');
		}
		print_value(p, c);
	}
}

/* Is it a map, to which nothing may be added? */
static bool is_map(const cJSON *t)
{
	static const char *const maps[] = { "labels",       "annotations", "matchLabels",
		                                "nodeSelector", "selector",    "requests",
		                                "limits",       "overhead",    "podFixed",
		                                "allocatable",  "capacity",    "allocatedResources" };

	for (size_t i = 0; t->string && i < sizeof(maps) / sizeof(maps[0]); i++)
		if (strcmp(t->string, maps[i]) == 0)
			return true;
	return false;
}

static void print_value(struct printer *p, const cJSON *t)
{
	print_space(p);
	if (cJSON_IsString(t))
		print_string(p, t->valuestring);
	else if (cJSON_IsNumber(t))
		print_number(p, t);
	else if (cJSON_IsArray(t) || cJSON_IsObject(t)) {
		print_byte(p, cJSON_IsArray(t) ? '[' : '{');
		print_children(p, t, cJSON_IsObject(t) && !is_map(t));
		print_byte(p, cJSON_IsArray(t) ? ']' : '}');
	} else
		print_text(p, cJSON_IsNull(t) ? "null" : cJSON_IsTrue(t) ? "true" : "false");
	print_space(p);
}

/* Children in another order, unless a name is there twice: then the order counts. */
static void tree_shuffle(struct random *r, cJSON *t)
{
	cJSON *list[64];
	uint32_t n = 0;

	for (cJSON *c = t->child; c; c = c->next)
		tree_shuffle(r, c);
	for (cJSON *c = t->child; c; c = c->next) {
		for (uint32_t i = 0; cJSON_IsObject(t) && i < n; i++)
			if (strcmp(c->string, list[i]->string) == 0)
				return;
		if (!cJSON_IsObject(t) || n == 64)
			return;
		list[n++] = c;
	}
	if (n < 2)
		return;
	for (uint32_t i = n - 1; i > 0; i--) {
		uint32_t other = random_below(r, i + 1);
		cJSON *moved = list[i];

		list[i] = list[other];
		list[other] = moved;
	}
	for (uint32_t i = 0; i < n; i++) {
		list[i]->next = i + 1 < n ? list[i + 1] : NULL;
		list[i]->prev = i > 0 ? list[i - 1] : list[n - 1];
	}
	t->child = list[0];
}

static struct pod_object pod, basics;
static struct node_object node;
static struct effective effective;

union others {
	struct meta meta;
	struct service_object service;
	struct controller_object controller;
};

/* The result of the readers, by kind; tree NULL: they are only called. */
enum { POD, NODE, NAMESPACE, SERVICE, REPLICA_SET, REPLICATION, KINDS };

/* The same pod, or the same verdict, when other text follows it as in a list; of one input in two
 * that pod is returned. */
static int read_pod(const char *text, size_t n, struct arena *arena, struct decode_error *error)
{
	static const char more[] = " ,{\"kind\":\"Pod\"}]}";
	static struct pod_object first;
	char *longer = arena_alloc(arena, n + sizeof(more));
	const int rc = extract_pod(text, n, arena, &pod, error);
	struct decode_error other;
	size_t used, end;
	int open;

	if (n > 0)
		memcpy(longer, text, n);
	memcpy(longer + n, more, sizeof(more));
	open = extract_pod_first(longer, n + sizeof(more) - 1, arena, &first, &used, &other);
	end = used;
	while (end < n && strchr(" \t\r\n", text[end]) && text[end] != '\0')
		end++;
	if (rc == 0 && (open < 0 || end < n || used > n + 1))
		fuzz_found("%d, and %zu bytes of %zu, when other text follows", open, used, n);
	/* One that ends in what follows is another text: an open string or container took it in. */
	if (rc < 0 && open == 0 && used <= n && end >= n)
		fuzz_found("it is read when other text follows");
	if (open == 0 && rc == 0 && n % 2 == 0)
		pod = first;
	return rc;
}

static int read_as(int kind, const char *text, size_t n, struct arena *arena, const cJSON *tree,
                   const char **wrong, struct decode_error *error)
{
	union others o;
	int rc;

	*wrong = NULL;
#define READ(call, differs)                                                                        \
	rc = call;                                                                                     \
	if (rc == 0 && tree)                                                                           \
		*wrong = differs;                                                                          \
	return rc
	switch (kind) {
	case POD:
		READ(read_pod(text, n, arena, error), pod_differs(&pod, tree));
	case NODE:
		READ(extract_node(text, n, arena, &node, error), node_differs(&node, tree));
	case NAMESPACE:
		READ(extract_namespace(text, n, arena, &o.meta, error), meta_differs(&o.meta, tree));
	case SERVICE:
		READ(extract_service(text, n, arena, &o.service, error), service_differs(&o.service, tree));
	case REPLICA_SET:
		READ(extract_controller(text, n, arena, "ReplicaSet", &o.controller, error),
		     controller_differs(&o.controller, tree, false));
	default:
		READ(extract_controller(text, n, arena, "ReplicationController", &o.controller, error),
		     controller_differs(&o.controller, tree, true));
	}
#undef READ
}

/* The sums of a pod are valid for any input. */
static void check_pod(const char *text, size_t n, struct arena *arena)
{
	struct decode_error error;

	for (int bound = 0; bound < 2; bound++) {
		extract_effective(&pod, bound, &effective);
		for (uint32_t i = 0; i < pod.resources.n; i++)
			if (effective.amount[i] < 0)
				fuzz_found("an amount is negative\n");
		if (effective.scored_cpu_milli < 0 || effective.scored_memory_bytes < 0)
			fuzz_found("a scored amount is negative\n");
	}
	if (extract_pod_basics(text, n, arena, &basics, &error) < 0 ||
	    !text_equal(basics.meta.name, pod.meta.name) ||
	    !text_equal(basics.node_name, pod.node_name) || basics.ended != pod.ended)
		fuzz_found("the short reading says otherwise\n");
}

static void look(int kind, const char *text, size_t n, const cJSON *tree, bool must)
{
	struct decode_error error = { .text = "" };
	struct arena arena = { 0 };
	const char *wrong;
	int rc = read_as(kind, text, n, &arena, tree, &wrong, &error);

	if (rc == -EINVAL && (!error.text[0] || !error.object[0]))
		fuzz_found("it is refused without a reason\n");
	if (rc < 0 && rc != -EINVAL)
		fuzz_found("it ends with %d\n", rc);
	if (must && rc < 0)
		fuzz_found("in other words it is refused: %s: %s: %s\n%.*s\n", error.object, error.field,
		           error.text, (int)n, text);
	if (wrong)
		fuzz_found("not as the tree: %s\n%.*s\n", wrong, (int)n, text);
	if (rc == 0 && kind == POD)
		check_pod(text, n, &arena);
	arena_free(&arena);
}

/* Numbers that are printed as they were. */
static bool is_plain(const cJSON *t)
{
	if (cJSON_IsNumber(t) && (t->valuedouble > 1e15 || t->valuedouble < -1e15 ||
	                          t->valuedouble != (double)(int64_t)t->valuedouble))
		return false;
	for (const cJSON *c = t->child; c; c = c->next)
		if (!is_plain(c))
			return false;
	return true;
}

static unsigned levels(const cJSON *t)
{
	unsigned most = 0;

	for (const cJSON *c = t->child; c; c = c->next) {
		unsigned below = levels(c);

		most = below > most ? below : most;
	}
	return most + 1;
}

static bool is_taken(int kind, const char *text, size_t n)
{
	struct arena arena = { 0 };
	struct decode_error error;
	const char *wrong;
	int rc = read_as(kind, text, n, &arena, NULL, &wrong, &error);

	arena_free(&arena);
	return rc == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data, *end = NULL;
	cJSON *tree = bytes > 0 ? cJSON_ParseWithLengthOpts(text, bytes, &end, 0) : NULL;
	struct printer p = { .r = { bytes } };
	bool whole = tree && cJSON_IsObject(tree);
	bool taken[KINDS];

	while (whole && end < text + bytes && strchr(" \n\r\t", *end) && *end)
		end++;
	whole = whole && end == text + bytes;
	for (int kind = 0; kind < KINDS; kind++) {
		look(kind, text, bytes, whole ? tree : NULL, false);
		taken[kind] = is_taken(kind, text, bytes);
	}
	/* Other words may be three levels deeper. */
	if (whole && is_plain(tree) && levels(tree) + 3 <= JSON_DEPTH) {
		cJSON *again;

		tree_shuffle(&p.r, tree);
		print_value(&p, tree);
		again = cJSON_ParseWithLength(p.at, p.n);
		if (!again)
			fuzz_found("cJSON can't read what was printed\n%.*s\n", (int)p.n, p.at);
		for (int kind = 0; kind < KINDS; kind++)
			look(kind, p.at, p.n, again, taken[kind]);
		cJSON_Delete(again);
		free(p.at);
	}
	cJSON_Delete(tree);
	return 0;
}
