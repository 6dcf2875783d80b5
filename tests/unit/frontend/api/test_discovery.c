/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of resources as an API server answers them, and what is none. */
#include "frontend/api/discovery.h"
#include "tests/unit/test.h"

static const struct resource groups = {
	.group = "scheduling.volcano.sh",
	.version = "v1beta1",
	.plural = "podgroups",
	.kind = "PodGroup",
};

/* 1, 0, or the error. */
static int has(const char *body)
{
	bool found = false;
	int rc = discovery_has(body, strlen(body), &groups, "status", &found);

	return rc < 0 ? rc : found;
}

#define LIST(items)                                                                                \
	"{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"scheduling.volcano."   \
	"sh/v1beta1\",\"resources\":[" items "]}"
#define ITEM(name) "{\"name\":\"" name "\",\"namespaced\":true,\"verbs\":[\"get\",\"patch\"]}"

Test(discovery, the_subresource_is_there_or_not)
{
	cr_expect_eq(has(LIST(ITEM("podgroups") "," ITEM("podgroups/status"))), 1);
	cr_expect_eq(has(LIST(ITEM("podgroups/status") "," ITEM("podgroups"))), 1);
	cr_expect_eq(has(LIST(ITEM("queues/status") "," ITEM("podgroups"))), 0);
	cr_expect_eq(has(LIST(ITEM("podgroups") "," ITEM("podgroups/scale"))), 0);
	cr_expect_eq(has(LIST(ITEM("podgroups") "," ITEM("podgroupsets/status"))), 0);
	cr_expect_eq(has(LIST(ITEM("podgroups") "," ITEM("podgroups/statuses"))), 0);
}

/* A list without the resource itself, as while a definition is being replaced, says nothing. */
Test(discovery, what_is_no_list_says_nothing)
{
	static const char *const bodies[] = {
		LIST(""),
		LIST(ITEM("podgroups/status")),
		"{\"kind\":\"Status\",\"resources\":[" ITEM("podgroups") "]}",
		LIST(ITEM("podgroups")) "x",
		"{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":7}]}",
		"{\"kind\":\"APIResourceList\",\"resources\":{}}",
		"<html>",
		"{",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		cr_expect_eq(has(bodies[i]), -EINVAL, "%s", bodies[i]);
	cr_expect_eq(discovery_has(NULL, 0, &groups, "status", &(bool){ false }), -EINVAL);
}

Test(discovery, its_path)
{
	struct jsonout path = { 0 };

	discovery_path(&path, &groups);
	cr_expect_str_eq(path.at, "/apis/scheduling.volcano.sh/v1beta1");
	jsonout_clear(&path);
	discovery_path(&path, &(struct resource){ .group = "", .version = "v1" });
	cr_expect_str_eq(path.at, "/api/v1");
	jsonout_free(&path);
}
