"""Speaking to a running bed: what the rest of the product uses."""

import contextlib
import io
import os
import tarfile
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hyperpod_constructs.rehearsal.nodes import protocol
from hyperpod_constructs.rehearsal.nodes.errors import BedError, NodeError

BOOT_TIMEOUT_SECONDS = 90.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a command on a node came to."""

    exit_code: int
    stdout: str
    stderr: str


class BedClient:
    """A running bed, wherever it was started.

    Args:
        socket: path of its control socket.
    """

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    def call(self, operation: str, *, timeout_seconds: float = 30.0, **arguments: Any) -> Any:
        """Ask the bed for one operation (see server.py).

        Raises:
            BedError: it could not be done, in one sentence.
        """
        return protocol.call(self.socket, {"operation": operation, **arguments}, timeout_seconds=timeout_seconds)

    def add(
        self,
        node: str,
        address: str,
        *,
        labels: Mapping[str, str] | None = None,
        volumes: Sequence[str] = (),
        disk_mib: int = 2048,
    ) -> None:
        """Boot a node; returns when its systemd is up (about 1.5 s).

        Args:
            node: host name.
            address: IPv4 address in a private network.
            labels: remembered and listed, never looked at.
            volumes: which of /opt/sagemaker and /opt/dlami/nvme it has as mounted volumes; none by default.
            disk_mib: size of its root and volumes together, in memory as far as used.

        Raises:
            NodeError: name or address are wrong or taken, the bed is full, or it did not come up.
        """
        given = {"address": address, "labels": dict(labels or {}), "volumes": list(volumes), "disk_mib": disk_mib}
        self.call("add", timeout_seconds=BOOT_TIMEOUT_SECONDS, node=node, **given)

    def remove(self, node: str) -> None:
        """End a node at once, with all its files."""
        self.call("remove", node=node, timeout_seconds=60)

    def replace(self, node: str, *, labels: Mapping[str, str] | None = None) -> None:
        """A new machine of the same name and address: new root, same shared file systems."""
        given = dict(labels) if labels is not None else None
        self.call("replace", node=node, labels=given, timeout_seconds=BOOT_TIMEOUT_SECONDS + 60)

    def reboot(self, node: str) -> None:
        """Reboot a node and wait until it is up again (about 3 s)."""
        self.call("reboot", node=node, timeout_seconds=BOOT_TIMEOUT_SECONDS)

    def cut(self, node: str) -> None:
        """Cut a node off the network."""
        self.call("cut", node=node)

    def restore(self, node: str) -> None:
        """Connect a node that was cut off."""
        self.call("restore", node=node)

    def nodes(self) -> list[dict[str, Any]]:
        """All nodes: name, address, running, connected, boots, volumes, labels."""
        found: list[dict[str, Any]] = self.call("nodes")
        return found

    def console(self, node: str) -> str:
        """What the node printed on its console."""
        return str(self.call("console", node=node))

    def add_file_system(self, source: str, *, kind: str = "lustre", size_mib: int = 512) -> None:
        """Create a shared file system under the name that nodes mount; one that exists is left as it is.

        Args:
            source: ``<dns name>@tcp:/<mount name>`` (lustre) or ``<dns name>:/<volume>`` (nfs).
            kind: ``lustre`` or ``nfs``.
            size_mib: capacity; its content is in memory.
        """
        self.call("add_file_system", source=source, kind=kind, size_mib=size_mib)

    def set_file_system_reachable(self, source: str, *, reachable: bool) -> None:
        """Make new mounts of a file system fail, or succeed again."""
        self.call("set_file_system_reachable", source=source, reachable=reachable)

    def fail_names(self, count: int) -> None:
        """Let the next ``count`` questions to the bed's resolver fail."""
        self.call("fail_names", count=count)

    def execute(
        self,
        node: str,
        arguments: Sequence[str],
        *,
        streams: Sequence[int] = (),
        timeout_seconds: float = 120.0,
        **options: Any,
    ) -> int:
        """Run a command on a node with the given open files as standard input, output and error.

        Args:
            node: its name.
            arguments: program and arguments.
            streams: up to three descriptors; missing ones are /dev/null.
            timeout_seconds: after this it is killed and 124 returned.
            options: ``environment``, ``folder``, ``umask``, ``as_service`` of execution.Command.
        """
        message = {
            "operation": "execute",
            "node": node,
            "arguments": list(arguments),
            "timeout_seconds": timeout_seconds,
            **options,
        }
        answer = protocol.call(self.socket, message, descriptors=streams, timeout_seconds=timeout_seconds + 30)
        return int(answer)

    def run(
        self, node: str, arguments: Sequence[str], *, stdin: bytes = b"", check: bool = False, **options: Any
    ) -> Result:
        """Run a command on a node and return what it printed.

        Raises:
            NodeError: with ``check``, when its exit code is not 0: with the last lines it printed.
        """
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(stdin)
            files[0].seek(0)
            code = self.execute(node, arguments, streams=[file.fileno() for file in files], **options)
            for file in files[1:]:
                file.seek(0)
            out, err = (file.read().decode(errors="replace") for file in files[1:])
        if check and code != 0:
            tail = " | ".join((err + out).strip().splitlines()[-3:])
            raise NodeError(f"{' '.join(arguments)} on {node} ended with {code}: {tail}")
        return Result(exit_code=code, stdout=out, stderr=err)

    def follow(
        self, node: str, arguments: Sequence[str], on_line: Callable[[str], None], *, stdin: bytes = b"", **options: Any
    ) -> int:
        """Run a command on a node and hand over each line of its output and errors as it comes."""
        read_end, write_end = os.pipe()
        reader = threading.Thread(target=_read_lines, args=(read_end, on_line), daemon=True)
        reader.start()
        with tempfile.TemporaryFile() as given:
            given.write(stdin)
            given.seek(0)
            try:
                code = self.execute(node, arguments, streams=[given.fileno(), write_end, write_end], **options)
            finally:
                os.close(write_end)
        reader.join(timeout=5)  # a daemon the command left behind may hold the pipe open for ever
        return code

    def put(self, node: str, files: Mapping[str, bytes | tuple[bytes, int]], *, owner: str = "root:root") -> None:
        """Write files on a node, with their folders.

        Args:
            node: its name.
            files: absolute path -> content, or content and mode (0644 when not given).
            owner: ``user:group`` on the node.
        """
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path, given in files.items():
                content, mode = given if isinstance(given, tuple) else (given, 0o644)
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mode = len(content), mode
                archive.addfile(entry, io.BytesIO(content))
        user, _, group = owner.partition(":")
        # "--no-overwrite-dir": folders that are there keep their owner and mode
        tar = ["tar", "-x", "-p", "-m", "--no-overwrite-dir", f"--owner={user}", "-C", "/"]
        self.run(node, tar, stdin=buffer.getvalue(), as_service=False, check=True)
        if owner != "root:root":
            self.run(node, ["chown", f"{user}:{group}", *files], as_service=False, check=True)

    def get(self, node: str, path: str) -> bytes:
        """The content of a file on a node.

        Raises:
            NodeError: it cannot be read.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as nothing:
            streams = [nothing.fileno(), out.fileno()]
            if self.execute(node, ["cat", "--", path], streams=streams, as_service=False) != 0:
                raise NodeError(f"{path} on {node} cannot be read")
            out.seek(0)
            return out.read()

    def stop(self) -> None:
        """End the bed with everything in it; one that has ended already is fine."""
        with contextlib.suppress(BedError):
            self.call("stop", timeout_seconds=5)


def _read_lines(descriptor: int, on_line: Callable[[str], None]) -> None:
    with open(descriptor, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            on_line(line.rstrip("\r\n"))
