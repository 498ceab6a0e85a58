"""The prepared environment, and one rehearsal for the whole session: its start costs seconds."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.builder import ROOT_VARIABLE
from hyperpod_constructs.rehearsal.session import Rehearsal

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """Where `make dev` prepared the environment."""
    return Path(os.environ.get(ROOT_VARIABLE) or REPOSITORY / ".rehearsal")


@pytest.fixture(scope="session")
def rehearsal(root: Path) -> Iterator[Rehearsal]:
    """A rehearsal that stays up for all tests; each test uses stacks and clusters of its own name."""
    with Rehearsal(root, folder=REPOSITORY) as running:
        yield running
