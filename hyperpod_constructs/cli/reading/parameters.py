"""What provisioning_parameters.json may hold by itself (FACTS 5.7). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from hyperpod_constructs import limits
from hyperpod_constructs.classic import PARAMETERS_FILE, RULE
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.rules.rule import bad_name, shown

_KINDS: Mapping[str, tuple[type, str]] = {
    "version": (str, "text"),
    "workload_manager": (str, "text"),
    "controller_group": (str, "text"),
    "login_group": (str, "text"),
    "worker_groups": (list, "a list"),
    "fsx_dns_name": (str, "text"),
    "fsx_mountname": (str, "text"),
    "fsx_openzfs_dns_name": (str, "text"),
}
_NAMES = {
    "fsx_dns_name": limits.FILE_SYSTEM_DNS_NAME,
    "fsx_mountname": limits.LUSTRE_MOUNT_NAME,
    "fsx_openzfs_dns_name": limits.FILE_SYSTEM_DNS_NAME,
}

_Found = Iterator[tuple[str, str]]


def parameters_problems(parameters: Mapping[str, Any]) -> list[Problem]:
    """Everything that is wrong inside the file; what is between it and the request is ``classic_problems``'s."""
    found = (*_kinds(parameters), *_workers(parameters), *_file_systems(parameters))
    return [Problem(path=f"{PARAMETERS_FILE}: {path}", message=message, rule=RULE) for path, message in found]


def _kinds(parameters: Mapping[str, Any]) -> _Found:
    for key, value in parameters.items():
        if key in _KINDS:
            kind, words = _KINDS[key]
            if not isinstance(value, kind) and key not in ("version", "workload_manager"):
                yield key, f"got {shown(value)}, allowed: {words}"
            continue
        near = next(iter(get_close_matches(str(key), _KINDS, n=1, cutoff=0.7)), "")
        # Other keys are a script's own business; one that is nearly ours is a slip.
        if near:
            yield str(key), f"unknown key; did you mean {shown(near)}?"


def _workers(parameters: Mapping[str, Any]) -> _Found:
    workers = parameters.get("worker_groups")
    if workers in (None, []):
        yield "worker_groups", "missing; without a worker group nothing can run jobs"
    for index, worker in enumerate(workers if isinstance(workers, list) else ()):
        path = f"worker_groups[{index}]"
        if not isinstance(worker, Mapping):
            yield path, f"got {shown(worker)}, allowed: an object with instance_group_name and partition_name"
            continue
        partition = worker.get("partition_name")
        if not isinstance(partition, str) or not partition:
            yield f"{path}.partition_name", f"got {shown(partition)}, allowed: the name of a partition; give one"
        elif message := bad_name(partition, limits.PARTITION):
            yield f"{path}.partition_name", message
        if not worker.get("instance_group_name"):
            yield f"{path}.instance_group_name", "missing; name a group of the request"


def _file_systems(parameters: Mapping[str, Any]) -> _Found:
    for key, allowed in _NAMES.items():
        value = parameters.get(key)
        if isinstance(value, str) and value and (message := bad_name(value, allowed)):
            yield key, message
