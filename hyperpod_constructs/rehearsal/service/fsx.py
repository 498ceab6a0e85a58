"""The FSx calls that a deployment makes: file systems for Lustre and OpenZFS, data repository associations, tags."""

from __future__ import annotations

import string
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .calls import Call
from .clock import Clock, RealClock
from .errors import CallerCrash, ServiceError
from .faults import Faults
from .fsx_rules import association_problems, growth_problems, lustre_problems, open_zfs_problems
from .identifiers import Identifiers
from .model import FSX
from .paging import page
from .plain import copied
from .validation import request_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

Parameters = Mapping[str, Any]
Record = dict[str, Any]

_SHOWN_AS_SENT = ("FileSystemType", "StorageCapacity", "SubnetIds", "KmsKeyId", "Tags", "NetworkType")
_CREATED_AS = {"LUSTRE": "LustreConfiguration", "OPENZFS": "OpenZFSConfiguration"}


def bad_request(message: str) -> ServiceError:
    """The request breaks a rule."""
    return ServiceError("BadRequest", message)


class FsxService:
    """Answers FSx calls. Safe to use from several threads.

    Args:
        clock: The time; the real one by default.
        creation_seconds: How long a file system or an association is CREATING.
        deletion_seconds: How long it is DELETING.
        region, account: Where the file systems are.
        seed: Makes ids repeatable.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        creation_seconds: float = 0.5,
        deletion_seconds: float = 0.5,
        region: str = "us-east-1",
        account: str = "123456789012",
        seed: int | None = None,
    ) -> None:
        self.clock = clock or RealClock()
        self.faults = Faults()
        self.calls: list[Call] = []
        self._creation_seconds, self._deletion_seconds = creation_seconds, deletion_seconds
        self._region, self._account = region, account
        self._identifiers = Identifiers(seed)
        self._file_systems: dict[str, Record] = {}
        self._associations: dict[str, Record] = {}
        self._due: dict[str, float] = {}
        self._lock = threading.RLock()
        self._operations: dict[str, Callable[[Parameters], Record]] = {
            "CreateFileSystem": self._create_file_system,
            "DescribeFileSystems": self._describe_file_systems,
            "UpdateFileSystem": self._update_file_system,
            "DeleteFileSystem": self._delete_file_system,
            "CreateDataRepositoryAssociation": self._create_association,
            "DescribeDataRepositoryAssociations": self._describe_associations,
            "DeleteDataRepositoryAssociation": self._delete_association,
            "TagResource": self._tag,
            "UntagResource": self._untag,
            "ListTagsForResource": self._list_tags,
        }

    def call(self, operation: str, parameters: Parameters | None = None) -> Record:
        """Answer one call; the parameters and the answer have the API's casing.

        Raises:
            ServiceError: The answer is an error.
            CallerCrash: An injected fault: the caller dies here.
        """
        request = copied(dict(parameters or {}))
        with self._lock:
            try:
                answer = copied(self._answer(operation, request))
            except (ServiceError, CallerCrash) as error:
                code = error.code if isinstance(error, ServiceError) else "crash"
                self.calls.append(Call(self.clock.now(), operation, request, code))
                raise
            self.calls.append(Call(self.clock.now(), operation, request, None))
            return answer

    def _answer(self, operation: str, request: Parameters) -> Record:
        act = self._operations.get(operation)
        if act is None:
            raise ServiceError("UnknownOperationException", f"The rehearsal has no operation {operation}")
        self._settle()
        self.faults.strike(operation, "before")
        _refuse(request_problems(FSX, operation, request))
        answer = act(request)
        self.faults.strike(operation, "after")
        return answer

    def _settle(self) -> None:
        """Let what is due by now happen: CREATING and UPDATING end, DELETING things go."""
        now = self.clock.now()
        for identifier in [key for key, due in self._due.items() if due <= now]:
            del self._due[identifier]
            records = self._file_systems if identifier in self._file_systems else self._associations
            if records[identifier]["Lifecycle"] == "DELETING":
                del records[identifier]
            else:
                records[identifier]["Lifecycle"] = "AVAILABLE"

    def _create_file_system(self, request: Parameters) -> Record:
        kind = request["FileSystemType"]
        if kind not in _CREATED_AS:
            raise bad_request(f"The rehearsal has file systems of type LUSTRE and OPENZFS only, got {kind}")
        _refuse(lustre_problems(request) if kind == "LUSTRE" else open_zfs_problems(request))
        identifier = f"fs-{self._identifiers.hexadecimal(17)}"
        record: Record = {
            **{name: copied(request[name]) for name in _SHOWN_AS_SENT if name in request},
            "OwnerId": self._account,
            "CreationTime": self.clock.now(),
            "FileSystemId": identifier,
            "Lifecycle": "CREATING",
            "StorageType": request.get("StorageType", "SSD"),
            "VpcId": "vpc-0123456789abcdef0",
            "NetworkInterfaceIds": [f"eni-{self._identifiers.hexadecimal(17)}"],
            "DNSName": f"{identifier}.fsx.{self._region}.amazonaws.com",
            "ResourceARN": f"arn:aws:fsx:{self._region}:{self._account}:file-system/{identifier}",
        }
        record |= self._lustre(request) if kind == "LUSTRE" else self._open_zfs(request)
        self._file_systems[identifier] = record
        self._due[identifier] = self.clock.now() + self._creation_seconds
        return {"FileSystem": record}

    def _lustre(self, request: Parameters) -> Record:
        """The mount name is `fsx` on SCRATCH_1, eight letters and digits else; the version's default (FACTS 4.1)."""
        lustre = copied(dict(request.get("LustreConfiguration", {})))
        lustre.setdefault("DeploymentType", "SCRATCH_1")
        letters = self._identifiers.random.choices(string.ascii_lowercase + string.digits, k=8)
        lustre["MountName"] = "fsx" if lustre["DeploymentType"] == "SCRATCH_1" else "".join(letters)
        repository = {
            name: lustre.pop(name) for name in ("ImportPath", "ExportPath", "AutoImportPolicy") if name in lustre
        }
        if repository:
            lustre["DataRepositoryConfiguration"] = {"Lifecycle": "AVAILABLE", **repository}
        lustre.pop("ImportedFileChunkSize", None)
        newest = "MetadataConfiguration" in lustre or request.get("StorageType") == "INTELLIGENT_TIERING"
        default = ("2.15" if newest else "2.12") if lustre["DeploymentType"] == "PERSISTENT_2" else "2.10"
        version = request.get("FileSystemTypeVersion", default)
        return {"LustreConfiguration": lustre, "FileSystemTypeVersion": version}

    def _open_zfs(self, request: Parameters) -> Record:
        zfs = copied(dict(request["OpenZFSConfiguration"]))
        zfs.pop("RootVolumeConfiguration", None)
        zfs["RootVolumeId"] = f"fsvol-{self._identifiers.hexadecimal(17)}"
        return {"OpenZFSConfiguration": zfs}

    def _file_system(self, identifier: str) -> Record:
        if identifier not in self._file_systems:
            raise ServiceError("FileSystemNotFound", f"File system '{identifier}' does not exist.")
        return self._file_systems[identifier]

    def _describe_file_systems(self, request: Parameters) -> Record:
        wanted = request.get("FileSystemIds")
        found = [self._file_system(i) for i in wanted] if wanted else list(self._file_systems.values())
        return page(found, {"MaxResults": 50, **request}, "FileSystems")

    def _update_file_system(self, request: Parameters) -> Record:
        record = self._file_system(request["FileSystemId"])
        self._check_available(record)
        _refuse(growth_problems(request, record))
        configuration = _CREATED_AS[record["FileSystemType"]]
        changed = {**record[configuration], **request.get(configuration, {})}
        grown = {**record, "StorageCapacity": request.get("StorageCapacity", record.get("StorageCapacity"))}
        grown[configuration] = changed
        if record["FileSystemType"] == "LUSTRE":
            _refuse(lustre_problems(grown))
        record[configuration] = changed
        for name in ("StorageCapacity", "FileSystemTypeVersion"):
            if name in request:
                record[name] = request[name]
        record["Lifecycle"] = "UPDATING"
        self._due[record["FileSystemId"]] = self.clock.now() + self._creation_seconds
        return {"FileSystem": record}

    def _check_available(self, record: Record) -> None:
        if record["Lifecycle"] not in ("AVAILABLE", "UPDATING"):
            raise bad_request(f"File system '{record['FileSystemId']}' is in lifecycle {record['Lifecycle']}.")

    def _delete_file_system(self, request: Parameters) -> Record:
        record = self._file_system(request["FileSystemId"])
        for association in self._of(record["FileSystemId"]):
            association["Lifecycle"] = "DELETING"
            self._due[association["AssociationId"]] = self.clock.now() + self._deletion_seconds
        record["Lifecycle"] = "DELETING"
        self._due[record["FileSystemId"]] = self.clock.now() + self._deletion_seconds
        return {"FileSystemId": record["FileSystemId"], "Lifecycle": "DELETING"}

    def _of(self, file_system_id: str) -> list[Record]:
        return [record for record in self._associations.values() if record["FileSystemId"] == file_system_id]

    def _create_association(self, request: Parameters) -> Record:
        file_system = self._file_system(request["FileSystemId"])
        self._check_available(file_system)
        _refuse(association_problems(request, file_system, list(self._of(request["FileSystemId"]))))
        identifier = f"dra-{self._identifiers.hexadecimal(17)}"
        record: Record = {
            "FileSystemPath": "/",
            "ImportedFileChunkSize": 1024,
            "BatchImportMetaDataOnCreate": False,
            **{name: copied(value) for name, value in request.items() if name != "ClientRequestToken"},
            "AssociationId": identifier,
            "ResourceARN": f"arn:aws:fsx:{self._region}:{self._account}:association/"
            f"{file_system['FileSystemId']}/{identifier}",
            "Lifecycle": "CREATING",
            "CreationTime": self.clock.now(),
        }
        self._associations[identifier] = record
        self._due[identifier] = self.clock.now() + self._creation_seconds
        return {"Association": record}

    def _association(self, identifier: str) -> Record:
        if identifier not in self._associations:
            message = f"Data repository association '{identifier}' does not exist."
            raise ServiceError("DataRepositoryAssociationNotFound", message)
        return self._associations[identifier]

    def _describe_associations(self, request: Parameters) -> Record:
        wanted = request.get("AssociationIds")
        found = [self._association(i) for i in wanted] if wanted else list(self._associations.values())
        for item in request.get("Filters", ()):
            if item.get("Name") == "file-system-id":
                found = [record for record in found if record["FileSystemId"] in item.get("Values", ())]
        return page(found, {"MaxResults": 25, **request}, "Associations")

    def _delete_association(self, request: Parameters) -> Record:
        record = self._association(request["AssociationId"])
        record["Lifecycle"] = "DELETING"
        self._due[record["AssociationId"]] = self.clock.now() + self._deletion_seconds
        deleted = request.get("DeleteDataInFileSystem", False)
        return {"AssociationId": record["AssociationId"], "Lifecycle": "DELETING", "DeleteDataInFileSystem": deleted}

    def _tagged(self, arn: str) -> Record:
        records: Iterable[Record] = [*self._file_systems.values(), *self._associations.values()]
        found = next((record for record in records if record["ResourceARN"] == arn), None)
        if found is None:
            raise ServiceError("ResourceNotFound", f"Resource '{arn}' does not exist.")
        return found

    def _tag(self, request: Parameters) -> Record:
        record = self._tagged(request["ResourceARN"])
        tags = {tag["Key"]: tag["Value"] for tag in [*record.get("Tags", ()), *request["Tags"]]}
        record["Tags"] = list(_tag_list(tags))
        return {}

    def _untag(self, request: Parameters) -> Record:
        record = self._tagged(request["ResourceARN"])
        kept = [tag for tag in record.pop("Tags", ()) if tag["Key"] not in request["TagKeys"]]
        if kept:
            record["Tags"] = kept
        return {}

    def _list_tags(self, request: Parameters) -> Record:
        answer = page(self._tagged(request["ResourceARN"]).get("Tags", []), request, "Tags")
        return answer if answer["Tags"] else {}


def _tag_list(tags: Mapping[str, str]) -> Iterator[dict[str, str]]:
    return ({"Key": key, "Value": value} for key, value in tags.items())


def _refuse(problems: Iterable[str]) -> None:
    found = list(problems)
    if found:
        raise bad_request("; ".join(found))
