"""``hyperpod-slurm rehearse``: thin; the story is in rehearsal.runner."""

from __future__ import annotations

import os
import signal
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from types import FrameType

HELP = (
    "Deploy a CDK app to an emulated AWS on this machine, show the cluster it makes, and destroy it.\n\n"
    "The unmodified CDK CLI deploys; the custom resource's own code runs and talks to a HyperPod service that follows "
    "the documented rules. Where this machine allows (Linux, root), the first instances of each group are real Slurm "
    "nodes, set up by the scripts that the deployment uploaded. No AWS account, nothing but the loopback address, "
    "nothing left running. The tools are "
    "installed into .rehearsal/ (or $HYPERPOD_REHEARSAL_DIR) the first time."
)
DEFAULT_APP = "python app.py"


def rehearse(
    app: Annotated[str, typer.Option(help="The command that runs the CDK app, as for cdk --app.")] = DEFAULT_APP,
    capacity: Annotated[
        list[str] | None,
        typer.Option(
            help="Instances that can be had: GROUP=COUNT, or GROUP=COUNT@SECONDS,COUNT@SECONDS for a schedule; an "
            "instance type may stand for the group. Repeatable. Compute groups without one get 2; the service reports "
            "insufficient capacity for the rest and keeps trying."
        ),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", "-c", metavar="KEY=VALUE", help="CDK context for the app. Repeatable."),
    ] = None,
    fail_controller: Annotated[
        bool,
        typer.Option(
            "--fail-controller", help="Let the controller's lifecycle script fail, to see what the deployment says."
        ),
    ] = False,
    region: Annotated[str, typer.Option(help="The emulated region.")] = "us-east-1",
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65534,
            help="Port of the emulated AWS; the HyperPod service takes the next. Free ones by default.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="Where the tools and the logs are kept (default: $HYPERPOD_REHEARSAL_DIR or .rehearsal)."
        ),
    ] = None,
    nodes: Annotated[
        str,
        typer.Option(
            metavar="auto|none|COUNT",
            help="How many instances of each group become real Slurm nodes (Linux with apt, as root): auto, the "
            "default, for 2 where this machine can carry them; the others are simulated.",
        ),
    ] = "auto",
    suite: Annotated[
        str, typer.Option(help="The Debian release of the nodes: trixie has Slurm 24.11, forky 26.05.")
    ] = "trixie",
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Leave it up after the deployment and say how to look at it. The same as KEEP=1."),
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="End the rehearsals that were left up, and do nothing else.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also say each step of the stack.")] = False,
) -> None:
    """Rehearse (the help text is HELP)."""
    from hyperpod_constructs.rehearsal import progress, runner
    from hyperpod_constructs.rehearsal.failures import RehearsalError

    if stop:
        _stop(runner.stop_kept(folder))
        return
    tell = progress.for_terminal(verbose=verbose)
    _end_like_an_interrupt_on_termination()
    try:
        story = runner.Story(
            app=app,
            context=context_of(context or []),
            root=folder,
            region=region,
            port=port,
            capacity=tuple(capacity or ()),
            fail_controller=runner.CONTROLLER_FAILURE if fail_controller else None,
            nodes=nodes,
            suite=suite,
            keep=keep or os.environ.get("KEEP", "") not in ("", "0"),
        )
        left = runner.rehearse(story, tell)
    except RehearsalError as error:
        tell.abandon()
        typer.echo(f"hyperpod-slurm: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        tell.abandon()
        typer.echo("hyperpod-slurm: interrupted; everything that was started has ended", err=True)
        raise typer.Exit(130) from None
    if left:
        raise typer.Exit(1)


def context_of(pairs: list[str]) -> dict[str, str]:
    """``KEY=VALUE`` texts as a mapping. Raises typer.BadParameter on one without ``=`` or without a key."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"got {pair!r}, expected KEY=VALUE", param_hint="--context")
        found[key] = value
    return found


def _stop(count: int) -> None:
    typer.echo(f"ended {count} rehearsal{'' if count == 1 else 's'}" if count else "no rehearsal was left up")


def _end_like_an_interrupt_on_termination() -> None:
    """SIGTERM and a closed terminal unwind as Ctrl-C does, so that every process is ended in order."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
