"""The properties of the custom resource: a contract with every handler that was ever deployed (DESIGN decision 5)."""

from typing import Any

import jsii
from aws_cdk import IResolvable, IStableAnyProducer, Lazy, Stack, TagManager

from hyperpod_constructs.api_request import Request
from hyperpod_constructs.specs import ClusterSpec

RESOURCE_TYPE = "Custom::HyperPodCluster"
FORMAT_VERSION = "1"


@jsii.implements(IStableAnyProducer)
class RenderedTags:
    """The tags as the API writes them, read at synthesis, when ``Tags.of()`` has reached every construct.

    The tag manager's own rendering writes its keys in lower case, which only CDK's own resources turn around.
    """

    def __init__(self, manager: TagManager) -> None:
        self._manager = manager

    @classmethod
    def of(cls, manager: TagManager) -> IResolvable:
        """A value that becomes the tags; nothing if there are none.

        Args:
            manager: holds the tags.
        """
        return Lazy.any(cls(manager), omit_empty_array=True)

    def produce(self) -> list[dict[str, str]]:
        """Called by CDK at synthesis."""
        return [{"Key": key, "Value": value} for key, value in sorted(self._manager.tag_values().items())]


def cluster_properties(stack: Stack, spec: ClusterSpec, request: Request, tags: Any) -> dict[str, Any]:
    """Build the properties.

    The request travels as JSON text, because CloudFormation turns every number and boolean of a custom resource into
    text and drops empty objects; one text a group, so that ``cdk diff`` shows which group changed. The tags are a
    property of their own, so that CDK's tag manager reaches them.

    Args:
        stack: resolves tokens inside the text at deploy time.
        spec: gives the options that are no part of the API's request.
        request: what ``create_cluster_request()`` built.
        tags: what the tag manager renders.
    """
    groups = {group["InstanceGroupName"]: group for group in request["InstanceGroups"]}
    cluster = {
        "Request": {name: value for name, value in request.items() if name not in ("InstanceGroups", "Tags")},
        "GroupOrder": list(groups),
        "ReadyWhen": spec.ready_when.value,
        "OnTimeout": spec.on_timeout.value,
        "ForceInstanceCounts": spec.force_instance_counts,
        "AllowGroupDeletion": list(spec.allow_group_deletion),
        "UpdateControllerSoftware": spec.controller.update_software,
    }
    return {
        "FormatVersion": FORMAT_VERSION,
        "Cluster": stack.to_json_string(cluster),
        "InstanceGroups": {name: stack.to_json_string(group) for name, group in groups.items()},
        "Tags": tags,
    }
