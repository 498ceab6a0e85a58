"""What a node finds. Plain data that travels as JSON."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

OK, FAILED, ABSENT = "ok", "failed", "absent"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: its name, a column of the table.
        state: ok, failed, or absent where the node has no such thing and needs none.
        value: what it is; nodes of one job should agree where the check says so.
        problem: what is wrong, "" if nothing.
        remedy: what to do about it.
    """

    check: str
    state: str
    value: str = ""
    problem: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class NodeReport:
    """Everything of one node.

    Attributes:
        host: its name.
        sent_at: its clock when it sent this, in seconds since the epoch.
        findings: in the order of the table.
        received_at: the clock of whoever collects, when it came.
    """

    host: str
    sent_at: float
    findings: tuple[Finding, ...] = ()
    received_at: float = field(default=0.0, compare=False)

    def to_json(self) -> str:
        """One line."""
        return json.dumps({"host": self.host, "sent_at": self.sent_at, "findings": [asdict(f) for f in self.findings]})


def report_from_json(text: str, received_at: float) -> "NodeReport | None":
    """The report in a line; None if the line is none."""
    try:
        value: Any = json.loads(text)
        findings = tuple(Finding(**{key: str(item) for key, item in one.items()}) for one in value["findings"])
        return NodeReport(str(value["host"]), float(value["sent_at"]), findings, received_at)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def ok(check: str, value: str = "") -> Finding:
    """It is as it should be."""
    return Finding(check, OK, value)


def failed(check: str, problem: str, remedy: str, value: str = "") -> Finding:
    """It is wrong."""
    return Finding(check, FAILED, value, problem, remedy)


def absent(check: str, value: str = "") -> Finding:
    """There is no such thing here, and nothing asks for it."""
    return Finding(check, ABSENT, value)
