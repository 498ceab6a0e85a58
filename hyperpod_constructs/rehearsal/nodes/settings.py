"""What a bed is started with; travels as JSON from the one who starts it to the processes that are it."""

from dataclasses import dataclass

DEFAULT_LIMIT_SECONDS = 1800.0
DEFAULT_MAXIMUM_NODES = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class BedSettings:
    """What a bed is started with.

    Attributes:
        suite: code name of the Debian release.
        tree: root folder of the tree.
        nspawn: the systemd-nspawn to use.
        libraries: folder of its libraries, or empty.
        limit_seconds: after this the bed ends, whatever goes on in it.
        maximum_nodes: more than these are refused (a node with Slurm takes about 60 MiB of memory).
        socket: where it answers; filled in when it starts.
    """

    suite: str
    tree: str
    nspawn: str
    libraries: str = ""
    limit_seconds: float = DEFAULT_LIMIT_SECONDS
    maximum_nodes: int = DEFAULT_MAXIMUM_NODES
    socket: str = ""
