"""The commands of ``hyperpod-slurm`` put together. A command's module is imported when it is called, not before."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

from hyperpod_constructs import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

EXIT_CODES = "Exit codes: 0 done, 1 failed (one message on standard error says why), 2 wrong usage, 130 interrupted."
CHECK_CODES = (
    "Exit codes: 0 everything passed, 1 something failed, 2 wrong usage, 3 nothing failed but something is not known, "
    "130 interrupted."
)

COMMANDS: Mapping[str, str] = {
    "validate": "Check a cluster file, a synthesized app or the two classic files, and the account behind them.",
    "render": "Write the request and the node configuration of a cluster without deploying it.",
    "plan": "Say what a deployment would call and refuse, and what becomes of the nodes.",
    "preflight": "Check quotas, zones, addresses and plans before a deployment.",
    "watch": "Follow a cluster live until it is ready or has failed.",
    "events": "Show the events of a cluster.",
    "nodes": "List the nodes of a cluster.",
    "logs": "Show the log of a node's lifecycle script.",
    "ssh": "Open a session on a node.",
    "ssh-config": "Write the cluster's hosts into ~/.ssh/config.",
    "precheck": "Check the runtime of nodes, or a batch file, before a job.",
    "rehearse": "Deploy a CDK app to an emulated AWS on this machine, show the cluster, and destroy it.",
}
"""Each command with the one line that the list of commands shows; its module has the name with underscores, and in it
a function of that name and its HELP."""

_OF_CHECKS = frozenset({"validate", "preflight", "precheck"})


class LazyCommands(typer.core.TyperGroup):
    """The list of commands costs nothing: a command is put together when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of a cluster's life."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command as the list and the suggestions need it: a name and a line."""
        return typer.core.TyperCommand(cmd_name, help=COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with all its options."""
        if args[0] in COMMANDS:
            return args[0], load(args[0]), args[1:]
        self.commands = {name: self.get_command(ctx, name) for name in COMMANDS}
        return super().resolve_command(ctx, args)


def load(name: str) -> Any:
    """The command of that name with all its options."""
    module = importlib.import_module(f".{name.replace('-', '_')}", __package__)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    codes = CHECK_CODES if name in _OF_CHECKS else EXIT_CODES
    settings = getattr(module, "CONTEXT_SETTINGS", None)
    register = single.command(name, help=f"{module.HELP}\n\n{codes}", context_settings=settings)
    register(getattr(module, name.replace("-", "_")))
    return typer.main.get_command(single)


application = typer.Typer(
    name="hyperpod-slurm",
    help=f"Amazon SageMaker HyperPod clusters orchestrated by Slurm, from the shell.\n\n{EXIT_CODES}",
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Plain help: Rich's needs a Markdown parser, which costs more than everything else together.
    rich_markup_mode=None,
)


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
    """Run the command of ``sys.argv``; gives the exit code. What a user can cause ends in one sentence."""
    from .failures import described

    try:
        application()
    except SystemExit as ended:
        return _exit_code(ended.code)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    except Exception as error:
        text, code = described(error)
        sys.stderr.write(f"hyperpod-slurm: {text}\n")
        return code
    return 0


def _exit_code(code: object) -> int:
    if isinstance(code, int):
        return code
    return 0 if code is None else 1
