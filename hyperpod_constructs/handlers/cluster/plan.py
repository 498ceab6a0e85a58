"""What is to be called, decided from three pictures: wanted, before, observed. Pure.

Desired is compared with what DescribeCluster shows first and with the previous properties second, so that a rollback,
a repeated delivery and a half-applied change are one case. Only what changes travels: the groups that differ, each
with its full specification (an update replaces the whole of it, field report V-12) and its live count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .compare import Difference, cluster_differences, group_differences
from .counts import Counts, Situation, decide_counts
from .group_spec import full_spec
from .observed import Cluster, Group
from .policy import CLUSTER_POLICY, Change
from .properties import Properties
from .software import plan_software
from .text import counted, listed

UPDATE_CLUSTER = "UpdateCluster"
UPDATE_SOFTWARE = "UpdateClusterSoftware"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call that changes something: the API's operation and its request."""

    operation: str
    request: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Calls to make, in this order.

    Attributes:
        overridden: live counts that are not the template's and that these calls change: a rollback needs them.
    """

    calls: tuple[Call, ...]
    notes: tuple[str, ...] = ()
    overridden: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Done:
    """Nothing to call."""

    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Nothing can be called now; ask again later."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Nothing may be called; every reason, each with what to do."""

    problems: tuple[str, ...]


Decision = Calls | Done | Wait | Refusal


def plan(
    desired: Properties,
    previous: Properties | None,
    observed: Cluster,
    *,
    rolling_back: bool = False,
    remembered: Mapping[str, int] | None = None,
) -> Decision:
    """Decide what an update calls.

    Args:
        desired: what the template says now.
        previous: what it said before; None when that is unknown, and then nothing is taken for a change of counts.
        observed: what DescribeCluster shows.
        rolling_back: CloudFormation undoes an update: nothing is refused, what cannot be undone is kept and told.
        remembered: the live counts that the update which is rolled back overrode, none by default.

    Returns:
        ``Calls``, ``Done``, ``Wait`` while the service itself is changing the cluster, or ``Refusal``.
    """
    if observed.status == "Deleting":
        reason = f"cluster {observed.name} is being deleted; wait until it is gone, then deploy again"
        return Done(notes=(reason,)) if rolling_back else Refusal(problems=(reason,))
    if observed.status == "RollingBack":
        return Wait(reason=f"cluster {observed.name} is rolling back")
    leaving = [
        name for name in desired.groups if name in observed.groups and observed.groups[name].status == "Deleting"
    ]
    if leaving:
        return Wait(reason=f"{listed(leaving)}: still being deleted, to be made again afterwards")
    return _Planner(desired, previous, observed, rolling_back, remembered or {}).decision()


@dataclass
class _Planner:
    """The three pictures, and what the steps of planning collect."""

    desired: Properties
    previous: Properties | None
    observed: Cluster
    rolling_back: bool
    remembered: Mapping[str, int]
    overridden: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    groups: list[Mapping[str, Any]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    new_nodes_only: dict[str, list[str]] = field(default_factory=dict)

    def decision(self) -> Decision:
        self._plan_cluster()
        for name, spec in self.desired.groups.items():
            self._plan_group(name, spec)
        self._plan_removals()
        software = plan_software(self.desired, self.previous, self.observed, rolling_back=self.rolling_back)
        self.problems += software.problems
        if self.problems:
            return Refusal(problems=tuple(self.problems))
        calls = [*self._update_cluster()]
        calls += [Call(operation=UPDATE_SOFTWARE, request=request) for request in software.requests]
        notes = (*self.notes, *software.notes, *self._new_nodes_notes())
        return Calls(calls=tuple(calls), notes=notes, overridden=self.overridden) if calls else Done(notes=notes)

    def _update_cluster(self) -> Iterable[Call]:
        if not (self.members or self.groups or self.removed):
            return
        request: dict[str, Any] = {"ClusterName": self.observed.name, **self.members}
        # An empty list is left out: the model wants at least one group, and no deletions are no order (C-12).
        if self.groups:
            request["InstanceGroups"] = self.groups
        if self.removed:
            request["InstanceGroupsToDelete"] = self.removed
        yield Call(operation=UPDATE_CLUSTER, request=request)

    def _plan_cluster(self) -> None:
        wanted = self.desired.request
        before = None if self.previous is None else self.previous.request
        for difference in cluster_differences(wanted, self.observed.details, before):
            if self._settle_forbidden("the cluster", difference, wanted):
                continue
            member = difference.path[0]
            removed = CLUSTER_POLICY.rule_for((member,)).when_removed or difference.wanted
            self.members[member] = wanted.get(member) or removed

    def _plan_group(self, name: str, spec: Mapping[str, Any]) -> None:
        live = self.observed.groups.get(name)
        if live is None:
            self.groups.append(self._new_group(name, spec))
            return
        # A group that the template did not have before is another matter than a template that is not known.
        before = None if self.previous is None else self.previous.groups.get(name)
        counts = self._plan_counts(spec, before, live)
        known = {} if self.previous is not None and before is None else before
        differences = [item for item in group_differences(spec, live.details, known) if self._is_sent(live, item, spec)]
        if differences or counts.changed:
            self._remember(before, live, counts)
            self.groups.append(full_spec(spec, before, live, counts, self.desired))

    def _new_group(self, name: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """As the template says; a rollback makes a removed group again as large as it was."""
        if not (self.rolling_back and name in self.remembered):
            return spec
        count = self.remembered[name]
        minimum = {"MinInstanceCount": min(spec["MinInstanceCount"], count)} if "MinInstanceCount" in spec else {}
        return {**spec, "InstanceCount": count, **minimum}

    def _plan_counts(self, spec: Mapping[str, Any], before: Mapping[str, Any] | None, live: Group) -> Counts:
        situation = Situation(
            before_known=self.previous is not None,
            force=self.desired.force_instance_counts,
            rolling_back=self.rolling_back,
            remembered=self.remembered,
        )
        counts = decide_counts(spec, before, live, situation)
        self.problems += [counts.refusal] if counts.refusal else []
        self.notes += [counts.note] if counts.note else []
        return counts

    def _remember(self, before: Mapping[str, Any] | None, live: Group, counts: Counts) -> None:
        """A group made by hand that the template takes over, or a count that the template did not set."""
        said_before = None if before is None else before["InstanceCount"]
        taken_over = before is None and self.previous is not None
        if taken_over or (counts.target != live.target and live.target != said_before):
            self.overridden[live.name] = live.target

    def _is_sent(self, live: Group, difference: Difference, spec: Mapping[str, Any]) -> bool:
        """Whether a difference makes the group travel; what must not change is refused or told instead."""
        change = difference.rule.change
        if change is Change.SOFTWARE or self._settle_forbidden(live.name, difference, spec):
            return False
        if change is Change.NEW_NODES_ONLY and live.has_nodes:
            groups = self.new_nodes_only.setdefault(difference.path[0], [])
            if live.name not in groups:
                groups.append(live.name)
        return True

    def _settle_forbidden(self, subject: str, difference: Difference, wanted: Mapping[str, Any]) -> bool:
        """Refuse or tell a change that cannot be made; False when it can be made.

        A drift is nobody's wish and a rollback never fails, so both are told and not refused.
        """
        rule = difference.rule
        gone = rule.change is Change.ADD_ONLY and not _holds(wanted, rule.path)
        if rule.change is not Change.REFUSED and not gone:
            return False
        field_name = rule.path if gone else difference.field
        live, value = _shown(difference.live), _shown(difference.wanted)
        if difference.drifted or self.rolling_back:
            kept = "is kept" if gone else f"stays {live}; the template says {value}"
            self._once(self.notes, f"{subject}: {field_name} {kept}")
        else:
            action = "be removed" if gone or difference.wanted is None else f"change from {live} to {value}"
            self._once(self.problems, f"{subject}: {field_name} cannot {action}: {rule.advice}")
        return True

    def _once(self, texts: list[str], text: str) -> None:
        if text not in texts:
            texts.append(text)

    def _plan_removals(self) -> None:
        ours_before = set() if self.previous is None else set(self.previous.groups)
        unknown = []
        for name, live in self.observed.groups.items():
            if name in self.desired.groups or live.status == "Deleting":
                continue
            if name not in ours_before or (self.rolling_back and name in self.remembered):
                unknown.append(name)
            elif self.rolling_back or not live.has_nodes or name in self.desired.allow_group_deletion:
                self._remove(name, live)
            else:
                self.problems.append(_removal_refused(live))
        if unknown:
            self.notes.append(f"left alone, not in the template: {listed(unknown)}")

    def _remove(self, name: str, live: Group) -> None:
        self.removed.append(name)
        said_before = self.previous.groups[name]["InstanceCount"] if self.previous else None
        if live.target != said_before:
            self.overridden[name] = live.target

    def _new_nodes_notes(self) -> Iterable[str]:
        for name, groups in self.new_nodes_only.items():
            yield f"{name} of {listed(groups)}: running nodes keep the old value until they are replaced"


def _holds(request: Mapping[str, Any], dotted: str) -> bool:
    value: Any = request
    for part in dotted.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value is not None


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _removal_refused(live: Group) -> str:
    return (
        f"{live.name}: the group cannot be removed: it has {counted(live.current, 'node')} (target {live.target}), "
        f"whose jobs and local disks would be lost; drain it and set allow_group_deletion=[{live.name!r}] to remove "
        "it, or put the group back"
    )
