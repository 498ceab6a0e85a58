"""The resolver of a bed: what a VPC's own resolver would answer for nodes and file systems, and nothing else."""

import socket
import struct
import threading
from collections.abc import Callable

_HEADER = struct.Struct("!6H")
_TYPE_A, _TYPE_PTR, _CLASS_IN = 1, 12, 1
_NO_ERROR, _SERVER_FAILURE, _NO_SUCH_NAME = 0, 2, 3
_TTL_SECONDS = 5


class Names:
    """The names a bed knows. Safe to use from several threads.

    Args:
        fallback: asked for the address of names that are no node's (file systems).
    """

    def __init__(self, fallback: Callable[[str], str | None] = lambda name: None) -> None:
        self._addresses: dict[str, str] = {}
        self._fallback = fallback
        self._failures_left = 0
        self._lock = threading.Lock()

    def add(self, name: str, address: str) -> None:
        with self._lock:
            self._addresses[name.lower()] = address

    def remove(self, name: str) -> None:
        with self._lock:
            self._addresses.pop(name.lower(), None)

    def fail_next(self, count: int) -> None:
        """Answer the next ``count`` questions with a server failure, as a resolver does that has not settled yet."""
        with self._lock:
            self._failures_left = count

    def take_failure(self) -> bool:
        with self._lock:
            failing = self._failures_left > 0
            self._failures_left -= failing
            return failing

    def address_of(self, name: str) -> str | None:
        """The address of a node, by its bare name or with any domain behind it, or of a file system."""
        wanted = name.lower().rstrip(".")
        with self._lock:
            found = self._addresses.get(wanted) or self._addresses.get(wanted.partition(".")[0])
        return found or self._fallback(wanted)

    def name_of(self, address: str) -> str | None:
        with self._lock:
            return next((name for name, known in self._addresses.items() if known == address), None)


def _read_name(message: bytes, offset: int) -> tuple[str, int]:
    labels = []
    while length := message[offset]:
        labels.append(message[offset + 1 : offset + 1 + length].decode("ascii", "replace"))
        offset += length + 1
    return ".".join(labels), offset + 1


def _write_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def _pointer_target(name: str) -> str:
    return ".".join(reversed(name.lower().removesuffix(".in-addr.arpa").split(".")))


def answer(message: bytes, names: Names) -> bytes:
    """The answer to one question (RFC 1035, section 4.1).

    Raises:
        IndexError, struct.error: the message is not a question.
    """
    identity, *_ = _HEADER.unpack_from(message)
    name, end = _read_name(message, _HEADER.size)
    kind, _ = struct.unpack_from("!2H", message, end)
    question = message[_HEADER.size : end + 4]
    code, data = _look_up(name, kind, names)
    record = struct.pack("!HHHIH", 0xC00C, kind, _CLASS_IN, _TTL_SECONDS, len(data)) + data if data else b""
    flags = 0x8580 | code  # a response, authoritative, recursion wanted and available
    return _HEADER.pack(identity, flags, 1, 1 if data else 0, 0, 0) + question + record


def _look_up(name: str, kind: int, names: Names) -> tuple[int, bytes]:
    if names.take_failure():
        return _SERVER_FAILURE, b""
    if kind == _TYPE_PTR:
        target = names.name_of(_pointer_target(name))
        return (_NO_ERROR, _write_name(target)) if target else (_NO_SUCH_NAME, b"")
    address = names.address_of(name)
    if address is None:
        return _NO_SUCH_NAME, b""
    return _NO_ERROR, socket.inet_aton(address) if kind == _TYPE_A else b""


def serve(address: str, names: Names) -> None:
    """Answer questions at that address, UDP port 53, for as long as the process lives."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    threading.Thread(target=_serve_for_ever, args=(server, names), daemon=True).start()


def _serve_for_ever(server: socket.socket, names: Names) -> None:
    while True:
        message, sender = server.recvfrom(512)
        try:
            server.sendto(answer(message, names), sender)
        except (IndexError, struct.error, OSError):
            continue  # no question, or the node that asked was cut off
