"""Rules of deploy-time values that happen to be literals, as those of imported resources are. Tokens pass."""

from collections.abc import Iterator
from typing import Any

from hyperpod_constructs import limits
from hyperpod_constructs.bindings import GroupBindings, LustreMount
from hyperpod_constructs.options import LifecycleStyle
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("Literals among deploy-time values")

_Value = tuple[str, Any, limits.Name]


def _wrong(values: Iterator[_Value]) -> Iterator[Finding]:
    """A finding for each literal that the service would refuse; the same place and message only once."""
    told = set()
    for path, value, allowed in values:
        if isinstance(value, str) and not is_token(value):
            finding = path, bad_name(value, allowed, otherwise="check the value that was given")
            if finding[1] and finding not in told:
                told.add(finding)
                yield path, finding[1]


def _groups(case: Case) -> Iterator[tuple[str, bool, GroupBindings]]:
    """Each group's path, whether it has scripts, and its bindings."""
    for path, group in case.spec.paths_and_groups:
        bound = case.bindings.groups.get(group.name) if case.bindings else None
        if bound is not None:
            yield path, case.spec.style_of(group) is not LifecycleStyle.IMAGE_ONLY, bound


@RULES.error("role-and-key", f"{limits.ROLE_ARN.source}; {limits.KMS_KEY_ID.source}")
def role_and_key(case: Case) -> Iterator[Finding]:
    """An imported role has an ARN, an imported key an id that the API takes."""

    def values() -> Iterator[_Value]:
        for path, _, bound in _groups(case):
            yield f"{path}.execution_role", bound.execution_role_arn, limits.ROLE_ARN
            if bound.volume_kms_key_id is not None:
                yield f"{path}.volume_kms_key", bound.volume_kms_key_id, limits.KMS_KEY_ID

    return _wrong(values())


@RULES.error("subnet-and-security-group-ids", f"{limits.SUBNET_ID.source}; {limits.SECURITY_GROUP_ID.source}")
def subnet_and_security_group_ids(case: Case) -> Iterator[Finding]:
    """Imported subnets and security groups have ids that the API takes."""

    def values() -> Iterator[_Value]:
        places: list[tuple[str, Any]] = [("network", case.bindings)] if case.bindings else []
        for path, bound in [*places, *((path, bound) for path, _, bound in _groups(case))]:
            yield from ((f"{path}.subnets", value, limits.SUBNET_ID) for value in bound.subnet_ids)
            yield from (
                (f"{path}.security_groups", value, limits.SECURITY_GROUP_ID) for value in bound.security_group_ids
            )

    return _wrong(values())


@RULES.error("file-system-address", f"{limits.FILE_SYSTEM_DNS_NAME.source}; {limits.LUSTRE_MOUNT_NAME.source}")
def file_system_address(case: Case) -> Iterator[Finding]:
    """An imported file system has a DNS name, and a Lustre one a mount name, that the API takes."""

    def values() -> Iterator[_Value]:
        for path, _, bound in _groups(case):
            for mount in bound.mounts:
                yield f"{path}.file_systems", mount.dns_name, limits.FILE_SYSTEM_DNS_NAME
                if isinstance(mount, LustreMount):
                    yield f"{path}.file_systems", mount.mount_name, limits.LUSTRE_MOUNT_NAME

    return _wrong(values())


@RULES.error("scripts-address", limits.S3_URI.source)
def scripts_address(case: Case) -> Iterator[Finding]:
    """The scripts lie in a bucket, under an address of at most 1024 characters."""
    return _wrong(
        (f"{path}.lifecycle", bound.source_s3_uri, limits.S3_URI) for path, has, bound in _groups(case) if has
    )


@RULES.error("database-address", f"{limits.DATABASE_ENDPOINT.source}; {limits.SECRET_ARN.source}")
def database_address(case: Case) -> Iterator[Finding]:
    """An imported accounting database has an endpoint, a port and a secret that the API takes."""
    database, given = case.bindings.accounting if case.bindings else None, case.spec.accounting
    if database is None:
        return
    values = (
        ("endpoint", database.endpoint, limits.DATABASE_ENDPOINT),
        ("secret", database.secret_arn, limits.SECRET_ARN),
    )
    # What stands in the specification itself has rules of its own.
    new = (item for item in values if given is None or item[1] != getattr(given, item[0]))
    yield from _wrong((f"accounting.{name}", value, allowed) for name, value, allowed in new)
