/* SPDX-License-Identifier: Apache-2.0 */
/* Kosmos' WorkloadPolicy.  Its document calls a field other names than its code, so both are taken,
 * and words in any case.  What a CRD would have filled in may be missing. */
#include "frontend/decode/extract.h"

#include "frontend/decode/extract_label.h"
#include "frontend/json/json.h"

#include <string.h>
#include <strings.h>

#define SHARES_MAX 4096 /* so that a record has room for them */

static bool is_word(struct text t, const char *word)
{
	return t.bytes == strlen(word) && strncasecmp(t.at, word, t.bytes) == 0;
}

/* ---- words ---------------------------------------------------------------------- */

/* "" when it is not given. */
static void read_method(struct json *j, struct text *out)
{
	if (json_string(j, out) && out->bytes > 0 && !is_word(*out, "Fill") &&
	    !is_word(*out, "Balance"))
		json_fail(j, "\"%.*s\" is not Fill or Balance", TEXT_SHOWN(*out));
}

static void read_type(struct json *j, struct policy_object *out)
{
	struct text type;

	if (!json_string(j, &type))
		return;
	out->flags &= ~(uint32_t)POLICY_REQUIRED;
	if (is_word(type, "Required") || is_word(type, "Require"))
		out->flags |= POLICY_REQUIRED;
	else if (type.bytes > 0 && !is_word(type, "Preferred"))
		json_fail(j, "\"%.*s\" is not Required or Preferred", TEXT_SHOWN(type));
}

/* ---- shares --------------------------------------------------------------------- */

static void say_below_zero(struct json *j, struct policy_object *out, int32_t replicas)
{
	if (out->below_zero)
		return;
	out->below_zero = arena_printf(
		j->arena, "spec.allocationPolicy[%zu].replicas: %d is below 0, and counts as 0",
		out->shares_n, (int)replicas);
	if (!out->below_zero)
		json_no_memory(j);
}

static void read_share(struct json *j, struct policy_object *out)
{
	struct policy_share_object *grown, *share;
	bool named = false, counted = false;
	int32_t replicas = 0;
	struct text name;

	grown = extract_more(j, out->shares, out->shares_n, &out->shares_room, sizeof(*grown));
	if (!grown)
		return;
	out->shares = grown;
	share = &grown[out->shares_n];
	if (!json_object(j)) {
		json_fail(j, "is null, not an object");
		return;
	}
	while (json_member(j, &name)) {
		if (text_is(name, "name")) {
			named = json_string(j, &share->name);
		} else if (text_is(name, "replicas")) {
			counted = !json_null(j);
			if (counted)
				extract_int32(j, &replicas);
		} else {
			json_skip(j);
		}
	}
	if (!named)
		json_fail(j, "has no name");
	if (!counted)
		json_fail(j, "has no replicas");
	if (!label_value_is_valid(share->name))
		json_fail(j, "the name \"%.*s\" is not the value of a label", TEXT_SHOWN(share->name));
	if (replicas < 0)
		say_below_zero(j, out, replicas);
	share->replicas = replicas > 0 ? (uint32_t)replicas : 0;
	if (out->shares_n == SHARES_MAX)
		json_fail(j, "is one of more than %d", SHARES_MAX);
	out->shares_n++;
}

/* True when there is a list. */
static bool read_shares(struct json *j, struct policy_object *out)
{
	out->shares_n = 0;
	out->below_zero = NULL;
	if (!json_array(j))
		return false;
	while (json_item(j))
		read_share(j, out);
	return true;
}

/* ---- the whole -------------------------------------------------------------------- */

static void read_spec(struct json *j, struct policy_object *out)
{
	struct text method = TEXT_NONE, strategy = TEXT_NONE, name;
	bool shares = false;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "topologyKey"))
			json_string(j, &out->topology);
		else if (text_is(name, "labelSelector"))
			extract_selector(j, &out->selector);
		else if (text_is(name, "allocationPolicy"))
			shares = read_shares(j, out);
		else if (text_is(name, "allocationType"))
			read_type(j, out);
		else if (text_is(name, "allocationMethod"))
			read_method(j, &method);
		else if (text_is(name, "scheduleStrategy"))
			read_method(j, &strategy);
		else
			json_skip(j);
	}
	if (method.bytes > 0 && strategy.bytes > 0 &&
	    (method.bytes != strategy.bytes || strncasecmp(method.at, strategy.at, method.bytes) != 0))
		json_fail(j, "allocationMethod is %.*s, but scheduleStrategy %.*s", TEXT_SHOWN(method),
		          TEXT_SHOWN(strategy));
	out->flags &= ~(uint32_t)POLICY_FILL;
	if (is_word(method, "Fill") || is_word(strategy, "Fill"))
		out->flags |= POLICY_FILL;
	if (out->topology.bytes == 0)
		json_fail(j, "has no topologyKey");
	if (!label_key_is_valid(out->topology))
		json_fail(j, "the topologyKey \"%.*s\" is not the key of a label",
		          TEXT_SHOWN(out->topology));
	if (!out->selector.is_given)
		json_fail(j, "has no labelSelector");
	if (!shares)
		json_fail(j, "has no allocationPolicy");
}

int extract_policy(const char *json, size_t bytes, struct arena *arena, struct policy_object *out,
                   struct decode_error *error)
{
	bool has_spec = false;
	struct json j;
	struct text name;

	memset(out, 0, sizeof(*out));
	extract_meta_start(&out->meta);
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (text_is(name, "metadata")) {
			extract_metadata(&j, &out->meta);
		} else if (text_is(name, "kind")) {
			json_string(&j, &out->meta.kind);
		} else if (text_is(name, "spec")) {
			read_spec(&j, out);
			has_spec = true;
		} else {
			json_skip(&j);
		}
	}
	if (!has_spec)
		json_fail(&j, "has no spec");
	return extract_end(&j, &out->meta, "WorkloadPolicy", error);
}
