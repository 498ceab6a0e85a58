"""Rules of the Linux users of the nodes."""

import re
from collections.abc import Callable, Iterator

from hyperpod_constructs import limits, reserved
from hyperpod_constructs.options import LifecycleStyle, PosixUser
from hyperpod_constructs.rules.rule import Case, Finding, RuleBook, bad_name, out_of_range, repeated, shown

RULES = RuleBook("Users")

_KEY_TYPE = re.compile(r"(^|\s)(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-\S+@openssh\.com) \S+")


def _users(case: Case) -> Iterator[tuple[str, PosixUser]]:
    return ((f"users[{index}]", user) for index, user in enumerate(case.spec.users))


def _lower(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "_", name.lower())[: limits.USER_NAME.maximum]


@RULES.error("user-name", limits.USER_NAME.source)
def user_name(case: Case) -> Iterator[Finding]:
    """A user's name has lower case letters, digits, _ and -, 1 to 32 characters."""
    for path, user in _users(case):
        if message := bad_name(user.name, limits.USER_NAME, instead=_lower(user.name)):
            yield f"{path}.name", message


@RULES.error("user-name-reserved", "users and groups of the HyperPod image; field report L-20")
def user_name_reserved(case: Case) -> Iterator[Finding]:
    """A user is not called like a user or a group of the system."""
    for path, user in _users(case):
        if user.name in reserved.RESERVED_USERS:
            yield f"{path}.name", f"got {shown(user.name)}, allowed: no name of the system's own; choose another"


@RULES.error("user-id", "field report L-20; useradd(8)")
def user_id(case: Case) -> Iterator[Finding]:
    """User and group ids are 2000 to 60000, clear of those of the system."""
    for path, user in _users(case):
        for name, value in (("uid", user.uid), ("gid", user.gid)):
            if value is not None and (message := out_of_range(value, limits.USER_IDS)):
                yield f"{path}.{name}", f"{message}; lower ids belong to the system, so choose another and keep it"


def _unique(case: Case, name: str, key: Callable[[PosixUser], object]) -> Iterator[Finding]:
    users = case.spec.users
    for index, first in repeated([key(user) for user in users]):
        yield (
            f"users[{index}].{name}",
            f"got {shown(key(users[index]))}, the {name} of users[{first}] ({users[first].name}) too, "
            "allowed: one of its own; change it",
        )


@RULES.error("user-names-unique", "useradd(8)")
def user_names_unique(case: Case) -> Iterator[Finding]:
    """No two users have the same name."""
    return _unique(case, "name", lambda user: user.name)


@RULES.error("user-ids-unique", "field report L-20: file systems keep numeric owners")
def user_ids_unique(case: Case) -> Iterator[Finding]:
    """No two users have the same id, for they would own each other's files."""
    return _unique(case, "uid", lambda user: user.uid)


@RULES.error("user-groups", limits.USER_NAME.source)
def user_groups(case: Case) -> Iterator[Finding]:
    """A user's groups have names that Linux takes, each once."""
    for path, user in _users(case):
        for index, name in enumerate(user.groups):
            if message := bad_name(name, limits.USER_NAME, instead=_lower(name)):
                yield f"{path}.groups[{index}]", message
        for index, _ in repeated(user.groups):
            yield f"{path}.groups[{index}]", f"got {shown(user.groups[index])} twice, allowed: each once; drop one"


@RULES.error("user-key", "sshd(8), AUTHORIZED_KEYS FILE FORMAT")
def user_key(case: Case) -> Iterator[Finding]:
    """A public key is one line, and no private key."""
    for path, user in _users(case):
        for index, key in enumerate(user.ssh_public_keys):
            where = f"{path}.ssh_public_keys[{index}]"
            if "PRIVATE KEY" in key:
                yield (
                    where,
                    "got a private key, allowed: a public key, the line in the .pub file; treat the key as lost",
                )
            elif not key.strip():
                yield where, f"got {shown(key)}, allowed: one line of a .pub file; drop it"
            elif any(char in key for char in "\r\n\0"):
                yield where, f"got {shown(key)}, allowed: one line; strip the line end, and give each key by itself"


@RULES.warning("user-key-type", "sshd(8), AUTHORIZED_KEYS FILE FORMAT")
def user_key_type(case: Case) -> Iterator[Finding]:
    """A public key begins with a type that today's sshd takes."""
    for path, user in _users(case):
        for index, key in enumerate(user.ssh_public_keys):
            if key.strip() and "PRIVATE KEY" not in key and not _KEY_TYPE.search(key):
                yield (
                    f"{path}.ssh_public_keys[{index}]",
                    f"got {shown(key)}, which does not look like a public key (ssh-ed25519 AAAA...); "
                    "copy the whole line of the .pub file",
                )


@RULES.error("user-account", limits.SLURM_ACCOUNT.source)
def user_account(case: Case) -> Iterator[Finding]:
    """A Slurm account has lower case letters, digits, _ . and -."""
    for path, user in _users(case):
        if message := bad_name(user.account, limits.SLURM_ACCOUNT, instead=user.account.lower()):
            yield f"{path}.account", message


@RULES.warning("users-need-scripts", "FACTS 5.6")
def users_need_scripts(case: Case) -> Iterator[Finding]:
    """Users are made by the scripts, which IMAGE_ONLY groups do not have."""
    for path, group in case.spec.paths_and_groups:
        if case.spec.users and case.spec.style_of(group) is LifecycleStyle.IMAGE_ONLY:
            yield (
                f"{path}.lifecycle_style",
                "got LifecycleStyle.IMAGE_ONLY, so no script makes the users on these nodes and their jobs fail there; "
                "use LifecycleStyle.ON_INIT_COMPLETE",
            )
