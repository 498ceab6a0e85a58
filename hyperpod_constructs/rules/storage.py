"""Rules of volumes and file systems."""

import posixpath
from collections.abc import Iterator
from typing import Any

from hyperpod_constructs import limits, reserved
from hyperpod_constructs.bindings import LustreMount
from hyperpod_constructs.options import Mount
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, out_of_range, shown
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("Volumes and file systems")


@RULES.error("ebs-volume-size", "model ClusterEbsVolumeSizeInGB; FACTS 10")
def ebs_volume_size(case: Case) -> Iterator[Finding]:
    """A secondary volume has 1 to 16384 GiB."""
    for path, group in case.spec.paths_and_groups:
        if group.ebs_volume and (message := out_of_range(group.ebs_volume.size_gib, limits.EBS_VOLUME_GIB, "GiB")):
            yield f"{path}.ebs_volume.size_gib", message


def mounts_of(case: Case) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Each group's mount paths with the place of each in the input; those of the cluster only once.

    Bindings know them all. Without bindings only those are known that a group gives with ``Mount``.
    """
    shared: set[tuple[Any, ...]] = set()
    for path, group in case.spec.paths_and_groups:
        bound = case.bindings.groups.get(group.name) if case.bindings else None
        own = group.file_systems is not None
        if bound is not None:
            paths = tuple(mount.path for mount in bound.mounts)
            if not own and paths in shared:
                continue
            if not own:
                shared.add(paths)
        else:
            paths = tuple(mount.path for mount in group.file_systems or () if isinstance(mount, Mount))
        where = f"{path}.file_systems" if own else "file_systems"
        yield path, [(f"{where}[{index}]", mount_path) for index, mount_path in enumerate(paths)]


def _literal_paths(case: Case) -> Iterator[list[tuple[str, str]]]:
    """The mount paths of each group that are text and not tokens, without a trailing slash."""
    for _, mounts in mounts_of(case):
        yield [(where, posixpath.normpath(path)) for where, path in mounts if _is_literal(path)]


def _is_literal(path: Any) -> bool:
    return isinstance(path, str) and not is_token(path)


@RULES.error("mount-path", limits.MOUNT_PATH.source)
def mount_path(case: Case) -> Iterator[Finding]:
    """A mount path is absolute, without . and .. in it, of letters, digits and . _ / -."""
    for _, mounts in mounts_of(case):
        for where, path in mounts:
            if not _is_literal(path):
                got = "a value that is known at deploy time only" if is_token(path) else shown(path)
                yield where, f"got {got} as its path, allowed: {limits.MOUNT_PATH.words}, known at synth time"
            elif message := bad_name(path, limits.MOUNT_PATH, otherwise="such as /fsx"):
                yield where, message
            elif not _is_plain(path):
                yield where, f"got {shown(path)}, allowed: a path without . or .. or a doubled / in it; write it out"


def _is_plain(path: str) -> bool:
    return posixpath.normpath(path) == path.rstrip("/") and not path.startswith("//")


@RULES.error("mount-path-system", "FACTS 5.7 and 6.2; field report V-15")
def mount_path_system(case: Case) -> Iterator[Finding]:
    """A file system is not mounted over a folder of the operating system, of Slurm or of the platform."""
    for paths in _literal_paths(case):
        for where, path in paths:
            if path in reserved.SYSTEM_PATHS or path in ("/", "//"):
                yield (
                    where,
                    f"got {shown(path)}, which the node needs itself, allowed: a folder such as /fsx; choose one",
                )
            elif inside := next((deep for deep in reserved.DEEP_SYSTEM_PATHS if path.startswith(f"{deep}/")), ""):
                yield where, f"got {shown(path)}, inside {inside}, which the node needs itself, allowed: such as /fsx"


@RULES.error("mount-path-unique", "field report V-15")
def mount_path_unique(case: Case) -> Iterator[Finding]:
    """No two file systems of a group are mounted at the same path."""
    for paths in _literal_paths(case):
        first: dict[str, str] = {}
        for where, path in paths:
            if first.setdefault(path, where) != where:
                yield (
                    where,
                    f"got {shown(path)}, the path of {first[path]} too, allowed: a path of its own; give one of the "
                    "two another with Mount(..., path=...)",
                )


@RULES.warning("mount-path-nested", "mount(8)")
def mount_path_nested(case: Case) -> Iterator[Finding]:
    """A file system mounted inside another depends on a folder of the other and on the order of mounting."""
    for paths in _literal_paths(case):
        for where, path in paths:
            outer = next((other for other in paths if path.startswith(f"{other[1]}/")), None)
            if outer is not None:
                yield (
                    where,
                    f"got {shown(path)}, inside {shown(outer[1])} of {outer[0]}; a node that mounts them in the other "
                    "order hides one; choose a path outside",
                )


@RULES.error("file-systems-of-a-kind", "model ClusterInstanceStorageConfigs; FACTS 4.4; field report V-15")
def file_systems_of_a_kind(case: Case) -> Iterator[Finding]:
    """A group has at most one Lustre and one OpenZFS file system."""
    told = set()
    for path, group in case.spec.paths_and_groups:
        bound = case.bindings.groups.get(group.name) if case.bindings else None
        kinds = [isinstance(mount, LustreMount) for mount in bound.mounts] if bound else []
        where = f"{path}.file_systems" if group.file_systems is not None else "file_systems"
        for kind, name in ((True, "Lustre"), (False, "OpenZFS")):
            count = kinds.count(kind)
            if count > 1 and (where, name) not in told:
                told.add((where, name))
                yield (
                    where,
                    f"got {count} {name} file systems for one group, allowed: one of each kind, Lustre and OpenZFS; "
                    "give groups file_systems of their own, or mount the others from a script",
                )
