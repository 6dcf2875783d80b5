/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of simulate as JSON (a contract, see the design, section 7) or as
 * tables. */
#include "ctl/term/table.h"
#include "ctl/term/print.h"
#include "ctl/offline/claims.h"
#include "ctl/offline/devices_json.h"
#include "ctl/offline/evictions.h"
#include "ctl/offline/lack.h"
#include "ctl/offline/simulate.h"
#include "ipc/states.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *name_text(const void *context, uint32_t name)
{
	return model_name(context, name);
}

static cJSON *placement_json(const struct placement *p)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "pod", p->pod);
	if (p->node != NULL)
		json_add_text(o, "node", p->node);
	else
		json_checked(cJSON_AddNullToObject(o, "node"));
	if (p->gang != NULL)
		json_add_text(o, "gang", p->gang);
	if (p->queue != NULL)
		json_add_text(o, "queue", p->queue);
	if (p->reason != NULL)
		json_add_text(o, "reason", p->reason);
	if (p->devices != NULL && p->devices->n > 0)
		cJSON_AddItemToObject(o, "devices", devices_json(p->devices));
	return o;
}

static cJSON *written_json(const struct claim_written *w)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "claim", w->claim);
	json_add_text(o, "pod", w->pod);
	json_checked(cJSON_AddRawToObject(o, "allocation", w->allocation));
	return o;
}

static void print_claims(const struct claims *claims)
{
	const struct claim_written *written;
	size_t n;

	written = claims_written(claims, &n);
	if (n == 0)
		return;
	fputs(",\n \"claims\": [", stdout);
	for (size_t i = 0; i < n; i++)
		json_print_line(written_json(&written[i]), i == 0);
	fputs("]", stdout);
}

static cJSON *gang_json(const struct model *model, const struct gang_result *g)
{
	cJSON *o = json_checked(cJSON_CreateObject());
	struct reason_names names;

	json_add_text(o, "gang", g->gang);
	json_add_text(o, "dialect", g->dialect);
	json_add_number(o, "quorum", g->quorum);
	json_add_number(o, "members", g->members);
	json_add_number(o, "placed", g->placed);
	json_add_text(o, "state", gang_state_text(g->life));
	json_add_text(o, "former_state", gang_placement_text(g->state));
	if (g->queue != NULL)
		json_add_text(o, "queue", g->queue);
	if (g->reason != NULL) {
		json_add_text(o, "reason", g->reason);
		json_add_shortfalls(o, &g->why, false, name_text, model);
		names = reason_names_of(model);
		json_add_devices(o, &g->why, &names);
	}
	return o;
}

static const char *rule_of(const struct eviction *e)
{
	return e->reclaimed ? "reclaim" : "preemption";
}

static cJSON *eviction_json(const struct eviction *e)
{
	cJSON *o = json_checked(cJSON_CreateObject());

	json_add_text(o, "pod", e->pod);
	json_add_text(o, "node", e->node);
	if (e->gang != NULL)
		json_add_text(o, "gang", e->gang);
	if (e->queue != NULL)
		json_add_text(o, "queue", e->queue);
	json_add_text(o, "for", e->taker);
	json_add_text(o, "by", rule_of(e));
	return o;
}

static void print_evictions_json(const struct simulation *s)
{
	fputs(",\n \"evictions\": [", stdout);
	for (size_t i = 0; i < s->evictions_n; i++)
		json_print_line(eviction_json(&s->evictions[i]), i == 0);
	fputs("]", stdout);
}

static void print_json(const struct simulation *s)
{
	fputs("{\"placements\": [", stdout);
	for (size_t i = 0; i < s->placements_n; i++)
		json_print_line(placement_json(&s->placements[i]), i == 0);
	fputs("],\n \"gangs\": [", stdout);
	for (size_t i = 0; i < s->gangs_n; i++)
		json_print_line(gang_json(s->model, &s->gangs[i]), i == 0);
	fputs("]", stdout);
	if (s->claims != NULL)
		print_claims(s->claims);
	if (s->evicts)
		print_evictions_json(s);
	fputs("}\n", stdout);
}

static void print_placements(const struct simulation *s, enum output output)
{
	struct text_table *t = text_table_new("LLLL");

	text_table_cell(t, "POD");
	text_table_cell(t, "NODE");
	text_table_cell(t, "GANG");
	text_table_cell(t, "REASON");
	for (size_t i = 0; i < s->placements_n; i++) {
		const struct placement *p = &s->placements[i];

		text_table_cell(t, "%s", p->pod);
		text_table_cell(t, "%s", p->node != NULL ? p->node : "-");
		text_table_cell(t, "%s", p->gang != NULL ? p->gang : "-");
		/* The reason of a gang is in its own table. */
		text_table_cell(t, "%s",
		                p->reason == NULL ? ""
		                : p->with_gang    ? "waits with its gang"
		                                  : p->reason);
	}
	text_table_fit(t, output, "0010");
	text_table_print(t, stdout);
	text_table_free(t);
}

static void print_gangs(const struct simulation *s, enum output output)
{
	struct text_table *t = text_table_new("LLRRRL");

	text_table_cell(t, "GANG");
	text_table_cell(t, "STATE");
	text_table_cell(t, "QUORUM");
	text_table_cell(t, "MEMBERS");
	text_table_cell(t, "PLACED");
	text_table_cell(t, "REASON");
	for (size_t i = 0; i < s->gangs_n; i++) {
		const struct gang_result *g = &s->gangs[i];
		char *reason;

		text_table_cell(t, "%s", g->gang);
		text_table_cell(t, "%s", gang_state_text(g->life));
		text_table_cell(t, "%" PRIu32, g->quorum);
		text_table_cell(t, "%" PRIu32, g->members);
		text_table_cell(t, "%" PRIu32, g->placed);
		reason = g->reason != NULL ? ctl_reason_turned(g->gang, g->reason) : NULL;
		text_table_cell(t, "%s", reason != NULL ? reason : "");
		free(reason);
	}
	fputc('\n', stdout);
	text_table_fit(t, output, "001320");
	text_table_print(t, stdout);
	text_table_free(t);
}

/* Which device goes to whom, and which ones gangs lack. */
static void print_devices(const struct simulation *s, enum output output)
{
	struct text_table *t = text_table_new("LLLLL");
	bool any = false;

	text_table_cell(t, "POD");
	text_table_cell(t, "NODE");
	text_table_cell(t, "CLAIM");
	text_table_cell(t, "REQUEST");
	text_table_cell(t, "DEVICE");
	for (size_t i = 0; i < s->placements_n; i++) {
		const struct placement *p = &s->placements[i];

		for (size_t k = 0; p->devices != NULL && k < p->devices->n; k++) {
			const struct claim_device *d = &p->devices->at[k];

			any = true;
			text_table_cell(t, "%s", p->pod);
			text_table_cell(t, "%s", p->node);
			text_table_cell(t, "%s", d->claim);
			text_table_cell(t, "%s", d->request);
			text_table_cell(t, "%s%s%s%s", d->device, d->admin ? " (adminAccess)" : "",
			                d->consumed != NULL ? " " : "", d->consumed != NULL ? d->consumed : "");
		}
	}
	if (any) {
		fputc('\n', stdout);
		text_table_fit(t, output, NULL);
		text_table_print(t, stdout);
	}
	text_table_free(t);
}

static void print_evictions(const struct simulation *s, enum output output)
{
	struct text_table *t = text_table_new("LLLLL");

	text_table_cell(t, "EVICTED");
	text_table_cell(t, "NODE");
	text_table_cell(t, "GANG");
	text_table_cell(t, "FOR");
	text_table_cell(t, "BY");
	for (size_t i = 0; i < s->evictions_n; i++) {
		const struct eviction *e = &s->evictions[i];

		text_table_cell(t, "%s", e->pod);
		text_table_cell(t, "%s", e->node);
		text_table_cell(t, "%s", e->gang != NULL ? e->gang : "-");
		text_table_cell(t, "%s", e->taker);
		text_table_cell(t, "%s", rule_of(e));
	}
	fputc('\n', stdout);
	text_table_fit(t, output, NULL);
	text_table_print(t, stdout);
	text_table_free(t);
}

static void print_text(const struct simulation *s, enum output output)
{
	size_t pending = s->placements_n - s->leaving_n, gangs = 0;

	if (s->placements_n > 0)
		print_placements(s, output);
	if (s->gangs_n > 0)
		print_gangs(s, output);
	print_devices(s, output);
	if (s->evictions_n > 0)
		print_evictions(s, output);
	for (size_t i = 0; i < s->gangs_n; i++)
		gangs += s->gangs[i].state == GANG_PLACED;
	printf("%s%zu of %zu pending pods placed, %zu of %zu gangs",
	       s->placements_n + s->gangs_n > 0 ? "\n" : "", pending - s->waiting_n, pending, gangs,
	       s->gangs_n);
	if (s->evicts)
		printf("; %zu pods evicted", s->evictions_n);
	fputc('\n', stdout);
}

void simulation_print(const struct simulation *s, enum output output)
{
	if (output == OUTPUT_JSON)
		print_json(s);
	else
		print_text(s, output);
}
