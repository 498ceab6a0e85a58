"""FSx file systems and the scripts' bucket of an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperpod_constructs.classic import PARAMETERS_FILE
from hyperpod_constructs.cli.account import AccountError, Clients, Kind, call

from .network import find_subnets
from .outcome import Check, failed, passed, unknown
from .subject import FileSystemSubject, GroupSubject, Subject, bucket_and_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OLDEST_VERSION = (2, 12)
"""The client of the HyperPod image is 2.15, which servers of 2.10 are too old for (FACTS 4.1)."""

_WORDS = {"LUSTRE": "Lustre", "OPENZFS": "OpenZFS"}


def file_system_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every file system: it exists, is available, its names match, and nodes reach it."""
    return [check for one in subject.file_systems for check in _file_system(one, subject, clients)]


def _file_system(wanted: FileSystemSubject, subject: Subject, clients: Clients) -> list[Check]:
    words, identifier = f"FSx {_WORDS[wanted.kind]} {wanted.dns_name}", wanted.file_system_id
    try:
        answer = call(
            "fsx:DescribeFileSystems", clients.client("fsx").describe_file_systems, FileSystemIds=[identifier]
        )
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            return [failed(f"{words}: there is no {identifier} in {clients.region}; check the name and the region")]
        return [unknown(f"{words}: {error}")]
    found = answer["FileSystems"][0]
    return [*_names(wanted, found, words), *_state(wanted, found, words), *_place(found, subject, clients, words)]


def _names(wanted: FileSystemSubject, found: Mapping[str, Any], words: str) -> Iterator[Check]:
    kind = str(found.get("FileSystemType"))
    if kind != wanted.kind:
        yield failed(f"{words}: is of type {kind}, allowed: {wanted.kind}; mount it as what it is")
        return
    if found.get("DNSName") != wanted.dns_name:
        yield failed(f"{words}: its DNS name is {found.get('DNSName')}; use that")
    else:
        yield passed(f"Validated FSx {_WORDS[kind]} DNS name {wanted.dns_name}")
    if kind == "LUSTRE":
        name = found.get("LustreConfiguration", {}).get("MountName")
        if name != wanted.mount_name:
            yield failed(f"{words}: got the mount name {wanted.mount_name!r}, it is {name!r}; use that")
        else:
            yield passed(f"Validated FSx Lustre mount name {wanted.mount_name}")


def _state(wanted: FileSystemSubject, found: Mapping[str, Any], words: str) -> Iterator[Check]:
    if found.get("Lifecycle") not in ("AVAILABLE", "UPDATING"):
        yield failed(f"{words}: is {found.get('Lifecycle')}, allowed: AVAILABLE; wait, or look at it in the console")
    version = str(found.get("FileSystemTypeVersion") or "")
    parts = tuple(int(part) for part in version.split(".") if part.isdecimal())
    if wanted.kind == "LUSTRE" and parts and parts < OLDEST_VERSION:
        yield failed(f"{words}: is of version {version}, allowed: 2.12 or newer for the client of the HyperPod image")


def _place(found: Mapping[str, Any], subject: Subject, clients: Clients, words: str) -> list[Check]:
    """The same VPC as the nodes', and for one zone's file systems the same zone (FACTS 2)."""
    own = [str(one) for one in found.get("SubnetIds", ())]
    if not subject.subnet_ids or not own:
        return []
    try:
        subnets = find_subnets(clients, [*subject.subnet_ids, *own])
    except AccountError:
        return []  # said at the subnets
    nodes = {one: subnets[one] for one in subject.subnet_ids if one in subnets}
    vpcs = {str(one.get("VpcId")) for one in nodes.values()}
    if vpcs and found.get("VpcId") and found["VpcId"] not in vpcs:
        return [failed(f"{words}: lies in {found['VpcId']}, the nodes in {', '.join(sorted(vpcs))}; use one VPC")]
    zones = {str(subnets[one].get("AvailabilityZoneId")) for one in own if one in subnets}
    if len(own) > 1 or not zones:
        return []
    return [
        failed(
            f"{words}: lies in {', '.join(zones)}, subnet {one} of the nodes in {subnet.get('AvailabilityZoneId')}; "
            "keep both in one zone, data between zones is slow and is paid for"
        )
        for one, subnet in nodes.items()
        if str(subnet.get("AvailabilityZoneId")) not in zones
    ]


def bucket_checks(subject: Subject, clients: Clients) -> list[Check]:
    """Every address of scripts: the bucket is there, and in it the entry script and no file that must not be."""
    seen: dict[tuple[str, str], GroupSubject] = {}
    for group in subject.groups:
        if group.scripts_uri:
            seen.setdefault((group.scripts_uri, group.entry), group)
    return [check for group in seen.values() for check in _scripts(group, subject.is_classic, clients)]


def _scripts(group: GroupSubject, is_classic: bool, clients: Clients) -> list[Check]:
    bucket, prefix = bucket_and_prefix(group.scripts_uri)
    if not bucket:
        return []
    try:
        keys = _keys(clients, bucket, prefix)
    except AccountError as error:
        if error.kind is Kind.NOT_FOUND:
            return [failed(f"bucket {bucket}: there is none; create it and upload the scripts")]
        return [unknown(f"bucket {bucket}: {error}")]
    names = {key.removeprefix(f"{prefix}/" if prefix else "") for key in keys}
    parameters = [name for name in names if name.rsplit("/", 1)[-1] == PARAMETERS_FILE]
    if group.entry and group.entry not in names:
        return [failed(f"{group.scripts_uri}: has no {group.entry}, which {group.name} runs; upload the scripts")]
    if is_classic and PARAMETERS_FILE not in names:
        return [failed(f"{group.scripts_uri}: has no {PARAMETERS_FILE}; upload it beside the scripts")]
    if parameters and not is_classic:
        text = f"has {parameters[0]}, which the service refuses beside SlurmConfig; remove it"
        return [failed(f"{group.scripts_uri}: {text}")]
    return [passed(f"Validated lifecycle scripts {group.scripts_uri} ...")]


def _keys(clients: Clients, bucket: str, prefix: str) -> list[str]:
    keys: list[str] = []
    request: dict[str, Any] = {"Bucket": bucket, "Prefix": f"{prefix}/" if prefix else ""}
    while True:
        answer = call("s3:ListBucket", clients.client("s3").list_objects_v2, **request)
        keys += [str(item["Key"]) for item in answer.get("Contents", ())]
        if not answer.get("NextContinuationToken") or len(keys) > 10_000:
            return keys
        request["ContinuationToken"] = answer["NextContinuationToken"]
