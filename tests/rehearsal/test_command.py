"""The command from a shell: what it says when something is wrong, and that nothing runs after it, however it ends."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .command_support import LONGEST_SECONDS, assembly, processes_of
from .command_support import run as run_with
from .command_support import start as start_with

pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the processes are looked up in /proc"),
]

SLEEPS = "import time\ndef handler(event, context): time.sleep(300)\n"
DIES = "import os\ndef handler(event, context): os._exit(9)\n"


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return start_with(folder, "--nodes=none", *arguments)


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    return run_with(folder, "--nodes=none", *arguments)


def custom_resource(code: str) -> dict[str, Any]:
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    return {
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]}},
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "Timeout": 600,
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Code": {"ZipFile": code},
            },
        },
        "Thing": {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}}},
    }


def test_a_port_in_use_is_one_sentence_at_once(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, error = run(folder, f"--port={port}", f"--app={assembly(folder, {})}")
    assert code == 1
    assert error.startswith(f"hyperpod-slurm: port {port} on 127.0.0.1 cannot be used (Address already in use): ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ("no-such-program app.py", "there is no program 'no-such-program' on PATH"),
        ("python no_such_app.py", "there is no file 'no_such_app.py' in"),
        ("", "--app is empty"),
    ],
)
def test_an_app_that_cannot_be_run_is_one_sentence_before_anything_is_started(
    app: str, said: str, folder: Path
) -> None:
    code, output, error = run(folder, f"--app={app}")
    assert code == 1
    assert said in error
    assert error.count("\n") == 1
    assert "starting" not in output


def test_a_capacity_that_is_none_is_the_services_sentence(folder: Path) -> None:
    code, _, error = run(folder, f"--app={assembly(folder, {})}", "--capacity=worker-gpu-a:2")
    assert code == 1
    assert "not a capacity: 'worker-gpu-a:2': write GROUP=COUNT" in error
    assert error.count("\n") == 1


def test_what_an_app_says_when_it_fails_is_shown_without_its_trace(folder: Path) -> None:
    text = 'cluster "a": 2 problems\n  compute[0].name: first\n  compute[1].name: second'
    (folder / "app.py").write_text(f"def check():\n    raise ValueError({text!r})\ncheck()\n")
    code, _, error = run(folder)
    assert code == 1
    assert f"ValueError: {text}\n" in error
    assert "line 2" not in error


def test_a_function_that_dies_before_answering_ends_the_rehearsal_in_words(folder: Path) -> None:
    code, _, error = run(folder, f"--app={assembly(folder, custom_resource(DIES))}")
    assert code == 1
    assert "cdk deploy failed at Thing (Custom::Thing), CREATE_FAILED:" in error
    assert "ended without an answer to the Create of Thing" in error
    assert processes_of(folder) == []


def lines_until(process: subprocess.Popen[str], text: str) -> Sequence[str]:
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return seen
    pytest.fail(f"{text!r} was not said: {seen} {process.stderr and process.stderr.read()}")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_an_interruption_while_a_function_runs_leaves_no_process(
    number: signal.Signals, code: int, folder: Path
) -> None:
    process = start(folder, f"--app={assembly(folder, custom_resource(SLEEPS))}")
    lines_until(process, "cdk deploy")
    deadline = time.monotonic() + 30
    while not any(b"_worker.py" in command for command in commands_of(folder)):
        assert time.monotonic() < deadline, "the function was not started"
        time.sleep(0.05)
    process.send_signal(number)
    _, error = process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == code
    assert "Traceback" not in error
    while processes_of(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert processes_of(folder) == []


def commands_of(folder: Path) -> list[bytes]:
    found = []
    for pid in processes_of(folder):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes())
        except OSError:
            continue
    return found


def test_a_kept_rehearsal_stays_up_says_how_to_look_at_it_and_is_ended_by_stop(folder: Path) -> None:
    code, output, error = run(folder, f"--app={assembly(folder, {'Topic': {'Type': 'AWS::SNS::Topic'}})}", "--keep")
    assert (code, error) == (0, "")
    endpoint = re.search(r"export AWS_ENDPOINT_URL_SAGEMAKER=(\S+)", output)
    assert endpoint is not None
    with urllib.request.urlopen(f"{endpoint[1]}/_rehearsal/calls", timeout=5) as answer:  # noqa: S310 - loopback
        assert "calls" in json.load(answer)
    assert "To end it: hyperpod-slurm rehearse --stop" in output
    assert run(folder, "--stop") == (0, "ended 1 rehearsal\n", "")
    assert processes_of(folder) == []
    assert run(folder, "--stop") == (0, "no rehearsal was left up\n", "")


def test_a_stack_that_leaves_something_behind_is_told_and_is_a_failure(folder: Path) -> None:
    kept = {"Type": "AWS::Logs::LogGroup", "DeletionPolicy": "Retain", "Properties": {"LogGroupName": "/kept"}}
    code, output, error = run(folder, f"--app={assembly(folder, {'Kept': kept})}")
    assert (code, error) == (1, "")
    assert output.endswith("Left behind:\n  log group /kept\n")
