"""What the synthesized app holds, and what CloudFormation said about its stacks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .failures import RehearsalError

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator
    from pathlib import Path

CLUSTER_TYPE = "Custom::HyperPodCluster"


@dataclass(frozen=True)
class StackEvent:
    """One stack event, as DescribeStackEvents gives it."""

    event_id: str
    time: datetime.datetime
    stack: str
    logical_id: str
    resource_type: str
    status: str
    reason: str
    physical_id: str

    @property
    def is_failure(self) -> bool:
        return self.status.endswith("_FAILED")


@dataclass(frozen=True)
class SynthesizedStack:
    """A stack of a cloud assembly."""

    name: str
    template: dict[str, Any]

    @property
    def resource_count(self) -> int:
        return len(self.template.get("Resources", {}))

    def compute_groups(self) -> list[str]:
        """The names of all compute groups of all clusters in the template, in the template's order."""
        return [name for name, text in self._groups() if '"NodeType":"Compute"' in text]

    def controller_groups(self) -> list[str]:
        """The names of the controller groups."""
        return [name for name, text in self._groups() if '"NodeType":"Controller"' in text]

    def _groups(self) -> Iterator[tuple[str, str]]:
        for resource in self.template.get("Resources", {}).values():
            if resource.get("Type") == CLUSTER_TYPE:
                for name, group in resource.get("Properties", {}).get("InstanceGroups", {}).items():
                    yield name, "".join(_literals(group))


def _literals(value: Any) -> Iterator[str]:
    """The literal text in a value that may be a Fn::Join or Fn::Sub around it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _literals(item)
    elif isinstance(value, list):
        for item in value:
            yield from _literals(item)


def read_assembly(folder: Path) -> list[SynthesizedStack]:
    """The stacks of a cloud assembly, nested assemblies (stages) included. Raises RehearsalError if there is none."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError) as error:
        raise RehearsalError(f"the app left no cloud assembly in {folder}: {error}") from error
    found: list[SynthesizedStack] = []
    for name, artifact in manifest.get("artifacts", {}).items():
        properties = artifact.get("properties", {})
        if artifact.get("type") == "aws:cloudformation:stack":
            template = json.loads((folder / properties["templateFile"]).read_text())
            found.append(SynthesizedStack(properties.get("stackName", name), template))
        elif artifact.get("type") == "cdk:cloud-assembly":
            found.extend(read_assembly(folder / properties["directoryName"]))
    return found


def first_failure(events: Iterable[StackEvent]) -> StackEvent | None:
    """The event that began the trouble: the first failed resource that was not merely cancelled.

    ``events`` oldest first.
    """
    failures = [event for event in events if event.is_failure]
    telling = [event for event in failures if event.reason and "cancelled" not in event.reason]
    return next(iter(telling or failures), None)


def reason_text(reason: str) -> str:
    """An event's reason without the stack trace of CDK's provider framework, which names only framework files."""
    lines = [line for line in reason.splitlines() if not line.lstrip().startswith("at ")]
    return "\n".join(lines).strip()


def describe_event(event: StackEvent) -> str:
    """A stack event in a few words."""
    kind = event.resource_type.rpartition("::")[2]
    return f"{event.status.replace('_', ' ').lower()}: {kind} {event.logical_id}"
