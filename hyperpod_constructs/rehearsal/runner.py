"""The story of ``hyperpod-slurm rehearse``: set up, deploy, show, destroy, and say what is left."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import runs
from .bed_process import (
    DEFAULT_OF_EACH_GROUP,
    DEFAULT_SUITE,
    NodesUnavailableError,
    RealNodes,
    machine_problem,
    prepare_tree,
)
from .cdk_cli import require_app
from .environment import default_root
from .failures import RehearsalError
from .progress import Progress, Silent
from .session import DEFAULT_APP, DEFAULT_REGION, Rehearsal
from .slurm_story import show_slurm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SERVICE_LOG_GROUPS = "log group /aws/sagemaker/Clusters/"
EVENTS_SHOWN = 10
NODES_AUTOMATIC, NODES_NONE = "auto", "none"
MOST_NODES = 8
CONTROLLER_FAILURE = "Lifecycle scripts did not run successfully."


@dataclass(frozen=True, kw_only=True)
class Story:
    """What to rehearse.

    Args:
        app: The command that runs the CDK app, as for ``cdk --app``.
        context: CDK context of the app.
        root: See Rehearsal.
        folder: See Rehearsal.
        region: See Rehearsal.
        port: See Rehearsal.
        capacity: See Rehearsal.
        fail_controller: The words with which every controller group's lifecycle script fails; None: it does not.
        keep: Leave it up after the deployment.
        nodes: Whether instances are real Slurm nodes: "auto" (where this machine can carry them; with ``CI=true`` in
            the environment it must), "none", or how many of each instance group.
        suite: The Debian release of the nodes.
    """

    app: str = DEFAULT_APP
    context: Mapping[str, str] = field(default_factory=dict)
    root: Path | None = None
    folder: Path | None = None
    region: str = DEFAULT_REGION
    port: int | None = None
    capacity: Sequence[str] = ()
    fail_controller: str | None = None
    keep: bool = False
    nodes: str = NODES_AUTOMATIC
    suite: str = DEFAULT_SUITE


def rehearse(story: Story, progress: Progress | None = None) -> list[str]:
    """Tell the whole story to ``progress``; gives what the stacks left behind (nothing, if all is well).

    Raises RehearsalError with complete text; everything that was started has ended then.
    """
    tell = progress or Silent()
    require_app(story.app, (story.folder or Path.cwd()).absolute())
    nodes = real_nodes(story, tell)
    rehearsal = Rehearsal(
        root=story.root,
        folder=story.folder,
        region=story.region,
        port=story.port,
        capacity=story.capacity,
        nodes=nodes,
        progress=tell,
    )
    with rehearsal:
        if story.fail_controller is not None:
            _fail_controllers(rehearsal, story, story.fail_controller)
        deployment = rehearsal.deploy(story.app, story.context)
        tell.close()
        _show(rehearsal, deployment.stacks, tell)
        if story.keep:
            rehearsal.keep()
            for line in how_to_go_on(rehearsal):
                tell.line(line)
            return []
        rehearsal.destroy()
        left, kept = divided(rehearsal.leftovers())
        tell.close()
        tell.line(left_text(left, kept))
        return left


def real_nodes(story: Story, tell: Progress) -> RealNodes | None:
    """The real nodes that the story asks for and this machine can carry, their Debian tree built.

    Raises NodesUnavailableError where it cannot and must; RehearsalError where ``story.nodes`` is no such word.
    """
    if story.nodes == NODES_NONE:
        return None
    count = of_each_group(story.nodes)
    root = (story.root or default_root()).absolute()
    try:
        if problem := machine_problem(root):
            raise NodesUnavailableError(problem)
        prepare_tree(root, story.suite, tell.step)
    except NodesUnavailableError as error:
        if story.nodes != NODES_AUTOMATIC or os.environ.get("CI") == "true":
            raise NodesUnavailableError(
                f"Slurm nodes cannot run here: {error}; --nodes none rehearses all the rest"
            ) from error
        tell.line(f"No Slurm nodes here, all instances are simulated: {error}")
        return None
    return RealNodes(of_each_group=count, suite=story.suite)


def of_each_group(nodes: str) -> int:
    """The number of real nodes that a word of ``--nodes`` means. Raises RehearsalError if it is no such word."""
    if nodes == NODES_AUTOMATIC:
        return DEFAULT_OF_EACH_GROUP
    if not nodes.isdecimal() or not 1 <= int(nodes) <= MOST_NODES:
        raise RehearsalError(f"got --nodes {nodes}; allowed: auto, none, or a number from 1 to {MOST_NODES}")
    return int(nodes)


def _fail_controllers(rehearsal: Rehearsal, story: Story, words: str) -> None:
    groups = [name for stack in rehearsal.synth(story.app, story.context) for name in stack.controller_groups()]
    for group in groups:
        rehearsal.service.fail_lifecycle(group, words)


def _show(rehearsal: Rehearsal, stacks: Sequence[str], tell: Progress) -> None:
    clusters = rehearsal.clusters()
    if not clusters:
        tell.line(f"The app deployed {', '.join(stacks) or 'no stack'}; none of them holds a HyperPod cluster.")
    for cluster in clusters:
        tell.line()
        for line in cluster_lines(cluster):
            tell.line(line)
        events = rehearsal.account.cluster_events(cluster["ClusterName"])
        tell.line("  last cluster events:" if events else "  no cluster events")
        for line in event_lines(events, rehearsal.account.failure_message):
            tell.line(f"    {line}")
        tell.line()
        if rehearsal.bed:
            show_slurm(rehearsal, cluster, tell)
    tell.line()


def cluster_lines(cluster: Mapping[str, Any]) -> list[str]:
    """A cluster and its groups with their current and target counts."""
    lines = [f"Cluster {cluster['ClusterName']}: {cluster['ClusterStatus']}"]
    groups = cluster.get("InstanceGroups", [])
    width = max((len(group["InstanceGroupName"]) for group in groups), default=0)
    for group in groups:
        counts = f"{group.get('CurrentCount', 0)}/{group.get('TargetCount', 0)}"
        kind = f"{group.get('InstanceType', ''):<18} {group.get('Status', '')}"
        lines.append(f"  {group['InstanceGroupName']:<{width}}  {counts:>7}  {kind}")
    return lines


def event_lines(
    events: Sequence[Mapping[str, Any]], failure_message: Callable[[str, str], str], shown: int = EVENTS_SHOWN
) -> list[str]:
    """The latest different events, oldest first, each with how often it came and its failure message, if any."""
    latest: dict[str, Mapping[str, Any]] = {}
    times: dict[str, int] = {}
    for event in events:
        description = event.get("Description", "").replace(event.get("InstanceId") or "\0", "")
        key = f"{event.get('InstanceGroupName', '')} {description}"
        latest.pop(key, None)
        latest[key] = event
        times[key] = times.get(key, 0) + 1
    return [
        event_line(event, times[key], failure_message(str(event["ClusterName"]), str(event["EventId"])))
        for key, event in list(latest.items())[-shown:]
    ]


def event_line(event: Mapping[str, Any], times: int = 1, failure: str = "") -> str:
    """A cluster event in one line."""
    where = event.get("InstanceGroupName") or event["ClusterName"]
    text = f"{event['EventTime']:%H:%M:%S} {where}: {event.get('Description', '').rstrip('.')}"
    return text + (f": {failure}" if failure else "") + (f" ({times} times)" if times > 1 else "")


def divided(left: Sequence[str]) -> tuple[list[str], list[str]]:
    """What a stack should have taken along, and what stays on AWS too: the clusters' lifecycle logs (FACTS 9)."""
    kept = [thing for thing in left if thing.startswith(SERVICE_LOG_GROUPS)]
    return [thing for thing in left if thing not in kept], kept


def left_text(left: Sequence[str], kept: Sequence[str]) -> str:
    """What a destroyed app left behind; ``kept`` is what AWS keeps too."""
    lines = ["Left behind:", *(f"  {thing}" for thing in left)] if left else ["Left behind: nothing."]
    if kept:
        lines.append(f"The service itself keeps, here as on AWS: {', '.join(kept)}.")
    return "\n".join(lines)


def how_to_go_on(rehearsal: Rehearsal) -> list[str]:
    """How to look at a rehearsal that stays up, deploy to it again, and end it."""
    variables = rehearsal.account.environment_variables()
    cdk = f"{rehearsal.environment.node} {rehearsal.environment.cdk_cli}"
    return [
        "It stays up. To look at it with the AWS CLI or boto3, from any shell:",
        *(f"  export {name}={value}" for name, value in variables.items()),
        "  aws sagemaker list-clusters",
        *nodes_hints(rehearsal),
        f"Every call the service received: curl {rehearsal.service.url}/_rehearsal/calls",
        f"To deploy again: {cdk} deploy --all --require-approval=never --app '{rehearsal.app}' "
        + " ".join(f"-c {key}={value}" for key, value in rehearsal.context.items()),
        f"Logs: {rehearsal.run_folder}",
        "To end it: hyperpod-slurm rehearse --stop"
        + ("" if rehearsal.root == default_root() else f" --dir {rehearsal.root}"),
    ]


def nodes_hints(rehearsal: Rehearsal) -> list[str]:
    """How to get a shell on a real node, if there is one."""
    if rehearsal.bed is None:
        return []
    bed = rehearsal.bed.client.socket.parent.name
    command = f"{sys.executable} -m hyperpod_constructs.rehearsal.nodes exec --bed {bed}"
    entries = [rehearsal.nodes_of(cluster["ClusterName"]).entry() for cluster in rehearsal.clusters()]
    return [f"A shell on {entry.name}, where sinfo and srun work: {command} {entry.host}" for entry in entries]


def stop_kept(root: Path | None = None) -> int:
    """End every rehearsal below ``root`` that was kept up; gives their number."""
    return len(runs.stop_kept(root or default_root()))


def main() -> int:
    """``python -m hyperpod_constructs.rehearsal.runner``: the story with its defaults, for a machine without the
    [cli] extra.
    """
    from .progress import PlainLines

    try:
        return 1 if rehearse(Story(), PlainLines()) else 0
    except RehearsalError as error:
        sys.stderr.write(f"hyperpod-constructs: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
