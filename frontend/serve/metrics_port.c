/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/serve/metrics_impl.h"

#include <inttypes.h>

static void closed_write(const char *listener, const struct connection_counts *c, FILE *out)
{
	fprintf(out,
	        "muster_port_connections_closed_total{listener=\"%s\",reason=\"deadline\"} %" PRIu64
	        "\nmuster_port_connections_closed_total{listener=\"%s\",reason=\"full\"} %" PRIu64 "\n",
	        listener, c->late, listener, c->evicted);
}

static void connections_write(const struct port_counts *p, FILE *out)
{
	const struct connection_counts *port = &p->listeners[PORT_MAIN],
								   *health = &p->listeners[PORT_HEALTH];

	family_write(out, "muster_port_connections", "gauge", "Open connections of each listener.");
	fprintf(out,
	        "muster_port_connections{listener=\"port\"} %" PRIu64
	        "\nmuster_port_connections{listener=\"health\"} %" PRIu64 "\n",
	        port->open, health->open);
	LABELLED(out, "muster_port_connections_total", "listener", "Connections accepted.",
	         { "port", port->accepted }, { "health", health->accepted });
	family_write(out, "muster_port_connections_closed_total", "counter",
	             "Connections that were closed by muster, by reason.");
	closed_write("port", port, out);
	closed_write("health", health, out);
}

void metrics_port_write(const struct metrics *m, FILE *out)
{
	const uint64_t *refused = m->port.refused;

	connections_write(&m->port, out);
	LABELLED(out, "muster_port_requests_refused_total", "reason",
	         "Requests that were rejected, by reason.", { "host", refused[PORT_HOST] },
	         { "origin", refused[PORT_ORIGIN] }, { "type", refused[PORT_TYPE] },
	         { "length", refused[PORT_LENGTH] }, { "bytes", refused[PORT_BYTES] },
	         { "identity", refused[PORT_IDENTITY] }, { "forbidden", refused[PORT_FORBIDDEN] },
	         { "review", refused[PORT_REVIEW] });
	FIGURES(out, GAUGE("muster_port_body_bytes",
	                   "Memory reserved for requests to the extender and their answers.",
	                   m->port.body_bytes));
}
