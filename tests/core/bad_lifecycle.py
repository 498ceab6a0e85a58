"""Wrong requests to the node scripts: what is wrong, where the message points, what it must say."""

from typing import Any

from hyperpod_constructs.lifecycle_options import LifecycleScripts, NodeAgent, PinnedFile, UserStep
from hyperpod_constructs.options import LifecycleStyle
from hyperpod_constructs.specs import ClusterSpec
from tests.core.bad import Bad
from tests.core.support import a_cluster

_SHA = "0123456789abcdef" * 4


def scripts(**changes: Any) -> ClusterSpec:
    return a_cluster(lifecycle=LifecycleScripts(**changes))


def step(**changes: Any) -> ClusterSpec:
    arguments: dict[str, Any] = {"source": "setup.sh"}
    return scripts(user_steps=[UserStep(**(arguments | changes))])


def package(**changes: Any) -> PinnedFile:
    arguments: dict[str, Any] = {"name": "enroot", "url": "https://example.com/enroot.deb", "sha256": _SHA}
    return PinnedFile(**(arguments | changes))


BAD_LIFECYCLE: tuple[Bad, ...] = (
    Bad(rule="home-path", spec=scripts(home_path="home"), path="lifecycle.home_path", says="such as /fsx/home"),
    Bad(rule="home-path", spec=scripts(home_path="/usr/"), path="lifecycle.home_path", says='got "/usr/"'),
    Bad(
        rule="backup-pause",
        spec=scripts(accounting_backup_minutes=0),
        path="lifecycle.accounting_backup_minutes",
        says="accounting_backup=False",
    ),
    Bad(
        rule="slurm-settings",
        spec=scripts(slurm_settings={"Max Nodes": 5}),
        path='lifecycle.slurm_settings["Max Nodes"]',
        says="a key of slurm.conf",
    ),
    Bad(
        rule="slurm-settings",
        spec=scripts(slurm_settings={"PreemptMode": "REQUEUE # soon"}),
        path='lifecycle.slurm_settings["PreemptMode"]',
        says="begins a comment",
    ),
    Bad(
        rule="slurm-settings",
        spec=scripts(slurm_settings={"DisableRootJobs": True}),
        path='lifecycle.slurm_settings["DisableRootJobs"]',
        says="such as YES",
    ),
    Bad(
        rule="slurm-settings",
        spec=scripts(slurm_settings="MaxNodes=5"),
        path="lifecycle.slurm_settings",
        says="a mapping of keys of slurm.conf",
    ),
    Bad(
        rule="slurm-settings-owned",
        spec=scripts(slurm_settings={"nodename": "x"}),
        path='lifecycle.slurm_settings["nodename"]',
        says="HyperPod writes itself",
    ),
    Bad(
        rule="slurm-settings-owned",
        spec=scripts(slurm_settings={"AccountingStorageHost": "x"}),
        path='lifecycle.slurm_settings["AccountingStorageHost"]',
        says="drop it",
    ),
    Bad(
        rule="slurm-settings-unique",
        spec=scripts(slurm_settings={"MaxJobCount": 5, "maxjobcount": 6}),
        path='lifecycle.slurm_settings["maxjobcount"]',
        says="twice",
    ),
    Bad(rule="user-steps", spec=step(source=""), path="lifecycle.user_steps[0].source", says="missing"),
    Bad(
        rule="user-steps",
        spec=step(entry="../x.sh"),
        path="lifecycle.user_steps[0].entry",
        says="a path inside source",
    ),
    Bad(rule="user-steps", spec=step(name="my step"), path="lifecycle.user_steps[0].name", says='got "my step"'),
    Bad(
        rule="user-steps",
        spec=step(timeout_seconds=7200),
        path="lifecycle.user_steps[0].timeout_seconds",
        says="nodes are billed while they wait",
    ),
    Bad(
        rule="user-steps",
        spec=step(arguments=["a\nb"]),
        path="lifecycle.user_steps[0].arguments[0]",
        says="text on one line",
    ),
    Bad(
        rule="user-steps",
        spec=scripts(user_steps=[UserStep(source="a.sh", name="a"), UserStep(source="b.sh", name="a")]),
        path="lifecycle.user_steps[1].name",
        says="the name of user_steps[0] too",
    ),
    Bad(
        rule="user-steps-need-scripts",
        spec=scripts(user_steps=[UserStep(source="a.sh")], style=LifecycleStyle.IMAGE_ONLY),
        path="lifecycle.user_steps",
        says="LifecycleStyle.ON_INIT_COMPLETE",
    ),
    Bad(
        rule="pinned-files",
        spec=scripts(container_packages=[package(url="http://example.com/a.deb")]),
        path="lifecycle.container_packages[0].url",
        says="https://... or s3://...",
    ),
    Bad(
        rule="pinned-files",
        spec=scripts(container_packages=[package(sha256=_SHA.upper())]),
        path="lifecycle.container_packages[0].sha256",
        says=f'use "{_SHA}"',
    ),
    Bad(
        rule="pinned-files",
        spec=scripts(agents=[NodeAgent(file=package(name=""))]),
        path="lifecycle.agents[0].file.name",
        says='got ""',
    ),
    Bad(
        rule="agents",
        spec=scripts(agents=[NodeAgent(file=package(name="Exporter"))]),
        path="lifecycle.agents[0].file.name",
        says="a systemd unit",
    ),
    Bad(
        rule="agents",
        spec=scripts(agents=[NodeAgent(file=package(), program="/usr/bin/x")]),
        path="lifecycle.agents[0].program",
        says="inside the archive",
    ),
    Bad(
        rule="agents",
        spec=scripts(agents=[NodeAgent(file=package(), arguments=["a\rb"])]),
        path="lifecycle.agents[0].arguments[0]",
        says="text on one line",
    ),
    Bad(
        rule="agents",
        spec=scripts(agents=[NodeAgent(file=package()), NodeAgent(file=package())]),
        path="lifecycle.agents[1].file.name",
        says="the name of agents[0] too",
    ),
)
