# SPDX-License-Identifier: Apache-2.0
"""muster on a real kube-apiserver, as a user with the rights of
deploy/base/rbac.yaml and no others.

    tests/real/test_real.py [TEST...]      MUSTER_KEEP=1 keeps the logs
"""
import base64
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import check, harness, kube, muster  # noqa: E402
from lib.check import condition  # noqa: E402
from lib.harness import Skip, becomes, equal, main, steady, until  # noqa: E402
from lib.objects import gang, node, pod, pod_group  # noqa: E402
from real.version import pinned, streams_lists, version  # noqa: E402
from real.world import SOON_S, STILL_S, World, machines  # noqa: E402


def test_gang_of_100_is_placed_whole():
    world.fresh(*machines(20))
    group, members = gang("train", 100)
    start = time.monotonic()
    world.create(group, *members)
    world.settles("train", 100)
    harness.figure(f"gang of 100: {time.monotonic() - start:.2f} s from the first create to a whole gang")


def test_gang_that_cannot_fit_says_by_how_much_and_starts_when_a_node_comes():
    world.fresh(*machines(4, cpu="8"))
    group, members = gang("big", 5, cpu="8")
    world.create(group, *members)
    world.waits("big", r"^0/4 nodes are available: 4 Insufficient cpu\.", r"\b4 of 5\b",
                r"cpu: need 40, have 32\b")
    world.create(*machines(1, first=4, cpu="8"))
    world.settles("big", 5)


def test_gang_that_cannot_fit_does_not_keep_room_from_a_smaller_one():
    world.fresh(*machines(4, cpu="8"))
    group, members = gang("big", 5, cpu="8")
    world.create(group, *members)
    world.waits("big")
    group, members = gang("small", 4, cpu="8")
    world.create(group, *members)
    world.settles("small", 4)
    equal(world.bound("big"), 0, "big")


def test_pod_group_that_arrives_after_its_pods():
    world.fresh(*machines(3))
    _, members = gang("early", 6)
    world.create(*members)
    world.waits("early")
    world.create(pod_group("early", 6))
    world.settles("early", 6)


def test_pods_of_a_missing_group_name_it():
    world.fresh(*machines(3))
    _, members = gang("orphan", 3)
    world.create(*members)
    world.waits("orphan", r"default/orphan")


def test_member_that_arrives_late():
    world.fresh(*machines(3))
    group, members = gang("slow", 3)
    world.create(group, *members[:2])
    world.waits("slow", r"\b2 of 3\b|2 members|\bhas 2\b")
    world.create(members[2])
    world.settles("slow", 3)


def test_member_beyond_the_quorum_starts_as_room_allows():
    world.fresh(*machines(2, cpu="2"))
    group, members = gang("more", 5, min_member=3)
    world.create(group, *members)
    world.settles("more", 4)
    world.create(*machines(1, first=2, cpu="2"))
    world.settles("more", 5)


def test_plain_pods_are_placed_and_those_of_others_left_alone():
    world.fresh(*machines(5))
    world.create(*[pod(f"plain-{i}") for i in range(20)], pod("foreign-0", scheduler="somebody"))
    world.settles("plain", 20)
    equal(world.bound("foreign"), 0, "pods of another scheduler")
    equal(condition(world.pods("foreign")[0]), None, "condition of another scheduler's pod")


def test_rules_of_nodes_and_pods_are_kept():
    world.fresh(node("tainted", taints=[{"key": "gone", "value": "soon", "effect": "NoSchedule"}]),
                node("cordoned", unschedulable=True), node("plain"), node("ssd", labels={"disk": "ssd"}))
    tolerates = [{"key": "gone", "operator": "Exists"}]
    in_pairs = {"tolerant": pod("tolerant", tolerations=tolerates, nodeSelector={"kubernetes.io/hostname": "tainted"}),
                "choosy": pod("choosy", nodeSelector={"disk": "ssd"}),
                "shy": pod("shy", nodeSelector={"kubernetes.io/hostname": "tainted"}),
                "barred": pod("barred", nodeSelector={"kubernetes.io/hostname": "cordoned"})}
    world.create(*in_pairs.values())
    until(lambda: world.bound() == 2, SOON_S, "2 pods bound")
    on = {p["metadata"]["name"]: p["spec"].get("nodeName") for p in world.pods()}
    equal(on, {"tolerant": "tainted", "choosy": "ssd", "shy": None, "barred": None}, "nodes")
    words = (r"^0/4 nodes are available: 1 node\(s\) had untolerated taint\(s\), 1 node\(s\) were unschedulable, "
             r"2 node\(s\) didn't match Pod's node affinity/selector\.")
    world.waits("shy", words)
    world.waits("barred", words)


def test_gated_pod_waits_for_its_gate():
    world.fresh(*machines(2))
    world.create(pod("gated", schedulingGates=[{"name": "example.com/quota"}]))
    steady(lambda: world.bound("gated") == 0, STILL_S, "gated pod waits")
    world.admin.patch("Pod", "gated", {"spec": {"schedulingGates": []}})
    world.settles("gated", 1)


def test_events_have_the_words_of_kube_scheduler():
    world.fresh(*machines(2, cpu="2"))
    world.create(pod("fits"), pod("huge", cpu="64"))
    until(lambda: world.notes("fits", "Scheduled") and world.notes("huge", "FailedScheduling"), SOON_S, "events")
    good, bad = world.notes("fits", "Scheduled")[0], world.notes("huge", "FailedScheduling")[0]
    where = world.pods("fits")[0]["spec"]["nodeName"]
    equal((good["type"], good["action"], good["note"], good["reportingController"]),
          ("Normal", "Binding", f"Successfully assigned default/fits to {where}", "muster"), "Scheduled")
    equal((bad["type"], bad["action"], bad["reportingController"]), ("Warning", "Scheduling", "muster"),
          "FailedScheduling")
    harness.check(bad["note"].startswith("0/2 nodes are available: 2 Insufficient cpu."), bad["note"])
    for event, name in ((good, "fits"), (bad, "huge")):
        equal((event["regarding"]["kind"], event["regarding"]["namespace"]), ("Pod", "default"), "regarding")
        equal(event["regarding"]["uid"], world.pods(name)[0]["metadata"]["uid"], "uid of " + name)


def test_nothing_was_forbidden():
    """In all of the above muster requested nothing beyond its rights.
    Later the API server restarts, and refuses all requests until its own lists of
    rights are complete."""
    equal(world.cluster.refusals(), 0, "requests not allowed")
    status, _ = kube.Client(world.cluster.muster_kubeconfig).raw("GET", "/api/v1/secrets")
    equal(status, 403, "a list of what muster has no right to")
    becomes(world.cluster.refusals, 1, "requests not allowed, one of them by this test")


def everything_is_placed_though(trouble):
    """20 gangs of 20; the fault occurs when some of them are bound.  A gang that
    can't fit exists all the time, and has its reason at the end."""
    group, members = gang("stuck", 3, cpu="64")
    world.fresh(*machines(50), group, *members)
    with check.History(kube.Client(world.cluster.admin_kubeconfig)) as history:
        for i in range(20):
            group, members = gang(f"job-{i:02}", 20)
            world.create(group, *members)
            if i == 9:
                until(lambda: len(history.bound) > 50, SOON_S, "some pods bound")
                trouble()
                start = time.monotonic()
        until(lambda: world.bound("job") == 400, 90, "400 pods bound")
        harness.figure(f"everything placed {time.monotonic() - start:.1f} s after the trouble was over")
        world.settles("job", 400)
        world.waits("stuck", "^0/50 nodes are available: 50 Insufficient cpu")
        until(lambda: len(history.bound) == 400, SOON_S, "the history of 400 pods")
        equal(history.wrong, [], "bound twice")


def test_stop_takes_both_daemons_along():
    world.fresh()
    pids = {world.muster.daemon_pid(name) for name in ("muster-core", "muster-frontend")}
    harness.check(None not in pids, "both daemons run:", pids)
    equal(world.muster.stop(), 0, "exit code of musterctl up on SIGTERM")
    equal(pids & {pid for pid, _, _ in muster.processes()}, set(), "daemons that are left")


def test_restart_of_the_api_server_in_the_middle():
    everything_is_placed_though(lambda: world.cluster.restart_apiserver(down_s=2))


def killed(name):
    def kill():
        before = world.muster.daemon_pid(name)
        harness.check(before, name, "runs")
        os.kill(before, signal.SIGKILL)
        until(lambda: world.muster.daemon_pid(name) not in (None, before), SOON_S, f"{name} is back")

    return kill


def test_kill_of_the_core_in_the_middle():
    everything_is_placed_though(killed("muster-core"))


def test_kill_of_the_frontend_in_the_middle():
    everything_is_placed_though(killed("muster-frontend"))


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
contexts:
- name: here
  context: {{cluster: real, user: me}}
clusters:
- name: real
  cluster:
    server: {server}
    {cluster}
users:
- name: me
  user:
    {user}
"""


def places_a_gang_with(cluster, user):
    """muster with a kubeconfig of these lines does its work."""
    world.fresh(*machines(2))
    world.muster.stop()
    path = os.path.join(world.folder, "other.kubeconfig")
    with open(path, "w", encoding="utf-8") as file:
        file.write(KUBECONFIG.format(server=world.admin.server, cluster="\n    ".join(cluster),
                                     user="\n    ".join(user)))
    with muster.Muster(path, os.path.join(world.folder, "other")) as other:
        other.wait_ready()
        group, members = gang("trust", 3)
        world.create(group, *members)
        world.settles("trust", 3)


def data_of(name):
    with open(world.cluster.dir / name, "rb") as file:
        return base64.b64encode(file.read()).decode()


def test_client_certificate_in_the_kubeconfig():
    places_a_gang_with([f"certificate-authority-data: {data_of('certs/apiserver.crt')}",
                        "tls-server-name: kubernetes.default.svc"],
                       [f"client-certificate-data: {data_of('muster.crt')}",
                        f"client-key-data: {data_of('muster.key')}"])


def test_files_that_a_kubeconfig_names_lie_beside_it():
    """Relative paths are relative to the kubeconfig; the certificate is also
    good for 127.0.0.1."""
    with open(os.path.join(world.folder, "token"), "w", encoding="utf-8") as file:
        file.write(world.cluster.state["tokens"]["muster"] + "\n")
    places_a_gang_with(["certificate-authority: cluster/certs/apiserver.crt"], ["tokenFile: token"])
    places_a_gang_with(["certificate-authority: cluster/certs/apiserver.crt"],
                       ["client-certificate: cluster/muster.crt", "client-key: cluster/muster.key"])


def test_service_account_of_a_pod():
    """As the deployment runs it: both daemons by themselves, no kubeconfig, the
    address in the environment, token and CA in the usual folder."""
    apart = ["unshare", "-m" if os.getuid() == 0 else "-rm"]
    if subprocess.run([*apart, "mount", "-t", "tmpfs", "none", "/var/run"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise harness.Skip("no mount namespaces here")
    world.fresh(*machines(2))
    world.muster.stop()
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = world.admin.request("POST", kube.Client.path("ServiceAccount", "muster-system", "muster", "token"), asked)
    secrets = os.path.join(world.folder, "secrets")
    os.makedirs(secrets)
    shutil.copy(world.cluster.dir / "certs" / "apiserver.crt", os.path.join(secrets, "ca.crt"))
    for name, text in (("token", answer["status"]["token"]), ("namespace", "muster-system")):
        with open(os.path.join(secrets, name), "w", encoding="utf-8") as file:
            file.write(text)
    in_pod = ("mount -t tmpfs none /var/run && mkdir -p /var/run/secrets/kubernetes.io && "
              'cp -r "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"')
    socket = os.path.join(world.folder, "pod.sock")
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(world.cluster.state["port"]),
           "KUBECONFIG": ""}
    with muster.Process([muster.program("muster-core"), "--socket", socket], world.folder + "/core.log"), \
            muster.Process([*apart, "sh", "-c", in_pod, secrets, muster.program("muster-frontend"),
                            "--socket", socket, "--listen", "off"], world.folder + "/frontend.log", env) as frontend:
        group, members = gang("pod", 3)
        world.create(group, *members)
        try:
            world.settles("pod", 3)
        except harness.Failed:
            print(frontend.log()[-3000:])
            raise


def test_lists_come_as_streams():
    """--stream-lists auto. Over an etcd before 3.5.13 the server refuses them with an ERROR event, and they come in pages."""
    world.fresh(*machines(2))
    world.create(*gang("before", 3)[1], pod_group("before", 3))
    world.settles("before", 3)
    world.muster.stop()
    with muster.Muster(world.cluster.muster_kubeconfig, os.path.join(world.folder, "streams"), "--stream-lists",
                       "auto") as instance:
        instance.wait_ready()
        streamed = kube.metrics(instance.listen)['muster_lists_streamed_total{group="",resource="pods"}']
        equal(streamed, float(streams_lists()), "lists of pods that came as a stream")
        harness.figure(f"lists of pods as a stream: {streamed:.0f}")
        world.create(*gang("after", 3)[1], pod_group("after", 3))
        world.settles("after", 3)
        equal(instance.ctl("status")["gangs_placed"], 2, "gangs placed, one before the start")


def test_leader_election():
    """With the rights to its Lease alone: the first one makes it, the next one takes it over."""
    world.fresh(*machines(2))
    world.muster.stop()
    for number, transitions in (("one", 0), ("two", 1)):
        with muster.Muster(world.cluster.muster_kubeconfig, os.path.join(world.folder, number), "--leader-elect") as instance:
            instance.wait_ready()
            world.create(*gang(number, 3)[1], pod_group(number, 3))
            world.settles(number, 3)
            lease = world.admin.get("Lease", "muster", "muster-system")["spec"]
            equal((bool(lease["holderIdentity"]), lease["leaseTransitions"]), (True, transitions), lease)


def test_apisim_answers_as_the_real_server_does():
    if version() != pinned():
        raise Skip(f"apisim answers as kube-apiserver {pinned()}, this one is {version()}")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apisim", "conformance.py")
    transcripts = [os.path.join(world.folder, name) for name in ("real.txt", "apisim.txt")]
    world.fresh()
    world.end_history()  # the script binds pods to nodes that do not exist
    world.muster.stop()
    with muster.Apisim(os.path.join(world.folder, "apisim"), "--no-kubelet") as apisim:
        apisim.wait_ready()
        for kubeconfig, transcript in zip((world.cluster.admin_kubeconfig, apisim.kubeconfig), transcripts):
            subprocess.run([sys.executable, script, "--kubeconfig", kubeconfig, "-o", transcript],
                           timeout=120, check=True)
    with open(transcripts[0], encoding="utf-8") as real:
        harness.check(len(real.readlines()) > 100, "the transcript of the real server is short")
    equal(subprocess.run([sys.executable, script, "--compare", *transcripts], check=False).returncode, 0,
          "differences (the real server's lines are the first file's)")


if __name__ == "__main__":
    muster.exit_on_sigterm()
    with World() as world:
        main(globals())
