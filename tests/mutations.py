# SPDX-License-Identifier: Apache-2.0
"""Deliberate bugs, each with the part of the suite that has to find it; tests/mutate.py applies them one at a time.

A bug is edits of exact text.  Every check in core/shm/records.c, and every check of a record against the core's state, is
removed in turn; these are read from the source itself."""
import collections
import re

Bug = collections.namedtuple("Bug", "group name edits finder")
Finder = collections.namedtuple("Finder", "kind name limit arguments pattern")


# ---- finders: kind, name, seconds -----------------------------------------------------------

def fuzzer(name, seconds=120):
    return Finder("fuzzer", name, seconds, ("--seconds", str(seconds)), "")


def sim(seeds):
    return Finder("simulator", "muster-sim", 300, ("--no-shrink", "--seeds", str(seeds)), "seed")


def unit(name):
    return Finder("unit test", name, 100, (), "Unexpected|Assertion|ERROR|runtime error")


def story(name):
    """FILE:NAME of tests/stories."""
    return Finder("unit test", "core/test_stories", 100, (name,), r"\.story:\d+|ERROR")


def race(name, *arguments):
    return Finder("stress under TSan", name, 60, arguments, "ThreadSanitizer: data race")


def stress(name, pattern, *arguments):
    return Finder("stress", name, 60, arguments, pattern)


def model(name):
    return Finder("model", name, 100, (), r"errors: [1-9]")


# ---- bugs one by one --------------------------------------------------------------------------------

def bug(name, finder, *edits):
    return Bug("", name, edits, finder)


KEEPER, KEEPER_MAKE, LOOKOUT = "core/world/keeper.c", "core/world/keeper_make.c", "core/world/lookout.c"
BUDGETS, FACTS = "frontend/model/pods/budgets.c", "frontend/model/pods/facts.c"
SOFT, SOFT_SCORE = "core/index/soft.c", "core/index/soft_score.c"
RETAIN, RELEASE, EVENT = "core/lifecycle/retain.c", "core/lifecycle/members_release.c", "core/lifecycle/members_event.c"
RESERVATION = "core/lifecycle/reservation.h"
BINDING, STREAM, LIST = "frontend/bind/binding.c", "frontend/watch/watch_stream.c", "frontend/watch/watch_list.c"
PREBIND, HOLD, ADMIT = "frontend/bind/prebind.c", "frontend/bind/prebind_hold.c", "frontend/bind/prebind_admit.c"
WRITE, WAIT = "frontend/bind/volume_write.c", "frontend/volume/volume_wait.c"
GROUP, JOURNAL = "frontend/bind/group_recheck.c", "frontend/journal/journal.c"
GRANTS = "frontend/serve/grants.c"
CEL_EVAL, CEL_REGEX = "frontend/cel/eval.c", "frontend/cel/regex.c"
SWEEP = "frontend/report/report_sweep.c"
RATE = "frontend/report/report_rate.c"
INITIAL = "frontend/watch/watch_initial.c"
SHARE_TURN = "core/share/share_turn.c"
CHOICE = "core/devices/choice.c"
SHARES = "core/devices/shares.c"
PACK_BOUNDS, PACK_FILL = "core/pack/pack_bounds.c", "core/pack/pack_fill.c"
MARKS = "core/world/reclaim_marks.c"
SEARCH_BRANCH, SEARCH_COUNTS, SEARCH_SHARE = "core/search/gang_branch.c", "core/search/counts_impl.h", "core/search/gang_share.c"

# Where a binding is queued, and where it is sent: each alone keeps the order.
SENT_EARLY = (("frontend/bind/binder.c", "\tif (b->intent && !intent_is_durable(w->config.journal, b->intent))", "\tif (false)"),
              (BINDING, "\tif (!intent_permits(b))\n\t\treturn;\n", ""))

BUGS = [
    bug("keeper: pods where their records have them", unit("core/world/test_keeper"),
        (KEEPER_MAKE, "\te->node = p ? p->node : ID_NONE;\n", "\te->node = e->flags & POD_BINDING ? ID_NONE : e->node;\n")),
    bug("keeper: bindings in flight count as bound", unit("core/world/test_keeper"),
        (KEEPER_MAKE, "\t\te->flags |= POD_BINDING;\n", "\t\te->flags |= 0;\n")),
    bug("keeper: dropped records stay", unit("core/world/test_keeper"),
        (KEEPER, "\tcase EVENT_POD_DROP:\n\t\tpod_drop(k, id);\n", "\tcase EVENT_POD_DROP:\n")),
    bug("keeper: pods lose their labels", unit("core/world/test_lookout"),
        (KEEPER_MAKE, "\t\t                        .labels_n = labels->n,\n", "")),
    bug("keeper: asked late it keeps the rest", unit("core/world/test_keeper"),
        (KEEPER, "\tif (k->begun)\n\t\tk->on =", "\tif (true)\n\t\tk->on =")),
    bug("keeper: facts of the slot's former pod", unit("core/world/test_lookout"),
        (KEEPER_MAKE, "\tif (f->generation != pod.body->generation)\n\t\tf = &unknown.sent;\n", "")),
    bug("facts: each record begins the grace again", unit("core/lifecycle/test_facts"),
        ("core/lifecycle/facts.c", "\tif (facts_gone_ns(f, sent->generation) == 0)\n", "")),
    bug("facts: a grace of years counts whole", unit("core/lifecycle/test_facts"),
        ("core/lifecycle/facts.c", "#define GRACE_MOST_S 3600u", "#define GRACE_MOST_S UINT32_MAX")),
    bug("facts: the end is that of the API server's clock", unit("core/world/test_nominations_ends"),
        ("core/lifecycle/facts.c", "return f->deleting_ns + f->sent.grace_s * NS_PER_S;", "return f->sent.ends_s * NS_PER_S;")),
    bug("keeper: budgets of other labels match", unit("core/world/test_lookout"),
        (KEEPER_MAKE, "\t\tif (!requirement_holds(b, &b->clauses[i], pod))\n\t\t\treturn false;\n", "")),
    bug("keeper: NotIn is In", unit("core/world/test_lookout"), (KEEPER_MAKE, "\t\treturn !in;\n", "\t\treturn in;\n")),
    bug("keeper: a prefix of a disrupted pod's name", unit("core/world/test_lookout"),
        (KEEPER_MAKE, "if (n == bytes && memcmp(at, name, n) == 0)", "if (memcmp(at, name, n < bytes ? n : bytes) == 0)")),
    bug("keeper: no gang opts out", unit("core/world/test_lookout"),
        (KEEPER_MAKE, "out->spared || (g->disruption & GANG_DISRUPT_NEVER)", "out->spared")),
    bug("lookout: searches without a change", unit("core/world/test_lookout"),
        (LOOKOUT, "t->searched != changes && now_ns", "now_ns")),
    bug("lookout: no backoff", unit("core/world/test_lookout"),
        (LOOKOUT, "\tif (!futile || t->wait_ns == 0)", "\tif (true)")),
    bug("lookout: a backoff without end", unit("core/world/test_lookout"),
        (LOOKOUT, "t->wait_ns < WAIT_MOST_NS / 2 ? 2 * t->wait_ns : WAIT_MOST_NS", "2 * t->wait_ns")),
    bug("lookout: the least important gangs", unit("core/world/test_lookout"),
        (LOOKOUT, "return a->priority > b->priority;", "return a->priority < b->priority;")),
    bug("lookout: the world waits for a search", unit("core/world/test_lookout"),
        (LOOKOUT, "follower_waiting(l->config.follower) > l->config.feed_bytes / 2 ||", "")),
    bug("lookout: rows of gangs that started stay", unit("core/world/test_lookout"),
        (LOOKOUT, "\t\tif (!l->targets[i].waits)\n\t\t\ttarget_release(l, i);", "\t\tif (false)\n\t\t\ttarget_release(l, i);")),
    bug("model: facts are not sent again to a new core", unit("frontend/model/pods/test_facts"),
        ("frontend/model/flush/flush_pods.c", "\t\t\tif (s->sent == 0)\n\t\t\t\tfacts_mark(m, pod);\n", "")),
    bug("model: a start alone is not sent", unit("frontend/model/pods/test_facts"),
        (FACTS, "p->start_s == start_s && p->facts == flags", "p->facts == flags")),
    bug("model: DaemonSets are no exception", unit("core/world/test_lookout"),
        ("frontend/decode/extract_eviction.c", 'text_is(owner->kind, "DaemonSet")', "false")),
    bug("model: a budget without a selector matches all", unit("frontend/model/pods/test_facts"),
        (BUDGETS, "!b->entry.stamp || b->matches_none ?", "!b->entry.stamp ?")),
    bug("model: a selector too long matches what it says", unit("frontend/model/pods/test_facts"),
        (BUDGETS, "e->allowed = o && (rules_n == 0 || e->rules) ? o->allowed : 0;", "e->allowed = o ? o->allowed : 0;")),
    bug("model: succeeded members of an earlier run count", unit("frontend/model/groups/test_gangs"),
        ("frontend/model/groups/group_pods.c", "return g->whole && (g->bound > 0 ||", "return g->whole && (true ||")),
    bug("cel: an error decides an && though a later term is false", unit("frontend/cel/test_cel"),
        (CEL_EVAL, "\tif (v.kind == CEL_BOOL && v.b == i->flag) {\n\t\t*before = v;", "\tif (before->kind != CEL_ERROR && v.kind == CEL_BOOL && v.b == i->flag) {\n\t\t*before = v;")),
    bug("cel: cel.bind() does not see that its value was computed for another item", unit("frontend/cel/test_cel"),
        (CEL_EVAL, "\t\tp->set[i->a] = false;", "\t\tif (m->calls > 0)\n\t\t\tp->set[i->a] = false;")),
    bug("cel: steps are not counted", unit("frontend/cel/test_cel"),
        (CEL_EVAL, "if (++p->scratch.steps > CEL_STEPS)", "if (++p->scratch.steps > UINT64_MAX - 1)"),
        ("frontend/cel/value.c", "\tif (s->steps > CEL_STEPS)", "\tif (s->steps > UINT64_MAX - 1)")),
    bug("regex: a later alternative is preferred", unit("frontend/cel/test_cel"),
        (CEL_REGEX, "at = split(c, true, compile", "at = split(c, false, compile")),
    bug("devices: distinctAttribute keeps the value of a device that is given back", unit("core/devices/test_choice"),
        (CHOICE, "\tif (c->distinct)\n\t\tstate->distinct[p->request] = 0;\n", "")),
    bug("devices: what a rejected device draws from its counters stays drawn", unit("core/devices/test_choice"),
        (CHOICE, "s->drawn[s->node->uses[i].counter] -= s->node->uses[i].amount;", ";")),
    bug("devices: an error on a device in use fails the attempt", unit("core/devices/test_choice"),
        (CHOICE, "\t\tif (!is_free(s, p, device))\n\t\t\tcontinue;\n", "")),
    bug("shares: what lies on GPUs too small for the next task counts as usable", unit("core/devices/test_shares"),
        (SHARES, "return enough >= a->gpus ? too_small : all;", "return enough >= a->gpus ? 0 : all;")),
    bug("shares: a node is filled by GPUs alone, without CPU", unit("core/devices/test_shares"),
        (SHARES, "return by_cpu < room ? by_cpu : room;", "return room;")),
    bug("shares: a share goes to the first GPU with room", unit("core/devices/test_shares"),
        (SHARES, "if (score > best) {", "if (best < 0 && score > best) {")),
    bug("shares: rare tasks are typical", unit("core/devices/test_shares"),
        (SHARES, "#define TYPICAL_PERCENT 95", "#define TYPICAL_PERCENT 100")),
    bug("a pod is tried for ever with a claim of others whose device another has", unit("frontend/devices/test_live"),
        ("frontend/devices/live_conflicts.c", "\tif (!text)\n\t\treturn NULL;", "\tif (l)\n\t\treturn NULL;")),
    bug("a pod whose claim's device is no longer another's is not judged again", unit("frontend/devices/test_live"),
        ("frontend/devices/live_conflicts.c", "\t\t\tlive_pod_note(l, pod);", "\t\t\t(void)l;")),
    bug("a pod that reserves a claim takes it from those that run with it", sim(1000),
        ("frontend/bind/claim_write.c", "const char *others = v->consumers;", "const char *others = v->consumers + strlen(v->consumers);"),
        ("frontend/bind/claim_write.c", "#include <time.h>", "#include <string.h>\n#include <time.h>")),
    bug("devices in claims of other schedulers are free", sim(1000),
        ("frontend/devices/live.c", "if (jsontree_true(jsontree_get(result, \"adminAccess\")))\n\t\t\tcontinue;",
         "if (jsontree_true(jsontree_get(result, \"adminAccess\")) || !c->finalizer)\n\t\t\tcontinue;")),
    bug("devices that failed are avoided for ever", sim(100),
        ("frontend/devices/conditions.c", "l->avoids[0].until_ns <= now_ns", "l->avoids[0].until_ns <= now_ns / 1000")),
    bug("gpus: the first pods with claims are not in the mix", unit("core/filter/test_gpus"),
        ("core/filter/gpus.c", "\tg->due = true;\n}", "}")),
    bug("gpus: a mix outlives its questions", unit("core/filter/test_gpus"),
        ("core/step/devices.c", "\tgpus_forget(&c->pod_counts);\n", "")),
    bug("gpus: pods that had claims count as pods without GPUs", unit("core/filter/test_gpus"),
        ("core/filter/gpus.c", "tasks[tasks_n].count = waiting[id];", ";")),
    bug("devices: one that a pod has on a node is free on others", unit("core/devices/test_inventory_common"),
        ("core/devices/inventory_common.c", "return device_in(c->taken, common) || c->held[common] > 0;", "return device_in(c->taken, common);")),
    bug("devices: each node has a device of several once more", unit("core/devices/test_inventory_common"),
        ("core/devices/inventory_supply.c", "\tif (device_in(s->seen, common))\n\t\treturn true;\n", "")),
    bug("devices: the room of a node stays while others take what it lists", unit("core/devices/test_inventory_common"),
        ("core/devices/inventory_impl.h", "n->listed ? n->version + v->commons->version : n->version", "v ? n->version : 0")),
    bug("devices: of several nodes are taken in the order of the best nodes alone", unit("core/step/test_common_devices"),
        ("core/plan/plan_rules.c", "\tif (pod_counts_commons(cs, class_shape(cs, class)))\n\t\treturn true;\n", "")),
    bug("devices: a copy takes rooms that were counted before for current", unit("core/devices/test_inventory_common"),
        ("core/devices/inventory_common.c", "\tto->version = c->version;\n", "")),
    bug("devices: what comes to be of several nodes is counted node by node", unit("core/step/test_common_devices"),
        ("core/step/devices.c", "\t\tc->pod_counts.rules_version++;", "\t\t(void)c;")),
    bug("devices: of several nodes that are taken are told of by no record", unit("frontend/devices/test_several"),
        ("frontend/devices/live_several.c", "\tdue_set(l, common, true);", "\t(void)l, (void)common;")),
    bug("devices: labels of nodes that change leave the lists as they were", unit("frontend/devices/test_several"),
        ("frontend/devices/live_several.c", "\tlive_node_relay(l, number);\n}", "}")),
    bug("gpus: shares have the room of their richest capacity", unit("core/devices/test_inventory_shares"),
        ("core/devices/inventory_shares.c", "if (part < left[c->device])", "if (part > left[c->device])")),
    bug("queues: the share is that with the gang", unit("core/share/test_share"),
        (SHARE_TURN, "share_over(s, queue, r, 0) : 0;", "share_over(s, queue, r, ask->wants[i].value) : 0;")),
    bug("queues: the share is over all resources", unit("core/share/test_share"),
        (SHARE_TURN, "\tfor (uint32_t i = 0; i < ask->n; i++) {\n\t\tconst uint32_t r = ask->wants[i].resource;\n\t\tconst share_t",
         "\tfor (uint32_t i = 0; i < s->set->resources; i++) {\n\t\tconst uint32_t r = i;\n\t\tconst share_t")),
    bug("queues: the turn is that of the share with the gang", unit("core/share/test_share"),
        (SHARE_TURN, "want->resource, promised);", "want->resource, promised + want->value);")),
    bug("queues: what is promised is no part of the order", unit("core/share/test_share"),
        (SHARE_TURN, "\t\tpromised = s->promised[share_at(s, queue, want->resource)];", "\t\tpromised = 0;")),
    bug("queues: what is promised counts in the leaf alone", unit("core/share/test_share"),
        ("core/share/share.c", "\t\ts->promised[share_at(s, q, r)] += value;", "\t\ts->promised[share_at(s, q, r)] += q == queue ? value : 0;")),
    bug("queues: promises don't count in the core", story("queues:a_promise_counts_in_the_order_of_queues"),
        ("core/cycle/turn_promised.c", "\tif (is_current(c))\n", "\tif (is_current(c) || t->promised_n == 0)\n")),
    bug("queues: a gang whose promise is due waits for its turn", story("queues:who_is_first_by_share_is_promised_the_start_after_one_that_was_due"),
        ("core/cycle/turns.c", "\tif (index == ID_NONE && c->promises.timeline)\n", "\tif (index == ID_NONE && false)\n")),
    bug("queues: limits above the leaf are not asked", unit("core/share/test_share"),
        (SHARE_TURN, "\t\tif (q == 0)\n\t\t\tbreak;\n\t}\n\tfor", "\t\tbreak;\n\t}\n\tfor")),
    bug("queues: a reserved part is lent", unit("core/share/test_share"),
        (SHARE_TURN, "used + below > cap", "used > cap")),
    bug("queues: what rounding leaves goes to nobody", unit("core/share/test_share"),
        ("core/share/share.c", "i < n && left > 0; i++, left--)", "i < n && left < 0; i++, left--)")),
    bug("history: a question changes it", unit("core/share/test_history"),
        ("core/share/share.c", "if (s->history && !supposed)", "if (s->history)")),
    bug("history: a change counts from its minute on", unit("core/share/test_history"),
        ("core/share/share.c", "\t\tif (s->history && !supposed)\n\t\t\thistory_bring_up(s, q);\n", "")),
    bug("history: queues that rest keep theirs", unit("core/share/test_history"),
        ("core/share/history.c", "\t\tbring_all_up(s);\n", "\t\th->all_s = now_s;\n")),
    bug("history: a leaf's alone counts", unit("core/share/test_history"),
        ("core/share/history.c", "\tif (h->since_s[q] >= h->now_s)", "\tif (h->since_s[q] >= h->now_s || !s->queues[q].leaf)")),
    bug("history: a broken ConfigMap counts as far as it can be read", unit("frontend/queues/test_past"),
        ("frontend/queues/past.c", "\tif (good)\n\t\treturn r.past;", "\tif (good || r.past->n > 0)\n\t\treturn r.past;")),
    bug("history: one of long ago counts", unit("frontend/queues/test_past"),
        ("frontend/queues/past_store.c", "\tif (age > 2 * (uint64_t)s->config.half_life_s) {", "\tif (false) {")),
    bug("history: a write is not conditional", unit("frontend/queues/test_past"),
        ("frontend/api/configmap.c", "\tif (create)\n", "\tif (c->name)\n")),
    bug("history: what can't be read keeps everything waiting", unit("frontend/loop/test_past"),
        ("frontend/queues/past_store.c", "\tif (!s->read && now >=", "\tif (false && now >=")),
    bug("history: the core plans before it was read", unit("frontend/loop/test_past"),
        ("frontend/loop/frontend.c", "|| past_ready(f); /*", "|| past_ready(f) || true; /*")),
    bug("history: a new core begins with none", unit("frontend/model/groups/test_queues"),
        ("frontend/model/groups/queues.c", "\tq->terms_due = q->terms.factor > 0;\n\tpast_begin(q);", "\tq->terms_due = q->terms.factor > 0;")),
    bug("history: rows of a core that has not got it replace it", unit("frontend/loop/test_past"),
        ("frontend/loop/past.c", "\t\tf->past_known_ns = now + ROWS_NS;", "\t\tf->past_known_ns = now;")),
    bug("history: an edit of the queues forgets it", unit("core/test_stories"),
        ("core/cycle/queues.c", "if (was && strcmp(was, s->defs[q].name) == 0)", "if (was && strcmp(was, s->defs[q].name) != 0)")),
    bug("queues: members beyond the quorum go with it", unit("ctl/offline/test_queues"),
        ("core/cycle/turns.c", "\tif (c->queue.active.n > 0)\n\t\treturn false;\n", "")),
    bug("queues: fifo lets others pass", unit("ctl/offline/test_queues"),
        ("core/cycle/turns.c", "blocker_set(c, leaf, index);", "blocker_set(c, leaf, ID_NONE);")),
    bug("queues: who is no longer behind the first is not asked", story("queues:a_fifo_queue_whose_first_gang_is_another_now"),
        ("core/cycle/turns.c", "\t\t\tnodes_note_freed(&c->nodes); /* for gangs that are no", "\t\t\t(void)c; /* for gangs that are no")),
    bug("queues: pods that others placed don't count", unit("ctl/offline/test_queues"),
        ("core/lifecycle/reservation.c", "\t\tqueued_enter(c, pods_id(&c->pods, p));", "\t\t(void)c;")),
    bug("backfill doesn't regard promises", unit("bench/trace/test_play"),
        ("core/timeline/promises.c", "\treturn !some_bind(t, ask) || picture_some_hold(t, &p);", "\treturn true || picture_some_hold(t, &p);"),
        ("core/timeline/promises.c", "\treturn profile_suffices(t, ask, ask_end(t, ask, now_ns));",
         "\treturn profile_suffices(t, ask, time_add(now_ns, 1));")),
    bug("a promise is tried with the others taken away", unit("bench/trace/test_play"),
        ("core/timeline/moves.c", "\t\t.rank = promise_binding(t, ask_rank(ask)), .without = without,", "\t\t.rank = INT64_MAX, .without = without,")),
    bug("an early end moves no promise", unit("bench/trace/test_play"),
        ("core/timeline/moves.c", "\tif (t->changed)\n\t\timprove_all(t, now_ns);\n", "")),
    bug("promises that move earlier leave others in their room", story("promises:a_promise_that_moves_earlier_outranks_a_lower_one"),
        ("core/timeline/moves.c", "\tif (outranks_n > 0)", "\tif (false)")),
    bug("a gang is cut in two while its Bindings are in flight", sim(4000),
        ("core/cycle/victims_allowed.c", "return g->counts[MEMBER_BINDING] == 0;", "return true;")),
    bug("a promise outlives a shape that it asks for", sim(800),
        ("core/timeline/timeline_impl.h", "return !p->nominated && !p->stale;", "return !p->nominated;")),
    bug("a pod that is deleted is thought to begin again", story("promises:a_pod_that_ends_or_is_relabelled_ends_no_later"),
        ("core/lifecycle/members_event.c", "\tif (stays)\n\t\ttimeline_pod_goes_on", "\tif (false)\n\t\ttimeline_pod_goes_on")),
    bug("an edited end of a cluster at rest moves no promise", story("promises:an_end_that_is_edited_moves_promises_of_a_cluster_at_rest"),
        ("core/timeline/ends.c", "\tt->edited = t->edited || s->end_ns != before_ns;", "\t(void)before_ns;")),
    bug("what was retained moves no promise when it is free", story("promises:what_was_retained_lets_a_promise_move_earlier"),
        ("core/timeline/ends.c", "(struct timeline *t)\n{\n\tnote(t);\n}", "(struct timeline *t)\n{\n\t(void)t;\n}")),
    bug("a retained reservation is taken for free", sim(500),
        ("core/lifecycle/reservation.c", "\t\tpromises_retain(c, p);", "\t\tpromises_leave(c, p);")),
    bug("core: the capacity of a deleted pod is not released", sim(100),
        (EVENT, "\treservation_set(c, p, RESERVATION_NONE, ID_NONE);\n\tbackoff_leave",
         "\tp->node = ID_NONE;\n\treservation_set(c, p, RESERVATION_NONE, ID_NONE);\n\tbackoff_leave")),
    bug("the same, by records", fuzzer("records"),
        (EVENT, "\treservation_set(c, p, RESERVATION_NONE, ID_NONE);\n\tbackoff_leave",
         "\tp->node = ID_NONE;\n\treservation_set(c, p, RESERVATION_NONE, ID_NONE);\n\tbackoff_leave")),
    bug("an unsent reservation is not checked against the current node", story("ring:the_node_*"),
        (RELEASE, "\tif (!node_present(&c->nodes.slots[p->node]) || !shape_allows(s, p->node))\n\t\treturn false;", "\treturn true;")),
    bug("the quorum counts one too few", sim(100),
        ("core/queue/gangs.c", "need->total = gang_missing(g);", "need->total = gang_missing(g) - (gang_missing(g) > 1);")),
    bug("succeeded members of what never started count", unit("frontend/model/groups/test_gangs"),
        ("frontend/model/groups/group_pods.c", "return g->whole && (g->bound", "return (g->bound")),
    bug("a status that comes later does not say whole", unit("frontend/model/groups/test_gangs"),
        ("frontend/model/groups/group_pods.c", "if (!e->whole && writes->was_whole(&status))", "if (false)")),
    bug("a failed group counts as whole", unit("frontend/model/groups/test_gangs"),
        ("frontend/dialect/status_podgroup.c", 'is_phase(s, "Running") || is_phase(s, "Finished");', 'is_phase(s, "Running") || is_phase(s, "Finished") || is_phase(s, "Failed");')),
    bug("a run that ended makes the next one whole", unit("frontend/model/groups/test_gangs"),
        ("frontend/model/groups/members.c", "e->whole = false;", "e->whole = e->whole;")),
    bug("succeeded members do not count for the quorum", unit("core/step/test_records"),
        ("core/lifecycle/groups.c", "counted = gang_ended_count(g);", "counted = 0;")),
    bug("a gang that lost members is pending", unit("core/step/test_records"),
        ("core/queue/gangs.c", "g->succeeded < g->declared ? GANG_DEGRADED", "false ? GANG_DEGRADED")),
    bug("a partially bound gang has no precedence", story("partially_bound:*"),
        ("core/queue/gangs.h", ".band = gang_partially_bound(g) ? BAND_STARTED :", ".band = false ? BAND_STARTED :")),
    bug("a raised quorum restores precedence", story("partially_bound:a_*"),
        ("core/queue/gangs.h", "!gang_quorum_met(g) && g->begun >= gang_total(g);", "!gang_quorum_met(g);")),
    bug("a gang that was complete keeps its precedence", story("partially_bound:a_*"),
        ("core/lifecycle/precedence.h", "\tg->begun = 0;", "\t(void)g;")),
    bug("a restart gives precedence to a gang whose quorum was changed", story("partially_bound:has_precedence_after_a_restart"),
        ("core/lifecycle/precedence.c", "!(g->flags & GANG_UNCHANGED) || ", "")),
    bug("precedence does not end", story("partially_bound:its_*"),
        ("core/lifecycle/precedence.c", "c->now_ns >= g->precedence_ends_ns &&", "false &&")),
    bug("capacity of pods that last is reserved for", story("backfill:not_for_capacity_that_no_end_promises"),
        ("core/cycle/backfill.c", "c->lasting.sums ? &c->lasting : NULL", "NULL")),
    bug("a certain backfill reservation does not end", story("backfill:ends_after_an_hour"),
        ("core/cycle/backfill.c", "fit_is_certain(c, g, w) ? RESERVATION_NS", "fit_is_certain(c, g, w) ? UINT64_MAX")),
    bug("pods of a namespace that ends are tried", unit("frontend/model/pods/test_ends"),
        ("frontend/model/pods/namespaces.c", "namespace_at(m, namespace)->ending = ending;", "")),
    bug("a Job that its own controller does not look at ends its pods", unit("frontend/model/pods/test_jobs"),
        ("frontend/decode/extract_job.c", "job->manager.bytes == 0 ||", "true ||")),
    bug("a finished Job ends pods that name it later", unit("frontend/model/pods/test_jobs"),
        ("frontend/decode/extract_job.c", "job->suspended || job->finished ||", "job->suspended ||")),
    bug("another Job of the same name ends the pods of the first", unit("frontend/model/pods/test_jobs"),
        ("frontend/model/pods/jobs.c", "const uint32_t uid = model_number(&m->values, meta->uid);", "const uint32_t uid = model_number(&m->values, TEXT_NONE);")),
    bug("pods that run lose their end before they are deleted with their Job", unit("frontend/model/pods/test_jobs"),
        ("frontend/model/pods/jobs.c", "return p->node != ID_NONE ? of->run_s : 0;", "return 0;")),
    bug("a Binding without uid", sim(100),
        (BINDING, '"\\"uid\\":@s,\\"resourceVersion\\":@s},\\"target\\"', '"\\"resourceVersion\\":@s},\\"target\\"'),
        (BINDING, "b->name, b->namespace, b->uid, b->version, b->node);", "b->name, b->namespace, b->version, b->node);")),
    bug("a Binding without resourceVersion", sim(1000),
        (BINDING, '"\\"uid\\":@s,\\"resourceVersion\\":@s},\\"target\\"', '"\\"uid\\":@s},\\"target\\"'),
        (BINDING, "b->name, b->namespace, b->uid, b->version, b->node);", "b->name, b->namespace, b->uid, b->node);")),
    bug("the server accepts a Binding with an old resourceVersion", sim(3000),
        ("tests/apisim/bind.c", "(!as_parse_version(version, &wanted) || wanted != pod->version)", "!as_parse_version(version, &wanted)")),
    bug("the fence is omitted: a Binding that may still take effect counts as failed", sim(3000),
        (BINDING, "b->give_up || b->settle ? STEP_FENCE : STEP_POST,", "STEP_POST,"),
        (BINDING, "\tif (b->maybe)\n\t\tbinder_later(b, STEP_READ, backoff_failed(&b->backoff, b->binder->config.env));\n\telse\n"
                  "\t\tbinding_refused(b);", "\tb->maybe = false;\n\tbinding_refused(b);")),
    bug("the Bindings of an earlier frontend are forgotten when their gang can't start any more", story("restart:an_incomplete_gang_is_cancelled"),
        (RELEASE, "if (p->reservation == RESERVATION_RESERVED) {", "if (p->attempt > 0) {")),
    bug("a pod whose Binding is being cancelled counts as bound", story("restart"),
        (RESERVATION, "!reservation_is_pending(p) && !reservation_is_cancelled(p))", "!reservation_is_pending(p))")),
    bug("a result for another core's command is matched by its attempt", unit("frontend/bind/test_binder_cores"),
        ("frontend/bind/binder.c", "\t\tb->cmd.attempt = ATTEMPT_OTHER;", "\t\tb->cmd.attempt += ATTEMPT_OTHER;")),
    bug("a failed plan releases the reservation of a member in backoff, which it did not try", story("partially_bound:retains_*"),
        (RETAIN, "if ((of_tried_too || p->readiness != MEMBER_READY) &&", "if (of_tried_too &&")),
    bug("retained reservations are lost with the frontend", story("restart:reservations_of_refused_members_are_carried_over"),
        ("core/lifecycle/inflight.c", "!reservation_in(p, RESERVATION_BIT(CONFIRMED) | RESERVATION_BIT(NOMINATED));",
         "!reservation_in(p, RESERVATION_BIT(CONFIRMED) | RESERVATION_BIT(RETAINED));")),
    bug("fair reclaim judges the other queue with its victims", unit("core/share/test_share"),
        ("core/share/share_reclaim.c", "with <= share_over(s, b, r, 0)", "with <= share_over(s, b, r, freed)")),
    bug("reclaim takes a queue below its guarantee", unit("core/share/test_share"),
        ("core/share/share_reclaim.c", "if (s->used[share_at(s, q, r)] < s->has[share_at(s, q, r)])", "if (s->used[share_at(s, q, r)] < 0)")),
    bug("reclaim passes over the minimum run time of a queue above the victim's", unit("core/share/test_share"),
        ("core/share/share_reclaim.c", "most = s->set->defs[q].min_run_s > most ? s->set->defs[q].min_run_s : most;", "most = q == victim ? s->set->defs[q].min_run_s : most;")),
    bug("a member that was restarted protects its gang from reclaim", unit("core/world/test_reclaim"),
        ("core/cycle/reclaim.c", "if (has_run || gang == ID_NONE ||", "if (true || gang == ID_NONE ||")),
    bug("reclaim waits for a pod that has outlived its known end", unit("core/world/test_reclaim"),
        ("core/world/keeper_make.c", "return end_s >= now_s && end_s", "return end_s")),
    bug("the last member of a role is given back", unit("core/world/test_giving"),
        (MARKS, " || (role && role->left == 0)", "")),
    bug("members beyond quorums are given by their starts, whatever their gangs", unit("core/world/test_giving"),
        (MARKS, "\tu.whole = false;\n", "\tu.whole = false;\n\tu.start_s = m->facts->pods[id].start_s;\n")),
    bug("members of the lowest completion index are given back first", unit("core/world/test_giving"),
        (MARKS, "x->completion_index > y->completion_index", "x->completion_index < y->completion_index")),
    bug("the completion index goes before the deletion cost", unit("core/world/test_giving"),
        (MARKS, "\tif (x->deletion_cost != y->deletion_cost)", "\tif (x->deletion_cost != y->deletion_cost && x->completion_index == y->completion_index)")),
    bug("model: a deletion cost that is edited is not sent", unit("frontend/model/pods/test_facts"),
        (FACTS, "p->deletion_cost == cost && p->completion_index == index", "p->completion_index == index")),
    bug("a deletion cost with leading zeros counts", unit("frontend/model/pods/test_facts"),
        ("frontend/decode/extract_eviction.c", " || (text[0] == '0' && text[1])", "")),
    bug("a completion index below zero counts", unit("frontend/model/pods/test_facts"),
        ("frontend/decode/extract_eviction.c", " ||\n\t    n < 0)\n\t\treturn -1;", ")\n\t\treturn -1;")),
    bug("the leader is given back as any other member", unit("core/world/test_giving"),
        (MARKS, "\tif (m->facts->pods[id].leads)\n\t\treturn;\n", "")),
    bug("a gang that was reclaimed is taken again", unit("core/world/test_reclaim"),
        ("core/cycle/reclaim.c", "gang_is_group(&c->gangs, index) && taken_is(&c->taken, index)", "false")),
    bug("the return of a gang that was reclaimed is an arrival", unit("core/world/test_reclaim"),
        ("core/lifecycle/evicted.c", "if (!taken_is_away(&c->taken, index)) {", "if (true) {")),
    bug("the end of a victim is a change", unit("core/world/test_reclaim"),
        ("core/lifecycle/evicted.c", "if (!away && !p->evicted && ", "if (")),
    bug("a queue that is gone has reclaimed under the name of the next", unit("core/world/test_reclaim"),
        ("core/cycle/queues.c", "\t\ttakers_forget(c, before);\n", "\t\t(void)takers_forget;\n")),
    bug("a gang of which a part went was not reclaimed", unit("core/world/test_reclaim"),
        ("core/lifecycle/evicted.c", "\tif (away)\n\t\ttaken_lose(&c->taken, p->gang);\n", "")),
    bug("a promise that borrows keeps the lender waiting", unit("core/world/test_nominations_promises"),
        ("core/timeline/timeline.h", "ask->priority + (ask->firm ? INT64_C(1) << 32 : 0)", "ask->priority")),
    bug("a gang is firm in front of one of its queue of higher priority", unit("core/world/test_nominations_promises"),
        ("core/cycle/reclaim.c", "\t\tpromise_suppose(c, p, true);\n", "")),
    bug("victims go though a promise breaks", unit("core/world/test_nominations_promises"),
        ("core/cycle/victims.c", "if (!t->c->promises.timeline || promises_allow(t))", "if (true)")),
    bug("a nomination is lost while others hold its room", unit("core/world/test_nominations_lone"),
        ("core/cycle/answered.c", "n->victims_n == 0 && !n->placed_there && nomination_others_victims(c, n) == 0", "n->victims_n == 0 && !n->placed_there")),
    bug("a gang whose room others take evicts again at once", unit("core/world/test_nominations_ends"),
        ("core/lifecycle/nominate.c", "if (how == NOMINATION_LOST || how == NOMINATION_REFUSED", "if (how == NOMINATION_REFUSED")),
    bug("who took the room of a gang is not named", unit("core/world/test_nominations_ends"),
        ("core/lifecycle/nominate.c", "n->taken_generation = generation;", "n->taken_generation = 0;")),
    bug("a lone pod has the reason of an equal one that is gone", unit("core/world/test_nominations_ends"),
        ("core/lifecycle/tickets.c", "if (w->taken_of == index && w->taken_of_generation == c->gangs.slots[index].generation) {", "{")),
    bug("a reason has any text that a tenant took for a scheduler's name", unit("frontend/dialect/test_reason"),
        ("frontend/dialect/reason.c", "if (is_scheduler_name(scheduler))", "if (is_scheduler_name(scheduler) || *scheduler)")),
    bug("a gang that other schedulers have members of is evicted", unit("frontend/model/pods/test_facts"),
        ("frontend/model/groups/group_pods.c", "m->preemption && s->foreign > 0", "m->preemption && s->foreign > 7")),
    bug("a list forgets members of other schedulers that are as they were", unit("frontend/model/pods/test_facts"),
        ("frontend/model/groups/group_pods.c", "\tif (pod != SLOT_NONE)\n\t\tnon_member_at(m, pod)->entry.seen =", "\tif (false)\n\t\tnon_member_at(m, pod)->entry.seen =")),
    bug("pods of other schedulers count in dialects with a status alone", unit("frontend/model/pods/test_facts"),
        ("frontend/model/groups/group_pods.c", "ended || (foreign && m->preemption)", "ended")),
    bug("gangs that go whole are decided one by one", unit("ctl/preempt/test_blocks"),
        ("core/search/search_gang.c", "answer == PLAN_PLACED && level_blocks(q, first)", "false")),
    bug("a search among gangs goes on without end", unit("ctl/preempt/test_blocks"),
        ("core/search/gang_branch.c", "return sets > (double)q->s.facts->steps_most;", "return sets < 0;")),
    bug("few gangs are exchanged a million times", unit("ctl/preempt/test_blocks"),
        ("core/search/gang_blocks.c", " && vain++ < (uint64_t)b->n * EXCHANGES_VAIN", "")),
    bug("exchanges go on after a search was ended", unit("ctl/preempt/test_blocks"),
        ("core/search/gang_blocks.c", "b->steps < end && !is_ended(b) &&", "b->steps < end &&")),
    bug("gangs of one queue have all tickets", unit("core/world/test_reclaim"),
        ("core/lifecycle/tickets.c", "other = group && by_queue(c) ? of_other_queue(c, index) : NULL;", "other = NULL;")),
    bug("a queue behind more than there are tickets waits for them", unit("core/world/test_reclaim"),
        ("core/lifecycle/tickets.c", "from = by_queue(c) ? c->tickets.gang_next : 0;", "from = 0;")),
    bug("lone pods have the tickets of gangs", unit("core/world/test_nominations_lone"),
        ("core/lifecycle/tickets.c", "for (uint32_t i = group ? 0 : TICKETS_GANGS; i < end; i++) {", "for (uint32_t i = 0; i < end; i++) {")),
    bug("a namespace keeps all tickets of lone pods", unit("core/world/test_nominations_lone"),
        ("core/lifecycle/tickets.c", "namespace_tickets(c, g) + 1)", "namespace_tickets(c, g) + 100)")),
    bug("a lone pod waits for what was found for lower ones", unit("core/world/test_nominations_lone"),
        ("core/lifecycle/tickets.c", "gang_priority(&c->gangs.slots[index]) <= w->priority", "true")),
    bug("equal lone pods are answered with one node", unit("core/world/test_nominations_lone"),
        ("core/lifecycle/tickets.c", "used |= UINT32_C(1) << t->nth;", "used |= 0;")),
    bug("of equal lone pods one evicts a higher pod", unit("core/world/test_nominations_lone"),
        ("core/search/search_pod.c", "at = next && cost_compare(&next->objective, &best->objective) == 0 ? next : NULL;", "at = next;")),
    bug("one namespace has all nominations of lone pods", unit("core/world/test_nominations_lone"),
        ("core/lifecycle/nominate.c", "if (same >= (NOMINATIONS_MAX - NOMINATIONS_GANGS) / 2)", "if (same > NOMINATIONS_MAX)")),
    bug("a lone pod finds no slot where lower ones have all", unit("core/world/test_nominations_slots"),
        ("core/lifecycle/nominate.c", "return free ? free : lone_yielding(c, index, false);", "return free ? free : lone_yielding(c, index, true);")),
    bug("an answer from before preemption was switched off evicts", unit("core/world/test_nominations_slots"),
        ("core/lifecycle/tickets.c", "(c->tickets.flags & ~flags) && i < TICKETS_MAX", "false && i < TICKETS_MAX")),
    bug("a nominated lone pod is forgotten by the next epoch", unit("core/world/test_nominations_lone"),
        ("core/cycle/renominate.c", "tried++ < LONE_TRIED", "tried++ > LONE_TRIED")),
    bug("a lone pod evicts where a lower nomination would do", unit("core/world/test_nominations_lone"),
        ("core/search/search_pod.c", "search_remove_nominated(&q->s) + search_remove_ending(&q->s) == 0", "search_remove_ending(&q->s) == 0")),
    bug("a nomination ends before its plan is judged", unit("core/world/test_nominations_promises"),
        ("core/cycle/cycle.c", "plan_judged(c, n, *why == WAIT_NONE);", "plan_judged(c, n, true);")),
    bug("a hold keeps its nodes from a promised gang", story("promises:a_hold_keeps_no_node_from_a_promise"),
        ("core/cycle/backfill.c", "gang_before(&c->gangs, owner, index) &&\n\t       !is_promised(c, &c->gangs.slots[index]);",
         "gang_before(&c->gangs, owner, index);")),
    bug("a needless victim is evicted", unit("core/world/test_nominations"),
        ("core/cycle/victims_needed.c", "return !is_any_needless(t) && victims_fit(t);", "return victims_fit(t);")),
    bug("a victim of an equal priority is evicted", unit("core/world/test_nominations"),
        ("core/cycle/victims_allowed.c", "!gang_is_group(&c->gangs, p->gang))\n\t\treturn other || p->priority < priority;", "!gang_is_group(&c->gangs, p->gang))\n\t\treturn other || p->priority <= priority + 100;")),
    bug("an eviction of a nomination that ended is sent", unit("core/world/test_nominations"),
        ("core/lifecycle/nominate.c", "return v && v->ticket == e->evict.ticket && v->state == VICTIM_DUE;", "return true;")),
    bug("what was sent is not withdrawn", unit("core/world/test_nominations_ends"),
        ("core/lifecycle/nominate.c", "if (v->state == VICTIM_SENT)\n\t\t\tcommand_add", "if (v->state == VICTIM_ENDING)\n\t\t\tcommand_add")),
    bug("an answer is placed though a node has less room now", unit("core/world/test_tickets"),
        ("core/plan/plan_gang.c", "\treturn view_open(v, vs->nodes->ranks[place->node]) &&\n\t       plan_take_on", "\treturn v && plan_take_on"),
        ("core/plan/plan.c", "\tif (views_count_at(vs, node, class) == 0)\n\t\treturn false;\n\tplan_take(", "\tplan_take(")),
    bug("a reservation is retained while a member has a scheduling gate", story("partially_bound:releases_what_no_member_waits_for"),
        (RETAIN, "gang_partially_bound(g) && gang_enough(g, MEMBER_BACKOFF) &&", "gang_partially_bound(g) && gang_enough(g, MEMBER_REFUSED) &&")),
    bug("a new core does not get the nodes where members were refused", unit("frontend/bind/test_binder_cores"),
        ("frontend/bind/binder.c", "\t\tat->told = refused_waits(w, id, at);", "\t\tat->told = false;")),
    bug("the first plan does not wait for the takeover fence", unit("frontend/loop/test_frontend"),
        ("frontend/loop/frontend.c", "\tif (!takeover_over(f->takeover) ||", "\tif (")),
    bug("an eviction is sent before the journal has its line", unit("frontend/evict/test_evictor"),
        ("frontend/evict/evictor.c", "\tif (e->config.journal && (!v->intent ||", "\tif (false && (!v->intent ||")),
    bug("pods go although a budget of another victim may refuse", unit("frontend/evict/test_evictor"),
        ("frontend/evict/evictor.c", "\tif (!v->guarded && t->guarded > 0)", "\tif (false)")),
    bug("an eviction is repeated without a look at the pod", unit("frontend/evict/test_evictor"),
        ("frontend/evict/eviction.c", "\tif (a == EVICT_READ || a == EVICT_UNKNOWN)\n", "\tif (false)\n")),
    bug("the server's throttling counts as a budget's refusal", unit("frontend/evict/test_evictor"),
        ("frontend/evict/request.c", "has_budget_cause(body, body_bytes) ? EVICT_BUDGET : EVICT_AGAIN", "EVICT_BUDGET")),
    bug("an eviction that was withdrawn is sent", unit("frontend/evict/test_evictor"),
        ("frontend/evict/evictor.c", "\tv->cancelled = true;\n\tif (v->begun)\n\t\treturn;", "\tif (true)\n\t\treturn;")),
    bug("a stream counts as a list before its end", unit("frontend/watch/test_stream"),
        (INITIAL, "if (!is_end || !version[0])", "if (!version[0])")),
    bug("a stream that broke is a list", unit("frontend/watch/test_stream"),
        (INITIAL, "\tw->pages_next = true;\n\twatch_list_abort(w);", "\tw->pages_next = true;\n\twatch_list_taken(w);")),
    bug("a server that streams no lists is asked for ever", unit("frontend/watch/test_stream"),
        (INITIAL, "(answer->status == 400 || answer->status == 422)", "answer->status == 405")),
    bug("the next page is requested after the one before is decoded", unit("frontend/watch/test_watch"),
        (LIST, "\tif (w->page.continue_token.bytes == 0) {\n", "\twatch_list_put(w);\n\tif (w->page.continue_token.bytes == 0) {\n")),
    bug("a broken page leaves the request for the next one", unit("frontend/watch/test_watch"),
        (LIST, "\tif (w->call)\n\t\tw->env->transport->ops->cancel(w->env->transport, w->call);\n\tw->call = NULL;\n\twatch_failed", "\twatch_failed")),
    bug("the version of a streamed list is that of an object", unit("frontend/watch/test_stream"),
        ("frontend/watch/watch_stream.c", "if (w->initial) /*", "if (false) /*")),
    bug("events of bindings starve while bindings wait", unit("frontend/report/test_pace"),
        (RATE, "share = queued < half ? most * queued / half : most;", "share = 0;")),
    bug("events of bindings go in front of bindings", unit("frontend/report/test_pace"),
        (RATE, "\tif (!binds_waiting)\n\t\treturn most;", "\treturn most;")),
    bug("two events of a pod are in flight together", unit("frontend/report/test_pace"),
        (RATE, "if (is_about(i, uid))", "if (false)")),
    bug("a 429 does not slow events", unit("frontend/report/test_pace"),
        (RATE, "return window_slower(&r->window, env_now(r->config.env), sent_ns);", "return true;")),
    bug("a window of bindings that gained nothing is kept", unit("frontend/base/test_window"),
        ("frontend/base/window.c", "if (w->stepped && (late || !step_gained(w, mean_ns))) {", "if (false) {")),
    bug("a window of bindings grows beyond its bound", unit("frontend/base/test_window"),
        ("frontend/base/window.c", "size > w->most ? w->most : size;", "size;")),
    bug("a window is halved by each of the requests that were in flight together", unit("frontend/base/test_window"),
        ("frontend/base/window.c", "if (w->halved_ns && sent_ns <= w->halved_ns)", "if (false)")),
    bug("a window goes back at once to the size that was refused", unit("frontend/base/test_window"),
        ("frontend/base/window.c", "if (now_ns < w->refused_until_ns && ", "if (false && ")),
    bug("a window of an hour ago is kept at a server that is busy now", unit("frontend/base/test_window"),
        ("frontend/base/window.c", "now_ns - w->least_since_ns >= 2 * LEAST_NS) {\n\t\trestart(", "false) {\n\t\trestart(")),
    bug("each 429 of the requests in flight together counts for the pause", unit("frontend/bind/test_binder"),
        (BINDING, "if (binder_window_slower(b) || answer->retry_after_ms >= 0)", "binder_window_slower(b);")),
    bug("a window that was halved stays small", unit("frontend/base/test_window"),
        ("frontend/base/window.c", "	w->size++;\n", "")),
    bug("a Binding is sent before the journal has its intent", unit("frontend/bind/test_binder_journal"), *SENT_EARLY),
    bug("a write of the journal is not conditional", unit("frontend/journal/test_journal"),
        ("frontend/api/configmap.c", "\tif (create)\n", "\tif (c->name)\n")),
    bug("the journal of an earlier instance is not read", unit("frontend/journal/test_journal"),
        (JOURNAL, "\tif (!j->open)\n\t\tadopt(j, &read);", "\tif (!j->open)\n\t\tj->epoch = read.epoch;")),
    bug("the same Binding before its intent, in the simulator", sim(3000), *SENT_EARLY),
    bug("the same unconditional write, in the simulator", sim(3000),
        ("frontend/api/configmap.c", "\tif (create)\n", "\tif (c->name)\n")),
    bug("the same unread journal, in the simulator", sim(3000),
        (JOURNAL, "\tif (!j->open)\n\t\tadopt(j, &read);", "\tif (!j->open)\n\t\tj->epoch = read.epoch;")),
    bug("what the journal has is neither reserved nor fenced, in the simulator", sim(3000),
        ("frontend/bind/intents.c", "\tmodel_intend(w->config.model, f->pod, f->generation, node, intent);\n", "")),
    bug("the intents that the takeover has fenced stay", unit("frontend/bind/test_binder_journal"),
        ("frontend/bind/intents.c", "if (w->adopted[id].generation != 0 && w->adopted[id].nowhere)", "if (false)")),
    bug("what it has is not given to the core", unit("frontend/bind/test_binder_journal"),
        ("frontend/bind/intents.c", "\tmodel_intend(w->config.model, f->pod, f->generation, node, intent);\n", "")),
    bug("the core forgets what the journal has", story("restart:intents_of_an_earlier_instance_keep_their_nodes"),
        (EVENT, "\tif (rc == 0 && !c->synced)\n\t\tinflight_note(c, record->body);\n", "")),
    bug("an intent ends before its Binding is fenced", unit("frontend/bind/test_binder_journal"),
        ("frontend/bind/intents.c", "\tb->intent = found;",
         "\tif (found && b->withdrawn)\n\t\tjournal_remove(w->config.journal, found), found = NULL;\n"
         "\tb->intent = found;")),
    bug("the extender leaves out nodes behind those that do not exist", unit("core/lifecycle/test_assume"),
        ("core/lifecycle/assume.c", "rank < c->nodes.count", "rank < c->nodes.present")),
    bug("what the extender reserved is not in the journal", unit("frontend/serve/test_extender"),
        (GRANTS, "\tif (gs->config.journal)\n\t\tg->line", "\tif (false)\n\t\tg->line")),
    bug("the extender answers before the journal has it", unit("frontend/serve/test_extender"),
        ("frontend/serve/extender.c", "\tif (line == GRANT_WAITS &&", "\tif (false &&")),
    bug("what the extender of an earlier instance reserved is not read", unit("frontend/bind/test_binder_journal"),
        ("frontend/bind/intents.c", "\tif (s->take && ours ==", "\tif (false && ours ==")),
    bug("what the extender of an earlier instance reserved is not given to the core", unit("frontend/serve/test_extender"),
        (GRANTS, "\tgrant_keep(gs, g, gs->config.keep_ms);\n", "")),
    bug("a core that is started again does not get what the extender reserved", unit("frontend/serve/test_extender"),
        (GRANTS, "\t\t\tgrant_keep(gs, g, left_ms(gs, g, now));\n", "\t\t\tcontinue;\n")),
    bug("the core reserves it for 30 s, whatever was told", story("assume:of_the_journal_have_the_time_that_it_names"),
        ("core/lifecycle/inflight.c", "found->keep_ms > 0 ? found->keep_ms : ASSUME_AGAIN_MS", "ASSUME_AGAIN_MS")),
    bug("the extender reserves while the journal can't be written", unit("frontend/serve/test_extender"),
        (JOURNAL, "journal_is_open(j) && !j->fault[0] &&", "journal_is_open(j) &&")),
    bug("a line of the extender outlives its time", unit("frontend/serve/test_extender"),
        (GRANTS, "\t\t\tgrant_unplace(gs, g);\n\t}\n}\n\n/* Removes the oldest", "\t\t\tcontinue;\n\t}\n}\n\n/* Removes the oldest")),
    bug("a Binding names another version than its intent", unit("frontend/bind/test_binder_journal"),
        (BINDING, "\tif (!intent_permits(b))\n\t\treturn;\n", "")),
    bug("a binding waits for an intent that waits for it", unit("frontend/bind/test_binder_journal"),
        ("frontend/bind/intents.c", "\t\tif (!intent_is_durable(w->config.journal, b->intent))\n\t\t\tcontinue;", "\t\tif (!intent_is_durable(w->config.journal, b->intent))\n\t\t\tbreak;")),
    bug("another writer's epoch does not end the old leader", unit("frontend/journal/test_journal"),
        (JOURNAL, "\t\tlose(j, read.writer);", "\t\tstale(j);")),
    bug("a version that differs from the list counts as moved on", unit("frontend/bind/test_binder_cancel"),
        (BINDING, "bool moved = !b->earlier && strcmp", "bool moved = strcmp")),
    bug("an unknown outcome is reported as a refusal", sim(3000),
        (BINDING, "\tcase BIND_UNKNOWN:\n\t\tbind_unknown(b, answer);", "\tcase BIND_UNKNOWN:\n\t\tbinding_give_up(b, 0);")),
    bug("one result in eight is lost", sim(1000),
        (BINDING, "\tb->binder->config.result(b->binder->config.context, kind, &r);",
         "\tif ((b->cmd.pod + b->cmd.attempt) % 8 != 0)\n\t\tb->binder->config.result(b->binder->config.context, kind, &r);")),
    bug("an instance acts past its deadline", sim(1000),
        ("frontend/api/lease.c", "return !l->lost && !l->releasing && env_now(l->config.env) < l->lead_until_ns;",
         "return !l->lost && !l->releasing && l->lead_until_ns > 0;"),
        ("frontend/api/lease.c", "(l->lead_until_ns > 0 && !l->releasing && env_now(l->config.env) >= l->lead_until_ns)", "false")),
    bug("a watch skips one event in forty", sim(100),
        (STREAM, "\tw->said++;\n", "\tw->said++;\n\tif (w->said % 40 == 0)\n\t\treturn 0;\n")),
    bug("a watch starts three versions after its list", sim(100),
        (LIST, "\t\tmemcpy(w->version, w->page.resource_version, sizeof(w->version));",
         '\t\tsnprintf(w->version, sizeof(w->version), "%llu", strtoull(w->page.resource_version, NULL, 10) + 3);')),
    bug("a new list does not remove deleted objects", sim(1000),
        (LIST, "\tmodel_replace_end(w->model, w->index);\n\tPROBE(list_taken", "\tmodel_replace_abort(w->model, w->index);\n\tPROBE(list_taken")),
    bug("a new core does not get the Bindings in flight", sim(1000),
        ("frontend/model/flush/flush_pods.c", "\tif (p->node == ID_NONE && p->binding != ID_NONE) {", "\tif (false) {")),
    bug("410 does not cause a list", sim(1000),
        (STREAM, "\t\treturn VERDICT_RELIST_NOW;", "\t\treturn VERDICT_BACKOFF;"),
        (STREAM, "\tif (answer->status == 410) {", "\tif (false) {")),
    bug("the rest of a broken line is kept for the next watch", sim(1000),
        (STREAM, "\tframes_reset(&w->frames);\n", "")),
    bug("a dropped condition is not written again", sim(3000),
        (SWEEP, "\t\treport_item_set(p, p->standing, p->standing_reason);\n", "\t\treturn;\n")),
    bug("a status that was refused is not written again", unit("frontend/report/test_sweep"),
        (SWEEP, "\t\treport_group_sweep(r, (gang_id)r->sweep_gang++, now);\n", "\t\tr->sweep_gang++;\n")),
    bug("a leader of a new revision joins the gang of the old one", unit("frontend/dialect/test_dialect"),
        ("frontend/dialect/dialect_leaderworkerset.c", '*revision = read_label(pod, PREFIX "template-revision-hash", arena);', "*revision = NULL;")),
    bug("a mark that the Job controller wrote contradicts the template's", unit("frontend/dialect/test_dialect"),
        ("frontend/dialect/dialect_native.c", "if (text_equal(pod->owner.all.at[i], pod->native_group))", "if (false)")),
    bug("a mark of the user yields to another one", unit("frontend/dialect/test_dialect"),
        ("frontend/dialect/dialect_native.c", "if (text_equal(pod->owner.all.at[i], pod->native_group))", "if (true)")),
    bug("a group of a queue that is not muster's becomes Inqueue", unit("frontend/dialect/test_group_status"),
        ("frontend/dialect/status_volcano.c", "f->enqueue && g->pods.n == 0", "g->pods.n == 0")),
    bug("a completed Volcano job is queued again", unit("frontend/dialect/test_group_status"),
        ("frontend/dialect/status_volcano.c", '(!*out->phase || strcmp(out->phase, "Pending") == 0)', "true")),
    bug("what holds members back is never named", unit("frontend/report/test_group"),
        ("frontend/report/report_group.c", "\tg->held_back = true;\n", "\tg->held_back_ns = 0;\n\treturn;\n")),
    bug("members that come one by one count as held back", unit("frontend/report/test_group"),
        ("frontend/report/report_group.c", "g->held_back_ns == 0 || g->held_back_members != reason->members", "g->held_back_ns == 0")),
    bug("a group whose job was restarted stays Failed", unit("frontend/dialect/test_group_status"),
        ("frontend/dialect/status_podgroup.c", "return g->pods.n >= quorum && g->pods.phases[POD_PHASE_FAILED] == 0;", "return false && g->pods.n >= quorum;")),
    bug("a status without a subresource is never written", unit("frontend/report/test_group"),
        ("frontend/report/report_item.c", "report_status_missing(group_of_item(i));", "false;")),
    bug("a 404 of the place before is final", unit("frontend/report/test_group"),
        ("frontend/report/report_status.c", "if (where->place != g->sent_to)", "if (false)")),
    bug("discovery is asked for ever", unit("frontend/report/test_group"),
        ("frontend/report/report_status.c", "where->asked_ns = env_now(r->config.env);", "(void)0;")),
    bug("an event of a namespace that ends is tried again", unit("frontend/report/test_sweep"),
        ("frontend/report/report_item.c", 's.code == 403 && strstr(s.message, "because it is being terminated") != NULL;', "false;")),
    bug("the name of an event is kept of a pod that is gone", unit("frontend/report/test_memory"),
        ("frontend/report/report_queue.c", "\tfree(p->event_name);\n", "")),
    bug("the status that was written is kept of a gang that is gone", unit("frontend/report/test_memory"),
        ("frontend/report/report_group.c", "\treport_status_forget(g);\n", "")),
    bug("an event that the gap held back does not follow", unit("frontend/report/test_sweep"),
        (SWEEP, "\t\t    report_pod_waits(r, &pod))\n\t\t\treport_item_owe(p);", "\t\t    report_pod_waits(r, &pod))\n\t\t\tcontinue;")),
    bug("a plan that counts on a returned one goes out", unit("frontend/bind/test_group_recheck"),
        (GROUP, "\t\tif (current) {", "\t\tif (b->cmd.spec_id == model_gang_spec_id(w->config.model, r->gang)) {")),
    bug("a gang starts without a recheck of its group", unit("frontend/bind/test_group_recheck"),
        (GROUP, "\tif (!is_to_be_read(b->binder, &b->cmd))", "\tif (b->cmd.pod != ID_NONE)")),
    bug("the same, in the simulator", sim(1000),
        (GROUP, "\tif (!is_to_be_read(b->binder, &b->cmd))", "\tif (b->cmd.pod != ID_NONE)")),
    bug("a plan for an earlier version of the group is accepted", unit("frontend/bind/test_group_recheck"),
        (GROUP, "const bool current = is_current(r);", "const bool current = true;")),
    bug("members without work do not wait for those with it", unit("frontend/bind/test_prebind"),
        (HOLD, "together = s || gang_wants(w, &b->cmd);", "together = s;")),
    bug("held bindings take all lines of the journal", unit("frontend/bind/test_prebind_lines"),
        ("frontend/bind/prebind_lines.c", "journal_most(w->config.journal) / 2", "journal_most(w->config.journal)")),
    bug("a namespace above its share of lines does not give way", unit("frontend/bind/test_prebind_lines"),
        ("frontend/bind/prebind_lines.c", "\t\tgive_way(w, n);", "")),
    bug("lines that give way go to who is above its share", unit("frontend/bind/test_prebind_lines"),
        ("frontend/bind/prebind_lines.c", "!w->lines_short && !w->lines_were_short &&", "true &&")),
    bug("writes begin before the quorum is there", unit("frontend/bind/test_prebind"),
        (PREBIND, "n + gang.pods.bound >= gang.quorum;", "n + gang.pods.bound >= 1;")),
    bug("a gang of which one failed is refused before it is undone", unit("frontend/bind/test_prebind"),
        (PREBIND, "if (h->works[i] && k->look(k->context, h->works[i], &why) == PREBIND_BUSY)", "if (false)")),
    bug("a phase begins before all are through the one before", unit("frontend/bind/test_prebind"),
        (PREBIND, "h->done != phase ||", "")),
    bug("the works of others are not undone", unit("frontend/bind/test_prebind"),
        (PREBIND, "if (h->works[i] && i >= h->done + h->started) {", "if (h->works[i]) {")),
    bug("a retried Binding is not fenced before its works", unit("frontend/bind/test_prebind"),
        (HOLD, "\tif (b->earlier) {", "\tif (false) {")),
    bug("a fenced pod that needs no work any more ends with the core", unit("frontend/bind/test_prebind"),
        (BINDING, "\t\tif (prebind_hold(b))\n\t\t\treturn;\n", "\t\tbinder_queue(b);\n\t\treturn;\n")),
    bug("a pod of a file may ask for a resource that has no name", unit("core/world/test_live_verdict"),
        ("core/classes/outsider.c", "if (!resources_named(cluster->nodes, s))", "if (false)")),
    bug("counts of a pod of a file are as long as those of a new core", unit("core/classes/test_outsider"),
        ("core/classes/pod_counts.c", "nodes->span, &cs->labels", "limits->nodes < 4 ? limits->nodes : 4, &cs->labels")),
    bug("views are kept when the span of nodes grows", unit("core/cycle/test_churn"),
        ("core/step/core.c", "\tviews_reach(&c->views);\n", "")),
    bug("pods of files use up memory without a core", unit("core/world/test_live_verdict"),
        ("frontend/model/put/outsider.c", "if (m->outsiders == OUTSIDERS_UNSENT) {", "if (false) {")),
    bug("what was started ends with the core", unit("frontend/bind/test_prebind"),
        (HOLD, "\t\t\tif (!b->held->prepared && !b->left) {", "\t\t\tif (b->held) {")),
    bug("what a Binding needs is not looked at before its POST", unit("frontend/bind/test_prebind_admit"),
        (ADMIT, "\teach_together(b, member_look, &all);", "")),
    bug("the same look before the POST, in the simulator", sim(1000),
        (ADMIT, "\teach_together(b, member_look, &all);", "")),
    bug("a first Binding without effect parts the gang", unit("frontend/bind/test_prebind_admit"),
        (ADMIT, "\teach_together(b, member_join, NULL);", "")),
    bug("members that come after the first Binding take others back", unit("frontend/bind/test_prebind_admit"),
        (ADMIT, "\th->parted = begun;", "\th->parted = begun && !h->together;")),
    bug("a claim is taken back while a POST may land", unit("frontend/bind/test_prebind_admit"),
        (ADMIT, "\tif (b->maybe)", "\tif (false)")),
    bug("two claims get one volume", unit("frontend/bind/test_volume_bind"),
        (WAIT, "if (is_free_for(pv, w->claim) && !volume_is_assumed(j->vs, pv) &&", "if (is_free_for(pv, w->claim) &&")),
    bug("what a write without an answer did is not read", unit("frontend/bind/test_volume_bind"),
        (WRITE, "\t\tc->to_read = true;", "\t\tc->to_read = false;")),
    bug("what is bound is taken back", unit("frontend/bind/test_volume_bind"),
        ("frontend/bind/volume_bind.c", "\tif (v->volume.bytes == 0 && !c->volume[0] && v->has_selected_node &&",
         "\tif (!c->volume[0] && v->has_selected_node &&")),
    bug("a node where provisioning failed is chosen again", unit("frontend/bind/test_volume_bind"),
        ("frontend/bind/volume_bind.c", "\t\tavoid_node(c);\n", "")),
    bug("a volume elsewhere is good enough", unit("frontend/bind/test_volume_bind"),
        ("frontend/bind/volume_bind.c", "if (volumes_reaches(c->vb->volumes, v->volume, w->node))", "if (w->n > 0)")),
    bug("a reason is reported for a pod that is being bound", unit("frontend/report/test_report"),
        ("frontend/report/report_item.c", "(!r->config.binder || !binder_has(r->config.binder, pod->id, pod->generation))", "true")),
    bug("a reservation is retained on a node that lacks the capacity", story("partially_bound:retains_nothing_on_a_full_node"),
        (RETAIN, "views_count_at(&c->views, p->node, p->class) > 0)", "p->node != ID_NONE)")),
    bug("a pod leaves the sum of its domain as it was", unit("core/index/test_soft"),
        (SOFT, "\t\t\tsum->sums[domains[i]] += now - values[i];", "\t\t\t;")),
    bug("a node stays in its group when its own count changes", unit("core/index/test_soft"),
        (SOFT, "\t\t\tmoved = true;", "\t\t\tmoved = false;")),
    bug("groups outside a mask can be the best", unit("core/index/test_soft"),
        (SOFT_SCORE, "best > s->best && !soft_group_key(s, s->live[i])[GROUP_HIDDEN]", "best > s->best")),
    bug("scores are normalised over closed segments as well", unit("core/index/test_soft"),
        (SOFT_SCORE, "\t\tif (!g->open)\n\t\t\tcontinue;\n\t\tr.taints", "\t\tr.taints")),
    bug("the domains of a soft spread are counted once", unit("core/index/test_soft"),
        (SOFT_SCORE, "\t\telse if (s->spans_old || s->known.rules)", "\t\telse if (spans == 0)")),
    bug("groups do not follow a change of taints", unit("core/index/test_soft"),
        (SOFT, "s->site_words * sizeof(*s->words)) != 0 ||", "s->site_words * sizeof(*s->words)) > INT32_MAX ||")),
    bug("nodes that leave together are taken out of the wrong places", unit("core/index/test_soft"),
        ("core/cluster/node_order.c", "return x > y ? -1 : x < y;", "return x < y ? -1 : x > y;")),
    bug("a node that joins makes what waits read all nodes", unit("core/queue/test_hints"),
        ("core/queue/hints.c", "- cs->domains_version - cs->has_version;", "- cs->has_version;")),
    bug("nodes that join are left until all names are sorted", unit("core/queue/test_hints"),
        ("core/queue/hints.c", "\tnodes_sort_few(vs->nodes);\n", "")),
    bug("plain views do not move with the order of names", unit("core/index/test_soft"),
        ("core/index/view_reorder.c", "\t\tif (change->left)\n\t\t\tleave", "\t\tif (false)\n\t\t\tleave")),
    bug("a view is kept when a node gets the first image of its class", unit("core/index/test_soft"),
        ("core/index/view_follow.c", "\tv->has_images = usage_has_image(", "\tv->has_images = v->nodes > 0 ? v->has_images : usage_has_image(")),
    bug("views move although points for images depend on the number of nodes", unit("core/index/test_soft"),
        ("core/index/view_reorder.c", "!v->masked && !v->has_images &&", "!v->masked &&")),
    bug("views of classes whose images no node has do not move", unit("core/index/test_soft"),
        ("core/classes/usage_query.c", "\t\tif (image_find(t, s->parts.images[i]) != ID_TABLE_NONE)\n\t\t\treturn true;\n\treturn false;", "\t\treturn true;\n\treturn false;")),
    bug("a class with an image on some node reads the view of one without", unit("core/index/test_soft"),
        ("core/index/views.c", "\t       !usage_has_image(vs->pod_counts->usage, s);", "\t       s->body != NULL;")),
    bug("a class keeps a shared view that was built again for another", unit("core/index/test_soft"),
        ("core/index/view_follow.c", "\tv->made = ++vs->makes;\n", "")),
    bug("a new shape takes the set of nodes of any other", unit("core/step/test_random"),
        ("core/cluster/shapes.c", "ss->kin[id] == s->kin && ss->slots[id].body && shapes_are_kin(&ss->slots[id], s))", "ss->slots[id].body)")),
    bug("a node that left is looked at by its last rank", unit("core/index/test_soft"),
        ("core/cluster/nodes.c", "\tns->log[n->logged % NODE_LOG] = ID_NONE; /* nothing to look at */\n", "")),
    bug("ring: publishing does not release (R1 is relaxed)", race("stress_ring"),
        ("ipc/ring.c", "#ifdef MUSTER_WEAKEN_R1", "#ifndef MUSTER_WEAKEN_R1")),
    bug("ring: reading does not acquire (A1 is relaxed)", race("stress_ring"),
        ("ipc/ring.c", "#ifdef MUSTER_WEAKEN_A1", "#ifndef MUSTER_WEAKEN_A1")),
    bug("ring: space is released too early (R2 is relaxed)", race("stress_ring"),
        ("ipc/ring.c", "#ifdef MUSTER_WEAKEN_R2", "#ifndef MUSTER_WEAKEN_R2")),
    bug("the sleeper's full fence is dropped", stress("stress_wake", "a wake was lost", "2000000", "0", "0"),
        ("ipc/wake.c", "#ifndef MUSTER_WEAKEN_F1", "#ifdef MUSTER_WEAKEN_F1")),
    bug("the waker's full fence is dropped", stress("stress_wake", "a wake was lost", "2000000", "0", "0"),
        ("ipc/wake.c", "#ifndef MUSTER_WEAKEN_F2", "#ifdef MUSTER_WEAKEN_F2")),
    bug("the wake-up protocol lacks the sleeper's fence", model("wake"), ("tests/model/wake.pml", "#ifndef NO_F1", "#ifdef NO_F1")),
    bug("the ring protocol counts a record before it is written", model("ring"), ("tests/model/ring.pml", "#ifdef NO_R1", "#ifndef NO_R1")),
    bug("the lease's deadline counts from the response, not from the request", model("lease"),
        ("tests/model/lease.pml", "#ifdef UNTIL_FROM_ANSWER", "#ifndef UNTIL_FROM_ANSWER")),
    bug("a Binding is abandoned without a fence", model("fence"), ("tests/model/fence.pml", "#ifdef NO_FENCE", "#ifndef NO_FENCE")),
    bug("frontend: a host is known by the beginning of its name", unit("frontend/base/test_loopback"),
        ("frontend/base/loopback.c", 'strcasecmp(host, "localhost") == 0', 'strncasecmp(host, "localhost", 9) == 0')),
    bug("frontend: a question without uid reserves capacity", unit("frontend/serve/test_extender"),
        ("frontend/serve/extender.c", "if (*job->question.uid)\n", "if (true)\n")),
    bug("frontend: questions prolong a reservation", unit("frontend/serve/test_extender"),
        (GRANTS, "if (g && now - g->first_ns < 2 * keep)\n", "if (false)\n")),
    bug("frontend: a verdict on a token has no end", unit("frontend/serve/test_tokens"),
        ("frontend/serve/tokens.c", "if (now_ns < e->until_ns)", "if (now_ns != 0)")),
    bug("frontend: any Host is allowed", unit("frontend/serve/test_request"),
        ("frontend/serve/request.c", "if (host_is_address(name) || host_is_loopback(name))", "if (n > 0)")),
    bug("unroll: pods that ended count as running", unit("ctl/objects/test_unroll"),
        ("ctl/objects/unroll.c", "	e->runs = !e->succeeded && !text_is", "	e->runs = !text_is")),
    bug("unroll: the first free index is not looked for", unit("ctl/objects/test_unroll"),
        ("ctl/objects/unroll_kinds.c", "		if (taken)\n			continue;", "		if (taken && i < 0)\n			continue;")),
    bug("pack: pieces that may be left out are needed", unit("core/pack/test_pack"),
        (PACK_BOUNDS, "\tuint64_t omit = s->p->omit;", "\tuint64_t omit = 0;")),
    bug("pack: the count of big pieces forgets those that may be left out", unit("core/pack/test_pack"),
        (PACK_BOUNDS, "[(size_t)s->depth * s->p->kinds + k] + s->p->omit)", "[(size_t)s->depth * s->p->kinds + k])")),
    bug("pack: a kind replaces a smaller one of another role", unit("core/pack/test_pack"),
        ("core/pack/pack_begin.c", "\tif (p->omit > 0 && p->role", "\tif (false && p->role")),
    bug("pack: a kind replaces a smaller one that may not stand where it stood", unit("core/pack/test_pack"),
        ("core/pack/pack_begin.c", "most[a] > 0 && most[b] < p->n[s->sorted[b]]", "false")),
    bug("pack: an attempt that left something out proves", unit("core/pack/test_pack"),
        ("core/pack/pack.c", "return s->cut ? PACK_GAVE_UP : PACK_IMPOSSIBLE;", "return PACK_IMPOSSIBLE;")),
    bug("pack: dead states are compared without their depth", unit("core/pack/test_pack"),
        ("core/pack/pack_dead.c", "at[0] == s->attempt && at[1] == s->depth &&", "at[0] == s->attempt &&"),
        ("core/pack/pack_dead.c", "s->depth * UINT64_C(0x9e3779b97f4a7c15)", "0")),
    bug("pack: limits by node and kind are passed over", unit("core/pack/test_pack"),
        (PACK_FILL, "most < s->left[kind] ? most : s->left[kind]", "most > 0 ? s->left[kind] : 0")),
    bug("victims: violations are not the first criterion", unit("ctl/preempt/test_victims"),
        (SEARCH_BRANCH, "\tif (a->violations != b->violations)", "\tif (false)")),
    bug("victims: broken gangs do not count", unit("ctl/preempt/test_victims"),
        (SEARCH_BRANCH, "\tif (a->broken != b->broken)", "\tif (false)")),
    bug("victims: the sum of priorities does not count", unit("ctl/preempt/test_victims"),
        (SEARCH_BRANCH, "\tif (a->sum != b->sum)", "\tif (false)"), (SEARCH_COUNTS, "\tif (a->sum != b->sum)", "\tif (false)")),
    bug("victims: ranks do not count", unit("ctl/preempt/test_victims"),
        (SEARCH_BRANCH, "return numbers_compare(a->rank_sum, b->rank_sum);", "return 0;")),
    bug("victims: counts leave ranks out", unit("ctl/preempt/test_victims"),
        (SEARCH_COUNTS, "\tif (a->rank_sum != b->rank_sum)", "\tif (false)")),
    bug("victims: twins go by their starts, whatever their ranks", unit("ctl/preempt/test_victims"),
        ("core/search/gang_units.c", "\tif (x->rank != y->rank)", "\tif (false)")),
    bug("victims: the older pods go", unit("ctl/preempt/test_victims"),
        (SEARCH_BRANCH, "numbers_compare(out->objective.start_sum, q->objective.start_sum)",
         "numbers_compare(q->objective.start_sum, out->objective.start_sum)")),
    bug("victims: counts prefer the older pods", unit("ctl/preempt/test_victims"),
        (SEARCH_COUNTS, "numbers_compare(b->start_sum, a->start_sum)", "numbers_compare(a->start_sum, b->start_sum)")),
    bug("victims: counts decide by the last name", unit("ctl/preempt/test_victims"),
        (SEARCH_SHARE, "if (*first == ID_NONE || gang_name_before(t->q, at, *first)) {",
         "if (*first == ID_NONE || !gang_name_before(t->q, at, *first)) {")),
    bug("victims: the cheapest member first, where two together are cheaper", unit("ctl/preempt/test_victims"),
        (SEARCH_SHARE, "if (extra_compare(t, &before, &next) > 0)", "if (extra_compare(t, &before, &next) > 1)")),
    bug("victims: of two nodes the last name goes", unit("ctl/preempt/test_victims"),
        (SEARCH_SHARE, "\treturn b_goes ? 1 : -1;", "\treturn b_goes ? -1 : 1;")),
    bug("victims: of one pod's victims the most important stays away", unit("ctl/preempt/test_one_pod"),
        ("core/search/pod_quick.c", "\t\tif (fits(q, row))\n\t\t\tcontinue;", "\t\tif (i > 0 && fits(q, row))\n\t\t\tcontinue;")),
    bug("victims: just enough room is none", unit("ctl/preempt/test_victims"),
        ("core/search/gang_room.c", "return room->takes_n >= room->most;", "return room->takes_n > room->most;")),
    bug("victims: a gang loses more than its surplus and lives", unit("ctl/preempt/test_victims"),
        (SEARCH_BRANCH, "return goes > search_gang_facts(&q->s, gang)->surplus;",
         "return goes > search_gang_facts(&q->s, gang)->surplus + 1;")),
    bug("victims: a pod listed as disrupted counts in its budget", unit("ctl/preempt/test_victims"),
        ("ctl/preempt/facts.c", "\t\tif (!disrupted)\n\t\t\titem_add", "\t\titem_add")),
    bug("credentials: a plugin that failed is believed", unit("ctl/up/test_credential"),
        ("ctl/up/credential.c", "(end = run(x, program, a, &out)) != PROCESS_DONE) {", "(end = run(x, program, a, &out)) != PROCESS_DONE && out.n == 0) {")),
    bug("credentials: a token may have white space", unit("ctl/up/test_credential"),
        ("ctl/up/credential.c", "(unsigned char)*text > ' '", "(unsigned char)*text >= ' '")),
    bug("credentials: any apiVersion of the answer will do", unit("ctl/up/test_credential"),
        ("ctl/up/credential.c", "version == NULL || strcmp(version, api_version) != 0", "version == NULL")),
    bug("waits: a refused binding starts the wait anew", unit("frontend/trace/test_waits"),
        ("frontend/trace/waits.c", "if (s->generation != cmd->generation)", "if (true)")),
    bug("waits: a gang without all members goes on waiting", unit("frontend/trace/test_waits"),
        ("frontend/trace/waits.c", "\tdefault:\n\t\ts->generation = 0;", "\tdefault:")),
    bug("usage: what is free on cordoned nodes counts", unit("frontend/page/test_answers"),
        ("frontend/trace/usage.c", "if (!open || free <= 0)", "if (free <= 0)")),
    bug("usage: a node that only pods name counts", unit("frontend/page/test_answers"),
        ("frontend/trace/usage.c", " && (one->flags & NODE_PRESENT))", ")")),
    bug("victims: a pod of two budgets may be evicted by the Eviction API", unit("ctl/preempt/test_victims"),
        ("core/search/search.c", "if (f->spared || (facts->respect && f->budgets_n > 1))", "if (f->spared)")),
    bug("victims: a search leaves a pod away", unit("ctl/preempt/test_victims"),
        ("core/search/search.c", "\tfor (pod_id id = 0; s->away_n > 0; id++)\n\t\tsearch_restore(s, id);\n", "")),
]


# ---- checks of records ------------------------------------------------------------------------------

def closing(text, at):
    """Index of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError(text[at:at + 80])


def operands(condition):
    """The operands of || outside of all parentheses: (from, to)."""
    depth, first, out = 0, 0, []
    for i, c in enumerate(condition):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0 and condition.startswith("||", i):
            out.append((first, i))
            first = i + 2
    return [*out, (first, len(condition))]


def words(text):
    return re.sub(r"\s+", " ", text).strip()


def conditions_left_out(path, text, returns):
    """Each operand of each condition that guards such a return, replaced by `false`."""
    for match in re.finditer(r"\b(?:if|while) \(", text):
        begin = match.end() - 1
        end = closing(text, begin)
        said = re.match(r"\)\s*return (" + returns + r")", text[end:])
        if not said or text[match.end():end] == "rc == -EPROTO":  # it only sets a text
            continue
        condition = text[begin + 1:end]
        for first, last in operands(condition):
            left = condition[:first] + " false " + condition[last:]
            yield words(said.group(1)), words(condition[first:last]), (path, begin + 1, end, left)


def calls_left_out(path, text):
    """Calls of checks: `if (!fault) fault = ...`, and the last one, `return fault ? fault : ...`."""
    for match in re.finditer(r"\tif \(!fault\)\n\t\t(fault = [^;]*);", text):
        yield "not called", words(match.group(1)), (path, *match.span(1), "fault = NULL")
    for match in re.finditer(r"return fault \? fault : ([^;]*);", text):
        yield "not called", words(match.group(1)), (path, *match.span(), "return fault;")
    for match in re.finditer(r"\n\tfault = ([^;]*_fault\([^;]*);", text):
        yield "not called", words(match.group(1)), (path, *match.span(1), "NULL")


def last_checks_left_out(path, text):
    """return A ? NULL : "..."; and return A ? "..." : NULL;"""
    for match in re.finditer(r'return ([^;]*?) \? NULL : ("[^"]*");', text):
        yield match.group(2), words(match.group(1)), (path, *match.span(), "return NULL;")
    for match in re.finditer(r'return ([^;]*?) \? ("[^"]*") : NULL;', text):
        yield match.group(2), words(match.group(1)), (path, *match.span(), "return NULL;")


# Where two checks reject the same records, either may be removed.
SPARE = {
    "r->bytes < sizeof(*r)": "the rest of its body is then no whole number of arrays",
    "r->bytes < head": "no shorter record is as long as head and what follows it",
    "r->bytes % 8 != 0": "every array is padded to 8, so some bytes are left over",
}


def spare(said, condition, _):
    # Without the struct, the fields after it are missing as well.
    return condition in SPARE or re.fullmatch(r"!\w\.body", condition)


CORE = "core/step/core.c"
TURNS = [
    ("an epoch 0", CORE, 'return r->epoch == 0 ? "epoch 0" : NULL;', "return NULL;"),
    ("a record before the first epoch", CORE, '\tif (c->epoch == 0)\n\t\treturn "a record before the first epoch";\n', ""),
    ("a record of another epoch", CORE, 'return r->epoch == c->epoch ? NULL : "a record of another epoch";', "return NULL;"),
    ("a shape changed while pods had it", "core/cluster/shapes.c", "\tif (old && old->pods > 0)\n\t\treturn -EPROTO;\n", ""),
    ("a node changed its name", "core/cluster/nodes.c",
     "n->generation != e->generation || node_name_compare(ns, n, record->name, e->name_bytes) != 0", "n->generation != e->generation"),
    ("a node of another generation", CORE, "if (n->generation && n->generation != record.body->generation) {", "if (false) {"),
    ("a node with an unnamed resource", CORE, "if (!resources_known(c, record->amounts, record->body->amounts_n))", "if (false)"),
    ("a node with an unnamed taint", CORE, "if (c->ledger.names[record->taints[i].name].bytes == 0)", "if (false)"),
]


def span_bug(group, said, condition, edit, finder):
    return Bug(group, f"{said}: {condition}", [edit], finder)


def checks(read):
    """All checks of core/shm/records.c, and those against the core's state.  read(path): its text."""
    path = "core/shm/records.c"
    text = read(path)
    found = [*conditions_left_out(path, text, r'"[^"]*"|false|NULL(?=;\n\tb->at)'), *calls_left_out(path, text), *last_checks_left_out(path, text)]
    found = [f for f in found if not spare(*f)]
    found.append(("selectors", "*words <= SELECTOR_WORDS_MOST", (path, *span_of(text, "return *words <= SELECTOR_WORDS_MOST;"), "return true;")))
    found.append(("span_within", "first + n", (path, *span_of(text, "return (uint64_t)span.first + span.n <= n;"), "return true;")))
    for item in found:
        yield span_bug(path, *item, fuzzer("records"))
    for path in ("core/step/core.c", "core/lifecycle/groups.c", "core/lifecycle/members_event.c", "core/lifecycle/assume.c"):
        text = read(path)
        for said, condition, edit in conditions_left_out(path, text, r'refuse\(c, "[^"]*"\)'):
            yield span_bug("checks against known state", said[len("refuse(c, "):-1], condition, edit, fuzzer("records"))
    for name, *edit in TURNS:
        yield Bug("checks against known state", name, [edit], fuzzer("records"))


def span_of(text, part):
    at = text.index(part)
    return at, at + len(part)
