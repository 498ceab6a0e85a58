"""The properties of the custom resource: a contract with every handler that was ever deployed (DESIGN decision 5)."""

from typing import Any

from aws_cdk import Stack

from hyperpod_constructs.api_request import Request
from hyperpod_constructs.specs import ClusterSpec

RESOURCE_TYPE = "Custom::HyperPodCluster"
FORMAT_VERSION = "1"


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
