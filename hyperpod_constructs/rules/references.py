"""Rules of the CDK objects that a group refers to. They are opaque here; only what cannot be one is refused."""

from collections.abc import Iterator
from typing import Any

from hyperpod_constructs.options import Mount
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, shown
from hyperpod_constructs.tokens import is_token

RULES = RuleBook("References to objects of the CDK")

_PLAIN = (str, bytes, int, float, dict, list, tuple, set, frozenset)


@RULES.error("references", "DESIGN section 3: per-group CDK objects are opaque references")
def references(case: Case) -> Iterator[Finding]:
    """Roles, keys, subnets, security groups and file systems of a group are objects, not their ids or ARNs."""
    for path, group in case.spec.paths_and_groups:
        yield from _objects(f"{path}.execution_role", group.execution_role, "an IRole", "iam.Role.from_role_arn")
        yield from _objects(f"{path}.volume_kms_key", group.volume_kms_key, "an IKey", "kms.Key.from_key_arn")
        for index, item in enumerate(group.subnets):
            yield from _objects(f"{path}.subnets[{index}]", item, "an ISubnet", "ec2.Subnet.from_subnet_id")
        for index, item in enumerate(group.security_groups):
            make = "ec2.SecurityGroup.from_security_group_id"
            yield from _objects(f"{path}.security_groups[{index}]", item, "an ISecurityGroup", make)
        for index, item in enumerate(group.file_systems or ()):
            allowed, make = "a LustreFileSystem, an OpenZfsFileSystem or a Mount", "LustreFileSystem.from_attributes"
            what = item.file_system if isinstance(item, Mount) else item
            yield from _objects(f"{path}.file_systems[{index}]", what, allowed, make, required=True)


def _objects(path: str, value: Any, allowed: str, make: str, *, required: bool = False) -> Iterator[Finding]:
    if isinstance(value, _PLAIN) or (required and value is None):
        got = "a value that is known at deploy time only" if is_token(value) else shown(value)
        yield path, f"got {got}, allowed: {allowed}; make one with {make}(...)"
