"""Every private part of ministack that we lean on, under a name of ours.

Written against exactly 1.5.33 (data/emulator-requirements.txt).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ministack import app  # type: ignore[import-not-found]
from ministack.core import lambda_runtime  # type: ignore[import-not-found]
from ministack.services import ec2, lambda_svc, s3, stepfunctions  # type: ignore[import-not-found]
from ministack.services.cloudformation import (  # type: ignore[import-not-found]
    custom_resource,
    provisioners,
    stacks,
)

Properties = dict[str, Any]
Attributes = dict[str, Any]
Created = tuple[str, Attributes]
Create = Callable[[str, Properties, str], Created]
Update = Callable[[str, Properties, Properties, str], Created]
Delete = Callable[[str, Properties], None]

serve: Callable[[], None] = app.main


def register(resource_type: str, create: Create, delete: Delete, update: Update | None = None) -> None:
    """Teach the CloudFormation engine a resource type.

    Without ``update`` a change creates anew and deletes the old one.
    """
    provisioners._RESOURCE_HANDLERS[resource_type] = {"create": create, "delete": delete} | (
        {"update": update} if update else {}
    )


def handlers(resource_type: str) -> dict[str, Any]:
    """The engine's own create, update and delete of a type it knows, to be wrapped."""
    return cast("dict[str, Any]", provisioners._RESOURCE_HANDLERS[resource_type])


def run_on_a_thread(resource_types: frozenset[str]) -> None:
    """Let these types block (they poll a service) without holding up every other request."""
    known = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda resource_type: resource_type in resource_types or known(resource_type)


def security_group(group_id: str) -> dict[str, Any]:
    """A security group's record. Raises ValueError as EC2 words it if there is none."""
    group = ec2._security_groups.get(group_id)
    if group is None:
        raise ValueError(f"The security group '{group_id}' does not exist")
    return cast("dict[str, Any]", group)


def security_groups() -> list[dict[str, Any]]:
    return list(ec2._security_groups.values())


def permission(rule: Properties) -> dict[str, Any]:
    """A rule's properties in the shape of the EC2 store."""
    return cast("dict[str, Any]", provisioners._ec2_sg_permissions([rule])[0])


def same_permission(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(ec2._rules_match(one, other))


def security_group_rule_id(group_id: str, is_egress: bool, rule: dict[str, Any]) -> str:
    return str(ec2._sg_rule_id(group_id, is_egress, rule))


def vpcs() -> Any:
    return ec2._vpcs


def subnets() -> Any:
    return ec2._subnets


def addresses() -> Any:
    return ec2._addresses


def nat_gateways() -> Any:
    return ec2._nat_gateways


def flow_logs() -> Any:
    return ec2._flow_logs


def network_interfaces() -> Any:
    return ec2._network_interfaces


def tag(resource_id: str, tags: list[dict[str, str]]) -> None:
    if tags:
        ec2._tags[resource_id] = tags


def untag(resource_id: str) -> None:
    ec2._tags.pop(resource_id, None)


def bucket(name: str) -> dict[str, Any] | None:
    return cast("dict[str, Any] | None", s3._buckets.get(name))


def tag_bucket(name: str, tags: dict[str, str]) -> None:
    s3._bucket_tags[name] = tags


def account_id() -> str:
    return str(provisioners.get_account_id())


def region() -> str:
    return str(provisioners.get_region())


def stack(name: str) -> dict[str, Any]:
    from ministack.services import cloudformation

    return cast("dict[str, Any]", cloudformation._stacks.get(name) or {})


def invoke_function(function: str, event: dict[str, Any]) -> dict[str, Any]:
    """Run a Lambda function to its end; the answer holds ``error`` if it failed.

    Raises ValueError if there is no such function.
    """
    record, config, _name = lambda_svc._get_func_record_for_ref(function)
    if record is None or config is None:
        raise ValueError(f"the Lambda function {function!r} of the custom resource does not exist")
    execution = lambda_svc._execution_record_for_config(record, config)
    return cast("dict[str, Any]", lambda_svc._execute_function_with_config_scope(execution, event) or {})


def something_runs() -> bool:
    """Whether a Lambda function or a state machine of any stack is at work."""
    executions = list(stepfunctions._executions.values())
    return lambda_runtime.workers_in_use() > 0 or any(run.get("status") == "RUNNING" for run in executions)


def take_over_custom_resources(invoke: Callable[..., Created]) -> None:
    """Put ``invoke`` in the place of the engine's own call of a custom resource's function."""
    custom_resource.invoke_custom_resource = invoke


def new_response(token: str) -> Any:
    """A threading.Event, set when the function has answered to the URL of this token."""
    return custom_resource.register_token(token)


def response_url(token: str) -> str:
    return str(custom_resource._response_url(token))


def peek_response(token: str) -> dict[str, Any] | None:
    with custom_resource._lock:
        entry = custom_resource._pending.get(token)
    return cast("dict[str, Any] | None", entry and entry["result"])


def take_response(token: str) -> dict[str, Any] | None:
    with custom_resource._lock:
        entry = custom_resource._pending.pop(token, None)
    return cast("dict[str, Any] | None", entry and entry["result"])


def as_strings(properties: Properties) -> Properties:
    """Properties as a custom resource gets them: numbers and booleans are strings."""
    return cast("Properties", custom_resource._normalise_resource_properties(properties))


def delete_failed_creations(is_wanted: Callable[[str], dict[str, Any] | None]) -> None:
    """On a roll-back, also delete the resource whose own creation failed, if ``is_wanted(logical id)`` gives its
    record.
    """
    failed_operation = stacks._failed_operation

    def with_the_failed_one(
        is_update: bool, previous: Any, created: list[str], update: Any, failed: str | None, *rest: Any
    ) -> Any:
        operation = failed_operation(is_update, previous, created, update, failed, *rest)
        if failed and update is None and is_wanted(failed):
            operation["created"] = [*operation["created"], failed]
        return operation

    stacks._failed_operation = with_the_failed_one
