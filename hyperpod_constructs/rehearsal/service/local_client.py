"""A client like boto3's, in this process: the same methods, checks, errors and types, no HTTP."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from botocore.errorfactory import ClientExceptionsFactory
from botocore.exceptions import ParamValidationError
from botocore.paginate import Paginator
from botocore.validate import ParamValidator

from .errors import ServiceError
from .model import SAGEMAKER, operation_of_method, paginator_model, service_model

if TYPE_CHECKING:
    from .hyperpod import HyperPodService


class LocalClient:
    """Answers like `boto3.client("sagemaker")`.

    Args:
        service: The service that it calls.
        model: botocore's service model that the client checks requests with; the installed one by default. An older
            one makes an older SDK.
    """

    def __init__(self, service: HyperPodService, model: Any = None) -> None:
        self._service = service
        self._model = model or service_model(SAGEMAKER)
        self.exceptions = ClientExceptionsFactory().create_client_exceptions(self._model)
        self.meta = SimpleNamespace(
            service_model=self._model,
            region_name=service.context.region,
            method_to_api_mapping=operation_of_method(SAGEMAKER),
        )

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        operation = operation_of_method(SAGEMAKER).get(name)
        if operation is None or operation not in self._model.operation_names:
            raise AttributeError(f"the client has no method {name!r}")
        return lambda **parameters: self.call(operation, parameters)

    def call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """One call by the operation's name.

        Raises:
            botocore.exceptions.ParamValidationError: What boto3 itself refuses.
            botocore.exceptions.ClientError: The service's errors, as their own classes where the model has them.
        """
        shape = self._model.operation_model(operation).input_shape
        parameters = _with_tokens(shape, parameters)
        report = ParamValidator().validate(parameters, shape)
        if report.has_errors():
            raise ParamValidationError(report=report.generate_report())
        try:
            answer = self._service.call(operation, _without_datetimes(parameters))
        except ServiceError as error:
            raise self._client_error(operation, error) from None
        output = self._model.operation_model(operation).output_shape
        parsed: dict[str, Any] = from_wire(output, answer) if output else {}
        return {
            **parsed,
            "ResponseMetadata": {"HTTPStatusCode": 200, "RequestId": str(uuid.uuid4()), "RetryAttempts": 0},
        }

    def get_paginator(self, name: str) -> Paginator:
        """boto3's paginator for a method."""
        operation = operation_of_method(SAGEMAKER)[name]
        config = paginator_model(SAGEMAKER).get_paginator(operation)
        return Paginator(getattr(self, name), config, self._model.operation_model(operation))

    def _client_error(self, operation: str, error: ServiceError) -> Exception:
        answer = {
            "Error": {"Code": error.code, "Message": error.message},
            "ResponseMetadata": {"HTTPStatusCode": error.status, "RequestId": str(uuid.uuid4()), "RetryAttempts": 0},
        }
        return self.exceptions.from_code(error.code)(answer, operation)  # type: ignore[no-any-return]


def _with_tokens(shape: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """As boto3 does, fill in the tokens that make a call repeatable."""
    tokens = {
        name: str(uuid.uuid4())
        for name, member in shape.members.items()
        if member.metadata.get("idempotencyToken") and name not in parameters
    }
    return {**parameters, **tokens}


def _without_datetimes(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, Mapping):
        return {name: _without_datetimes(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_datetimes(item) for item in value]
    return value


def from_wire(shape: Any, value: Any) -> Any:
    """An answer of the service as boto3 shows it: no nulls, nothing the model does not know, times as datetimes."""
    if shape.type_name == "structure":
        known = ((name, member) for name, member in shape.members.items() if value.get(name) is not None)
        return {name: from_wire(member, value[name]) for name, member in known}
    if shape.type_name == "list":
        return [from_wire(shape.member, item) for item in value]
    if shape.type_name == "map":
        return {key: from_wire(shape.value, item) for key, item in value.items()}
    if shape.type_name == "timestamp":
        return datetime.fromtimestamp(value, tz=UTC)
    return value
