"""Fixtures of the service's tests."""

import pytest

from tests.rehearsal.service.support import Bed


@pytest.fixture
def bed() -> Bed:
    """A service with nothing in it."""
    return Bed()


@pytest.fixture
def up(bed: Bed) -> Bed:
    """A service whose documented cluster is up, four workers of four."""
    bed.create_and_wait()
    return bed
