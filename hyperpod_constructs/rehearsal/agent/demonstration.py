"""A small cluster on a bed, without the service: to look around, and to develop lifecycle scripts on."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hyperpod_constructs.rehearsal.agent.cluster import Instance, Mount, NodePlan, NodeType, Style, cluster_files
from hyperpod_constructs.rehearsal.agent.imitation import imitation_note
from hyperpod_constructs.rehearsal.agent.platform import Platform
from hyperpod_constructs.rehearsal.agent.scripts import FolderScripts
from hyperpod_constructs.rehearsal.nodes.bed import Bed, wait_for
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.errors import BedError

LUSTRE = "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh"
_URI = "s3://sagemaker-demonstration/lifecycle"


def small_cluster(compute: int, instance_type: str) -> tuple[Instance, ...]:
    """A controller, a login node and so many compute nodes in the partition ``train``."""

    def instance(host: int, group: str, number: int, kind: NodeType, type_name: str, partition: str = "") -> Instance:
        return Instance(
            instance_id=f"i-{host:017d}",
            group=group,
            number=number,
            node_type=kind,
            instance_type=type_name,
            address=f"10.1.{host // 250}.{host % 250 or 250}",
            partition=partition,
        )

    return (
        instance(10, "controller", 1, NodeType.CONTROLLER, "ml.m5.2xlarge"),
        instance(11, "login", 1, NodeType.LOGIN, "ml.m5.xlarge"),
        *(
            instance(20 + number, "workers", number, NodeType.COMPUTE, instance_type, "train")
            for number in range(1, compute + 1)
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Demonstration:
    """A cluster to be shown.

    Attributes:
        suite: Debian release.
        compute: number of compute nodes, 1 or more.
        instance_type: what these play.
        scripts: folder of lifecycle scripts; None: the image sets everything up itself.
        on_create: entry script in it, in that style.
        on_init_complete: entry script in it, in that style; one of both with ``scripts``.
        limit_seconds: the bed's bound in time.
    """

    suite: str
    compute: int
    instance_type: str
    scripts: Path | None
    on_create: str | None
    on_init_complete: str | None
    limit_seconds: float

    def style(self) -> Style:
        """The lifecycle style that the options mean.

        Raises:
            BedError: they do not fit together.
        """
        entries = [entry for entry in (self.on_create, self.on_init_complete) if entry]
        if self.compute < 1:
            raise BedError(f"got --compute {self.compute}; allowed: 1 or more")
        if len(entries) != (1 if self.scripts else 0):
            raise BedError("--scripts goes with exactly one of --on-create and --on-init-complete, and they with it")
        if self.scripts and not (self.scripts / entries[0]).is_file():
            raise BedError(f"there is no {entries[0]} in {self.scripts}")
        if not entries:
            return Style.IMAGE_ONLY
        return Style.ON_CREATE if self.on_create else Style.ON_INIT_COMPLETE

    @contextlib.contextmanager
    def cluster(self, say: Callable[[str], None]) -> Iterator[tuple[BedClient, str]]:
        """The running cluster: its bed and the name of its login node.

        Raises:
            BedError: a node was not set up, or the bed cannot be had.
        """
        style = self.style()
        if note := imitation_note(self.instance_type):
            say(note)
        instances = small_cluster(self.compute, self.instance_type)
        mounts = (Mount(kind="lustre", source=LUSTRE, path="/fsx"),)
        folders = {_URI: self.scripts} if self.scripts else {}
        with Bed(self.suite, limit_seconds=self.limit_seconds, maximum_nodes=len(instances), say=say) as bed:
            platform = Platform(bed, FolderScripts(folders))
            platform.update(cluster_files("rehearsal", instances, mounts=mounts))

            def bring_up(instance: Instance) -> None:
                plan = NodePlan(
                    instance=instance,
                    style=style,
                    source=_URI if self.scripts else "",
                    entry=self.on_create or self.on_init_complete or "",
                    mounts=mounts,
                )
                result = platform.bring_up(plan, on_line=lambda line: say(f"{instance.name}: {line}"))
                if not result.ok:
                    raise BedError(f"{instance.name} was not set up: {result.reason}")
                say(f"{instance.name} ({instance.host_name}) is set up after {result.seconds:.1f} s")

            bring_up(instances[0])
            wait_for([lambda instance=instance: bring_up(instance) for instance in instances[1:]])  # type: ignore[misc]
            yield bed, instances[1].host_name
            platform.close()
