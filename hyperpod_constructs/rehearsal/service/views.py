"""The clusters, groups and nodes as the API's answers and the platform's files show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .clock import epoch_seconds
from .launcher import ClusterView, NodeKinds, NodeView
from .plain import copied
from .state import COMPUTE, CONTROLLER, IN_USE, LOGIN, Cluster, Group, Node

if TYPE_CHECKING:
    from .context import Context

_SHOWN_AS_SENT = (
    "InstanceType",
    "LifeCycleConfig",
    "ExecutionRole",
    "ThreadsPerCore",
    "InstanceStorageConfigs",
    "OnStartDeepHealthChecks",
    "TrainingPlanArn",
    "OverrideVpcConfig",
    "ScheduledUpdateConfig",
    "CapacityRequirements",
    "SlurmConfig",
    "NetworkInterface",
)
_OF_THE_NODE = ("LifeCycleConfig", "OverrideVpcConfig", "ThreadsPerCore", "InstanceStorageConfigs", "NetworkInterface")
_CLUSTER_FIELDS = (
    "VpcConfig",
    "Orchestrator",
    "TieredStorageConfig",
    "NodeRecovery",
    "NodeProvisioningMode",
)


def cluster_details(context: Context, cluster: Cluster) -> dict[str, Any]:
    """The answer of DescribeCluster."""
    shown: dict[str, Any] = {
        "ClusterArn": cluster.arn,
        "ClusterName": cluster.name,
        "ClusterStatus": str(cluster.status),
        "CreationTime": cluster.created_at,
        "InstanceGroups": [group_details(context, group) for group in cluster.groups],
    }
    if cluster.failure_message:
        shown["FailureMessage"] = cluster.failure_message
    shown.update({name: copied(cluster.request[name]) for name in _CLUSTER_FIELDS if name in cluster.request})
    if context.assumptions.echo_defaults:
        shown.setdefault("NodeRecovery", "Automatic")
        _fill_accounting(cluster, shown)
    return shown


def _fill_accounting(cluster: Cluster, shown: dict[str, Any]) -> None:
    database = shown.get("Orchestrator", {}).get("Slurm", {}).get("AccountingDatabase")
    if database is not None:
        database.setdefault("Port", 3306)
        database.setdefault("Name", f"slurm_acct_db_{cluster.id}")


def group_details(context: Context, group: Group) -> dict[str, Any]:
    """One group of DescribeCluster: InstanceCount is TargetCount there, MinInstanceCount is MinCount."""
    specification = group.specification
    shown: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "Status": str(group.status),
        "CurrentCount": group.current_count,
        "TargetCount": group.target,
        "MinCount": group.minimum,
        **{name: copied(specification[name]) for name in _SHOWN_AS_SENT if name in specification},
        "CurrentImageId": group.image_id,
        "DesiredImageId": group.desired_image_id,
        "CurrentImageReleaseVersion": group.image_release,
        "DesiredImageReleaseVersion": group.desired_release,
        "ImageVersionStatus": image_status(context, group.image_release),
        "TargetStateCount": sum(
            node.state in IN_USE and node.image_release == group.desired_release for node in group.nodes
        ),
    }
    if "TrainingPlanArn" in specification:
        shown["TrainingPlanStatus"] = "Active"
    if "InstanceRequirements" in specification:
        types = list(specification["InstanceRequirements"]["InstanceTypes"])
        shown["InstanceRequirements"] = {"CurrentInstanceTypes": types, "DesiredInstanceTypes": types}
    if "AutoPatchConfig" in specification:
        shown["AutoPatchConfig"] = _auto_patch(specification["AutoPatchConfig"])
    if group.current_count != group.target:
        shown["ActiveOperations"] = {"Scaling": 1}
    if group.software:
        shown["SoftwareUpdateStatus"] = str(group.software.phase)
    if context.assumptions.echo_defaults:
        fill_group_defaults(shown)
    return shown


def fill_group_defaults(shown: dict[str, Any]) -> None:
    """Put the documented defaults in (FACTS 4.4; ThreadsPerCore: field report V-12)."""
    shown.setdefault("ThreadsPerCore", 1)
    for storage in shown.get("InstanceStorageConfigs", ()):
        if "FsxLustreConfig" in storage:
            storage["FsxLustreConfig"].setdefault("MountPath", "/fsx")
        if "FsxOpenZfsConfig" in storage:
            storage["FsxOpenZfsConfig"].setdefault("MountPath", "/home")
        if "EbsVolumeConfig" in storage:
            storage["EbsVolumeConfig"].setdefault("RootVolume", False)


def _auto_patch(config: dict[str, Any]) -> dict[str, Any]:
    shown = {name: copied(value) for name, value in config.items() if name != "PatchSchedule"}
    if "PatchSchedule" in config:
        schedule = {name: epoch_seconds(value) for name, value in config["PatchSchedule"].items()}
        shown["CurrentPatchSchedule"] = shown["DesiredPatchSchedule"] = schedule
    return shown


def image_status(context: Context, release: str | None) -> str:
    """Whether an image is the latest."""
    return "UpToDate" if release == context.latest_image_release else "UpdateAvailable"


def host_name(node: Node) -> str:
    """The private DNS name of a node."""
    return f"ip-{str(node.address).replace('.', '-')}.ec2.internal"


def node_summary(context: Context, group: Group, node: Node, logical_id: bool) -> dict[str, Any]:
    """One node of ListClusterNodes.

    A node without an instance appears only where logical ids are asked for; its instance id is an empty text, since
    the model requires the member.
    """
    shown: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "InstanceId": node.instance_id or "",
        "InstanceType": group.instance_type,
        "LaunchTime": node.launched_at if node.launched_at is not None else node.requested_at,
        "InstanceStatus": _instance_status(node),
    }
    if logical_id:
        shown["NodeLogicalId"] = node.logical_id
    if node.instance_id:
        shown["PrivateDnsHostname"] = host_name(node)
        shown["CurrentImageReleaseVersion"] = node.image_release
        shown["ImageVersionStatus"] = image_status(context, node.image_release)
    if node.updated_at is not None:
        shown["LastSoftwareUpdateTime"] = node.updated_at
    return shown


def _instance_status(node: Node) -> dict[str, Any]:
    status: dict[str, Any] = {"Status": node.status}
    if node.message:
        status["Message"] = node.message
    return status


def node_details(context: Context, group: Group, node: Node) -> dict[str, Any]:
    """The answer of DescribeClusterNode: what the node was made from, not what the group says now."""
    shown: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "NodeLogicalId": node.logical_id,
        "InstanceStatus": _instance_status(node),
        "InstanceType": group.instance_type,
        "DesiredImageId": group.desired_image_id,
        "DesiredImageReleaseVersion": group.desired_release,
        "CapacityType": "Spot" if "Spot" in group.specification.get("CapacityRequirements", {}) else "OnDemand",
    }
    if node.instance_id:
        shown.update({name: copied(node.specification[name]) for name in _OF_THE_NODE if name in node.specification})
        if context.assumptions.echo_defaults:
            fill_group_defaults(shown)
        shown |= {
            "InstanceId": node.instance_id,
            "LaunchTime": node.launched_at,
            "PrivatePrimaryIp": node.address,
            "PrivateDnsHostname": host_name(node),
            "Placement": {"AvailabilityZone": f"{context.region}a", "AvailabilityZoneId": _zone_id(context.region)},
            "CurrentImageId": node.image_id,
            "CurrentImageReleaseVersion": node.image_release,
            "ImageVersionStatus": image_status(context, node.image_release),
        }
    if node.updated_at is not None:
        shown["LastSoftwareUpdateTime"] = node.updated_at
    return shown


def _zone_id(region: str) -> str:
    parts = region.split("-")
    return f"{parts[0]}{parts[1][0]}{parts[2]}-az1"


def cluster_view(context: Context, cluster: Cluster) -> ClusterView:
    """What the platform's files on the nodes say (FACTS 5.7)."""
    members = [(group, node) for group, node in cluster.members() if node.instance_id]
    controllers = [str(node.address) for group, node in members if group.node_type == CONTROLLER]
    kinds = context.launcher if isinstance(context.launcher, NodeKinds) else None
    return ClusterView(
        name=cluster.name,
        arn=cluster.arn,
        cluster_id=cluster.id,
        resource_config={
            "ClusterConfig": {"ClusterName": cluster.name, "ClusterArn": cluster.arn},
            "ClusterType": "Slurm",
            "SlurmConfig": {"PrimaryControllerIp": next(iter(controllers), ""), "SecondaryControllerIps": []},
            "InstanceGroups": [_resource_group(group) for group in cluster.groups],
        },
        provisioning_parameters=_provisioning_parameters(cluster),
        nodes=tuple(
            NodeView(
                instance_id=str(node.instance_id),
                instance_name=f"{group.name}-{node.number}",
                group_name=group.name,
                node_type=group.node_type,
                private_ip=str(node.address),
                state=node.status,
                partitions=group.partitions,
                kind=kinds.kind(str(node.instance_id)) if kinds else None,
            )
            for group, node in members
        ),
    )


def _resource_group(group: Group) -> dict[str, Any]:
    return {
        "Name": group.name,
        "InstanceType": group.instance_type,
        "Instances": [
            {
                "InstanceName": f"{group.name}-{node.number}",
                "AgentIpAddress": _agent_address(str(node.address)),
                "CustomerIpAddress": node.address,
                "InstanceId": node.instance_id,
            }
            for node in group.nodes
            if node.instance_id
        ],
    }


def _agent_address(address: str) -> str:
    """An address in the service's own network, which nothing of ours uses (FACTS 2)."""
    return "172.16." + ".".join(address.split(".")[2:])


def _provisioning_parameters(cluster: Cluster) -> dict[str, Any]:
    groups = {kind: cluster.groups_of(kind) for kind in (CONTROLLER, LOGIN, COMPUTE)}
    shown: dict[str, Any] = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": next((group.name for group in groups[CONTROLLER]), ""),
        "worker_groups": [
            {"instance_group_name": group.name, "partition_name": next(iter(group.partitions), "")}
            for group in groups[COMPUTE]
        ],
    }
    if groups[LOGIN]:
        shown["login_group"] = groups[LOGIN][0].name
    lustre = next((s["FsxLustreConfig"] for g in cluster.groups for s in _storage(g) if "FsxLustreConfig" in s), None)
    if lustre:
        shown |= {"fsx_dns_name": lustre["DnsName"], "fsx_mountname": lustre["MountName"]}
    return shown


def _storage(group: Group) -> list[dict[str, Any]]:
    return list(group.specification.get("InstanceStorageConfigs", ()))
