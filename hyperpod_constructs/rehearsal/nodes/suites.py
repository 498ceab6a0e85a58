"""The Debian suites a bed can be made of, and what is installed in their trees."""

import hashlib
from dataclasses import dataclass

from hyperpod_constructs.rehearsal.nodes.errors import BedError

# Changes whenever a tree of the same packages would come out differently, so that old trees are not used any longer.
TREE_FORMAT = "1"

PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "libpam-systemd", "mount", "util-linux", "kmod", "procps", "hostname"),
    *("iproute2", "iputils-ping", "netbase", "ca-certificates", "sudo", "less", "logrotate", "python3"),
    *("slurmctld", "slurmd", "slurmdbd", "slurm-client", "libpam-slurm-adopt", "munge"),
    *("mariadb-server", "mariadb-client", "openssh-server", "openssh-client"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """One Debian release.

    Attributes:
        name: code name, as in the archive.
        slurm_version: major version of Slurm in it. The HyperPod images carry 25.11 since May 2026 and carried 24.11
            for the year before (FACTS 6.1); no Debian suite has 25.11, so the two suites stand on either side of it.
        packages: what is installed besides the essential packages.
    """

    name: str
    slurm_version: str
    packages: tuple[str, ...] = PACKAGES

    @property
    def tree_key(self) -> str:
        """Changes whenever the tree has to be built anew."""
        text = "\n".join((TREE_FORMAT, self.name, *sorted(self.packages)))
        return hashlib.sha256(text.encode()).hexdigest()[:10]


DEFAULT_SUITE = "trixie"
SUITES = {
    suite.name: suite
    for suite in (Suite(name="trixie", slurm_version="24.11"), Suite(name="forky", slurm_version="26.05"))
}


def suite_named(name: str) -> Suite:
    """The suite of that name.

    Raises:
        BedError: there is no such suite.
    """
    if name not in SUITES:
        raise BedError(f'got suite "{name}"; allowed: {", ".join(SUITES)}; choose one of these')
    return SUITES[name]
