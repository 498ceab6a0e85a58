"""The check of nodes as tests reach it: its modules, as they lie on a node, and a machine made of files."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ASSETS = Path(__file__).parents[2] / "lifecycle_assets"
# On a node the scripts run from their own folder, which Python puts first on its path.
if str(ASSETS) not in sys.path:
    sys.path.insert(0, str(ASSETS))

from nodelib.precheck.machine import NOT_FOUND, Answer, Machine  # noqa: E402

LUSTRE = "30 1 0:44 / /fsx rw,noatime - lustre 10.1.0.5@tcp:/abcdefgh rw,flock"
LUSTRE_CONFIG: dict[str, Any] = {
    "type": "lustre",
    "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    "mount_name": "abcdefgh",
    "path": "/fsx",
    "efa": False,
}
SHOWN_NODE = "NodeName=here Gres=gpu:{} State=IDLE"


class FakeMachine(Machine):
    """A node made of files below a folder, and of programs that answer as the test says.

    Args:
        root: the folder.
    """

    def __init__(self, root: Path) -> None:
        scripts = root / "opt" / "hyperpod-constructs"
        super().__init__(root, scripts)
        self.programs: dict[str, Answer | Callable[..., Answer]] = {}
        self.account = SimpleNamespace(pw_uid=1000, pw_name="alice", pw_dir="/fsx/home/alice")
        self.put("/proc/self/mountinfo", f"1 0 8:1 / / rw - ext4 /dev/root rw\n{LUSTRE}\n")
        self.process(700, "slurmd")
        self.put("/fsx/home/alice/.profile", "")
        self.own("/fsx/home/alice")

    def own(self, path: str) -> None:
        """Let a folder be the user's: where root runs the tests it is given away, else the user is who runs them."""
        if os.geteuid() == 0:
            os.chown(self.path(path), self.account.pw_uid, -1)
        else:
            self.account.pw_uid = os.geteuid()

    @property
    def host(self) -> str:
        return "here"

    @property
    def user(self) -> Any:
        return self.account

    def put(self, path: str, text: str) -> None:
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def process(self, number: int, name: str) -> None:
        self.put(f"/proc/{number}/comm", f"{name}\n")

    def answer(self, words: str, code: int, text: str = "") -> None:
        self.programs[words] = Answer(code, text)

    def run(self, *words: str, timeout_seconds: float = 20.0, text: str = "") -> Answer:
        line = " ".join(words)
        found = next((self.programs[key] for key in self.programs if line.startswith(key)), None)
        if found is None and "--probe" in words:
            return super().run(*words, timeout_seconds=timeout_seconds)
        if found is None:
            return Answer(NOT_FOUND, "")
        return found(*words, text=text) if callable(found) else found
