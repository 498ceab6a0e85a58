"""AWS CDK constructs for Amazon SageMaker HyperPod clusters orchestrated by Slurm, with continuous provisioning.

Names are imported on first use: the core (specs, rules, requests) needs the standard library only, so that
``from hyperpod_constructs import ComputeGroup`` costs milliseconds and starts no Node process; the first use of a
construct imports the AWS CDK.
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hyperpod_constructs.api_request import create_cluster_request as create_cluster_request
    from hyperpod_constructs.bindings import AccountingBindings as AccountingBindings
    from hyperpod_constructs.bindings import Bindings as Bindings
    from hyperpod_constructs.bindings import GroupBindings as GroupBindings
    from hyperpod_constructs.bindings import LustreMount as LustreMount
    from hyperpod_constructs.bindings import OpenZfsMount as OpenZfsMount
    from hyperpod_constructs.buckets import ScriptsBucket as ScriptsBucket
    from hyperpod_constructs.cluster import SlurmCluster as SlurmCluster
    from hyperpod_constructs.errors import AssetError as AssetError
    from hyperpod_constructs.errors import SpecError as SpecError
    from hyperpod_constructs.lifecycle import ScriptsDeployment as ScriptsDeployment
    from hyperpod_constructs.lustre import LustreFileSystem as LustreFileSystem
    from hyperpod_constructs.network import ClusterNetwork as ClusterNetwork
    from hyperpod_constructs.node_config import node_config as node_config
    from hyperpod_constructs.options import Accounting as Accounting
    from hyperpod_constructs.options import AutoPatch as AutoPatch
    from hyperpod_constructs.options import Batch as Batch
    from hyperpod_constructs.options import BatchType as BatchType
    from hyperpod_constructs.options import Capacity as Capacity
    from hyperpod_constructs.options import DeepHealthCheck as DeepHealthCheck
    from hyperpod_constructs.options import Deployment as Deployment
    from hyperpod_constructs.options import EbsVolume as EbsVolume
    from hyperpod_constructs.options import LifecycleScripts as LifecycleScripts
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
    from hyperpod_constructs.provider import ClusterProvider as ClusterProvider
    from hyperpod_constructs.roles import ExecutionRole as ExecutionRole
    from hyperpod_constructs.rules import validate as validate
    from hyperpod_constructs.specs import ClusterSpec as ClusterSpec
    from hyperpod_constructs.specs import ComputeGroup as ComputeGroup
    from hyperpod_constructs.specs import ControllerGroup as ControllerGroup
    from hyperpod_constructs.specs import LoginGroup as LoginGroup

_NAMES = {
    "api_request": "create_cluster_request",
    "bindings": "AccountingBindings Bindings GroupBindings LustreMount OpenZfsMount",
    "cluster": "SlurmCluster",
    "errors": "AssetError SpecError",
    "lifecycle": "ScriptsDeployment",
    "lustre": "LustreFileSystem",
    "network": "ClusterNetwork",
    "node_config": "node_config",
    "options": "Accounting AutoPatch Batch BatchType Capacity DeepHealthCheck Deployment EbsVolume LifecycleScripts "
    "LifecycleStyle Mount NetworkInterfaceType NodeRecovery NodeType OnTimeout PatchingStrategy PosixUser ReadyWhen "
    "ScheduledUpdate TieredStorage",
    "provider": "ClusterProvider",
    "roles": "ExecutionRole",
    "rules": "validate",
    "buckets": "ScriptsBucket",
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
