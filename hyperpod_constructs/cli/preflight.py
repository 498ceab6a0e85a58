"""``hyperpod-slurm preflight``: thin; the looks are in ``checking``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import Annotated

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations

HELP = """Check, before a deployment, what the account and its zones can give: quotas, offers, addresses, plans.

Looked at: the quota of each instance type "for cluster usage", the cluster's size, network interfaces; whether each
type is offered in the zone of its subnet; free addresses; training plans; the service-linked role; this machine's
SDK; the CDK's bootstrap stack. What may not be looked at is unknown, with the permission that is missing.

Example: hyperpod-slurm preflight cluster.yaml --region us-east-1

Example: hyperpod-slurm preflight cdk.out --json
"""


def preflight(
    config: Annotated[Path, typer.Argument(help="Cluster file, request, template or cdk.out.", show_default=False)],
    cluster: Annotated[str | None, typer.Option("--cluster", help="Which of the clusters of an app.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
) -> None:
    """Check the account (the help text is HELP)."""
    from .checking.account import PREFLIGHT, account_checks
    from .checking.outcome import exit_code, verdict
    from .checking.subject import subject_of
    from .reading import load_one
    from .screen import print_checks, print_json

    loaded = load_one(config, cluster)
    loaded.must_be_sound()
    subject = subject_of(loaded.request, loaded.parameters)
    checks = account_checks(subject, account.connect(profile, region), PREFLIGHT)
    if as_json:
        print_json({"verdict": verdict(checks).value, "checks": [check.as_dict() for check in checks]})
    else:
        print_checks(checks, subject="Preflight")
    raise typer.Exit(exit_code(checks))
