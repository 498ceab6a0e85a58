"""Runs the unmodified CDK CLI against the emulated AWS."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .emulator import ACCOUNT
from .failures import RehearsalError
from .processes import GuardedProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .environment import Environment

_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class CdkCli:
    """The CLI, its log and where it finds the emulated AWS.

    ``folder`` is where the app is run (cdk.json, relative paths).
    """

    environment: Environment
    run_folder: Path
    folder: Path
    endpoint_url: str
    region: str

    def run(
        self,
        title: str,
        arguments: Sequence[str],
        *,
        timeout_seconds: float,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> CdkRun:
        """One command of the CLI to its end, calling ``meanwhile`` five times a second.

        Raises RehearsalError if it takes longer than ``timeout_seconds``; a failure is in the result.
        """
        log = self.run_folder / f"cdk-{title}.log"
        log.unlink(missing_ok=True)
        process = GuardedProcess(
            f"cdk {title}",
            [self.environment.node, self.environment.cdk_cli, *arguments, "--no-notices", "--ci", "--no-color"],
            env=cdk_environment(self.environment, self.run_folder, self.endpoint_url, self.region, os.environ),
            cwd=self.folder,
            log=log,
        )
        try:
            code = _wait(process, timeout_seconds, meanwhile)
        finally:
            process.stop()
        if code is None:
            raise RehearsalError(f"cdk {title} did not end within {timeout_seconds:.0f} s and was stopped (log: {log})")
        return CdkRun(title, code, log)

    def app_arguments(self, app: str, context: Mapping[str, str]) -> list[str]:
        """The arguments that name the app and its context."""
        pairs = [f"--context={key}={value}" for key, value in context.items()]
        return [f"--app={app}", *pairs]


@dataclass(frozen=True)
class CdkRun:
    """How a command of the CLI ended."""

    title: str
    code: int
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def _wait(process: GuardedProcess, timeout_seconds: float, meanwhile: Callable[[], None]) -> int | None:
    waited = 0.0
    while waited < timeout_seconds:
        code = process.wait(_POLL_SECONDS)
        if code is not None:
            return code
        waited += _POLL_SECONDS
        meanwhile()
    return None


def cdk_environment(
    environment: Environment, run_folder: Path, endpoint_url: str, region: str, outer: Mapping[str, str]
) -> dict[str, str]:
    """The user's environment without anything that leads to a real account or away from this machine.

    PATH begins with the prepared Node and with this Python, so that ``python app.py`` is the Python that has the
    library.
    """
    kept = {
        name: value
        for name, value in outer.items()
        if not name.startswith(("AWS_", "CDK_")) and name.lower() not in _PROXIES
    }
    home = environment.root / "home"  # kept between runs: jsii unpacks its modules into a cache there
    temporary = run_folder / "cdk-tmp"
    for folder in (home, temporary):
        folder.mkdir(parents=True, exist_ok=True)
    path = [str(environment.node_folder), str(Path(sys.executable).parent), outer.get("PATH", os.defpath)]
    return kept | {
        "PATH": os.pathsep.join(path),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "AWS_ACCESS_KEY_ID": ACCOUNT,  # the emulator reads the account from the key
        "AWS_SECRET_ACCESS_KEY": "rehearsal",
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "CDK_DISABLE_VERSION_CHECK": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_VALIDATION": "false",  # several seconds a synth; `make test` validates the same templates
    }


def require_app(app: str, folder: Path) -> None:
    """Raise RehearsalError if the program of ``app`` cannot be found, before anything is started for it."""
    import shutil

    try:
        words = shlex.split(app)
    except ValueError as error:
        raise RehearsalError(f"--app {app!r} cannot be read as a command: {error}") from error
    if not words:
        raise RehearsalError("--app is empty: give the command that runs your CDK app, as in --app 'python app.py'")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if (folder / app).is_dir():  # a cloud assembly that is there already
        return
    if shutil.which(words[0], path=path) is None and not (folder / words[0]).is_file():
        raise RehearsalError(f"--app {app!r}: there is no program {words[0]!r} on PATH; install it or name another")
    for word in words[1:]:
        if word.endswith(".py") and not (folder / word).is_file():
            raise RehearsalError(f"--app {app!r}: there is no file {word!r} in {folder}")


_TRACE = re.compile(r"^Traceback \(most recent call last\):$", re.MULTILINE)


def app_failure(output: str, lines: int = 25) -> str:
    """What an app that failed had to say: of a Python traceback only the exception, else the last lines, without the
    CLI's own.
    """
    text = re.sub(r"^.*(Subprocess exited with error|exited with error|ELIFECYCLE).*$", "", output, flags=re.MULTILINE)
    last = list(_TRACE.finditer(text))
    if last:
        after = text[last[-1].end() :].splitlines()
        start = next((n for n, line in enumerate(after) if line and not line.startswith((" ", "\t"))), 0)
        text = "\n".join(after[start:])
    return "\n".join(text.strip().splitlines()[-lines:]).strip()
