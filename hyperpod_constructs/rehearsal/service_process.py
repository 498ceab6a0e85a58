"""Starts the HyperPod service (service/) in a process of its own and speaks to its control addresses."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .emulator import did_not_come_up
from .failures import RehearsalError
from .processes import GuardedProcess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

START_TIMEOUT_SECONDS = 30.0
_POLL_SECONDS = 0.05
_CONTROL_TIMEOUT_SECONDS = 30.0


class Service:
    """A running HyperPod service.

    ``url`` answers the SageMaker and FSx calls; /_rehearsal/ below it controls it.
    """

    def __init__(self, process: GuardedProcess, url: str) -> None:
        self.process = process
        self.url = url

    def get(self, path: str) -> Any:
        """The JSON answer of a control address. Raises RehearsalError if it refuses or does not answer."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Any = None) -> Any:
        """Send JSON to a control address; gives its JSON answer.

        Raises RehearsalError if it refuses or does not answer.
        """
        return self._ask("POST", path, {} if body is None else body)

    def calls(self) -> list[dict[str, Any]]:
        """Every HyperPod call received, oldest first: time, operation, parameters, error, mutating."""
        calls: list[dict[str, Any]] = self.get("calls")["calls"]
        return calls

    def limit_capacity(self, limits: Mapping[str, int]) -> None:
        """Limit the instances of groups or instance types from now on; other limits stay."""
        self.post("capacity", {"capacity": [f"{name}={count}" for name, count in limits.items()]})

    def fail_lifecycle(self, group: str, message: str, times: int | None = None, log: Sequence[str] = ()) -> None:
        """Let the lifecycle script of a group fail with these words after these lines, so often (None: always)."""
        self.post("fail-lifecycle", {"group": group, "message": message, "times": times, "log": list(log)})

    def stop(self) -> None:
        """End it and all that it started."""
        self.process.stop()

    def _ask(self, method: str, path: str, body: Any) -> Any:
        request = urllib.request.Request(  # noqa: S310 - loopback, our own service
            f"{self.url}/_rehearsal/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_CONTROL_TIMEOUT_SECONDS) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise RehearsalError(
                f"the HyperPod service refused {method} {path}: {error.read().decode(errors='replace') or error}"
            ) from error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise RehearsalError(f"the HyperPod service does not answer {method} {path}: {error}") from error
        return json.loads(text) if text else None


def start_service(*, folder: Path, port: int, region: str, arguments: Sequence[str] = ()) -> Service:
    """Start it on ``port`` (0: any free one) and wait until it answers.

    Raises RehearsalError if it does not come up within 30 seconds, or at once with what it says about its arguments.
    """
    ready = folder / "service.ready"
    ready.unlink(missing_ok=True)
    process = GuardedProcess(
        "the HyperPod service",
        [
            sys.executable,
            "-m",
            "hyperpod_constructs.rehearsal.service",
            f"--port={port}",
            f"--ready-file={ready}",
            f"--region={region}",
            *arguments,
        ],
        env=_service_environment(),
        cwd=folder,
        log=folder / "service.log",
    )
    try:
        return Service(process, _wait_until_ready(process, ready))
    except BaseException:
        process.stop()
        raise


def _service_environment() -> dict[str, str]:
    package_parent = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [package_parent, os.environ.get("PYTHONPATH", "")]))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "AWS_EC2_METADATA_DISABLED": "true"}


def _wait_until_ready(process: GuardedProcess, ready: Path) -> str:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RehearsalError(did_not_come_up(process, f"it ended with exit code {process.poll()}"))
        if ready.exists() and (text := ready.read_text().strip()):
            return text
        time.sleep(_POLL_SECONDS)
    raise RehearsalError(did_not_come_up(process, f"it did not answer within {START_TIMEOUT_SECONDS:.0f} s"))
