"""How the platform behaves in a rehearsal: a story for one cluster."""

from dataclasses import dataclass
from enum import StrEnum

SCRIPT_TIMEOUT_SECONDS = 1200.0  # no limit is documented (FACTS 5.7); scripts must keep well below this themselves


class When(StrEnum):
    """When something of the platform's happens, seen from our script."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """How the platform behaves.

    Attributes:
        slurm_conf_delay_seconds: how long after the start of the controller's script slurm.conf gets the platform's
            lines; 0 (default): it has them before.
        node_lines_delay_seconds: how long after the start of a node's script slurm.conf learns of that node; 0: before.
        image_setup: in the image styles, when file systems are mounted and daemons started.
        login_is_a_node: whether login nodes have a NodeName line.
        image_accounting: in the image styles, whether the controller gets MariaDB and slurmdbd.
        script_timeout_seconds: after this a script is killed and counts as failed.
    """

    slurm_conf_delay_seconds: float = 0.0
    node_lines_delay_seconds: float = 0.0
    image_setup: When = When.BEFORE
    login_is_a_node: bool = True
    image_accounting: bool = True
    script_timeout_seconds: float = SCRIPT_TIMEOUT_SECONDS
