/* SPDX-License-Identifier: Apache-2.0 */
/* Containers of a pod: what they ask for, their images and ports. */
#include "frontend/decode/extract.h"

#include "frontend/json/json.h"

/* ---- resources ------------------------------------------------------------- */

void extract_resources(struct json *j, struct resource_names *names, struct quantities *requests,
                       struct quantities *limits)
{
	struct text name;

	requests->n = 0;
	limits->n = 0;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "requests"))
			extract_quantities(j, names, requests);
		else if (text_is(name, "limits"))
			extract_quantities(j, names, limits);
		else
			json_skip(j);
	}
}

/* A limit without a request is the request too: the API server's default. */
static void fill_from_limits(struct json *j, struct quantities *requests,
                             const struct quantities *limits)
{
	for (size_t i = 0; i < limits->n; i++) {
		struct quantity_of *q;

		if (quantities_find(requests, limits->at[i].resource))
			continue;
		q = extract_more(j, requests->at, requests->n, &requests->room, sizeof(*q));
		if (!q)
			return;
		requests->at = q;
		q[requests->n++] = limits->at[i];
	}
}

/* ---- ports ------------------------------------------------------------------ */

static void extract_port_number(struct json *j, uint32_t *out)
{
	int64_t port;

	if (!json_int64(j, &port))
		return;
	if (port < 0 || port > 65535)
		json_fail(j, "%lld is not a port", (long long)port);
	else
		*out = (uint32_t)port;
}

static void extract_protocol(struct json *j, struct text *out)
{
	if (!json_string(j, out))
		return;
	if (out->bytes == 0)
		*out = text_of("TCP");
	else if (!text_is(*out, "TCP") && !text_is(*out, "UDP") && !text_is(*out, "SCTP"))
		json_fail(j, "\"%.*s\" is not a protocol", TEXT_SHOWN(*out));
}

static void extract_port(struct json *j, struct port_object *p)
{
	struct text name;

	*p = (struct port_object){ .address = TEXT_NONE, .protocol = text_of("TCP") };
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "hostPort"))
			extract_port_number(j, &p->port);
		else if (text_is(name, "containerPort"))
			extract_port_number(j, &p->container_port);
		else if (text_is(name, "hostIP"))
			json_string(j, &p->address);
		else if (text_is(name, "protocol"))
			extract_protocol(j, &p->protocol);
		else
			json_skip(j);
	}
}

static void extract_ports(struct json *j, struct container *c)
{
	struct port_object *p;

	c->ports_n = 0;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		p = extract_more(j, c->ports, c->ports_n, &c->ports_room, sizeof(*p));
		if (!p)
			return;
		c->ports = p;
		extract_port(j, &p[c->ports_n++]);
	}
}

/* ---- containers ---------------------------------------------------------------- */

/* Rules that restart all containers need a node that declares the feature. */
static bool extract_restart_rules(struct json *j)
{
	struct text name, action;
	bool found = false;

	if (!json_array(j))
		return false;
	while (json_item(j)) {
		if (!json_object(j))
			continue;
		while (json_member(j, &name)) {
			if (text_is(name, "action")) {
				if (json_string(j, &action) && text_is(action, "RestartAllContainers"))
					found = true;
			} else {
				json_skip(j);
			}
		}
	}
	return found;
}

static void extract_container(struct json *j, struct pod_object *out, struct container *c)
{
	struct quantities limits = { 0 };
	struct text name, restart;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "name"))
			json_string(j, &c->name);
		else if (text_is(name, "image"))
			json_string(j, &c->image);
		else if (text_is(name, "resources"))
			extract_resources(j, &out->resources, &c->requests, &limits);
		else if (text_is(name, "ports"))
			extract_ports(j, c);
		else if (text_is(name, "restartPolicy"))
			c->is_sidecar = json_string(j, &restart) && c->is_init && text_is(restart, "Always");
		else if (text_is(name, "restartPolicyRules"))
			c->restarts_all = extract_restart_rules(j);
		else
			json_skip(j);
	}
	fill_from_limits(j, &c->requests, &limits);
}

void extract_containers(struct json *j, struct pod_object *out, bool is_init)
{
	struct container *c;
	size_t kept = 0;

	/* A later list of the same name replaces the former one. */
	for (size_t i = 0; i < out->containers_n; i++)
		if (out->containers[i].is_init != is_init)
			out->containers[kept++] = out->containers[i];
	out->containers_n = kept;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		c = extract_more(j, out->containers, out->containers_n, &out->containers_room, sizeof(*c));
		if (!c)
			return;
		out->containers = c;
		c += out->containers_n++;
		c->name = c->image = TEXT_NONE;
		c->is_init = is_init;
		extract_container(j, out, c);
	}
}

/* ---- the pod's images and ports ---------------------------------------------------- */

static void image_add(struct json *j, struct pod_object *out, struct text image)
{
	struct text *grown;

	if (image.bytes == 0)
		return;
	grown = extract_more(j, out->images, out->images_n, &out->images_room, sizeof(*grown));
	if (!grown)
		return;
	out->images = grown;
	grown[out->images_n++] = image;
}

void extract_image(struct json *j, struct pod_object *out)
{
	struct text image;

	if (json_string(j, &image))
		image_add(j, out, image);
}

/* In the node's network a port of the container is one of the node's: the API server's
 * default. */
static void ports_add(struct json *j, struct pod_object *out, const struct container *c)
{
	struct port_object *grown;

	for (size_t i = 0; i < c->ports_n; i++) {
		struct port_object p = c->ports[i];

		if (p.port == 0 && out->has_host_network)
			p.port = p.container_port;
		if (p.port == 0)
			continue;
		grown = extract_more(j, out->ports, out->ports_n, &out->ports_room, sizeof(*grown));
		if (!grown)
			return;
		out->ports = grown;
		grown[out->ports_n++] = p;
	}
}

void extract_containers_finish(struct json *j, struct pod_object *out)
{
	out->image_containers =
		out->containers_n < UINT32_MAX ? (uint32_t)out->containers_n : UINT32_MAX;
	for (size_t i = 0; i < out->containers_n && !j->failed; i++) {
		const struct container *c = &out->containers[i];

		image_add(j, out, c->image);
		out->needs_restart_all |= c->restarts_all;
		if (!c->is_init || c->is_sidecar)
			ports_add(j, out, c);
	}
}
