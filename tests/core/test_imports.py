"""The core stands on the standard library alone."""

import json
import subprocess
import sys

import pytest

_CORE = (
    "errors",
    "options",
    "specs",
    "limits",
    "instance_types",
    "bindings",
    "api_fields",
    "api_request",
    "node_config",
    "tokens",
    "rules",
    "config",
    "classic",
    "payload",
)


def _modules_after(code: str) -> set[str]:
    """The modules that a new interpreter has loaded after running the code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(run.stdout))


def test_the_core_loads_neither_the_cdk_nor_an_aws_client_nor_anything_installed() -> None:
    names = ", ".join(f"hyperpod_constructs.{name}" for name in _CORE)
    loaded = {name.partition(".")[0] for name in _modules_after(f"import {names}")}
    installed = loaded - set(sys.stdlib_module_names) - _modules_after("pass")
    assert installed == {"hyperpod_constructs"}


@pytest.mark.parametrize("name", ["ComputeGroup", "validate", "SpecError", "node_config"])
def test_names_of_the_core_are_had_from_the_package_without_the_cdk(name: str) -> None:
    loaded = _modules_after(f"from hyperpod_constructs import {name}")
    assert not {"aws_cdk", "jsii", "boto3", "botocore"} & loaded
