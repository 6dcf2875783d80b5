/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/api/apipath.h"

static void version_add(struct jsonout *out, const struct resource *of)
{
	if (of->group[0])
		jsonout_add(out, "/apis/@p/@p", of->group, of->version);
	else
		jsonout_add(out, "/api/@p", of->version);
}

void apipath_all(struct jsonout *out, const struct resource *of)
{
	version_add(out, of);
	jsonout_add(out, "/@p", of->plural);
}

void apipath_one(struct jsonout *out, const struct resource *of, const char *namespace,
                 const char *name)
{
	version_add(out, of);
	if (namespace[0])
		jsonout_add(out, "/namespaces/@p", namespace);
	jsonout_add(out, "/@p/@p", of->plural, name);
}
