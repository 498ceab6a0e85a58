"""Makes the instances of the HyperPod service nodes of a bed."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hyperpod_constructs.rehearsal.agent.cluster import ClusterFiles, Instance, Mount, NodePlan, NodeType, Style
from hyperpod_constructs.rehearsal.agent.lanes import Lanes
from hyperpod_constructs.rehearsal.agent.platform import Platform, ScriptResult
from hyperpod_constructs.rehearsal.agent.scripts import ScriptStore
from hyperpod_constructs.rehearsal.agent.slurm_files import gpu_count
from hyperpod_constructs.rehearsal.agent.story import Story
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.errors import BedError
from hyperpod_constructs.rehearsal.service.failures import SCRIPT_FAILURE
from hyperpod_constructs.rehearsal.service.launcher import ClusterView, NodeReport, NodeRequest, ReportState

KEPT_LOG_LINES = 300
OPEN_ZFS_VOLUME = "/fsx"  # the API's OpenZFS configuration has no volume; AWS's own scripts mount this one (FACTS 4.3)
EBS_PATH, NVME_PATH = "/opt/sagemaker", "/opt/dlami/nvme"


def style_of(specification: Mapping[str, Any]) -> Style:
    """The lifecycle style of a group's specification (FACTS 5.6)."""
    configuration = specification.get("LifeCycleConfig") or {}
    if not configuration:
        return Style.IMAGE_ONLY
    return Style.ON_CREATE if configuration.get("OnCreate") else Style.ON_INIT_COMPLETE


def mounts_of(specification: Mapping[str, Any]) -> tuple[Mount, ...]:
    """The shared file systems of a group's specification, with the API's default paths (FACTS 4.4)."""
    found = []
    for storage in specification.get("InstanceStorageConfigs") or ():
        if lustre := storage.get("FsxLustreConfig"):
            source = f"{lustre['DnsName']}@tcp:/{lustre['MountName']}"
            found.append(Mount(kind="lustre", source=source, path=lustre.get("MountPath", "/fsx")))
        if zfs := storage.get("FsxOpenZfsConfig"):
            source = f"{zfs['DnsName']}:{OPEN_ZFS_VOLUME}"
            found.append(Mount(kind="nfs", source=source, path=zfs.get("MountPath", "/home")))
    return tuple(found)


def volumes_of(specification: Mapping[str, Any], instance_type: str) -> tuple[str, ...]:
    """The local volumes of a node: a secondary EBS volume if there is one; NVMe for types with GPUs."""
    secondary = any(
        "EbsVolumeConfig" in storage and not storage["EbsVolumeConfig"].get("RootVolume")
        for storage in specification.get("InstanceStorageConfigs") or ()
    )
    return (*([EBS_PATH] if secondary else []), *([NVME_PATH] if gpu_count(instance_type) else []))


def instance_of(node: NodeRequest) -> Instance:
    """The instance that the service wants launched."""
    return Instance(
        instance_id=node.instance_id,
        group=node.group_name,
        number=node.number,
        node_type=NodeType(node.node_type or NodeType.COMPUTE),
        instance_type=node.instance_type,
        address=node.private_ip,
        partition=next(iter(node.partitions), ""),
    )


def plan_of(node: NodeRequest) -> NodePlan:
    """What has to be done to bring that instance up."""
    configuration = node.specification.get("LifeCycleConfig") or {}
    return NodePlan(
        instance=instance_of(node),
        style=style_of(node.specification),
        source=configuration.get("SourceS3Uri", ""),
        entry=configuration.get("OnCreate") or configuration.get("OnInitComplete") or "",
        mounts=mounts_of(node.specification),
        volumes=volumes_of(node.specification, node.instance_type),
    )


def files_of(view: ClusterView) -> ClusterFiles:
    """The cluster as the platform's files show it."""
    types = {group["Name"]: group["InstanceType"] for group in view.resource_config.get("InstanceGroups", ())}
    instances = (
        Instance(
            instance_id=node.instance_id,
            group=node.group_name,
            number=int(node.instance_name.rpartition("-")[2]),
            node_type=NodeType(node.node_type or NodeType.COMPUTE),
            instance_type=types.get(node.group_name, ""),
            address=node.private_ip,
            partition=next(iter(node.partitions), ""),
            real=node.kind != "simulated",
        )
        for node in view.nodes
    )
    return ClusterFiles(
        name=view.name,
        arn=view.arn,
        instances=tuple(instances),
        resource_config=view.resource_config,
        provisioning_parameters=view.provisioning_parameters,
    )


@dataclass
class _Tracked:
    """One instance, as its reports are made of."""

    request: NodeRequest
    plan: NodePlan
    state: ReportState = "pending"
    message: str | None = None
    log: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LOG_LINES))
    ended: bool = False

    def report(self) -> NodeReport:
        return NodeReport(self.state, self.message, tuple(self.log))

    def fail(self, message: str) -> None:
        self.message, self.state = message, "failed"


class BedLauncher:
    """A launcher of the HyperPod service whose instances are nodes of a bed.

    Args:
        bed: where the nodes are made.
        scripts: where lifecycle scripts come from; ``BucketScripts`` with the emulator's S3 in a rehearsal.
        story: how the platform behaves, by cluster name.
        default_story: how it behaves with all other clusters; by default without faults.
        on_line: each line of the provisioning logs with the instance's name, for whoever watches.
    """

    def __init__(
        self,
        bed: BedClient,
        scripts: ScriptStore,
        *,
        story: Mapping[str, Story] | None = None,
        default_story: Story = Story(),  # noqa: B008 - frozen
        on_line: Callable[[str, str], None] = lambda name, line: None,
    ) -> None:
        self._bed = bed
        self._scripts = scripts
        self._stories = story or {}
        self._default_story = default_story
        self._on_line = on_line
        self._platforms: dict[str, Platform] = {}
        self._views: dict[str, ClusterView] = {}
        self._tracked: dict[str, _Tracked] = {}
        self._lanes = Lanes()
        self._lock = threading.Lock()

    def platform(self, cluster_name: str) -> Platform:
        """The platform's side of a cluster."""
        with self._lock:
            if cluster_name not in self._platforms:
                story = self._stories.get(cluster_name, self._default_story)
                self._platforms[cluster_name] = Platform(self._bed, self._scripts, story)
            return self._platforms[cluster_name]

    def launch(self, node: NodeRequest) -> None:
        """Start making a node (see Launcher)."""
        tracked = _Tracked(node, plan_of(node))
        with self._lock:
            self._tracked[node.instance_id] = tracked
        self._lanes.submit(node.private_ip, lambda: self._bring_up(tracked))

    def _bring_up(self, tracked: _Tracked) -> None:
        if tracked.ended:
            return
        if tracked.request.failure:
            self._fail_as_asked(tracked)
            return
        platform = self.platform(tracked.request.cluster_name)
        name = tracked.request.instance_name

        def on_script() -> None:
            tracked.state = "running_script"

        def on_line(line: str) -> None:
            tracked.log.append(line)
            self._on_line(name, line)

        try:
            platform.update(files_of(self._views[tracked.request.cluster_name]))
            result = platform.bring_up(tracked.plan, on_script=on_script, on_line=on_line)
        except (BedError, KeyError, ValueError) as error:
            tracked.fail(f"Instance launch failed: {error}")
            return
        self._settle(tracked, result)

    @staticmethod
    def _settle(tracked: _Tracked, result: ScriptResult) -> None:
        if result.ok:
            tracked.state = "ready"
        elif result.edits:
            tracked.fail(f"{SCRIPT_FAILURE} Rehearsal: {result.reason}")
        else:
            # A script that ended by itself has the last word in its log; what else went wrong is said here.
            if result.reason != f"{tracked.plan.entry}: exit code {result.exit_code}":
                tracked.log.append(f"rehearsal: {result.reason}")
            tracked.fail(SCRIPT_FAILURE)

    @staticmethod
    def _fail_as_asked(tracked: _Tracked) -> None:
        failure = tracked.request.failure
        assert failure is not None  # noqa: S101 - for the type checker
        tracked.state = "running_script"
        tracked.log.extend((*failure.log, f"exit code {failure.exit_code}"))
        tracked.fail(failure.message)

    def report(self, instance_id: str) -> NodeReport:
        """How an instance is doing (see Launcher)."""
        with self._lock:
            tracked = self._tracked.get(instance_id)
        if tracked is None:
            return NodeReport("failed", f"instance {instance_id} is unknown to the launcher")
        return tracked.report()

    def terminate(self, instance_id: str) -> None:
        """Start ending an instance, in the middle of its script too (see Launcher)."""
        with self._lock:
            tracked = self._tracked.pop(instance_id, None)
        if tracked is None:
            return
        tracked.ended = True
        # Not in its lane, where the script would have to end first; and once more there, for a node that was booting.
        killing = threading.Thread(target=self._remove, args=(tracked,), daemon=True)
        killing.start()

        def make_sure() -> None:
            killing.join()
            self._remove(tracked)

        self._lanes.submit(tracked.request.private_ip, make_sure)

    def _remove(self, tracked: _Tracked) -> None:
        with contextlib.suppress(BedError):
            if any(node["labels"].get("instance_id") == tracked.request.instance_id for node in self._bed.nodes()):
                self.platform(tracked.request.cluster_name).remove(tracked.plan.instance)

    def reboot(self, instance_id: str) -> None:
        """Start rebooting an instance (see Launcher)."""
        with self._lock:
            tracked = self._tracked.get(instance_id)
        if tracked is None:
            return
        tracked.state = "pending"
        self._lanes.submit(tracked.request.private_ip, lambda: self._reboot(tracked))

    def _reboot(self, tracked: _Tracked) -> None:
        try:
            self.platform(tracked.request.cluster_name).reboot(tracked.plan)
        except BedError as error:
            tracked.fail(str(error))
            return
        tracked.state = "ready"

    def configuration_changed(self, cluster: ClusterView) -> None:
        """The platform's files on the controller follow, in the background (see Launcher)."""
        with self._lock:
            self._views[cluster.name] = cluster
        self._lanes.submit(("cluster", cluster.name), lambda: self._follow(cluster))

    def _follow(self, cluster: ClusterView) -> None:
        if self._views[cluster.name] is not cluster:
            return  # a newer one is in the lane
        with contextlib.suppress(BedError):
            self.platform(cluster.name).update(files_of(cluster))

    def close(self) -> None:
        """Forget what was still to come; the bed's end ends the nodes."""
        for platform in list(self._platforms.values()):
            platform.close()
