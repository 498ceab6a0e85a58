"""The steps of a node, in the order in which they run."""

from nodelib.node_config import NodeConfig
from nodelib.step import Step

from steps.accelerators import CHECK_ACCELERATORS
from steps.accounting import CONFIGURE_ACCOUNTING
from steps.accounting_backup import DUMP_ACCOUNTING, SCHEDULE_ACCOUNTING_DUMP
from steps.check_configuration import CHECK_CONFIGURATION
from steps.containers import CONFIGURE_CONTAINERS, INSTALL_CONTAINER_PACKAGES
from steps.home_directories import SET_UP_HOMES
from steps.hosts import NAME_HOST
from steps.install_scripts import INSTALL_SCRIPTS
from steps.log_rotation import ROTATE_LOGS
from steps.login_guard import KEEP_LOGIN_NODE_FREE
from steps.lustre_efa import SET_UP_LUSTRE_EFA
from steps.message_of_the_day import GREET
from steps.mount_file_systems import MOUNT_FILE_SYSTEMS
from steps.munge import START_MUNGE
from steps.observability import RUN_AGENTS
from steps.prolog_epilog import SET_UP_PROLOG_EPILOG
from steps.slurm_accounts import REGISTER_ACCOUNTS
from steps.slurm_controller import START_SLURM_CONTROLLER, WAIT_FOR_SLURM_CONF
from steps.slurm_node import START_SLURM_NODE
from steps.slurm_settings import SET_SLURM_SETTINGS
from steps.ssh import SET_UP_SSH
from steps.topology_guard import GUARD_TOPOLOGY
from steps.user_steps import user_steps
from steps.users import CREATE_USERS

# What can be wrong with the node itself comes first: a failure must cost seconds.
BEFORE_SLURM: tuple[Step, ...] = (
    CHECK_CONFIGURATION,
    INSTALL_SCRIPTS,
    NAME_HOST,
    CHECK_ACCELERATORS,
    SET_UP_LUSTRE_EFA,
    MOUNT_FILE_SYSTEMS,
    CREATE_USERS,
    SET_UP_HOMES,
    SET_UP_SSH,
    INSTALL_CONTAINER_PACKAGES,
    CONFIGURE_CONTAINERS,
    SET_UP_PROLOG_EPILOG,
)
SLURM: tuple[Step, ...] = (
    START_MUNGE,
    WAIT_FOR_SLURM_CONF,
    CONFIGURE_ACCOUNTING,
    SET_SLURM_SETTINGS,
    GUARD_TOPOLOGY,
    START_SLURM_CONTROLLER,
    START_SLURM_NODE,
)
AFTER_SLURM: tuple[Step, ...] = (
    KEEP_LOGIN_NODE_FREE,
    REGISTER_ACCOUNTS,
    SCHEDULE_ACCOUNTING_DUMP,
    DUMP_ACCOUNTING,
    ROTATE_LOGS,
    GREET,
    RUN_AGENTS,
)


def all_steps(config: NodeConfig) -> list[Step]:
    """Every step, the user's among ours."""
    before, after = user_steps(config, "before_slurm"), user_steps(config, "after_slurm")
    return [*BEFORE_SLURM, *before, *SLURM, *AFTER_SLURM, *after]
