"""A public key in a node's authorized_keys, put there and seen there (field report T-02)."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.cli.reading.documents import read_text

from .sessions import run_on_node

if TYPE_CHECKING:
    from pathlib import Path

    from .target import Target

_KEY = re.compile(r"(ssh-(ed25519|rsa)|ecdsa-sha2-nistp\d+|sk-[a-z0-9@.-]+) [A-Za-z0-9+/]+=* ?.*")
USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


def read_public_key(path: Path) -> str:
    """The line of a public key file.

    Raises:
        CommandError: it holds something else; a private key above all.
    """
    text = read_text(path).strip()
    if "PRIVATE KEY" in text:
        raise CommandError(f"{path}: is a private key, which must not leave this machine; give the file ending in .pub")
    if "\n" in text or not _KEY.fullmatch(text):
        raise CommandError(f"{path}: is no public key of OpenSSH, allowed: one line such as ssh-ed25519 AAAA... name")
    return text


def add_key(target: Target, user: str, key: str) -> bool:
    """Have a key among a user's authorized ones; returns whether it was added now.

    Raises:
        CommandError: it is not there afterwards, whatever the session said.
    """
    answer = run_on_node(target, _script(user, key, add=True))
    if answer.exit_code not in (0, 10):
        raise CommandError(f"the key was not added for {user}: {' '.join(answer.output.split()) or 'no reason given'}")
    if run_on_node(target, _script(user, key, add=False)).exit_code != 10:
        raise CommandError(f"the key is not in {user}'s authorized_keys although the session reported no error")
    return answer.exit_code == 0


def _script(user: str, key: str, *, add: bool) -> str:
    """Exit code 10: it is there already. The key is compared as text, and only as a whole line."""
    add_lines = """
sudo install -d -m 700 -o "$user" -g "$group" "$home/.ssh" || exit 4
sudo touch "$file" && printf '%s\\n' "$key" | sudo tee -a "$file" >/dev/null || exit 4
sudo chown "$user:$group" "$file" && sudo chmod 600 "$file" || exit 4
exit 0"""
    return f"""user={shlex.quote(user)} key={shlex.quote(key)}
home=$(getent passwd "$user" | cut -d: -f6)
test -n "$home" || {{ echo "there is no user $user"; exit 3; }}
group=$(id -gn "$user") file=$home/.ssh/authorized_keys
sudo grep -qxF -- "$key" "$file" 2>/dev/null && exit 10
{add_lines if add else "exit 0"}
"""
