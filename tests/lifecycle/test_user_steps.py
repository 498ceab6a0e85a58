"""The user's own scripts: real processes."""

from dataclasses import replace
from pathlib import Path

import pytest
from nodelib.errors import StepError
from nodelib.runner import ProcessRunner
from nodelib.step import Context
from steps import all_steps
from steps.user_steps import interpreter, user_steps

from tests.lifecycle.support import Machine, node_config


def context_with(machine: Machine, script: str, path: str = "user_steps/0/my script.sh", **step: object) -> Context:
    machine.put(f"/scripts/{path}", script)
    document = node_config(user_steps=[{"name": "mine", "path": path, **step}])
    context = machine.context("compute", document)
    context.runner = ProcessRunner()
    return context


def test_script_runs_in_its_folder_with_arguments_and_the_node_s_facts(machine: Machine) -> None:
    script = '#!/bin/bash -e\npwd\necho "$1 $2 $HYPERPOD_NODE_TYPE $HYPERPOD_CONTROLLER_ADDRESS $HYPERPOD_HOMES"\n'
    context = context_with(machine, script, arguments=["a b", "$HOME"])
    [result] = machine.run(context, *user_steps(context.config, "after_slurm"))
    assert (result.step, result.outcome) == ("user:mine", "ok")
    assert machine.log[:2] == [
        f"  user:mine | {machine.root}/scripts/user_steps/0",
        "  user:mine | a b $HOME compute 10.77.0.10 /fsx/home",
    ]


@pytest.mark.parametrize(("required", "outcome"), [(True, "failed"), (False, "passed_over")])
def test_failing_script_ends_as_it_was_declared(machine: Machine, required: bool, outcome: str) -> None:
    context = context_with(machine, "#!/bin/sh\necho no luck >&2\nexit 7\n", required=required)
    [result] = machine.run(context, *user_steps(context.config, "after_slurm"))
    assert (result.outcome, result.remarks) == (outcome, ("exit code 7: no luck",))


def test_hanging_script_is_killed_at_its_bound(machine: Machine) -> None:
    context = context_with(machine, "#!/bin/sh\nsleep 30\n")
    [step] = user_steps(context.config, "after_slurm")
    [result] = machine.run(context, replace(step, timeout_seconds=0.2))
    assert (result.outcome, result.remarks) == ("failed", ("user:mine was not done after 0.2 s",))


def test_interpreter_is_what_the_first_line_says(tmp_path: Path) -> None:
    script = tmp_path / "x"
    script.write_text("#!/usr/bin/env python3\n")
    assert interpreter(script) == ["/usr/bin/env", "python3"]
    script.write_text("echo no shebang\n")
    with pytest.raises(StepError, match="expected #! and an interpreter"):
        interpreter(script)


def test_stages_stand_where_they_say(machine: Machine) -> None:
    steps = [
        {"name": "early", "path": "a", "stage": "before_slurm"},
        {"name": "late", "path": "b", "node_types": ["login"]},
    ]
    names = [step.name for step in all_steps(machine.context("compute", node_config(user_steps=steps)).config)]
    assert names.index("mount_file_systems") < names.index("user:early") < names.index("start_munge")
    assert names[-1] == "user:late"
