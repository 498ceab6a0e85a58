"""Starts the emulated AWS (emulated_aws/) in its own Python, on the loopback address only, and waits until it
answers.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from .failures import RehearsalError
from .processes import LOOPBACK, GuardedProcess

if TYPE_CHECKING:
    from .environment import Environment

ACCOUNT = "123456789012"
START_TIMEOUT_SECONDS = 40.0
_POLL_SECONDS = 0.05
_LAUNCH = "import sys; sys.path.append(sys.argv[1])\nfrom emulated_aws.launch import main\nmain()\n"


class Emulator:
    """A running emulated AWS. ``url`` is its one endpoint for every service but SageMaker and FSx."""

    def __init__(self, process: GuardedProcess, url: str) -> None:
        self.process = process
        self.url = url

    def stop(self) -> None:
        """End it and its Lambda workers."""
        self.process.stop()


def start_emulator(environment: Environment, *, folder: Path, port: int, service_url: str, region: str) -> Emulator:
    """Start it on ``port``, with its home, temporary files and log below ``folder``.

    SageMaker and FSx calls of the Lambda functions go to ``service_url``.
    Raises RehearsalError if it does not come up within 40 seconds, with the reason from its log.
    """
    log = folder / "emulator.log"
    process = GuardedProcess(
        "the emulated AWS",
        [environment.emulator_python, "-c", _LAUNCH, Path(__file__).parent],
        env=emulator_environment(environment, folder=folder, port=port, service_url=service_url, region=region),
        cwd=_made(folder / "emulator-home"),
        log=log,
        grace_seconds=1.0,  # it ignores TERM while a custom resource waits, and keeps nothing worth a longer wait
    )
    url = f"http://{LOOPBACK}:{port}"
    try:
        wait_until_answering(process, f"{url}/_ministack/ready", START_TIMEOUT_SECONDS)
    except BaseException:
        process.stop()
        raise
    return Emulator(process, url)


def emulator_environment(
    environment: Environment, *, folder: Path, port: int, service_url: str, region: str
) -> dict[str, str]:
    """Everything it gets to see; the Lambda workers inherit it, so nothing of the user's environment is in it."""
    return {
        "HOME": str(_made(folder / "emulator-home")),
        "TMPDIR": str(_made(folder / "emulator-tmp")),
        "PATH": f"{environment.node_folder}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "AWS_ACCESS_KEY_ID": ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "rehearsal",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "MINISTACK_REGION": region,
        "AWS_ENDPOINT_URL_SAGEMAKER": service_url,
        "AWS_ENDPOINT_URL_FSX": service_url,
        "HYPERPOD_REHEARSAL_LAMBDA_SDK": str(environment.lambda_sdk),
        "HYPERPOD_REHEARSAL_NODE_MODULES": str(environment.node_modules),
    }


def wait_until_answering(process: GuardedProcess, url: str, timeout_seconds: float) -> None:
    """Return once ``url`` answers 200. Raises RehearsalError if the process ends or the time is over before that."""
    deadline = time.monotonic() + timeout_seconds
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RehearsalError(did_not_come_up(process, f"it ended with exit code {process.poll()}"))
        try:
            with opener.open(url, timeout=2) as response:
                if response.status == 200:
                    return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            pass
        time.sleep(_POLL_SECONDS)
    raise RehearsalError(did_not_come_up(process, f"it did not answer within {timeout_seconds:.0f} s"))


def did_not_come_up(process: GuardedProcess, what: str) -> str:
    """One sentence with the last line of the log, which is where Python names the exception."""
    last = next(
        (line.strip() for line in reversed(process.log_tail().splitlines()) if line.strip()), "its log is empty"
    )
    return f"{process.name} did not come up: {what}; its last line was: {last} (log: {process.log})"


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
