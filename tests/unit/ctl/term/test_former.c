/* SPDX-License-Identifier: Apache-2.0 */
/* Former names of fields. */
#include "ctl/term/former.h"

#include "tests/unit/test.h"

static void expect(const char *from, const char *to)
{
	cJSON *value = cJSON_Parse(from);
	char *text;

	json_add_former(value);
	text = cJSON_PrintUnformatted(value);
	cr_expect_str_eq(text, to);
	cJSON_free(text);
	cJSON_Delete(value);
}

Test(former, fields_have_both_names_at_any_depth)
{
	expect("[]", "[]");
	expect("[{\"a\":{\"what_if\":[{\"lone_pods\":1}]}}]",
	       "[{\"a\":{\"what_if\":[{\"lone_pods\":1,\"lonePods\":1}],"
	       "\"whatIf\":[{\"lone_pods\":1,\"lonePods\":1}]}}]");
}

/* A node showed a label that it does not have. */
Test(former, a_label_has_its_own_name_alone)
{
	expect("{\"labels\":{\"pods_binding\":\"x\"},\"pods_binding\":1}",
	       "{\"labels\":{\"pods_binding\":\"x\"},\"pods_binding\":1,\"podsBinding\":1}");
}
