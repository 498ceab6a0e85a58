"""A node must be able to look its own name up before DNS does (field reports L-05, Q-06)."""

import socket

from nodelib.step import Context, Step
from nodelib.text import with_block

HOSTS = "/etc/hosts"


def run(context: Context) -> None:
    """Give the node's own name in /etc/hosts, unless it stands there."""
    host = socket.gethostname()
    names = dict.fromkeys([host, host.partition(".")[0]])

    def change(text: str) -> str:
        others = with_block(text, "own name", [])
        known = {name for line in others.splitlines() for name in line.partition("#")[0].split()[1:]}
        missing = [name for name in names if name not in known]
        return with_block(text, "own name", [f"{context.identity.address} {' '.join(missing)}"] if missing else [])

    context.files.edit(HOSTS, change)


NAME_HOST = Step(name="name_host", summary="Have the node's own name in /etc/hosts", run=run, styles=("on_create",))
