"""The command in a folder of its own, with nothing of the machine's but the prepared tools."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
LONGEST_SECONDS = 60.0
# Where a Debian machine has what a bed of nodes needs.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def processes_of(folder: Path) -> list[int]:
    """Every process that was started for this folder: its environment, its command or its working folder names it."""
    marker = os.fsencode(folder)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            texts = [(process / "environ").read_bytes(), (process / "cmdline").read_bytes()]
            texts.append(os.fsencode((process / "cwd").readlink()))
        except OSError:
            continue
        if any(marker in text for text in texts) and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def start(folder: Path, *arguments: str, path: str | None = None) -> subprocess.Popen[str]:
    """Start the command, with a PATH that has no node, npm or git unless one is given."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("HYPERPOD_", "KEEP"))}
    return subprocess.Popen(
        [sys.executable, "-m", "hyperpod_constructs.cli", "rehearse", *arguments],
        cwd=folder,
        env=environ | {"PATH": path or str(folder / "empty"), "PYTHONPATH": str(REPOSITORY), "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(
    folder: Path, *arguments: str, path: str | None = None, longest_seconds: float = LONGEST_SECONDS
) -> tuple[int, str, str]:
    """The command's exit code, output and error output. It must end in that time."""
    process = start(folder, *arguments, path=path)
    try:
        output, error = process.communicate(timeout=longest_seconds)
    finally:
        process.kill()
    assert "Traceback" not in output + error
    return process.returncode, output, error


def assembly(folder: Path, resources: dict[str, Any]) -> str:
    """A cloud assembly with one stack, as ``cdk synth`` leaves it; gives its name, for --app."""
    made = folder / "assembly"
    made.mkdir()
    (made / "stack.json").write_text(json.dumps({"Resources": resources}))
    stack = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://unknown-account/unknown-region",
        "properties": {"templateFile": "stack.json", "stackName": "Small"},
    }
    (made / "manifest.json").write_text(json.dumps({"version": "36.0.0", "artifacts": {"Small": stack}}))
    return made.name
