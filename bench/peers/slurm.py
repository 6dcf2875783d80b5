#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""When does a job start, compared with what it was given first?  Slurm and muster on the same jobs.

  make compare-slurm [DIVISOR=100]

200 jobs of KTH-SP2 (tests/data/kth-sp2/busy.swf) on 100 nodes of one CPU, all times divided by DIVISOR.
Slurm runs in real time: slurmctld and a slurmd for each node, in a network and a PID namespace
of their own.  Two of them, at the same time: sched/backfill as shipped, and with the shortest interval
and resolution.  `squeue --start` is read each second.  muster plays the same jobs in virtual
time (`muster-bench trace`), with 1 and 64 promises.

Limits are whole minutes after the division, rounded up, since Slurm rounds its limits so; both
get the same.  Needs root: namespaces, and slurmd.
"""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOBS = ROOT / "tests/data/kth-sp2/busy.swf"
NODES = 100
ADDRESS = "10.0.0.1"
BOUND_S = 10  # of slowdowns, as SLOWDOWN_BOUND_S of bench/trace
READY_S = 120
# Columns of the Standard Workload Format.
SUBMIT, RUN, SIZE, LIMIT = 1, 3, 7, 8

CONF = """\
ClusterName=compare{port}
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
{parameters}
ReturnToService=2
SlurmdTimeout=0
MinJobAge=1000000
PropagateResourceLimits=NONE
StateSaveLocation={dir}/state
SlurmctldPidFile={dir}/slurmctld.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdSpoolDir={dir}/%n
SlurmdPidFile={dir}/%n.pid
SlurmdLogFile={dir}/slurmd.log
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr={address} Port=[{first}-{last}] CPUs=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def divided(divisor):
    """The jobs as columns, with their times divided: none shorter than a second."""
    jobs = [line.split() for line in JOBS.read_text().splitlines() if line[0] != ";"]
    first = int(jobs[0][SUBMIT])
    for job in jobs:
        limit = 60 * max(1, -(-int(job[LIMIT]) // (divisor * 60)))
        job[SUBMIT] = str((int(job[SUBMIT]) - first) // divisor)
        job[RUN] = str(max(1, min(-(-int(job[RUN]) // divisor), limit)))
        job[LIMIT] = str(limit)
    return jobs


class Slurm(threading.Thread):
    """A Slurm of its own; run() submits the jobs and ends when all have started."""

    def __init__(self, name, parameters, jobs, port, folder):
        super().__init__(daemon=True)
        self.name, self.jobs, self.dir = name, jobs, folder
        self.numbers, self.told, self.row, self.failed = [], {}, None, None
        (folder / "state").mkdir(parents=True)
        conf = folder / "slurm.conf"
        conf.write_text(CONF.format(
            port=port, first=port + 1, last=port + NODES, nodes=NODES, dir=folder, address=ADDRESS,
            host=os.uname().nodename.split(".")[0],
            parameters=f"SchedulerParameters={parameters}" if parameters else ""))
        self.env = {**os.environ, "SLURM_CONF": str(conf), "TZ": "UTC"}

    def daemon(self, *command):
        log = open(self.dir / "out.log", "ab")
        return subprocess.Popen(command, env=self.env, stdout=log, stderr=log,
                                stdin=subprocess.DEVNULL)

    def ask(self, *command):
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {command[0]}: {done.stderr.strip()}")
        return done.stdout

    def start_daemons(self):
        self.daemon("slurmctld", "-D")
        for node in range(1, NODES + 1):
            (self.dir / f"n{node}").mkdir()
            self.daemon("slurmd", "-D", "-N", f"n{node}")
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            time.sleep(1)
            try:
                if self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(NODES):
                    return
            except RuntimeError:
                pass  # slurmctld does not listen yet
        raise RuntimeError(f"{self.name}: not {NODES} idle nodes in {READY_S} s: {self.dir}")

    def submit(self, job):
        self.numbers.append(int(self.ask(
            "sbatch", "--parsable", "-N", job[SIZE], "-n", job[SIZE], "-t",
            str(int(job[LIMIT]) // 60), "-D", "/", "-o", "/dev/null", "--wrap",
            f"exec sleep {job[RUN]}")))

    def note_starts(self):
        for line in self.ask("squeue", "--start", "-h", "-o", "%i %S").splitlines():
            number, start = line.split()
            if start != "N/A":
                self.told.setdefault(int(number), seconds(start))

    def pending(self):
        return bool(self.ask("squeue", "-h", "-t", "pending", "-o", "%i").split())

    def run(self):
        try:
            self.start_daemons()
            self.play()
        except (RuntimeError, OSError) as error:
            self.failed = str(error)

    def play(self):
        zero, n = time.monotonic(), 0
        while n < len(self.jobs) or self.pending():
            while n < len(self.jobs) and zero + int(self.jobs[n][SUBMIT]) <= time.monotonic():
                self.submit(self.jobs[n])
                n += 1
            self.note_starts()
            time.sleep(1)
        was = {}
        for line in self.ask("squeue", "-h", "-t", "all", "-o", "%i %V %S").splitlines():
            number, submitted, started = line.split()
            was[int(number)] = seconds(submitted), seconds(started)
        self.row = self.sum_up(was)
        (self.dir / "jobs.json").write_text(json.dumps(
            [[i, *was[i], self.told.get(i)] for i in self.numbers]))

    def sum_up(self, was):
        late = [was[i][1] - at for i, at in self.told.items() if was[i][1] > at]
        early = [at - was[i][1] for i, at in self.told.items() if was[i][1] < at]
        waits = [was[i][1] - was[i][0] for i in self.numbers]
        slowdowns = [max(1, (wait + int(job[RUN])) / max(BOUND_S, int(job[RUN])))
                     for wait, job in zip(waits, self.jobs)]
        print(f"{self.name}: {len(early)} earlier than first given, by "
              f"{sum(early) / max(1, len(early)):.0f} s in the mean; later by "
              f"{sorted(late)}", file=sys.stderr)
        return [self.name, len(self.told), len(late), sum(x > 60 for x in late),
                sum(late) / max(1, len(late)), max(late, default=0),
                sum(waits) / len(waits), sum(slowdowns) / len(slowdowns)]


def seconds(text):
    return int(datetime.datetime.fromisoformat(text + "+00:00").timestamp())


def muster(depth, jobs, folder):
    path = folder / "jobs.swf"
    path.write_text("".join(" ".join(job) + "\n" for job in jobs))
    done = subprocess.run(
        [ROOT / "build/bin/muster-bench", "trace", path, "--nodes", str(NODES),
         "--promise-depth", str(depth), "-o", "json"], capture_output=True, text=True, check=True)
    rows = {row["name"]: row["median"] for row in json.loads(done.stdout)["rows"]}
    return [f"muster, {depth} promise{'s' if depth > 1 else ''}", int(rows["promises"]),
            int(rows["promises-late"]), int(rows["promises-late-minute"]),
            rows["promises-late-mean"], rows["promises-late-most"], rows["wait"],
            rows["avebsld"]]


def own_namespaces():
    """The script again, as process 1 of a PID namespace: with it all daemons end."""
    if os.environ.get("MUSTER_COMPARE_SLURM"):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        # Where 127.0.0.1 is the only address, getaddrinfo() with AI_ADDRCONFIG finds none.
        subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        return
    if os.geteuid() != 0:
        sys.exit("slurm.py: needs root, for namespaces and slurmd")
    os.environ["MUSTER_COMPARE_SLURM"] = "1"
    os.execvp("unshare", ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                          sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--divisor", type=int, default=100)
    options = parser.parse_args()
    if options.divisor < 1:
        parser.error("--divisor: 1 or more")
    missing = [name for name in ("slurmctld", "slurmd", "squeue") if not shutil.which(name)]
    if missing:
        sys.exit(f"slurm.py: {', '.join(missing)} missing: deploy/install-deps.sh slurm")
    own_namespaces()
    jobs = divided(options.divisor)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="compare-slurm."))
    slurms = [Slurm("Slurm, as shipped", "", jobs, 20000, folder / "shipped"),
              Slurm("Slurm, interval and resolution 1 s", "bf_interval=1,bf_resolution=1", jobs,
                    21000, folder / "often")]
    print(f"slurm.py: {len(jobs)} jobs, logs in {folder}", file=sys.stderr)
    for slurm in slurms:
        slurm.start()
    for slurm in slurms:
        slurm.join()
        if slurm.failed:
            sys.exit(f"slurm.py: {slurm.failed}")
    rows = [muster(depth, jobs, folder) for depth in (1, 64)]
    print("| | given a start | started later | by more than a minute | mean | most | "
          "mean wait | mean bounded slowdown |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, told, late, minute, mean, most, wait, slowdown in \
            [slurm.row for slurm in slurms] + rows:
        print(f"| {name} | {told} | {late} | {minute} | {mean:.0f} s | {most:.0f} s | "
              f"{wait:.0f} s | {slowdown:.2f} |")


if __name__ == "__main__":
    main()
