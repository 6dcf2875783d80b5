/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of a pod: their requests, images and ports. */
#include "frontend/decode/fields.h"

static void extract_port_number(struct json *j, void *out)
{
	int64_t port;

	if (!json_int64(j, &port))
		return;
	if (port < 0 || port > 65535)
		json_fail(j, "%lld is not a port", (long long)port);
	else
		*(uint32_t *)out = (uint32_t)port;
}

static void extract_protocol(struct json *j, void *object)
{
	struct text *out = object;

	if (!json_string(j, out))
		return;
	if (out->bytes == 0)
		*out = text_of("TCP");
	else if (!text_is(*out, "TCP") && !text_is(*out, "UDP") && !text_is(*out, "SCTP"))
		json_fail(j, "\"%.*s\" is not a protocol", TEXT_SHOWN(*out));
}

static const struct json_field port_fields[] = {
	JSON_FIELD("hostPort", extract_port_number, struct port_object, port),
	JSON_FIELD("containerPort", extract_port_number, struct port_object, container_port),
	JSON_FIELD("hostIP", json_field_text, struct port_object, address),
	JSON_FIELD("protocol", extract_protocol, struct port_object, protocol),
};

static void extract_port(struct json *j, void *container)
{
	struct container *c = container;
	struct port_object *p = EXTRACT_ADD(j->arena, c->ports, c->ports_n, c->ports_cap);

	*p = (struct port_object){ .address = TEXT_NONE, .protocol = text_of("TCP") };
	json_fields(j, port_fields, p);
}

static void extract_ports(struct json *j, void *container)
{
	((struct container *)container)->ports_n = 0;
	json_items(j, extract_port, container);
}

/* A container with what is needed only while it is read. */
struct container_read {
	struct container c;
	struct quantities limits;
};

static void extract_restart_action(struct json *j, void *restarts_all)
{
	struct text action;

	if (json_string(j, &action) && text_is(action, "RestartAllContainers"))
		*(bool *)restarts_all = true;
}

static const struct json_field restart_rule_fields[] = { JSON_WHOLE("action",
	                                                                extract_restart_action) };

static void extract_restart_rule(struct json *j, void *restarts_all)
{
	json_fields(j, restart_rule_fields, restarts_all);
}

/* Rules that restart all containers need a node that declares the feature. */
static void extract_restart_rules(struct json *j, void *restarts_all)
{
	*(bool *)restarts_all = false;
	json_items(j, extract_restart_rule, restarts_all);
}

static void extract_restart_policy(struct json *j, void *container)
{
	struct container *c = container;
	struct text policy;

	c->is_sidecar = json_string(j, &policy) && c->is_init && text_is(policy, "Always");
}

static const struct json_field resources_fields[] = {
	JSON_FIELD("requests", extract_quantities, struct container_read, c.requests),
	JSON_FIELD("limits", extract_quantities, struct container_read, limits),
};

static void extract_resources(struct json *j, void *read)
{
	struct container_read *r = read;

	r->c.requests.n = r->limits.n = 0;
	json_fields(j, resources_fields, r);
}

static const struct json_field container_fields[] = {
	JSON_FIELD("name", json_field_text, struct container_read, c.name),
	JSON_FIELD("image", json_field_text, struct container_read, c.image),
	JSON_WHOLE("resources", extract_resources),
	JSON_FIELD("ports", extract_ports, struct container_read, c),
	JSON_FIELD("restartPolicy", extract_restart_policy, struct container_read, c),
	JSON_FIELD("restartPolicyRules", extract_restart_rules, struct container_read, c.restarts_all),
};

/* A limit without a request is the request too: the API server's default. */
static void fill_from_limits(struct arena *arena, struct quantities *requests,
                             const struct quantities *limits)
{
	for (size_t i = 0; i < limits->n; i++)
		if (!quantities_find(requests, limits->at[i].resource))
			*EXTRACT_ADD(arena, requests->at, requests->n, requests->cap) = limits->at[i];
}

static void extract_container(struct json *j, struct pod_object *out, bool is_init)
{
	struct container *c =
		EXTRACT_ADD(j->arena, out->containers, out->containers_n, out->containers_cap);
	struct container_read r = { .c = {
									.name = TEXT_NONE, .image = TEXT_NONE, .is_init = is_init } };

	if (json_fields(j, container_fields, &r))
		fill_from_limits(j->arena, &r.c.requests, &r.limits);
	*c = r.c;
}

static void containers_read(struct json *j, struct pod_object *out, bool is_init)
{
	size_t kept = 0;

	/* A later list of the same name replaces the former one. */
	for (size_t i = 0; i < out->containers_n; i++)
		if (out->containers[i].is_init != is_init)
			out->containers[kept++] = out->containers[i];
	out->containers_n = kept;
	if (json_array(j))
		while (json_item(j))
			extract_container(j, out, is_init);
}

void extract_containers(struct json *j, void *out)
{
	containers_read(j, out, false);
}

void extract_init_containers(struct json *j, void *out)
{
	containers_read(j, out, true);
}

void extract_image(struct arena *arena, struct pod_object *out, struct text image)
{
	if (image.bytes > 0)
		*EXTRACT_ADD(arena, out->images, out->images_n, out->images_cap) = image;
}

/* With hostNetwork a port of a container is one of the node: the API server's default. */
static void ports_add(struct arena *arena, struct pod_object *out, const struct container *c)
{
	for (size_t i = 0; i < c->ports_n; i++) {
		struct port_object p = c->ports[i];

		if (p.port == 0 && out->has_host_network)
			p.port = p.container_port;
		if (p.port != 0)
			*EXTRACT_ADD(arena, out->ports, out->ports_n, out->ports_cap) = p;
	}
}

void extract_containers_finish(struct pod_object *out, struct arena *arena)
{
	out->image_containers =
		out->containers_n < UINT32_MAX ? (uint32_t)out->containers_n : UINT32_MAX;
	for (size_t i = 0; i < out->containers_n; i++) {
		const struct container *c = &out->containers[i];

		extract_image(arena, out, c->image);
		out->needs_restart_all |= c->restarts_all;
		if (!c->is_init || c->is_sidecar)
			ports_add(arena, out, c);
	}
}
