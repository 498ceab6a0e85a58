"""The same requests as AWS::SageMaker::Cluster, against the resource schema that cfn-lint ships."""

import functools
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regex  # type: ignore[import-untyped]  # the schema's patterns use Unicode classes, which re has not
from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

from hyperpod_constructs.api_request import create_cluster_request
from tests.core.test_requests import CASES

# What the API takes and the resource does not, by the path of the request. Each is a reason not to use the resource.
_DIFFERENCES = {
    "InstanceGroups.AutoPatchConfig: IdleWaitWindowInSeconds": "newer than the resource",
    "InstanceGroups.OnStartDeepHealthChecks: 'MultiNodeTrainingValidation' is not one of "
    "['InstanceStress', 'InstanceConnectivity']": "newer than the resource",
}


def _pattern(_: Any, pattern: str, text: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(text, str) and not regex.search(pattern, text):
        yield ValidationError(f"{text!r} does not match {pattern!r}")


_Validator = extend(Draft7Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


@functools.cache
def _schema() -> dict[str, Any]:
    # Read as files: importing cfn-lint costs a second.
    spec = importlib.util.find_spec("cfnlint")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "data" / "schemas"
    name = json.loads((folder / "providers" / "us-east-1.json").read_text())["AWS::SageMaker::Cluster"]
    schema: dict[str, Any] = json.loads((folder / "resources" / f"{name}.json").read_text())
    return schema


def _differences(request: dict[str, Any]) -> set[str]:
    found = set()
    for error in _Validator(_schema()).iter_errors(request):
        where = ".".join(str(part) for part in error.path if not isinstance(part, int))
        unknown = (
            set(error.instance) - set(error.schema.get("properties", {})) if isinstance(error.instance, dict) else []
        )
        found |= {f"{where}: {name}" for name in unknown} or {f"{where}: {error.message}"}
    return found


@pytest.mark.parametrize("name", [name for name in CASES if name != "everything"])
def test_a_request_is_also_a_valid_resource(name: str) -> None:
    assert _differences(create_cluster_request(*CASES[name])) == set()


def test_the_request_with_everything_differs_only_in_what_the_resource_does_not_have_yet() -> None:
    assert _differences(create_cluster_request(*CASES["everything"])) == set(_DIFFERENCES)


def test_the_schema_is_not_blind() -> None:
    request = create_cluster_request(*CASES["documented"])
    request["InstanceGroups"][0]["InstanceGroupName"] = "not_a_name"
    request["ClusterSize"] = 3
    assert len(_differences(request)) == 2
