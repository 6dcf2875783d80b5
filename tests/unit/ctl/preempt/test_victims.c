/* SPDX-License-Identifier: Apache-2.0 */
/* Victims of gangs against brute force: random small clusters as Lists, through the offline loader
 * and the search; each closed set of candidates and each placement is tried beside it.  Half of
 * them have an order in which pods are given back, as reclaim has.  With fewer steps than a search
 * takes, it answers the same or gives up.
 * MUSTER_CLUSTERS=N asks about N of them. */
#include "ctl/preempt/facts.h"
#include "tests/unit/support_random.h"
#include "tests/unit/test.h"

TestSuite(victims);

enum {
	CLUSTERS = 1500,
	NODES = 4,
	BOUND = 12,
	CANDIDATES = 10,
	MEMBERS = 4,
	GANGS = 3,
	BUDGETS = 2,
	NONE = -1,
};

struct bound {
	int node, cpu, gpu, gang; /* NONE: lone */
	int32_t priority;
	uint32_t start_s; /* after 2026-01-01; below 24 hours, whole hours */
	uint32_t rank;    /* of the order of giving */
	char label;       /* app=x, y or z; 0: no labels */
	char name[16];
};

struct group {
	int quorum;
	enum disruption_mode mode;
	bool says; /* by annotation; else quorum */
};

struct budget {
	char label;
	int allowed;
	int disrupted; /* index of a pod, or NONE */
};

struct member {
	int cpu, gpu;
};

struct cluster {
	int nodes, cpu[NODES], gpu[NODES], slots[NODES];
	int bound_n, gangs_n, budgets_n, members_n, quorum;
	struct bound bound[BOUND];
	struct group gangs[GANGS];
	struct budget budgets[BUDGETS];
	struct member members[MEMBERS];
	int32_t priority;
	bool apart; /* members keep apart by hostname */
	bool respect;
	bool ranked;
};

static int between(struct random *r, int least, int most)
{
	return least + (int)random_below(r, (uint32_t)(most - least + 1));
}

static int free_cpu(const struct cluster *c, int node)
{
	int left = c->cpu[node];

	for (int i = 0; i < c->bound_n; i++)
		left -= c->bound[i].node == node ? c->bound[i].cpu : 0;
	return left;
}

static int free_gpu(const struct cluster *c, int node)
{
	int left = c->gpu[node];

	for (int i = 0; i < c->bound_n; i++)
		left -= c->bound[i].node == node ? c->bound[i].gpu : 0;
	return left;
}

static void add_bound(struct random *r, struct cluster *c)
{
	static const int32_t priorities[] = { INT32_MIN, -5, 0, 1, 1, 5, 11 };
	struct bound *b = &c->bound[c->bound_n];

	*b = (struct bound){ .node = between(r, 0, c->nodes - 1),
		                 .cpu = between(r, 1, 2),
		                 .gpu = between(r, 0, 3) == 0,
		                 .gang = NONE,
		                 .priority = priorities[random_below(r, 7)],
		                 .start_s = (uint32_t)between(r, 0, 5) * 3600,
		                 .label = "xyz\0"[random_below(r, 4)] };
	if (free_cpu(c, b->node) < b->cpu || free_gpu(c, b->node) < b->gpu)
		return;
	if (c->gangs_n > 0 && between(r, 0, 1) == 0)
		b->gang = between(r, 0, c->gangs_n - 1);
	/* Members of a gang in mode `pod` have one priority. */
	for (int i = 0; i < c->bound_n && b->gang != NONE; i++)
		if (c->bound[i].gang == b->gang && c->gangs[b->gang].mode == DISRUPT_POD)
			b->priority = c->bound[i].priority;
	snprintf(b->name, sizeof(b->name), "%c%c%d", 'a' + between(r, 0, 25), 'a' + between(r, 0, 25),
	         c->bound_n);
	c->bound_n++;
}

static struct cluster cluster_random(struct random *r)
{
	struct cluster c = { .nodes = between(r, 1, NODES), .priority = 10 };
	int kinds = between(r, 1, 3);

	for (int i = 0; i < c.nodes; i++) {
		c.cpu[i] = between(r, 2, 5);
		c.gpu[i] = between(r, 0, 2);
		c.slots[i] = between(r, 0, 3) == 0 ? 4 : 110;
	}
	c.gangs_n = between(r, 0, GANGS);
	for (int i = 0; i < c.gangs_n; i++)
		c.gangs[i] = (struct group){ .quorum = between(r, 1, 3),
			                         .mode = (enum disruption_mode)between(r, 0, 2),
			                         .says = true };
	for (int i = 0; i < c.gangs_n; i++)
		c.gangs[i].says = c.gangs[i].mode != DISRUPT_QUORUM || between(r, 0, 1) == 0;
	for (int i = 0; i < 30 && c.bound_n < BOUND; i++)
		add_bound(r, &c);
	c.budgets_n = between(r, 0, BUDGETS);
	for (int i = 0; i < c.budgets_n; i++)
		c.budgets[i] = (struct budget){ .label = "xyz"[random_below(r, 3)],
			                            .allowed = between(r, 0, 2),
			                            .disrupted = between(r, -3, c.bound_n - 1) };
	c.members_n = between(r, 2, MEMBERS);
	c.quorum = between(r, kinds > 1 ? c.members_n : 1, c.members_n);
	for (int i = 0; i < c.members_n; i++)
		c.members[i] = i < kinds ? (struct member){ between(r, 1, 3), between(r, 0, 3) == 0 }
		                         : c.members[random_below(r, (uint32_t)kinds)];
	c.apart = between(r, 0, 3) == 0;
	c.respect = between(r, 0, 1) == 0;
	c.ranked = between(r, 0, 1) == 0;
	for (int i = 0; i < c.bound_n && c.ranked; i++)
		c.bound[i].rank = (uint32_t)between(r, 0, 5);
	return c;
}

static void write_nodes(FILE *f, const struct cluster *c)
{
	for (int i = 0; i < c->nodes; i++)
		fprintf(f,
		        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\","
		        "\"labels\":{\"kubernetes.io/hostname\":\"n%d\"}},\"status\":{\"allocatable\":"
		        "{\"cpu\":\"%d\",\"example.com/gpu\":\"%d\",\"pods\":\"%d\"}}},\n",
		        i, i, c->cpu[i], c->gpu[i], c->slots[i]);
}

static void write_requests(FILE *f, int cpu, int gpu)
{
	fprintf(f,
	        "\"containers\":[{\"name\":\"main\",\"image\":\"p\",\"resources\":{\"requests\":"
	        "{\"cpu\":\"%d\",\"example.com/gpu\":\"%d\"}}}]",
	        cpu, gpu);
}

static void write_bound(FILE *f, const struct bound *b)
{
	fprintf(f,
	        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
	        "\"%s\",\"labels\":{",
	        b->name);
	if (b->label)
		fprintf(f, "\"app\":\"%c\"%s", b->label, b->gang != NONE ? "," : "");
	if (b->gang != NONE)
		fprintf(f, "\"scheduling.x-k8s.io/pod-group\":\"g%d\"", b->gang);
	fprintf(f, "}},\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d,\"nodeName\":\"n%d\",",
	        b->priority, b->node);
	write_requests(f, b->cpu, b->gpu);
	fprintf(f, "},\"status\":{\"phase\":\"Running\",\"startTime\":\"2026-01-01T%02u:00:00Z\"}},\n",
	        b->start_s / 3600);
}

static void write_group(FILE *f, const char *name, int quorum, const char *mode)
{
	fprintf(f,
	        "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{"
	        "\"namespace\":\"ns\",\"name\":\"%s\"",
	        name);
	if (mode)
		fprintf(f, ",\"annotations\":{\"muster.dev/disruption-mode\":\"%s\"}", mode);
	fprintf(f, "},\"spec\":{\"minMember\":%d}},\n", quorum);
}

static void write_member(FILE *f, const struct cluster *c, int i)
{
	fprintf(f,
	        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":"
	        "\"m%d\",\"labels\":{\"job\":\"w\",\"scheduling.x-k8s.io/pod-group\":\"w\"}},"
	        "\"spec\":{\"schedulerName\":\"muster\",\"priority\":%d,",
	        i, c->priority);
	if (c->apart)
		fputs(
			"\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\""
			":[{\"topologyKey\":\"kubernetes.io/hostname\",\"labelSelector\":{\"matchLabels\":{"
			"\"job\":\"w\"}}}]}},",
			f);
	write_requests(f, c->members[i].cpu, c->members[i].gpu);
	fputs("},\"status\":{\"phase\":\"Pending\"}},\n", f);
}

static void write_budget(FILE *f, const struct cluster *c, int i)
{
	const struct budget *b = &c->budgets[i];

	fprintf(f,
	        "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{"
	        "\"namespace\":\"ns\",\"name\":\"b%d\"},\"spec\":{\"selector\":{\"matchLabels\":{"
	        "\"app\":\"%c\"}}},\"status\":{\"disruptionsAllowed\":%d",
	        i, b->label, b->allowed);
	if (b->disrupted >= 0)
		fprintf(f, ",\"disruptedPods\":{\"%s\":\"2026-01-01T00:00:00Z\"}",
		        c->bound[b->disrupted].name);
	fputs("}},\n", f);
}

static char *cluster_text(const struct cluster *c)
{
	static const char *const modes[] = { "quorum", "pod", "whole" };
	char *text = NULL, name[16];
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n", f);
	write_nodes(f, c);
	for (int i = 0; i < c->bound_n; i++)
		write_bound(f, &c->bound[i]);
	for (int i = 0; i < c->gangs_n; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		write_group(f, name, c->gangs[i].quorum, c->gangs[i].says ? modes[c->gangs[i].mode] : NULL);
	}
	for (int i = 0; i < c->budgets_n; i++)
		write_budget(f, c, i);
	for (int i = 0; i < c->members_n; i++)
		write_member(f, c, i);
	write_group(f, "w", c->quorum, NULL);
	fseek(f, -2, SEEK_CUR);
	fputs("]}\n", f);
	fclose(f);
	return text;
}

struct brute {
	const struct cluster *c;
	unsigned candidates; /* bits of bound pods */
	bool found;
	unsigned best;
	struct objective objective;
};

static int32_t unit_priority(const struct cluster *c, int pod)
{
	int32_t most = c->bound[pod].priority;
	int gang = c->bound[pod].gang;

	if (gang == NONE || c->gangs[gang].mode == DISRUPT_POD)
		return most;
	for (int i = 0; i < c->bound_n; i++)
		if (c->bound[i].gang == gang && c->bound[i].priority > most)
			most = c->bound[i].priority;
	return most;
}

static bool budget_has(const struct cluster *c, int budget, int pod)
{
	return c->bound[pod].label == c->budgets[budget].label;
}

static unsigned find_candidates(const struct cluster *c)
{
	unsigned bits = 0;

	for (int i = 0; i < c->bound_n; i++) {
		int budgets = 0;

		for (int b = 0; b < c->budgets_n; b++)
			budgets += budget_has(c, b, i);
		if (unit_priority(c, i) < c->priority && !(c->respect && budgets > 1))
			bits |= 1u << i;
	}
	return bits;
}

static void gang_counts(const struct cluster *c, int gang, unsigned set, int *all, int *gone)
{
	*all = *gone = 0;
	for (int i = 0; i < c->bound_n; i++)
		if (c->bound[i].gang == gang) {
			++*all;
			*gone += set >> i & 1;
		}
}

/* Respects modes. */
static bool is_closed(const struct cluster *c, unsigned set)
{
	for (int g = 0; g < c->gangs_n; g++) {
		const struct group *group = &c->gangs[g];
		int all, gone;

		gang_counts(c, g, set, &all, &gone);
		if (gone == 0 || gone == all || group->mode == DISRUPT_POD)
			continue;
		if (group->mode == DISRUPT_WHOLE || all - gone < group->quorum)
			return false;
	}
	return true;
}

/* Places members from `i` on, `left` of which have to be; what is left of each node is changed. */
static bool place(const struct cluster *c, int i, int left, int cpu[], int gpu[], int slots[],
                  unsigned taken)
{
	if (left == 0)
		return true;
	if (c->members_n - i < left)
		return false;
	for (int n = 0; n < c->nodes; n++) {
		const struct member *m = &c->members[i];
		bool placed;

		if (cpu[n] < m->cpu || gpu[n] < m->gpu || slots[n] < 1 || (c->apart && taken >> n & 1))
			continue;
		cpu[n] -= m->cpu, gpu[n] -= m->gpu, slots[n]--;
		placed = place(c, i + 1, left - 1, cpu, gpu, slots, taken | 1u << n);
		cpu[n] += m->cpu, gpu[n] += m->gpu, slots[n]++;
		if (placed)
			return true;
	}
	return place(c, i + 1, left, cpu, gpu, slots, taken);
}

static bool is_enough(const struct cluster *c, unsigned set)
{
	int cpu[NODES], gpu[NODES], slots[NODES];

	for (int n = 0; n < c->nodes; n++) {
		cpu[n] = c->cpu[n], gpu[n] = c->gpu[n], slots[n] = c->slots[n];
		for (int i = 0; i < c->bound_n; i++)
			if (c->bound[i].node == n && !(set >> i & 1))
				cpu[n] -= c->bound[i].cpu, gpu[n] -= c->bound[i].gpu, slots[n]--;
	}
	return place(c, 0, c->quorum, cpu, gpu, slots, 0);
}

static struct objective cost_of(const struct cluster *c, unsigned set)
{
	struct objective o = { .highest = INT32_MIN };

	for (int b = 0; b < c->budgets_n; b++) {
		int gone = 0;

		for (int i = 0; i < c->bound_n; i++)
			gone += (set >> i & 1) && budget_has(c, b, i) && c->budgets[b].disrupted != i;
		o.violations += gone > c->budgets[b].allowed ? (uint64_t)(gone - c->budgets[b].allowed) : 0;
	}
	for (int g = 0; g < c->gangs_n; g++) {
		int all, gone;

		gang_counts(c, g, set, &all, &gone);
		o.broken += all >= c->gangs[g].quorum && all - gone < c->gangs[g].quorum;
	}
	for (int i = 0; i < c->bound_n; i++) {
		if (!(set >> i & 1))
			continue;
		o.highest = unit_priority(c, i) > o.highest ? unit_priority(c, i) : o.highest;
		o.sum += (uint64_t)((int64_t)c->bound[i].priority + 2147483648);
		o.pods++;
		o.rank_sum += c->bound[i].rank;
		o.start_sum += 1767225600u + c->bound[i].start_s; /* 2026-01-01 */
	}
	return o;
}

/* The lowest name that is in one set only. */
static bool names_better(const struct cluster *c, unsigned a, unsigned b)
{
	int first = NONE;

	for (int i = 0; i < c->bound_n; i++)
		if (((a ^ b) >> i & 1) &&
		    (first == NONE || strcmp(c->bound[i].name, c->bound[first].name) < 0))
			first = i;
	return first != NONE && (a >> first & 1);
}

static bool is_better(const struct brute *q, const struct objective *o, unsigned set)
{
	const struct objective *p = &q->objective;

	if (!q->found)
		return true;
	if (o->violations != p->violations)
		return o->violations < p->violations;
	if (o->highest != p->highest)
		return o->highest < p->highest;
	if (o->broken != p->broken)
		return o->broken < p->broken;
	if (o->sum != p->sum)
		return o->sum < p->sum;
	if (o->pods != p->pods)
		return o->pods < p->pods;
	if (o->rank_sum != p->rank_sum)
		return o->rank_sum < p->rank_sum;
	if (o->start_sum != p->start_sum)
		return o->start_sum > p->start_sum;
	return names_better(q->c, set, q->best);
}

static void brute_run(struct brute *q)
{
	for (unsigned set = q->candidates; set > 0; set = (set - 1) & q->candidates) {
		const struct objective o = cost_of(q->c, set);

		if (!is_closed(q->c, set) || (q->c->respect && o.violations > 0) ||
		    !is_better(q, &o, set) || !is_enough(q->c, set))
			continue;
		q->found = true;
		q->best = set;
		q->objective = o;
	}
}

struct asked {
	struct files *files;
	struct offline *offline;
	struct facts *facts;
};

static void ask_begin(struct asked *a, const char *text, const struct facts_policy *policy)
{
	char error[1024] = "";

	a->files = files_new();
	a->offline = offline_new(&(struct offline_config){ .reads_budgets = true });
	cr_assert(files_take(a->files, "test", text, strlen(text), error, sizeof(error)), "%s\n%s",
	          error, text);
	cr_assert(offline_put_all(a->offline, a->files, error, sizeof(error)), "%s", error);
	cr_assert(offline_start(a->offline, error, sizeof(error)), "%s", error);
	a->facts = facts_new(a->offline, a->files, policy, error, sizeof(error));
	cr_assert(a->facts, "%s", error);
}

static void ask_end(struct asked *a)
{
	char why[512] = "";

	/* The search left the core as it was. */
	cr_assert(core_valid(offline_core(a->offline), why, sizeof(why)), "%s", why);
	facts_free(a->facts);
	offline_free(a->offline);
	files_free(a->files);
}

static gang_id gang_named(const struct asked *a, const char *name)
{
	const struct model *m = offline_model(a->offline);
	struct gang_view view;

	for (gang_id id = 0; id < model_gang_slots(m); id++)
		if (model_gang_generation(m, id) &&
		    model_gang(m, id, model_gang_generation(m, id), &view) && strcmp(view.name, name) == 0)
			return id;
	cr_assert_fail("no gang %s", name);
	return ID_NONE;
}

/* "ns/a ns/b" */
static const char *names_of(const struct asked *a, const pod_id *pods, uint32_t n)
{
	static char text[1024];
	size_t at = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bytes;
		const char *name = search_pod_name(offline_core(a->offline), pods[i], &bytes);

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%.*s", i > 0 ? " " : "", (int)bytes,
		                       name);
	}
	return text;
}

static bool same_victims(const struct asked *a, const struct brute *q, const struct gang_search *s)
{
	char name[32];
	uint32_t n = 0;

	for (int i = 0; i < q->c->bound_n; i++) {
		if (!(q->best >> i & 1))
			continue;
		snprintf(name, sizeof(name), "ns/%s", q->c->bound[i].name);
		if (strstr(names_of(a, s->pods, s->objective.pods), name) == NULL)
			return false;
		n++;
	}
	return n == s->objective.pods;
}

struct seen {
	unsigned asked, proved, impossible, broken, violated, ranked;
	unsigned gave_up, with_victims; /* with fewer steps */
};

/* The victims, as bits of c->bound. */
static unsigned set_of(const struct asked *a, const struct cluster *c, const struct gang_search *s)
{
	unsigned set = 0;
	char name[32];

	for (int i = 0; i < c->bound_n; i++) {
		snprintf(name, sizeof(name), "ns/%s", c->bound[i].name);
		if (strstr(names_of(a, s->pods, s->objective.pods), name) != NULL)
			set |= 1u << i;
	}
	return set;
}

/* The search for which `s` took all the steps that it wanted, with fewer: what is proved stays, and
 * what it gave up with is enough, and no better than the best. */
static void check_fewer_steps(const struct asked *a, const struct brute *q,
                              struct search_facts facts, uint64_t steps, const char *text,
                              struct seen *seen)
{
	const struct cluster *c = q->c;
	struct gang_search s;
	struct objective o;
	unsigned set;

	facts.steps_most = steps;
	cr_assert_eq(search_gang(offline_core(a->offline), &facts, gang_named(a, "w"), &s), 0);
	cr_assert(s.answer == VICTIMS_PROVED || s.answer == VICTIMS_IMPOSSIBLE ||
	              s.answer == VICTIMS_GAVE_UP,
	          "%d\n%s", s.answer, text);
	if (s.answer == VICTIMS_PROVED)
		cr_assert(same_victims(a, q, &s), "%s", text);
	if (s.answer == VICTIMS_IMPOSSIBLE)
		cr_assert(!q->found, "%s", text);
	seen->gave_up += s.answer == VICTIMS_GAVE_UP;
	if (s.answer == VICTIMS_GAVE_UP && s.found) {
		set = set_of(a, c, &s);
		o = cost_of(c, set);
		cr_assert((set & ~q->candidates) == 0 && is_closed(c, set) && is_enough(c, set), "%s",
		          text);
		cr_assert(q->found && (!c->respect || o.violations == 0), "%s", text);
		cr_assert_not(is_better(q, &o, set), "%s", text);
		seen->with_victims++;
	}
	gang_search_free(&s);
}

/* By pod, to be freed. */
static uint32_t *ranks_of(const struct asked *a, const struct cluster *c)
{
	const uint32_t pods = (uint32_t)(c->bound_n + c->members_n);
	uint32_t *ranks = calloc(pods, sizeof(*ranks));
	char name[32];

	cr_assert(ranks);
	for (pod_id id = 0; id < pods; id++)
		for (int i = 0; i < c->bound_n; i++) {
			snprintf(name, sizeof(name), "ns/%s", c->bound[i].name);
			if (strcmp(names_of(a, &id, 1), name) == 0)
				ranks[id] = c->bound[i].rank;
		}
	return ranks;
}

static void check_cluster(struct random *r, struct seen *seen)
{
	const struct cluster c = cluster_random(r);
	struct brute q = { .c = &c };
	char *text;
	struct search_facts facts;
	struct gang_search s;
	uint32_t *ranks;
	struct asked a;

	q.candidates = find_candidates(&c);
	if (__builtin_popcount(q.candidates) > CANDIDATES || is_enough(&c, 0))
		return;
	brute_run(&q);
	text = cluster_text(&c);
	ask_begin(&a, text,
	          &(struct facts_policy){ .respect = c.respect, .steps_most = UINT64_C(1) << 40 });
	facts = *facts_for(a.facts, "muster");
	ranks = ranks_of(&a, &c);
	facts.ranks = c.ranked ? ranks : NULL;
	cr_assert_eq(search_gang(offline_core(a.offline), &facts, gang_named(&a, "w"), &s), 0);
	cr_assert_eq(s.answer, q.found ? VICTIMS_PROVED : VICTIMS_IMPOSSIBLE, "%d\n%s", s.answer, text);
	seen->asked++;
	seen->impossible += !q.found;
	if (q.found) {
		cr_assert(same_victims(&a, &q, &s), "got %s\n%s", names_of(&a, s.pods, s.objective.pods),
		          text);
		cr_assert_eq(s.objective.violations, q.objective.violations, "%s", text);
		cr_assert_eq(s.objective.highest, q.objective.highest, "%s", text);
		cr_assert_eq(s.objective.broken, q.objective.broken, "%s", text);
		cr_assert_eq(s.objective.sum, q.objective.sum, "%s", text);
		cr_assert_eq(s.objective.rank_sum, q.objective.rank_sum, "%s", text);
		cr_assert_eq(s.objective.start_sum, q.objective.start_sum, "%s", text);
		seen->ranked += c.ranked;
		seen->proved++;
		seen->broken += q.objective.broken > 0;
		seen->violated += q.objective.violations > 0;
	}
	for (uint64_t steps = s.steps / 2; steps > 0; steps /= 4)
		check_fewer_steps(&a, &q, facts, steps, text, seen);
	gang_search_free(&s);
	free(ranks);
	ask_end(&a);
	free(text);
}

Test(victims, are_those_of_brute_force)
{
	struct random r = random_start("victims");
	struct seen seen = { 0 };
	const char *wanted = getenv("MUSTER_CLUSTERS");
	const unsigned clusters = wanted ? (unsigned)strtoul(wanted, NULL, 10) : CLUSTERS;

	for (unsigned i = 0; i < clusters; i++)
		check_cluster(&r, &seen);
	fprintf(stderr, "victims: %u asked, %u proved (%u break a gang, %u a budget), %u impossible\n",
	        seen.asked, seen.proved, seen.broken, seen.violated, seen.impossible);
	fprintf(stderr, "victims: with fewer steps %u given up, %u of them with victims\n",
	        seen.gave_up, seen.with_victims);
	cr_assert(seen.gave_up > clusters / 10 && seen.with_victims > 0);
	cr_assert(seen.proved > clusters / 10 && seen.impossible > 0 && seen.broken > 0 &&
	          seen.violated > 0 && seen.ranked > seen.proved / 4);
}
