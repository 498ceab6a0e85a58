"""A plan in words: group by group what is called, and what becomes of nodes. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.rendering import readable
from hyperpod_constructs.handlers.cluster.compare import cluster_differences, group_differences
from hyperpod_constructs.handlers.cluster.counts import wanted_minimum
from hyperpod_constructs.handlers.cluster.plan import UPDATE_CLUSTER, UPDATE_SOFTWARE, Call, Calls, Refusal, Wait, plan
from hyperpod_constructs.handlers.cluster.policy import Change
from hyperpod_constructs.handlers.cluster.properties import STACK_ID_TAG
from hyperpod_constructs.handlers.cluster.tags import tag_calls
from hyperpod_constructs.handlers.cluster.text import counted

from .known import filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hyperpod_constructs.handlers.cluster.compare import Difference
    from hyperpod_constructs.handlers.cluster.observed import Cluster, Group
    from hyperpod_constructs.handlers.cluster.properties import Properties

    from .past import Past

_LOST = "their jobs, root volumes and local disks are lost"
_EFFECT = {
    Change.IN_PLACE: "takes effect on running nodes",
    Change.NEW_NODES_ONLY: "reaches new nodes only; running ones keep the old value until they are replaced",
    Change.ADD_ONLY: "takes effect at once, and cannot be taken back",
}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a deployment would do.

    Attributes:
        cluster: its name.
        action: create, update, nothing, wait or refused.
        groups: sentences for each group, in the order of the template, then of what else is there.
        changes: sentences on the cluster itself.
        refusals: every reason for which nothing would be called, each with what to do.
        notes: what else the person should know.
        calls: the API calls in their order.
    """

    cluster: str
    action: str
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()


def report(desired: Properties, past: Past) -> Report:
    """Plan and describe.

    Args:
        desired: the wanted cluster, placeholders and all.
        past: the live cluster and the template's past.
    """
    if past.cluster is None:
        return _creation(desired, past)
    wanted = filled(desired, past.cluster)
    previous = None if past.previous is None else filled(past.previous, past.cluster)
    decision = plan(wanted, previous, past.cluster)
    notes = (*past.notes, *_open_past(past))
    foreign = _foreign(past)
    if isinstance(decision, Wait):
        return Report(cluster=desired.name, action="wait", changes=(decision.reason,), notes=notes, refusals=foreign)
    if isinstance(decision, Refusal) or foreign:
        problems = decision.problems if isinstance(decision, Refusal) else ()
        return Report(
            cluster=desired.name, action="refused", refusals=tuple(readable([*foreign, *problems])), notes=notes
        )
    calls = [*(decision.calls if isinstance(decision, Calls) else ()), *_tag_calls(wanted, past)]
    return Report(
        cluster=desired.name,
        action="update" if calls else "nothing",
        groups=readable(dict(_groups(wanted, previous, past.cluster, calls))),
        changes=tuple(readable([*_cluster_changes(wanted, previous, past.cluster, calls)])),
        # What new nodes get is said at each field already.
        notes=tuple(readable([*notes, *(one for one in decision.notes if "keep the old value" not in one)])),
        calls=tuple({"operation": call.operation, "request": readable(_plain(call.request))} for call in calls),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if hasattr(value, "items") else value


def _creation(desired: Properties, past: Past) -> Report:
    groups = {name: (_launched(spec),) for name, spec in desired.groups.items()}
    request = {**desired.request, "InstanceGroups": [*desired.groups.values()]}
    return Report(
        cluster=desired.name,
        action="create",
        groups=groups,
        changes=("there is no such cluster: it is created; the controller comes first, then all others together",),
        notes=past.notes,
        calls=({"operation": "CreateCluster", "request": readable(_plain(request))},),
    )


def _launched(spec: Mapping[str, Any]) -> str:
    types = spec.get("InstanceType") or " or ".join(spec.get("InstanceRequirements", {}).get("InstanceTypes", ()))
    minimum = wanted_minimum(spec)
    waits = f", in service with {minimum}" if minimum else ""
    return f"new: {counted(int(spec['InstanceCount']), 'instance')} of {types}{waits}"


def _open_past(past: Past) -> Iterator[str]:
    if past.previous is None and not past.notes:
        yield (
            "what the template said before is not known: no count counts as changed, and groups that the new template "
            "does not have are left alone; give --previous"
        )


def _foreign(past: Past) -> tuple[str, ...]:
    if past.tags is None or past.cluster is None or STACK_ID_TAG in past.tags:
        return ()
    text = (
        f"a cluster named {past.cluster.name} exists and was not made by this library: a deployment leaves it alone; "
        "choose another cluster_name, or delete that cluster first"
    )
    return (text,)


def _tag_calls(wanted: Properties, past: Past) -> list[Call]:
    if past.tags is None or past.cluster is None:
        return []
    before = past.previous.tags if past.previous else {}
    return tag_calls(past.cluster.arn, wanted.tags, before, past.tags)


def _groups(
    wanted: Properties, previous: Properties | None, live: Cluster, calls: list[Call]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    update = next((call.request for call in calls if call.operation == UPDATE_CLUSTER), {})
    sent = {group["InstanceGroupName"]: group for group in update.get("InstanceGroups", ())}
    software = _software(calls)
    for name, spec in wanted.groups.items():
        group = live.groups.get(name)
        if group is None:
            yield name, (_launched(sent.get(name, spec)),)
            continue
        before = None if previous is None else previous.groups.get(name)
        changes = [*_group_changes(group, sent[name], spec, before)] if name in sent else []
        if name in software:
            nodes = counted(group.current, "node")
            changes.append(f"software: {nodes} get {software[name]}; the root volumes go, and scripts run again")
        yield name, tuple(changes) or (f"no change ({group.current} of {group.target})",)
    for name in update.get("InstanceGroupsToDelete", ()):
        current = live.groups[name].current
        yield name, (f"removed: {counted(current, 'node')} end, {_LOST}" if current else "removed; it has no nodes",)
    left = [name for name in live.groups if name not in wanted.groups]
    for name in left:
        if name not in update.get("InstanceGroupsToDelete", ()):
            yield name, ("left alone: not in the template",)


def _software(calls: list[Call]) -> dict[str, str]:
    found = {}
    for call in calls:
        if call.operation == UPDATE_SOFTWARE:
            for group in call.request["InstanceGroups"]:
                image = call.request.get("ImageId")
                version = group.get("ImageReleaseVersion")
                found[group["InstanceGroupName"]] = f"image {image}" if image else f"release {version}"
    return found


def _group_changes(
    live: Group, sent: Mapping[str, Any], spec: Mapping[str, Any], before: Mapping[str, Any] | None
) -> Iterator[str]:
    count = int(sent["InstanceCount"])
    if count > live.target:
        added = counted(count - live.target, "instance")
        yield f"InstanceCount {live.target} -> {count}: {added} more; running nodes stay"
    elif count < live.target:
        gone = counted(live.target - count, "node")
        yield (
            f"InstanceCount {live.target} -> {count}: {gone} end, picked by the service at random; {_LOST}. To choose "
            "them, drain and delete nodes by id instead"
        )
    minimum = sent.get("MinInstanceCount")
    if minimum is not None and live.minimum is not None and minimum != live.minimum:
        yield f"MinInstanceCount {live.minimum} -> {minimum}: decides only when the group is in service"
    for difference in group_differences(spec, live.details, before):
        if difference.rule.change in _EFFECT:
            yield _sentence(difference)


def _cluster_changes(
    wanted: Properties, previous: Properties | None, live: Cluster, calls: list[Call]
) -> Iterator[str]:
    if any(call.operation == UPDATE_CLUSTER for call in calls):
        before = None if previous is None else previous.request
        for difference in cluster_differences(wanted.request, live.details, before):
            if difference.rule.change in _EFFECT:
                yield _sentence(difference)
    for call in calls:
        for tag in call.request.get("Tags", ()):
            yield f"tag {tag['Key']} = {tag['Value']}"
        for key in call.request.get("TagKeys", ()):
            yield f"tag {key} goes"


def _sentence(difference: Difference) -> str:
    return (
        f"{difference.field} {_shown(difference.live)} -> {_shown(difference.wanted)}: "
        f"{_EFFECT[difference.rule.change]}"
    )


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
