"""How the rehearsal says what it does: a spinner and a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichBar
    from rich.progress import TaskID


class Progress(Protocol):
    """What the rehearsal tells."""

    def step(self, text: str) -> None:
        """A new step begins; the one before is done."""

    def detail(self, text: str, done: int = 0, total: int = 0) -> None:
        """What the step is doing now, and how far it is, if that is known (``total`` above 0)."""

    def line(self, text: str = "") -> None:
        """Text that stays."""

    def close(self) -> None:
        """The last step is over."""


class Silent:
    """Tells nothing; for tests and for callers who only want the result."""

    def step(self, text: str) -> None:
        """Nothing."""

    def detail(self, text: str, done: int = 0, total: int = 0) -> None:
        """Nothing."""

    def line(self, text: str = "") -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class PlainLines:
    """A line for each step with the seconds since the start, and details only when ``verbose``."""

    def __init__(self, stream: TextIO | None = None, *, verbose: bool = False) -> None:
        self._stream = stream or sys.stdout
        self._verbose = verbose
        self._started = time.monotonic()
        self._last_detail = ""

    def step(self, text: str) -> None:
        self.line(f"[{time.monotonic() - self._started:4.0f} s] {text}")

    def detail(self, text: str, done: int = 0, total: int = 0) -> None:
        if self._verbose and text != self._last_detail:
            self._last_detail = text
            self.line(f"         {text}")

    def line(self, text: str = "") -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing is open."""

    def abandon(self) -> None:
        """Nothing is open."""


class LiveSteps:
    """The current step with a spinner, its seconds and a bar while a stack is being worked on.

    Finished steps stay as lines.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._bar: RichBar | None = None
        self._task: TaskID | None = None
        self._text = ""
        self._step_started = 0.0

    def step(self, text: str) -> None:
        self.close()
        self._text, self._step_started = text, time.monotonic()
        self._bar, self._task = self._start(text)

    def detail(self, text: str, done: int = 0, total: int = 0) -> None:
        if self._bar is None or self._task is None:
            return
        if self._verbose:
            self._bar.console.print(f"  {text}", style="dim", markup=False, highlight=False)
        self._bar.update(self._task, detail=text, completed=done, total=total or None)

    def line(self, text: str = "") -> None:
        self.close()
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        if self._bar is None:
            return
        self._bar.stop()
        self._bar = None
        seconds = time.monotonic() - self._step_started
        self._console.print(f"[green]✓[/green] {self._text} [dim]({seconds:.0f} s)[/dim]", highlight=False)

    def abandon(self) -> None:
        """The current step failed: take its spinner away without calling it done."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
            self._console.print(f"[red]✗[/red] {self._text}", highlight=False)

    def _start(self, text: str) -> tuple[RichBar, TaskID]:
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[detail]}[/dim]", markup=True),
            console=self._console,
            transient=True,
        )
        bar.start()
        return bar, bar.add_task(escape(text), total=None, detail="")


def for_terminal(*, verbose: bool = False) -> PlainLines | LiveSteps:
    """The right one for this process's standard output."""
    from rich.console import Console

    console = Console()
    return LiveSteps(console, verbose=verbose) if console.is_terminal else PlainLines(verbose=verbose)
