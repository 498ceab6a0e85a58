"""The commands of ``hyperpod-slurm`` put together."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hyperpod_constructs import __version__

from . import rehearse

EXIT_CODES = "Exit codes: 0 done, 1 failed (one message on standard error says why), 2 wrong usage, 130 interrupted."

application = typer.Typer(
    name="hyperpod-slurm",
    help=f"Amazon SageMaker HyperPod clusters orchestrated by Slurm, from the shell.\n\n{EXIT_CODES}",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
application.command("rehearse", help=f"{rehearse.HELP}\n\n{EXIT_CODES}")(rehearse.rehearse)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hyperpod-constructs {__version__}")
        raise typer.Exit


@application.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """What all commands share."""


def run() -> int:
    """Run the command of ``sys.argv``; gives the exit code."""
    try:
        application()
    except SystemExit as ended:
        return _exit_code(ended.code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    return 0


def _exit_code(code: object) -> int:
    if isinstance(code, int):
        return code
    return 0 if code is None else 1
