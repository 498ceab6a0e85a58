"""Plays the HyperPod platform on the nodes of a bed. README.md says what of it is known and what is assumed."""

from hyperpod_constructs.rehearsal.agent.cluster import (
    ClusterFiles,
    Deviations,
    Instance,
    Mount,
    NodePlan,
    NodeType,
    Style,
    cluster_files,
)
from hyperpod_constructs.rehearsal.agent.platform import Platform, ScriptResult
from hyperpod_constructs.rehearsal.agent.scripts import BucketScripts, FolderScripts, ScriptsError, ScriptStore
from hyperpod_constructs.rehearsal.agent.story import Story, When

__all__ = [
    "BucketScripts",
    "ClusterFiles",
    "Deviations",
    "FolderScripts",
    "Instance",
    "Mount",
    "NodePlan",
    "NodeType",
    "Platform",
    "ScriptResult",
    "ScriptStore",
    "ScriptsError",
    "Story",
    "Style",
    "When",
    "cluster_files",
]
