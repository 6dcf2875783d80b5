# SPDX-License-Identifier: Apache-2.0
"""What people install: `make install`, the Debian packages, the image and the units of systemd.

The image isn't built here, since that needs a network: tests/image.py does."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import muster, objects, yamlsub  # noqa: E402
from lib.cluster import Cluster  # noqa: E402
from lib.harness import Skip, check, equal, main, steady, until  # noqa: E402
from lib.objects import node, pod  # noqa: E402

ROOT, DEPLOY = muster.ROOT, muster.ROOT / "deploy"
SHIPPED = ("muster-core", "muster-frontend", "musterctl")
UNITS = ("muster-core", "muster-frontend")
EXPOSURE_MOST = 20  # tenths, as systemd-analyze security counts them


def told(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "LC_ALL": "C"}, check=False, **options)
    check(done.returncode == 0, *command, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def installed(*words):
    folder = pathlib.Path(muster.scratch())
    told("make", "--no-print-directory", "install", f"DESTDIR={folder}", *words, cwd=ROOT)
    return folder


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file())


# ---- make install ----------------------------------------------------------------------

def test_install():
    folder = installed("PREFIX=/opt/m")
    names = files_in(folder)
    for name in (*(f"opt/m/bin/{p}" for p in (*SHIPPED, "muster-bench", "muster-apisim", "kubectl-muster", "kubectl_complete-muster")),
                 *(f"opt/m/lib/systemd/system/{unit}.service" for unit in UNITS), "etc/muster/config.yaml", "etc/default/muster",
                 "opt/m/share/bash-completion/completions/musterctl", "opt/m/share/zsh/site-functions/_musterctl",
                 "opt/m/share/fish/vendor_completions.d/musterctl.fish", "opt/m/share/man/man1/kubectl-muster.1"):
        check(name in names, name, "is not among", names)
    for unit in UNITS:
        text = (folder / f"opt/m/lib/systemd/system/{unit}.service").read_text()
        check(f"\nExecStart=/opt/m/bin/{unit} " in text and "/usr/bin" not in text, text)
    told(folder / "opt/m/bin/muster-frontend", "--check-config", folder / "etc/muster/config.yaml")
    check(told(folder / "opt/m/bin/kubectl-muster", "--help").startswith("kubectl muster "), "the plugin")
    told("bash", "-n", folder / "opt/m/share/bash-completion/completions/musterctl")
    # A file changed by the administrator stays.
    (folder / "etc/muster/config.yaml").write_text("# mine\n")
    told("make", "--no-print-directory", "install", f"DESTDIR={folder}", "PREFIX=/opt/m", cwd=ROOT)
    equal((folder / "etc/muster/config.yaml").read_text(), "# mine\n", "after a second make install")


# ---- Debian packages -------------------------------------------------------------------

def packages(folder):
    paths = told(DEPLOY / "deb" / "build.sh", folder, cwd=ROOT).split()
    equal([pathlib.Path(p).name.split("_")[0] for p in paths], ["muster", "muster-tools"], "packages")
    return paths


def needed(*programs):
    """The packages of the libraries that these link themselves."""
    found = set()
    for program in programs:
        libraries = dict(re.findall(r"(\S+) => (\S+)", told("ldd", program)))
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", told("readelf", "-d", program)):
            path = os.path.realpath(libraries[name])
            owner = subprocess.run(["dpkg", "-S", path, path.removeprefix("/usr"), "/usr" + path], capture_output=True,
                                   text=True, check=False).stdout
            check(owner, f"{path} belongs to no package")
            found.add(owner.split(":")[0])
    return found


def test_packages():
    folder, again = pathlib.Path(muster.scratch()), pathlib.Path(muster.scratch())
    paths = packages(folder)
    main_package, tools = paths
    unpacked = folder / "root"
    told("dpkg-deb", "-x", main_package, unpacked)
    names = files_in(unpacked)
    equal(sorted(n for n in names if n.startswith("usr/bin/")),
          sorted(f"usr/bin/{n}" for n in (*SHIPPED, "kubectl-muster", "kubectl_complete-muster")), "programs")
    for name in (*(f"lib/systemd/system/{unit}.service" for unit in UNITS), "usr/share/man/man1/kubectl-muster.1.gz",
                 "usr/share/bash-completion/completions/musterctl", "usr/share/zsh/vendor-completions/_musterctl",
                 "usr/share/doc/muster/copyright", "lib/systemd/system/muster-core.service.d/readers.conf"):
        check(name in names, name, names)
    for path in unpacked.rglob("*"):
        check(path.exists(), f"{path} leads nowhere")
    told("dpkg-deb", "-e", main_package, folder / "DEBIAN")
    equal((folder / "DEBIAN/conffiles").read_text().split(), [f"/{n}" for n in names if n.startswith("etc/")], "conffiles")
    depends = set(re.findall(r"(?:^|, )([a-z0-9.+-]+)", told("dpkg-deb", "-f", main_package, "Depends").strip()))
    equal(depends, needed(*(unpacked / "usr/bin" / p for p in SHIPPED)) | {"passwd"}, "Depends")
    check(" muster-apisim" not in told("dpkg-deb", "-c", main_package), "the tools are packed apart")
    check("./usr/bin/muster-bench\n" in told("dpkg-deb", "-c", tools), "tools")
    for one, other in zip(paths, packages(again)):
        check(pathlib.Path(one).read_bytes() == pathlib.Path(other).read_bytes(), f"{one} is not the same when made again")


def test_packages_are_clean():
    paths = packages(pathlib.Path(muster.scratch()))
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *paths], capture_output=True,
                          text=True, timeout=300, check=False)
    check(done.returncode == 0 and not done.stdout.strip(), done.stdout, done.stderr)


# ---- image -----------------------------------------------------------------------------

def dockerfile():
    return (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")


def test_what_the_image_names_is_there():
    """Files that are copied and run, targets of make, packages of Debian; and nothing that buildah would have to guess."""
    stages, seen = set(), 0
    for line in dockerfile().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, rest = line.split(None, 1)
        check(word in ("FROM", "ARG", "WORKDIR", "COPY", "RUN", "LABEL", "USER", "CMD"), line)
        seen += 1
        if word == "FROM":
            stages.update(re.findall(r" AS (\w+)$", rest))
            check(rest.split()[0] in ("debian:12", "debian:12-slim"), line)
        elif word == "COPY" and rest.startswith("--from="):
            check(rest.split()[0][7:] in stages, line)
        elif word == "COPY":
            for source in rest.split()[:-1]:
                check((ROOT / source).exists(), "COPY", source)
        elif word == "RUN":
            script = ROOT / rest.split()[0]
            check("/" not in rest.split()[0] or os.access(script, os.X_OK), "RUN", script)
            for target in re.findall(r"\bmake (?:-\S+ )?([a-z]\w*)", rest):
                check(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M), "make", target)
    check(seen >= 10, seen)
    ignored = (ROOT / ".dockerignore").read_text().split()
    check("build" in ignored and ".git" in ignored, ignored)
    wanted = set(re.search(r"^build='([^']*)'", (DEPLOY / "install-deps.sh").read_text(), re.M).group(1).split())
    wanted |= set(re.search(r"--no-install-recommends ([^&]*)&&", dockerfile()).group(1).split())
    known = subprocess.run(["apt-cache", "show", *sorted(wanted)], capture_output=True, text=True, check=False)
    check(not known.stderr.strip(), known.stderr)


def test_image_has_the_libraries():
    runtime = dockerfile().split("\nFROM ")[-1]
    named = set(re.search(r"--no-install-recommends ([^&]*)&&", runtime).group(1).split()) - {"ca-certificates"}
    equal(named, needed(*(muster.program(p) for p in SHIPPED)), "packages in deploy/Dockerfile")
    copied = re.search(r"COPY --from=build (.*) /usr/bin/", runtime).group(1).split()
    equal(copied, [f"/out/usr/bin/{p}" for p in SHIPPED], "programs")
    check("USER 65532:65532" in runtime, runtime)


def test_bill_of_materials():
    """deploy/sbom.py on a root with the package database and system of this machine."""
    root = pathlib.Path(muster.scratch())
    for name in ("var/lib/dpkg/status", "etc/os-release"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(f"/{name}", root / name)
    (root / "usr/bin").mkdir(parents=True)
    for name in SHIPPED:
        shutil.copy(muster.program(name), root / "usr/bin")
    text = told(DEPLOY / "sbom.py", root)
    equal(told(DEPLOY / "sbom.py", root), text, "the same bytes again")
    made = json.loads(text)
    version = re.search(r"^VERSION := (\S+)", (ROOT / "Makefile").read_text(), re.M).group(1)
    equal((made["spdxVersion"], made["dataLicense"], made["packages"][0]["name"], made["packages"][0]["versionInfo"]),
          ("SPDX-2.3", "CC0-1.0", "muster", version), "head")
    wanted = [line.split(" ", 1)[1] for line in told("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\\n").splitlines()
              if line.startswith("installed ")]
    equal(sorted(f"{p['name']} {p['versionInfo']}" for p in made["packages"][1:]), sorted(wanted), "packages, as dpkg lists them")
    named = [p["SPDXID"] for p in made["packages"] + made["files"]]
    equal(len(set(named)), len(named), "names twice")
    equal({r["relatedSpdxElement"] for r in made["relationships"]}, set(named), "each is a part of it")
    for file in made["files"]:
        equal(file["checksums"][1]["checksumValue"], told("sha256sum", root / file["fileName"]).split()[0], file["fileName"])
    # A reader refuses a package that has files which it says were not analyzed.
    has_files = {r["spdxElementId"] for r in made["relationships"] if r["relatedSpdxElement"] in {f["SPDXID"] for f in made["files"]}}
    equal({p["SPDXID"] for p in made["packages"] if p["filesAnalyzed"]}, has_files, "packages with files")
    sums = "".join(sorted(told("sha1sum", root / file["fileName"]).split()[0] for file in made["files"]))
    equal(made["packages"][0]["packageVerificationCode"], {"packageVerificationCodeValue": hashlib.sha1(sums.encode()).hexdigest()}, "of the files")
    for package in made["packages"][1:]:
        check(re.fullmatch(r"pkg:deb/\w+/[^@]+@[^?]+\?arch=\w+&distro=\w+-\w+", package["externalRefs"][0]["referenceLocator"]), package)
    (root / "usr/bin/muster-core").write_bytes(b"none")
    done = subprocess.run([DEPLOY / "sbom.py", root], capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "no version is in it" in done.stderr, done)


def test_versions_agree():
    version = re.search(r"^VERSION := (\S+)", (ROOT / "Makefile").read_text(), re.M).group(1)
    equal(re.findall(r"^ARG VERSION=(.*)$", dockerfile(), re.M), [version] * 2, "Dockerfile: the programs and the label")
    check('image.version="$VERSION"' in dockerfile(), "Dockerfile")
    check((DEPLOY / "deb" / "changelog").read_text().startswith(f"muster ({version}) "), "changelog")
    chart = (DEPLOY / "chart" / "Chart.yaml").read_text()
    equal(re.findall(r"^(?:version|appVersion): (\S+)$", chart, re.M), [version] * 2, "chart")
    for path in DEPLOY.rglob("*.yaml"):
        for image in re.findall(r"image: (muster:\S+)", path.read_text()):
            equal(image, f"muster:{version}", path)


# ---- systemd ---------------------------------------------------------------------------

def test_krew_manifest():
    """Its fields are what krew asks for (ValidatePlugin), the archive is the one that it names, and the program in it runs."""
    folder = pathlib.Path(muster.scratch())
    tree, out = folder / "tree", folder / "out"
    told("git", "clone", "-q", "--shared", ROOT, tree)
    version = told("sed", "-n", "s/^VERSION := //p", ROOT / "Makefile").strip()
    for name in (f"v{version}", "v9.9.9"):
        told("git", "-C", tree, "tag", name)
    shutil.copytree(DEPLOY / "krew", tree / "deploy" / "krew", dirs_exist_ok=True)
    make, program = tree / "deploy" / "krew" / "make.sh", muster.program("musterctl")

    def refused(*words):
        done = subprocess.run([str(w) for w in (make, *words)], capture_output=True, text=True, check=False)
        equal((done.returncode, out.exists()), (2, False), words)
        return done.stderr
    check("no tag v0.0.0" in refused("v0.0.0", "https://example.com/x", out), "a tag that is not there")
    check(f"has version {version}" in refused("v9.9.9", "https://example.com/x", out), "a tag of another version")
    check("not https" in refused(f"v{version}", "http://example.com/x", out), "krew takes https alone")
    tag = f"v{version}"
    told(make, tag, "https://example.com/releases/", out, f"amd64={program}", f"arm64={program}")
    plugin = yamlsub.load_all((out / "muster.yaml").read_text(encoding="utf-8"))[0]
    equal((plugin["apiVersion"], plugin["kind"]), ("krew.googlecontainertools.github.com/v1alpha2", "Plugin"))
    equal(plugin["metadata"]["name"], "muster")
    spec = plugin["spec"]
    equal(set(spec), {"version", "homepage", "shortDescription", "description", "caveats", "platforms"})
    check(re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"]) and spec["version"] == tag, spec["version"])
    check(0 < len(spec["shortDescription"]) <= 50 and "\n" not in spec["shortDescription"], spec["shortDescription"])
    equal([p["selector"]["matchLabels"] for p in spec["platforms"]], [{"os": "linux", "arch": "amd64"}, {"os": "linux", "arch": "arm64"}])
    for platform in spec["platforms"]:
        archive = out / platform["uri"].rsplit("/", 1)[1]
        equal(platform["uri"], f"https://example.com/releases/{archive.name}")
        equal(platform["sha256"], told("sha256sum", archive).split()[0])
        equal(told("tar", "tzf", archive).split(), ["LICENSE", platform["bin"]])
    told("tar", "-C", folder, "-xzf", archive)
    check(told(folder / "kubectl-muster", "--help").startswith("kubectl muster COMMAND"), "it is the plugin")
    before = archive.read_bytes()
    told(make, tag, "https://example.com/releases", out, f"arm64={program}")
    equal(archive.read_bytes(), before, "the same bytes again")
    shutil.rmtree(folder)


def test_units_are_sound():
    folder = installed("PREFIX=/usr", "UNITDIR=/units")
    for unit in UNITS:
        path = folder / "units" / f"{unit}.service"
        path.write_text(path.read_text().replace("ExecStart=/usr", f"ExecStart={folder}/usr"))
    (folder / "units/muster-core.service.d").mkdir()
    shutil.copy(DEPLOY / "deb/readers.conf", folder / "units/muster-core.service.d")
    paths = [folder / "units" / f"{unit}.service" for unit in UNITS]
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *paths], capture_output=True,
                          text=True, timeout=180, check=False)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "systemd-analyze verify")
    for path in paths:
        told("systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={EXPOSURE_MOST}", path)


def allowed_calls(unit):
    """The calls that SystemCallFilter= allows, of x86-64 and all others that systemd has."""
    text = (DEPLOY / "systemd" / f"{unit}.service").read_text()
    allow, forbid = re.findall(r"^SystemCallFilter=(.*)$", text, re.M)

    def calls(groups):
        found, todo, seen = set(), groups.split(), set()
        while todo:
            name = todo.pop()
            if not name.startswith("@"):
                found.add(name)
            elif name not in seen:
                seen.add(name)
                todo += [line.strip() for line in told("systemd-analyze", "syscall-filter", name).splitlines()[1:]
                         if line.strip() and not line.strip().startswith("#")]
        return found

    check(forbid.startswith("~"), forbid)
    # Services get these whatever the list has: systemd needs them to start one.
    return calls(allow) - calls(forbid[1:]) | calls("@default")


def traced(c, name, *flags):
    return muster.Process(["strace", "-f", "-qq", "-o", f"{c.folder}/{name}.calls", muster.program(name), *map(str, flags)],
                          f"{c.folder}/{name}.log")


def test_calls_are_among_the_allowed():
    """A full run of both daemons makes no call that the units forbid."""
    with Cluster(node("n1", cpu="4")) as c:
        c.listen = f"127.0.0.1:{muster.free_port()}"
        core = traced(c, "muster-core", "--socket", c.socket, "--record", f"{c.folder}/record", "--cpu", "0")
        frontend = traced(c, "muster-frontend", "--socket", c.socket, "--kubeconfig", c.kubeconfig, "--listen", c.listen,
                          "--cpu", "0")
        c.processes += [core, frontend]
        c.ready(frontend)
        c.create(objects.pod_group("g", 2), *(pod(f"g-{i}", group="g") for i in range(2)))
        until(lambda: c.bound("g-") == 2, 30, "the gang is bound")
        for process in (frontend, core):
            for pid, parent, _ in muster.processes():
                if parent == process.pid:
                    os.kill(pid, 15)
            process.child.wait(60)
        for unit in UNITS:
            text = pathlib.Path(c.folder, f"{unit}.calls").read_text(errors="replace")
            made = set(re.findall(r"^\d+ +([a-z_0-9]+)\(", text, re.M))
            check(len(made) > 25 and "exit_group" in made, unit, sorted(made))
            equal(made - allowed_calls(unit), set(), f"{unit} calls what its unit forbids")
            check(not re.search(r"(mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC", text), f"{unit}: memory to write and to run")
            families = set(re.findall(r"\bsocket\((AF_\w+)", text))
            wanted = re.search(r"^RestrictAddressFamilies=(.*)$", (DEPLOY / "systemd" / f"{unit}.service").read_text(), re.M)
            check(families <= set(wanted.group(1).split()), unit, families)


def test_core_without_a_network():
    """As PrivateNetwork= runs it: the socket is a path, which all networks share."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("unshare -n is not allowed here")
    with Cluster(node("n1", cpu="4")) as c:
        c.core = muster.Process(["unshare", "-n", muster.program("muster-core"), "--socket", c.socket], f"{c.folder}/core.log")
        c.processes.append(c.core)
        c.frontend = c.start_frontend()
        c.ready(c.frontend)
        c.create(pod("p"))
        until(lambda: c.bound("p") == 1, 20, "the pod is bound")


def test_root_looks_at_the_core_of_another_user():
    """The units run as a user of their own, musterctl as root; a frontend of root requires a core of root."""
    if os.getuid() != 0:
        raise Skip("only root may become another user")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with Cluster(node("n1", cpu="4")) as c:
        os.chmod(c.folder, 0o777)
        copy = os.path.join(c.folder, "muster-core")  # others may not read where it was built
        shutil.copy(muster.program("muster-core"), copy)
        core = muster.Process([*nobody, copy, "--socket", c.socket], f"{c.folder}/core.log")
        c.processes.append(core)
        until(lambda: c.ask("status")[0] == 0, 10, lambda: c.ask("status"))
        frontend = c.start_frontend()
        until(lambda: "is served by another user" in frontend.log(), 10, "it is refused")


def test_a_group_may_read_the_socket():
    if os.getuid() != 0:
        raise Skip("only root may become another user")
    service, reader, stranger = (["setpriv", f"--reuid={user}", f"--regid={user}", groups, "--pdeathsig=KILL", "--"]
                                 for user, groups in ((65534, "--groups=4242"), (4343, "--groups=4242"), (4343, "--clear-groups")))
    with Cluster(node("n1", cpu="4")) as c:
        os.chmod(c.folder, 0o711)
        os.mkdir(f"{c.folder}/run", 0o711)
        os.chown(f"{c.folder}/run", 65534, 65534)
        c.socket = f"{c.folder}/run/muster.sock"
        for name in SHIPPED:  # others may not read where they were built
            shutil.copy(muster.program(name), c.folder)

        def start(name, *flags):
            c.processes.append(muster.Process([*service, f"{c.folder}/{name}", "--socket", c.socket, *flags], f"{c.folder}/{name}.log"))
            return c.processes[-1]

        def musterctl(who, *words):
            done = subprocess.run([*who, f"{c.folder}/musterctl", *words, "--socket", c.socket], capture_output=True, text=True,
                                  timeout=60, check=False, env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
            return done.returncode, done.stdout, done.stderr

        core = start("muster-core", "--socket-group", "4242")
        os.chmod(c.kubeconfig, 0o644)
        frontend = start("muster-frontend", "--kubeconfig", c.kubeconfig, "--listen", "off")
        c.create(objects.pod_group("g", 2), *(pod(f"g-{i}", cpu="3", group="g") for i in range(2)))
        until(lambda: "default/g" in musterctl(reader, "gangs")[1], 30, lambda: (musterctl(reader, "gangs"), frontend.log(), core.log()))
        for words in (("top", "--once"), ("explain", "default/g"), ("nodes",), ("status",), ("explain", "default/g", "--what-if", "nodes=1")):
            until(lambda words=words: musterctl(reader, *words)[1] != "", 30, lambda words=words: musterctl(reader, *words))
        code, out, err = musterctl(stranger, "gangs")
        check(code == 1 and out == "" and f"may not connect to {c.socket}: its mode is 0660 and its group  (4242)" in err, err)
        os.chmod(f"{c.folder}/run", 0o700)
        check("a folder above it can't be searched" in musterctl(reader, "gangs")[2], musterctl(reader, "gangs"))
        for given, why in (("no-such-group", "there is no such group"), ("4343", "has to be one of its members")):
            done = subprocess.run([*service, f"{c.folder}/muster-core", "--socket", f"{c.folder}/run/other.sock", "--socket-group", given],
                                  capture_output=True, text=True, timeout=60, check=False)
            check(done.returncode != 0 and f"--socket-group {given}: " in done.stderr and why in done.stderr, done)


def test_service_manager_hears():
    """Type=notify: READY=1 once the lists are in the ledger, not before."""
    with Cluster(node("n1", cpu="4")) as c:
        path = f"{c.folder}/notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.setblocking(False)
            heard = []

            def listen():
                try:
                    heard.append(manager.recv(100))
                except BlockingIOError:
                    pass
                return heard

            frontend = muster.Process([muster.program("muster-frontend"), "--socket", c.socket, "--kubeconfig", c.kubeconfig,
                                       "--listen", "off"], f"{c.folder}/frontend.log", {"NOTIFY_SOCKET": path})
            c.processes.append(frontend)
            steady(lambda: not listen(), 0.7, "no core: not ready")
            c.start_core()
            until(listen, 10, "READY")
            equal(heard, [b"READY=1"], "what it says")
            steady(lambda: len(listen()) == 1, 0.5, "once")


if __name__ == "__main__":
    shutil.which("lintian") or sys.exit("lintian is missing: deploy/install-deps.sh build test")
    main(globals())
