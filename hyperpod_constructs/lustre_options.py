"""What FSx for Lustre offers and which options fit together. Standard library only.

Every number is from the FSx API model (botocore 1.44.8, CreateFileSystem) or FACTS 4.1.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hyperpod_constructs.tokens import is_token

Finding = tuple[str, str]


class LustreDeploymentType(StrEnum):
    """How durable a file system is."""

    SCRATCH_1 = "SCRATCH_1"
    """Temporary, not replicated; the oldest kind. For tests."""
    SCRATCH_2 = "SCRATCH_2"
    """Temporary, not replicated. For tests."""
    PERSISTENT_1 = "PERSISTENT_1"
    """Replicated, in every region; also on HDD."""
    PERSISTENT_2 = "PERSISTENT_2"
    """Replicated, with the highest throughput, EFA and intelligent tiering. The default."""


class LustreStorageType(StrEnum):
    """What the data lies on."""

    SSD = "SSD"
    HDD = "HDD"
    """``PERSISTENT_1`` only."""
    INTELLIGENT_TIERING = "INTELLIGENT_TIERING"
    """``PERSISTENT_2`` only: grows and shrinks by itself, no capacity is given."""


_SCRATCH = (LustreDeploymentType.SCRATCH_1, LustreDeploymentType.SCRATCH_2)
_SSD, _HDD, _TIERING = LustreStorageType.SSD, LustreStorageType.HDD, LustreStorageType.INTELLIGENT_TIERING
_P1, _P2 = LustreDeploymentType.PERSISTENT_1, LustreDeploymentType.PERSISTENT_2

_STORAGE = {_P1: (_SSD, _HDD), _P2: (_SSD, _TIERING), **dict.fromkeys(_SCRATCH, (_SSD,))}
_THROUGHPUTS = {
    (_P1, _SSD): (50, 100, 200),
    (_P1, _HDD): (12, 40),
    (_P2, _SSD): (125, 250, 500, 1000),
}
VERSIONS = ("2.10", "2.12", "2.15")
# One object storage server has so much; EFA file systems come in whole servers (FACTS 4.1).
_SERVER_GIB = {125: 38400, 250: 19200, 500: 9600, 1000: 4800}
_METADATA_IOPS = (1500, 3000, 6000, 12000)
_METADATA_STEP, _METADATA_MAXIMUM = 12000, 192000
_TIERING_STEP, _TIERING_MAXIMUM = 4000, 2000000
_CACHE_GIB_PER_1000 = (8, 32768)
_BACKUP_DAYS_MAXIMUM = 90
WEEKLY_TIME = re.compile(r"[1-7]:([01]\d|2[0-3]):[0-5]\d")
DAILY_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d")


@dataclass(frozen=True, kw_only=True, slots=True)
class LustreOptions:
    """The options of ``LustreFileSystem`` that depend on each other; explained there."""

    deployment_type: LustreDeploymentType
    storage_type: LustreStorageType
    capacity_gib: int | None
    throughput_mb_per_s_per_tib: int | None
    throughput_mb_per_s: int | None
    read_cache_gib: int | None
    metadata_iops: int | None
    efa: bool
    version: str
    has_kms_key: bool
    backup_retention_days: int
    backup_start_time: str
    maintenance_start_time: str
    has_data_repositories: bool

    @property
    def is_scratch(self) -> bool:
        """Whether it is temporary storage."""
        return self.deployment_type in _SCRATCH

    @property
    def is_tiering(self) -> bool:
        """Whether it has no fixed capacity."""
        return self.storage_type is _TIERING

    @property
    def has_metadata_configuration(self) -> bool:
        """Whether metadata performance can be configured."""
        return self.deployment_type is _P2

    @property
    def address_count(self) -> int:
        """Subnet addresses that its servers take at least: one a metadata and one a storage server."""
        server = _SERVER_GIB.get(self.throughput_mb_per_s_per_tib or 0, 0)
        return 1 + (math.ceil((self.capacity_gib or 0) / server) if server else 1)


def default_throughput(deployment_type: LustreDeploymentType, storage_type: LustreStorageType) -> int | None:
    """MB/s for each TiB where none is given: the second of the offered tiers; ``None`` where none can be given."""
    tiers = _THROUGHPUTS.get((deployment_type, storage_type))
    return tiers[1] if tiers else None


def lustre_problems(options: LustreOptions) -> Iterator[Finding]:
    """Everything that FSx would refuse, as pairs of the argument's name and a message.

    Args:
        options: of a file system.
    """
    allowed = _STORAGE[options.deployment_type]
    if options.storage_type not in allowed:
        names = ", ".join(allowed)
        yield "storage_type", f"got {options.storage_type}, allowed with {options.deployment_type}: {names}"
        return
    yield from _size(options)
    yield from _throughput(options)
    yield from _tiering(options)
    yield from _metadata(options)
    yield from _efa(options)
    yield from _version(options)
    yield from _keeping(options)
    yield from _times(options)


def _size(options: LustreOptions) -> Iterator[Finding]:
    capacity = options.capacity_gib
    if options.is_tiering:
        if capacity is not None:
            yield "capacity_gib", f"got {capacity}, allowed: none with INTELLIGENT_TIERING, which grows by itself"
        return
    first, step = _steps(options)
    if capacity is None or is_token(capacity):
        yield "capacity_gib", "missing, or known at deploy time only, allowed: a number known at synth time; give it"
    elif capacity not in first and (capacity <= 0 or capacity % step):
        near = min((*first, max(step, round(capacity / step) * step)), key=lambda size: abs(size - capacity))
        numbers = ", ".join([*map(str, first), f"a multiple of {step}"])
        yield "capacity_gib", f"got {capacity}, allowed: {numbers}; use {near}"


def _steps(options: LustreOptions) -> tuple[tuple[int, ...], int]:
    if options.storage_type is _HDD:
        return (), 6000 if options.throughput_mb_per_s_per_tib == 12 else 1800
    if options.deployment_type is LustreDeploymentType.SCRATCH_1:
        return (1200, 2400), 3600
    return (1200,), 2400


def _throughput(options: LustreOptions) -> Iterator[Finding]:
    got = options.throughput_mb_per_s_per_tib
    tiers = _THROUGHPUTS.get((options.deployment_type, options.storage_type), ())
    if not tiers and got is not None:
        kind = "INTELLIGENT_TIERING, which has throughput_mb_per_s" if options.is_tiering else options.deployment_type
        yield "throughput_mb_per_s_per_tib", f"got {got}, allowed: none with {kind}; leave it out"
    elif tiers and got not in tiers:
        numbers = ", ".join(str(number) for number in tiers)
        yield "throughput_mb_per_s_per_tib", f"got {got}, allowed: {numbers}"


def _tiering(options: LustreOptions) -> Iterator[Finding]:
    total, cache = options.throughput_mb_per_s, options.read_cache_gib
    if not options.is_tiering:
        for name, value in (("throughput_mb_per_s", total), ("read_cache_gib", cache)):
            if value is not None:
                yield name, f"got {value}, allowed with INTELLIGENT_TIERING only; leave it out"
        return
    if total is None or total % _TIERING_STEP or not _TIERING_STEP <= total <= _TIERING_MAXIMUM:
        yield (
            "throughput_mb_per_s",
            f"got {total}, allowed: {_TIERING_STEP} or a multiple of it, up to {_TIERING_MAXIMUM}",
        )
    elif cache:
        low, high = (limit * total // 1000 for limit in _CACHE_GIB_PER_1000)
        if not low <= cache <= high:
            yield "read_cache_gib", f"got {cache}, allowed: {low} to {high} at {total} MB/s, or 0 for none"


def _metadata(options: LustreOptions) -> Iterator[Finding]:
    iops = options.metadata_iops
    if iops is None:
        return
    if not options.has_metadata_configuration:
        yield "metadata_iops", f"got {iops}, allowed with PERSISTENT_2 only; leave it out"
    elif iops not in _METADATA_IOPS and (iops % _METADATA_STEP or not 0 < iops <= _METADATA_MAXIMUM):
        yield (
            "metadata_iops",
            f"got {iops}, allowed: 1500, 3000, 6000, 12000 or a multiple of it up to {_METADATA_MAXIMUM}; "
            "leave it out to have FSx choose",
        )


def _efa(options: LustreOptions) -> Iterator[Finding]:
    if not options.efa:
        return
    if options.deployment_type is not _P2:
        yield "efa", f"got True, allowed with PERSISTENT_2 only, this is {options.deployment_type}"
        return
    server = _SERVER_GIB.get(options.throughput_mb_per_s_per_tib or 0)
    capacity = options.capacity_gib or 0
    if server and capacity % server:
        near = max(server, round(capacity / server) * server)
        yield (
            "capacity_gib",
            f"got {capacity}, allowed with EFA at {options.throughput_mb_per_s_per_tib} MB/s/TiB: a multiple of "
            f"{server}, whole servers; use {near}",
        )


def _version(options: LustreOptions) -> Iterator[Finding]:
    if options.version not in VERSIONS:
        yield "version", f'got "{options.version}", allowed: {", ".join(VERSIONS)}; nodes have the 2.15 client'
    elif options.deployment_type is _P2 and options.version != "2.15":
        yield "version", f'got "{options.version}", allowed with PERSISTENT_2 and its metadata configuration: 2.15'


def _keeping(options: LustreOptions) -> Iterator[Finding]:
    days = options.backup_retention_days
    if options.is_scratch and options.has_kms_key:
        yield "kms_key", f"given, allowed with persistent types only, this is {options.deployment_type}"
    if not 0 <= days <= _BACKUP_DAYS_MAXIMUM:
        yield "backup_retention_days", f"got {days}, allowed: 0 to {_BACKUP_DAYS_MAXIMUM}"
    elif days and options.is_scratch:
        yield "backup_retention_days", f"got {days}, allowed with persistent types only; leave it out"
    elif days and options.has_data_repositories:
        yield (
            "backup_retention_days",
            f"got {days}, allowed: 0 with data_repositories, since FSx backs up no file system that is linked to S3",
        )
    if options.has_data_repositories and (
        options.deployment_type is LustreDeploymentType.SCRATCH_1 or options.version == "2.10"
    ):
        yield "data_repositories", "given, allowed with version 2.12 or newer and not with SCRATCH_1 (FACTS 4.2)"


def _times(options: LustreOptions) -> Iterator[Finding]:
    if options.backup_start_time:
        if not options.backup_retention_days:
            yield "backup_start_time", "given without backup_retention_days, allowed: with them; give the days too"
        if not DAILY_TIME.fullmatch(options.backup_start_time):
            yield "backup_start_time", f'got "{options.backup_start_time}", allowed: HH:MM in UTC, such as 03:30'
    if options.maintenance_start_time and not WEEKLY_TIME.fullmatch(options.maintenance_start_time):
        yield (
            "maintenance_start_time",
            f'got "{options.maintenance_start_time}", allowed: d:HH:MM in UTC, 1 is Monday, such as 7:03:30',
        )
