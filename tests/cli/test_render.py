"""render: what is printed, what is written, and that nothing is half written."""

import json
import os
import stat
from pathlib import Path

import pytest

from hyperpod_constructs.cli import files
from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.cli.files import write_file, write_folder
from hyperpod_constructs.node_config import node_config
from tests.cli.support import Command
from tests.core.support import a_cluster, bindings_for

EXISTING = """\
cluster_name: my-training-cluster
execution_role: arn:aws:iam::111122223333:role/hyperpod-nodes
network:
  vpc_id: vpc-0123456789abcdef0
  subnet_ids: [subnet-0123456789abcdef0]
  security_group_id: sg-0123456789abcdef0
file_systems:
  - file_system_id: fs-0123456789abcdef0
    dns_name: fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com
    mount_name: abcdefgh
controller: {name: controller-group, instance_type: ml.m5.xlarge}
login: {name: login-group, instance_type: ml.m5.xlarge}
compute:
  - {name: worker-gpu-a, instance_type: ml.p5.48xlarge, instance_count: 16, partition: gpu-training}
"""
GOLDENS = Path(__file__).parents[1] / "goldens"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(EXISTING)
    return path


def test_the_documents_are_those_that_a_deployment_sends(command: Command, config: Path) -> None:
    answer = command("render", config)
    expected = json.loads((GOLDENS / "requests" / "documented.json").read_text())
    for group in expected["InstanceGroups"]:
        group["LifeCycleConfig"]["SourceS3Uri"] = "s3://<bucket>/<hash>"
    told = answer.json()
    assert told["create_cluster"] == expected
    assert told["node_config"] == node_config(a_cluster(), bindings_for(a_cluster()))
    assert answer.err == "to be filled in, since only a deployment knows them: bucket, hash\n"


def test_the_older_form_is_a_folder_that_validate_accepts(command: Command, config: Path, tmp_path: Path) -> None:
    target = tmp_path / "by-hand"
    uri = "s3://sagemaker-mine/src"
    answer = command("render", config, "--format", "classic", "-o", target, "--scripts-uri", uri)
    assert (answer.code, answer.out) == (0, "")
    assert f"aws s3 cp --recursive {target}/lifecycle_files {uri}" in answer.err
    scripts = target / "lifecycle_files"
    assert (scripts / "on_create.sh").read_bytes().startswith(b"#!")
    assert stat.S_IMODE((scripts / "on_create.sh").stat().st_mode) == 0o755
    assert {path.name for path in scripts.iterdir()} >= {"lifecycle_script.py", "node_config.json", "nodelib", "steps"}
    assert not list(target.rglob("__pycache__"))
    pair = ["--cluster-config", target / "create_cluster.json"]
    pair += ["--provisioning-parameters", scripts / "provisioning_parameters.json"]
    assert command("validate", "--offline", *pair).lines[-1] == "✅ Cluster Validation succeeded"


def test_what_is_still_open_fails_validation_instead_of_a_node(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "cluster.yaml"
    config.write_text("\n".join(line for line in EXISTING.splitlines() if "execution_role" not in line))
    command("render", config, "--format", "classic", "-o", tmp_path / "by-hand")
    pair = ["--cluster-config", tmp_path / "by-hand/create_cluster.json", "--provisioning-parameters"]
    pair += [tmp_path / "by-hand/lifecycle_files/provisioning_parameters.json"]
    answer = command("validate", "--offline", *pair)
    assert answer.code == 1
    assert 'got "<execution role ARN>"' in answer.out


def test_the_users_own_steps_are_in_the_folder(command: Command, config: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.sh"
    script.write_bytes(b"#!/bin/bash\r\necho mine\r\n")
    config.write_text(f"{EXISTING}lifecycle: {{user_steps: [{{source: {script}}}]}}\n")
    command("render", config, "--format", "classic", "-o", tmp_path / "by-hand")
    assert (tmp_path / "by-hand/lifecycle_files/user_steps/0/mine.sh").read_bytes() == b"#!/bin/bash\necho mine\n"


def test_a_request_can_be_rendered_in_the_older_form_too(command: Command, tmp_path: Path) -> None:
    request = GOLDENS / "requests" / "documented.json"
    assert command("render", request, "--format", "classic", "-o", tmp_path / "by-hand").code == 0
    made = json.loads((tmp_path / "by-hand/create_cluster.json").read_text())
    assert made == json.loads((GOLDENS / "classic" / "create_cluster.json").read_text())


def test_a_folder_with_content_is_left_alone_unless_forced(command: Command, config: Path, tmp_path: Path) -> None:
    target = tmp_path / "by-hand"
    target.mkdir()
    (target / "mine.txt").write_text("keep")
    refused = command("render", config, "-o", target)
    assert (refused.code, refused.err) == (
        1,
        f"hyperpod-slurm: {target}: is not empty; give another folder, or --force to replace it\n",
    )
    assert command("render", config, "-o", target, "--force").code == 0
    assert sorted(path.name for path in target.iterdir()) == ["create_cluster.json", "node_config.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["by-hand", "cluster.yaml"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--format", "classic"], 2, "give it with --output"),
        (["--scripts-uri", "s3://a/b"], 2, "with --format classic"),
        (["--format", "classic", "-o", "x", "--scripts-uri", "src"], 2, "allowed: s3://<bucket>/<prefix>"),
        (["--cluster", "other"], 1, "holds no cluster named other"),
    ],
)
def test_wrong_arguments_end_in_one_sentence(
    command: Command, config: Path, arguments: list[str], code: int, says: str
) -> None:
    answer = command("render", config, *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert says in answer.err


def test_a_broken_cluster_is_refused_with_every_problem(command: Command, config: Path) -> None:
    config.write_text(
        EXISTING.replace("instance_count: 16", "instance_count: -1").replace("my-training", "my_training")
    )
    answer = command("render", config)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.splitlines()[0].endswith("cluster.yaml: 2 problems")


def test_an_interrupt_leaves_the_old_folder_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "made"
    write_folder(target, {"a.txt": b"old"}, replace=False)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_exchange", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_folder(target, {"a.txt": b"new"}, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]
    assert (target / "a.txt").read_text() == "old"


def test_an_interrupt_between_the_two_renames_brings_the_old_folder_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "made"
    write_folder(target, {"a.txt": b"old"}, replace=False)
    rename, calls = Path.rename, []

    def fails_once(self: Path, to: Path) -> Path:
        calls.append(to)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", fails_once)
    with pytest.raises(KeyboardInterrupt):
        write_folder(target, {"a.txt": b"new"}, replace=True)
    assert (target / "a.txt").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_an_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config"
    write_file(path, "old", mode=0o600)

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, "new")
    assert (path.read_text(), [one.name for one in tmp_path.iterdir()]) == ("old", ["config"])


def test_a_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    write_file(real, "old", mode=0o600)
    link.symlink_to(real)
    write_file(link, "new")
    assert (link.is_symlink(), real.read_text(), stat.S_IMODE(real.stat().st_mode)) == (True, "new", 0o600)


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
        write_file(tmp_path / "no" / "file", "text")
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="is a file; give a folder"):
        write_folder(tmp_path / "file", {}, replace=True)
