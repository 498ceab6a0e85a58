"""The command ``hyperpod-precheck``: on one node, in every task of an srun, or over a whole partition."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodelib.precheck import batch_file, probe
from nodelib.precheck.checks import examine
from nodelib.precheck.gather import Collector, Step, hosts_of, missing_hosts, send, step_of
from nodelib.precheck.launch import Wanted, check_partition
from nodelib.precheck.machine import Machine
from nodelib.precheck.table import faults, judged, rendered

if TYPE_CHECKING:
    from nodelib.precheck.findings import NodeReport

PASSED, FAILED, WRONG_ARGUMENTS = 0, 1, 2
DESCRIPTION = """\
Checks nodes before a job: file systems, home, Slurm, munge, containers, GPUs, EFA, disks, clocks, versions.

  hyperpod-precheck                     this node
  srun -N 8 hyperpod-precheck           one table for 8 nodes
  hyperpod-precheck -p train            every node of a partition, those that are down named too
  hyperpod-precheck --batch-file job.sh what HyperPod does not do with a batch file's options

Exit codes: 0 everything is as it should be, 1 it is not, 2 wrong arguments."""


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run; return the exit code."""
    options = _parser().parse_args(arguments)
    machine = Machine()
    if options.probe:
        return probe.main(*options.probe)
    if options.batch_file is not None:
        return batch_file.main(machine, Path(options.batch_file))
    if options.report:
        report = examine(machine, options.mount)
        _say(replace(report, sent_at=time.time()).to_json())
        return PASSED
    if options.partition is not None or options.nodes is not None:
        return _partition(machine, options)
    step = step_of()
    if step is None:
        report = examine(machine, options.mount)
        return _tell([replace(report, received_at=report.sent_at)], [], options.json)
    return _task(machine, step, options)


def _partition(machine: Machine, options: argparse.Namespace) -> int:
    mounts = tuple(word for path in options.mount for word in ("--mount", path))
    wanted = Wanted(options.partition or "", options.nodes, mounts, options.wait)
    reports, missing, problem = check_partition(machine, wanted)
    if problem:
        _say(f"hyperpod-precheck: {problem}")
        return FAILED
    return _tell(reports, missing, options.json)


def _task(machine: Machine, step: Step, options: argparse.Namespace) -> int:
    """One task of several: all send, the first one collects and prints."""
    hosts = hosts_of(machine, step.node_list)
    if step.rank != 0:
        report = examine(machine, options.mount)
        problem = send(step, report, hosts[0] if hosts else "", options.wait)
        if problem:
            _say(f"{machine.host}: cannot report to {hosts[0] if hosts else 'the first node'}: {problem}")
        return FAILED if problem else PASSED
    collector = Collector(step)
    own = examine(machine, options.mount)
    own = replace(own, sent_at=time.time(), received_at=time.time())
    others = collector.collect(min(step.tasks, len(set(hosts)) or step.tasks) - 1, options.wait)
    reports = [own, *(report for report in others if report.host != own.host)]
    return _tell(reports, missing_hosts(hosts, reports), options.json)


def _tell(reports: "Sequence[NodeReport]", missing: Sequence[str], as_json: bool) -> int:
    found = judged(reports, missing)
    bad = [*faults(found)]
    if as_json:
        nodes = [{"host": one.host, "findings": [asdict(finding) for finding in one.findings]} for one in found]
        _say(json.dumps({"ok": not bad, "nodes": nodes}, indent=2))
    else:
        _say(rendered(found))
    return FAILED if bad else PASSED


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hyperpod-precheck", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-p", "--partition", help="check every node of it, or so many as --nodes says")
    parser.add_argument(
        "-N", "--nodes", type=_positive, help="how many nodes, of the default partition if none is named"
    )
    parser.add_argument("--mount", metavar="PATH", action="append", default=[], help="a mount point to look at too")
    parser.add_argument("--batch-file", metavar="FILE", help="check the options of a batch file instead")
    parser.add_argument("--wait", type=_positive, default=90, metavar="SECONDS", help="for slow nodes (default: 90)")
    parser.add_argument("--json", action="store_true", help="for machines")
    parser.add_argument("--report", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--probe", nargs=2, help=argparse.SUPPRESS)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, allowed: a whole number from 1")
    return int(text)
