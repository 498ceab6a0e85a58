"""The documented rules for one group's specification that the model does not hold. Each names its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .state import COMPUTE, CONTROLLER

Specification = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterTraits:
    """What of the cluster a group's rules depend on."""

    slurm: bool
    continuous: bool
    custom_vpc: bool


def group_problems(group: Specification, traits: ClusterTraits) -> Iterator[str]:
    """Every rule that a group breaks, in the documented words where there are any."""
    yield from _instance_type(group)
    yield from _counts(group, traits)
    yield from _life_cycle(group)
    yield from _storage(group, traits)
    yield from _network(group, traits)
    yield from _slurm(group, traits)
    yield from _for_eks_only(group)


def _name(group: Specification) -> str:
    return str(group["InstanceGroupName"])


def _instance_type(group: Specification) -> Iterator[str]:
    """InstanceType or InstanceRequirements (botocore's model; FACTS 5.1)."""
    if ("InstanceType" in group) == ("InstanceRequirements" in group):
        yield f"Instance group {_name(group)} must have exactly one of InstanceType and InstanceRequirements"


def _counts(group: Specification, traits: ClusterTraits) -> Iterator[str]:
    """The minimum lies between 0 and the count and needs continuous provisioning (FACTS 5.1)."""
    minimum = group.get("MinInstanceCount")
    if minimum is None:
        return
    if not traits.continuous:
        yield "MinInstanceCount is only supported for clusters using Continuous as the NodeProvisioningMode"
    elif minimum > group["InstanceCount"]:
        yield (
            f"MinInstanceCount ({minimum}) of instance group {_name(group)} must be between 0 and InstanceCount "
            f"({group['InstanceCount']})"
        )


def _life_cycle(group: Specification) -> Iterator[str]:
    """One entry script at most, with its place in S3 (FACTS 5.2, 5.6)."""
    config = group.get("LifeCycleConfig")
    if config is None:
        return
    entries = [name for name in ("OnCreate", "OnInitComplete") if name in config]
    if len(entries) == 2:
        yield f"OnCreate and OnInitComplete in LifeCycleConfig are mutually exclusive for instance group {_name(group)}"
    elif not config:
        yield f"LifeCycleConfig for instance group {_name(group)} is provided but contains no configuration"
    elif not entries or "SourceS3Uri" not in config:
        yield f"LifeCycleConfig for instance group {_name(group)} is incomplete"


def _storage(group: Specification, traits: ClusterTraits) -> Iterator[str]:
    """At most one of each kind; the root volume takes a key and no size, the other a size (FACTS 4.4, the model)."""
    configs = group.get("InstanceStorageConfigs", ())
    volumes = [config["EbsVolumeConfig"] for config in configs if "EbsVolumeConfig" in config]
    roots = [volume for volume in volumes if volume.get("RootVolume")]
    counted = {
        "root EbsVolumeConfig": len(roots),
        "secondary EbsVolumeConfig": len(volumes) - len(roots),
        "FsxLustreConfig": sum("FsxLustreConfig" in config for config in configs),
        "FsxOpenZfsConfig": sum("FsxOpenZfsConfig" in config for config in configs),
    }
    for kind, count in counted.items():
        if count > 1:
            yield f"Instance group {_name(group)} has {count} of {kind}, at most one is allowed"
    for volume in volumes:
        yield from _volume(group, volume, traits)
    if any("FsxLustreConfig" in c or "FsxOpenZfsConfig" in c for c in configs) and not traits.custom_vpc:
        yield "FSx configurations are only supported for Custom VPC"


def _volume(group: Specification, volume: Specification, traits: ClusterTraits) -> Iterator[str]:
    if volume.get("RootVolume"):
        if "VolumeSizeInGB" in volume or "VolumeKmsKeyId" not in volume:
            yield f"The root volume of instance group {_name(group)} must have VolumeKmsKeyId and no VolumeSizeInGB"
    elif "VolumeSizeInGB" not in volume:
        yield f"The secondary volume of instance group {_name(group)} must have VolumeSizeInGB"
    if "VolumeKmsKeyId" in volume and not traits.continuous:
        yield "VolumeKmsKeyId is only supported for clusters using Continuous as the NodeProvisioningMode"


def _network(group: Specification, traits: ClusterTraits) -> Iterator[str]:
    """A group's own subnets need a cluster with its own VPC (FACTS 2)."""
    if "OverrideVpcConfig" in group and not traits.custom_vpc:
        yield f"OverrideVpcConfig of instance group {_name(group)} is only supported for Custom VPC"


def _slurm(group: Specification, traits: ClusterTraits) -> Iterator[str]:
    """A node type on each group, partitions on compute groups and on no other (FACTS 5.1, 5.2)."""
    config = group.get("SlurmConfig")
    if config is None:
        if traits.slurm and traits.continuous:
            yield f"Instance group {_name(group)} must have a SlurmConfig"
        return
    if not traits.slurm:
        yield f"SlurmConfig of instance group {_name(group)} needs Orchestrator.Slurm"
    partitions = config.get("PartitionNames", ())
    if config["NodeType"] != COMPUTE and partitions:
        yield "Partitions can only be assigned to Compute node types"
    if config["NodeType"] == COMPUTE and not partitions:
        yield f"Instance group {_name(group)} of node type Compute must have a partition"
    if traits.continuous and config["NodeType"] == CONTROLLER and group["InstanceCount"] != 1:
        yield (
            f"Instance group {_name(group)} of node type Controller must have InstanceCount 1, multi-head node "
            "configuration is not supported with Continuous"
        )


def _for_eks_only(group: Specification) -> Iterator[str]:
    """What is for clusters orchestrated by EKS (FACTS 5.4)."""
    if "KubernetesConfig" in group:
        yield "KubernetesConfig is only supported for clusters orchestrated by EKS"
    if group.get("AutoPatchConfig", {}).get("PatchingStrategy") == "DrainFirst":
        yield "PatchingStrategy DrainFirst is only supported for clusters orchestrated by EKS"
