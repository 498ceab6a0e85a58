"""The SDK's clients, made at first use, with our service model found before the SDK's own.

The Lambda runtime's SDK may be older than the fields that the request uses (field report C-23): botocore looks through
its search paths in order, so the trimmed model in this package is put first. A check of the client that was really
made is the second line.
"""

import json
from functools import cache
from typing import Any

import boto3
import botocore
import botocore.session
from botocore.config import Config

from .errors import UnsuitableSdkError
from .shapes import MODEL_FOLDER

CONFIG = Config(connect_timeout=5, read_timeout=25, retries={"mode": "standard", "total_max_attempts": 2})
"""Short: `aws.Aws` retries on its own within the Lambda's time, and a poll must never use up its Lambda."""

NEEDED = {
    "CreateCluster": (
        "NodeProvisioningMode",
        "Orchestrator.Slurm.AccountingDatabase",
        "InstanceGroups.SlurmConfig",
        "InstanceGroups.MinInstanceCount",
    ),
    "ListClusterEvents": ("ClusterName",),
    "DescribeClusterEvent": ("EventId",),
}


@cache
def client(service: str) -> Any:
    """The client of ``sagemaker``, ``logs`` or ``cloudformation``, the same one each time.

    Raises:
        UnsuitableSdkError: this Lambda's SDK knows too little, which names the version that is needed.
    """
    made = _session().client(service, config=CONFIG)
    if service == "sagemaker":
        check_model(made.meta.service_model)
    return made


@cache
def _session() -> Any:
    core = botocore.session.get_session()
    core.get_component("data_loader").search_paths.insert(0, str(MODEL_FOLDER))
    return boto3.session.Session(botocore_session=core)


def check_model(model: Any) -> None:
    """Make sure that a client knows every operation and field that the handler cannot do without.

    Raises:
        UnsuitableSdkError: naming what is missing and which botocore is needed.
    """
    missing = [
        f"{operation}.{field}" if operation in model.operation_names else operation
        for operation, fields in NEEDED.items()
        for field in fields
        if operation not in model.operation_names or not _knows(model.operation_model(operation).input_shape, field)
    ]
    if missing:
        raise UnsuitableSdkError(
            f"this Lambda's SDK does not know {', '.join(dict.fromkeys(missing))}: needs botocore >= "
            f"{minimum_botocore()}, has {botocore.__version__}; the handler's own service model was not read"
        )


def minimum_botocore() -> str:
    """The version that the trimmed model was made from."""
    origin: dict[str, str] = json.loads((MODEL_FOLDER / "origin.json").read_text(encoding="utf-8"))
    return origin["minimum_botocore"]


def _knows(shape: Any, dotted: str) -> bool:
    for name in dotted.split("."):
        shape = shape.member if shape.type_name == "list" else shape
        if name not in shape.members:
            return False
        shape = shape.members[name]
    return True
