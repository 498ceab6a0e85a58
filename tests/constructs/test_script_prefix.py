"""Any change of a node script moves the prefix; where the scripts lie does not."""

import shutil
from pathlib import Path

import pytest
from aws_cdk import App, Stack

from hyperpod_constructs import ScriptsBucket, assets
from hyperpod_constructs.lifecycle import ScriptsDeployment
from tests.constructs.support import CONTEXT


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the node scripts that the constructs take for theirs."""
    folder = tmp_path / "elsewhere" / "lifecycle_assets"
    shutil.copytree(assets.lifecycle_assets(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(assets, "lifecycle_assets", lambda: folder)
    return folder


def _prefix() -> str:
    stack = Stack(App(context=CONTEXT, builtin_cloud_formation_validation=False), "Training")
    bucket = ScriptsBucket(stack, "Scripts")
    return ScriptsDeployment(stack, "Deployment", bucket=bucket, cluster_name="training", config={"a": 1}).prefix


def test_the_same_scripts_in_another_folder_have_the_same_prefix(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy / "steps" / "__pycache__").mkdir()
    (copy / "steps" / "__pycache__" / "munge.cpython-311.pyc").write_bytes(b"compiled by an installation")
    there = _prefix()
    monkeypatch.undo()
    assert _prefix() == there


@pytest.mark.parametrize("name", ["on_create.sh", "steps/munge.py", "files/logrotate.conf"])
def test_one_changed_line_of_a_script_moves_the_prefix(copy: Path, name: str) -> None:
    before = _prefix()
    (copy / name).write_text((copy / name).read_text() + "# changed\n")
    assert _prefix() != before
