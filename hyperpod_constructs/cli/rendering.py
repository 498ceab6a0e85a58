"""What ``render`` writes. Pure but for the reading of the scripts."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hyperpod_constructs import assets
from hyperpod_constructs.classic import SCRIPTS_FOLDER, classic_form
from hyperpod_constructs.node_config import NODE_CONFIG_FILE, node_config
from hyperpod_constructs.user_steps import normalized, user_step_files

from .failures import CommandError
from .reading.requests import read_request, roles_of_request

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hyperpod_constructs.bindings import Bindings
    from hyperpod_constructs.specs import ClusterSpec

    from .reading.loaded import Loaded

REQUEST_FILE = "create_cluster.json"
_UNKNOWN = re.compile(r"\$\{Token\[([^\]]*)\]\}")


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """Files, and what the person must know about them.

    Attributes:
        files: content by path.
        notes: one sentence each.
    """

    files: Mapping[str, bytes]
    notes: tuple[str, ...]


def api_documents(loaded: Loaded) -> dict[str, Any]:
    """The request and, where the input has what they need, the node configuration, by the name of their file."""
    documents: dict[str, Any] = {REQUEST_FILE: dict(loaded.request)}
    if loaded.spec is not None and loaded.bindings is not None:
        documents[NODE_CONFIG_FILE] = node_config(loaded.spec, loaded.bindings)
    return {name: readable(document) for name, document in documents.items()}


def api_rendering(loaded: Loaded) -> Rendering:
    """The two documents as files."""
    files = {name: _json(document) for name, document in api_documents(loaded).items()}
    return Rendering(files=files, notes=_open_notes(files))


def classic_rendering(loaded: Loaded, scripts_uri: str | None, output: Path) -> Rendering:
    """The folder of the older form: the request, and beside it the scripts with their two configurations.

    Args:
        loaded: a sound cluster.
        scripts_uri: where the scripts will be uploaded; a placeholder by default.
        output: the folder, for the advice on the upload.

    Raises:
        CommandError: the input is in the older form already.
    """
    spec, bindings = _specification(loaded)
    form = classic_form(spec, bindings)
    if scripts_uri is not None:
        for group in form.create_cluster["InstanceGroups"]:
            group["LifeCycleConfig"]["SourceS3Uri"] = scripts_uri
    documents = {name: _json(readable(json.loads(text))) for name, text in form.files().items()}
    scripts = {f"{SCRIPTS_FOLDER}/{name}": content for name, content in _scripts(spec).items()}
    uri = form.create_cluster["InstanceGroups"][0]["LifeCycleConfig"]["SourceS3Uri"]
    upload = f"upload the scripts with: aws s3 cp --recursive {output / SCRIPTS_FOLDER} {readable(uri)}"
    left_out = tuple(f"left out, {sentence}" for sentence in form.left_out)
    return Rendering(files={**scripts, **documents}, notes=(*left_out, *_open_notes(documents), upload))


def _specification(loaded: Loaded) -> tuple[ClusterSpec, Bindings]:
    if loaded.is_classic:
        raise CommandError(f"{loaded.source}: is in the classic form already")
    if loaded.spec is not None and loaded.bindings is not None:
        return loaded.spec, loaded.bindings
    reading = read_request(loaded.request, roles_of_request(loaded.request))
    if reading.spec is None:
        raise CommandError(f"{loaded.source}: has no controller group")
    return reading.spec, reading.bindings


def _scripts(spec: ClusterSpec) -> dict[str, bytes]:
    folder = assets.lifecycle_assets()
    shipped = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _is_shipped(path.relative_to(folder))
    }
    own = user_step_files(spec.lifecycle.user_steps)
    return {name: normalized(content) for name, content in {**shipped, **own}.items()}


def _is_shipped(path: Path) -> bool:
    hidden = any(part.startswith(".") or part == "__pycache__" for part in path.parts)
    return not hidden and path.suffix != ".pyc" and path.name != "README.md"


def readable(value: Any) -> Any:
    """Placeholders as a person reads them: ``<DNS name>``."""
    if isinstance(value, str):
        return _UNKNOWN.sub(r"<\1>", value)
    if isinstance(value, dict):
        return {key: readable(item) for key, item in value.items()}
    return type(value)(readable(item) for item in value) if isinstance(value, list | tuple) else value


def _open_notes(files: Mapping[str, bytes]) -> tuple[str, ...]:
    open_values = sorted({name for content in files.values() for name in re.findall(r"<([^<>\"]+)>", content.decode())})
    return (f"to be filled in, since only a deployment knows them: {', '.join(open_values)}",) if open_values else ()


def _json(document: Any) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
