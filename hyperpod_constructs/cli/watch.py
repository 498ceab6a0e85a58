"""``hyperpod-slurm watch``: thin; the loop, the picture and its drawing are in ``live``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations
from .live.picture import Ending, ReadyWhen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .live.picture import Picture
    from .live.watching import Watch

HELP = """Follow a cluster until it is ready, has failed or is gone.

On a terminal: a bar for each instance group (the minimum marked), node states, the newest events with repeats
counted, the time and an estimate. Elsewhere: one line for each thing that changed. A failure ends with its cause.
Exit codes: 1 also when the cluster has failed, or is not ready when --timeout is over.

Example: hyperpod-slurm watch my-training-cluster

Example: hyperpod-slurm watch my-training-cluster --until in-service --timeout 60
"""


def watch(
    cluster: Annotated[str, typer.Argument(help="Name or ARN of the cluster.", show_default=False)],
    until: Annotated[
        ReadyWhen,
        typer.Option("--until", help="Ready means: all instances, each group's minimum, or controller and login."),
    ] = ReadyWhen.ALL,
    interval: Annotated[float, typer.Option("--interval", min=1, max=600, help="Seconds between two looks.")] = 10,
    timeout: Annotated[float | None, typer.Option("--timeout", min=0, help="Minutes after which to give up.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Plain lines on a terminal too.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Watch (the help text is HELP)."""
    from .live.watching import Watch, pictures

    watched = Watch(account.connect(profile, region), cluster, until)
    looks = pictures(watched, interval, None if timeout is None else timeout * 60)
    is_terminal = sys.stdout.isatty() and not plain
    raise typer.Exit(_ended(watched, _draw(looks) if is_terminal else _print(looks), timeout))


def _print(looks: Iterator[Picture]) -> Picture:
    from .live.drawing import plain_lines

    before = None
    for shown in looks:
        for line in plain_lines(before, shown):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        before = shown
    assert before is not None  # noqa: S101 - the first look gives a picture or raises
    return before


def _draw(looks: Iterator[Picture]) -> Picture:
    from rich.live import Live

    from .live.clock import now
    from .live.drawing import Screen
    from .screen import console

    newest = next(looks)
    with Live(
        get_renderable=lambda: Screen(newest, max(0.0, now() - newest.at)), console=console(), refresh_per_second=4
    ) as live:
        for newest in looks:  # noqa: B007 - the drawing reads it
            live.refresh()
    return newest


def _ended(watched: Watch, last: Picture, timeout: float | None) -> int:
    from .screen import can_show, tell

    if last.ending is Ending.READY:
        tell(f"{'✅ ' if can_show('✅') else ''}{last.name} is ready: {last.current} of {last.target} instances")
        return 0
    if last.ending is Ending.GONE:
        tell(f"{last.name} is gone")
        return 0
    if last.ending is Ending.FAILED:
        tell(f"{'❌ ' if can_show('❌') else ''}{last.name} has failed: {watched.cause()}")
        return 1
    tell(f"{last.name} is not ready after {timeout:g} min: {last.current} of {last.target} instances, {last.status}")
    return 1
