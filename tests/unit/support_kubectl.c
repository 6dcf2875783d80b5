/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/support_kubectl.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <zlib.h>

cJSON *kubectl_read(const char *path)
{
	gzFile file = gzopen(path, "rb");
	size_t room = 1 << 16, n = 0;
	char *text;
	cJSON *tree;
	int got;

	if (!file)
		return NULL;
	text = malloc(room);
	cr_assert(text);
	while ((got = gzread(file, text + n, (unsigned)(room - n))) > 0) {
		n += (size_t)got;
		if (n == room) {
			room *= 2;
			text = realloc(text, room);
			cr_assert(text);
		}
	}
	cr_assert_eq(got, 0, "%s can be read", path);
	gzclose(file);
	tree = cJSON_ParseWithLength(text, n);
	cr_assert(tree, "%s is JSON", path);
	free(text);
	return tree;
}

static size_t verdicts_in(const char *folder,
                          void (*each)(void *context, const char *cluster, const char *expect),
                          void *context)
{
	static const char ending[] = ".expect.json";
	struct dirent **names;
	int n = scandir(folder, &names, NULL, alphasort);
	size_t count = 0;

	for (int i = 0; i < n; i++) {
		char cluster[600], expect[600];
		size_t bytes = strlen(names[i]->d_name), stem = bytes - (sizeof(ending) - 1);

		if (bytes > sizeof(ending) - 1 && strcmp(names[i]->d_name + stem, ending) == 0) {
			snprintf(expect, sizeof(expect), "%s/%s", folder, names[i]->d_name);
			snprintf(cluster, sizeof(cluster), "%s/%.*s.json.gz", folder, (int)stem,
			         names[i]->d_name);
			each(context, cluster, expect);
			count++;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return count;
}

size_t kubectl_verdicts(void (*each)(void *context, const char *cluster, const char *expect),
                        void *context)
{
	const char *shared = getenv("MUSTER_SHARED");
	char folder[500];
	size_t cut, all;

	cut = verdicts_in("tests/data/verdicts", each, context);
	snprintf(folder, sizeof(folder), "%s/data/verdicts", shared ? shared : "../shared");
	all = verdicts_in(folder, each, context);
	if (all == 0)
		printf("skipped: the whole set of verdicts, there is none in %s\n", folder);
	return cut + all;
}
