"""What CloudFormation, other versions of the library or a hand may deliver: told in words, and nothing is lost."""

import json
from typing import Any

import pytest

from hyperpod_constructs.handlers.cluster import index
from hyperpod_constructs.handlers.cluster.errors import HandlerError
from hyperpod_constructs.handlers.cluster.events import PROGRESS
from tests.handlers.builders import compute, controller, login, p5, props
from tests.handlers.replay import StackReplay, World


def spoiled(**options: Any) -> dict[str, Any]:
    """Good properties with members of Cluster replaced."""
    return props(p5(2), **options)


def with_group(text: str) -> dict[str, Any]:
    properties = props(p5(2))
    return {**properties, "InstanceGroups": {**properties["InstanceGroups"], "p5": text}}


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (with_group("{}"), "InstanceGroups.p5.InstanceGroupName: got None; needs 'p5'"),
        (with_group("{}"), "InstanceGroups.p5.InstanceCount: is missing"),
        (with_group("null"), "InstanceGroups.p5: got None; needs a JSON object"),
        (spoiled(AllowGroupDeletion=5), "Cluster.AllowGroupDeletion: got 5; needs a list of names"),
        (spoiled(AllowGroupDeletion="p5"), "Cluster.AllowGroupDeletion: got 'p5'; needs a list of names"),
        ({**props(p5(2)), "Tags": 5}, "Tags: got '5'; needs a list of Key and Value"),
        ({**props(p5(2)), "Tags": {"team": "llm"}}, "Tags: got {'team': 'llm'}; needs a list of Key and Value"),
        ({**props(p5(2)), "FormatVersion": "2"}, "FormatVersion: got '2'; this handler reads '1'"),
        ({**props(p5(2)), "Cluster": "[]"}, "Cluster: got []; needs a JSON object"),
        ({**props(p5(2)), "InstanceGroups": None}, "InstanceGroups: got None; needs a JSON object"),
    ],
)
@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_properties_that_cannot_be_read_are_told_by_name_and_nothing_is_called(
    world: World, stack: StackReplay, properties: dict[str, Any], words: str, request_type: str
) -> None:
    event = stack.event(request_type, properties, physical_id="my-training-cluster")
    with pytest.raises(HandlerError) as caught:
        index.on_event(event, None, world.services())
    assert words in str(caught.value)
    assert world.service.calls == []


def test_a_rollback_from_properties_that_cannot_be_read_still_succeeds(world: World, stack: StackReplay) -> None:
    stack.deploy(props(p5(4)))
    world.settle()
    config = [{"FsxLustreConfig": 5}]
    for broken in (
        spoiled(AllowGroupDeletion=5),
        props([controller(), login(), compute(InstanceStorageConfigs=config)]),
    ):
        assert stack.roll_back(props(p5(4)), broken).succeeded
    assert world.counts("my-training-cluster")["p5"] == (4, 4)


@pytest.mark.parametrize(
    "handed_over",
    [None, "text", {"StartedAt": "yesterday"}, {"Expected": {"p5": True}}, {"Expected": {"p5": []}}, {"Pending": 5}],
)
def test_a_poll_goes_on_whatever_was_handed_over_to_it(world: World, stack: StackReplay, handed_over: object) -> None:
    stack.deploy(props(p5(2)))
    world.settle()
    event = stack.event("Update", props(p5(2)), props(p5(2)))
    merged = {**event, **index.on_event(event, None, world.services()), PROGRESS: handed_over}
    assert index.is_complete(json.loads(json.dumps(merged)), None, world.services())["IsComplete"]
