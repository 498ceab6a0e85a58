"""What can go wrong around the node scripts, on real nodes: each fault has the right end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.agent import NodeType, ScriptResult, Story, Style, When

from .conftest import SlurmCluster, within
from .lifecycle_support import FINGERPRINT, node_config, run_again, stage, summary, use

pytestmark = pytest.mark.nodes

MakeCluster = Callable[..., SlurmCluster]


def controller_of(cluster: SlurmCluster) -> ScriptResult:
    [result] = cluster.bring_up(cluster.instance("controller", 1, NodeType.CONTROLLER))
    return result


def last_line(cluster: SlurmCluster, node: str = "controller-1") -> str:
    return cluster.lines[node][-1]


def test_required_user_step_that_fails_fails_the_node_and_names_itself(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    steps = [{"name": "licence", "path": "user_steps/0/licence.sh", "stage": "before_slurm"}]
    script = {"user_steps/0/licence.sh": "#!/bin/bash\necho asking the server\necho no licence left >&2\nexit 3\n"}
    use(cluster, stage(tmp_path, node_config(cluster, user_steps=steps), script))
    result = controller_of(cluster)
    assert (result.ok, result.exit_code) == (False, 1)
    assert last_line(cluster).endswith("FAILED: step user:licence: exit code 3: no licence left")
    assert any("user:licence | asking the server" in line for line in cluster.lines["controller-1"])
    assert cluster.on("controller-1", "systemctl is-active slurmctld; true").strip() == "inactive"


def test_optional_and_hanging_user_steps_do_not_keep_a_node_from_joining(
    make_cluster: MakeCluster, tmp_path: Path
) -> None:
    cluster = make_cluster()
    steps = [
        {"name": "extra", "path": "user_steps/0/extra.sh", "required": False},
        {"name": "hanging", "path": "user_steps/1/hang.sh", "required": False, "timeout_seconds": 1},
    ]
    scripts = {"user_steps/0/extra.sh": "#!/bin/sh\nexit 1\n", "user_steps/1/hang.sh": "#!/bin/sh\nsleep 600\n"}
    use(cluster, stage(tmp_path, node_config(cluster, user_steps=steps, accounting={"kind": "none"}), scripts))
    assert controller_of(cluster).ok, cluster.lines
    assert "optional steps failed: user:extra, user:hanging" in last_line(cluster)
    cluster.on("controller-1", "! pgrep -f '[h]ang.sh'")


def test_newer_configuration_is_one_clear_line(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster()
    use(cluster, stage(tmp_path, node_config(cluster, version=2)))
    result = controller_of(cluster)
    assert (result.ok, result.exit_code) == (False, 2)
    assert "node_config.json has version 2, these scripts know versions up to 1" in last_line(cluster)


def test_group_that_slurm_learns_of_late_joins_by_itself(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster(story=Story(node_lines_delay_seconds=12))
    use(cluster, stage(tmp_path, node_config(cluster, accounting={"kind": "none"})))
    assert controller_of(cluster).ok, cluster.lines
    worker = cluster.instance("train", 1, NodeType.COMPUTE)
    [result] = cluster.bring_up(worker)
    assert result.ok, cluster.lines
    assert any("until the controller knows this node" in line for line in cluster.lines["train-1"])
    assert cluster.all_idle(worker, seconds=60)


def test_login_node_that_slurm_never_knows_can_submit_jobs(make_cluster: MakeCluster, tmp_path: Path) -> None:
    cluster = make_cluster(story=Story(login_is_a_node=False))
    use(cluster, stage(tmp_path, node_config(cluster, accounting={"kind": "none"})))
    assert controller_of(cluster).ok, cluster.lines
    worker, login = cluster.instance("train", 1, NodeType.COMPUTE), cluster.instance("login", 1, NodeType.LOGIN)
    assert [result.ok for result in cluster.bring_up(worker, login)] == [True, True], cluster.lines
    assert cluster.all_idle(worker)
    assert cluster.on("login-1", "srun -p train hostname").strip() == worker.host_name


@pytest.mark.parametrize("when", [When.BEFORE, When.AFTER])
def test_image_style_extends_what_the_image_does_before_or_after(
    make_cluster: MakeCluster, tmp_path: Path, when: When
) -> None:
    cluster = make_cluster(style=Style.ON_INIT_COMPLETE, entry="on_init_complete.sh", story=Story(image_setup=when))
    # How long we wait for the platform's own mount, which comes after us here.
    bounds = {"PLATFORM_MOUNT_TIMEOUT_SECONDS": ("steps/mount_file_systems.py", 2.0)}
    use(cluster, stage(tmp_path, node_config(cluster, style="on_init_complete"), bounds=bounds))
    assert controller_of(cluster).ok, cluster.lines
    worker, login = cluster.instance("train", 1, NodeType.COMPUTE), cluster.instance("login", 1, NodeType.LOGIN)
    assert [result.ok for result in cluster.bring_up(worker, login)] == [True, True], cluster.lines
    assert cluster.all_idle(worker)
    listed = "sacctmgr -nP show associations user=alice format=account"
    assert within(60, lambda: cluster.on("controller-1", listed).strip() == "research")
    assert cluster.on("login-1", "su - alice -c 'srun -p train hostname'").strip() == worker.host_name
    deferred = [s["step"] for s in summary(cluster, "controller-1")["steps"] if s["outcome"] == "deferred"]
    assert deferred == ([] if when is When.BEFORE else ["register_accounts"])
    if when is When.BEFORE:
        before = cluster.on("train-1", FINGERPRINT)
        steps = run_again(cluster, "controller-1")["steps"] + run_again(cluster, "train-1")["steps"]
        assert {step["step"]: step["changed"] for step in steps if step["changed"]} == {}
        assert cluster.on("train-1", FINGERPRINT) == before
    assert cluster.platform.edits == []


def test_image_style_without_accounting_has_nothing_to_defer(make_cluster: MakeCluster, tmp_path: Path) -> None:
    story = Story(image_accounting=False)
    cluster = make_cluster(style=Style.ON_INIT_COMPLETE, entry="on_init_complete.sh", story=story)
    use(cluster, stage(tmp_path, node_config(cluster, style="on_init_complete", accounting={"kind": "none"})))
    assert controller_of(cluster).ok, cluster.lines
    worker, login = cluster.instance("train", 1, NodeType.COMPUTE), cluster.instance("login", 1, NodeType.LOGIN)
    assert [result.ok for result in cluster.bring_up(worker, login)] == [True, True], cluster.lines
    for node in ("controller-1", "train-1", "login-1"):
        assert [s["step"] for s in summary(cluster, node)["steps"] if s["outcome"] != "ok"] == []
    assert cluster.all_idle(worker)
    assert cluster.on("login-1", "su - alice -c 'srun -p train hostname'").strip() == worker.host_name
