"""What the tests of constructs share: the documented cluster, and questions to a template."""

import json
from pathlib import Path
from typing import Any

from aws_cdk import Stack
from aws_cdk.assertions import Template

from hyperpod_constructs import ComputeGroup, ControllerGroup, LoginGroup, SlurmCluster

# The feature flags are part of the tested input.
CONTEXT = json.loads((Path(__file__).parents[2] / "cdk.json").read_text())["context"]


def a_cluster(stack: Stack, id: str = "Cluster", **changes: Any) -> SlurmCluster:
    """The documented cluster; any argument may be changed."""
    arguments: dict[str, Any] = {
        "cluster_name": "my-training-cluster",
        "controller": ControllerGroup(name="controller-group", instance_type="ml.m5.xlarge"),
        "login": LoginGroup(name="login-group", instance_type="ml.m5.xlarge"),
        "compute": [
            ComputeGroup(
                name="worker-gpu-a", instance_type="ml.p5.48xlarge", instance_count=16, partition="gpu-training"
            )
        ],
    }
    return SlurmCluster(stack, id, **(arguments | changes))


class Synthesized:
    """A template with the questions that tests ask of it."""

    def __init__(self, stack: Stack) -> None:
        self.template = Template.from_stack(stack)
        self.json: dict[str, Any] = dict(self.template.to_json())
        self.resources: dict[str, dict[str, Any]] = self.json.get("Resources", {})

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        return {name: item for name, item in self.resources.items() if item["Type"] == kind}

    def only(self, kind: str) -> tuple[str, dict[str, Any]]:
        found = self.of_type(kind)
        assert len(found) == 1, f"{kind}: {sorted(found)}"
        return next(iter(found.items()))

    def before(self, name: str) -> set[str]:
        """Every resource that is made before this one: DependsOn, Ref and GetAtt, followed to the end."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            for other in references(self.resources[waiting.pop()]):
                if other in self.resources and other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen


def references(value: Any) -> set[str]:
    """Logical ids that a part of a template refers to."""
    if isinstance(value, list):
        return set().union(*(references(item) for item in value), set())
    if not isinstance(value, dict):
        return set()
    found = {value["Ref"]} if isinstance(value.get("Ref"), str) else set()
    if isinstance(value.get("Fn::GetAtt"), list):
        found.add(value["Fn::GetAtt"][0])
    depends = value.get("DependsOn", [])
    found |= set([depends] if isinstance(depends, str) else depends if isinstance(depends, list) else [])
    return found.union(*(references(item) for item in value.values()), set())
