"""All nodes together: one table, and under it each fault with its node and its remedy. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from nodelib.precheck.findings import ABSENT, FAILED, OK, Finding, NodeReport, failed

# Values that must be the same everywhere, whatever they are.
SAME = ("home", "slurm", "kernel", "driver", "lustre", "python")
_VERSIONS = ("slurm", "kernel", "driver", "lustre", "python")
_SHOWN_VALUES = ("gpus", "efa")
CLOCK_SECONDS = 2.0
"""Tolerated: Slurm and munge take minutes, training logs seconds."""

NO_REPORT = "no report"
_NO_REPORT_REMEDY = (
    "look at it: scontrol show node NODE; systemctl status slurmd on it; replace it if it does not answer"
)


@dataclass(frozen=True)
class Fault:
    """One fault of one node."""

    host: str
    check: str
    problem: str
    remedy: str


def judged(reports: Sequence[NodeReport], missing: Sequence[str] = ()) -> "list[NodeReport]":
    """The reports with what only their comparison shows, and one for each node that sent none.

    Args:
        reports: one a node.
        missing: nodes that should have reported.
    """
    usual = {check: _usual(reports, check) for check in (*SAME, *_mount_checks(reports))}
    late = _clock_offsets(reports)
    found = []
    for report in sorted(reports, key=lambda one: one.host):
        findings = [_compared(finding, usual.get(finding.check, "")) for finding in report.findings]
        found.append(
            NodeReport(report.host, report.sent_at, (*findings, _clock(late[report.host])), report.received_at)
        )
    silent = failed(NO_REPORT, "sent no report", _NO_REPORT_REMEDY)
    return [*found, *(NodeReport(host, 0.0, (_named(silent, host),)) for host in sorted(missing))]


def _named(finding: Finding, host: str) -> Finding:
    return failed(finding.check, finding.problem, finding.remedy.replace("NODE", host))


def _mount_checks(reports: Sequence[NodeReport]) -> "set[str]":
    return {finding.check for report in reports for finding in report.findings if finding.check.startswith("/")}


def _usual(reports: Sequence[NodeReport], check: str) -> str:
    """The value that most nodes have; the first in order of two that are as frequent."""
    values = [one.value for report in reports for one in report.findings if one.check == check and one.value]
    counts = Counter(values)
    return min(counts, key=lambda value: (-counts[value], value)) if counts else ""


def _compared(finding: Finding, usual: str) -> Finding:
    if finding.state != OK or not usual or finding.value == usual:
        return finding
    if finding.check.startswith("/"):
        problem = f"{finding.value} is mounted, other nodes have {usual}"
        return failed(finding.check, problem, "mount the same file system on every node", finding.value)
    problem = f"{finding.value}, other nodes have {usual}"
    return failed(finding.check, problem, _difference_remedy(finding.check), finding.value)


def _difference_remedy(check: str) -> str:
    if check == "home":
        return "the user must have the same home on every node: run the step create_users again on the odd one"
    return "update the node's image, or replace the node: nodes of one job should have the same versions"


def _clock_offsets(reports: Sequence[NodeReport]) -> "dict[str, float]":
    offsets = {report.host: report.received_at - report.sent_at for report in reports}
    middle = median(offsets.values()) if offsets else 0.0
    return {host: offset - middle for host, offset in offsets.items()}


def _clock(behind_seconds: float) -> Finding:
    if abs(behind_seconds) <= CLOCK_SECONDS:
        return Finding("clock", OK)
    word = "behind" if behind_seconds > 0 else "ahead"
    problem = f"{abs(behind_seconds):.0f} s {word} the other nodes"
    return failed("clock", problem, "sudo chronyc makestep; check that chrony runs")


def faults(reports: Sequence[NodeReport]) -> Iterator[Fault]:
    """Every fault, node by node."""
    for report in reports:
        for finding in report.findings:
            if finding.state == FAILED:
                yield Fault(report.host, finding.check, finding.problem, finding.remedy)


def rendered(reports: Sequence[NodeReport]) -> str:
    """The table and the faults, as judged reports show them."""
    columns = _columns(reports)
    rows = [["NODE", *(column.upper() for column in columns)], *(_row(report, columns) for report in reports)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    found = [*faults(reports)]
    lines += [""] if found else []
    for fault in found:
        lines += [f"{fault.host}: {fault.check}: {fault.problem}", f"  to do: {fault.remedy}"]
    bad = len({fault.host for fault in found})
    lines.append(
        f"{bad} of {len(reports)} nodes have faults"
        if found
        else f"{_nodes(len(reports))}: everything is as it should be"
    )
    return "\n".join(lines)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _columns(reports: Sequence[NodeReport]) -> "list[str]":
    """Checks in their order; versions in one column, and none that no node has anything in."""
    names = dict.fromkeys(one.check for report in reports for one in report.findings if one.state != ABSENT)
    plain = [name for name in names if name not in (*_VERSIONS, NO_REPORT)]
    return [*plain, "versions"]


def _row(report: NodeReport, columns: Sequence[str]) -> "list[str]":
    by_check = {finding.check: finding for finding in report.findings}
    if NO_REPORT in by_check:
        return [report.host, NO_REPORT.upper(), *[""] * (len(columns) - 1)]
    of_versions = [by_check[name] for name in _VERSIONS if name in by_check]
    states = {finding.state for finding in of_versions}
    version = Finding("versions", FAILED if FAILED in states else OK)
    return [report.host, *(_cell(by_check.get(name, version if name == "versions" else None)) for name in columns)]


def _cell(finding: "Finding | None") -> str:
    if finding is None or finding.state == ABSENT:
        return "-"
    if finding.state == FAILED:
        return "FAILED"
    return finding.value if finding.check in _SHOWN_VALUES and finding.value else "ok"
