# SPDX-License-Identifier: Apache-2.0
"""Bugs that are put in on purpose, each alone, and the part of the suite that has to find it: tests/mutate.py does so.

A bug is edits of exact text.  Every check of core/shm/records.c, and every record that the core refuses for what it was told
before, is left out in turn; these are read from the source itself."""
import collections
import re

Bug = collections.namedtuple("Bug", "group name edits finder")
Finder = collections.namedtuple("Finder", "kind name limit arguments pattern")


# ---- what finds it: kind, name, seconds -----------------------------------------------------------

def fuzzer(name, seconds=120):
    return Finder("fuzzer", name, seconds, ("--seconds", str(seconds)), "")


def sim(seeds):
    return Finder("simulator", "muster-sim", 300, ("--no-shrink", "--seeds", str(seeds)), "seed")


def unit(name):
    return Finder("unit test", name, 100, (), "Unexpected|Assertion|ERROR")


def race(name, *arguments):
    return Finder("stress under TSan", name, 60, arguments, "ThreadSanitizer: data race")


def stress(name, pattern, *arguments):
    return Finder("stress", name, 60, arguments, pattern)


def model(name):
    return Finder("model", name, 100, (), r"errors: [1-9]")


# ---- bugs one by one --------------------------------------------------------------------------------

def bug(name, finder, *edits):
    return Bug("", name, edits, finder)


MEMBERS, RESERVE, EVENT = "core/lifecycle/members.c", "core/lifecycle/members_reserve.c", "core/lifecycle/members_event.c"
BINDING, STREAM, LIST = "frontend/bind/binding.c", "frontend/watch/watch_stream.c", "frontend/watch/watch_list.c"
GROUP = "frontend/bind/groupread.c"

BUGS = [
    bug("core: the room of a pod that goes is not given back", sim(100),
        (EVENT, "\tlist_leave(c, p);\n\troom_give(c, p);\n\tnamed_set(c, p, ID_NONE);",
         "\tlist_leave(c, p);\n\tnamed_set(c, p, ID_NONE);")),
    bug("the same, by records", fuzzer("records"),
        (EVENT, "\tlist_leave(c, p);\n\troom_give(c, p);\n\tnamed_set(c, p, ID_NONE);",
         "\tlist_leave(c, p);\n\tnamed_set(c, p, ID_NONE);")),
    bug("a reservation that was not sent is not checked against the node as it is now", unit("core/lifecycle/test_core_unsent"),
        (RESERVE, "(p->withdrawn || still_fits(c, p))))", "true))")),
    bug("the quorum counts one too few", sim(100),
        ("core/queue/gangs.c", "need->total = gang_missing(g);", "need->total = gang_missing(g) - (gang_missing(g) > 1);")),
    bug("a gang that has begun goes before nobody", sim(3000),
        ("core/queue/gangs.h", ".standing = gang_has_begun(g)   ? GANG_STANDS_FIRST\n\t\t                                  :", ".standing = false ? GANG_STANDS_FIRST :")),
    bug("a Binding without uid", sim(100),
        (BINDING, '"\\"uid\\":@s,\\"resourceVersion\\":@s},\\"target\\"', '"\\"resourceVersion\\":@s},\\"target\\"'),
        (BINDING, "b->name, b->namespace, b->uid, b->version, b->node);", "b->name, b->namespace, b->version, b->node);")),
    bug("a Binding without resourceVersion", sim(1000),
        (BINDING, '"\\"uid\\":@s,\\"resourceVersion\\":@s},\\"target\\"', '"\\"uid\\":@s},\\"target\\"'),
        (BINDING, "b->name, b->namespace, b->uid, b->version, b->node);", "b->name, b->namespace, b->uid, b->node);")),
    bug("the server takes a Binding whose resourceVersion is old", sim(3000),
        ("tests/apisim/bind.c", "(!as_parse_version(version, &wanted) || wanted != pod->version)", "!as_parse_version(version, &wanted)")),
    bug("the fence is left out: a Binding that may still land counts as dead", sim(3000),
        (BINDING, "b->give_up ? STEP_FENCE : STEP_POST,\n\t             backoff", "STEP_POST, backoff"),
        (BINDING, "\tif (b->maybe)\n\t\twriter_later(b, STEP_READ, backoff_failed(&b->backoff, b->writer->config.env));\n\telse\n"
                  "\t\tbinding_refused(b);", "\tb->maybe = false;\n\tbinding_refused(b);")),
    bug("what an earlier frontend sent is forgotten when its gang can't begin any more", unit("core/lifecycle/test_core_binds"),
        (RESERVE, "\tif (!p->carried) {", "\tif (!p->carried || p->attempt > 0) {")),
    bug("a pod that is being taken back counts as one that has a node", unit("core/lifecycle/test_core_binds"),
        ("core/cluster/pods.h", "if (p->state == POD_RESERVED && !p->withdrawn)", "if (p->state == POD_RESERVED)")),
    bug("an answer to another core is taken by its attempt", unit("frontend/bind/test_writer"),
        ("frontend/bind/writer.c", "\t\tb->cmd.attempt = ATTEMPT_OTHER;", "\t\tb->cmd.attempt += ATTEMPT_OTHER;")),
    bug("room of a member in its backoff goes back with a plan that did not try it", unit("core/lifecycle/test_core_begun"),
        ("core/lifecycle/members.c", "if ((of_tried_too || p->class != MEMBER_READY) &&\n\t\t    views", "if (of_tried_too && views")),
    bug("what refused members kept is not carried to the next frontend", unit("core/lifecycle/test_core_binds"),
        ("core/lifecycle/carry.c", "return in_flight(p) || pod_keeps_room(p);", "return in_flight(p);")),
    bug("room is kept while a member has a gate", unit("core/lifecycle/test_core_begun"),
        ("core/lifecycle/members.c", "gang_has_begun(g) && gang_enough(g, MEMBER_BACKOFF) &&", "gang_has_begun(g) && gang_enough(g, MEMBER_REFUSED) &&")),
    bug("a new core is not told where members were refused", unit("frontend/bind/test_writer"),
        ("frontend/bind/writer.c", "\t\tat->told = refused_waits(w, id, at);", "\t\tat->told = false;")),
    bug("the first plan doesn't wait for what an earlier instance may have sent", unit("frontend/loop/test_frontend"),
        ("frontend/loop/frontend.c", "\tif (!settle_over(f->settle))", "\tif (f->settle == NULL)")),
    bug("a version that a list didn't know counts as moved on", unit("frontend/bind/test_writer"),
        (BINDING, "bool moved = !b->earlier && strcmp", "bool moved = strcmp")),
    bug("an unknown answer is told as a refusal", sim(3000),
        (BINDING, "\tcase BIND_UNKNOWN:\n\t\tbind_unknown(b, answer);", "\tcase BIND_UNKNOWN:\n\t\tbinding_give_up(b, 0);")),
    bug("one result in eight is lost", sim(1000),
        (BINDING, "\tb->writer->config.result(b->writer->config.context, kind, &r);",
         "\tif ((b->cmd.pod + b->cmd.attempt) % 8 != 0)\n\t\tb->writer->config.result(b->writer->config.context, kind, &r);")),
    bug("an instance acts past its deadline", sim(1000),
        ("frontend/api/lease.c", "return !l->lost && !l->releasing && env_now(l->config.env) < l->lead_until_ns;",
         "return !l->lost && !l->releasing && l->lead_until_ns > 0;"),
        ("frontend/api/lease.c", "(l->lead_until_ns > 0 && !l->releasing && env_now(l->config.env) >= l->lead_until_ns)", "false")),
    bug("a watch skips one event in forty", sim(100),
        (STREAM, "\tw->said++;\n", "\tw->said++;\n\tif (w->said % 40 == 0)\n\t\treturn 0;\n")),
    bug("a watch starts three versions after its list", sim(100),
        (LIST, "\t\tmemcpy(w->version, page.resource_version, sizeof(w->version));",
         '\t\tsnprintf(w->version, sizeof(w->version), "%llu", strtoull(page.resource_version, NULL, 10) + 3);')),
    bug("a new list does not remove what is gone", sim(1000),
        (LIST, "\tmodel_replace_end(w->model, w->index);\n\tPROBE(list_taken", "\tmodel_replace_abort(w->model, w->index);\n\tPROBE(list_taken")),
    bug("a new core is not told which Bindings are under way", sim(1000),
        ("frontend/model/model_flush.c", "\tif (p->node == ID_NONE && p->binding != ID_NONE) {", "\tif (false) {")),
    bug("410 is no reason to list", sim(1000),
        (STREAM, "\t\treturn VERDICT_RELIST_NOW;", "\t\treturn VERDICT_BACKOFF;"),
        (STREAM, "\tif (answer->status == 410) {", "\tif (false) {")),
    bug("the rest of a broken line is kept for the next watch", sim(1000),
        (STREAM, "\tframes_reset(&w->frames);\n", "")),
    bug("a condition that was dropped is not said again", sim(3000),
        ("frontend/report/report.c", "\treport_item_say(i, i->stands, i->stands_reason);\n\treturn true;", "\treturn true;")),
    bug("a gang begins without a look at its group", unit("frontend/bind/test_groupread"),
        (GROUP, "\tif (!is_to_be_read(b->writer, &b->cmd))", "\tif (b->cmd.pod != ID_NONE)")),
    bug("the same, in the simulator", sim(1000),
        (GROUP, "\tif (!is_to_be_read(b->writer, &b->cmd))", "\tif (b->cmd.pod != ID_NONE)")),
    bug("a plan for what the group was before is taken", unit("frontend/bind/test_groupread"),
        (GROUP, "if (there && b->cmd.terms == terms) {", "if (there) {")),
    bug("a pod that is being bound is told why it waits", unit("frontend/report/test_report"),
        ("frontend/report/report_item.c", "(!r->config.writer || !writer_has(r->config.writer, pod->id, pod->generation))", "true")),
    bug("room that a node can't give any more is kept", unit("core/lifecycle/test_core_begun"),
        (MEMBERS, " &&\n\t\t    views_count_at(&c->views, p->node, p->kind) > 0)", " && p->node != ID_NONE)")),
    bug("ring: publishing releases nothing (R1 is relaxed)", race("stress_ring"),
        ("ipc/ring.c", "#ifdef MUSTER_WEAKEN_R1", "#ifndef MUSTER_WEAKEN_R1")),
    bug("ring: reading acquires nothing (A1 is relaxed)", race("stress_ring"),
        ("ipc/ring.c", "#ifdef MUSTER_WEAKEN_A1", "#ifndef MUSTER_WEAKEN_A1")),
    bug("ring: room is given back too early (R2 is relaxed)", race("stress_ring"),
        ("ipc/ring.c", "#ifdef MUSTER_WEAKEN_R2", "#ifndef MUSTER_WEAKEN_R2")),
    bug("the sleeper's full fence is dropped", stress("stress_wake", "a wake was lost", "2000000", "0", "0"),
        ("ipc/wake.c", "#ifndef MUSTER_WEAKEN_F1", "#ifdef MUSTER_WEAKEN_F1")),
    bug("the waker's full fence is dropped", stress("stress_wake", "a wake was lost", "2000000", "0", "0"),
        ("ipc/wake.c", "#ifndef MUSTER_WEAKEN_F2", "#ifdef MUSTER_WEAKEN_F2")),
    bug("the protocol of waking has no fence of the sleeper", model("wake"), ("tests/model/wake.pml", "#ifndef NO_F1", "#ifdef NO_F1")),
    bug("the protocol of a ring counts a record before it is written", model("ring"), ("tests/model/ring.pml", "#ifdef NO_R1", "#ifndef NO_R1")),
    bug("the lease's deadline counts from the answer, not from the request", model("lease"),
        ("tests/model/lease.pml", "#ifdef UNTIL_FROM_ANSWER", "#ifndef UNTIL_FROM_ANSWER")),
    bug("a Binding is given up without a fence", model("fence"), ("tests/model/fence.pml", "#ifdef NO_FENCE", "#ifndef NO_FENCE")),
]


# ---- checks of records ------------------------------------------------------------------------------

def closing(text, at):
    """Where the parenthesis that opens at `at` closes."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError(text[at:at + 80])


def operands(condition):
    """What || joins, from outside of all parentheses: (from, to)."""
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
    """Each operand of each condition behind which it returns like that, with `false` in its place."""
    for match in re.finditer(r"\b(?:if|while) \(", text):
        begin = match.end() - 1
        end = closing(text, begin)
        said = re.match(r"\)\s*return (" + returns + r")", text[end:])
        if not said or text[match.end():end] == "rc == -EPROTO":  # a text alone
            continue
        condition = text[begin + 1:end]
        for first, last in operands(condition):
            left = condition[:first] + " false " + condition[last:]
            yield words(said.group(1)), words(condition[first:last]), (path, begin + 1, end, left)


def calls_left_out(path, text):
    """A reading that is not asked for: `if (!fault) fault = ...`, and the last one, `return fault ? fault : ...`."""
    for match in re.finditer(r"\tif \(!fault\)\n\t\t(fault = [^;]*);", text):
        yield "not asked", words(match.group(1)), (path, *match.span(1), "fault = NULL")
    for match in re.finditer(r"return fault \? fault : ([^;]*);", text):
        yield "not asked", words(match.group(1)), (path, *match.span(), "return fault;")
    for match in re.finditer(r"\n\tfault = ([^;]*_fault\([^;]*);", text):
        yield "not asked", words(match.group(1)), (path, *match.span(1), "NULL")


def last_checks_left_out(path, text):
    """return A ? NULL : "..."; and return A ? "..." : NULL;"""
    for match in re.finditer(r'return ([^;]*?) \? NULL : ("[^"]*");', text):
        yield match.group(2), words(match.group(1)), (path, *match.span(), "return NULL;")
    for match in re.finditer(r'return ([^;]*?) \? ("[^"]*") : NULL;', text):
        yield match.group(2), words(match.group(1)), (path, *match.span(), "return NULL;")


# Of two checks that refuse the same either may go.
SPARE = {
    "r->bytes < sizeof(*r)": "what is left of its body is then no whole number of arrays",
    "r->bytes % 8 != 0": "every array is padded to 8, so that some bytes are left over",
}


def spare(said, condition, _):
    # What lies behind a struct that is not there is not there either.
    return condition in SPARE or re.fullmatch(r"!\w\.body", condition)


CORE = "core/step/core.c"
TURNS = [
    ("an epoch 0", CORE, 'return r->epoch == 0 ? "epoch 0" : NULL;', "return NULL;"),
    ("a record before the first epoch", CORE, '\tif (c->epoch == 0)\n\t\treturn "a record before the first epoch";\n', ""),
    ("a record of another epoch", CORE, 'return r->epoch == c->epoch ? NULL : "a record of another epoch";', "return NULL;"),
    ("a shape changed while pods had it", "core/cluster/shapes.c", "\tif (old && old->pods > 0)\n\t\treturn -EPROTO;\n", ""),
    ("a node changed its name", "core/cluster/nodes.c",
     "n->generation != e->generation || name_compare(ns, n, record->name, e->name_bytes) != 0", "n->generation != e->generation"),
    ("a node of another generation", CORE, "if (n->generation && n->generation != record.body->generation) {", "if (false) {"),
    ("a node with an unnamed resource", CORE, "if (!resources_known(c, record->amounts, record->body->amounts_n))", "if (false)"),
    ("a node with an unnamed taint", CORE, "if (c->ledger.names[record->taints[i].name].bytes == 0)", "if (false)"),
]


def span_bug(group, said, condition, edit, finder):
    return Bug(group, f"{said}: {condition}", [edit], finder)


def checks(read):
    """All of core/shm/records.c, and what is refused for what was told before.  read(path): its text."""
    path = "core/shm/records.c"
    text = read(path)
    found = [*conditions_left_out(path, text, r'"[^"]*"|false|NULL(?=;\n\tb->at)'), *calls_left_out(path, text), *last_checks_left_out(path, text)]
    found = [f for f in found if not spare(*f)]
    found.append(("selectors", "*words <= SELECTOR_WORDS_MOST", (path, *span_of(text, "return *words <= SELECTOR_WORDS_MOST;"), "return true;")))
    found.append(("span_within", "first + n", (path, *span_of(text, "return (uint64_t)span.first + span.n <= n;"), "return true;")))
    for item in found:
        yield span_bug(path, *item, fuzzer("records"))
    for path in ("core/step/core.c", "core/lifecycle/groups.c", "core/lifecycle/members_event.c", "core/lifecycle/claims.c"):
        text = read(path)
        for said, condition, edit in conditions_left_out(path, text, r'refuse\(c, "[^"]*"\)'):
            yield span_bug("what was told before", said[len("refuse(c, "):-1], condition, edit, fuzzer("records"))
    for name, *edit in TURNS:
        yield Bug("what was told before", name, [edit], fuzzer("records"))


def span_of(text, part):
    at = text.index(part)
    return at, at + len(part)
