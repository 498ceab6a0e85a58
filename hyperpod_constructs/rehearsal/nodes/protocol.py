"""How a bed is spoken to: one line of JSON each way over a Unix socket, with open files beside it.

A request is ``{"operation": name, ...arguments}``; file descriptors (standard input, output and error of a command)
travel with its first bytes. The answer is ``{"result": ...}`` or ``{"error": text, "kind": class name}``.
"""

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperpod_constructs.rehearsal.nodes.errors import BedError, BedUnavailable, NodeError

MAXIMUM_DESCRIPTORS = 3
MAXIMUM_LINE_BYTES = 2**20
_ERRORS = {cls.__name__: cls for cls in (BedError, BedUnavailable, NodeError)}


def send(connection: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message, its descriptors with the first byte."""
    data = json.dumps(message).encode() + b"\n"
    sent = socket.send_fds(connection, [data], descriptors) if descriptors else 0
    if sent < len(data):  # sending nothing fails when the other side has answered already
        connection.sendall(data[sent:])


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive one message and the descriptors that came with it; an empty one when the other side closed.

    Raises:
        BedError: what came is not one line of JSON.
    """
    data, descriptors, _, _ = socket.recv_fds(connection, 65536, MAXIMUM_DESCRIPTORS)
    while data and not data.endswith(b"\n"):
        more = connection.recv(65536)
        if not more or len(data) > MAXIMUM_LINE_BYTES:
            break
        data += more
    if not data:
        return {}, list(descriptors)
    try:
        return json.loads(data), list(descriptors)
    except ValueError:
        raise BedError(f"got {data[:80]!r}; a request is one line of JSON") from None


def call(path: Path, message: dict[str, Any], *, descriptors: Sequence[int] = (), timeout_seconds: float) -> Any:
    """Ask the bed behind that socket and wait for its answer.

    Raises:
        BedError: the bed is gone, did not answer in time, or answered with an error (of that error's own class).
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_seconds)
        try:
            connection.connect(str(path))
            send(connection, message, descriptors)
            answer, _ = receive(connection)
        except TimeoutError:
            raise BedError(f"no answer to {message['operation']} after {timeout_seconds:.0f} s") from None
        except OSError as error:
            raise BedError(f"the bed at {path} does not answer ({error.strerror}); it may have ended") from None
    if not answer:
        raise BedError(f"the bed ended while it was asked to {message['operation']}")
    if "error" in answer:
        raise _ERRORS.get(answer.get("kind", ""), BedError)(answer["error"])
    return answer.get("result")
