"""What the Lambda runtime has and the emulator's workers lack: layers under /opt, and the runtime's own SDK.

A layer lies in a folder of its own here, without the modes of its files, and nobody but root could link it to
/opt. So a command that names a program under /opt is looked up in the layers, and a script found there is run by
this interpreter.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_OPT = "/opt/"
_STANDARD_ERROR = 2
_LAYERS = [folder for folder in os.environ.get("_LAMBDA_LAYERS_DIRS", "").split(os.pathsep) if folder]


def in_layers(command: Sequence[Any]) -> list[Any]:
    """``command`` with its program, if that lies under /opt, replaced by the layer's file."""
    program = os.fspath(command[0])
    for folder in _LAYERS:
        candidate = Path(folder, program[len(_OPT) :])
        if candidate.is_file():
            with candidate.open("rb") as file:
                is_script = file.read(2) == b"#!"
            return [*([sys.executable] if is_script else []), str(candidate), *command[1:]]
    return list(command)


class _PopenInLayers(subprocess.Popen):  # type: ignore[type-arg]
    def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
        if isinstance(args, (list, tuple)) and args and str(args[0]).startswith(_OPT):
            args = in_layers(args)
            # The worker's own output is its protocol with the emulator, which gives up after 200 lines that are not
            # an answer: an upload writes a line or more for each file.
            options.setdefault("stdout", _STANDARD_ERROR)
        super().__init__(args, *rest, **options)


if _LAYERS:
    subprocess.Popen = _PopenInLayers  # type: ignore[misc]
if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    sys.path.insert(0, os.environ["HYPERPOD_REHEARSAL_LAMBDA_SDK"])
