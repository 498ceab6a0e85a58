"""The process of the Lambda dies, or cannot answer, at any of its calls: no cluster is left behind, none is harmed."""

import contextlib
from collections.abc import Callable
from typing import Any, Literal

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from hyperpod_constructs.handlers.cluster import index
from hyperpod_constructs.rehearsal.service import CallerCrash
from tests.handlers.builders import NAME, p5, props
from tests.handlers.replay import CREATE_FAILED, DIED, LAMBDA_SECONDS, StackReplay, World

When = Literal["before", "after"]


class Dying:
    """A client whose caller dies at one call, counted over all invocations."""

    def __init__(self, client: Any, deaths: "Deaths") -> None:
        self._client, self._deaths = client, deaths

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(**request: Any) -> Any:
            if self._deaths.is_due("before"):
                raise CallerCrash(name)
            answer = method(**request)
            if self._deaths.is_due("after"):
                raise CallerCrash(name)
            return answer

        return call


class Deaths:
    """Which call it is."""

    def __init__(self, number: int, when: When) -> None:
        self.number, self.when = number, when
        self.calls = {"before": 0, "after": 0}
        self.died = False

    def is_due(self, when: When) -> bool:
        self.calls[when] += 1
        due = when == self.when and self.calls[when] == self.number
        self.died = self.died or due
        return due


def life(deaths: Deaths) -> None:
    """Create, scale, destroy, with what must hold after each step."""
    world = World()
    stack = StackReplay(world)
    world.wrap = lambda client: Dying(client, deaths)
    created = stack.deploy(props(p5(2)))
    assert (world.describe(NAME) is not None) == created.succeeded
    assert stack.status == ("CREATE_COMPLETE" if created.succeeded else "ROLLBACK_COMPLETE")
    if not created.succeeded:
        assert created.reason == DIED
        assert stack.deploy(props(p5(2))).succeeded
    world.settle()
    scaled = stack.deploy(props(p5(4)))
    assert stack.status == ("UPDATE_COMPLETE" if scaled.succeeded else "UPDATE_ROLLBACK_COMPLETE")
    world.settle()
    assert world.counts(NAME)["p5"] == ((4, 4) if scaled.succeeded else (2, 2))
    assert stack.destroy().succeeded
    assert world.describe(NAME) is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_lambda_that_dies_at_any_call_of_a_whole_life_leaves_nothing_and_wedges_nothing(when: When) -> None:
    number = 0
    while True:
        number += 1
        deaths = Deaths(number, when)
        life(deaths)
        if not deaths.died:
            break
    assert number > 15, "every call of the life was tried"


def test_c07_a_waiter_that_cannot_be_started_leaves_no_cluster(world: World, stack: StackReplay) -> None:
    stack.waiters_that_fail = 1
    failed = stack.deploy(props(p5(2)))
    assert (failed.physical_id, stack.status) == (CREATE_FAILED, "ROLLBACK_COMPLETE")
    assert world.describe(NAME) is None


class Silent:
    """A service that does everything and never answers: each call takes the two attempts that the client makes."""

    def __init__(self, client: Any, world: World) -> None:
        self._client, self._world = client, world

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(**request: Any) -> Any:
            self._world.clock.advance(52)
            with contextlib.suppress(ClientError):
                method(**request)
            raise ReadTimeoutError(endpoint_url="https://api.sagemaker.example")

        return call


@pytest.mark.parametrize("entry", [index.on_event, index.is_complete])
def test_a_service_that_never_answers_does_not_outlast_the_lambda(
    world: World, stack: StackReplay, entry: Callable[..., dict[str, Any]]
) -> None:
    event = stack.event("Create", props(p5(2)))
    merged = {**event, **index.on_event(event, None, world.services())}
    world.wrap = lambda client: Silent(client, world)
    started = world.clock.now()
    entry(merged if entry is index.is_complete else event, None, world.services())
    assert 52 < world.clock.now() - started < LAMBDA_SECONDS
