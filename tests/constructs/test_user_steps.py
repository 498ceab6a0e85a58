"""The user's own node scripts, from props to what is staged."""

import json
import re
from pathlib import Path

import pytest
from aws_cdk import App, Stack

from hyperpod_constructs import LifecycleScripts, SpecError, UserStep, UserStepStage
from tests.constructs.support import CONTEXT, a_cluster


def _staged(tmp_path: Path, lifecycle: LifecycleScripts) -> tuple[Path, str]:
    """The folder that holds everything synthesized, and the prefix of the scripts."""
    out = tmp_path / "cdk.out"
    app = App(context=CONTEXT, builtin_cloud_formation_validation=False, outdir=str(out))
    cluster = a_cluster(Stack(app, "Training"), lifecycle=lifecycle)
    app.synth()
    assert cluster.scripts is not None
    return out, cluster.scripts.prefix


def _script(tmp_path: Path, text: bytes) -> Path:
    path = tmp_path / "my tools" / "install.sh"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text)
    return path


def test_a_script_with_windows_line_ends_is_staged_with_unix_ones_because_bash_dies_of_the_others(
    tmp_path: Path,
) -> None:
    script = _script(tmp_path, b"\xef\xbb\xbf#!/bin/bash\r\necho hello\r\n")
    out, _ = _staged(tmp_path, LifecycleScripts(user_steps=[UserStep(source=str(script))]))
    (staged,) = out.glob("asset.*/user_steps/0/install.sh")
    assert staged.read_bytes() == b"#!/bin/bash\necho hello\n"


def test_the_node_configuration_names_the_step_where_it_was_staged(tmp_path: Path) -> None:
    script = _script(tmp_path, b"#!/bin/bash\necho hello\n")
    step = UserStep(source=str(script), stage=UserStepStage.BEFORE_SLURM, arguments=["--fast"], required=False)
    out, _ = _staged(tmp_path, LifecycleScripts(user_steps=[step]))
    (config,) = out.glob("asset.*/node_config.json")
    # Deploy-time values are markers until the upload replaces them.
    (staged,) = json.loads(re.sub(r"<<marker:[^>]*>>", '""', config.read_text()))["user_steps"]
    assert staged["path"] == "user_steps/0/install.sh"
    assert (staged["stage"], staged["arguments"], staged["required"]) == ("before_slurm", ["--fast"], False)


def test_a_changed_script_moves_the_prefix_so_that_new_nodes_run_it(tmp_path: Path) -> None:
    first = _staged(tmp_path, LifecycleScripts(user_steps=[UserStep(source=str(_script(tmp_path, b"#!/bin/sh\n:\n")))]))
    second = _staged(
        tmp_path, LifecycleScripts(user_steps=[UserStep(source=str(_script(tmp_path, b"#!/bin/sh\ntrue\n")))])
    )
    assert first[1] != second[1]


def test_a_folder_with_the_platforms_own_file_is_refused_because_the_service_would(tmp_path: Path) -> None:
    script = _script(tmp_path, b"#!/bin/bash\n:\n")
    (script.parent / "provisioning_parameters.json").write_text("{}")
    with pytest.raises(SpecError, match=r"provisioning_parameters\.json"):
        _staged(tmp_path, LifecycleScripts(user_steps=[UserStep(source=str(script.parent), entry="install.sh")]))
