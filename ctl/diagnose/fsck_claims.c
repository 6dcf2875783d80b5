/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/diagnose/fsck_claims.h"

#include "ctl/diagnose/explain_devices.h"
#include "ctl/offline/fetch.h"
#include "ctl/term/print.h"
#include "frontend/base/bytes.h"
#include "frontend/devices/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The claims in the order of the objects, each once. */
static char *joined(const struct devices_excess *x)
{
	struct bytes b = { 0 };
	char *text;

	for (size_t i = 0; i < x->claims_n; i++) {
		if (i > 0 && strcmp(x->claims[i], x->claims[i - 1]) == 0)
			continue;
		bytes_put(&b, i > 0 ? ", " : "");
		bytes_put(&b, x->claims[i]);
	}
	bytes_add(&b, "", 1);
	text = must_copy(b.at);
	bytes_free(&b);
	return text;
}

static void compare(struct devices *d, struct claims_look *out)
{
	struct devices_excess *all = devices_excesses(d, &out->n);

	free(devices_list(d, &out->devices));
	out->at = must_array(out->n + 1, sizeof(*out->at));
	for (size_t i = 0; i < out->n; i++)
		out->at[i] = (struct claims_finding){ must_copy(all[i].of), must_copy(all[i].what),
			                                  joined(&all[i]) };
	free(all);
}

static bool is_allocated(const struct object *claim)
{
	cJSON *o = cJSON_ParseWithLength(claim->json.at, claim->json.bytes);
	const bool is = cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(o, "status"), "allocation"));

	cJSON_Delete(o);
	return is;
}

bool claims_look_take(const struct access_options *access, struct claims_look *out, char *error,
                      size_t error_bytes)
{
	struct files *files = files_new();
	struct devices *d = devices_new();
	size_t n;
	const struct object *objects;
	const bool ok = fetch_claims(files, access, false, error, error_bytes) &&
	                explain_devices_put(d, files, error, error_bytes);

	*out = (struct claims_look){ 0 };
	objects = files_objects(files, &n);
	for (size_t i = 0; ok && i < n; i++)
		out->claims += strcmp(objects[i].kind, "ResourceClaim") == 0 && is_allocated(&objects[i]);
	if (ok)
		compare(d, out);
	devices_free(d);
	files_free(files);
	return ok;
}

static void finding_free(struct claims_finding *x)
{
	free(x->of);
	free(x->what);
	free(x->claims);
}

void claims_look_free(struct claims_look *look)
{
	for (size_t i = 0; i < look->n; i++)
		finding_free(&look->at[i]);
	free(look->at);
	*look = (struct claims_look){ 0 };
}

static bool has(const struct claims_look *look, const struct claims_finding *x)
{
	for (size_t i = 0; i < look->n; i++)
		if (strcmp(look->at[i].of, x->of) == 0 && strcmp(look->at[i].what, x->what) == 0 &&
		    strcmp(look->at[i].claims, x->claims) == 0)
			return true;
	return false;
}

void claims_look_confirm(struct claims_look *look, const struct claims_look *earlier)
{
	size_t kept = 0;

	for (size_t i = 0; i < look->n; i++)
		if (has(earlier, &look->at[i]))
			look->at[kept++] = look->at[i];
		else
			finding_free(&look->at[i]);
	look->n = kept;
}

static void print_json(const struct claims_look *look)
{
	printf(", \"devices\": %zu, \"claims\": %zu,\n\"excesses\": [", look->devices, look->claims);
	for (size_t i = 0; i < look->n; i++) {
		const struct claims_finding *x = &look->at[i];
		cJSON *o = json_checked(cJSON_CreateObject());

		json_add_text(o, "of", x->of);
		json_add_text(o, "what", x->what);
		json_add_text(o, "claims", x->claims);
		json_print_line(o, i == 0);
	}
	fputs("]", stdout);
}

void claims_look_print(const struct claims_look *look, enum output output)
{
	if (output == OUTPUT_JSON) {
		print_json(look);
		return;
	}
	for (size_t i = 0; i < look->n; i++) {
		const struct claims_finding *x = &look->at[i];

		ctl_say("%s: %s%s%s\n", x->of, x->what, x->claims[0] != '\0' ? ": " : "", x->claims);
	}
	ctl_say("%zu excess%s of %zu device%s by %zu allocated claim%s\n", look->n,
	        look->n == 1 ? "" : "es", look->devices, look->devices == 1 ? "" : "s", look->claims,
	        look->claims == 1 ? "" : "s");
}
