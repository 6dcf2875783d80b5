/* SPDX-License-Identifier: Apache-2.0 */
/* Koordinator's annotations.  Its PodGroups are those of scheduler-plugins.
 *
 * The modes Strict and NonStrict differ in what remains reserved after a failed attempt.  muster
 * reserves nothing in either case: a gang is planned as a whole. */
#include "frontend/dialect/dialect_read.h"

#include "frontend/base/compare.h"
#include "frontend/dialect/reason.h"

#include <stdlib.h>
#include <string.h>

#define PREFIX "gang.scheduling.koordinator.sh/"
#define NAME PREFIX "name"
#define MINIMUM PREFIX "min-available"
#define WAIT_S 600 /* Koordinator's own default */

static enum mark koordinator_mark(const struct pod_object *pod, struct arena *arena,
                                  const char **name)
{
	return read_mark(read_annotation(&pod->meta.annotations, NAME, arena), name);
}

/* Go's time.Duration, with the units h, m and s alone ("600s", "1h30m"). */
static bool read_duration(const char *text, int64_t *seconds)
{
	int64_t sum = 0;

	while (*text) {
		char *end;
		long long n = strtoll(text, &end, 10);
		int64_t unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : *end == 's' ? 1 : 0;

		if (end == text || unit == 0 || n < 0 || n > INT32_MAX || strncmp(end, "ms", 2) == 0)
			return false;
		sum += n * unit;
		text = end + 1;
	}
	*seconds = sum;
	return true;
}

static void read_rest(const struct pod_object *pod, struct arena *arena, struct group_spec *out)
{
	const struct pairs *a = &pod->meta.annotations;
	const char *match = read_annotation(a, PREFIX "match-policy", arena);
	const char *wait = read_annotation(a, PREFIX "waiting-time", arena);
	const char *topology = read_annotation(a, PREFIX "network-topology-spec", arena);
	int64_t seconds = WAIT_S;

	read_gang_groups(a, pod->meta.namespace, read_annotation(a, NAME, arena), out, arena);
	if (match && strcmp(match, "only-waiting") == 0)
		read_refuse(out, arena,
		            "annotation " PREFIX
		            "match-policy: only-waiting: muster counts members that run");
	if (topology && strstr(topology, "MustGather"))
		read_refuse(out, arena,
		            "annotation " PREFIX "network-topology-spec: muster does not know "
		            "ClusterNetworkTopology; muster.dev/required-topology names labels of nodes");
	if (wait && !read_duration(wait, &seconds))
		read_refuse(out, arena, "annotation " PREFIX "waiting-time: \"%.60s\" is not a duration",
		            wait);
	out->timeout_ns = read_timeout(seconds);
}

static bool koordinator_group(const struct pod_object *pod, struct arena *arena,
                              struct group_spec *out)
{
	const char *text = read_annotation(&pod->meta.annotations, MINIMUM, arena);
	int64_t minimum = 0;

	if (!text)
		read_refuse(out, arena, "annotation " MINIMUM " is missing");
	else if (!int64_parse(text_of(text), &minimum) || minimum < 0 || minimum > INT32_MAX)
		read_refuse(out, arena, "annotation " MINIMUM ": \"%.60s\" is not a number of pods", text);
	else
		read_quorum(out, arena, MINIMUM, (int32_t)minimum);
	read_rest(pod, arena, out);
	return true;
}

extern const struct dialect dialect_koordinator;
const struct dialect dialect_koordinator = {
	.name = "koordinator",
	.texts = &texts_plain,
	.mark = "annotation " NAME,
	.pod_mark = koordinator_mark,
	.pod_group = koordinator_group,
	.quorum_mark = "annotation " MINIMUM,
};
