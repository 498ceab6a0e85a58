"""Plays the HyperPod platform on the nodes of a bed, for one cluster."""

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperpod_constructs.rehearsal.agent import cluster, slurm_files
from hyperpod_constructs.rehearsal.agent.cluster import ClusterFiles, Instance, NodePlan, NodeType
from hyperpod_constructs.rehearsal.agent.controller_files import ControllerFiles, is_running
from hyperpod_constructs.rehearsal.agent.scripts import ScriptsError, ScriptStore, node_folder
from hyperpod_constructs.rehearsal.agent.story import Story, When
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.errors import BedError, NodeError

PROVISIONING_LOG = "/var/log/provision/provisioning.log"
MUNGE_KEY = "/etc/munge/munge.key"
GPU_DEVICES = "/etc/tmpfiles.d/rehearsal-gpu.conf"
IMAGE_SETUP_TIMEOUT_SECONDS = 180.0
_HERE = Path(__file__).parent
_TOOLS = "/run/rehearsal-agent"  # on a node; in memory, so that a script's traces on disk are its own

OnLine = Callable[[str], None]


def _ignore(line: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptResult:
    """What bringing up a node came to.

    Attributes:
        ok: the node is set up.
        exit_code: of the script; 0 when there is none, 124 when it was killed for its time.
        reason: why it is not ok, in words; empty otherwise.
        seconds: from the start of the script to its end.
        edits: platform-owned keys that were changed by somebody else, in words.
    """

    ok: bool
    exit_code: int
    reason: str = ""
    seconds: float = 0.0
    edits: tuple[str, ...] = ()


class Platform:
    """The platform's side of one cluster.

    Args:
        bed: where its nodes are.
        scripts: where lifecycle scripts come from.
        story: how it behaves.

    Safe to use from several threads: nodes are brought up beside each other.
    """

    def __init__(self, bed: BedClient, scripts: ScriptStore, story: Story = Story()) -> None:  # noqa: B008 - frozen
        self._bed = bed
        self._scripts = scripts
        self._story = story
        self._munge_key = secrets.token_bytes(1024)
        self._lock = threading.RLock()
        self._files: ClusterFiles | None = None
        self._slurm = ControllerFiles(bed, login_is_a_node=story.login_is_a_node)
        self._timers: list[threading.Timer] = []

    @property
    def edits(self) -> list[str]:
        """Every edit of a platform-owned key by somebody else so far, in words."""
        return list(self._slurm.edits)

    @property
    def files(self) -> ClusterFiles:
        """The cluster as it was told last.

        Raises:
            BedError: it was never told.
        """
        if self._files is None:
            raise BedError("the platform knows no cluster yet; call update first")
        return self._files

    # --- the cluster as a whole

    def update(self, files: ClusterFiles) -> None:
        """The cluster changed: nodes came or went. The controller's files follow, if it is up.

        Copies of resource_config.json on other nodes stay as they were at their launch (FACTS 5.7: they may be stale).
        """
        with self._lock:
            self._files = files
            controller = files.controller
            if controller and is_running(self._bed, controller):
                self._write_config(controller)
                self._slurm.reconcile(files)

    # --- one node

    def bring_up(
        self, plan: NodePlan, *, on_script: Callable[[], None] = lambda: None, on_line: OnLine = _ignore
    ) -> ScriptResult:
        """Boot a node and do with it what the platform does: files, keys, image's own set-up, lifecycle script.

        Args:
            plan: the node. ``update`` must have told of it.
            on_script: called when the script is about to start (also where there is none).
            on_line: each line of the provisioning log.

        Raises:
            BedError: the node could not be booted.
        """
        with self._lock:
            self._slurm.forget(plan.instance)  # its root is a fresh one
        self._prepare(plan)
        on_script()
        started = time.monotonic()
        try:
            self._announce(plan.instance)
            result = self._set_up(plan, on_line)
        except BedError as error:  # cut off, rebooted or removed meanwhile
            result = ScriptResult(ok=False, exit_code=1, reason=str(error))
        edits = tuple(self._check_edits())
        reason = result.reason or (f"a platform-owned key was edited: {'; '.join(edits)}" if edits else "")
        return ScriptResult(
            ok=result.ok and not edits,
            exit_code=result.exit_code,
            reason=reason,
            seconds=time.monotonic() - started,
            edits=edits,
        )

    def _prepare(self, plan: NodePlan) -> None:
        for mount in plan.mounts:
            self._bed.add_file_system(mount.source, kind=mount.kind)
        instance = plan.instance
        labels = {"instance_id": instance.instance_id, "group": instance.group, "node_type": str(instance.node_type)}
        self._bed.add(instance.host_name, instance.address, labels=labels, volumes=plan.volumes)
        self._write_config(instance)
        self._make_gpus(instance)
        self._bed.put(instance.host_name, {MUNGE_KEY: (self._munge_key, 0o400)}, owner="munge:munge")
        tools = {f"{_TOOLS}/{name}": (_HERE / name).read_bytes() for name in ("run_script.sh", "image_setup.sh")}
        self._bed.put(instance.host_name, tools)

    def _make_gpus(self, instance: Instance) -> None:
        devices = slurm_files.gpu_stand_ins(instance)
        if devices:
            self._bed.put(instance.host_name, {GPU_DEVICES: devices.encode()})
            self._bed.run(instance.host_name, ["systemd-tmpfiles", "--create", GPU_DEVICES], check=True)

    def _write_config(self, instance: Instance) -> None:
        files = self.files
        contents: dict[str, Any] = {cluster.RESOURCE_CONFIG: files.resource_config}
        if files.provisioning_parameters is not None:
            contents[cluster.PROVISIONING_PARAMETERS] = files.provisioning_parameters
        if instance.node_type is NodeType.CONTROLLER:
            agent = {"EnableTopology": False, "UseInstanceNames": False, "CreateMagneticReservations": False}
            contents[cluster.CLUSTER_AGENT] = agent
        texts = {path: f"{json.dumps(content, indent=2)}\n".encode() for path, content in contents.items()}
        self._bed.put(instance.host_name, texts)

    def _announce(self, instance: Instance) -> None:
        """Let slurm.conf learn of a node now, or later where the story says so."""
        is_controller = instance.node_type is NodeType.CONTROLLER
        story = self._story
        delay = story.slurm_conf_delay_seconds if is_controller else story.node_lines_delay_seconds
        if not delay:
            self._release(instance)
            return
        timer = threading.Timer(delay, self._release_late, [instance])
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _release(self, instance: Instance) -> None:
        with self._lock:
            self._slurm.release(instance)
            self._slurm.reconcile(self.files)

    def _release_late(self, instance: Instance) -> None:
        with contextlib.suppress(BedError):  # the node or the bed ended first
            self._release(instance)

    def _set_up(self, plan: NodePlan, on_line: OnLine) -> ScriptResult:
        if not plan.style.image_sets_up:
            return self._run_script(plan, on_line)
        if self._story.image_setup is When.BEFORE or not plan.source:
            self.set_up_image(plan)
            return self._run_script(plan, on_line) if plan.source else ScriptResult(ok=True, exit_code=0)
        if self._story.image_setup is When.AFTER:
            result = self._run_script(plan, on_line)
            if result.ok:
                self.set_up_image(plan)
            return result
        return self._set_up_beside(plan, on_line)

    def _set_up_beside(self, plan: NodePlan, on_line: OnLine) -> ScriptResult:
        failures: list[BedError] = []

        def set_up() -> None:
            try:
                self.set_up_image(plan)
            except BedError as error:
                failures.append(error)

        beside = threading.Thread(target=set_up, daemon=True)
        beside.start()
        result = self._run_script(plan, on_line)
        beside.join(IMAGE_SETUP_TIMEOUT_SECONDS + 30)
        return result if not failures else ScriptResult(ok=False, exit_code=1, reason=str(failures[0]))

    def set_up_image(self, plan: NodePlan) -> None:
        """Mount the group's file systems and start the daemons, as the image does in its styles.

        Raises:
            NodeError: it failed, with the last lines.
        """
        controller = self.files.controller
        if controller is None:
            raise NodeError("the cluster has no controller")
        accounting = "yes" if self._story.image_accounting else "no"
        arguments = [
            str(plan.instance.node_type),
            controller.host_name,
            controller.address,
            accounting,
            self.files.name,
        ]
        for mount in plan.mounts:
            arguments += [mount.kind, mount.source, mount.path]
        command = ["bash", f"{_TOOLS}/image_setup.sh", *arguments]
        self._bed.run(plan.instance.host_name, command, timeout_seconds=IMAGE_SETUP_TIMEOUT_SECONDS, check=True)

    def _run_script(self, plan: NodePlan, on_line: OnLine) -> ScriptResult:
        host, folder = plan.instance.host_name, node_folder(plan.source)
        try:
            files = self._scripts.fetch(plan.source)
        except ScriptsError as error:
            return ScriptResult(ok=False, exit_code=1, reason=f"the lifecycle scripts cannot be downloaded: {error}")
        if plan.entry not in files:
            reason = f"{plan.source} has no {plan.entry}; it has: {', '.join(sorted(files)[:10])}"
            return ScriptResult(ok=False, exit_code=1, reason=reason)
        self._bed.put(host, {f"{folder}/{name}": content for name, content in files.items()})
        self._bed.run(host, ["chmod", "755", f"{folder}/{plan.entry}"], as_service=False, check=True)
        return self.run_entry(host, folder, plan.entry, on_line=on_line)

    def run_entry(self, host: str, folder: str, entry: str, *, on_line: OnLine = _ignore) -> ScriptResult:
        """Run an entry script that is on the node already, in the platform's environment (FACTS 5.7).

        HOME is not set, there is no terminal, the umask is 077, and of variables there are PATH and
        SAGEMAKER_RESOURCE_CONFIG_PATH alone.
        """
        variables = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        variables.append(f"SAGEMAKER_RESOURCE_CONFIG_PATH={cluster.RESOURCE_CONFIG}")
        runner = ["bash", f"{_TOOLS}/run_script.sh", PROVISIONING_LOG]
        started = time.monotonic()
        code = self._bed.follow(
            host,
            [*runner, "env", "-i", *variables, f"./{entry}"],
            on_line,
            folder=folder,
            umask="077",
            timeout_seconds=self._story.script_timeout_seconds,
        )
        seconds = time.monotonic() - started
        if code == 0:
            return ScriptResult(ok=True, exit_code=0, seconds=seconds)
        why = f"no end after {self._story.script_timeout_seconds:.0f} s" if code == 124 else f"exit code {code}"
        return ScriptResult(ok=False, exit_code=code, reason=f"{entry}: {why}", seconds=seconds)

    def _check_edits(self) -> list[str]:
        with self._lock:
            controller = self.files.controller
            return self._slurm.note_edits(controller) if controller else []

    def reboot(self, plan: NodePlan) -> None:
        """Reboot a node; no script runs, but the image mounts and starts what is its own again."""
        self._bed.reboot(plan.instance.host_name)
        if plan.style.image_sets_up:
            tools = {f"{_TOOLS}/image_setup.sh": (_HERE / "image_setup.sh").read_bytes()}
            self._bed.put(plan.instance.host_name, tools)
            self.set_up_image(plan)

    def remove(self, instance: Instance) -> None:
        """End a node; ``update`` tells of the cluster without it."""
        with self._lock:
            self._slurm.forget(instance)
        self._bed.remove(instance.host_name)

    def close(self) -> None:
        """Forget what was still to come."""
        for timer in self._timers:
            timer.cancel()
