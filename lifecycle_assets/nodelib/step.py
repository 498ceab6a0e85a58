"""What a step is, and what it is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nodelib.identity import Identity
from nodelib.node_config import FEATURE_DEFAULTS, NODE_TYPES, Group, NodeConfig
from nodelib.node_files import NodeFiles
from nodelib.runner import Runner
from nodelib.waiting import Clock

BOTH_STYLES = ("on_create", "on_init_complete")


@dataclass
class Context:
    """Everything that a step may use.

    Attributes:
        scripts: folder of the running script set, with node_config.json in it.
        notes: short remarks that end up on the step's log line.
        output: lines of a user's script, which are logged before that line.
    """

    config: NodeConfig
    identity: Identity
    style: str
    files: NodeFiles
    runner: Runner
    clock: Clock
    scripts: Path
    notes: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)

    @property
    def group(self) -> Group:
        """This node's instance group."""
        return self.identity.group

    @property
    def node_type(self) -> str:
        """``controller``, ``login`` or ``compute``."""
        return self.identity.group.node_type

    def note(self, remark: str) -> None:
        """Put a remark on the step's log line."""
        self.notes.append(remark)

    def show(self, text: str) -> None:
        """Log the lines of a user's script."""
        self.output += text.splitlines()

    def did(self, change: str) -> None:
        """Count a change that is no file: a daemon started, a user added."""
        self.files.changed.append(change)


@dataclass(frozen=True)
class Step:
    """One thing to be done on a node.

    Attributes:
        name: as it appears in the log and on the command line.
        summary: what it does, for the table in docs/lifecycle.md.
        run: does it; raises :class:`nodelib.errors.LifecycleError` with the cause if it cannot.
        node_types: where it runs.
        styles: in which styles it runs.
        feature: the feature of node_config.json that switches it; always on if empty.
        required: whether its failure fails the node; otherwise it is noted and passed over.
        timeout_seconds: its bound.
        on_demand: runs only when asked for by name, from a timer for example.
    """

    name: str
    summary: str
    run: Callable[[Context], None]
    node_types: tuple[str, ...] = NODE_TYPES
    styles: tuple[str, ...] = BOTH_STYLES
    feature: str = ""
    required: bool = True
    timeout_seconds: float = 60
    on_demand: bool = False

    def __post_init__(self) -> None:
        if self.feature and self.feature not in FEATURE_DEFAULTS:
            raise ValueError(f"step {self.name}: unknown feature {self.feature!r}")

    def applies(self, config: NodeConfig, node_type: str, style: str) -> bool:
        """Whether it runs on such a node."""
        wanted = not self.feature or config.enabled(self.feature)
        return wanted and node_type in self.node_types and style in self.styles
