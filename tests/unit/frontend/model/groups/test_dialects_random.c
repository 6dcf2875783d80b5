/* SPDX-License-Identifier: Apache-2.0 */
/* Pods with marks of several dialects and group objects are put and removed at random, the ring is
 * small, cores restart; whenever all is sent, each gang equals what its objects and members
 * declare. */
#include "frontend/model/valid.h"

#include "tests/unit/support_limits.h"
#include "tests/unit/support_random.h"
#include "tests/unit/support_replay.h"
#include "tests/unit/test.h"

#define PODS 14
#define NAMES 2 /* of groups in each dialect */
#define STEPS 4000

static const struct limits LIMITS =
	LIMITS_WITH(.nodes = 4, .gangs = 32, .names = 32, .command_ring_bytes = 8192);

/* Marks of pods and objects of each dialect. */
enum kind { NEW, OLD, MAP, PAIR, VOLCANO, NATIVE, KINDS, UNMARKED = KINDS };

static const struct {
	const char *api, *kind, *dialect;
	char letter; /* names of groups begin with it; NEW and OLD share theirs */
} kinds[KINDS] = {
	[NEW] = { "scheduling.x-k8s.io/v1alpha1", "PodGroup", "scheduler-plugins", 'g' },
	[OLD] = { "scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "scheduler-plugins-old", 'g' },
	[MAP] = { "v1", "ConfigMap", "configmap", 'm' },
	[PAIR] = { NULL, NULL, "annotations", 'a' },
	[VOLCANO] = { "scheduling.volcano.sh/v1beta1", "PodGroup", "volcano", 'v' },
	[NATIVE] = { "scheduling.k8s.io/v1beta1", "PodGroup", "native", 'n' },
};

enum says { SAYS_GOOD, SAYS_BAD, SAYS_NOTHING }; /* nothing: a ConfigMap without a key */

struct object_truth {
	bool exists, levelled;
	enum says says;
	int uid, quorum;
	char json[512];
};

struct pod_truth {
	bool exists, ended;
	enum kind kind;
	int name, number, role, level, scheduler; /* -1: none; scheduler 0, 1: ours */
	char json[1024];
};

struct truth {
	struct random r;
	struct model *m;
	struct replay replay;
	int version;
	bool served; /* Volcano */
	struct pod_truth pods[PODS];
	struct object_truth objects[KINDS][NAMES];
};

static int resource_of(const struct truth *t, enum kind kind)
{
	return model_resource_index(t->m, kinds[kind].api, kinds[kind].kind);
}

static void put(struct truth *t, int resource, const char *json)
{
	struct decode_error error;
	int rc = model_put(t->m, resource, json, strlen(json), &error);

	cr_assert_eq(rc, 0, "%s: %s %s", json, error.field, error.text);
}

static void write_marks(const struct pod_truth *p, char *out, size_t cap)
{
	static const char *const labels[] = { [NEW] = "scheduling.x-k8s.io/pod-group",
		                                  [OLD] = "pod-group.scheduling.sigs.k8s.io",
		                                  [MAP] =
		                                      "pod-group.scheduling.bdap.com/podgroup-configmap" };
	int n = snprintf(out, cap, "\"labels\":{");

	if (p->kind <= MAP)
		n += snprintf(out + n, cap - (size_t)n, "\"%s\":\"%c%d\"", labels[p->kind],
		              kinds[p->kind].letter, p->name);
	n += snprintf(out + n, cap - (size_t)n, "},\"annotations\":{\"x\":\"y\"");
	if (p->kind == PAIR || p->kind == VOLCANO)
		n += snprintf(out + n, cap - (size_t)n, ",\"scheduling.k8s.io/group-name\":\"%c%d\"",
		              kinds[p->kind].letter, p->name);
	if (p->kind == PAIR)
		n += snprintf(out + n, cap - (size_t)n, ",\"scheduling.k8s.io/group-pod-num\":\"%d\"",
		              p->number);
	if (p->role >= 0)
		n += snprintf(out + n, cap - (size_t)n, ",\"volcano.sh/task-spec\":\"r%d\"", p->role);
	if (p->level >= 0)
		n += snprintf(out + n, cap - (size_t)n, ",\"muster.dev/required-topology\":\"k%d\"",
		              p->level);
	snprintf(out + n, cap - (size_t)n, "}");
}

static void change_pod(struct truth *t, int i)
{
	static const char *const schedulers[] = { "muster", "second", "other" };
	struct pod_truth *p = &t->pods[i];
	char marks[512], group[64] = "";

	if (!p->exists || p->ended)
		p->scheduler = (int)random_below(&t->r, 8) < 5 ? 0 : 1 + (int)random_below(&t->r, 2);
	p->exists = true;
	p->ended = random_below(&t->r, 10) == 0;
	if (random_below(&t->r, 3) == 0) {
		p->kind = (enum kind)random_below(&t->r, KINDS + 1);
		p->name = (int)random_below(&t->r, NAMES);
	}
	p->number = random_below(&t->r, 6) ? 2 : 3;
	p->role = (int)random_below(&t->r, 3) - 1;
	p->level = random_below(&t->r, 4) ? -1 : (int)random_below(&t->r, 2);
	write_marks(p, marks, sizeof(marks));
	if (p->kind == NATIVE)
		snprintf(group, sizeof(group), ",\"schedulingGroup\":{\"podGroupName\":\"n%d\"}", p->name);
	snprintf(
		p->json, sizeof(p->json),
		"{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\",\"uid\":\"u%d\",\"resourceVersion\":\"%d\",%s},"
		"\"spec\":{\"schedulerName\":\"%s\"%s},\"status\":{\"phase\":\"%s\"}}",
		i, i, ++t->version, marks, schedulers[p->scheduler], group,
		p->ended ? "Failed" : "Pending");
	put(t, RESOURCE_INDEX_PODS, p->json);
}

static void write_object(struct truth *t, enum kind kind, int name, struct object_truth *o)
{
	char said[160];

	if (kind == MAP)
		snprintf(said, sizeof(said), "\"data\":{\"%s\":\"%d%s\"}",
		         o->says == SAYS_NOTHING ? "other" : "minAvailable", o->quorum,
		         o->says == SAYS_BAD ? "x" : "");
	else if (kind == NATIVE)
		snprintf(said, sizeof(said), "\"spec\":{\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}}",
		         o->says == SAYS_BAD ? -1 : o->quorum);
	else
		snprintf(said, sizeof(said), "\"spec\":{\"minMember\":%d%s}",
		         o->says == SAYS_BAD ? -1 : o->quorum,
		         kind == VOLCANO ? ",\"minTaskMember\":{\"r0\":1}" : "");
	snprintf(
		o->json, sizeof(o->json),
		"{\"metadata\":{\"name\":\"%c%d\",\"namespace\":\"ns\",\"uid\":\"o%d\",\"resourceVersion\":\"%d\"%s},%s}",
		kinds[kind].letter, name, o->uid, ++t->version,
		o->levelled ? ",\"annotations\":{\"muster.dev/preferred-topology\":\"own\"}" : "", said);
}

static void change_object(struct truth *t, enum kind kind, int name)
{
	struct object_truth *o = &t->objects[kind][name];

	if (!kinds[kind].api)
		return;
	if (!o->exists || random_below(&t->r, 8) == 0)
		o->uid++;
	o->exists = true;
	o->says = random_below(&t->r, 4)                  ? SAYS_GOOD
	          : kind == MAP && random_below(&t->r, 2) ? SAYS_NOTHING
	                                                  : SAYS_BAD;
	o->quorum = 1 + (int)random_below(&t->r, 4);
	o->levelled = random_below(&t->r, 4) == 0;
	write_object(t, kind, name, o);
	put(t, resource_of(t, kind), o->json);
	t->served |= kind == VOLCANO;
}

static void delete (struct truth *t, int resource, const char *json)
{
	cr_assert_eq(model_remove(t->m, resource, json, strlen(json), NULL), 0);
}

static void replace_objects(struct truth *t, enum kind kind)
{
	if (!kinds[kind].api)
		return;
	model_replace_begin(t->m, resource_of(t, kind));
	for (int name = 0; name < NAMES; name++) {
		struct object_truth *o = &t->objects[kind][name];

		if (random_below(&t->r, 3) == 0)
			o->exists = false;
		else if (o->exists)
			put(t, resource_of(t, kind), o->json);
	}
	model_replace_end(t->m, resource_of(t, kind));
	t->served |= kind == VOLCANO && (t->objects[kind][0].exists || t->objects[kind][1].exists);
}

static void step(struct truth *t)
{
	enum kind kind = (enum kind)random_below(&t->r, KINDS);
	int name = (int)random_below(&t->r, NAMES), i = (int)random_below(&t->r, PODS);

	switch (random_below(&t->r, 12)) {
	case 0:
		if (t->pods[i].exists)
			delete (t, RESOURCE_INDEX_PODS, t->pods[i].json);
		t->pods[i].exists = false;
		break;
	case 1:
		if (t->objects[kind][name].exists)
			delete (t, resource_of(t, kind), t->objects[kind][name].json);
		t->objects[kind][name].exists = false;
		break;
	case 2:
	case 3:
	case 4:
		change_object(t, kind, name);
		break;
	case 5:
		replace_objects(t, kind);
		break;
	case 6:
		if (random_below(&t->r, 4))
			break;
		t->served = !t->served;
		model_resource_served(t->m, resource_of(t, VOLCANO), t->served);
		break;
	default:
		change_pod(t, i);
	}
}

static bool is_member(const struct pod_truth *p, enum kind kind, int name)
{
	return p->exists && !p->ended && p->scheduler < 2 && p->kind == kind && p->name == name;
}

/* The specs that members declare, computed the slow way. */
struct said {
	int members, quorum, level; /* -1: nothing */
	bool differ;
};

static void listen(struct said *s, int *has, int more)
{
	s->differ |= *has >= 0 && more >= 0 && *has != more;
	if (more >= 0)
		*has = more;
}

static struct said said_of(const struct truth *t, enum kind kind, int name)
{
	struct said s = { .quorum = -1, .level = -1 };
	int scheduler = -1;
	bool silent = false;

	for (int i = 0; i < PODS; i++) {
		const struct pod_truth *p = &t->pods[i];
		bool is_foreign =
			p->exists && !p->ended && p->scheduler == 2 && p->kind == kind && p->name == name;

		if (kind == NATIVE && is_foreign)
			listen(&s, &scheduler, 2);
		if (!is_member(p, kind, name))
			continue;
		s.members++;
		listen(&s, &s.level, p->level);
		silent |= p->level < 0;
		if (kind == PAIR)
			listen(&s, &s.quorum, p->number);
		if (kind == NATIVE)
			listen(&s, &scheduler, p->scheduler);
	}
	/* A spec that is declared in part conflicts with one that has the other parts. */
	if ((kind == PAIR || kind == NATIVE) && s.level >= 0 && silent)
		s.differ = true;
	return s;
}

static const struct object_truth *object_of(const struct truth *t, enum kind kind, int name)
{
	return kinds[kind].api && t->objects[kind][name].exists ? &t->objects[kind][name] : NULL;
}

static const char *level_of(const struct truth *t, const struct event_gang *e, uint32_t i)
{
	return intern_text(&t->m->keys, replay_gang_levels(e)[i].topology);
}

static void same_levels(const struct truth *t, const struct event_gang *e,
                        const struct object_truth *o, const struct said *s)
{
	char text[8];

	if (o && o->levelled) {
		cr_assert_eq(e->levels_n, 1);
		cr_assert_str_eq(level_of(t, e, 0), "own");
		cr_assert_eq(replay_gang_levels(e)[0].flags, 0);
	} else if (!s->differ) {
		cr_assert_eq(e->levels_n, s->level >= 0);
		snprintf(text, sizeof(text), "k%d", s->level);
		cr_assert(s->level < 0 || strcmp(level_of(t, e, 0), text) == 0);
	}
}

/* A group of one dialect, or of the two dialects that share groups. */
static void same_gang(const struct truth *t, enum kind kind, int name)
{
	struct said s = said_of(t, kind, name), older = { .level = -1, .quorum = -1 };
	const struct object_truth *o = object_of(t, kind, name), *other = NULL;
	enum kind used = kind;
	const struct event_gang *e;
	bool is_there, refused;
	char full[16];

	if (kind == NEW) {
		older = said_of(t, OLD, name);
		other = object_of(t, OLD, name);
		if ((s.members == 0 && older.members > 0 && (other || !o)) || (!o && other)) {
			used = OLD;
			o = other;
		}
		s.differ |= older.differ;
		listen(&s, &s.level, older.level);
		s.members += older.members;
		if (!o && !other)
			used = said_of(t, NEW, name).members > 0 || older.members == 0 ? NEW : OLD;
	}
	snprintf(full, sizeof(full), "ns/%c%d", kinds[kind].letter, name);
	e = replay_gang(&t->replay, full);
	if (kind == VOLCANO && !t->served)
		return;
	is_there = s.members > 0 || (o && o->says != SAYS_NOTHING) || other;
	cr_assert_eq(e != NULL, is_there, "%s", full);
	if (!e)
		return;
	cr_assert_str_eq(dialects[e->dialect]->name, kinds[used].dialect, "%s", full);
	if (kind != PAIR && !o) {
		cr_assert_eq(e->flags, GANG_OBJECT_MISSING, "%s", full);
		return;
	}
	refused = (o && o->says != SAYS_GOOD) ||
	          (s.differ && s.members > 0 && (kind == NATIVE || !(o && o->levelled)));
	cr_assert_eq(e->flags & GANG_REFUSED, refused ? GANG_REFUSED : 0u, "%s", full);
	if (refused)
		return;
	cr_assert_eq(e->flags, kind == MAP ? GANG_AFTER_OTHERS : 0u);
	cr_assert_eq(e->quorum, (uint32_t)(kind == PAIR ? s.quorum : o->quorum));
	cr_assert_eq(e->roles_n, kind == VOLCANO);
	same_levels(t, e, o, &s);
}

static void same_pod(const struct truth *t, int i)
{
	const struct pod_truth *p = &t->pods[i];
	bool is_known = p->exists && !p->ended && p->scheduler < 2;
	const struct event_pod *e;
	const struct event_gang *g;
	char name[16];

	snprintf(name, sizeof(name), "ns/p%d", i);
	e = replay_pod(&t->replay, name);
	cr_assert_eq(e != NULL, is_known);
	if (!e)
		return;
	if (p->kind == UNMARKED || (p->kind == VOLCANO && !t->served)) {
		cr_assert_eq(e->gang, ID_NONE);
		cr_assert_eq(e->role, ID_NONE);
		return;
	}
	snprintf(name, sizeof(name), "ns/%c%d", kinds[p->kind].letter, p->name);
	g = replay_gang(&t->replay, name);
	cr_assert(g && e->gang == g->gang, "%s", name);
	snprintf(name, sizeof(name), "r%d", p->role);
	if (p->kind == VOLCANO && p->role >= 0)
		cr_assert_str_eq(intern_text(&t->m->values, e->role), name);
	else
		cr_assert_eq(e->role, ID_NONE);
}

static void same(const struct truth *t)
{
	for (int i = 0; i < PODS; i++)
		same_pod(t, i);
	for (int name = 0; name < NAMES; name++)
		for (int kind = 0; kind < KINDS; kind++)
			if (kind != OLD)
				same_gang(t, (enum kind)kind, name);
}

Test(model_dialects_random, each_gang_equals_its_objects_and_members)
{
	static const char *const names[] = { "muster", "second" };
	struct model_config config = {
		.scheduler_names = names, .scheduler_names_n = 2, .limits = LIMITS, .hash_key = { 1, 2 }
	};
	struct truth t = { .r = random_start("model dialects") };
	char why[200];

	t.m = model_new(&config);
	cr_assert(t.m);
	replay_start(&t.replay, &LIMITS);
	for (int i = 0; i < STEPS; i++) {
		step(&t);
		cr_assert(model_valid(t.m, why, sizeof(why)), "step %d: %s", i, why);
		if (random_below(&t.r, 60) == 0) {
			model_restart(t.m);
			replay_forget(&t.replay);
		}
		if (replay_flush(&t.replay, t.m, random_below(&t.r, 12)))
			same(&t);
	}
	cr_assert(replay_flush(&t.replay, t.m, SIZE_MAX));
	same(&t);
	model_free(t.m);
	replay_free(&t.replay);
}
