/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/file_records.h"

#include "ctl/live/http.h"
#include "ctl/term/options.h"
#include "ipc/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000L

int file_records_post(const char *command, struct text json, const char *listen, const char *what,
                      cJSON **answer)
{
	char error[800], url[1200];
	struct bytes body = { 0 };
	long status;
	int rc = EXIT_NO;

	http_url(listen, "/pod", url, sizeof(url));
	status = http_post(url, TIMEOUT_MS, json.at, json.bytes, &body, error, sizeof(error));
	if (status == 0)
		fprintf(stderr, "%s: %s; is muster-frontend there? See --listen\n", command, error);
	else if (status == 404 || status == 405)
		fprintf(stderr, "%s: %s: muster-frontend is older and takes no %s of files\n", command, url,
		        what);
	else if (status != 200)
		fprintf(stderr, "%s: %s: HTTP %ld: %.*s\n", command, url, status,
		        (int)strcspn(body.at, "\n"), body.at);
	else
		rc = EXIT_DONE;
	if (rc == EXIT_DONE)
		*answer = cJSON_Parse(body.at);
	bytes_free(&body);
	return rc;
}

const char *file_records_field(const cJSON *answer, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(answer, name));

	return text != NULL ? text : "";
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint32_t file_records_bytes(const cJSON *answer, const char *name, unsigned char *out,
                            uint32_t room)
{
	const char *hex = file_records_field(answer, name);
	const size_t n = strlen(hex);

	if (n == 0 || n % 16 != 0 || n / 2 > room)
		return 0;
	for (size_t i = 0; i < n; i += 2) {
		const int high = digit(hex[i]), low = digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		out[i / 2] = (unsigned char)(high << 4 | low);
	}
	return (uint32_t)(n / 2);
}

bool file_records_names(const cJSON *answer, struct file_names *out)
{
	const cJSON *name;

	cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(answer, "names"))
	{
		const cJSON *id = cJSON_GetObjectItemCaseSensitive(name, "id");

		if (!cJSON_IsNumber(id) || id->valuedouble < 0 || id->valuedouble > 1e9 ||
		    out->n == RESOURCES_MAX)
			return false;
		out->at[out->n].id = (name_id)id->valuedouble;
		out->at[out->n++].text = must_copy(file_records_field(name, "name"));
	}
	return true;
}

const char *file_names_find(const struct file_names *names, uint32_t id)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->at[i].id == id)
			return names->at[i].text;
	return NULL;
}

void file_names_free(struct file_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->at[i].text);
}
