"""The shared file systems of a bed: stand-ins for FSx for Lustre and FSx for OpenZFS.

Each is a tmpfs that lives in the bed, outside all nodes, and whose *source* is the name that nodes mount it by. The
mount helper of a node asks here and is handed a detached mount as an open file, which it attaches: so nothing of the
file system is in a node before it mounted it, and afterwards the node's mount table shows the right source. The type
there is "tmpfs", since no kernel of ours has "lustre"; the image's findmnt is taught to say the right one.
"""

import array
import ctypes
import json
import os
import re
import socket
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes.errors import BedError

KINDS = ("lustre", "nfs")
DEFAULT_SIZE_MIB = 512
_SOURCE_PATTERNS = {"lustre": r"[^/@]+@tcp:/[A-Za-z0-9_-]{1,8}", "nfs": r"[^/@:]+:/[^/]+"}
_OPEN_TREE, _AT_FDCWD, _OPEN_TREE_CLONE = 428, -100, 1


@dataclass(kw_only=True, slots=True)
class SharedFileSystem:
    """One shared file system.

    Attributes:
        source: what nodes mount: ``fs-0123.fsx.us-west-2.amazonaws.com@tcp:/abcdefgh`` or ``fs-0123...:/fsx``.
        kind: ``lustre`` or ``nfs``.
        folder: where its content is, in the bed.
        size_mib: its capacity.
        reachable: while False, new mounts of it fail; existing ones go on.
    """

    source: str
    kind: str
    folder: Path
    size_mib: int
    reachable: bool = True


class FileSystems:
    """All shared file systems of a bed.

    Args:
        folder: an empty folder, inside the bed's own mount namespace.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, SharedFileSystem] = {}
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None, use_errno=True)

    def add(self, source: str, kind: str, size_mib: int = DEFAULT_SIZE_MIB) -> None:
        """Create a file system; one that is there already is left as it is.

        Raises:
            BedError: the kind or the source is not one that nodes could mount.
        """
        if kind not in KINDS:
            raise BedError(f'got kind "{kind}"; allowed: {", ".join(KINDS)}')
        if not re.fullmatch(_SOURCE_PATTERNS[kind], source):
            shape = "<dns name>@tcp:/<mount name>" if kind == "lustre" else "<dns name>:/<volume>"
            raise BedError(f'got source "{source}"; a {kind} file system is mounted as {shape}')
        with self._lock:
            if source in self._known:
                return
            folder = self._folder / str(len(self._known))
            folder.mkdir(parents=True)
            options = f"mode=755,size={size_mib}m"
            subprocess.run(["mount", "-i", "-t", "tmpfs", "-o", options, source, folder], check=True, timeout=30)
            self._known[source] = SharedFileSystem(source=source, kind=kind, folder=folder, size_mib=size_mib)

    def set_reachable(self, source: str, *, reachable: bool) -> None:
        with self._lock:
            if source not in self._known:
                raise BedError(f'no file system "{source}"; there are: {", ".join(self._known) or "none"}')
            self._known[source].reachable = reachable

    def describe(self) -> list[dict[str, object]]:
        with self._lock:
            return [
                {"source": one.source, "kind": one.kind, "size_mib": one.size_mib, "reachable": one.reachable}
                for one in self._known.values()
            ]

    def has_server(self, dns_name: str) -> bool:
        """Whether a file system is served under that DNS name."""
        with self._lock:
            return any(re.split("[@:]", source)[0].lower() == dns_name for source in self._known)

    def _find(self, source: str, kind: str) -> tuple[SharedFileSystem, str] | None:
        """The file system a source means and the folder in it: both kinds can be mounted below their root."""
        with self._lock:
            for known in self._known.values():
                rest = source.removeprefix(known.source)
                if known.kind == kind and source.startswith(known.source) and (not rest or rest.startswith("/")):
                    return known, rest.strip("/")
        return None

    def open_tree(self, source: str, kind: str) -> tuple[int, str]:
        """A detached mount of that source as a descriptor, or -1 and what a client would be told."""
        found = self._find(source, kind)
        if found is None:
            return -1, os.strerror(2)
        known, below = found
        if not known.reachable:
            return -1, os.strerror(5)
        target = os.fsencode(known.folder / below)
        descriptor = self._libc.syscall(_OPEN_TREE, _AT_FDCWD, target, _OPEN_TREE_CLONE | os.O_CLOEXEC)
        return descriptor, "" if descriptor >= 0 else os.strerror(ctypes.get_errno())

    def serve(self, path: Path) -> None:
        """Answer the nodes' mount helpers at that socket for as long as the process lives."""
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(path))
        server.listen(128)
        threading.Thread(target=self._serve_for_ever, args=(server,), daemon=True).start()

    def _serve_for_ever(self, server: socket.socket) -> None:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(5)
                try:
                    self._answer(connection)
                except (OSError, ValueError, KeyError):
                    continue  # the helper died, or was none of ours

    def _answer(self, connection: socket.socket) -> None:
        request = json.loads(connection.recv(4096))
        descriptor, problem = self.open_tree(request["source"], request["kind"])
        if descriptor < 0:
            connection.sendall(problem.encode())
            return
        try:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
            connection.sendmsg([b"ok"], ancillary)
        finally:
            os.close(descriptor)
