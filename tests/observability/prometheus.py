"""A real Prometheus and a real node exporter (Debian's packages) on loopback, and a server of recorded samples."""

import contextlib
import json
import math
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

EXPORTERS = Path(__file__).parent / "samples" / "exporters"
Sample = Callable[[], str]
_SAMPLE = re.compile(r"^(?P<name>[A-Za-z_:][\w:]*)(?P<labels>\{.*\})? (?P<value>\S+)$")
START_SECONDS = 30.0


def program(name: str) -> str:
    """Where a program is; without it, skips on a developer's machine and fails where CI=true."""
    found = shutil.which(name)
    if found is None:
        message = f"{name} is not installed; apt-get install prometheus prometheus-node-exporter"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return found


def recorded(file: str, started: float, changes: Mapping[str, float] | None = None, *, speed: float = 1.0) -> Sample:
    """A recorded sample that moves: counters grow with time, gauges breathe by some per cent.

    Args:
        file: of the folder of samples.
        started: monotonic seconds.
        changes: metric to a value of its own, for a sick node; counters grow from it by one a second.
        speed: of counters, against their recorded value in an hour.
    """
    text = (EXPORTERS / file).read_text(encoding="utf-8")
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    changes = changes or {}

    def now() -> str:
        elapsed = time.monotonic() - started
        return "\n".join(_moved(line, kinds, changes, elapsed, speed) for line in text.splitlines()) + "\n"

    return now


def _moved(line: str, kinds: Mapping[str, str], changes: Mapping[str, float], elapsed: float, speed: float) -> str:
    match = _SAMPLE.match(line)
    if match is None:
        return line
    name, value = match["name"], float(match["value"])
    if name in changes:
        value = changes[name] + (elapsed * 30 if kinds[name] == "counter" else 0)
    elif kinds[name] == "counter":
        value += value * speed * elapsed / 3600
    elif not name.endswith(("_info", "_size_bytes", "_ERRORS", "_FAILURE", "_readonly", "_error")):
        value *= 1 + 0.04 * math.sin(elapsed / 3 + len(line))
    return f"{name}{match['labels'] or ''} {value:.15g}"


@contextmanager
def kept_fresh(samples: Mapping[str, Sample]) -> Iterator[dict[str, Sample]]:
    """The same samples, taken again and again in the background: for those that take longer than a scrape may.

    Args:
        samples: by path.
    """
    latest = {path: sample() for path, sample in samples.items()}
    ended = threading.Event()

    def refresh() -> None:
        while not ended.is_set():
            for path, sample in samples.items():
                with contextlib.suppress(Exception):  # the node may be busy or gone; the last answer stands
                    latest[path] = sample()
            ended.wait(0.2)

    thread = threading.Thread(target=refresh, daemon=True)
    thread.start()
    try:
        yield {path: (lambda path=path: latest[path]) for path in samples}  # type: ignore[misc]
    finally:
        ended.set()
        thread.join(timeout=60)


@contextmanager
def served(samples: Mapping[str, Sample]) -> Iterator[str]:
    """Serve each sample under its path; the address, without a scheme."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sample = samples.get(self.path)
            body = sample().encode() if sample else b""
            self.send_response(200 if sample else 404)
            is_open = body.rstrip().endswith(b"# EOF")
            kind = "application/openmetrics-text; version=1.0.0" if is_open else "text/plain; version=0.0.4"
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # Prometheus is stopped while it scrapes
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


@contextmanager
def running(command: list[str], folder: Path, name: str) -> Iterator[None]:
    """Run a program until the end of the block; what it says is in ``<name>.log``."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=10)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Prometheus:
    """The HTTP API of a running Prometheus.

    Args:
        address: host and port.
    """

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer.

        Raises:
            AssertionError: it is no success, with the error's text.
        """
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                document = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error
        assert document["status"] == "success", document
        return document["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant query."""
        answer = self.get("query", query=expression)
        if answer["resultType"] == "scalar":
            return [{"metric": {}, "value": answer["result"]}]
        result: list[dict[str, Any]] = answer["result"]
        return result

    def range(self, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        """The series of a range query."""
        parameters = {"query": expression, "start": str(start), "end": str(end), "step": str(step)}
        result: list[dict[str, Any]] = self.get("query_range", **parameters)["result"]
        return result

    def wait_until_ready(self, seconds: float = START_SECONDS) -> None:
        """Until it answers.

        Raises:
            AssertionError: it does not in that time.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=2) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"Prometheus on {self.address} was not ready in {seconds} seconds")


@contextmanager
def prometheus(folder: Path, scrapes: list[dict[str, Any]], rules: Mapping[str, Any]) -> Iterator[Prometheus]:
    """A Prometheus that scrapes every second, until the end of the block.

    Args:
        folder: for its files.
        scrapes: ``scrape_configs``.
        rules: a rules file.
    """
    config, rules_file = folder / "prometheus.json", folder / "rules.json"
    rules_file.write_text(json.dumps(rules))
    settings = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config.write_text(json.dumps({"global": settings, "scrape_configs": scrapes, "rule_files": [str(rules_file)]}))
    checked = subprocess.run(
        [program("promtool"), "check", "config", str(config)], capture_output=True, text=True, timeout=30, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    address = f"127.0.0.1:{free_port()}"
    command = [
        program("prometheus"),
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--storage.tsdb.retention.time=1d",
    ]
    with running(command, folder, "prometheus"):
        client = Prometheus(address)
        client.wait_until_ready()
        yield client
