"""``hyperpod-slurm render``: thin; what is written is made in ``rendering``."""

from __future__ import annotations

import enum
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import usage_error

if TYPE_CHECKING:
    from .rendering import Rendering

HELP = """Write the CreateCluster request and node_config.json of a cluster without deploying anything.

CONFIG is a cluster file, a synthesized app, or a request. Without --output both documents are printed as one JSON
object. With --format classic a folder of the older form is written: create_cluster.json, and lifecycle_files/ with
provisioning_parameters.json and the scripts.

Example: hyperpod-slurm render cluster.yaml

Example: hyperpod-slurm render cluster.yaml --format classic --output by-hand --scripts-uri s3://sagemaker-mine/src
"""


class Format(enum.StrEnum):
    """Which form of a cluster."""

    API = "api"
    CLASSIC = "classic"


def render(
    config: Annotated[Path, typer.Argument(help="Cluster file, request, template or cdk.out.", show_default=False)],
    form: Annotated[Format, typer.Option("--format", help="The form to write.")] = Format.API,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder to write.")] = None,
    scripts_uri: Annotated[
        str | None, typer.Option("--scripts-uri", help="With --format classic: where the scripts will be uploaded.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the folder.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Which of the clusters of an app.")] = None,
) -> None:
    """Render (the help text is HELP)."""
    from .reading import load_one
    from .rendering import api_documents, api_rendering, classic_rendering
    from .screen import print_json, tell

    if form is Format.CLASSIC and output is None:
        raise usage_error("--format classic writes a folder; give it with --output")
    if scripts_uri is not None and (form is not Format.CLASSIC or not scripts_uri.startswith("s3://")):
        raise usage_error(f"got --scripts-uri {scripts_uri}, allowed: s3://<bucket>/<prefix>, with --format classic")
    loaded = load_one(config, cluster)
    loaded.must_be_sound()
    if output is not None:
        is_classic = form is Format.CLASSIC
        rendering = classic_rendering(loaded, scripts_uri, output) if is_classic else api_rendering(loaded)
        _write(rendering, output, force)
        return
    for note in api_rendering(loaded).notes:
        tell(note)
    print_json({name.removesuffix(".json"): document for name, document in api_documents(loaded).items()})


def _write(rendering: Rendering, output: Path, force: bool) -> None:
    from .files import write_folder
    from .screen import tell

    write_folder(output, rendering.files, replace=force)
    for note in rendering.notes:
        tell(note)
    tell(f"wrote {len(rendering.files)} files to {output}")
