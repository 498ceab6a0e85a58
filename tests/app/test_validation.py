"""CDK's own check of templates, with every rule that it has by default, in a process of its own."""

import json
import os
import subprocess
import sys

from tests.app.support import APPS, ROOT

_PROGRAM = """
import json, sys
from tests.app import support
from aws_cdk import App

for name in support.APPS:
    app = App(context=support.CONTEXT)
    support.builder(name)(app)
    assembly = app.synth()
    print(name, sum(len(stack.messages) for stack in assembly.stacks), flush=True)
"""


def test_cdks_own_check_of_templates_reports_nothing_for_any_app() -> None:
    assert json.loads((ROOT / "cdk.json").read_text())["context"]["@aws-cdk/core:validateAgainstDefaultRules"] is True
    environment = {name: value for name, value in os.environ.items() if name != "CDK_VALIDATION"}
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.split("\n")[:-1] == [f"{name} 0" for name in APPS]
    reported = [line for line in run.stderr.splitlines() if "alidation" in line or "rule" in line.lower()]
    assert reported == []
