"""Custom resources as CloudFormation treats them, and no wait for an answer that cannot come any more.

Sources: the CloudFormation user guide, "Custom resources" and "Custom resource request types" (Delete follows a
    failed Create, with the physical id of the failed answer, or one of CloudFormation's own if there was none).
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from typing import Any

from . import seams

IDLE_GRACE_SECONDS = float(os.environ.get("HYPERPOD_REHEARSAL_IDLE_GRACE_SECONDS", "8"))
_ANSWER_POLL_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 3600

_failed_creations: dict[tuple[str, str], seams.Properties] = {}
_lock = threading.Lock()


class ResourceFailedError(Exception):
    """The text of the stack event."""


def invoke(
    request_type: str,
    logical_id: str,
    properties: seams.Properties,
    stack_name: str,
    stack_id: str,
    resource_type: str,
    physical_id: str | None = None,
    old_props: seams.Properties | None = None,
) -> seams.Created:
    """Send one request to the resource's function and wait for its answer; gives the physical id and the attributes."""
    request_id, token = str(uuid.uuid4()), str(uuid.uuid4())
    event: dict[str, Any] = {
        "RequestType": request_type,
        "RequestId": request_id,
        "StackId": stack_id,
        "ResponseURL": seams.response_url(token),
        "ResourceType": resource_type,
        "LogicalResourceId": logical_id,
        "ResourceProperties": seams.as_strings(properties),
    }
    if physical_id is not None:
        event["PhysicalResourceId"] = physical_id
    if old_props is not None:
        event["OldResourceProperties"] = seams.as_strings(old_props)
    try:
        answer = _answer(str(properties.get("ServiceToken", "")), event, token, _timeout_seconds(properties))
        if answer.get("Status") == "FAILED":
            raise ResourceFailedError(
                "Received response status [FAILED] from custom resource. "
                f"Message returned: {answer.get('Reason') or 'no reason given'} (RequestId: {request_id})"
            )
    except (ResourceFailedError, ValueError):
        if request_type == "Create":
            answered = seams.take_response(token) or {}
            _remember_failed_creation(
                stack_name,
                logical_id,
                {
                    "PhysicalResourceId": answered.get("PhysicalResourceId")
                    or f"{stack_name}-{logical_id}-{request_id[:8]}",
                    "ResourceType": resource_type,
                    "Properties": properties,
                },
            )
        raise
    finally:
        seams.take_response(token)
    return answer.get("PhysicalResourceId") or physical_id or request_id, answer.get("Data") or {}


def _timeout_seconds(properties: seams.Properties) -> int:
    try:
        return min(int(properties.get("ServiceTimeout", _LONGEST_WAIT_SECONDS)), _LONGEST_WAIT_SECONDS)
    except (TypeError, ValueError):
        return _LONGEST_WAIT_SECONDS


def _answer(function: str, event: dict[str, Any], token: str, timeout_seconds: int) -> dict[str, Any]:
    """The function's answer.

    Gives up as soon as neither a function nor a state machine is at work that could still send it.
    """
    answered = seams.new_response(token)
    outcome = seams.invoke_function(function, event)
    deadline = time.monotonic() + timeout_seconds
    quiet_since = time.monotonic()
    while not answered.wait(_ANSWER_POLL_SECONDS):
        now = time.monotonic()
        if seams.something_runs() and not outcome.get("error"):
            quiet_since = now
        if now - quiet_since > (1.0 if outcome.get("error") else IDLE_GRACE_SECONDS):
            raise ResourceFailedError(_silence(function, event, outcome, timeout_seconds))
        if now > deadline:
            raise ResourceFailedError(
                f"CloudFormation did not receive a response from your Custom Resource within {timeout_seconds} s. "
                f"Please check your logs for requestId [{event['RequestId']}]."
            )
    return seams.peek_response(token) or {}


def _silence(function: str, event: dict[str, Any], outcome: dict[str, Any], timeout_seconds: int) -> str:
    name = function.rsplit(":", 1)[-1]
    how = _error_text(outcome) or "it returned, nothing that it started is still running"
    return (
        f"the Lambda function {name} ended without an answer to the {event['RequestType']} of "
        f"{event['LogicalResourceId']} ({event['ResourceType']}): {how}. AWS would show nothing and wait "
        f"{timeout_seconds} s for it; its log group is /aws/lambda/{name}"
    )


def _error_text(outcome: dict[str, Any]) -> str:
    if not outcome.get("error"):
        return ""
    body = outcome.get("body")
    if isinstance(body, dict):
        return f"{body.get('errorType', 'Error')}: {body.get('errorMessage', '')}".strip(": ")
    return str(body or outcome["error"])


def _remember_failed_creation(stack_name: str, logical_id: str, record: seams.Properties) -> None:
    stack = seams.stack(stack_name)
    stack.setdefault("_resources", {})[logical_id] = {
        **record,
        "LogicalResourceId": logical_id,
        "ResourceStatus": "CREATE_FAILED",
        "Attributes": {},
    }
    with _lock:
        _failed_creations[stack_name, logical_id] = record


def _take_failed_creation(logical_id: str) -> dict[str, Any] | None:
    with _lock:
        for key in [key for key in _failed_creations if key[1] == logical_id]:
            return _failed_creations.pop(key)
    return None


def install() -> None:
    """Take the engine's custom resources over."""
    seams.take_over_custom_resources(invoke)
    seams.delete_failed_creations(_take_failed_creation)
