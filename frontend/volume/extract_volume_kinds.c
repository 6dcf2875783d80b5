/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of the objects of storage -> union volume_any. */
#include "frontend/volume/volume_impl.h"

#include <string.h>

const struct resource volume_resources[VOLUME_KINDS] = {
	[VOLUME_KIND_CLAIM] = { "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", false },
	[VOLUME_KIND_VOLUME] = { "", "v1", "persistentvolumes", "PersistentVolume", false },
	[VOLUME_KIND_CLASS] = { "storage.k8s.io", "v1", "storageclasses", "StorageClass", false },
	[VOLUME_KIND_NODE] = { "storage.k8s.io", "v1", "csinodes", "CSINode", false },
	[VOLUME_KIND_DRIVER] = { "storage.k8s.io", "v1", "csidrivers", "CSIDriver", false },
	[VOLUME_KIND_CAPACITY] = { "storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity",
	                           false },
	[VOLUME_KIND_ATTACHMENT] = { "storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment",
	                             false },
};

/* An object while it is read, with what is evaluated after its last member. */
struct object_read {
	union volume_any any;
	struct meta meta;
	struct owner_object owner;
	struct volume_object disk;
	bool has_maximum, has_capacity;
	nano_t maximum, capacity;
};

static void extract_mode(struct json *j, void *modes)
{
	struct text mode;

	if (!json_string(j, &mode))
		return;
	*(uint32_t *)modes |= text_is(mode, "ReadWriteOnce")      ? ACCESS_ONCE
	                      : text_is(mode, "ReadOnlyMany")     ? ACCESS_READ_MANY
	                      : text_is(mode, "ReadWriteMany")    ? ACCESS_MANY
	                      : text_is(mode, "ReadWriteOncePod") ? ACCESS_ONCE_POD
	                                                          : ACCESS_OTHER;
}

static void extract_modes(struct json *j, void *modes)
{
	*(uint32_t *)modes = 0;
	json_items(j, extract_mode, modes);
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

static void extract_block_mode(struct json *j, void *is_block)
{
	struct text mode;

	if (json_string(j, &mode))
		*(bool *)is_block = text_is(mode, "Block");
}

static const struct json_field phase_fields[] = { JSON_WHOLE("phase", json_field_text) };

/* The phase of a status; "" if it is null. */
static struct text extract_phase(struct json *j)
{
	struct text phase = TEXT_NONE;

	json_fields(j, phase_fields, &phase);
	return phase;
}

/* The text of an annotation; false if there is none. */
static bool annotation_of(struct arena *arena, const struct meta *meta, const char *key,
                          struct text *out)
{
	const char *text = annotation_find(&meta->annotations, key, arena);

	if (text)
		*out = text_of(text);
	return text != NULL;
}

#define CLAIM(name, read, member) JSON_FIELD(name, read, struct object_read, any.claim.member)

static void extract_request(struct json *j, void *claim)
{
	struct claim_object *out = claim;

	out->has_request = extract_storage(j, &out->request);
}

static const struct json_field claim_resources[] = {
	JSON_FIELD("requests", extract_request, struct object_read, any.claim),
};

static const struct json_field claim_spec[] = {
	CLAIM("accessModes", extract_modes, modes),
	CLAIM("selector", extract_selector, selector),
	JSON_NESTED("resources", claim_resources),
	CLAIM("volumeName", json_field_text, volume),
	CLAIM("storageClassName", json_field_text, class),
	CLAIM("volumeMode", extract_block_mode, is_block),
	CLAIM("volumeAttributesClassName", json_field_text, attributes_class),
};

static void extract_claim_status(struct json *j, void *lost)
{
	*(bool *)lost = text_is(extract_phase(j), "Lost");
}

static void claim_finish(struct object_read *r, struct arena *arena)
{
	struct claim_object *out = &r->any.claim;

	out->owner_uid = r->owner.uid;
	out->deleting = r->meta.deleting;
	annotation_of(arena, &r->meta, "volume.beta.kubernetes.io/storage-class", &out->class);
	out->bind_completed =
		pairs_find(&r->meta.annotations, "pv.kubernetes.io/bind-completed") != NULL;
	out->has_selected_node =
		annotation_of(arena, &r->meta, "volume.kubernetes.io/selected-node", &out->selected_node);
}

#define PV(name, read, member) JSON_FIELD(name, read, struct object_read, any.pv.member)

static const struct json_field claim_ref[] = {
	JSON_FIELD("namespace", json_field_text, struct pv_object, claim_namespace),
	JSON_FIELD("name", json_field_text, struct pv_object, claim_name),
	JSON_FIELD("uid", json_field_text, struct pv_object, claim_uid),
};

static void extract_claim_ref(struct json *j, void *pv)
{
	if (json_fields(j, claim_ref, pv))
		((struct pv_object *)pv)->has_claim = true;
}

static const struct json_field csi_fields[] = {
	JSON_FIELD("driver", json_field_text, struct pv_object, source.driver),
	JSON_FIELD("volumeHandle", json_field_text, struct pv_object, source.handle),
};

static void extract_csi(struct json *j, void *pv)
{
	if (json_fields(j, csi_fields, pv))
		((struct pv_object *)pv)->is_csi = true;
}

static void extract_required(struct json *j, void *pv)
{
	struct pv_object *out = pv;

	out->has_affinity = extract_node_terms(j, &out->terms, &out->terms_n, &out->terms_cap);
}

static const struct json_field affinity_fields[] = { JSON_WHOLE("required", extract_required) };

static void extract_pv_affinity(struct json *j, void *pv)
{
	((struct pv_object *)pv)->has_affinity = false;
	json_fields(j, affinity_fields, pv);
}

static void extract_capacity(struct json *j, void *capacity)
{
	extract_storage(j, capacity);
}

static const struct json_field pv_spec[] = {
	PV("capacity", extract_capacity, capacity),
	PV("accessModes", extract_modes, modes),
	JSON_FIELD("claimRef", extract_claim_ref, struct object_read, any.pv),
	PV("storageClassName", json_field_text, class),
	PV("volumeMode", extract_block_mode, is_block),
	JSON_FIELD("nodeAffinity", extract_pv_affinity, struct object_read, any.pv),
	PV("volumeAttributesClassName", json_field_text, attributes_class),
	JSON_FIELD("csi", extract_csi, struct object_read, any.pv),
	EXTRACT_SOURCE_FIELDS(struct object_read, disk),
};

static void extract_pv_status(struct json *j, void *is_available)
{
	*(bool *)is_available = text_is(extract_phase(j), "Available");
}

/* kube-scheduler matches the node affinity of a volume against the labels of a node alone, not its
 * name (volume.CheckNodeAffinity). */
static void pv_fields(struct pv_object *out)
{
	static struct text no_name[] = { { "", 0 } };

	for (size_t t = 0; t < out->terms_n; t++) {
		for (size_t r = 0; r < out->terms[t].n; r++) {
			if (out->terms[t].rules[r].is_field) {
				out->terms[t].rules[r].values = no_name;
				out->terms[t].rules[r].values_n = 1;
			}
		}
	}
}

static void pv_source(struct pv_object *out, const struct volume_object *disk, struct arena *arena)
{
	const struct text *zone = pairs_find(&out->labels, "topology.kubernetes.io/zone");

	if (out->is_csi || disk->source == UINT32_MAX)
		return;
	if (!zone)
		zone = pairs_find(&out->labels, "failure-domain.beta.kubernetes.io/zone");
	volume_disk_source(disk, zone ? *zone : text_of("UNSPECIFIED"), arena, &out->source);
}

static void pv_finish(struct object_read *r, struct arena *arena)
{
	struct pv_object *out = &r->any.pv;

	out->labels = r->meta.labels;
	out->deleting = r->meta.deleting;
	annotation_of(arena, &r->meta, "volume.beta.kubernetes.io/storage-class", &out->class);
	pv_fields(out);
	pv_source(out, &r->disk, arena);
}

struct topology_rule {
	struct text key;
	struct texts values;
};

static const struct json_field topology_rule_fields[] = {
	JSON_FIELD("key", json_field_text, struct topology_rule, key),
	JSON_FIELD("values", extract_texts, struct topology_rule, values),
};

static void extract_topology_rule(struct json *j, void *object)
{
	struct topology_rule r = { .key = TEXT_NONE };
	struct node_term *term = object;

	json_fields(j, topology_rule_fields, &r);
	*EXTRACT_ADD(j->arena, term->rules, term->n, term->cap) = (struct node_rule){
		.key = r.key, .values = r.values.at, .values_n = r.values.n, .op = REQUIRE_IN
	};
}

static void extract_topology_rules(struct json *j, void *term)
{
	json_items(j, extract_topology_rule, term);
}

static const struct json_field topology_fields[] = {
	JSON_WHOLE("matchLabelExpressions", extract_topology_rules),
};

static void extract_topology(struct json *j, void *class)
{
	struct class_object *out = class;

	json_fields(j, topology_fields,
	            EXTRACT_ADD(j->arena, out->topologies, out->topologies_n, out->topologies_cap));
}

static void extract_topologies(struct json *j, void *class)
{
	((struct class_object *)class)->topologies_n = 0;
	json_items(j, extract_topology, class);
}

static void extract_binding_mode(struct json *j, void *waits)
{
	struct text mode;

	*(bool *)waits = json_string(j, &mode) && text_is(mode, "WaitForFirstConsumer");
}

struct driver_read {
	struct text driver;
	int32_t count;
	bool has_count;
};

static void extract_count(struct json *j, void *driver)
{
	struct driver_read *r = driver;

	if (json_null(j))
		return;
	extract_int32(j, &r->count);
	r->has_count = true;
}

static const struct json_field allocatable_fields[] = { JSON_WHOLE("count", extract_count) };

static const struct json_field driver_fields[] = {
	JSON_FIELD("name", json_field_text, struct driver_read, driver),
	JSON_NESTED("allocatable", allocatable_fields),
};

static void extract_csi_driver(struct json *j, void *csi_node)
{
	struct csi_node_object *out = csi_node;
	struct driver_read r = { .driver = TEXT_NONE };

	if (json_fields(j, driver_fields, &r) && r.has_count)
		*EXTRACT_ADD(j->arena, out->limits, out->limits_n, out->limits_cap) =
			(struct volume_limit_object){ r.driver, r.count < 0 ? 0 : (uint32_t)r.count };
}

static void extract_csi_drivers(struct json *j, void *csi_node)
{
	json_items(j, extract_csi_driver, csi_node);
}

static const struct json_field csi_node_spec[] = {
	JSON_FIELD("drivers", extract_csi_drivers, struct object_read, any.csi_node),
};

static const struct json_field driver_spec[] = {
	JSON_FIELD("storageCapacity", json_field_bool, struct object_read, any.driver.tells_capacity),
};

static void extract_maximum(struct json *j, void *read)
{
	struct object_read *r = read;

	r->has_maximum = !json_null(j);
	if (r->has_maximum)
		extract_quantity(j, &r->maximum);
}

static void extract_size(struct json *j, void *read)
{
	struct object_read *r = read;

	r->has_capacity = !json_null(j);
	if (r->has_capacity)
		extract_quantity(j, &r->capacity);
}

static void capacity_finish(struct object_read *r)
{
	r->any.capacity.has_limit = r->has_maximum || r->has_capacity;
	r->any.capacity.limit = r->has_maximum ? r->maximum : r->capacity;
	r->any.capacity.has_total = r->has_capacity;
	r->any.capacity.total = r->capacity;
}

#define ATTACHMENT(name, read, member)                                                             \
	JSON_FIELD(name, read, struct object_read, any.attachment.member)

static const struct json_field attachment_source[] = {
	ATTACHMENT("persistentVolumeName", json_field_text, volume),
};

static const struct json_field attachment_spec[] = {
	ATTACHMENT("attacher", json_field_text, attacher),
	ATTACHMENT("nodeName", json_field_text, node),
	JSON_NESTED("source", attachment_source),
};

static const struct json_field metadata_fields[] = {
	EXTRACT_METADATA_FIELDS(struct object_read, meta),
	JSON_FIELD("ownerReferences", extract_owners, struct object_read, owner),
};

#define COMMON_FIELDS                                                                              \
	JSON_NESTED("metadata", metadata_fields), EXTRACT_KIND_FIELDS(struct object_read)

static const struct json_field claim_fields[] = {
	COMMON_FIELDS,
	JSON_NESTED("spec", claim_spec),
	CLAIM("status", extract_claim_status, lost),
};

static const struct json_field pv_object_fields[] = {
	COMMON_FIELDS,
	JSON_NESTED("spec", pv_spec),
	PV("status", extract_pv_status, is_available),
};

static const struct json_field class_fields[] = {
	COMMON_FIELDS,
	JSON_FIELD("provisioner", json_field_text, struct object_read, any.class.provisioner),
	JSON_FIELD("volumeBindingMode", extract_binding_mode, struct object_read, any.class.waits),
	JSON_FIELD("allowedTopologies", extract_topologies, struct object_read, any.class),
};

static const struct json_field csi_node_fields[] = { COMMON_FIELDS,
	                                                 JSON_NESTED("spec", csi_node_spec) };
static const struct json_field csi_driver_fields[] = { COMMON_FIELDS,
	                                                   JSON_NESTED("spec", driver_spec) };

static const struct json_field capacity_fields[] = {
	COMMON_FIELDS,
	JSON_FIELD("storageClassName", json_field_text, struct object_read, any.capacity.class),
	JSON_FIELD("nodeTopology", extract_selector, struct object_read, any.capacity.nodes),
	JSON_WHOLE("maximumVolumeSize", extract_maximum),
	JSON_WHOLE("capacity", extract_size),
};

static const struct json_field attachment_fields[] = { COMMON_FIELDS,
	                                                   JSON_NESTED("spec", attachment_spec) };

static const struct {
	const struct json_field *fields;
	size_t n;
} kinds[VOLUME_KINDS] = {
	[VOLUME_KIND_CLAIM] = { claim_fields, JSON_COUNT(claim_fields) },
	[VOLUME_KIND_VOLUME] = { pv_object_fields, JSON_COUNT(pv_object_fields) },
	[VOLUME_KIND_CLASS] = { class_fields, JSON_COUNT(class_fields) },
	[VOLUME_KIND_NODE] = { csi_node_fields, JSON_COUNT(csi_node_fields) },
	[VOLUME_KIND_DRIVER] = { csi_driver_fields, JSON_COUNT(csi_driver_fields) },
	[VOLUME_KIND_CAPACITY] = { capacity_fields, JSON_COUNT(capacity_fields) },
	[VOLUME_KIND_ATTACHMENT] = { attachment_fields, JSON_COUNT(attachment_fields) },
};

int extract_volume_kind(enum volume_kind kind, const char *json, size_t bytes, struct arena *arena,
                        union volume_any *out, struct decode_error *error)
{
	struct object_read r = { .disk.source = UINT32_MAX, .owner = EXTRACT_OWNER_NONE };
	int rc;

	extract_meta_start(&r.meta);
	rc = extract_document_n(json, bytes, arena, kinds[kind].fields, kinds[kind].n, &r, &r.meta,
	                        volume_resources[kind].kind, error);
	if (kind == VOLUME_KIND_CLAIM)
		claim_finish(&r, arena);
	else if (kind == VOLUME_KIND_VOLUME)
		pv_finish(&r, arena);
	else if (kind == VOLUME_KIND_CAPACITY)
		capacity_finish(&r);
	*out = r.any;
	out->head = (struct volume_head){ r.meta.namespace, r.meta.name, r.meta.uid, r.meta.version };
	return rc;
}
