"""The older form of a Slurm cluster, for people who create clusters by hand. Standard library only.

A request without an orchestrator, and provisioning_parameters.json beside the scripts, which says what each group is to
Slurm (FACTS 5.7 and 7). Continuous provisioning refuses that file (FACTS 5.1), so the constructs never ship it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hyperpod_constructs.api_request import ENTRY_SCRIPTS, create_cluster_request
from hyperpod_constructs.bindings import Bindings, FileSystemMount, LustreMount, OpenZfsMount
from hyperpod_constructs.errors import Problem
from hyperpod_constructs.node_config import NODE_CONFIG_FILE, node_config
from hyperpod_constructs.options import AccountingKind, LifecycleStyle
from hyperpod_constructs.rules.rule import repeated, shown
from hyperpod_constructs.specs import ClusterSpec

FORMAT_VERSION = "1.0.0"
SCRIPTS_FOLDER = "lifecycle_files"
REQUEST_FILE = "create_cluster.json"
PARAMETERS_FILE = "provisioning_parameters.json"
RULE = "classic-form"

_MOUNT_PATH = "/fsx"
_CONTINUOUS_ONLY = {"MinInstanceCount": "min_instance_count", "SlurmConfig": ""}


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassicForm:
    """A cluster in the older form.

    Attributes:
        create_cluster: the CreateCluster request, for ``aws sagemaker create-cluster --cli-input-json``.
        provisioning_parameters: what Slurm makes of the groups; lies beside the scripts.
        node_config: what this library's scripts read; lies beside them too.
        left_out: what the older form cannot say, one sentence each.
    """

    create_cluster: dict[str, Any]
    provisioning_parameters: dict[str, Any]
    node_config: dict[str, Any]
    left_out: tuple[str, ...]

    def files(self) -> dict[str, str]:
        """The text of each file by its path; the scripts themselves go into the same folder."""
        contents = {
            REQUEST_FILE: self.create_cluster,
            f"{SCRIPTS_FOLDER}/{PARAMETERS_FILE}": self.provisioning_parameters,
            f"{SCRIPTS_FOLDER}/{NODE_CONFIG_FILE}": self.node_config,
        }
        return {path: json.dumps(content, indent=2) + "\n" for path, content in contents.items()}


def classic_form(spec: ClusterSpec, bindings: Bindings) -> ClassicForm:
    """The cluster in the older form. Every group is set up by ``on_create.sh``, as the older form knows nothing else.

    Args:
        spec: a cluster that :func:`hyperpod_constructs.rules.validate` accepts.
        bindings: deploy-time values, as for :func:`hyperpod_constructs.api_request.create_cluster_request`.
    """
    request = create_cluster_request(spec, bindings)
    groups = [_group(group, spec, bindings) for group in request.pop("InstanceGroups")]
    for name in ("Orchestrator", "NodeProvisioningMode"):
        request.pop(name)
    return ClassicForm(
        create_cluster={"ClusterName": request.pop("ClusterName"), "InstanceGroups": groups, **request},
        provisioning_parameters=_parameters(spec, bindings),
        node_config=_on_create(node_config(spec, bindings)),
        left_out=tuple(dict.fromkeys(_left_out(spec, bindings))),
    )


def _group(group: dict[str, Any], spec: ClusterSpec, bindings: Bindings) -> dict[str, Any]:
    name = group["InstanceGroupName"]
    scripts = bindings.groups[name].source_s3_uri or next(
        (bound.source_s3_uri for bound in bindings.groups.values() if bound.source_s3_uri),
        "s3://sagemaker-<bucket>/src",
    )
    classic = {key: value for key, value in group.items() if key not in _CONTINUOUS_ONLY}
    classic["LifeCycleConfig"] = {"SourceS3Uri": scripts, "OnCreate": ENTRY_SCRIPTS[LifecycleStyle.ON_CREATE]}
    # File systems are named in the parameters, and a key of one's own needs continuous provisioning (FACTS 5.4).
    sizes = [item["EbsVolumeConfig"].get("VolumeSizeInGB") for item in _volumes(classic)]
    volumes = [{"EbsVolumeConfig": {"VolumeSizeInGB": size}} for size in sizes if size is not None]
    classic.pop("InstanceStorageConfigs", None)
    return {**classic, "InstanceStorageConfigs": volumes} if volumes else classic


def _volumes(group: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (item for item in group.get("InstanceStorageConfigs", ()) if "EbsVolumeConfig" in item)


def _parameters(spec: ClusterSpec, bindings: Bindings) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "workload_manager": "slurm",
        "controller_group": spec.controller.name,
    }
    if spec.login is not None:
        parameters["login_group"] = spec.login.name
    parameters["worker_groups"] = [
        {"instance_group_name": group.name, "partition_name": group.partition_names[0]} for group in spec.compute
    ]
    mounts = bindings.groups[spec.controller.name].mounts
    for mount in mounts:
        if isinstance(mount, LustreMount) and mount.path == _MOUNT_PATH:
            parameters |= {"fsx_dns_name": mount.dns_name, "fsx_mountname": mount.mount_name}
        elif isinstance(mount, OpenZfsMount) and mount.path == "/home":
            parameters["fsx_openzfs_dns_name"] = mount.dns_name
    return parameters


def _on_create(config: dict[str, Any]) -> dict[str, Any]:
    groups = {name: {**group, "style": "on_create"} for name, group in config["groups"].items()}
    return {**config, "groups": groups}


def _left_out(spec: ClusterSpec, bindings: Bindings) -> Iterator[str]:
    for path, group in spec.paths_and_groups:
        if group.min_instance_count is not None:
            yield f"{path}.min_instance_count: the older form starts all instances or none"
        if spec.style_of(group) is not LifecycleStyle.ON_CREATE:
            yield f"{path}.lifecycle_style: in the older form on_create.sh sets up every group"
        if bindings.groups[group.name].volume_kms_key_id is not None:
            yield f"{path}.volume_kms_key: keys of one's own need continuous provisioning"
        for mount in bindings.groups[group.name].mounts:
            if not _is_expressible(mount, bindings.groups[spec.controller.name].mounts):
                yield f"{path}.file_systems: only one Lustre at /fsx and one OpenZFS at /home, the same for all groups"
    if spec.accounting is not None and spec.accounting.kind is AccountingKind.EXTERNAL:
        yield "accounting: an external database needs continuous provisioning"


def _is_expressible(mount: FileSystemMount, of_controller: tuple[FileSystemMount, ...]) -> bool:
    usual = _MOUNT_PATH if isinstance(mount, LustreMount) else "/home"
    return mount.path == usual and mount in of_controller


def classic_problems(create_cluster: Any, provisioning_parameters: Any) -> list[Problem]:
    """What is wrong between the two files: every group named in one is in the other, once.

    Args:
        create_cluster: the request, as parsed from JSON.
        provisioning_parameters: the parameters, as parsed from JSON.

    Returns:
        Problems, each with the file and the place in it; none if the files agree. The service itself only notices
        when nodes start, after minutes (field report V-09).
    """
    if not isinstance(create_cluster, Mapping) or not isinstance(provisioning_parameters, Mapping):
        return [Problem(path="", message="got something else than two JSON objects; give both files", rule=RULE)]
    findings = (*_names(create_cluster), *_agreement(create_cluster, provisioning_parameters))
    return [Problem(path=path, message=message, rule=RULE) for path, message in findings]


def _group_names(create_cluster: Mapping[str, Any]) -> list[Any]:
    groups = create_cluster.get("InstanceGroups")
    if not isinstance(groups, list):
        return []
    return [group.get("InstanceGroupName") for group in groups if isinstance(group, Mapping)]


def _names(create_cluster: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = _group_names(create_cluster)
    if not names:
        yield f"{REQUEST_FILE}: InstanceGroups", "missing; give a list of instance groups"
    for index, first in repeated([shown(name) for name in names]):
        where = f"{REQUEST_FILE}: InstanceGroups[{index}].InstanceGroupName"
        yield where, f"got {shown(names[index])}, the name of InstanceGroups[{first}] too; rename one"
    for name in ("Orchestrator", "NodeProvisioningMode"):
        if name in create_cluster:
            yield (
                f"{REQUEST_FILE}: {name}",
                f"given beside {PARAMETERS_FILE}, allowed: one of them; the service refuses both together",
            )


def _agreement(create_cluster: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = _group_names(create_cluster)
    roles = list(_roles(parameters))
    for key, wanted in (("version", FORMAT_VERSION), ("workload_manager", "slurm")):
        if parameters.get(key) != wanted:
            yield f"{PARAMETERS_FILE}: {key}", f"got {shown(parameters.get(key))}, allowed: {shown(wanted)}"
    if not parameters.get("controller_group"):
        yield f"{PARAMETERS_FILE}: controller_group", "missing; name the group of the controller"
    for path, name in roles:
        if name not in names:
            known = ", ".join(str(one) for one in names)
            yield f"{PARAMETERS_FILE}: {path}", f"got {shown(name)}, allowed: a group of {REQUEST_FILE}: {known}"
    for index, first in repeated([shown(name) for _, name in roles]):
        yield (
            f"{PARAMETERS_FILE}: {roles[index][0]}",
            f"got {shown(roles[index][1])}, as {roles[first][0]}; name it once",
        )
    for name in names:
        if name not in [role for _, role in roles]:
            yield (
                f"{REQUEST_FILE}: {name}",
                f"the group is nothing to Slurm, as {PARAMETERS_FILE} does not name it; add it",
            )
    if bool(parameters.get("fsx_dns_name")) != bool(parameters.get("fsx_mountname")):
        yield f"{PARAMETERS_FILE}: fsx_mountname", "fsx_dns_name and fsx_mountname go together; give both or neither"
    if parameters.get("fsx_dns_name") and not create_cluster.get("VpcConfig"):
        yield f"{REQUEST_FILE}: VpcConfig", "missing; nodes reach a file system only in a VPC of yours"


def _roles(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("controller_group", "login_group"):
        if parameters.get(key):
            yield key, parameters[key]
    workers = parameters.get("worker_groups")
    for index, worker in enumerate(workers if isinstance(workers, list) else []):
        name = worker.get("instance_group_name") if isinstance(worker, Mapping) else worker
        yield f"worker_groups[{index}].instance_group_name", name
