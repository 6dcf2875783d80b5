/* SPDX-License-Identifier: Apache-2.0 */
/* spec.volumes of a pod, and the CSI drivers of in-tree disks. */
#include "frontend/decode/fields.h"
#include "frontend/decode/volume_source.h"

#include <string.h>

static const struct {
	const char *plugin; /* also the provisioner of its classes */
	const char *driver;
} migrated[] = {
	{ "kubernetes.io/aws-ebs", "ebs.csi.aws.com" },
	{ "kubernetes.io/gce-pd", "pd.csi.storage.gke.io" },
	{ "kubernetes.io/azure-disk", "disk.csi.azure.com" },
	{ "kubernetes.io/cinder", "cinder.csi.openstack.org" },
	{ "kubernetes.io/portworx-volume", "pxd.portworx.com" },
};

struct text volume_migrated(struct text plugin)
{
	for (size_t i = 0; i < sizeof(migrated) / sizeof(migrated[0]); i++)
		if (text_is(plugin, migrated[i].plugin))
			return text_of(migrated[i].driver);
	return TEXT_NONE;
}

/* "aws://zone/vol-1" is the volume vol-1. */
static struct text aws_volume(struct text id)
{
	const char *slash;

	if (!text_starts(id, "aws://"))
		return id;
	slash = memrchr(id.at, '/', id.bytes);
	return (struct text){ slash + 1, (size_t)(id.at + id.bytes - slash - 1) };
}

/* The zone of a GCE disk is part of its handle. */
static struct text gce_handle(struct text zone, struct text name, struct arena *arena)
{
	return text_of(arena_printf(arena, "projects/UNSPECIFIED/zones/%.*s/disks/%.*s",
	                            (int)zone.bytes, zone.at, (int)name.bytes, name.at));
}

bool volume_disk_source(const struct volume_object *v, struct text zone, struct arena *arena,
                        struct volume_source_object *out)
{
	switch (v->source) {
	case VOLUME_GCE_DISK:
		*out = (struct volume_source_object){ text_of("pd.csi.storage.gke.io"),
			                                  gce_handle(zone, v->name, arena) };
		return true;
	case VOLUME_AWS_DISK:
		*out = (struct volume_source_object){ text_of("ebs.csi.aws.com"), aws_volume(v->name) };
		return true;
	case VOLUME_AZURE_DISK:
		*out = (struct volume_source_object){ text_of("disk.csi.azure.com"), v->name };
		return true;
	case VOLUME_CINDER:
		*out = (struct volume_source_object){ text_of("cinder.csi.openstack.org"), v->name };
		return true;
	default:
		return false;
	}
}

/* Which member of a source is its name. */
static const struct source {
	const char *member;
	const char *name;
	enum volume_source source;
} sources[] = {
	{ "persistentVolumeClaim", "claimName", VOLUME_CLAIM },
	{ "ephemeral", NULL, VOLUME_EPHEMERAL },
	{ "gcePersistentDisk", "pdName", VOLUME_GCE_DISK },
	{ "awsElasticBlockStore", "volumeID", VOLUME_AWS_DISK },
	{ "iscsi", "iqn", VOLUME_ISCSI },
	{ "rbd", "image", VOLUME_RBD },
	{ "azureDisk", "diskURI", VOLUME_AZURE_DISK },
	{ "cinder", "volumeID", VOLUME_CINDER },
};

void extract_volume_source(struct json *j, void *volume)
{
	const struct source *source = sources;
	struct volume_object *v = volume;
	struct text name = json_member_name(j);

	while (!text_is(name, source->member))
		source++;
	if (!json_object(j))
		return;
	v->source = source->source;
	v->name = TEXT_NONE;
	v->pool = text_of("rbd");
	while (json_member(j, &name)) {
		if (source->name && text_is(name, source->name))
			json_string(j, &v->name);
		else if (text_is(name, "readOnly") && v->source != VOLUME_CLAIM)
			json_bool(j, &v->read_only);
		else if (text_is(name, "pool") && v->source == VOLUME_RBD)
			json_string(j, &v->pool);
		else if (text_is(name, "monitors") && v->source == VOLUME_RBD)
			extract_texts(j, &v->monitors);
		else
			json_skip(j);
	}
	if (v->pool.bytes == 0)
		v->pool = text_of("rbd");
}

struct volume_read {
	struct pod_object *pod;
	struct pod_volumes volumes;
	struct volume_object v;
	struct text name;
};

static void extract_image_reference(struct json *j, void *read)
{
	struct volume_read *r = read;
	struct text image;

	if (json_string(j, &image))
		extract_image(j->arena, r->pod, image);
}

static const struct json_field image_fields[] = { JSON_WHOLE("reference",
	                                                         extract_image_reference) };

static const struct json_field volume_fields[] = {
	JSON_FIELD("name", json_field_text, struct volume_read, name),
	EXTRACT_SOURCE_FIELDS(struct volume_read, v),
	JSON_NESTED("image", image_fields),
};

static void extract_volume(struct json *j, void *read)
{
	struct volume_read *r = read;

	r->v = (struct volume_object){ .source = UINT32_MAX };
	r->name = TEXT_NONE;
	json_fields(j, volume_fields, r);
	if (r->v.source == UINT32_MAX)
		return;
	if (r->v.source == VOLUME_EPHEMERAL)
		r->v.name = r->name;
	*EXTRACT_ADD(j->arena, r->volumes.at, r->volumes.n, r->volumes.cap) = r->v;
}

void extract_pod_volumes(struct json *j, void *pod)
{
	struct volume_read r = { .pod = pod };

	r.pod->images_n = 0; /* at this point there are only images of volumes */
	r.pod->volumes = NULL;
	json_items(j, extract_volume, &r);
	if (r.volumes.n == 0)
		return;
	r.pod->volumes = arena_alloc(j->arena, sizeof(r.volumes));
	*r.pod->volumes = r.volumes;
}
