/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/model/base/limits.h"

#include "frontend/devices/live.h"
#include "frontend/volume/volume.h"
#include "ipc/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TERMS_EACH 2u /* of a shape, on average */
#define REFERRED_EACH 4u
#define REFERRED_LEAST (1u << 16)
#define REFERRED_MANY (1u << 18)

static uint64_t limit_of(const struct model *m, const char *flag)
{
	const struct {
		const char *flag;
		uint64_t limit;
	} flags[] = {
		{ "--max-nodes", m->limits.nodes },         { "--max-pods", m->limits.pods },
		{ "--max-gangs", m->limits.gangs },         { "--max-shapes", m->limits.shapes },
		{ "--max-names", m->limits.names },         { "--max-name-bytes", m->limits.name_bytes },
		{ "--max-resources", m->limits.resources }, { "--max-memory", m->memory_limit },
		{ TERMS_LIMIT, terms_limit(&m->limits) },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(flag, flags[i].flag) == 0)
			return flags[i].limit;
	assert(false);
	return 0;
}

int model_limit(struct model *m, const char *object, const char *flag, struct decode_error *error)
{
	m->counts.limits_hit++;
	if (error) {
		snprintf(error->object, sizeof(error->object), "%s", object);
		error->field[0] = '\0';
		snprintf(error->text, sizeof(error->text),
		         "there is no room for more, the limit %s is %llu", flag,
		         (unsigned long long)limit_of(m, flag));
	}
	return -ENOSPC;
}

int model_limit_meta(struct model *m, const struct meta *meta, const char *flag,
                     struct decode_error *error)
{
	char name[600];

	extract_object_name(meta, name, sizeof(name));
	return model_limit(m, name, flag, error);
}

int model_intern(struct model *m, struct intern *in, struct text t, uint32_t *number,
                 const char **flag)
{
	assert(in == &m->columns || in == &m->taints);
	if (!intern_has(in, t) && !model_name_fits(m, t.bytes)) {
		*flag = "--max-name-bytes";
		return -ENOSPC;
	}
	if (intern_take(in, t, number) == 0)
		return 0;
	*flag = in == &m->columns ? "--max-resources" : "--max-names";
	return -ENOSPC;
}

uint32_t model_number(struct intern *in, struct text t)
{
	uint32_t number;

	/* 2^32 texts do not fit memory. */
	if (intern_take(in, t, &number) < 0)
		fatal_memory();
	return number;
}

uint64_t model_names_used(const struct model *m)
{
	return m->name_bytes + m->columns.text_bytes + m->taints.text_bytes +
	       (m->live ? live_names_bytes(m->live) : 0);
}

uint64_t model_device_names_most(const struct model *m)
{
	const uint64_t others = model_names_used(m) - live_names_bytes(m->live),
				   most = m->limits.name_bytes - m->limits.name_bytes / SHARE_RESERVE_PART;

	return others < most ? most - others : 0;
}

bool model_name_fits(const struct model *m, size_t bytes)
{
	const uint64_t used = model_names_used(m);

	return m->limits.name_bytes >= used && m->limits.name_bytes - used >= name_bytes_of(bytes);
}

uint64_t terms_limit(const struct limits *l)
{
	return (uint64_t)TERMS_EACH * l->shapes;
}

uint32_t referred_limit(const struct limits *l)
{
	uint64_t n = (uint64_t)REFERRED_EACH * l->pods;

	if (n < REFERRED_LEAST)
		return REFERRED_LEAST;
	if (n > REFERRED_MANY)
		return l->pods > REFERRED_MANY ? l->pods : REFERRED_MANY;
	return (uint32_t)n;
}

bool referred_fits(const struct model *m, const struct store *s)
{
	return s->pool.used <= referred_limit(&m->limits);
}

int referred_refuse(struct model *m, const struct meta *meta, struct decode_error *error)
{
	m->counts.limits_hit++;
	decode_error_set(error, meta, "",
	                 "there is no room for more of its kind, the limit is %u, by --max-pods",
	                 referred_limit(&m->limits));
	return -ENOSPC;
}

uint64_t referred_count(const struct model *m)
{
	return (uint64_t)m->namespaces.pool.used + m->owners.pool.used + m->policies.pool.used +
	       m->candidates.pool.used + volumes_count(m->volumes);
}

void model_note_lack(struct model *m, int resource)
{
	m->lacks |= UINT32_C(1) << resource;
}

void model_note_lack_of(struct model *m, enum role role, uint32_t which)
{
	for (size_t i = 0; i < m->resources_n; i++)
		if (m->roles[i] == role && m->which[i] == which)
			model_note_lack(m, (int)i);
}
