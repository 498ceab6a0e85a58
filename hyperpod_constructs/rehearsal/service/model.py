"""botocore's models of the two services: the one description of shapes that the service and its clients share."""

from __future__ import annotations

from functools import cache
from typing import Any

from botocore import xform_name
from botocore.loaders import create_loader
from botocore.model import ServiceModel
from botocore.paginate import PaginatorModel

SAGEMAKER = "sagemaker"
FSX = "fsx"


@cache
def service_model(service: str) -> Any:
    """botocore's model of a service, loaded once."""
    return ServiceModel(create_loader().load_service_model(service, "service-2"), service)


@cache
def paginator_model(service: str) -> Any:
    """botocore's model of a service's paginators, loaded once."""
    return PaginatorModel(create_loader().load_service_model(service, "paginators-1"))


@cache
def operation_model(service: str, operation: str) -> Any:
    """The model of one operation.

    Raises:
        botocore.model.OperationNotFoundError: The service has no such operation.
    """
    return service_model(service).operation_model(operation)


@cache
def operation_of_method(service: str) -> dict[str, str]:
    """boto3's method names to operations, `create_cluster` to `CreateCluster`."""
    return {xform_name(name): name for name in service_model(service).operation_names}


def pattern_of(shape: Any) -> str | None:
    """The pattern that a text must match, or None."""
    return shape.metadata.get("pattern")  # type: ignore[no-any-return]


def range_of(shape: Any) -> tuple[float | None, float | None]:
    """The least and the greatest length or value, None where there is none."""
    return shape.metadata.get("min"), shape.metadata.get("max")
