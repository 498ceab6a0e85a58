"""The clusters of a synthesized CDK app: cdk.out, or one template. Values of the deployment stay placeholders."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.checking.outcome import Check, Outcome
from hyperpod_constructs.cli.failures import CommandError

from .documents import read_text
from .loaded import Loaded, checks_of, group_checks
from .request_file import check_request

if TYPE_CHECKING:
    from pathlib import Path

RESOURCE_TYPE = "Custom::HyperPodCluster"
RULE = "custom-resource"


def is_template(value: Any) -> bool:
    """Whether a document is a CloudFormation template."""
    return isinstance(value, Mapping) and isinstance(value.get("Resources"), Mapping)


def load_folder(folder: Path) -> list[Loaded]:
    """Every cluster of a cloud assembly.

    Raises:
        CommandError: the folder holds none.
    """
    found = [loaded for template in _templates(folder) for loaded in load_template(template)]
    if not found:
        raise CommandError(f"{folder}: no {RESOURCE_TYPE} in any template of it; run cdk synth in the app's folder")
    return found


def load_template(path: Path) -> list[Loaded]:
    """Every cluster of a template.

    Raises:
        CommandError: the file is no JSON.
    """
    return [_load(path, logical_id, resource) for logical_id, resource in _clusters(_json(path)).items()]


def _templates(folder: Path) -> Iterator[Path]:
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        raise CommandError(f"{folder}: has no manifest.json, so it is no cdk.out; run cdk synth first")
    artifacts = _json(manifest).get("artifacts", {})
    for artifact in artifacts.values() if isinstance(artifacts, Mapping) else ():
        properties = artifact.get("properties", {})
        if artifact.get("type") == "aws:cloudformation:stack":
            yield folder / properties.get("templateFile", "")
        elif artifact.get("type") == "cdk:cloud-assembly":
            yield from _templates(folder / properties.get("directoryName", ""))


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise CommandError(f"{path}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from None
    if not isinstance(value, dict):
        raise CommandError(f"{path}: holds something else than a JSON object")
    return value


def _clusters(template: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    resources = template.get("Resources", {})
    return {name: item for name, item in resources.items() if item.get("Type") == RESOURCE_TYPE}


def properties_of(template: Mapping[str, Any], logical_id: str) -> dict[str, Any] | None:
    """The properties of one cluster of a template, None when it has none of that id.

    Raises:
        ValueError: the JSON text in them is none.
    """
    resource = _clusters(template).get(logical_id)
    return None if resource is None else readable_properties(resource.get("Properties", {}))


def readable_properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties with placeholders in place of intrinsic functions, and JSON texts as objects."""
    plain = resolved(properties)
    groups = plain.get("InstanceGroups", {})
    return {
        **plain,
        "Cluster": _object_of(plain.get("Cluster")),
        "InstanceGroups": {name: _object_of(text) for name, text in groups.items()},
    }


def _object_of(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        # A number that only the deployment knows stands there without quotes; then it counts as not given.
        return _without_nulls(json.loads(_UNQUOTED.sub(r"\1null", text)))


_UNQUOTED = re.compile(r"([:,\[]\s*)\$\{Token\[[^\]]*\]\}(?=\s*[,}\]])")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def resolved(value: Any) -> Any:
    """The value with every intrinsic function replaced by text: what it joins, or a placeholder for what it means."""
    if isinstance(value, list):
        return [resolved(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        name, argument = next(iter(value.items()))
        if name == "Fn::Join" and isinstance(argument, list) and isinstance(argument[1], list):
            return str(argument[0]).join(str(resolved(part)) for part in argument[1])
        if name == "Fn::Sub":
            text = argument[0] if isinstance(argument, list) else argument
            return re.sub(r"\$\{([^!][^}]*)\}", lambda match: placeholder(match[1]), str(text))
        if name == "Ref" or name.startswith("Fn::"):
            return placeholder(_named(argument))
    return {key: resolved(item) for key, item in value.items()}


def _named(argument: Any) -> str:
    if isinstance(argument, list):
        return ".".join(_named(part) for part in argument)
    return argument if isinstance(argument, str) else "value"


def placeholder(name: str) -> str:
    """What stands for a value of the deployment: no rule looks at it."""
    return f"${{Token[{re.sub(r'[^A-Za-z0-9.:_-]', '', name)}]}}"


def _load(path: Path, logical_id: str, resource: Mapping[str, Any]) -> Loaded:
    construct = resource.get("Metadata", {}).get("aws:cdk:path", logical_id)
    where = f"{path}: {str(construct).removesuffix('/Resource/Default').removesuffix('/Resource')}"
    try:
        properties = readable_properties(resource.get("Properties", {}))
        cluster, groups = properties["Cluster"], properties["InstanceGroups"]
        request = {**cluster["Request"], "InstanceGroups": [groups[name] for name in cluster["GroupOrder"]]}
    except (ValueError, KeyError, TypeError) as error:
        text = f"the properties cannot be read ({type(error).__name__}: {error}); synthesize the app again"
        check = Check(outcome=Outcome.FAILED, text=text, rule=RULE, place=where)
        return Loaded(name="", source=where, request={}, checks=[check])
    errors, warnings = check_request({**request, "Tags": properties.get("Tags") or []})
    names = [str(name) for name in cluster["GroupOrder"]]
    wrong = [name for index, name in enumerate(names) if any(f"[{index}]" in one.path for one in errors)]
    return Loaded(
        name=str(request.get("ClusterName", "")),
        source=where,
        request=request,
        checks=[*checks_of(errors, warnings, lambda _: where), *group_checks(names, wrong)],
        properties=properties,
    )
