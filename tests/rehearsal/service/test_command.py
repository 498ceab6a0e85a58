"""The command: options, ready file, signals, and how it refuses to start."""

import argparse
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from hyperpod_constructs.rehearsal.service import CompositeLauncher, Launcher, SimulatedLauncher, Timings
from hyperpod_constructs.rehearsal.service.aws_clients import object_lister
from hyperpod_constructs.rehearsal.service.command import (
    assumptions,
    launcher,
    main,
    parser,
    real_nodes,
    services,
    timings,
)

MODULE = "hyperpod_constructs.rehearsal.service"


def options(*arguments: str) -> argparse.Namespace:
    return parser().parse_args(arguments)


def make_launcher(given: Mapping[str, str]) -> Launcher:
    """What --launcher names in these tests."""
    made = SimulatedLauncher()
    made.given = dict(given)  # type: ignore[attr-defined]
    return made


HERE = "tests.rehearsal.service.test_command:make_launcher"


def test_options_become_services() -> None:
    hyperpod, _ = services(
        options("--capacity=a=1", "--capacity=b=2@0,3@9", "--timing=launch_seconds=7", "--region=eu-west-1", "--seed=3")
    )
    assert set(hyperpod.capacity.limits) == {"a", "b"}
    assert hyperpod.context.timings.launch_seconds == 7
    assert hyperpod.context.region == "eu-west-1"


def test_the_pace_may_be_the_documented_one() -> None:
    assert timings("documented", []) == Timings.documented()
    assert timings("fast", ["software_update_tries=5"]).software_update_tries == 5


def test_open_questions_are_answered_by_name() -> None:
    assert assumptions(["cluster_waits_for_minimums=false"]).cluster_waits_for_minimums is False


@pytest.mark.parametrize(
    ("texts", "found"), [([], None), (["2"], 2), (["a=1", "b=0"], {"a": 1, "b": 0}), (["a=3"], {"a": 3})]
)
def test_real_nodes_are_counted_for_all_groups_or_for_each(texts: list[str], found: Any) -> None:
    assert real_nodes(texts) == found


def test_a_launcher_is_found_by_its_name_and_told_its_options() -> None:
    made = launcher(options(f"--launcher={HERE}", "--launcher-option=socket=/run/bed"), Timings())
    assert made.given == {"socket": "/run/bed"}  # type: ignore[attr-defined]
    mixed = launcher(options(f"--launcher={HERE}", "--real-nodes=a=1"), Timings())
    assert isinstance(mixed, CompositeLauncher)
    assert mixed.real_nodes == {"a": 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--capacity=x"], "not a capacity: 'x'"),
        (["--timing=launch_seconds"], "--timing must be NAME=VALUE"),
        (["--timing=speed=1"], "--timing speed is unknown, there are: launch_seconds"),
        (["--timing=launch_seconds=fast"], "must be a number, got 'fast'"),
        (["--timing=launch_seconds=-1"], "must be finite and 0 or more"),
        (["--assume=nothing=true"], "give true or false to one of cluster_waits_for_minimums"),
        (["--assume=echo_defaults=yes"], "give true or false"),
        (["--launcher=no.such.module:make"], "cannot be found"),
        (["--launcher=json:nothing"], "cannot be found"),
        ([f"--launcher={HERE}", "--real-nodes=a=x"], "--real-nodes must be COUNT once"),
        ([f"--launcher={HERE}", "--real-nodes=1", "--real-nodes=2"], "--real-nodes must be COUNT once"),
        (["--node-network=10.0.0.0/99"], "10.0.0.0/99"),
        (["--bind=0.0.0.0"], "listens on 127.0.0.1 only, got '0.0.0.0'"),
    ],
)
def test_a_wrong_option_is_refused_in_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    text = capsys.readouterr().err
    assert text.startswith("the HyperPod service cannot start: ")
    assert words in text
    assert text.count("\n") == 1


def test_a_port_in_use_is_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main([f"--port={port}"]) == 1
    error = capsys.readouterr().err
    assert (
        error == f"the HyperPod service cannot start: port {port} of 127.0.0.1 cannot be used: Address already in use\n"
    )


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    ready = tmp_path / "ready"
    arguments = [sys.executable, "-m", MODULE, "--port=0", f"--ready-file={ready}"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        deadline = time.monotonic() + 30
        while not ready.exists():
            assert started.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield started, ready.read_text().strip()
        started.kill()


def end_of(started: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = started.communicate(timeout=10)
    assert "Traceback" not in err
    return started.returncode, out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(process: tuple[subprocess.Popen[str], str], number: signal.Signals) -> None:
    started, url = process
    with urllib.request.urlopen(f"{url}/_rehearsal/health", timeout=10) as answer:  # noqa: S310
        assert json.loads(answer.read())["status"] == "ok"
    started.send_signal(number)
    assert end_of(started) == (0, f"{url}\n")


def test_a_request_ends_it_cleanly(process: tuple[subprocess.Popen[str], str]) -> None:
    started, url = process
    sent = urllib.request.Request(f"{url}/_rehearsal/shutdown", data=b"", method="POST")  # noqa: S310
    with urllib.request.urlopen(sent, timeout=10) as answer:  # noqa: S310
        assert answer.status == 200
    assert end_of(started)[0] == 0


class FakeS3:
    """list_objects_v2 of one bucket, two pages."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: dict[str, str] = {}

    def get_paginator(self, name: str) -> "FakeS3":
        assert name == "list_objects_v2"
        return self

    def paginate(self, **request: str) -> list[dict[str, Any]]:
        if self.error:
            raise self.error
        self.asked = request
        return [{"Contents": [{"Key": "p/a.sh"}]}, {}, {"Contents": [{"Key": "p/provisioning_parameters.json"}]}]


def test_objects_are_listed_under_bucket_and_prefix() -> None:
    s3 = FakeS3()
    assert list(object_lister(lambda: s3)("s3://bucket/p/")) == ["p/a.sh", "p/provisioning_parameters.json"]
    assert s3.asked == {"Bucket": "bucket", "Prefix": "p/"}


def test_a_bucket_that_cannot_be_read_counts_as_empty(caplog: pytest.LogCaptureFixture) -> None:
    s3 = FakeS3(EndpointConnectionError(endpoint_url="http://127.0.0.1:1"))
    assert list(object_lister(lambda: s3)("s3://bucket/p/")) == []
    assert "objects under s3://bucket/p/ cannot be listed" in caplog.text
