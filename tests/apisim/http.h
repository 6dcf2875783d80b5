/* SPDX-License-Identifier: Apache-2.0 */
/* The API server on a socket: HTTP/1.1 by libmicrohttpd, one thread for
 * connections, store and kubelets, so that nothing is locked. */
#ifndef MUSTER_APISIM_HTTP_H
#define MUSTER_APISIM_HTTP_H

#include <stdint.h>

struct as_api;
struct as_kubelets;
struct as_server;

struct as_server_config {
	const char *address;                   /* IPv4 */
	uint16_t port;                         /* 0: any free one */
	const char *token;                     /* NULL: everyone may do everything */
	const char *certificate_pem, *key_pem; /* NULL: plain HTTP */
	uint32_t latency_ms;                   /* every answer is held back that long */
};

/* NULL with a message on standard error when it can't listen. */
struct as_server *as_server_start(struct as_api *api, struct as_kubelets *kubelets,
                                  const struct as_server_config *config);
uint16_t as_server_port(const struct as_server *s);
/* Serve until stop_fd becomes readable. */
void as_server_run(struct as_server *s, int stop_fd);
void as_server_stop(struct as_server *s); /* closes all connections */

uint64_t as_clock_ns(void); /* since 1970, never back */

#endif
