"""The command as a process of its own against the HyperPod service: on a terminal, in a pipe, interrupted."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal.service import Capacity, HyperPodService, LocalClient
from hyperpod_constructs.rehearsal.service.fsx import FsxService
from hyperpod_constructs.rehearsal.service.http_server import HttpServer
from tests.rehearsal.service.support import NAME, request

REPOSITORY = Path(__file__).parents[2]
LIMIT_SECONDS = 60.0


class Served:
    """The service behind an address."""

    def __init__(self, url: str, service: HyperPodService) -> None:
        self.url, self.service = url, service
        self.client = LocalClient(service)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return kept | {
            "PYTHONPATH": str(REPOSITORY),
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
        }

    def start(self, *arguments: str, **options: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "hyperpod_constructs.cli", *arguments]
        return subprocess.Popen(command, env=self.environment, cwd=REPOSITORY, text=True, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def served() -> Iterator[Served]:
    service = HyperPodService(capacity=Capacity.parse("worker-gpu-a=2@0,4@2"), seed=1)
    with HttpServer(service, FsxService(seed=1)) as server:
        yield Served(server.url, service)


def read_terminal(descriptor: int, process: "subprocess.Popen[str]") -> str:
    """Everything that the command writes to its terminal until it ends."""
    found, deadline = b"", time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        ready, _, _ = select.select([descriptor], [], [], 0.2)
        if ready:
            try:
                found += os.read(descriptor, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    return found.decode(errors="replace")


def on_terminal(served: Served, *arguments: str) -> tuple[int, str]:
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
    try:
        process = served.start(*arguments, stdin=side, stdout=side, stderr=side, start_new_session=True)
        os.close(side)
        text = read_terminal(main, process)
        return process.wait(LIMIT_SECONDS), text
    finally:
        os.close(main)


def test_watch_draws_on_a_terminal_until_everything_is_there(served: Served) -> None:
    served.client.create_cluster(**request())
    code, text = on_terminal(served, "watch", NAME, "--interval", "1")
    assert code == 0, text
    assert "\x1b[?25l" in text, "the cursor is hidden while it draws"
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "and shown again afterwards"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert re.search(r"worker-gpu-a\s+█+░+\s+\d/4", plain), "a bar that is not full yet"
    assert re.search(r"worker-gpu-a\s+█{30}\s+4/4\s+InService", plain)
    assert plain.rstrip().endswith("my-training-cluster is ready: 6 of 6 instances")


def test_watch_in_a_pipe_writes_plain_lines(served: Served) -> None:
    served.client.create_cluster(**request())
    process = served.start("watch", NAME, "--interval", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0
    assert "\x1b" not in out + err
    assert "worker-gpu-a: 4/4 InService" in out
    assert err == "✅ my-training-cluster is ready: 6 of 6 instances\n"


def test_ctrl_c_ends_a_watch_with_130_and_no_traceback(served: Served) -> None:
    served.client.create_cluster(**request())
    served.service.set_capacity(Capacity.parse("worker-gpu-a=0").limits)
    process = served.start("watch", NAME, "--interval", "1", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert "cluster my-training-cluster" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_reader_that_goes_away_is_no_error(served: Served) -> None:
    served.client.create_cluster(**request())
    time.sleep(0.5)
    script = f"{sys.executable} -m hyperpod_constructs.cli events {NAME} | head -1"
    answer = subprocess.run(
        ["bash", "-c", script],
        env=served.environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert len(answer.stdout.splitlines()) == 1
    assert "Traceback" not in answer.stderr


def test_a_service_that_is_gone_is_one_sentence(served: Served) -> None:
    environment = served.environment | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    answer = subprocess.run(
        [sys.executable, "-m", "hyperpod_constructs.cli", "nodes", NAME],
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("hyperpod-slurm: sagemaker:DescribeCluster: no answer from AWS (Could not connect")
    assert len(answer.stderr.splitlines()) == 1
