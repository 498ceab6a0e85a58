"""The process inside a bed's namespaces: answers requests on the bed's socket and owns its machines.

Started by supervisor.py, never by hand: ``python -m hyperpod_constructs.rehearsal.nodes.server CONFIGURATION``.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.rehearsal.nodes import dns, execution, network, protocol
from hyperpod_constructs.rehearsal.nodes.errors import BedError, NodeError
from hyperpod_constructs.rehearsal.nodes.file_systems import FileSystems
from hyperpod_constructs.rehearsal.nodes.layer import build_layer
from hyperpod_constructs.rehearsal.nodes.machines import DEFAULT_DISK_MIB, VOLUMES, Machine, Place
from hyperpod_constructs.rehearsal.nodes.settings import BedSettings

if TYPE_CHECKING:
    from collections.abc import Callable

WORK = Path("/run/bed")  # on the bed's own /run, which no other process of the host sees
CGROUPS = Path("/sys/fs/cgroup")
_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class Bed:
    """The state of a bed, and its operations by name.

    Args:
        settings: what it was started with.
        place: what its machines are made of.
        file_systems: its shared file systems.
        names: what its resolver knows.
    """

    def __init__(self, settings: BedSettings, place: Place, file_systems: FileSystems, names: dns.Names) -> None:
        self._settings = settings
        self._place = place
        self._file_systems = file_systems
        self._names = names
        self._machines: dict[str, Machine] = {}
        self._links = 0
        self._lock = threading.Lock()
        self.stopping = threading.Event()
        self.operations: dict[str, Callable[..., Any]] = {
            "ping": lambda: {"suite": settings.suite},
            "nodes": self.nodes,
            "add": self.add,
            "remove": self.remove,
            "replace": self.replace,
            "reboot": lambda node: self._machine(node).reboot(),
            "cut": lambda node: self._machine(node).set_connected(connected=False),
            "restore": lambda node: self._machine(node).set_connected(connected=True),
            "console": lambda node: self._machine(node).console.read_text(errors="replace"),
            "add_file_system": self._file_systems.add,
            "set_file_system_reachable": self._file_systems.set_reachable,
            "list_file_systems": self._file_systems.describe,
            "fail_names": names.fail_next,
            "stop": self.stopping.set,
        }

    def nodes(self) -> list[dict[str, object]]:
        with self._lock:
            return [machine.describe() for machine in self._machines.values()]

    def _machine(self, node: str) -> Machine:
        with self._lock:
            if node not in self._machines:
                raise NodeError(f'no node "{node}"; there are: {", ".join(self._machines) or "none"}')
            return self._machines[node]

    def add(
        self,
        node: str,
        address: str,
        labels: dict[str, str] | None = None,
        volumes: tuple[str, ...] = (),
        disk_mib: int = DEFAULT_DISK_MIB,
    ) -> dict[str, object]:
        """Boot a node; returns when its systemd is up.

        Raises:
            NodeError: name or address are wrong or taken, the bed is full, or it did not come up.
        """
        machine = self._reserve(
            name=node, address=address, labels=labels or {}, volumes=tuple(volumes), disk_mib=disk_mib
        )
        try:
            machine.start()
        except BaseException:
            with self._lock:
                del self._machines[node]
            raise
        self._names.add(node, address)
        return machine.describe()

    def _reserve(self, name: str, address: str, volumes: tuple[str, ...], **others: Any) -> Machine:
        network.prefix_length(address)
        if not _NODE_NAME.fullmatch(name):
            raise NodeError(f'got node name "{name}"; allowed: 1 to 63 of a-z, 0-9 and inner "-"')
        if unknown := set(volumes) - set(VOLUMES):
            raise NodeError(f"got volumes {', '.join(sorted(unknown))}; allowed: {', '.join(VOLUMES)}")
        with self._lock:
            for other in self._machines.values():
                if name == other.name or address == other.address:
                    raise NodeError(f"node {other.name} has that name or address {address} already; remove it first")
            if len(self._machines) >= self._settings.maximum_nodes:
                raise NodeError(f"the bed is full: {len(self._machines)} nodes; start it with a larger maximum_nodes")
            self._links += 1
            given = {"name": name, "address": address, "volumes": volumes, **others}
            self._machines[name] = Machine(place=self._place, link=f"node{self._links}", **given)
            return self._machines[name]

    def remove(self, node: str) -> None:
        machine = self._machine(node)
        self._names.remove(node)
        machine.remove()
        with self._lock:
            self._machines.pop(node, None)

    def replace(self, node: str, labels: dict[str, str] | None = None) -> dict[str, object]:
        """A new machine of the same name and address: new root and volumes, same shared file systems."""
        old = self._machine(node)
        self.remove(node)
        return self.add(node, old.address, old.labels if labels is None else labels, old.volumes, old.disk_mib)

    def execute(self, caller: socket.socket, streams: list[int], node: str, **options: Any) -> int:
        command = execution.Command(**{**options, "arguments": tuple(options["arguments"])})
        return execution.run(self._machine(node).leader, command, streams, caller)


def _mount(*arguments: str | Path) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise BedError(f"mount {' '.join(map(str, arguments))}: {done.stderr.strip()}")


def prepare(settings: BedSettings) -> Bed:
    """Lay out mounts, network and helpers of the bed inside its fresh namespaces."""
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for name in ("tree", "layer", "nodes", "file-systems", "shared"):
        (WORK / name).mkdir(parents=True)
    _mount("--bind", settings.tree, WORK / "tree")  # its own path may hold ":" or ",", which overlay would split at
    _mount("-t", "cgroup2", "cgroup2", CGROUPS)
    build_layer(WORK / "tree", WORK / "layer")
    file_systems = FileSystems(WORK / "file-systems")
    file_systems.serve(WORK / "shared/file_systems.sock")
    names = dns.Names(lambda name: network.RESOLVER_ADDRESS if file_systems.has_server(name) else None)
    network.create_bridge()
    dns.serve(network.RESOLVER_ADDRESS, names)
    return Bed(settings, _place(settings), file_systems, names)


def _place(settings: BedSettings) -> Place:
    environment = {"PATH": execution.PATH, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
    if settings.libraries:
        environment["LD_LIBRARY_PATH"] = settings.libraries
    return Place(
        lower=(WORK / "layer", WORK / "tree"),
        folder=WORK / "nodes",
        shared=WORK / "shared",
        cgroups=CGROUPS,
        nspawn=Path(settings.nspawn),
        environment=environment,
    )


def answer(bed: Bed, connection: socket.socket) -> None:
    """Carry out one request and say what came of it."""
    streams: list[int] = []
    with connection:
        try:
            request, streams = protocol.receive(connection)
            if request:
                protocol.send(connection, {"result": _carry_out(bed, connection, request, streams)})
        except BedError as error:
            _try_to_send(connection, {"error": str(error), "kind": type(error).__name__})
        except BrokenPipeError:
            pass  # the caller did not wait
        except (TypeError, KeyError, OSError, subprocess.SubprocessError) as error:
            _try_to_send(connection, {"error": f"{type(error).__name__}: {error}", "kind": "BedError"})
        finally:
            for stream in streams:
                os.close(stream)


def _carry_out(bed: Bed, connection: socket.socket, request: dict[str, Any], streams: list[int]) -> Any:
    operation = request.pop("operation", "")
    if operation == "execute":
        return bed.execute(connection, streams, **request)
    if operation not in bed.operations:
        raise BedError(f'got operation "{operation}"; allowed: execute, {", ".join(bed.operations)}')
    return bed.operations[operation](**request)


def _try_to_send(connection: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        protocol.send(connection, message)


def _accept(bed: Bed, server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(bed, connection), daemon=True).start()


def serve(settings: BedSettings) -> int:
    """Be the bed until it is told to stop; says ``{"ready": ...}`` or ``{"error": ...}`` on standard output."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(settings.socket)  # before /run is hidden: it is the host's that others see
    server.listen(128)
    try:
        bed = prepare(settings)
    except (BedError, OSError, subprocess.SubprocessError) as error:
        print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201 - the answer to the supervisor's caller
        return 1
    threading.Thread(target=_accept, args=(bed, server), daemon=True).start()
    print(json.dumps({"ready": settings.socket}), flush=True)  # noqa: T201
    bed.stopping.wait()
    return 0


def reap_until_end(child: int) -> int:
    """What the first process of a process id namespace has to do: wait for orphans, until its own child ends."""
    while True:
        process_id, status = os.wait()
        if process_id == child:
            return os.waitstatus_to_exitcode(status)


def main() -> None:
    settings = BedSettings(**json.loads(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = os.fork()
    code = serve(settings) if child == 0 else reap_until_end(child)
    sys.stdout.flush()
    os._exit(code)  # whatever threads still do: with the first process, the kernel ends all others


if __name__ == "__main__":
    main()
