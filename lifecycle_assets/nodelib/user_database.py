"""Linux accounts and groups: read from the files, written by the system's own tools."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from nodelib.errors import StepError
from nodelib.node_config import User
from nodelib.step import Context

# Groups that no image has get an id out of their name, so that it is the same on every node and never shifts: above
# those of the image, below those of users.
FIRST_DERIVED_GID, DERIVED_GIDS = 1_200, 800
LOCK_TRIES = 10


@dataclass(frozen=True)
class Account:
    """A line of /etc/passwd."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str


@dataclass(frozen=True)
class LinuxGroup:
    """A line of /etc/group."""

    name: str
    gid: int
    members: tuple[str, ...]


def accounts(context: Context) -> dict[str, Account]:
    """All local accounts by name."""
    rows = (line.split(":") for line in context.files.read("/etc/passwd").splitlines())
    return {f[0]: Account(f[0], int(f[2]), int(f[3]), f[5], f[6]) for f in rows if len(f) == 7}


def groups(context: Context) -> dict[str, LinuxGroup]:
    """All local groups by name."""
    rows = (line.split(":") for line in context.files.read("/etc/group").splitlines())
    return {f[0]: LinuxGroup(f[0], int(f[2]), tuple(filter(None, f[3].split(",")))) for f in rows if len(f) == 4}


def derived_gid(name: str) -> int:
    """The group id of a group that is known by its name only."""
    return FIRST_DERIVED_GID + zlib.crc32(name.encode()) % DERIVED_GIDS


def ensure_group(context: Context, name: str, gid: int) -> None:
    """Have a group; one that exists keeps its id.

    Raises:
        StepError: the id belongs to another group.
    """
    known = groups(context)
    if name in known:
        return
    taken = next((group.name for group in known.values() if group.gid == gid), None)
    if taken is not None:
        raise StepError(f"group {name}: its id {gid} belongs to group {taken} on this node")
    _change(context, ["groupadd", "--gid", str(gid), name])
    context.did(f"added group {name}")


def ensure_primary_group(context: Context, user: User) -> None:
    """Have a group with the user's primary id: whatever its name, users may share it; by default the user's own."""
    if all(group.gid != user.gid for group in groups(context).values()):
        ensure_group(context, user.name, user.gid)


def ensure_user(context: Context, user: User, home: str) -> None:
    """Have an account with these ids, this home and at least these groups.

    Raises:
        StepError: its name or id is taken by something else on this node.
    """
    known = accounts(context)
    present = known.get(user.name)
    if present is None:
        _add_user(context, user, home, known.values())
        return
    if (present.uid, present.gid) != (user.uid, user.gid):
        raise StepError(
            f"user {user.name} has ids {present.uid}:{present.gid} on this node, node_config.json says "
            f"{user.uid}:{user.gid}; files belong to ids, so they are not changed"
        )
    if present.home != home:
        set_home(context, user.name, home)
    missing = [name for name in user.groups if user.name not in groups(context)[name].members]
    if missing:
        _change(context, ["usermod", "--append", "--groups", ",".join(missing), user.name])
        context.did(f"added {user.name} to {', '.join(missing)}")


def set_home(context: Context, name: str, home: str) -> None:
    """Change where a home is; nothing is moved.

    Not by usermod, which refuses while the account has a process, such as a session somebody just opened.
    """

    def moved(text: str) -> str:
        lines = [line.split(":") for line in text.splitlines()]
        changed = [[*f[:5], home, *f[6:]] if f[0] == name else f for f in lines]
        return "".join(":".join(fields) + "\n" for fields in changed)

    context.files.edit_account_file("/etc/passwd", moved)


def _add_user(context: Context, user: User, home: str, known: Iterable[Account]) -> None:
    taken = next((account.name for account in known if account.uid == user.uid), None)
    if taken is not None:
        raise StepError(f"user {user.name}: its id {user.uid} belongs to {taken} on this node")
    command = ["useradd", "--uid", str(user.uid), "--gid", str(user.gid), "--home-dir", home, "--no-create-home"]
    command += ["--shell", "/bin/bash", *(["--groups", ",".join(user.groups)] if user.groups else []), user.name]
    _change(context, command)
    context.did(f"added user {user.name}")


def _change(context: Context, command: list[str]) -> None:
    """Run one of the account tools; they fail at once while another process holds the account files' lock."""
    for attempt in range(1, LOCK_TRIES + 1):
        result = context.runner.run(command, check=False)
        if result.returncode == 0:
            return
        if "lock" not in result.stderr or attempt == LOCK_TRIES:
            raise StepError(f"{' '.join(command)}: exit code {result.returncode}: {result.stderr.strip()}")
        context.clock.sleep(1)
