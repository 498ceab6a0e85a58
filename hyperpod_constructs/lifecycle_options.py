"""What the node scripts do: the props of the lifecycle, and the user's own steps. Standard library only.

Like every option they hold what the user wrote and never raise; :mod:`hyperpod_constructs.rules` checks them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hyperpod_constructs.options import LifecycleStyle, NodeType, as_pairs, as_tuple


class UserStepStage(StrEnum):
    """When a user's step runs."""

    BEFORE_SLURM = "before_slurm"
    """After file systems and users are there, before Slurm's daemons start."""
    AFTER_SLURM = "after_slurm"
    """After everything else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UserStep:
    """A script of yours that runs on the nodes, as a step of its own in the log.

    Attributes:
        source: path of the script, or of a folder with it, on the machine that synthesizes. Line ends become LF, a
            byte order mark goes; the first line must name an interpreter (``#!/bin/bash``).
        entry: the script inside the folder; empty where ``source`` is the script itself.
        name: the step's name in the log; by default the script's name without its suffix.
        stage: when it runs.
        node_types: where it runs; on all if empty.
        required: whether its failure fails the node; otherwise it is noted and passed over.
        arguments: given to the script.
        timeout_seconds: after this it is killed and has failed.
    """

    source: str
    entry: str = ""
    name: str = ""
    stage: UserStepStage = UserStepStage.AFTER_SLURM
    node_types: Sequence[NodeType] = ()
    required: bool = True
    arguments: Sequence[str] = ()
    timeout_seconds: int = 600

    def __post_init__(self) -> None:
        for name in ("node_types", "arguments"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))


@dataclass(frozen=True, kw_only=True, slots=True)
class PinnedFile:
    """A file that nodes fetch: named by its checksum, so that it cannot change under you.

    Attributes:
        name: as it appears in the log.
        url: ``https://`` or ``s3://``; the nodes must reach it.
        sha256: 64 hexadecimal digits.
    """

    name: str
    url: str
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeAgent:
    """An exporter or collector that systemd keeps running on nodes.

    Attributes:
        file: the program, or a tar archive with it.
        program: path of the program inside the archive; empty where ``file`` is the program itself.
        node_types: where it runs; on all if empty.
        arguments: given to the program. No secrets: they would stand in the template.
    """

    file: PinnedFile
    program: str = ""
    node_types: Sequence[NodeType] = ()
    arguments: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("node_types", "arguments"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))


@dataclass(frozen=True, kw_only=True, slots=True)
class LifecycleScripts:
    """What the node scripts do. docs/lifecycle.md lists their steps.

    Attributes:
        style: who sets nodes up; a group's ``lifecycle_style`` overrides it.
        home_directories: homes on the shared file system; without one, and when off, they are each node's own.
        home_path: folder of the homes; by default ``/home`` where OpenZFS is mounted there, else ``home`` on the
            first file system.
        ssh_between_nodes: users reach every node without a password.
        accounting_backup: dump the controller's accounting database to the shared file system and restore it on a
            fresh controller.
        accounting_backup_minutes: pause between two dumps.
        log_rotation: rotate Slurm's logs.
        prolog_epilog: folders for prolog and epilog scripts.
        message_of_the_day: what people see when they come in.
        message_of_the_day_text: your text in it.
        containers: configure Docker, Enroot and Pyxis where the image has them.
        container_packages: Debian packages to install besides; none by default.
        login_nodes_free: keep jobs off the login nodes, which the partition ``dev`` holds too.
        topology_guard: repair empty topology files that stop jobs or slurmctld.
        accelerator_check: fail a compute node that shows fewer GPUs than its instance type has.
        slurm_settings: keys of slurm.conf; the platform's own are refused.
        user_steps: scripts of yours, in order.
        agents: exporters and collectors; none by default.
    """

    style: LifecycleStyle = LifecycleStyle.ON_CREATE
    home_directories: bool = True
    home_path: str = ""
    ssh_between_nodes: bool = True
    accounting_backup: bool = True
    accounting_backup_minutes: int = 15
    log_rotation: bool = True
    prolog_epilog: bool = True
    message_of_the_day: bool = True
    message_of_the_day_text: str = ""
    containers: bool = True
    container_packages: Sequence[PinnedFile] = ()
    login_nodes_free: bool = True
    topology_guard: bool = True
    accelerator_check: bool = False
    slurm_settings: Any = ()
    user_steps: Sequence[UserStep] = ()
    agents: Sequence[NodeAgent] = ()

    def __post_init__(self) -> None:
        for name in ("container_packages", "user_steps", "agents"):
            object.__setattr__(self, name, as_tuple(getattr(self, name)))
        object.__setattr__(self, "slurm_settings", as_pairs(self.slurm_settings))
