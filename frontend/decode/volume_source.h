/* SPDX-License-Identifier: Apache-2.0 */
/* The volumes of a pod, and in-tree disks as their CSI drivers identify them. */
#ifndef MUSTER_FRONTEND_VOLUME_SOURCE_H
#define MUSTER_FRONTEND_VOLUME_SOURCE_H

#include "frontend/decode/object.h"

struct json;

enum volume_source {
	VOLUME_CLAIM,      /* persistentVolumeClaim: name */
	VOLUME_EPHEMERAL,  /* its claim is named POD-VOLUME: name is the volume's */
	VOLUME_GCE_DISK,   /* gcePersistentDisk: name is pdName */
	VOLUME_AWS_DISK,   /* awsElasticBlockStore: volumeID */
	VOLUME_ISCSI,      /* iqn */
	VOLUME_RBD,        /* name is the image; pool; monitors */
	VOLUME_AZURE_DISK, /* diskURI */
	VOLUME_CINDER,     /* volumeID */
};

struct volume_object {
	uint32_t source; /* enum volume_source */
	bool read_only;
	struct text name;
	struct text pool;
	struct texts monitors;
};

/* Volumes that scheduling depends on; the others are left out. */
struct pod_volumes {
	struct volume_object *at;
	size_t n;
	size_t cap;
};

struct volume_source_object {
	struct text driver; /* of CSI, also for a migrated in-tree volume; else "" */
	struct text handle;
};

/* The CSI driver that replaces an in-tree provisioner or plugin ("kubernetes.io/aws-ebs"), or
 * "". */
struct text volume_migrated(struct text plugin);

/* The CSI driver and handle of an in-tree disk; false if it has none.  The zone is part of some
 * handles. */
bool volume_disk_source(const struct volume_object *v, struct text zone, struct arena *arena,
                        struct volume_source_object *out);

/* struct volume_object: the source that is the value of the member at hand, one of these. */
void extract_volume_source(struct json *j, void *out);

#define EXTRACT_SOURCE_FIELDS(type, volume)                                                        \
	JSON_FIELD("persistentVolumeClaim", extract_volume_source, type, volume),                      \
		JSON_FIELD("ephemeral", extract_volume_source, type, volume),                              \
		JSON_FIELD("gcePersistentDisk", extract_volume_source, type, volume),                      \
		JSON_FIELD("awsElasticBlockStore", extract_volume_source, type, volume),                   \
		JSON_FIELD("iscsi", extract_volume_source, type, volume),                                  \
		JSON_FIELD("rbd", extract_volume_source, type, volume),                                    \
		JSON_FIELD("azureDisk", extract_volume_source, type, volume),                              \
		JSON_FIELD("cinder", extract_volume_source, type, volume)

#endif
