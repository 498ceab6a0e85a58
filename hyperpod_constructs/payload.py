"""How large the custom resource's description of a cluster is on its way to the handler. Standard library only.

docs/limits.md has the arithmetic. The properties are those that ``cluster_properties`` builds.
"""

import json
import re
from typing import Any

from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.bindings import Bindings
from hyperpod_constructs.specs import ClusterSpec

STEP_FUNCTIONS_INPUT_BYTES = 262144  # Step Functions developer guide, quotas: input of an execution
LAMBDA_EVENT_BYTES = 1048576  # Lambda API, Invoke: asynchronous invocations, as CloudFormation's are
TEMPLATE_BYTES = 1048576  # CloudFormation user guide, quotas: a template in S3
ENVELOPE_BYTES = 8192
"""What an event has beside the properties: ids, ARNs, the signed address for the answer, attributes."""
TOKEN_BYTES = 100
"""What a deploy-time value is taken to become; ARNs of roles and keys have 60 to 100 characters."""

_TOKEN = re.compile(r"\$\{Token\[[^\]]*\]\}")


def properties_bytes(spec: ClusterSpec, bindings: Bindings) -> int:
    """Size of the custom resource's properties as JSON, with the JSON text inside it escaped.

    Args:
        spec: the cluster.
        bindings: deploy-time values; a token counts as ``TOKEN_BYTES``.
    """
    request = create_cluster_request(spec, bindings)
    groups = request.pop("InstanceGroups")
    tags = request.pop("Tags", [])
    properties = {
        "FormatVersion": "1",
        "Cluster": _text({"Request": request, "GroupOrder": [group["InstanceGroupName"] for group in groups]}),
        "InstanceGroups": {group["InstanceGroupName"]: _text(group) for group in groups},
        "Tags": tags,
    }
    return len(_TOKEN.sub("x" * TOKEN_BYTES, _text(properties)).encode())


def waiter_input_bytes(spec: ClusterSpec, bindings: Bindings) -> int:
    """Size of what an update of a cluster of this size starts its waiter with: new and old properties, and an envelope.

    Args:
        spec: the cluster.
        bindings: deploy-time values.
    """
    return 2 * properties_bytes(spec, bindings) + ENVELOPE_BYTES


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
