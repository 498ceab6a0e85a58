"""What ``watch`` shows, made from one look at the cluster. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hyperpod_constructs.handlers.cluster.observed import Cluster, Group

    from .cluster import Node
    from .folding import Folded

_RATE_SECONDS = 1800.0
"""How far back the pace is looked at: capacity that came hours ago says nothing about what comes."""


class ReadyWhen(StrEnum):
    """When watching ends well."""

    ALL = "all"
    """Every requested instance is there."""
    MINIMUM = "minimum"
    """Every group has its minimum."""
    IN_SERVICE = "in-service"
    """The controller and login groups are in service."""


class Ending(StrEnum):
    """Whether watching is over."""

    READY = "ready"
    FAILED = "failed"
    GONE = "gone"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupPicture:
    """An instance group.

    Attributes:
        name: of the group.
        node_type: Controller, Login, Compute or "".
        status: in the service's words.
        current: instances that are there.
        target: instances that are wanted.
        minimum: instances that the group waits for; 0 for none.
        states: nodes by state; empty where nodes were not looked at.
    """

    name: str
    node_type: str
    status: str
    current: int
    target: int
    minimum: int
    states: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether as many are there as are wanted, and the group is at rest."""
        return self.status == "InService" and self.current == self.target


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """The cluster at one time.

    Attributes:
        name: of the cluster.
        status: in the service's words; "Deleted" once it is gone.
        at: when it was looked at, in seconds since the epoch.
        elapsed_seconds: since the cluster was created or watching began, whichever says more.
        groups: in the service's order, controller first.
        events: the newest kinds, newest first.
        remaining_seconds: an estimate; None while there is none.
        ending: None while it goes on.
        remarks: what could not be looked at.
    """

    name: str
    status: str
    at: float
    elapsed_seconds: float
    groups: tuple[GroupPicture, ...]
    events: tuple[Folded, ...] = ()
    remaining_seconds: float | None = None
    ending: Ending | None = None
    remarks: tuple[str, ...] = ()

    @property
    def current(self) -> int:
        """Instances that are there, in all groups."""
        return sum(group.current for group in self.groups)

    @property
    def target(self) -> int:
        """Instances that are wanted, in all groups."""
        return sum(group.target for group in self.groups)


_ORDER = {"Controller": 0, "Login": 1}


def picture(
    cluster: Cluster,
    nodes: Sequence[Node] | None,
    events: Sequence[Folded],
    *,
    at: float,
    began_at: float,
    ready_when: ReadyWhen,
    remarks: Sequence[str] = (),
) -> Picture:
    """Make the picture.

    Args:
        cluster: as it was described.
        nodes: of the cluster; None where they could not be looked at.
        events: folded, newest first.
        at: now, in seconds since the epoch.
        began_at: when watching began.
        ready_when: what is waited for.
        remarks: what could not be looked at.
    """
    states: dict[str, Counter[str]] = {}
    for node in nodes or ():
        states.setdefault(node.group, Counter())[node.status] += 1
    groups = [_group(group, states.get(group.name, Counter())) for group in cluster.groups.values()]
    groups.sort(key=lambda group: _ORDER.get(group.node_type, 2))
    is_new = cluster.created_at is not None and cluster.status == "Creating"
    since = cluster.created_at if is_new and cluster.created_at is not None else began_at
    return Picture(
        name=cluster.name,
        status=cluster.status,
        at=at,
        elapsed_seconds=max(0.0, at - since),
        groups=tuple(groups),
        events=tuple(events),
        ending=_ending(cluster.status, groups, ready_when),
        remarks=tuple(remarks),
    )


def _group(group: Group, states: Counter[str]) -> GroupPicture:
    return GroupPicture(
        name=group.name,
        node_type=group.node_type,
        status=group.status,
        current=group.current,
        target=group.target,
        minimum=group.minimum or 0,
        states=dict(states.most_common()),
    )


def _ending(status: str, groups: Sequence[GroupPicture], ready_when: ReadyWhen) -> Ending | None:
    if status == "Failed":
        return Ending.FAILED
    if status != "InService" or not groups:
        return None
    return Ending.READY if all(_is_ready(group, ready_when) for group in groups) else None


def _is_ready(group: GroupPicture, ready_when: ReadyWhen) -> bool:
    # The older form does not say what a group is; then every group must be complete.
    if group.node_type != "Compute":
        return group.is_complete
    if ready_when is ReadyWhen.IN_SERVICE:
        return True
    return group.current >= group.minimum if ready_when is ReadyWhen.MINIMUM else group.is_complete


@dataclass
class Pace:
    """How fast instances come, from the looks so far."""

    seen: list[tuple[float, int]] = field(default_factory=list)

    def estimated(self, shown: Picture) -> Picture:
        """The picture with the time that is left at the pace of the last half hour; none while nothing comes."""
        missing = shown.target - shown.current
        if not self.seen or self.seen[-1][1] != shown.current:
            self.seen.append((shown.at, shown.current))
        recent = [one for one in self.seen if one[0] >= shown.at - _RATE_SECONDS]
        gained = shown.current - recent[0][1] if recent else 0
        if missing <= 0 or gained <= 0:
            return replace(shown, remaining_seconds=None)
        seconds = max(1.0, shown.at - recent[0][0])
        return replace(shown, remaining_seconds=missing * seconds / gained)
