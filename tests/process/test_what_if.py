# SPDX-License-Identifier: Apache-2.0
"""explain --what-if -f: the running scheduler says of a gang, or of lone pods, that nobody has created where they would
start; then they are created, and start there.  The question changes nothing."""
import json
import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import load, objects, peers  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import check, equal, eventually, main, until  # noqa: E402


def job(name, pods, **more):
    """A Job whose pods are a gang, as its controller would make them."""
    template = objects.pod("x", group=name, **more)
    return [objects.pod_group(name, pods),
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
             "spec": {"parallelism": pods, "completions": pods,
                      "template": {"metadata": {"labels": template["metadata"]["labels"]}, "spec": template["spec"]}}}]


class Asked(Cluster):
    def what_if(self, made, *flags):
        """Exit status, answer (None: there is none), and the message."""
        of = os.path.join(self.folder, "gang.json")
        load.save(of, made)
        code, out, err = self.ask("explain", "--what-if", "-f", of, "--listen", self.listen, "-o", "json", *flags)
        return code, json.loads(out) if out else None, err

    def places(self, prefix):
        """How many pods of that prefix are on each node."""
        on = {}
        for p in self.pods():
            if p["metadata"]["name"].startswith(prefix) and p["spec"].get("nodeName"):
                on[p["spec"]["nodeName"]] = on.get(p["spec"]["nodeName"], 0) + 1
        return on


def comes_true(c):
    code, answer, err = c.what_if(job("train", 6))
    equal((code, answer["answer"], answer["what_if"], answer["gang"]), (0, "starts", ["created"], "default/train"), err)
    check("6 pods of workloads were made" in err, err)
    places = {p["node"]: p["members"] for p in answer["places"]}
    equal((sum(places.values()), answer["nodes"]), (6, len(places)))
    check("default/train" not in c.ask("gangs", "-o", "json")[1])
    equal(c.places("train"), {})
    text = c.ask("explain", "--what-if", "-f", os.path.join(c.folder, "gang.json"), "--listen", c.listen)
    check(text[0] == 0 and "gang default/train, if it was created now: It would start: 6 members on" in text[1], text)
    c.create(*[o for made in objects.gang("train", 6) for o in (made if isinstance(made, list) else [made])])
    until(lambda: sum(c.places("train").values()) == 6, 20, lambda: c.places("train"))
    equal(c.places("train"), places)


def waits(c):
    code, answer, err = c.what_if(job("large", 9))
    equal((code, answer["answer"], answer["places"]), (1, "waits", []), err)
    check("Insufficient cpu" in answer["reason"] or "members have room" in answer["reason"], answer)
    code, answer, err = c.what_if(job("odd", 2, requests={"example.com/none": "1"}))
    equal((code, answer["answer"]), (1, "waits"), err)
    check("example.com/none" in answer["reason"], answer)
    code, answer, err = c.what_if(job("alone", 2)[1:])
    equal((code, answer["answer"]), (1, "waits"), err)
    check("not found" in answer["reason"] or "does not exist" in answer["reason"], answer)


def lone_pods(c, free):
    """`free` CPUs are left: so many of the pods start, when they are created, too."""
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": free + 1, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}}, "spec": objects.pod("x")["spec"]}}}
    code, answer, err = c.what_if([made])
    equal((code, answer["answer"], answer["gang"], answer["pods"], answer["pods_started"]), (1, "waits", None, free + 1, free), err)
    equal(sum(p["members"] for p in answer["places"]), free)
    check(answer["reason"].startswith("0/2 nodes are available: 2 Insufficient cpu."), answer)
    check(answer["pod_waits"].startswith("default/web-"), answer)
    text = c.ask("explain", "--what-if", "-f", os.path.join(c.folder, "gang.json"), "--listen", c.listen)[1]
    check(f"{free + 1} pods, if they were created now: {free} would start, on" in text and "would wait:\n0/2 nodes" in text, text)
    code, answer, err = c.what_if([objects.pod("lone")])
    equal((code, answer["answer"], answer["pods"], answer["pods_started"], answer["nodes"]), (0, "starts", 1, 1, 1), err)
    text = c.ask("explain", "--what-if", "-f", os.path.join(c.folder, "gang.json"), "--listen", c.listen)
    equal(text[:2], (0, f"pod default/lone, if it was created now: It would start.\n  {answer['places'][0]['node']}: 1\n"))
    c.create(objects.pod("lone"))
    until(lambda: c.places("lone"), 20, lambda: c.pods())
    equal(c.places("lone"), {answer["places"][0]["node"]: 1})


def files_that_are_none(c):
    bound = objects.pod("bound", group="g", nodeName="n1")
    claims = objects.pod("claims", group="g")
    claims["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    for made, code, words in (([objects.node("n9", cpu="1")], 2, "there are no pods"),
                              (job("a", 1) + [objects.pod("alone")], 2, "a gang is asked about, or pods without a gang, not both"),
                              ([objects.pod_group("a", 1), objects.pod("alone")], 2, "is in no gang, and there is a group"),
                              (job("a", 1) + job("b", 1), 2, "is in another gang, and one is asked about"),
                              ([objects.pod_group("train", 1), objects.pod("p", group="train")], 2, "the cluster has a group of this name"),
                              ([objects.pod("train-9", group="train")], 2, "is in a gang that the cluster has"),
                              ([bound], 2, "spec.nodeName"), ([claims], 2, "Pod default/claims: spec.resourceClaims[0]: devices are known for pods of the "
                               "cluster alone, and gpu is of the ResourceClaimTemplate one-gpu"),
                              ([objects.pod_group("huge", 1500)] + [objects.pod(f"huge-{i}", group="huge") for i in range(1500)], 2,
                               "the gang is too large for a question to muster-core")):
        got = c.what_if(made)
        check(got[0] == code and got[1] is None and words in got[2], words, got)
    of = os.path.join(c.folder, "gang.json")
    load.save(of, job("fits", 1))
    for flags, code, words in ((("--what-if", "-f"), 2, "a file is missing"),
                               (("--what-if", "-f", of, "--what-if", "nodes=1"), 2, "goes without other changes"),
                               (("--what-if", "-f", of, "--listen", "127.0.0.1:1"), 1, "is muster-frontend there?"),
                               (("--listen", c.listen, "default/train"), 2, "--listen goes with --what-if -f FILE")):
        said = c.ask("explain", *flags)
        check(said[0] == code and not said[1] and words in said[2], words, said)


def strange_gangs(c):
    """Records that are no gang get a refusal and the end of the connection; the core serves on."""
    layout = peers.layout_of(c.core.log())

    def gang(data=b"", size=None, version=4):
        return (struct.pack("<QQII", peers.MAGIC, layout, 7, 0) + struct.pack("<IIQ", version, len(data) if size is None else size, 0) +
                data)

    rng = random.Random(18)
    for sent, words in ((gang(), "no question"), (gang(bytes(64), 63), "no question"), (gang(bytes(8)), "wrong length"),
                        (gang(bytes(64)), "invalid"), (gang(bytes(64), version=1), "another version"),
                        (gang(struct.pack("<IHHQQQ", 40, 4, 0, 0, 0, 0)), ""),
                        *[(gang(struct.pack("<IHH", 512, rng.randrange(1, 20), 0) + rng.randbytes(504)), "") for _ in range(20)],
                        *[(gang(rng.randbytes(131072)), "") for _ in range(3)], (gang(bytes(131080)), "no question")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.settimeout(30)
            peer.connect(c.socket)
            peer.send(struct.pack("<QQII", peers.MAGIC, layout, peers.HELLO, peers.OBSERVER))
            _, fds, _, _ = socket.recv_fds(peer, 512, 4)
            for fd in fds:
                os.close(fd)
            peer.send(sent)
            answer = peer.recv(1 << 16)
            check(words.encode() in answer[-256:], words, answer[-256:])
            equal(struct.unpack_from("<II", answer, 24), (4, 0), "a refusal")
            equal(peer.recv(1 << 16), b"", "closed")
    check(c.core.running(), c.core.log())


def test_a_gang_of_files():
    with Asked(objects.node("n1", cpu="4"), objects.node("n2", cpu="5"), objects.pod("there", cpu="1", nodeName="n1")) as c:
        c.pair()
        eventually(lambda: equal(c.what_if(job("first", 1))[0], 0))
        lone_pods(c, 8)
        comes_true(c)
        waits(c)
        files_that_are_none(c)
        strange_gangs(c)
        equal(c.what_if(job("fits", 1))[1]["answer"], "starts")
        equal(c.metric("muster_world_mismatch_total"), 0)


def test_without_a_world():
    with Asked(objects.node("n1", cpu="4")) as c:
        c.pair(core=("--searchers", "0"))
        eventually(lambda: check("--searchers 0" in c.what_if(job("g", 1))[2], c.what_if(job("g", 1))))


main(globals())
