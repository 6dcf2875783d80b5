/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/live/http.h"

#include "ctl/term/ctl.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#define BODY_MAX (64u << 20)

static size_t on_body(char *at, size_t one, size_t n, void *context)
{
	struct bytes *body = context;

	(void)one;
	if (n > BODY_MAX - body->n)
		return 0;
	bytes_add(body, at, n);
	return n;
}

bool http_get(const char *url, long timeout_ms, bool any_tls, struct bytes *body, char *error,
              size_t error_bytes)
{
	CURL *curl = curl_easy_init();
	long status = 0;
	CURLcode rc;

	if (curl == NULL)
		fatal_memory();
	body->n = 0;
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, any_tls ? "http,https" : "http");
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, any_tls ? 0L : 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, any_tls ? 0L : 2L);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
	rc = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	bytes_add(body, "", 1);
	body->n--;
	if (rc == CURLE_OK && status == 200)
		return true;
	if (rc != CURLE_OK)
		snprintf(error, error_bytes, "%s: %s", url, curl_easy_strerror(rc));
	else
		snprintf(error, error_bytes, "%s: HTTP %ld", url, status);
	return false;
}
