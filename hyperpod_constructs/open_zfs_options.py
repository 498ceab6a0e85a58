"""What FSx for OpenZFS offers and which options fit together. Standard library only.

Every number is from the FSx API model (botocore 1.44.8, CreateFileSystem) or FACTS 4.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hyperpod_constructs.lustre_options import DAILY_TIME, WEEKLY_TIME
from hyperpod_constructs.tokens import is_token


class OpenZfsDeploymentType(StrEnum):
    """How available a file system is."""

    SINGLE_AZ_1 = "SINGLE_AZ_1"
    """One server."""
    SINGLE_AZ_2 = "SINGLE_AZ_2"
    """One server with an NVMe cache."""
    SINGLE_AZ_HA_1 = "SINGLE_AZ_HA_1"
    """Two servers in one zone."""
    SINGLE_AZ_HA_2 = "SINGLE_AZ_HA_2"
    """Two servers with an NVMe cache in one zone. The default."""
    MULTI_AZ_1 = "MULTI_AZ_1"
    """Two servers in two zones."""


class OpenZfsCompression(StrEnum):
    """How data is compressed."""

    NONE = "NONE"
    LZ4 = "LZ4"
    ZSTD = "ZSTD"
    """Smaller, at more CPU time. The default: home directories are text."""


_OLDER = (64, 128, 256, 512, 1024, 2048, 3072, 4096)
_NEWER = (160, 320, 640, 1280, 2560, 3840, 5120, 7680, 10240)
_FIRST_GENERATION = (OpenZfsDeploymentType.SINGLE_AZ_1, OpenZfsDeploymentType.SINGLE_AZ_HA_1)
_CAPACITY_GIB = (64, 524288)
_RECORD_SIZES_KIB = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
_IOPS_PER_GIB = 3
_BACKUP_DAYS_MAXIMUM = 90
MULTI_AZ_SUBNETS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenZfsOptions:
    """The options of ``OpenZfsFileSystem`` that depend on each other; explained there."""

    deployment_type: OpenZfsDeploymentType
    capacity_gib: int
    throughput_mb_per_s: int
    iops: int | None
    record_size_kib: int
    backup_retention_days: int
    backup_start_time: str
    maintenance_start_time: str
    subnet_count: int

    @property
    def is_multi_az(self) -> bool:
        """Whether it has servers in two zones."""
        return self.deployment_type is OpenZfsDeploymentType.MULTI_AZ_1


def throughputs(deployment_type: OpenZfsDeploymentType) -> tuple[int, ...]:
    """What a deployment type offers, in MB/s."""
    return _OLDER if deployment_type in _FIRST_GENERATION else _NEWER


def open_zfs_problems(options: OpenZfsOptions) -> Iterator[tuple[str, str]]:
    """Everything that FSx would refuse, as pairs of the argument's name and a message.

    Args:
        options: of a file system.
    """
    low, high = _CAPACITY_GIB
    if is_token(options.capacity_gib) or not low <= options.capacity_gib <= high:
        yield "capacity_gib", f"got {options.capacity_gib}, allowed: {low} to {high}, known at synth time"
    allowed = throughputs(options.deployment_type)
    if options.throughput_mb_per_s not in allowed:
        numbers = ", ".join(str(number) for number in allowed)
        yield (
            "throughput_mb_per_s",
            f"got {options.throughput_mb_per_s}, allowed with {options.deployment_type}: {numbers}",
        )
    if options.iops is not None and options.iops < _IOPS_PER_GIB * options.capacity_gib:
        yield "iops", f"got {options.iops}, allowed: at least {_IOPS_PER_GIB} for each GiB, which is the default too"
    if options.record_size_kib not in _RECORD_SIZES_KIB:
        numbers = ", ".join(str(number) for number in _RECORD_SIZES_KIB)
        yield "record_size_kib", f"got {options.record_size_kib}, allowed: {numbers}"
    wanted = MULTI_AZ_SUBNETS if options.is_multi_az else 1
    if options.subnet_count != wanted:
        yield (
            "subnets",
            f"got {options.subnet_count}, allowed with {options.deployment_type}: {wanted}; give the network "
            "availability_zones, or subnets to this file system",
        )
    yield from _times(options)


def _times(options: OpenZfsOptions) -> Iterator[tuple[str, str]]:
    days = options.backup_retention_days
    if not 0 <= days <= _BACKUP_DAYS_MAXIMUM:
        yield "backup_retention_days", f"got {days}, allowed: 0 to {_BACKUP_DAYS_MAXIMUM}"
    if options.backup_start_time and (not days or not DAILY_TIME.fullmatch(options.backup_start_time)):
        yield (
            "backup_start_time",
            f'got "{options.backup_start_time}", allowed: HH:MM in UTC, with backup_retention_days',
        )
    if options.maintenance_start_time and not WEEKLY_TIME.fullmatch(options.maintenance_start_time):
        yield (
            "maintenance_start_time",
            f'got "{options.maintenance_start_time}", allowed: d:HH:MM in UTC, 1 is Monday, such as 7:03:30',
        )
