/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/volume/volume_impl.h"

#include "frontend/json/json.h"

#include <string.h>

#define TEXT_NONE ((struct text){ "", 0 })

/* ---- in-tree disks that CSI drivers took over ---------------------------------- */

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

/* Where a GCE disk lies is part of its handle. */
static bool gce_source(struct text zone, struct text name, struct arena *arena,
                       struct volume_source_object *out)
{
	const char *handle = arena_printf(arena, "projects/UNSPECIFIED/zones/%.*s/disks/%.*s",
	                                  (int)zone.bytes, zone.at, (int)name.bytes, name.at);

	if (!handle)
		return false;
	*out = (struct volume_source_object){ text_of("pd.csi.storage.gke.io"), text_of(handle) };
	return true;
}

bool volume_disk_source(const struct volume_object *v, struct text zone, struct arena *arena,
                        struct volume_source_object *out)
{
	switch (v->source) {
	case VOLUME_GCE_DISK:
		return gce_source(zone, v->name, arena, out);
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

/* ---- spec.volumes of a pod ------------------------------------------------------ */

/* Which member of a source is its name, and what else of it is looked at. */
static const struct source {
	const char *member;
	const char *name;
	uint32_t source;
} sources[] = {
	{ "persistentVolumeClaim", "claimName", VOLUME_CLAIM },
	{ "ephemeral", "", VOLUME_EPHEMERAL },
	{ "gcePersistentDisk", "pdName", VOLUME_GCE_DISK },
	{ "awsElasticBlockStore", "volumeID", VOLUME_AWS_DISK },
	{ "iscsi", "iqn", VOLUME_ISCSI },
	{ "rbd", "image", VOLUME_RBD },
	{ "azureDisk", "diskURI", VOLUME_AZURE_DISK },
	{ "cinder", "volumeID", VOLUME_CINDER },
};

static const struct source *source_of(struct text member)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (text_is(member, sources[i].member))
			return &sources[i];
	return NULL;
}

bool extract_volume_source(struct json *j, struct text member, struct volume_object *v)
{
	const struct source *source = source_of(member);
	struct text name;

	if (!source)
		return false;
	if (!json_object(j))
		return true;
	v->source = source->source;
	v->name = TEXT_NONE;
	v->pool = text_of("rbd");
	while (json_member(j, &name)) {
		if (*source->name && text_is(name, source->name))
			json_string(j, &v->name);
		else if (text_is(name, "readOnly") && source->source != VOLUME_CLAIM)
			json_bool(j, &v->read_only);
		else if (text_is(name, "pool") && source->source == VOLUME_RBD)
			json_string(j, &v->pool);
		else if (text_is(name, "monitors") && source->source == VOLUME_RBD)
			extract_texts(j, &v->monitors);
		else
			json_skip(j);
	}
	if (v->pool.bytes == 0)
		v->pool = text_of("rbd");
	return true;
}

static void extract_image_volume(struct json *j, struct pod_object *out)
{
	struct text name;

	if (!json_object(j))
		return;
	while (json_member(j, &name)) {
		if (text_is(name, "reference"))
			extract_image(j, out);
		else
			json_skip(j);
	}
}

static void extract_volume(struct json *j, struct pod_object *out, struct pod_volumes *volumes)
{
	struct volume_object v = { .source = UINT32_MAX }, *at;
	struct text member, name = TEXT_NONE;

	if (!json_object(j))
		return;
	while (json_member(j, &member)) {
		if (text_is(member, "name")) {
			json_string(j, &name);
		} else if (text_is(member, "image")) {
			extract_image_volume(j, out);
		} else if (!extract_volume_source(j, member, &v)) {
			json_skip(j);
		}
	}
	if (v.source == UINT32_MAX)
		return;
	if (v.source == VOLUME_EPHEMERAL)
		v.name = name;
	at = extract_more(j, volumes->at, volumes->n, &volumes->room, sizeof(*at));
	if (!at)
		return;
	volumes->at = at;
	at[volumes->n++] = v;
}

void extract_pod_volumes(struct json *j, struct pod_object *out)
{
	struct pod_volumes volumes = { NULL, 0, 0 };

	out->volumes = NULL;
	if (!json_array(j))
		return;
	while (json_item(j))
		extract_volume(j, out, &volumes);
	if (volumes.n == 0)
		return;
	out->volumes = arena_alloc(j->arena, sizeof(volumes));
	if (!out->volumes)
		json_no_memory(j);
	else
		*out->volumes = volumes;
}
