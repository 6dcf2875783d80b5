/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/apisim/accounts.h"

#include <stdlib.h>
#include <string.h>

/* Amounts that outlive the arena they were read into. */
static struct as_amounts keep(const struct as_amounts *from)
{
	struct as_amounts out = { .n = from->n, .room = from->n };

	if (from->n == 0)
		return (struct as_amounts){ 0 };
	out.at = as_alloc(from->n * sizeof(*out.at));
	for (size_t i = 0; i < from->n; i++)
		out.at[i] = (struct as_amount){ as_copy(from->at[i].name), from->at[i].value };
	return out;
}

static void drop(struct as_amounts *a)
{
	for (size_t i = 0; i < a->n; i++)
		free((void *)(uintptr_t)a->at[i].name);
	free(a->at);
	*a = (struct as_amounts){ 0 };
}

static void change(struct as_amounts *sum, const char *name, int64_t by)
{
	for (size_t i = 0; i < sum->n; i++) {
		if (strcmp(sum->at[i].name, name) == 0) {
			sum->at[i].value = as_saturated_add(sum->at[i].value, by);
			return;
		}
	}
	sum->at = as_realloc(sum->at, (sum->n + 1) * sizeof(*sum->at));
	sum->at[sum->n++] = (struct as_amount){ as_copy(name), by };
}

static struct as_node_account *node_of(struct as_accounts *a, const char *name)
{
	struct as_node_account *node = as_map_get(&a->nodes, name);

	if (node == NULL) {
		node = as_alloc(sizeof(*node));
		as_map_put(&a->nodes, name, node);
	}
	return node;
}

void as_accounts_set_node(struct as_accounts *a, struct as_arena *arena,
                          const struct as_object *object)
{
	struct as_node_account *node = node_of(a, object->name);
	struct as_amounts allocatable = as_node_allocatable(arena, as_object_tree(arena, object));

	drop(&node->allocatable);
	node->allocatable = keep(&allocatable);
	node->present = true;
}

void as_accounts_drop_node(struct as_accounts *a, const char *name)
{
	node_of(a, name)->present = false;
}

struct as_pod_account *as_accounts_find_pod(const struct as_accounts *a,
                                            const struct as_object *object)
{
	struct as_pod_account *pod = as_map_get(&a->pods, object->key);

	return pod != NULL && strcmp(pod->uid, object->uid) == 0 ? pod : NULL;
}

struct as_pod_account *as_accounts_add_pod(struct as_accounts *a, struct as_arena *arena,
                                           const struct as_object *object)
{
	struct as_amounts amounts = as_pod_requests(arena, as_object_tree(arena, object));
	struct as_pod_account *pod = as_alloc(sizeof(*pod));

	as_accounts_drop_pod(a, object->key);
	memcpy(pod->uid, object->uid, sizeof(pod->uid));
	pod->key = as_copy(object->key);
	pod->amounts = keep(&amounts);
	pod->node = node_of(a, as_object_field(object, "spec.nodeName"));
	pod->next = pod->node->pods;
	if (pod->next != NULL)
		pod->next->before = pod;
	pod->node->pods = pod;
	for (size_t i = 0; i < pod->amounts.n; i++)
		change(&pod->node->used, pod->amounts.at[i].name, pod->amounts.at[i].value);
	pod->counted = true;
	as_map_put(&a->pods, object->key, pod);
	return pod;
}

void as_accounts_release(struct as_pod_account *pod)
{
	if (!pod->counted)
		return;
	for (size_t i = 0; i < pod->amounts.n; i++)
		change(&pod->node->used, pod->amounts.at[i].name, -pod->amounts.at[i].value);
	pod->counted = false;
}

static void pod_free(void *value)
{
	struct as_pod_account *pod = value;

	free(pod->key);
	drop(&pod->amounts);
	free(pod);
}

static void node_free(void *value)
{
	struct as_node_account *node = value;

	drop(&node->allocatable);
	drop(&node->used);
	free(node);
}

void as_accounts_drop_pod(struct as_accounts *a, const char *key)
{
	struct as_pod_account *pod = as_map_take(&a->pods, key);

	if (pod == NULL)
		return;
	as_accounts_release(pod);
	if (pod->next != NULL)
		pod->next->before = pod->before;
	if (pod->before != NULL)
		pod->before->next = pod->next;
	else
		pod->node->pods = pod->next;
	pod_free(pod);
}

const struct as_amount *as_accounts_over(const struct as_pod_account *pod)
{
	for (size_t i = 0; i < pod->amounts.n; i++) {
		const struct as_amount *x = &pod->amounts.at[i];

		if (x->value > 0 && as_amounts_get(&pod->node->used, x->name) >
		                        as_amounts_get(&pod->node->allocatable, x->name))
			return x;
	}
	return NULL;
}

void as_accounts_clear(struct as_accounts *a)
{
	as_map_clear(&a->pods, pod_free);
	as_map_clear(&a->nodes, node_free);
}
