"""FSx file systems and data repository associations, made by the rehearsal's own service through the FSx API."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from botocore.config import Config  # type: ignore[import-untyped,unused-ignore]
from botocore.session import get_session  # type: ignore[import-untyped,unused-ignore]

from . import seams

if TYPE_CHECKING:
    from .seams import Attributes, Created, Properties

SERVICE_URL_VARIABLE = "AWS_ENDPOINT_URL_FSX"
_READY_TIMEOUT_SECONDS = 120.0
_POLL_SECONDS = 0.2
# CloudFormation reference, AWS::FSx::FileSystem, "Update requires: Replacement".
_REPLACING = ("BackupId", "FileSystemType", "KmsKeyId", "SecurityGroupIds", "SubnetIds")
_REPLACING_LUSTRE = (
    "DeploymentType",
    "CopyTagsToBackups",
    "ImportPath",
    "ExportPath",
    "ImportedFileChunkSize",
    "DriveCacheType",
)


def client() -> Any:
    """An FSx client of the rehearsal's service."""
    return get_session().create_client(
        "fsx",
        endpoint_url=os.environ[SERVICE_URL_VARIABLE],
        region_name=seams.region(),
        config=Config(retries={"total_max_attempts": 2}, connect_timeout=5, read_timeout=30),
    )


def typed(value: Any, shape: Any) -> Any:
    """A template's value with the numbers and booleans that the API's shape asks for.

    CloudFormation accepts both as strings.
    """
    if shape.type_name == "structure":
        return {key: typed(item, shape.members[key]) if key in shape.members else item for key, item in value.items()}
    if shape.type_name == "list":
        return [typed(item, shape.member) for item in value]
    if shape.type_name in ("integer", "long"):
        return int(value)
    if shape.type_name in ("float", "double"):
        return float(value)
    if shape.type_name == "boolean":
        return value if isinstance(value, bool) else str(value).lower() == "true"
    return value


def _call(operation: str, method: str, request: Properties) -> dict[str, Any]:
    fsx = client()
    shape = fsx.meta.service_model.operation_model(operation).input_shape
    answer: dict[str, Any] = getattr(fsx, method)(**typed(request, shape))
    return answer


def _attributes(file_system: dict[str, Any]) -> Attributes:
    attributes = {
        "DNSName": file_system.get("DNSName"),
        "LustreMountName": file_system.get("LustreConfiguration", {}).get("MountName"),
        "ResourceARN": file_system.get("ResourceARN"),
        "RootVolumeId": file_system.get("OpenZFSConfiguration", {}).get("RootVolumeId"),
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _described(file_system_id: str) -> dict[str, Any] | None:
    fsx = client()
    try:
        found = fsx.describe_file_systems(FileSystemIds=[file_system_id])["FileSystems"]
    except fsx.exceptions.FileSystemNotFound:
        return None
    return dict(found[0]) if found else None


def _wait_until_available(file_system_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + _READY_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        file_system = _described(file_system_id) or {}
        state = file_system.get("Lifecycle")
        if state == "AVAILABLE":
            return file_system
        if state in ("FAILED", "MISCONFIGURED", None):
            details = file_system.get("FailureDetails", {}).get("Message", "no reason given")
            raise ValueError(f"the file system {file_system_id} is {state or 'gone'}: {details}")
        time.sleep(_POLL_SECONDS)
    raise ValueError(f"the file system {file_system_id} was not available after {_READY_TIMEOUT_SECONDS:.0f} s")


def _request_of(properties: Properties) -> Properties:
    """A template's properties without what CloudFormation keeps for the deletion: OpenZFS's ``Options``."""
    if "OpenZFSConfiguration" not in properties:
        return properties
    open_zfs = {name: item for name, item in properties["OpenZFSConfiguration"].items() if name != "Options"}
    return properties | {"OpenZFSConfiguration": open_zfs}


def create_file_system(_logical_id: str, properties: Properties, _stack: str) -> Created:
    answer = _call("CreateFileSystem", "create_file_system", _request_of(properties))
    file_system_id = str(answer["FileSystem"]["FileSystemId"])
    return file_system_id, _attributes(_wait_until_available(file_system_id))


def _is_replaced(old: Properties, new: Properties) -> bool:
    lustre_old, lustre_new = old.get("LustreConfiguration", {}), new.get("LustreConfiguration", {})
    return any(old.get(key) != new.get(key) for key in _REPLACING) or any(
        lustre_old.get(key) != lustre_new.get(key) for key in _REPLACING_LUSTRE
    )


def _changed_members(old: Any, new: Any) -> Any:
    if not isinstance(new, dict):
        return new
    previous = old or {}
    return {name: item for name, item in new.items() if previous.get(name) != item}


def update_file_system(file_system_id: str, old: Properties, new: Properties, stack: str) -> Created:
    """In place what FSx changes in place.

    A new file system, and the old one deleted, for what CloudFormation replaces.
    """
    if _is_replaced(old, new):
        return create_file_system("", new, stack)
    members = client().meta.service_model.operation_model("UpdateFileSystem").input_shape.members
    changed: Properties = {"FileSystemId": file_system_id}
    for key, value in new.items():
        if key not in members or old.get(key) == value:
            continue
        changed[key] = _changed_members(_request_of(old).get(key), _request_of(new)[key])
    if len(changed) > 1:
        _call("UpdateFileSystem", "update_file_system", changed)
    return file_system_id, _attributes(_wait_until_available(file_system_id))


def delete_file_system(file_system_id: str, _properties: Properties) -> None:
    fsx = client()
    try:
        fsx.delete_file_system(FileSystemId=file_system_id)
    except fsx.exceptions.FileSystemNotFound:
        return
    deadline = time.monotonic() + _READY_TIMEOUT_SECONDS
    while _described(file_system_id):
        if time.monotonic() > deadline:
            raise ValueError(f"the file system {file_system_id} was not deleted after {_READY_TIMEOUT_SECONDS:.0f} s")
        time.sleep(_POLL_SECONDS)


def create_association(_logical_id: str, properties: Properties, _stack: str) -> Created:
    answer = _call("CreateDataRepositoryAssociation", "create_data_repository_association", properties)["Association"]
    return str(answer["AssociationId"]), {
        "AssociationId": answer["AssociationId"],
        "ResourceARN": answer.get("ResourceARN", ""),
    }


def delete_association(association_id: str, _properties: Properties) -> None:
    fsx = client()
    try:
        fsx.delete_data_repository_association(AssociationId=association_id, DeleteDataInFileSystem=False)
    except fsx.exceptions.DataRepositoryAssociationNotFound:
        return


def install() -> None:
    """Add the types to the engine; both poll the service, so they run on a thread."""
    seams.register("AWS::FSx::FileSystem", create_file_system, delete_file_system, update_file_system)
    seams.register("AWS::FSx::DataRepositoryAssociation", create_association, delete_association)
    seams.run_on_a_thread(frozenset({"AWS::FSx::FileSystem", "AWS::FSx::DataRepositoryAssociation"}))
