"""``hyperpod-slurm plan``: thin; the planner is the handler's, the words are made in ``planning``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations

if TYPE_CHECKING:
    from .planning.past import Past
    from .planning.words import Report

HELP = """Say what a deployment would call and what it would refuse, group by group, and what becomes of the nodes.

The planner is the one that the deployment runs. CONFIG is a synthesized app (cdk.out) or a cluster file; it is held
against the live cluster and the deployed template, or against a saved answer of describe-cluster. Nothing is changed.
Exit code 1 also when the deployment would be refused.

Example: hyperpod-slurm plan cdk.out

Example: hyperpod-slurm plan cluster.yaml --description described.json --previous cluster-before.yaml
"""


def plan(
    config: Annotated[Path, typer.Argument(help="cdk.out, template, cluster file or request.", show_default=False)],
    description: Annotated[
        Path | None, typer.Option("--description", help="Saved JSON of describe-cluster, instead of the account.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option("--previous", help="What was deployed before: of the same kinds as CONFIG.")
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Which of the clusters of an app.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Plan (the help text is HELP)."""
    from dataclasses import asdict

    from .planning.desired import desired_properties
    from .planning.words import report
    from .reading import load_one
    from .screen import print_json

    loaded = load_one(config, cluster)
    loaded.must_be_sound()
    desired = desired_properties(loaded)
    made = report(desired, _past(desired.name, description, previous, profile, region))
    if as_json:
        print_json(asdict(made))
    else:
        _print(made)
    raise typer.Exit(1 if made.refusals else 0)


def _past(name: str, description: Path | None, previous: Path | None, profile: str | None, region: str | None) -> Past:
    from dataclasses import replace

    from .planning.desired import desired_properties
    from .planning.past import past_of_account, past_of_file
    from .reading import load_one

    past = past_of_file(description) if description else past_of_account(name, account.connect(profile, region))
    if previous is None:
        return past
    return replace(past, previous=desired_properties(load_one(previous, name)), notes=())


_HEADINGS = {
    "create": "would be created",
    "update": "would be changed",
    "nothing": "needs no call",
    "wait": "is busy: the deployment waits, then plans again",
    "refused": "would not be touched: the deployment is refused",
}


def _print(made: Report) -> None:
    from .screen import console, printable

    out = console()
    style = {"refused": "bold red", "nothing": "green"}.get(made.action, "bold")
    out.print(f"{made.cluster} {_HEADINGS[made.action]}", style=style)
    for text in made.changes:
        out.print(printable(f"  {text}"))
    width = max((len(name) for name in made.groups), default=0)
    for name, sentences in made.groups.items():
        for index, sentence in enumerate(sentences):
            quiet = sentence.startswith(("no change", "left alone"))
            out.print(printable(f"  {name if not index else '':{width}}  {sentence}"), style="dim" if quiet else None)
    for text in made.refusals:
        out.print(printable(f"  refused: {text}"), style="red")
    for text in made.notes:
        out.print(printable(f"  note: {text}"), style="yellow")
    if made.calls:
        out.print(f"calls: {', '.join(call['operation'] for call in made.calls)}")
