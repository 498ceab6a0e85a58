"""One bed for the session, and one Slurm cluster on it; tests take nodes of their own beside it."""

import itertools
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import (
    FolderScripts,
    Instance,
    Mount,
    NodePlan,
    NodeType,
    Platform,
    ScriptResult,
    Story,
    Style,
    cluster_files,
)
from hyperpod_constructs.rehearsal.nodes import Bed, BedClient, wait_for
from hyperpod_constructs.rehearsal.nodes.doctor import examine
from hyperpod_constructs.rehearsal.nodes.paths import REHEARSAL_DIR_VARIABLE

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
URI = "s3://sagemaker-tests/lifecycle/0123abcd"
BED_LIMIT_SECONDS = 1500.0

_hosts = itertools.count(1)


@pytest.fixture(scope="session")
def cache() -> Path:
    """The repository's folder for Debian trees, whatever folder the tests run in."""
    return Path(os.environ.get(REHEARSAL_DIR_VARIABLE) or REPOSITORY / ".rehearsal").absolute() / "nodes"


@pytest.fixture(scope="session")
def machine() -> None:
    """A machine that can carry a bed; without one, skips on a developer's machine and fails where CI=true."""
    problems = [f"{finding.subject}: {finding.problem}" for finding in examine() if finding.problem]
    if problems and os.environ.get("CI") == "true":
        pytest.fail(f"Slurm nodes cannot run here: {'; '.join(problems)}")
    if problems:
        pytest.skip(f"Slurm nodes cannot run here: {'; '.join(problems)}")


@pytest.fixture(scope="session")
def bed(machine: None, cache: Path) -> Iterator[Bed]:
    """A bed of the default suite for the whole session."""
    with Bed(cache=cache, limit_seconds=BED_LIMIT_SECONDS, maximum_nodes=24, say=print) as running:
        yield running


@dataclass(frozen=True)
class Place:
    """A free host name and its address."""

    name: str
    address: str


@pytest.fixture
def place() -> Callable[[], Place]:
    """Hands out host names and addresses that no other test has."""

    def take() -> Place:
        number = next(_hosts)
        address = f"10.9.{number // 200}.{number % 200 + 1}"
        return Place("ip-" + address.replace(".", "-"), address)

    return take


@pytest.fixture
def node(bed: Bed, place: Callable[[], Place]) -> Iterator[str]:
    """A plain node for one test."""
    taken = place()
    bed.add(taken.name, taken.address)
    yield taken.name
    bed.remove(taken.name)


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether the condition comes true in that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@dataclass
class SlurmCluster:
    """A cluster that the agent brings up with the test's own scripts."""

    bed: BedClient
    network: int
    style: Style = Style.ON_CREATE
    story: Story = field(default_factory=Story)
    scripts: Path = SCRIPTS
    entry: str = "on_create.sh"
    instances: dict[str, Instance] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    gone: int = 0

    def __post_init__(self) -> None:
        source = f"fs-0123456789abcde{self.network:02d}.fsx.us-west-2.amazonaws.com@tcp:/fsx{self.network}"
        self.mounts = (Mount(kind="lustre", source=source, path="/fsx"),)
        self.platform = Platform(self.bed, FolderScripts({URI: self.scripts}), self.story)

    def instance(self, group: str, number: int, kind: NodeType, type_name: str = "ml.m5.xlarge") -> Instance:
        """Tell the platform of an instance; compute groups are partitions of the same name."""
        host = {NodeType.CONTROLLER: 10, NodeType.LOGIN: 11, NodeType.COMPUTE: 20 + number}[kind]
        made = Instance(
            instance_id=f"i-{self.network:05d}{self.gone:06d}{host:06d}",
            group=group,
            number=number,
            node_type=kind,
            instance_type=type_name,
            address=f"10.{self.network}.0.{host}",
            partition=group if kind is NodeType.COMPUTE else "",
        )
        self.instances[made.name] = made
        return made

    def tell(self) -> None:
        """Let the platform write what the cluster is now."""
        self.platform.update(cluster_files(f"test{self.network}", self.instances.values(), mounts=self.mounts))

    def plan(self, instance: Instance, style: Style | None = None) -> NodePlan:
        style = style or self.style
        source = "" if style is Style.IMAGE_ONLY else URI
        return NodePlan(instance=instance, style=style, source=source, entry=self.entry, mounts=self.mounts)

    def bring_up(self, *instances: Instance) -> list[ScriptResult]:
        """Launch instances side by side."""
        self.tell()
        results: dict[str, ScriptResult] = {}

        def launch(instance: Instance) -> None:
            lines = self.lines.setdefault(instance.name, [])
            results[instance.name] = self.platform.bring_up(self.plan(instance), on_line=lines.append)

        wait_for([lambda one=one: launch(one) for one in instances])  # type: ignore[misc]
        return [results[one.name] for one in instances]

    def end(self, instance: Instance) -> None:
        """Take an instance away, as scaling down does."""
        self.platform.remove(instance)
        del self.instances[instance.name]
        self.gone += 1
        self.tell()

    def end_all(self) -> None:
        self.platform.close()
        for instance in list(self.instances.values()):
            if instance.host_name in {node["name"] for node in self.bed.nodes()}:
                self.bed.remove(instance.host_name)

    def on(self, instance: str, text: str, *, seconds: float = 60.0) -> str:
        """What a shell command on an instance prints; it must succeed."""
        host = self.instances[instance].host_name
        return self.bed.run(host, ["bash", "-c", text], timeout_seconds=seconds, check=True).stdout

    def state(self, instance: Instance) -> str:
        """Slurm's word for the state of a node."""
        shown = self.on("controller-1", f"sinfo -h -n {instance.host_name} -o %T -p dev").split()
        return shown[0] if shown else "unknown"

    def all_idle(self, *instances: Instance, seconds: float = 30.0) -> bool:
        return within(seconds, lambda: all(self.state(one) == "idle" for one in instances))


_networks = itertools.count(30)


@pytest.fixture
def make_cluster(bed: Bed) -> Iterator[Callable[..., SlurmCluster]]:
    """Makes clusters on the session's bed that end with the test."""
    made: list[SlurmCluster] = []

    def make(**options: object) -> SlurmCluster:
        made.append(SlurmCluster(bed=bed, network=next(_networks), **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for cluster in made:
        cluster.end_all()


@pytest.fixture(scope="session")
def slurm(bed: Bed) -> Iterator[SlurmCluster]:
    """A controller, a login node and two compute nodes (``train``), set up by the test's own ON_CREATE script."""
    cluster = SlurmCluster(bed=bed, network=next(_networks))
    controller = cluster.instance("controller", 1, NodeType.CONTROLLER)
    assert [result.reason for result in cluster.bring_up(controller)] == [""]
    rest = [
        cluster.instance("login", 1, NodeType.LOGIN),
        cluster.instance("train", 1, NodeType.COMPUTE),
        cluster.instance("train", 2, NodeType.COMPUTE),
    ]
    assert [result.reason for result in cluster.bring_up(*rest)] == ["", "", ""]
    assert cluster.all_idle(*rest)
    yield cluster
    cluster.end_all()
