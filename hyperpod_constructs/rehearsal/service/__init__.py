"""A stand-in for the SageMaker HyperPod API (and the few FSx calls around it) that keeps the documented rules.

See README.md beside this file for the rules, their sources, and what is not modelled.
"""

from .calls import Call
from .capacity import Capacity, Limit
from .clock import Clock, ManualClock, RealClock
from .errors import CallerCrash, ServiceError
from .failures import LifecycleFailure
from .hyperpod import HyperPodService
from .launcher import (
    ClusterView,
    CompositeLauncher,
    Launcher,
    NodeReport,
    NodeRequest,
    NodeView,
    SimulatedLauncher,
)
from .local_client import LocalClient
from .logs import CloudWatchLogSink, LogSink, MemoryLogSink
from .settings import Assumptions, Quotas, Timings

__all__ = [
    "Assumptions",
    "Call",
    "CallerCrash",
    "Capacity",
    "Clock",
    "CloudWatchLogSink",
    "ClusterView",
    "CompositeLauncher",
    "HyperPodService",
    "Launcher",
    "LifecycleFailure",
    "Limit",
    "LocalClient",
    "LogSink",
    "ManualClock",
    "MemoryLogSink",
    "NodeReport",
    "NodeRequest",
    "NodeView",
    "Quotas",
    "RealClock",
    "ServiceError",
    "SimulatedLauncher",
    "Timings",
]
