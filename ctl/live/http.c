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

	if (n > BODY_MAX - body->n)
		return 0;
	bytes_add(body, at, n);
	return n;
}

void http_url(const char *listen, const char *path, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "http://%s%s%s", listen[0] == ':' ? "127.0.0.1" : "", listen, path);
}

static CURL *begin(const char *url, long timeout_ms, bool any_tls, struct bytes *body)
{
	CURL *curl = curl_easy_init();

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
	return curl;
}

/* The status; 0 and `error`: there is no answer. */
static long perform(CURL *curl, const char *url, struct bytes *body, char *error,
                    size_t error_bytes)
{
	long status = 0;
	const CURLcode rc = curl_easy_perform(curl);

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	bytes_add(body, "", 1);
	body->n--;
	if (rc == CURLE_OK)
		return status;
	snprintf(error, error_bytes, "%s: %s", url, curl_easy_strerror(rc));
	return 0;
}

bool http_get(const char *url, long timeout_ms, bool any_tls, struct bytes *body, char *error,
              size_t error_bytes)
{
	const long status =
		perform(begin(url, timeout_ms, any_tls, body), url, body, error, error_bytes);

	if (status != 0 && status != 200)
		snprintf(error, error_bytes, "%s: HTTP %ld", url, status);
	return status == 200;
}

long http_post(const char *url, long timeout_ms, const char *json, size_t bytes, struct bytes *body,
               char *error, size_t error_bytes)
{
	CURL *curl = begin(url, timeout_ms, false, body);
	struct curl_slist *type = curl_slist_append(NULL, "Content-Type: application/json");
	long status;

	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, type);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
	status = perform(curl, url, body, error, error_bytes);
	curl_slist_free_all(type);
	return status;
}
