"""The user's own node scripts, made ready for S3: what ships is text with Unix line ends. Standard library only."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hyperpod_constructs.lifecycle_options import UserStep
from hyperpod_constructs.node_config import user_step_folder

# The service refuses a cluster under whose script prefix a file of this name lies, however deep (FACTS 5.1).
FORBIDDEN_FILE = "provisioning_parameters.json"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NOT_SHIPPED = "__pycache__"


def user_step_files(steps: Sequence[UserStep]) -> dict[str, bytes]:
    """Content of every file of the steps, by its path among the node scripts.

    Text has LF line ends and no byte order mark afterwards: with the others, bash fails with exit code 127 or, worse,
    goes on without the options of its first line (field report L-01). Files that are no text stay as they are.

    Args:
        steps: steps without problems (see :func:`problems`); paths are relative to the current folder.
    """
    return {
        f"{user_step_folder(index)}/{name}": normalized(path.read_bytes())
        for index, step in enumerate(steps)
        for name, path in _files(step)
    }


def problems(step: UserStep) -> Iterator[tuple[str, str]]:
    """What is wrong with a step's files: pairs of the field and a message."""
    source = Path(step.source)
    if not source.exists():
        yield "source", f'got "{step.source}", allowed: an existing file or folder; check the path'
        return
    if source.is_dir() != bool(step.entry):
        wanted = "the script inside the folder" if source.is_dir() else "nothing, as the source is the script itself"
        yield "entry", f'got "{step.entry}", allowed: {wanted}'
        return
    names = dict(_files(step))
    for name in names:
        if Path(name).name == FORBIDDEN_FILE:
            yield "source", f'got a folder with "{name}", allowed: no such file, the service refuses it; remove it'
    entry = step.entry or source.name
    if entry not in names:
        yield "entry", f'got "{entry}", allowed: a file in {step.source}; it has {", ".join(sorted(names)) or "none"}'
        return
    yield from (("entry" if step.entry else "source", message) for message in _script_problems(names[entry]))


def normalized(content: bytes) -> bytes:
    """Text with LF line ends and without a byte order mark; anything else untouched."""
    if not is_text(content):
        return content
    return content.removeprefix(_BYTE_ORDER_MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def is_text(content: bytes) -> bool:
    """Whether it is text in UTF-8."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _script_problems(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    first = normalized(content).split(b"\n")[0]
    if not content.strip():
        yield f'got "{path}", which is empty, allowed: a script'
    elif not is_text(content):
        yield f'got "{path}", which is no text, allowed: a script in UTF-8; start a program from a script'
    elif not first.startswith(b"#!") or not first[2:].strip():
        yield f'got "{path}" with first line "{first.decode()[:40]}", allowed: #! and an interpreter, as in #!/bin/bash'


def _files(step: UserStep) -> Iterator[tuple[str, Path]]:
    source = Path(step.source)
    if source.is_file():
        yield source.name, source
        return
    for path in sorted(source.rglob("*")):
        if path.is_file() and _NOT_SHIPPED not in path.parts:
            yield path.relative_to(source).as_posix(), path
