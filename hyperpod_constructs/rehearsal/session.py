"""A rehearsal to be driven step by step: the environment, the two processes, and what the CDK CLI does against them."""

from __future__ import annotations

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from . import runs
from .account import Account
from .bed_process import NodesBed, RealNodes, start_bed
from .cdk_cli import CdkCli, CdkRun, app_failure, require_app
from .cluster_nodes import ClusterNodes
from .deployment_watch import DeploymentWatch
from .emulator import ACCOUNT, Emulator, start_emulator
from .environment import Environment, default_root, prepare
from .failures import RehearsalError
from .processes import LOOPBACK, free_port, require_free_port
from .progress import Progress, Silent
from .service_process import Service, start_service
from .stacks import StackEvent, SynthesizedStack, first_failure, read_assembly, reason_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .leftovers import Inventory

DEFAULT_APP = "python app.py"
DEFAULT_REGION = "us-east-1"
DEFAULT_WORKERS_AT_FIRST = 2
DEFAULT_CONTEXT = {
    # On AWS the custom resource is polled every 30 s, for a cluster takes minutes; here it takes seconds.
    "hyperpod-constructs:query-interval-seconds": "2",
    # The app of this repository then deletes the file system with its stack.
    "removal": "destroy",
}
BOOTSTRAP_STACK = "CDKToolkit"
BOOTSTRAP_TIMEOUT_SECONDS = 60.0
SYNTH_TIMEOUT_SECONDS = 240.0
DEPLOY_TIMEOUT_SECONDS = 900.0


class DeploymentFailedError(RehearsalError):
    """A deployment or a destruction failed. ``event`` is the stack event that began it, None if there was none."""

    def __init__(self, text: str, event: StackEvent | None = None) -> None:
        super().__init__(text)
        self.event = event


@dataclass(frozen=True)
class Deployment:
    """A finished deployment: its stacks, and their outputs by stack name."""

    stacks: tuple[str, ...]
    outputs: Mapping[str, Mapping[str, str]]


class Rehearsal:
    """The emulated AWS and the HyperPod service, up while the ``with`` block runs.

    Args:
        root: The folder of the prepared environment and of the runs; ``$HYPERPOD_REHEARSAL_DIR``, else ``.rehearsal``.
        folder: Where apps are run (their cdk.json and relative paths); the current folder by default.
        region: The region that everything is in.
        port: The emulated AWS listens there and the service on the next one; two free ports by default.
        capacity: Entries such as ``worker-gpu-a=2`` or ``ml.p5.48xlarge=2@0,16@60``.
        workers_at_first: The instances that a compute group gets which ``capacity`` does not name; the service answers
            "insufficient capacity" to the rest. None: no such limit.
        nodes: Which instances are real Slurm nodes, on a machine that can carry them; None: all are simulated.
        service_arguments: More arguments of the service.
        progress: Who is told what happens; nobody by default.

    Every step raises RehearsalError with complete text. Leaving the block ends every process, whatever happened.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        folder: Path | None = None,
        region: str = DEFAULT_REGION,
        port: int | None = None,
        capacity: Sequence[str] = (),
        workers_at_first: int | None = DEFAULT_WORKERS_AT_FIRST,
        nodes: RealNodes | None = None,
        service_arguments: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> None:
        self.root = (root or default_root()).absolute()
        self.folder = (folder or Path.cwd()).absolute()
        self.region = region
        self.app = DEFAULT_APP
        self.context: dict[str, str] = dict(DEFAULT_CONTEXT)
        self.progress: Progress = progress or Silent()
        self._port = port
        self._capacity = tuple(capacity)
        self._workers_at_first = workers_at_first
        self._nodes = nodes
        self._service_arguments = tuple(service_arguments)
        self.bed: NodesBed | None = None
        self._limited: set[str] = set()
        self._processes = contextlib.ExitStack()
        self._run_folder: Path | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Prepare the environment, start all processes, bootstrap the account for the CDK."""
        port = free_port() if self._port is None else require_free_port(self._port)
        service_port = free_port() if self._port is None else require_free_port(self._port + 1)
        self.progress.step("preparing the tools")
        self.environment: Environment = prepare(self.root, self.progress.detail)
        self.run_folder = self._run_folder = runs.new_run(self.root)
        with_nodes = self._start_bed(f"http://{LOOPBACK}:{port}") if self._nodes else []
        self.progress.step("starting the emulated AWS and the HyperPod service")
        self.service: Service = start_service(
            folder=self.run_folder,
            port=service_port,
            region=self.region,
            arguments=[
                f"--aws-endpoint=http://{LOOPBACK}:{port}",
                *(f"--capacity={entry}" for entry in self._capacity),
                *with_nodes,
                *self._service_arguments,
            ],
        )
        self._processes.callback(self.service.stop)
        self.emulator: Emulator = start_emulator(
            self.environment, folder=self.run_folder, port=port, service_url=self.service.url, region=self.region
        )
        self._processes.callback(self.emulator.stop)
        self.account = Account(self.emulator.url, self.service, self.region)
        self._cli = CdkCli(self.environment, self.run_folder, self.folder, self.emulator.url, self.region)
        self._bootstrap()

    def _start_bed(self, aws_endpoint: str) -> list[str]:
        """Start the machines' part; gives the arguments that make the service launch its instances there."""
        assert self._nodes is not None  # noqa: S101 - for the type checker
        self.progress.step("starting the bed of Slurm nodes")
        self.bed = start_bed(self._nodes, root=self.root, folder=self.run_folder)
        self._processes.callback(self.bed.stop)
        return self._nodes.service_arguments(self.bed.client.socket, aws_endpoint, self.region, ACCOUNT)

    def stop(self) -> None:
        """End everything. Harmless when it has ended."""
        self._processes.close()
        if self._run_folder:
            for name in ("emulator-home", "emulator-tmp", "cdk-tmp"):
                shutil.rmtree(self._run_folder / name, ignore_errors=True)

    def keep(self) -> None:
        """Leave all processes running after this one; ``runs.stop_kept`` ends them in the order given here."""
        self._processes.pop_all()
        self._run_folder = None
        kept = [self.emulator.process, self.service.process, *([self.bed.process] if self.bed else [])]
        for process in kept:
            process.keep()
        runs.remember(self.run_folder, [process.guard_pid for process in kept])

    def _bootstrap(self) -> None:
        """What ``cdk bootstrap`` does, with its own template, parameters and stack name."""
        self.progress.step("bootstrapping the account for the CDK")
        self.account.create_stack(
            BOOTSTRAP_STACK,
            self.environment.bootstrap_template.read_text(),
            {
                "CloudFormationExecutionPolicies": "arn:aws:iam::aws:policy/AdministratorAccess",
                "FileAssetsBucketKmsKeyId": "AWS_MANAGED_KEY",
                "PublicAccessBlockConfiguration": "true",
            },
            BOOTSTRAP_TIMEOUT_SECONDS,
        )
        self.before: Inventory = self.account.inventory()

    def synth(self, app: str = DEFAULT_APP, context: Mapping[str, str] | None = None) -> list[SynthesizedStack]:
        """Synthesize the app (a command, or the folder of a cloud assembly) into the run's folder.

        What it said when it failed is the error's text.
        """
        require_app(app, self.folder)
        self.app, self.context = app, {**DEFAULT_CONTEXT, **(context or {})}
        self.progress.step("cdk synth")
        shutil.rmtree(self._assembly, ignore_errors=True)
        if (self.folder / app).is_dir():  # synthesized already: the CLI would use the folder as it is
            shutil.copytree(self.folder / app, self._assembly)
            return read_assembly(self._assembly)
        run = self._cli.run(
            "synth",
            ["synth", "--quiet", f"--output={self._assembly}", *self._cli.app_arguments(app, self.context)],
            timeout_seconds=SYNTH_TIMEOUT_SECONDS,
        )
        if run.code:
            raise RehearsalError(f"the app could not be synthesized:\n{app_failure(run.output)}\n(log: {run.log})")
        return read_assembly(self._assembly)

    def deploy(self, app: str = DEFAULT_APP, context: Mapping[str, str] | None = None) -> Deployment:
        """Synthesize, then create or update all stacks with ``cdk deploy``, and wait for the end.

        Raises DeploymentFailedError with the reason of the stack event that began the failure, after the roll-back.
        """
        stacks = self.synth(app, context)
        self._limit_capacity(stacks)
        names = [stack.name for stack in stacks]
        outputs = self.run_folder / "outputs.json"
        outputs.unlink(missing_ok=True)
        self._cloudformation(
            "deploy",
            ["--require-approval=never", "--progress=events", f"--outputs-file={outputs}"],
            names,
            sum(stack.resource_count for stack in stacks),
        )
        return Deployment(tuple(names), json.loads(outputs.read_text()) if outputs.exists() else {})

    def destroy(self) -> None:
        """``cdk destroy`` of what was synthesized last. Raises DeploymentFailedError if something did not go."""
        names = [stack.name for stack in read_assembly(self._assembly)]
        self._cloudformation("destroy", ["--force"], names, sum(len(self.account.resources(name)) for name in names))

    def clusters(self) -> list[dict[str, Any]]:
        """Every cluster of the service as DescribeCluster shows it."""
        return self.account.clusters()

    def nodes_of(self, cluster: str) -> ClusterNodes:
        """The nodes of a cluster. Raises RehearsalError if this rehearsal has no real ones."""
        if self.bed is None:
            raise RehearsalError("all instances of this rehearsal are simulated")
        return ClusterNodes(self.service, self.bed.client, cluster)

    def real_nodes_of(self, group: str) -> int:
        """How many instances of that group are real Slurm nodes at most."""
        return self._nodes.of_group(group) if self._nodes else 0

    def stack_events(self, stack: str) -> list[StackEvent]:
        """Every event of a stack, oldest first."""
        return self.account.stack_events(stack)

    def calls(self) -> list[dict[str, Any]]:
        """Every call that the HyperPod service received, oldest first."""
        return self.service.calls()

    def leftovers(self) -> list[str]:
        """What the account holds now and did not hold before the first deployment."""
        return self.account.inventory().since(self.before)

    @property
    def _assembly(self) -> Path:
        return self.run_folder / "cdk.out"

    def _cloudformation(self, title: str, options: Sequence[str], stacks: Sequence[str], resources: int) -> None:
        self.progress.step(f"cdk {title}")
        seen = self.account.event_ids(stacks)
        run = self._cli.run(
            title,
            [title, "--all", f"--app={self._assembly}", *options],
            timeout_seconds=DEPLOY_TIMEOUT_SECONDS,
            meanwhile=DeploymentWatch(self.account, self.progress, stacks, seen, resources).look,
        )
        if run.code:
            raise _failure(run, self.account.events_after(stacks, seen))

    def _limit_capacity(self, stacks: Sequence[SynthesizedStack]) -> None:
        """Give compute groups that the user's capacity does not name the instances they get at first, once."""
        named = {entry.partition("=")[0] for text in self._capacity for entry in text.replace(";", " ").split()}
        if self._workers_at_first is None or any(name.startswith("ml.") for name in named):
            return
        groups = {name for stack in stacks for name in stack.compute_groups()} - named - self._limited
        if groups:
            self.service.limit_capacity(dict.fromkeys(groups, self._workers_at_first))
            self._limited |= groups


def _failure(run: CdkRun, events: Iterable[StackEvent]) -> DeploymentFailedError:
    event = first_failure(events)
    if event is None:
        return DeploymentFailedError(f"cdk {run.title} failed: {app_failure(run.output, 8)}\n(log: {run.log})")
    return DeploymentFailedError(
        f"cdk {run.title} failed at {event.logical_id} ({event.resource_type}), {event.status}:\n"
        f"{reason_text(event.reason)}\n(log: {run.log})",
        event,
    )
