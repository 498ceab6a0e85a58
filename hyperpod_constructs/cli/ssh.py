"""``hyperpod-slurm ssh``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations
from .failures import usage_error

if TYPE_CHECKING:
    from .access.target import Target

HELP = """Open a session on a node: through Systems Manager, or with --over-ssh as SSH over it.

NODE is controller, login, a group of one node, an instance id, a logical id, or a host name; by default the login
node, or the controller where there is none. With a command after -- that command runs and its exit code is returned.
Needs the AWS CLI and its Session Manager plugin.

Example: hyperpod-slurm ssh my-training-cluster

Example: hyperpod-slurm ssh my-training-cluster controller -- sinfo

Example: hyperpod-slurm ssh my-training-cluster login --add-key ~/.ssh/id_ed25519.pub
"""

DEFAULT_USER = "ubuntu"


def ssh(
    cluster: Annotated[str, typer.Argument(help="Name or ARN of the cluster.", show_default=False)],
    node: Annotated[str, typer.Argument(help="The node.")] = "login",
    command: Annotated[list[str] | None, typer.Argument(help="A command to run, after --.", show_default=False)] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-l", help=f"Linux user (default: the session's; {DEFAULT_USER} with SSH).")
    ] = None,
    over_ssh: Annotated[bool, typer.Option("--over-ssh", help="SSH through the session; needs a key on it.")] = False,
    add_key: Annotated[
        Path | None, typer.Option("--add-key", help="Put this public key into the user's authorized_keys, and end.")
    ] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the command instead of running it.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Open a session (the help text is HELP)."""
    from .access.keys import USER, read_public_key
    from .access.sessions import become, need_programs
    from .access.target import target_of

    if user is not None and not USER.fullmatch(user):
        raise usage_error(f"got the user {user!r}, allowed: a Linux user name")
    if add_key is not None and (command or over_ssh):
        raise usage_error("--add-key goes with neither a command nor --over-ssh")
    key = None if add_key is None else read_public_key(add_key)
    target = target_of(account.connect(profile, region), cluster, node)
    if not show:
        need_programs("aws", "session-manager-plugin", *(["ssh"] if over_ssh else []))
    if key is not None:
        _add_key(target, user or DEFAULT_USER, key)
        return
    if command and not over_ssh and not show:
        raise typer.Exit(_run(target, command, user))
    words = _words(target, command or [], user, over_ssh)
    if show:
        sys.stdout.write(f"{shlex.join(words)}\n")
        return
    become(words)


def _words(target: Target, command: list[str], user: str | None, over_ssh: bool) -> list[str]:
    from .access.ssh_config import proxy_command
    from .access.target import INTERACTIVE_DOCUMENT

    if over_ssh:
        options = ["-o", f"ProxyCommand={proxy_command(target)}", "-o", "StrictHostKeyChecking=accept-new"]
        return ["ssh", *options, f"{user or DEFAULT_USER}@{target.instance_id}", *command]
    text = shlex.join(command)
    if user is not None:
        text = f"sudo -iu {user} {text}".rstrip()
    return target.session_command(INTERACTIVE_DOCUMENT, {"command": [text]}) if text else target.session_command()


def _run(target: Target, command: list[str], user: str | None) -> int:
    from .access.sessions import run_on_node
    from .screen import printable

    text = shlex.join(command)
    answer = run_on_node(target, f"sudo -iu {user} {text}" if user else text)
    sys.stdout.write(printable(answer.output) + ("" if answer.output.endswith("\n") or not answer.output else "\n"))
    return answer.exit_code


def _add_key(target: Target, user: str, key: str) -> None:
    from .access.keys import add_key
    from .screen import tell

    added = add_key(target, user, key)
    tell(f"the key {'is now' if added else 'was already'} among {user}'s on {target.instance_id}")
