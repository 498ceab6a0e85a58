"""``hyperpod-slurm validate``: thin; the rules are the core's, the looks at the account in ``checking``."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import account
from .account import ProfileOption, RegionOption  # noqa: TC001 - Typer reads the annotations
from .failures import usage_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .checking.outcome import Check
    from .reading.loaded import Loaded

HELP = """Check a cluster before anything is deployed or billed: one line a check, and a verdict.

CONFIG is a cluster file (YAML or JSON), a synthesized app (cdk.out, or one template), or a CreateCluster request.
With --cluster-config and --provisioning-parameters the two classic files are checked and held against each other.
With credentials the account is looked at too: subnets, security groups, file systems, roles, buckets.

Example: hyperpod-slurm validate cluster.yaml

Example: hyperpod-slurm validate --cluster-config create_cluster.json --provisioning-parameters
provisioning_parameters.json --region us-east-1
"""

OFFLINE_ADVICE = "--offline leaves the account out"


def validate(
    config: Annotated[
        Path | None, typer.Argument(help="Cluster file, request, template or cdk.out.", show_default=False)
    ] = None,
    cluster_config: Annotated[
        Path | None, typer.Option("--cluster-config", help="create_cluster.json of the classic form.")
    ] = None,
    provisioning_parameters: Annotated[
        Path | None, typer.Option("--provisioning-parameters", help="provisioning_parameters.json beside it.")
    ] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Look at the files only, not at the account.")] = False,
    profile: ProfileOption = None,
    region: RegionOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks as JSON.")] = False,
) -> None:
    """Validate (the help text is HELP)."""
    from .checking.outcome import exit_code, verdict
    from .screen import print_checks, print_json

    clusters = _load(config, cluster_config, provisioning_parameters)
    checks = [check for loaded in clusters for check in loaded.checks]
    if not offline:
        checks += _account(clusters, profile, region)
    if as_json:
        answer: dict[str, Any] = {"verdict": verdict(checks).value, "checks": [check.as_dict() for check in checks]}
        print_json({"clusters": [loaded.name for loaded in clusters], **answer})
    else:
        print_checks(checks, subject="Cluster Validation")
    raise typer.Exit(exit_code(checks))


def _load(config: Path | None, cluster_config: Path | None, parameters: Path | None) -> list[Loaded]:
    from .reading import load, load_pair

    if config is not None and (cluster_config is not None or parameters is not None):
        raise usage_error("got CONFIG and the classic files, allowed: one of them")
    if cluster_config is not None:
        return [load_pair(cluster_config, parameters)]
    if parameters is not None:
        raise usage_error("--provisioning-parameters goes with --cluster-config; give both")
    if config is None:
        raise usage_error("give a cluster file, cdk.out, or --cluster-config with --provisioning-parameters")
    return load(config)


def _account(clusters: Sequence[Loaded], profile: str | None, region: str | None) -> list[Check]:
    from .checking.account import account_checks
    from .checking.outcome import unknown
    from .checking.subject import subject_of

    try:
        clients = account.connect(profile, region)
    except account.AccountError as error:
        if profile or region:
            raise
        return [unknown(f"the account was not looked at: {error}; {OFFLINE_ADVICE}")]
    return [
        check for loaded in clusters for check in account_checks(subject_of(loaded.request, loaded.parameters), clients)
    ]
