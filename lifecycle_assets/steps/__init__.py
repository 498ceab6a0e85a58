"""The steps of a node, in the order in which they run."""

from nodelib.step import Step

from steps.check_configuration import CHECK_CONFIGURATION
from steps.mount_file_systems import MOUNT_FILE_SYSTEMS
from steps.munge import START_MUNGE
from steps.slurm_controller import START_SLURM_CONTROLLER, WAIT_FOR_SLURM_CONF
from steps.slurm_node import START_SLURM_NODE

ALL_STEPS: tuple[Step, ...] = (
    CHECK_CONFIGURATION,
    MOUNT_FILE_SYSTEMS,
    START_MUNGE,
    WAIT_FOR_SLURM_CONF,
    START_SLURM_CONTROLLER,
    START_SLURM_NODE,
)
