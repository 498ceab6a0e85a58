"""Reads what a user has: cluster files, requests, the two classic files, synthesized apps.

:func:`load` finds out which of these a path is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hyperpod_constructs.cli.failures import CommandError, usage_error

if TYPE_CHECKING:
    from pathlib import Path

    from .loaded import Loaded


def load(path: Path) -> list[Loaded]:
    """Read and check what a path holds: one cluster, or every cluster of a synthesized app.

    Raises:
        CommandError: it cannot be read at all.
    """
    from .cluster_file import load_cluster_file
    from .documents import read_document
    from .request_file import load_request
    from .template import is_template, load_folder, load_template

    if path.is_dir():
        return load_folder(path)
    if path.name.endswith(".template.json"):
        return load_template(path)
    document = read_document(path)
    if is_template(document.value):
        return load_template(path)
    if isinstance(document.value, Mapping) and "ClusterName" in document.value:
        return [load_request(document)]
    return [load_cluster_file(document)]


def load_one(path: Path, cluster_name: str | None = None) -> Loaded:
    """The one cluster that a path holds, or the one of that name.

    Raises:
        CommandError: there is no such cluster, or it is not said which of several.
    """
    found = load(path)
    if cluster_name is not None:
        found = [loaded for loaded in found if loaded.name == cluster_name]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandError(f"{path}: holds no cluster named {cluster_name}")
    names = ", ".join(loaded.name for loaded in found)
    raise usage_error(f"{path}: holds several clusters, {names}; say which with --cluster")


def load_pair(cluster_config: Path, provisioning_parameters: Path | None) -> Loaded:
    """The two classic files; without the second, a request for continuous provisioning.

    Raises:
        CommandError: one cannot be read.
    """
    from .documents import read_document
    from .request_file import load_classic, load_request

    request = read_document(cluster_config)
    if provisioning_parameters is None:
        if isinstance(request.value, Mapping) and "Orchestrator" not in request.value:
            raise usage_error(f"{cluster_config}: is a request of the older form; give --provisioning-parameters too")
        return load_request(request)
    return load_classic(request, read_document(provisioning_parameters))
