"""Same input, same template; a changed logical id is a replaced resource."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.support import APPS, ROOT, assembly

GOLDENS = ROOT / "tests/goldens/logical_ids"


@pytest.mark.parametrize("name", APPS)
def test_logical_ids_are_those_of_the_golden_file_because_a_changed_one_replaces_the_resource(name: str) -> None:
    lines = [
        f"{stack} {logical_id} {resource['Type']}"
        for stack, template in assembly(name).templates.items()
        for logical_id, resource in template["Resources"].items()
    ]
    # The names of functions' layers and versions hold a hash of CDK's own; they hold no state.
    text = "".join(f"{line}\n" for line in sorted(lines))
    golden = GOLDENS / f"{name}.txt"
    if os.environ.get("HYPERPOD_GOLDENS") == "write":
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text(), "run make goldens, and say in the changelog what is replaced"


def test_no_golden_file_is_of_an_app_that_is_gone() -> None:
    assert {path.stem for path in GOLDENS.glob("*.txt")} == set(APPS)


def _synthesize(folder: Path, output: Path, *, seed: str) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": seed, "CDK_OUTDIR": str(output)}
    context = json.loads((folder / "cdk.json").read_text())["context"]
    environment["CDK_CONTEXT_JSON"] = json.dumps(context)
    run = subprocess.run(
        [sys.executable, "app.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {path.name: path.read_text() for path in output.glob("*.template.json")}


def test_another_folder_hash_seed_file_time_and_compiled_files_change_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "copy"
    copy.mkdir(parents=True)
    for name in ("app.py", "cdk.json"):
        shutil.copy(ROOT / name, copy / name)
    ignored = shutil.ignore_patterns("__pycache__", "rehearsal")
    for name in ("hyperpod_constructs", "lifecycle_assets"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored, copy_function=shutil.copyfile)
    for folder in (copy / "lifecycle_assets/nodelib", copy / "hyperpod_constructs/handlers/cluster"):
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__/compiled.pyc").write_bytes(b"of another machine")
    here = _synthesize(ROOT, tmp_path / "here", seed="0")
    there = _synthesize(copy, tmp_path / "there", seed="1")
    assert set(here) == {"HyperPod.template.json", "HyperPodFoundation.template.json"}
    assert here == there
