"""Key pairs, authorized keys and known hosts on shared homes. What is a user's is written as that user."""

import tempfile
from pathlib import Path

from nodelib.errors import StepError
from nodelib.shared import node_lock
from nodelib.step import Context
from nodelib.text import with_block
from nodelib.user_database import Account

KEY_NAME = "id_ed25519"


def ensure_user_keys(context: Context, account: Account, public_keys: tuple[str, ...]) -> None:
    """Have a key pair of the user's own, accepted on every node, and the given keys accepted too.

    Root would follow a link that the user put in place of a folder; the user's own rights end where they should.

    Raises:
        StepError: the home is not there, or its locks do not work.
    """
    folder = f"{account.home}/.ssh"
    if not context.files.exists(account.home):
        raise StepError(f"{account.home}: the home of {account.name} is not there")
    with context.files.ownership.acting_as((account.uid, account.gid)):
        if _is_complete(context, folder, public_keys):
            return
        context.files.folder(folder, mode=0o700)
        with node_lock(context, f"{folder}/.hyperpod-constructs.lock"):
            public_key = _ensure_key_pair(context, account, folder)
            _authorize(context, folder, [public_key, *public_keys])


def _is_complete(context: Context, folder: str, public_keys: tuple[str, ...]) -> bool:
    public_key = context.files.read(f"{folder}/{KEY_NAME}.pub").strip()
    if not public_key or not context.files.exists(f"{folder}/{KEY_NAME}"):
        return False
    present = context.files.read(f"{folder}/authorized_keys")
    return present == _with_keys(present, [public_key, *public_keys])


def _ensure_key_pair(context: Context, account: Account, folder: str) -> str:
    private, public = f"{folder}/{KEY_NAME}", f"{folder}/{KEY_NAME}.pub"
    text = context.files.read(public).strip()
    if context.files.exists(private) and text:
        return text
    made = _generate(context, f"{account.name}@{context.config.cluster_name}")
    context.files.write(private, made[0], mode=0o600)
    context.files.write(public, made[1], mode=0o644)
    return made[1].strip()


def _generate(context: Context, comment: str) -> tuple[str, str]:
    with context.files.ownership.acting_as((0, 0)), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / KEY_NAME
        context.runner.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])
        return path.read_text(encoding="ascii"), path.with_suffix(".pub").read_text(encoding="ascii")


def _authorize(context: Context, folder: str, keys: list[str]) -> None:
    path = f"{folder}/authorized_keys"
    present = context.files.read(path)
    context.files.write(path, _with_keys(present, keys), mode=0o600)


def _with_keys(present: str, keys: list[str]) -> str:
    """authorized_keys with our block of keys; a key that stands outside of the block is not repeated in it."""
    own = {line.strip() for line in with_block(present, "keys", []).splitlines()}
    wanted = [key for key in dict.fromkeys(key.strip() for key in keys) if key and key not in own]
    return with_block(present, "keys", wanted)


def host_line(names: list[str], public_key: str) -> str:
    """A line of ssh_known_hosts."""
    kind, key = public_key.split()[:2]
    return f"{','.join(names)} {kind} {key}"


def with_host(text: str, host: str, lines: list[str]) -> str:
    """ssh_known_hosts with these lines for a host, in place of those it had."""
    kept = [line for line in text.splitlines() if line.split(" ")[0].split(",")[0] != host]
    return "".join(f"{line}\n" for line in sorted([*kept, *lines]))
