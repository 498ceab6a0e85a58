"""Tags that ``Tags.of()`` adds are held to the rules of the cluster's own."""

import pytest
from aws_cdk import App, CfnParameter, Stack, Tags

from tests.constructs.support import Synthesized, a_cluster


def tag(stack: Stack, count: int) -> None:
    for number in range(count):
        Tags.of(stack).add(f"k{number}", "v")


def test_as_many_tags_as_the_service_takes_beside_the_librarys_own_are_accepted(stack: Stack) -> None:
    a_cluster(stack, tags={"team": "ml"})
    tag(stack, 45)
    _, resource = Synthesized(stack).only("Custom::HyperPodCluster")
    assert len(resource["Properties"]["Tags"]) == 46


def test_one_tag_more_is_refused_when_it_is_synthesized(app: App, stack: Stack) -> None:
    a_cluster(stack, tags={"team": "ml"})
    tag(stack, 46)
    with pytest.raises(RuntimeError, match="got 47 tags, allowed: 46"):
        app.synth()


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("hyperpod-constructs:stack-id", "x", "no key of this library's own prefix"),
        ("share", "50%", 'got the value "50%"'),
    ],
)
def test_a_tag_that_the_rules_refuse_is_refused(app: App, stack: Stack, key: str, value: str, words: str) -> None:
    a_cluster(stack)
    Tags.of(app).add(key, value)
    with pytest.raises(RuntimeError, match=words):
        app.synth()


def test_a_value_of_the_deployment_passes(stack: Stack) -> None:
    a_cluster(stack)
    Tags.of(stack).add("owner", CfnParameter(stack, "Owner").value_as_string)
    _, resource = Synthesized(stack).only("Custom::HyperPodCluster")
    assert resource["Properties"]["Tags"] == [{"Key": "owner", "Value": {"Ref": "Owner"}}]
