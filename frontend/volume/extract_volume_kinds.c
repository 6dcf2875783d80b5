/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "frontend/json/json.h"

#include <string.h>

#define TEXT_NONE ((struct text){ "", 0 })

/* ---- parts of claims and volumes --------------------------------------------------- */

static void extract_modes(struct json *j, uint32_t *modes)
{
	struct text mode;

	*modes = 0;
	if (!json_array(j))
		return;
	while (json_item(j)) {
		if (!json_string(j, &mode))
			continue;
		*modes |= text_is(mode, "ReadWriteOnce")      ? ACCESS_ONCE
		          : text_is(mode, "ReadOnlyMany")     ? ACCESS_READ_MANY
		          : text_is(mode, "ReadWriteMany")    ? ACCESS_MANY
		          : text_is(mode, "ReadWriteOncePod") ? ACCESS_ONCE_POD
		                                              : ACCESS_OTHER;
	}
}

/* The quantity of storage in a ResourceList. */
static bool extract_storage(struct json *j, nano_t *out)
{
	struct text name;
	bool found = false;

	if (!json_object(j))
		return false;
	while (json_key(j, &name)) {
		if (text_is(name, "storage")) {
			extract_quantity(j, out);
			found = true;
		} else {
			json_skip(j);
		}
	}
	return found;
}

static void extract_block_mode(struct json *j, bool *is_block)
{
	struct text mode;

	if (json_string(j, &mode))
		*is_block = text_is(mode, "Block");
}

static void extract_phase(struct json *j, const char *phase, bool *is)
{
	struct text name, text;

	*is = false;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "phase")) {
			if (json_string(j, &text))
				*is = text_is(text, phase);
		} else {
			json_skip(j);
		}
	}
}

/* An annotation's text; false: there is none. */
static bool annotation_of(struct json *j, const struct meta *meta, const char *key,
                          struct text *out)
{
	const struct text *raw = pairs_find(&meta->annotations, key);
	const char *text;

	if (!raw)
		return false;
	text = extract_annotation(*raw, j->arena);
	if (text)
		*out = text_of(text);
	else if (j->arena->failed)
		json_no_memory(j);
	return text != NULL;
}

/* ---- PersistentVolumeClaim ----------------------------------------------------------- */

static void extract_claim_spec(struct json *j, struct claim_object *out)
{
	struct text name, part;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "storageClassName")) {
			json_string(j, &out->class);
		} else if (text_is(name, "volumeName")) {
			json_string(j, &out->volume);
		} else if (text_is(name, "volumeAttributesClassName")) {
			json_string(j, &out->attributes_class);
		} else if (text_is(name, "volumeMode")) {
			extract_block_mode(j, &out->is_block);
		} else if (text_is(name, "accessModes")) {
			extract_modes(j, &out->modes);
		} else if (text_is(name, "selector")) {
			extract_selector(j, &out->selector);
		} else if (text_is(name, "resources")) {
			if (!json_object(j))
				continue;
			while (json_member(j, &part)) {
				if (text_is(part, "requests"))
					out->has_request = extract_storage(j, &out->request);
				else
					json_skip(j);
			}
		} else {
			json_skip(j);
		}
	}
}

static void claim_annotations(struct json *j, const struct meta *meta, struct claim_object *out)
{
	struct text class;

	if (annotation_of(j, meta, "volume.beta.kubernetes.io/storage-class", &class))
		out->class = class;
	out->bind_completed = pairs_find(&meta->annotations, "pv.kubernetes.io/bind-completed") != NULL;
	out->has_selected_node =
		annotation_of(j, meta, "volume.kubernetes.io/selected-node", &out->selected_node);
}

/* ---- PersistentVolume ------------------------------------------------------------------ */

static void extract_claim_ref(struct json *j, struct pv_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	out->has_claim = true;
	while (json_member(j, &name)) {
		if (text_is(name, "namespace"))
			json_string(j, &out->claim_namespace);
		else if (text_is(name, "name"))
			json_string(j, &out->claim_name);
		else if (text_is(name, "uid"))
			json_string(j, &out->claim_uid);
		else
			json_skip(j);
	}
}

static void extract_csi(struct json *j, struct pv_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	out->is_csi = true;
	while (json_member(j, &name)) {
		if (text_is(name, "driver"))
			json_string(j, &out->source.driver);
		else if (text_is(name, "volumeHandle"))
			json_string(j, &out->source.handle);
		else
			json_skip(j);
	}
}

static void extract_pv_affinity(struct json *j, struct pv_object *out)
{
	struct text name;

	out->has_affinity = false;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "required"))
			out->has_affinity = extract_node_terms(j, &out->terms, &out->terms_n, &out->terms_room);
		else
			json_skip(j);
	}
}

static void extract_pv_spec(struct json *j, struct pv_object *out, struct volume_object *disk)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "storageClassName")) {
			json_string(j, &out->class);
		} else if (text_is(name, "volumeAttributesClassName")) {
			json_string(j, &out->attributes_class);
		} else if (text_is(name, "volumeMode")) {
			extract_block_mode(j, &out->is_block);
		} else if (text_is(name, "accessModes")) {
			extract_modes(j, &out->modes);
		} else if (text_is(name, "capacity")) {
			extract_storage(j, &out->capacity);
		} else if (text_is(name, "claimRef")) {
			extract_claim_ref(j, out);
		} else if (text_is(name, "nodeAffinity")) {
			extract_pv_affinity(j, out);
		} else if (text_is(name, "csi")) {
			extract_csi(j, out);
		} else if (!extract_volume_source(j, name, disk)) {
			json_skip(j);
		}
	}
}

/* A node selector of a volume sees a node without a name. */
static void pv_fields(struct pv_object *out)
{
	static struct text nobody[] = { { "", 0 } };

	for (size_t t = 0; t < out->terms_n; t++) {
		for (size_t r = 0; r < out->terms[t].n; r++) {
			if (out->terms[t].rules[r].is_field) {
				out->terms[t].rules[r].values = nobody;
				out->terms[t].rules[r].values_n = 1;
			}
		}
	}
}

static void pv_source(struct json *j, struct pv_object *out, const struct volume_object *disk)
{
	const struct text *zone = pairs_find(&out->labels, "topology.kubernetes.io/zone");

	if (out->is_csi || disk->source == UINT32_MAX)
		return;
	if (!zone)
		zone = pairs_find(&out->labels, "failure-domain.beta.kubernetes.io/zone");
	if (!volume_disk_source(disk, zone ? *zone : text_of("UNSPECIFIED"), j->arena, &out->source) &&
	    j->arena->failed)
		json_no_memory(j);
}

/* ---- StorageClass -------------------------------------------------------------------------- */

static void extract_topology_rule(struct json *j, struct node_term *term)
{
	struct node_rule *rule = extract_more(j, term->rules, term->n, &term->room, sizeof(*rule));
	struct texts values = { NULL, 0, 0 };
	struct text name;

	if (!rule)
		return;
	term->rules = rule;
	rule += term->n++;
	*rule = (struct node_rule){ .key = TEXT_NONE, .op = REQUIRE_IN };
	if (json_object(j)) {
		while (json_member(j, &name)) {
			if (text_is(name, "key"))
				json_string(j, &rule->key);
			else if (text_is(name, "values"))
				extract_texts(j, &values);
			else
				json_skip(j);
		}
	}
	rule->values = values.at;
	rule->values_n = values.n;
}

static void extract_topology(struct json *j, struct class_object *out)
{
	struct node_term *term =
		extract_more(j, out->topologies, out->topologies_n, &out->topologies_room, sizeof(*term));
	struct text name;

	if (!term)
		return;
	out->topologies = term;
	term += out->topologies_n++;
	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (!text_is(name, "matchLabelExpressions"))
			json_skip(j);
		else if (json_array(j))
			while (json_item(j))
				extract_topology_rule(j, term);
	}
}

static void extract_topologies(struct json *j, struct class_object *out)
{
	out->topologies_n = 0;
	if (json_array(j))
		while (json_item(j))
			extract_topology(j, out);
}

/* ---- CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment ------------------------------- */

static void extract_limit(struct json *j, bool *has, int32_t *count)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (!text_is(name, "count")) {
			json_skip(j);
		} else if (!json_null(j)) {
			extract_int32(j, count);
			*has = true;
		}
	}
}

static void extract_csi_driver(struct json *j, struct csi_node_object *out)
{
	struct volume_limit_object *limit;
	struct text name, driver = TEXT_NONE;
	int32_t count = 0;
	bool has = false;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "name"))
			json_string(j, &driver);
		else if (text_is(name, "allocatable"))
			extract_limit(j, &has, &count);
		else
			json_skip(j);
	}
	if (!has)
		return;
	limit = extract_more(j, out->limits, out->limits_n, &out->limits_room, sizeof(*limit));
	if (!limit)
		return;
	out->limits = limit;
	limit[out->limits_n++] =
		(struct volume_limit_object){ driver, count < 0 ? 0 : (uint32_t)count };
}

static void extract_csi_node_spec(struct json *j, struct csi_node_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (!text_is(name, "drivers"))
			json_skip(j);
		else if (json_array(j))
			while (json_item(j))
				extract_csi_driver(j, out);
	}
}

static void extract_driver_spec(struct json *j, struct driver_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "storageCapacity"))
			json_bool(j, &out->tells_capacity);
		else
			json_skip(j);
	}
}

static void extract_attachment_spec(struct json *j, struct attachment_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "attacher")) {
			json_string(j, &out->attacher);
		} else if (text_is(name, "nodeName")) {
			json_string(j, &out->node);
		} else if (text_is(name, "source")) {
			if (!json_object(j))
				continue;
			while (json_member(j, &name)) {
				if (text_is(name, "persistentVolumeName"))
					json_string(j, &out->volume);
				else
					json_skip(j);
			}
		} else {
			json_skip(j);
		}
	}
}

/* ---- one object --------------------------------------------------------------------------------
 */

/* What the members of an object mean while it is read. */
struct reading {
	struct meta meta;
	struct owner_object owner;
	struct volume_object disk;
	bool has_maximum;
	bool has_capacity;
	nano_t maximum, capacity;
};

static bool member_of_class(struct json *j, struct text name, struct class_object *out)
{
	struct text mode;

	if (text_is(name, "provisioner"))
		json_string(j, &out->provisioner);
	else if (text_is(name, "volumeBindingMode"))
		out->waits = json_string(j, &mode) && text_is(mode, "WaitForFirstConsumer");
	else if (text_is(name, "allowedTopologies"))
		extract_topologies(j, out);
	else
		return false;
	return true;
}

static void extract_size(struct json *j, bool *has, nano_t *out)
{
	*has = !json_null(j);
	if (*has)
		extract_quantity(j, out);
}

static bool member_of_capacity(struct json *j, struct text name, struct capacity_object *out,
                               struct reading *r)
{
	if (text_is(name, "storageClassName"))
		json_string(j, &out->class);
	else if (text_is(name, "nodeTopology"))
		extract_selector(j, &out->nodes);
	else if (text_is(name, "maximumVolumeSize"))
		extract_size(j, &r->has_maximum, &r->maximum);
	else if (text_is(name, "capacity"))
		extract_size(j, &r->has_capacity, &r->capacity);
	else
		return false;
	return true;
}

static bool member_of(struct json *j, enum volume_kind kind, struct text name,
                      union volume_any *out, struct reading *r)
{
	bool spec = text_is(name, "spec"), status = text_is(name, "status");

	switch (kind) {
	case VOLUME_KIND_CLAIM:
		if (spec)
			extract_claim_spec(j, &out->claim);
		else if (status)
			extract_phase(j, "Lost", &out->claim.lost);
		return spec || status;
	case VOLUME_KIND_VOLUME:
		if (spec)
			extract_pv_spec(j, &out->pv, &r->disk);
		else if (status)
			extract_phase(j, "Available", &out->pv.is_available);
		return spec || status;
	case VOLUME_KIND_CLASS:
		return member_of_class(j, name, &out->class);
	case VOLUME_KIND_NODE:
		if (spec)
			extract_csi_node_spec(j, &out->csi_node);
		return spec;
	case VOLUME_KIND_DRIVER:
		if (spec)
			extract_driver_spec(j, &out->driver);
		return spec;
	case VOLUME_KIND_CAPACITY:
		return member_of_capacity(j, name, &out->capacity, r);
	case VOLUME_KIND_ATTACHMENT:
		if (spec)
			extract_attachment_spec(j, &out->attachment);
		return spec;
	default:
		return false;
	}
}

/* What is known only once the object was read whole. */
static void finish(struct json *j, enum volume_kind kind, struct reading *r, union volume_any *out)
{
	struct text class;

	out->head =
		(struct volume_head){ r->meta.namespace, r->meta.name, r->meta.uid, r->meta.version };
	if (kind == VOLUME_KIND_CLAIM) {
		out->claim.owner_uid = r->owner.uid;
		out->claim.deleting = r->meta.deleting;
		claim_annotations(j, &r->meta, &out->claim);
	} else if (kind == VOLUME_KIND_VOLUME) {
		out->pv.labels = r->meta.labels;
		out->pv.deleting = r->meta.deleting;
		if (annotation_of(j, &r->meta, "volume.beta.kubernetes.io/storage-class", &class))
			out->pv.class = class;
		pv_fields(&out->pv);
		pv_source(j, &out->pv, &r->disk);
	} else if (kind == VOLUME_KIND_CAPACITY) {
		out->capacity.has_limit = r->has_maximum || r->has_capacity;
		out->capacity.limit = r->has_maximum ? r->maximum : r->capacity;
	}
}

int extract_volume_kind(enum volume_kind kind, const char *json, size_t bytes, struct arena *arena,
                        union volume_any *out, struct decode_error *error)
{
	struct reading r = { .disk.source = UINT32_MAX };
	struct json j;
	struct text name;

	memset(out, 0, sizeof(*out));
	extract_meta_start(&r.meta);
	r.owner.uid = TEXT_NONE;
	json_begin(&j, json, bytes, arena);
	extract_object_start(&j);
	while (json_member(&j, &name)) {
		if (text_is(name, "metadata"))
			extract_metadata_and_owner(&j, &r.meta, &r.owner);
		else if (text_is(name, "apiVersion"))
			json_string(&j, &r.meta.api_version);
		else if (text_is(name, "kind"))
			json_string(&j, &r.meta.kind);
		else if (!member_of(&j, kind, name, out, &r))
			json_skip(&j);
	}
	finish(&j, kind, &r, out);
	return extract_end(&j, &r.meta, volume_resources[kind].kind, error);
}
