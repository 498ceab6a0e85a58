"""The documented rules for FSx file systems that the model does not hold (FACTS 4.1, 4.2, 4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCRATCH_1, SCRATCH_2, PERSISTENT_1, PERSISTENT_2 = "SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"

_THROUGHPUT_OF = {
    (PERSISTENT_1, "SSD"): (50, 100, 200),
    (PERSISTENT_1, "HDD"): (12, 40),
    (PERSISTENT_2, "SSD"): (125, 250, 500, 1000),
}
_EFA_UNIT_GIB = {125: 38_400, 250: 19_200, 500: 9_600, 1000: 4_800}
_SMALL_THROUGHPUT = (64, 128, 256, 512, 1024, 2048, 3072, 4096)
_LARGE_THROUGHPUT = (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240)
_OPEN_ZFS_THROUGHPUT = {
    "SINGLE_AZ_1": _SMALL_THROUGHPUT,
    "SINGLE_AZ_HA_1": _SMALL_THROUGHPUT,
    "SINGLE_AZ_2": _LARGE_THROUGHPUT,
    "SINGLE_AZ_HA_2": _LARGE_THROUGHPUT,
    "MULTI_AZ_1": _LARGE_THROUGHPUT,
}
MOST_ASSOCIATIONS = 8


def lustre_problems(request: Mapping[str, Any]) -> Iterator[str]:
    """Every rule that a file system for Lustre breaks."""
    lustre = request.get("LustreConfiguration", {})
    deployment = lustre.get("DeploymentType", SCRATCH_1)
    storage = request.get("StorageType", "SSD")
    if len(request["SubnetIds"]) != 1:
        yield f"SubnetIds must name exactly one subnet for Lustre, got {len(request['SubnetIds'])}"
    if storage == "HDD" and deployment != PERSISTENT_1:
        yield f"StorageType HDD is only supported with {PERSISTENT_1}, got {deployment}"
    if storage == "INTELLIGENT_TIERING":
        yield from _intelligent_tiering(request, lustre, deployment)
    else:
        yield from _throughput(lustre, deployment, storage)
        yield from _capacity(request.get("StorageCapacity"), lustre, deployment, storage)
    yield from _versions(request, lustre, deployment)
    yield from _efa(request, lustre, deployment, storage)
    yield from _scratch(request, lustre, deployment)


def _throughput(lustre: Mapping[str, Any], deployment: str, storage: str) -> Iterator[str]:
    throughput, allowed = lustre.get("PerUnitStorageThroughput"), _THROUGHPUT_OF.get((deployment, storage))
    if allowed is None:
        if throughput is not None:
            yield f"PerUnitStorageThroughput is not supported with {deployment}"
    elif throughput not in allowed:
        yield f"PerUnitStorageThroughput of {deployment} {storage} must be one of {_list(allowed)}, got {throughput}"


def _capacity(capacity: int | None, lustre: Mapping[str, Any], deployment: str, storage: str) -> Iterator[str]:
    if capacity is None:
        yield "StorageCapacity is required"
    elif storage == "HDD":
        step = 1_800 if lustre.get("PerUnitStorageThroughput") == 40 else 6_000
        if capacity < step or capacity % step:
            yield f"StorageCapacity of {deployment} HDD must be a multiple of {step} GiB, got {capacity}"
    else:
        step = 3_600 if deployment == SCRATCH_1 else 2_400
        if capacity not in (1_200, 2_400) and (capacity < step or capacity % step):
            yield f"StorageCapacity of {deployment} must be 1200, 2400 or a multiple of {step} GiB, got {capacity}"


def _intelligent_tiering(request: Mapping[str, Any], lustre: Mapping[str, Any], deployment: str) -> Iterator[str]:
    if deployment != PERSISTENT_2:
        yield f"StorageType INTELLIGENT_TIERING is only supported with {PERSISTENT_2}, got {deployment}"
    if "StorageCapacity" in request:
        yield "StorageCapacity cannot be given with INTELLIGENT_TIERING"
    throughput = lustre.get("ThroughputCapacity")
    if throughput is None or throughput % 4_000:
        yield f"ThroughputCapacity must be 4000 MBps or a multiple of it with INTELLIGENT_TIERING, got {throughput}"
    if "DataReadCacheConfiguration" not in lustre:
        yield "DataReadCacheConfiguration is required with INTELLIGENT_TIERING"


def _versions(request: Mapping[str, Any], lustre: Mapping[str, Any], deployment: str) -> Iterator[str]:
    version = request.get("FileSystemTypeVersion")
    if version is not None and version not in ("2.10", "2.12", "2.15"):
        yield f"FileSystemTypeVersion must be 2.10, 2.12 or 2.15, got {version}"
    if version == "2.10" and deployment == PERSISTENT_2:
        yield f"FileSystemTypeVersion 2.10 is not supported with {PERSISTENT_2}"
    if "MetadataConfiguration" in lustre and deployment != PERSISTENT_2:
        yield f"MetadataConfiguration is only supported with {PERSISTENT_2}, got {deployment}"


def _efa(request: Mapping[str, Any], lustre: Mapping[str, Any], deployment: str, storage: str) -> Iterator[str]:
    if not lustre.get("EfaEnabled"):
        return
    tiering = storage == "INTELLIGENT_TIERING"
    if deployment != PERSISTENT_2 or not (tiering or "MetadataConfiguration" in lustre):
        yield f"EfaEnabled needs {PERSISTENT_2} with MetadataConfiguration, or INTELLIGENT_TIERING"
        return
    unit = _EFA_UNIT_GIB.get(lustre.get("PerUnitStorageThroughput", 0))
    capacity = request.get("StorageCapacity", 0)
    if not tiering and unit and capacity % unit:
        yield f"StorageCapacity with EfaEnabled must be a multiple of {unit} GiB at this throughput, got {capacity}"


def _scratch(request: Mapping[str, Any], lustre: Mapping[str, Any], deployment: str) -> Iterator[str]:
    if deployment not in (SCRATCH_1, SCRATCH_2):
        return
    if "KmsKeyId" in request:
        yield f"KmsKeyId is only supported with persistent deployment types, got {deployment}"
    if lustre.get("AutomaticBackupRetentionDays"):
        yield f"Automatic backups are only supported with persistent deployment types, got {deployment}"


def open_zfs_problems(request: Mapping[str, Any]) -> Iterator[str]:
    """Every rule that a file system for OpenZFS breaks."""
    zfs = request.get("OpenZFSConfiguration")
    if zfs is None:
        yield "OpenZFSConfiguration is required"
        return
    deployment, throughput = zfs["DeploymentType"], zfs["ThroughputCapacity"]
    if throughput not in _OPEN_ZFS_THROUGHPUT[deployment]:
        allowed = _list(_OPEN_ZFS_THROUGHPUT[deployment])
        yield f"ThroughputCapacity of {deployment} must be one of {allowed}, got {throughput}"
    capacity = request.get("StorageCapacity", 0)
    if not 64 <= capacity <= 524_288:
        yield f"StorageCapacity must be 64 to 524288 GiB, got {capacity}"
    subnets = len(request["SubnetIds"])
    if deployment == "MULTI_AZ_1" and (subnets != 2 or "PreferredSubnetId" not in zfs):
        yield "MULTI_AZ_1 needs two subnets and PreferredSubnetId"
    if deployment != "MULTI_AZ_1" and subnets != 1:
        yield f"SubnetIds must name exactly one subnet with {deployment}, got {subnets}"


def association_problems(
    request: Mapping[str, Any], file_system: Mapping[str, Any], others: list[Mapping[str, Any]]
) -> Iterator[str]:
    """Every rule that a data repository association breaks, given those that the file system has."""
    lustre = file_system.get("LustreConfiguration", {})
    if file_system["FileSystemType"] != "LUSTRE" or lustre.get("DeploymentType") == SCRATCH_1:
        yield f"Data repository associations are only supported with Lustre 2.12 and later, except {SCRATCH_1}"
    if len(others) >= MOST_ASSOCIATIONS:
        yield f"A file system can have at most {MOST_ASSOCIATIONS} data repository associations"
    path = _folder(request.get("FileSystemPath", "/"))
    for other in others:
        taken = _folder(other["FileSystemPath"])
        if path.startswith(taken) or taken.startswith(path):
            yield f"FileSystemPath {path} overlaps {taken}"
        if _folder(other["DataRepositoryPath"]) == _folder(request["DataRepositoryPath"]):
            yield f"DataRepositoryPath {request['DataRepositoryPath']} is linked already"


def growth_problems(request: Mapping[str, Any], file_system: Mapping[str, Any]) -> Iterator[str]:
    """Storage only grows (FACTS 4.1)."""
    capacity, before = request.get("StorageCapacity"), file_system.get("StorageCapacity", 0)
    if capacity is not None and capacity <= before:
        yield f"StorageCapacity can only grow: it is {before} GiB, got {capacity}"


def _folder(path: str) -> str:
    return path.rstrip("/") + "/"


def _list(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
