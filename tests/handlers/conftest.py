"""Shared by the handler's tests: no AWS CDK, no network, no real time."""

import pytest

from tests.handlers.replay import StackReplay, World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def stack(world: World) -> StackReplay:
    return StackReplay(world)
