/* SPDX-License-Identifier: Apache-2.0 */
/* /cells.json: the cells of the heat map, sorted into blocks by the value of a label. */
#include "frontend/page/answer_impl.h"

#include <stdlib.h>
#include <string.h>

/* The bounds of each part leave space for the next: a byte of a name may take six. */
#define NAMES_BYTES (ANSWER_BYTES_MAX / 2)
#define BLOCKS_MAX 256u /* a label with more values makes none */
#define KEYS_MAX 48u    /* label keys that are looked at */
#define VALUES_MAX 64u  /* a key with more values makes no blocks worth having */

enum cell_flags { CELL_CORDONED = 1, CELL_GONE = 2, CELL_WITHOUT = 4 /* the resource */ };

struct cell_node {
	char *name;
	uint32_t value; /* of the label: a value's number, ID_NONE: none */
	uint32_t share; /* thousandths, of the resource or of the scarcest */
	uint32_t scarcest;
	uint32_t flags;
	const struct model *model;
};

struct cells {
	struct cell_node *at; /* sorted by block, then name */
	size_t n;
};

/* A label key, and how many values the nodes have. */
struct key_count {
	uint32_t key, nodes, values_n;
	uint32_t values[VALUES_MAX + 1];
};

static const char *value_text(const struct cell_node *n)
{
	return n->value != ID_NONE ? model_value_text(n->model, n->value) : "";
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* rack-2 before rack-10. */
static int compare_names(const char *x, const char *y)
{
	while (*x != '\0' && *x == *y && !is_digit(*x)) {
		x++;
		y++;
	}
	if (is_digit(*x) && is_digit(*y)) {
		size_t m, n;

		x += strspn(x, "0");
		y += strspn(y, "0");
		m = strspn(x, "0123456789");
		n = strspn(y, "0123456789");
		if (m != n)
			return m < n ? -1 : 1;
		if (strncmp(x, y, m) != 0)
			return strncmp(x, y, m);
		return compare_names(x + m, y + n);
	}
	return (unsigned char)*x - (unsigned char)*y;
}

static int compare_cells(const void *a, const void *b)
{
	const struct cell_node *x = a, *y = b;
	int order = 0;

	if (x->value != y->value) {
		if (x->value == ID_NONE || y->value == ID_NONE)
			return x->value == ID_NONE ? 1 : -1;
		order = compare_names(value_text(x), value_text(y));
		if (order == 0)
			return x->value < y->value ? -1 : 1;
	}
	if (order == 0)
		order = compare_names(x->name, y->name);
	return order != 0 ? order : strcmp(x->name, y->name);
}

static uint32_t label_of(const struct model *m, node_id id, uint32_t key)
{
	const struct label *labels;
	const uint32_t n = model_node_labels(m, id, &labels);

	for (uint32_t i = 0; i < n; i++)
		if (labels[i].key == key)
			return labels[i].value;
	return ID_NONE;
}

static void share_of(struct cell_node *cell, const struct node_view *n, uint32_t resource,
                     uint32_t resources)
{
	if (resource >= resources) {
		cell->share = observe_node_share(n, resources, &cell->scarcest);
		return;
	}
	cell->scarcest = resource;
	if (n->allocatable[resource] <= 0) {
		cell->flags |= n->used[resource] > 0 ? 0 : CELL_WITHOUT;
		cell->share = n->used[resource] > 0 ? 1000 : 0;
	} else if (n->used[resource] > 0) {
		const double share = 1000.0 * (double)n->used[resource] / (double)n->allocatable[resource];

		cell->share = share < 1000.0 ? (uint32_t)share : 1000u;
	}
}

static struct cells cells_take(const struct answer_source *s, uint32_t key, uint32_t resource)
{
	const struct observer *o = s->ledger;
	struct node_view *one = must_alloc(sizeof(*one));
	struct cells c = { 0 };
	size_t cap = 0;

	for (node_id id = 0, there = observe_nodes_there(o); id < there; id++) {
		if (!observe_node(o, id, one))
			continue;
		c.at = must_reach(c.at, &cap, c.n, 256, sizeof(*c.at));
		c.at[c.n] = (struct cell_node){
			.name = must_copy(one->name),
			.value = key != ID_NONE ? label_of(s->model, id, key) : ID_NONE,
			.flags = ((one->flags & NODE_CORDONED) ? CELL_CORDONED : 0u) |
			         ((one->flags & NODE_PRESENT) ? 0u : CELL_GONE),
			.model = s->model,
		};
		share_of(&c.at[c.n++], one, resource, o->places.limits.resources);
	}
	free(one);
	if (c.n > 1)
		qsort(c.at, c.n, sizeof(*c.at), compare_cells);
	return c;
}

static void cells_free(struct cells *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->at[i].name);
	free(c->at);
}

static bool begins_block(const struct cells *c, size_t i)
{
	return i == 0 || c->at[i].value != c->at[i - 1].value;
}

static bool has_too_many_blocks(const struct cells *c)
{
	size_t blocks = 0;

	for (size_t i = 0; i < c->n; i++)
		blocks += begins_block(c, i);
	return blocks > BLOCKS_MAX;
}

/* The first node of each cell of at most `each` nodes of one block; returns their number. */
static size_t cells_begin(const struct cells *c, size_t each, size_t *begins)
{
	size_t n = 0, last = 0;

	for (size_t i = 0; i < c->n; i++)
		if (begins_block(c, i) || i - last == each) {
			begins[n++] = i;
			last = i;
		}
	begins[n] = c->n;
	return n;
}

/* One number for each cell: that of its fullest node. */
static void add_numbers(const struct cells *c, const size_t *begins, size_t n, const char *name,
                        size_t field, struct jsonout *out)
{
	jsonout_add(out, ",@s:[", name);
	for (size_t i = 0; i < n; i++) {
		const struct cell_node *fullest = &c->at[begins[i]];
		uint32_t number;

		for (size_t k = begins[i]; k < begins[i + 1]; k++)
			if (c->at[k].share > fullest->share)
				fullest = &c->at[k];
		memcpy(&number, (const char *)fullest + field, sizeof(number));
		jsonout_add(out, i > 0 ? ",@u" : "@u", (ull)number);
	}
	jsonout_add(out, "]");
}

/* [value, its first cell, nodes] */
static void add_blocks(const struct cells *c, const size_t *begins, size_t n, struct jsonout *out)
{
	size_t nodes = 0;

	jsonout_add(out, ",\"blocks\":[");
	for (size_t i = 0; i < n; i++) {
		if (begins_block(c, begins[i])) {
			if (i > 0)
				jsonout_add(out, ",@u],", (ull)nodes);
			jsonout_add(out, "[@s,@u", value_text(&c->at[begins[i]]), (ull)i);
			nodes = 0;
		}
		nodes += begins[i + 1] - begins[i];
	}
	if (n > 0)
		jsonout_add(out, ",@u]", (ull)nodes);
	jsonout_add(out, "]");
}

static void note_label(struct key_count *keys, uint32_t *n, const struct label *l)
{
	struct key_count *k = NULL;
	uint32_t i;

	for (i = 0; i < *n && !k; i++)
		if (keys[i].key == l->key)
			k = &keys[i];
	if (!k && *n == KEYS_MAX)
		return;
	if (!k) {
		k = &keys[(*n)++];
		*k = (struct key_count){ .key = l->key };
	}
	k->nodes++;
	for (i = 0; i < k->values_n && k->values[i] != l->value; i++)
		;
	if (i == k->values_n && k->values_n <= VALUES_MAX)
		k->values[k->values_n++] = l->value;
}

/* Label keys that make more than one block and fewer than VALUES_MAX. */
static void add_keys(const struct answer_source *s, struct jsonout *out)
{
	struct key_count *keys = must_array(KEYS_MAX, sizeof(*keys));
	const struct observer *o = s->ledger;
	uint32_t n = 0;
	bool first = true;

	for (node_id id = 0, there = observe_nodes_there(o); id < there; id++) {
		const struct label *labels;
		const uint32_t labels_n = model_node_labels(s->model, id, &labels);

		for (uint32_t i = 0; i < labels_n; i++)
			if (labels[i].key != LABEL_KEY_NODE_NAME)
				note_label(keys, &n, &labels[i]);
	}
	jsonout_add(out, ",\"labels\":[");
	for (uint32_t i = 0; i < n; i++) {
		if (keys[i].values_n < 2 || keys[i].values_n > VALUES_MAX)
			continue;
		jsonout_add(out, first ? "@s" : ",@s", model_key_text(s->model, keys[i].key));
		first = false;
	}
	jsonout_add(out, "]");
	free(keys);
}

static uint32_t resource_named(const struct observer *o, const char *name)
{
	char text[OBSERVE_NAME_MAX];

	for (uint32_t r = 0; name[0] != '\0' && r < o->places.limits.resources; r++)
		if (strcmp(observe_name(o, r, text), name) == 0)
			return r;
	return ID_NONE;
}

static void add_names(const struct cells *c, const size_t *begins, size_t n, struct jsonout *out)
{
	/* The first name of each cell; names beyond the bound are omitted. */
	jsonout_add(out, ",\"name\":[");
	for (size_t i = 0; i < n && out->bytes < NAMES_BYTES; i++)
		jsonout_add(out, i > 0 ? ",@s" : "@s", c->at[begins[i]].name);
	jsonout_add(out, "]");
}

static void add_resource_names(const struct observer *o, struct jsonout *out)
{
	char name[OBSERVE_NAME_MAX];

	jsonout_add(out, ",\"resources\":[");
	for (uint32_t r = 0; r < o->places.limits.resources; r++)
		jsonout_add(out, r > 0 ? ",@s" : "@s", observe_name(o, r, name));
	jsonout_add(out, "]");
}

void answer_cells(const struct answer_source *s, const struct question *q, struct jsonout *out)
{
	uint32_t key = q->label[0] != '\0' ? model_key_id(s->model, text_of(q->label)) : ID_NONE;
	const uint32_t resource = s->ledger ? resource_named(s->ledger, q->resource) : ID_NONE;
	struct cells c = { 0 };
	size_t *begins, n, each;

	if (s->ledger)
		c = cells_take(s, key, resource);
	if (has_too_many_blocks(&c)) {
		cells_free(&c);
		key = ID_NONE;
		c = cells_take(s, key, resource);
	}
	each = (c.n + ANSWER_CELLS - 1) / ANSWER_CELLS;
	each = each > 0 ? each : 1;
	begins = must_array(c.n + 1, sizeof(*begins));
	n = cells_begin(&c, each, begins);
	jsonout_add(out, "{\"nodes\":@u,\"nodes_per_cell\":@u,\"label\":@s,\"resource\":@s", (ull)c.n,
	            (ull)each, key != ID_NONE ? q->label : "", resource != ID_NONE ? q->resource : "");
	add_numbers(&c, begins, n, "share", offsetof(struct cell_node, share), out);
	add_numbers(&c, begins, n, "scarcest", offsetof(struct cell_node, scarcest), out);
	add_numbers(&c, begins, n, "flags", offsetof(struct cell_node, flags), out);
	add_names(&c, begins, n, out);
	add_blocks(&c, begins, n, out);
	if (s->ledger) {
		add_keys(s, out);
		add_resource_names(s->ledger, out);
	}
	jsonout_add(out, "}\n");
	cells_free(&c);
	free(begins);
}
