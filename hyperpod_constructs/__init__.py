"""AWS CDK constructs for Amazon SageMaker HyperPod clusters orchestrated by Slurm, with continuous provisioning.

Names are imported on first use: the core (specs, rules, requests) needs the standard library only, so that
``from hyperpod_constructs import ComputeGroup`` costs milliseconds and starts no Node process; the first use of a
construct imports the AWS CDK.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hyperpod_constructs.accounting import AccountingDatabase as AccountingDatabase
    from hyperpod_constructs.addresses import addresses_needed as addresses_needed
    from hyperpod_constructs.api_request import create_cluster_request as create_cluster_request
    from hyperpod_constructs.bindings import AccountingBindings as AccountingBindings
    from hyperpod_constructs.bindings import Bindings as Bindings
    from hyperpod_constructs.bindings import GroupBindings as GroupBindings
    from hyperpod_constructs.bindings import LustreMount as LustreMount
    from hyperpod_constructs.bindings import OpenZfsMount as OpenZfsMount
    from hyperpod_constructs.buckets import ScriptsBucket as ScriptsBucket
    from hyperpod_constructs.cluster import SlurmCluster as SlurmCluster
    from hyperpod_constructs.cluster_observability import ClusterObservability as ClusterObservability
    from hyperpod_constructs.config import read_config as read_config
    from hyperpod_constructs.cost_guard import ClusterCostGuard as ClusterCostGuard
    from hyperpod_constructs.data_repositories import DataEvent as DataEvent
    from hyperpod_constructs.data_repositories import DataRepository as DataRepository
    from hyperpod_constructs.errors import AssetError as AssetError
    from hyperpod_constructs.errors import SpecError as SpecError
    from hyperpod_constructs.event_patterns import EventKind as EventKind
    from hyperpod_constructs.event_patterns import EventLevel as EventLevel
    from hyperpod_constructs.lifecycle import ScriptsDeployment as ScriptsDeployment
    from hyperpod_constructs.lifecycle_options import LifecycleScripts as LifecycleScripts
    from hyperpod_constructs.lifecycle_options import NodeAgent as NodeAgent
    from hyperpod_constructs.lifecycle_options import PinnedFile as PinnedFile
    from hyperpod_constructs.lifecycle_options import UserStep as UserStep
    from hyperpod_constructs.lifecycle_options import UserStepStage as UserStepStage
    from hyperpod_constructs.lustre import LustreFileSystem as LustreFileSystem
    from hyperpod_constructs.lustre_options import LustreDeploymentType as LustreDeploymentType
    from hyperpod_constructs.lustre_options import LustreStorageType as LustreStorageType
    from hyperpod_constructs.network import ClusterNetwork as ClusterNetwork
    from hyperpod_constructs.observability import Alarms as Alarms
    from hyperpod_constructs.observability import CostGuard as CostGuard
    from hyperpod_constructs.observability import MetricsSource as MetricsSource
    from hyperpod_constructs.observability import Notifications as Notifications
    from hyperpod_constructs.observability import Observability as Observability
    from hyperpod_constructs.observability import PrometheusWorkspace as PrometheusWorkspace
    from hyperpod_constructs.open_zfs import OpenZfsFileSystem as OpenZfsFileSystem
    from hyperpod_constructs.open_zfs_options import OpenZfsCompression as OpenZfsCompression
    from hyperpod_constructs.open_zfs_options import OpenZfsDeploymentType as OpenZfsDeploymentType
    from hyperpod_constructs.options import Accounting as Accounting
    from hyperpod_constructs.options import AutoPatch as AutoPatch
    from hyperpod_constructs.options import Batch as Batch
    from hyperpod_constructs.options import BatchType as BatchType
    from hyperpod_constructs.options import Capacity as Capacity
    from hyperpod_constructs.options import DeepHealthCheck as DeepHealthCheck
    from hyperpod_constructs.options import Deployment as Deployment
    from hyperpod_constructs.options import EbsVolume as EbsVolume
    from hyperpod_constructs.options import LifecycleStyle as LifecycleStyle
    from hyperpod_constructs.options import Mount as Mount
    from hyperpod_constructs.options import NetworkInterfaceType as NetworkInterfaceType
    from hyperpod_constructs.options import NodeRecovery as NodeRecovery
    from hyperpod_constructs.options import NodeType as NodeType
    from hyperpod_constructs.options import OnTimeout as OnTimeout
    from hyperpod_constructs.options import PatchingStrategy as PatchingStrategy
    from hyperpod_constructs.options import PosixUser as PosixUser
    from hyperpod_constructs.options import ReadyWhen as ReadyWhen
    from hyperpod_constructs.options import ScheduledUpdate as ScheduledUpdate
    from hyperpod_constructs.options import TieredStorage as TieredStorage
    from hyperpod_constructs.people import ClusterAdminPolicy as ClusterAdminPolicy
    from hyperpod_constructs.people import ClusterUserPolicy as ClusterUserPolicy
    from hyperpod_constructs.prometheus import PrometheusTarget as PrometheusTarget
    from hyperpod_constructs.provider import ClusterProvider as ClusterProvider
    from hyperpod_constructs.role_statements import container_image_statements as container_image_statements
    from hyperpod_constructs.role_statements import remote_write_statements as remote_write_statements
    from hyperpod_constructs.role_statements import secret_statements as secret_statements
    from hyperpod_constructs.role_statements import volume_key_statements as volume_key_statements
    from hyperpod_constructs.role_statements import vpc_statements as vpc_statements
    from hyperpod_constructs.roles import ExecutionRole as ExecutionRole
    from hyperpod_constructs.roles import RolePath as RolePath
    from hyperpod_constructs.rules import validate as validate
    from hyperpod_constructs.specs import ClusterSpec as ClusterSpec
    from hyperpod_constructs.specs import ComputeGroup as ComputeGroup
    from hyperpod_constructs.specs import ControllerGroup as ControllerGroup
    from hyperpod_constructs.specs import LoginGroup as LoginGroup

_NAMES = {
    "accounting": "AccountingDatabase",
    "addresses": "addresses_needed",
    "api_request": "create_cluster_request",
    "bindings": "AccountingBindings Bindings GroupBindings LustreMount OpenZfsMount",
    "buckets": "ScriptsBucket",
    "cluster": "SlurmCluster",
    "cluster_observability": "ClusterObservability",
    "config": "read_config",
    "cost_guard": "ClusterCostGuard",
    "data_repositories": "DataEvent DataRepository",
    "errors": "AssetError SpecError",
    "event_patterns": "EventKind EventLevel",
    "lifecycle": "ScriptsDeployment",
    "lifecycle_options": "LifecycleScripts NodeAgent PinnedFile UserStep UserStepStage",
    "lustre": "LustreFileSystem",
    "lustre_options": "LustreDeploymentType LustreStorageType",
    "network": "ClusterNetwork",
    "observability": "Alarms CostGuard MetricsSource Notifications Observability PrometheusWorkspace",
    "open_zfs": "OpenZfsFileSystem",
    "open_zfs_options": "OpenZfsCompression OpenZfsDeploymentType",
    "options": "Accounting AutoPatch Batch BatchType Capacity DeepHealthCheck Deployment EbsVolume "
    "LifecycleStyle Mount NetworkInterfaceType NodeRecovery NodeType OnTimeout PatchingStrategy "
    "PosixUser ReadyWhen ScheduledUpdate TieredStorage",
    "people": "ClusterAdminPolicy ClusterUserPolicy",
    "prometheus": "PrometheusTarget",
    "provider": "ClusterProvider",
    "role_statements": "container_image_statements remote_write_statements secret_statements volume_key_statements "
    "vpc_statements",
    "roles": "ExecutionRole RolePath",
    "rules": "validate",
    "specs": "ClusterSpec ComputeGroup ControllerGroup LoginGroup",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605  the table above is the one list

# Hidden from the type checker, which sees the imports above and so still reports a misspelt name.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return __all__
