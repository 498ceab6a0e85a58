"""A node without a machine: a temporary folder, a clock that does not run, commands that are only recorded."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodelib.engine import Engine, StepResult
from nodelib.errors import StepError
from nodelib.identity import gather, identify
from nodelib.node_config import parse_node_config
from nodelib.node_files import NodeFiles, Owner
from nodelib.runner import Result
from nodelib.step import Context, Step

ASSETS = Path(__file__).parents[2] / "lifecycle_assets"
CONTROLLER, LOGIN, COMPUTE = "10.77.0.10", "10.77.0.11", "10.77.0.20"
NODE_TYPES = {"controller": CONTROLLER, "login": LOGIN, "compute": COMPUTE}


class FakeClock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.events: list[tuple[float, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        due = [event for event in self.events if event[0] <= self.now]
        self.events = [event for event in self.events if event[0] > self.now]
        for _, action in due:
            action()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self.events.append((self.now + seconds, action))


class FakeOwnership:
    """Owners of files, kept in memory by inode (a renamed file keeps its owner): the tests run without root."""

    def __init__(self) -> None:
        self.owners: dict[int, Owner] = {}

    def get(self, path: Path) -> Owner:
        return self.owners.get(path.lstat().st_ino, (0, 0))

    def set(self, path: Path, owner: Owner) -> None:
        self.owners[path.lstat().st_ino] = owner

    @contextmanager
    def acting_as(self, owner: Owner) -> Iterator[None]:
        yield


@dataclass
class Call:
    argv: list[str]
    stdin: str
    secret: bool


@dataclass
class FakeRunner:
    """Records commands; answers by the first matching prefix, the latest registered first."""

    calls: list[Call] = field(default_factory=list)
    answers: list[tuple[tuple[str, ...], Callable[[list[str], str], Result]]] = field(default_factory=list)

    def answer(
        self,
        *prefix: str,
        returncode: int = 0,
        stdout: str = "",
        stderr: str = "",
        does: Callable[[list[str], str], Any] | None = None,
    ) -> None:
        fixed = Result(returncode, stdout, stderr)
        self.answers.insert(0, (prefix, lambda argv, stdin: (does(argv, stdin) if does else None) or fixed))

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: str = "",
        timeout_seconds: float = 60,
        check: bool = True,
        secret: bool = False,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> Result:
        self.calls.append(Call(list(argv), stdin, secret))
        found = (reply for prefix, reply in self.answers if tuple(argv[: len(prefix)]) == prefix)
        result = next(found, lambda _argv, _stdin: Result(0))(list(argv), stdin)
        if check and result.returncode != 0:
            raise StepError(f"{' '.join(argv[:3])}: exit code {result.returncode}: {result.stderr}")
        return result

    @property
    def count(self) -> int:
        return len(self.calls)

    def ran(self, *prefix: str) -> list[list[str]]:
        return [call.argv for call in self.calls if tuple(call.argv[: len(prefix)]) == prefix]


def resource_config(**addresses: str) -> dict[str, Any]:
    """As FACTS 5.7 describes it, for one instance in each group."""
    return {
        "ClusterConfig": {"ClusterName": "demo", "ClusterArn": "arn:aws:sagemaker:us-west-2:111122223333:cluster/abc"},
        "InstanceGroups": [
            {
                "Name": f"{node_type}-group",
                "InstanceType": "ml.m5.xlarge",
                "Instances": [
                    {
                        "InstanceName": f"{node_type}-group-1",
                        "AgentIpAddress": "169.254.9.9",
                        "CustomerIpAddress": address,
                        "InstanceId": f"i-{node_type}",
                    }
                ],
            }
            for node_type, address in {**NODE_TYPES, **addresses}.items()
        ],
    }


def fib_trie(address: str) -> str:
    return (
        "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.77.0.0\n        /16 link UNICAST\n"
        f"     |-- {address}\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n"
    )


def node_config(*, style: str = "on_create", **changes: Any) -> dict[str, Any]:
    """A complete document of the present version; keywords replace its keys."""
    lustre = {"type": "lustre", "dns_name": "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"}
    mounts = [{**lustre, "mount_name": "abcdefgh", "path": "/fsx", "efa": False}]
    groups = {
        f"{node_type}-group": {
            "node_type": node_type,
            "style": style,
            "partitions": ["train"] if node_type == "compute" else [],
            "mounts": mounts,
        }
        for node_type in NODE_TYPES
    }
    base = {"version": 1, "cluster_name": "demo", "groups": groups, "accounting": {"kind": "on_controller"}}
    return {**base, "users": [], **changes}


class Machine:
    """One node without a machine: files below a temporary root, fake clock, recorded commands."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = FakeClock()
        self.runner = FakeRunner()
        self.ownership = FakeOwnership()
        self.files = NodeFiles(root, self.ownership)
        self.scripts = root / "scripts"
        self.log: list[str] = []
        self.units: dict[str, dict[str, str]] = {}

    def put(self, path: str, text: str, mode: int = 0o644) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(mode)

    def get(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text(encoding="utf-8")

    def is_node(self, node_type: str, resources: dict[str, Any] | None = None) -> None:
        self.put("/proc/net/fib_trie", fib_trie(NODE_TYPES[node_type]))
        self.put("/opt/ml/config/resource_config.json", json.dumps(resources or resource_config()))

    def context(self, node_type: str, document: dict[str, Any] | None = None, style: str = "on_create") -> Context:
        self.is_node(node_type)
        config = parse_node_config(document or node_config(style=style))
        identity = identify(gather(config, self.root))
        assert not isinstance(identity, str), identity
        return Context(config, identity, style, self.files, self.runner, self.clock, self.scripts)

    def run(self, context: Context, *steps: Step) -> list[StepResult]:
        return Engine(context, self.log.append).run(steps)

    @staticmethod
    def result(returncode: int, stderr: str = "") -> Result:
        return Result(returncode, "", stderr)

    def snapshot(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and "var/log/provision" not in str(path)
        }


def units(machine: Machine, *names: str, **start_commands: str) -> None:
    """Give the machine a systemd with these units, stopped and disabled; it follows the commands it is given."""
    for name in names:
        machine.units[name] = {
            "LoadState": "loaded",
            "ActiveState": "inactive",
            "UnitFileState": "disabled",
            "ExecStart": start_commands.get(name, ""),
        }

    def show(argv: list[str], _stdin: str) -> Result:
        blocks = (machine.units.get(name, {"LoadState": "not-found"}) for name in argv[3:])
        return Result(0, "\n\n".join("\n".join(f"{k}={v}" for k, v in block.items()) for block in blocks))

    def change(argv: list[str], _stdin: str) -> None:
        unit = machine.units.get(argv[-1], {})
        if argv[1] in ("enable", "disable"):
            unit["UnitFileState"] = f"{argv[1]}d"
        if "--now" in argv or argv[1] in ("start", "restart", "stop"):
            unit["ActiveState"] = "inactive" if argv[1] in ("disable", "stop") else "active"

    machine.runner.answer("systemctl", does=change)
    machine.runner.answer("systemctl", "show", does=show)


def run_entry(
    folder: Path, root: Path, *arguments: str, entry: str = "on_create.sh"
) -> "subprocess.CompletedProcess[str]":
    """Run an entry script as the platform does: HOME unset, no terminal, umask 077."""
    return subprocess.run(
        ["bash", entry, *arguments],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HYPERPOD_NODE_ROOT": str(root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        umask=0o077,
        timeout=20,
        check=False,
    )
