/* SPDX-License-Identifier: Apache-2.0 */
/* Kosmos' WorkloadPolicy.  Its documentation and its code name one field differently, so both names
 * are accepted, and values in any case.  Defaults of the CRD may be missing. */
#include "frontend/decode/extract.h"

#include "frontend/decode/extract_label.h"

#include <string.h>
#include <strings.h>

#define SHARES_MAX 4096 /* they fit into one record */

static bool is_word(struct text t, const char *word)
{
	return t.bytes == strlen(word) && strncasecmp(t.at, word, t.bytes) == 0;
}

static void read_method(struct json *j, void *object)
{
	struct text *out = object;

	if (json_string(j, out) && out->bytes > 0 && !is_word(*out, "Fill") &&
	    !is_word(*out, "Balance"))
		json_fail(j, "\"%.*s\" is not Fill or Balance", TEXT_SHOWN(*out));
}

static void read_type(struct json *j, void *object)
{
	uint32_t *flags = object;
	struct text type;

	if (!json_string(j, &type))
		return;
	*flags &= ~(uint32_t)POLICY_REQUIRED;
	if (is_word(type, "Required") || is_word(type, "Require"))
		*flags |= POLICY_REQUIRED;
	else if (type.bytes > 0 && !is_word(type, "Preferred"))
		json_fail(j, "\"%.*s\" is not Required or Preferred", TEXT_SHOWN(type));
}

struct share_read {
	struct text name;
	int32_t replicas;
	bool has_name, has_replicas;
};

static void read_share_name(struct json *j, void *share)
{
	struct share_read *r = share;

	r->has_name = json_string(j, &r->name);
}

static void read_replicas(struct json *j, void *share)
{
	struct share_read *r = share;

	r->has_replicas = !json_null(j);
	if (r->has_replicas)
		extract_int32(j, &r->replicas);
}

static const struct json_field share_fields[] = {
	JSON_WHOLE("name", read_share_name),
	JSON_WHOLE("replicas", read_replicas),
};

static void read_share(struct json *j, void *policy)
{
	struct policy_object *out = policy;
	struct share_read r = { .has_name = false };

	if (!json_fields(j, share_fields, &r)) {
		json_fail(j, "is null, not an object");
		return;
	}
	if (!r.has_name)
		json_fail(j, "has no name");
	if (!r.has_replicas)
		json_fail(j, "has no replicas");
	if (!label_value_is_valid(r.name))
		json_fail(j, "the name \"%.*s\" is not the value of a label", TEXT_SHOWN(r.name));
	if (r.replicas < 0 && !out->below_zero)
		out->below_zero = arena_printf(
			j->arena, "spec.allocationPolicy[%zu].replicas: %d is below 0, and counts as 0",
			out->shares_n, (int)r.replicas);
	if (out->shares_n == SHARES_MAX)
		json_fail(j, "is one of more than %d", SHARES_MAX);
	*EXTRACT_ADD(j->arena, out->shares, out->shares_n, out->shares_cap) =
		(struct policy_share_object){ r.name, r.replicas > 0 ? (uint32_t)r.replicas : 0 };
}

struct policy_read {
	struct policy_object policy;
	struct text method, strategy;
	bool has_shares, has_spec;
};

static void read_shares(struct json *j, void *read)
{
	struct policy_read *r = read;

	r->policy.shares_n = 0;
	r->policy.below_zero = NULL;
	r->has_shares = json_items(j, read_share, &r->policy);
}

static const struct json_field spec_fields[] = {
	JSON_FIELD("topologyKey", json_field_text, struct policy_read, policy.topology),
	JSON_FIELD("labelSelector", extract_selector, struct policy_read, policy.selector),
	JSON_WHOLE("allocationPolicy", read_shares),
	JSON_FIELD("allocationType", read_type, struct policy_read, policy.flags),
	JSON_FIELD("allocationMethod", read_method, struct policy_read, method),
	JSON_FIELD("scheduleStrategy", read_method, struct policy_read, strategy),
};

static void check_spec(struct json *j, const struct policy_read *r)
{
	struct text method = r->method, strategy = r->strategy, topology = r->policy.topology;

	if (method.bytes > 0 && strategy.bytes > 0 &&
	    (method.bytes != strategy.bytes || strncasecmp(method.at, strategy.at, method.bytes) != 0))
		json_fail(j, "allocationMethod is %.*s, but scheduleStrategy %.*s", TEXT_SHOWN(method),
		          TEXT_SHOWN(strategy));
	if (topology.bytes == 0)
		json_fail(j, "has no topologyKey");
	if (!label_key_is_valid(topology))
		json_fail(j, "the topologyKey \"%.*s\" is not the key of a label", TEXT_SHOWN(topology));
	if (!r->policy.selector.is_given)
		json_fail(j, "has no labelSelector");
	if (!r->has_shares)
		json_fail(j, "has no allocationPolicy");
}

static void read_spec(struct json *j, void *read)
{
	struct policy_read *r = read;

	r->has_spec = true;
	r->has_shares = false;
	r->method = r->strategy = TEXT_NONE;
	if (!json_fields(j, spec_fields, r))
		return;
	check_spec(j, r);
	r->policy.flags &= ~(uint32_t)POLICY_FILL;
	if (is_word(r->method, "Fill") || is_word(r->strategy, "Fill"))
		r->policy.flags |= POLICY_FILL;
}

static const struct json_field policy_fields[] = {
	JSON_FIELD("metadata", extract_metadata, struct policy_read, policy.meta),
	JSON_FIELD("kind", json_field_text, struct policy_read, policy.meta.kind),
	JSON_WHOLE("spec", read_spec),
};

int extract_policy(const char *json, size_t bytes, struct arena *arena, struct policy_object *out,
                   struct decode_error *error)
{
	struct policy_read r = { .has_spec = false };
	struct json j;

	extract_meta_start(&r.policy.meta);
	json_begin(&j, json, bytes, arena);
	if (!json_fields(&j, policy_fields, &r))
		json_fail(&j, "is null, not an object");
	if (!r.has_spec)
		json_fail(&j, "has no spec");
	*out = r.policy;
	return extract_end(&j, &out->meta, "WorkloadPolicy", error);
}
