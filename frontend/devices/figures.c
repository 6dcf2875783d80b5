/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/devices/figures.h"

#include "frontend/devices/live_impl.h"

#include <stdio.h>
#include <string.h>

static struct driver_figures *driver_of(struct device_figures *f, struct text name)
{
	const struct text others = text_of("(others)");
	struct driver_figures *d;

	if (name.bytes >= sizeof(d->name))
		name.bytes = sizeof(d->name) - 1;
	for (uint32_t i = 0; i < f->drivers_n; i++)
		if (text_equal(text_of(f->drivers[i].name), name))
			return &f->drivers[i];
	if (f->drivers_n > DRIVERS_SHOWN)
		return &f->drivers[DRIVERS_SHOWN];
	if (f->drivers_n == DRIVERS_SHOWN)
		name = others;
	d = &f->drivers[f->drivers_n++];
	memcpy(d->name, name.at, name.bytes);
	return d;
}

static enum devices_in state_of(const struct live *l, const struct live_node *n, uint32_t device)
{
	static const struct tree none;
	const uint32_t key = n->keys[device];

	if (key < l->taken_n && l->taken[key] > 0)
		return live_is_shared(n, device) && l->whole[key] == 0 ? DEVICES_SHARED : DEVICES_TAKEN;
	if (n->devices[device]->unusable || live_is_avoided(l, key))
		return DEVICES_UNUSABLE;
	return tolerated(n->devices[device], &none) ? DEVICES_FREE : DEVICES_TAINTED;
}

static void node_add(struct device_figures *f, const struct live *l, const struct live_node *n,
                     uint64_t *commons)
{
	for (uint32_t i = 0; i < n->devices_n; i++) {
		const uint32_t common = n->commons ? n->commons[i] : LIVE_NONE;

		if (common != LIVE_NONE && device_in(commons, common))
			continue;
		if (common != LIVE_NONE)
			device_add(commons, common);
		driver_of(f, n->devices[i]->slice->driver)->devices[state_of(l, n, i)]++;
	}
}

void device_figures_read(struct device_figures *out, const struct live *l)
{
	uint64_t commons[DEVICE_WORDS(COMMON_DEVICES_MAX)] = { 0 };

	*out = (struct device_figures){ 0 };
	for (size_t i = 0; i < l->nodes_n; i++)
		if (l->nodes[i])
			node_add(out, l, l->nodes[i], commons);
	for (size_t i = 0; i < l->claims_n; i++) {
		out->claims += l->claims[i] != NULL;
		out->claims_allocated += l->claims[i] && l->claims[i]->allocation;
	}
	for (uint32_t i = 0; i < QUESTIONS_MAX; i++) {
		out->questions += l->questions[i].text != NULL;
		out->questions_refused += l->questions[i].text && l->questions[i].refusal;
	}
}
