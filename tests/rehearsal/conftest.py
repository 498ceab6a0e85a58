"""The prepared environment, and one rehearsal for the whole session: its start costs seconds."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.bed_process import (
    NodesUnavailableError,
    RealNodes,
    machine_problem,
    prepare_tree,
)
from hyperpod_constructs.rehearsal.builder import ROOT_VARIABLE
from hyperpod_constructs.rehearsal.environment import prepare
from hyperpod_constructs.rehearsal.session import Rehearsal

from .command_support import processes_of

REPOSITORY = Path(__file__).parents[2]
# Only groups of these names become Slurm nodes, so that the other tests' clusters cost nothing.
REAL_GROUPS = {"head": 1, "entry": 1, "train": 3}
CAPACITY = ("train=4",)


@pytest.fixture(scope="session")
def root() -> Path:
    """Where `make dev` prepared the environment."""
    return Path(os.environ.get(ROOT_VARIABLE) or REPOSITORY / ".rehearsal")


@pytest.fixture(scope="session")
def nodes_problem(root: Path) -> str:
    """Why this machine cannot carry Slurm nodes; empty if it can."""
    problem = machine_problem(root)
    if not problem:
        try:
            prepare_tree(root, RealNodes().suite, print)
        except NodesUnavailableError as error:
            return str(error)
    return problem


@pytest.fixture(scope="session")
def machine(nodes_problem: str) -> None:
    """A machine that can carry Slurm nodes; without one, skips on a developer's machine and fails where CI=true."""
    if nodes_problem and os.environ.get("CI") == "true":
        pytest.fail(f"Slurm nodes cannot run here: {nodes_problem}")
    if nodes_problem:
        pytest.skip(f"Slurm nodes cannot run here: {nodes_problem}")


@pytest.fixture(scope="session")
def running_rehearsal(root: Path, nodes_problem: str) -> Iterator[Rehearsal]:
    """A rehearsal that stays up for all tests."""
    nodes = None if nodes_problem else RealNodes(of_each_group=REAL_GROUPS, limit_seconds=1800)
    with Rehearsal(root, folder=REPOSITORY, capacity=CAPACITY, nodes=nodes) as running:
        yield running


@pytest.fixture(scope="module")
def rehearsal(running_rehearsal: Rehearsal) -> Rehearsal:
    """The session's rehearsal; each module uses clusters of its own name, destroys its stacks, and leaves what it left.

    ``leftovers()`` is what was not there when the module began.
    """
    running_rehearsal.before = running_rehearsal.account.inventory()
    return running_rehearsal


@pytest.fixture
def folder(tmp_path: Path, root: Path) -> Iterator[Path]:
    """A folder to run the command in, with the prepared tools and trees and nothing else of the machine's."""
    prepare(root)
    mine = tmp_path / ".rehearsal"
    mine.mkdir()
    for part in (*root.glob("*-*"), root / "nodes"):
        if part.is_dir():
            (mine / part.name).symlink_to(part)
    yield tmp_path
    left = processes_of(tmp_path)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == [], "these processes outlived the test"
