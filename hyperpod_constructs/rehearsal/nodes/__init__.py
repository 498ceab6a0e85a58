"""A bed of real Slurm nodes on one Linux machine, as root, without containers or a network.

>>> with Bed() as bed:                                          # doctest: +SKIP
...     bed.add("ip-10-0-0-10", "10.0.0.10")
...     bed.run("ip-10-0-0-10", ["hostname"], check=True).stdout
'ip-10-0-0-10\\n'

Each node is a systemd-nspawn machine with real systemd, its own root file system, host name, address and control
group. README.md in this folder says what is real and what stands in for something.
"""

from hyperpod_constructs.rehearsal.nodes.bed import Bed, wait_for
from hyperpod_constructs.rehearsal.nodes.client import BedClient, Result
from hyperpod_constructs.rehearsal.nodes.errors import BedError, BedUnavailable, NodeError
from hyperpod_constructs.rehearsal.nodes.suites import DEFAULT_SUITE, SUITES

__all__ = [
    "DEFAULT_SUITE",
    "SUITES",
    "Bed",
    "BedClient",
    "BedError",
    "BedUnavailable",
    "NodeError",
    "Result",
    "wait_for",
]
