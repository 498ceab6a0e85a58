"""What the platform knows of a cluster and writes into its files on the nodes (FACTS 5.7)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

CONFIG_DIR = "/opt/ml/config"
RESOURCE_CONFIG = f"{CONFIG_DIR}/resource_config.json"
PROVISIONING_PARAMETERS = f"{CONFIG_DIR}/provisioning_parameters.json"
CLUSTER_AGENT = f"{CONFIG_DIR}/cluster_agent.json"


class NodeType(StrEnum):
    """The API's SlurmConfig.NodeType."""

    CONTROLLER = "Controller"
    LOGIN = "Login"
    COMPUTE = "Compute"


class Style(StrEnum):
    """Which of the three lifecycle styles a group has (FACTS 5.6)."""

    ON_CREATE = "OnCreate"
    ON_INIT_COMPLETE = "OnInitComplete"
    IMAGE_ONLY = "ImageOnly"

    @property
    def image_sets_up(self) -> bool:
        """Whether the image mounts file systems and starts the daemons."""
        return self is not Style.ON_CREATE


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A shared file system of a group: ``kind`` lustre or nfs, ``source`` as mount takes it, ``path`` on the node."""

    kind: str
    source: str
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """One instance of a cluster.

    Attributes:
        instance_id: ``i-`` and 17 digits.
        group: name of its instance group.
        number: from 1; ``<group>-<number>`` is the instance's name.
        node_type: what it is to Slurm.
        instance_type: with ``ml.``.
        address: in the customer's network.
        partition: of a compute node; empty otherwise.
        real: False for one that exists only in the service: Slurm is told that it is down.
    """

    instance_id: str
    group: str
    number: int
    node_type: NodeType
    instance_type: str
    address: str
    partition: str = ""
    real: bool = True

    @property
    def name(self) -> str:
        return f"{self.group}-{self.number}"

    @property
    def host_name(self) -> str:
        """``ip-10-0-0-12``: from the customer address, kept on replacement (FACTS 6.3)."""
        return "ip-" + self.address.replace(".", "-")


@dataclass(frozen=True, kw_only=True)
class ClusterFiles:
    """A cluster at one moment.

    Attributes:
        name: the cluster's name; its id and account stand in ``arn``.
        instances: all that have an address.
        resource_config: content of the file of that name.
        provisioning_parameters: content of the file of that name; None where the platform writes none (FACTS 5.7
            says that scripts must expect this).
    """

    name: str
    arn: str
    instances: tuple[Instance, ...]
    resource_config: Mapping[str, Any]
    provisioning_parameters: Mapping[str, Any] | None

    @property
    def controller(self) -> Instance | None:
        return next((one for one in self.instances if one.node_type is NodeType.CONTROLLER), None)


@dataclass(frozen=True, kw_only=True)
class Deviations:
    """What the platform's files say other than the truth. The default is a platform without faults.

    Attributes:
        null_groups: groups whose Instances is null in resource_config.json.
        without_provisioning_parameters: write no provisioning_parameters.json.
        without_newer_fields: leave out ClusterType and SlurmConfig, as older images do.
    """

    null_groups: tuple[str, ...] = ()
    without_provisioning_parameters: bool = False
    without_newer_fields: bool = False


def cluster_files(
    name: str,
    instances: Iterable[Instance],
    *,
    arn: str = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
    mounts: Sequence[Mount] = (),
    deviations: Deviations = Deviations(),
) -> ClusterFiles:
    """The files of a cluster that consists of these instances, in the documented forms."""
    members = tuple(instances)
    return ClusterFiles(
        name=name,
        arn=arn,
        instances=members,
        resource_config=resource_config(name, arn, members, deviations),
        provisioning_parameters=(
            None if deviations.without_provisioning_parameters else provisioning_parameters(members, mounts)
        ),
    )


def resource_config(
    name: str, arn: str, instances: Sequence[Instance], deviations: Deviations = Deviations()
) -> dict[str, Any]:
    """Content of resource_config.json."""
    groups: dict[str, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.group, []).append(instance)
    newer = {
        "ClusterType": "Slurm",
        "SlurmConfig": {
            "PrimaryControllerIp": next((i.address for i in instances if i.node_type is NodeType.CONTROLLER), ""),
            "SecondaryControllerIps": [],
        },
    }
    return {
        "ClusterConfig": {"ClusterName": name, "ClusterArn": arn},
        **({} if deviations.without_newer_fields else newer),
        "InstanceGroups": [
            {
                "Name": group,
                "InstanceType": members[0].instance_type,
                "Instances": None if group in deviations.null_groups else [_instance_entry(one) for one in members],
            }
            for group, members in groups.items()
        ],
    }


def _instance_entry(instance: Instance) -> dict[str, str]:
    return {
        "InstanceName": instance.name,
        # An address in the service's own network, which nothing on a node can use (FACTS 2).
        "AgentIpAddress": "172.16." + ".".join(instance.address.split(".")[2:]),
        "CustomerIpAddress": instance.address,
        "InstanceId": instance.instance_id,
    }


def provisioning_parameters(instances: Sequence[Instance], mounts: Sequence[Mount] = ()) -> dict[str, Any]:
    """Content of provisioning_parameters.json."""
    compute = {one.group: one.partition for one in instances if one.node_type is NodeType.COMPUTE}
    found: dict[str, Any] = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": next((i.group for i in instances if i.node_type is NodeType.CONTROLLER), ""),
        "worker_groups": [
            {"instance_group_name": group, "partition_name": partition} for group, partition in compute.items()
        ],
    }
    login = next((one.group for one in instances if one.node_type is NodeType.LOGIN), None)
    if login:
        found["login_group"] = login
    lustre = next((mount for mount in mounts if mount.kind == "lustre"), None)
    if lustre:
        server, _, mount_name = lustre.source.partition("@tcp:/")
        found |= {"fsx_dns_name": server, "fsx_mountname": mount_name}
    return found


@dataclass(frozen=True, kw_only=True)
class NodePlan:
    """One node to be brought up.

    Attributes:
        instance: who it is.
        style: of its group.
        source: S3 URI of the scripts; empty for IMAGE_ONLY.
        entry: name of the script to run.
        mounts: shared file systems of its group.
        volumes: which of /opt/sagemaker and /opt/dlami/nvme it has.
    """

    instance: Instance
    style: Style
    source: str = ""
    entry: str = ""
    mounts: tuple[Mount, ...] = ()
    volumes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
