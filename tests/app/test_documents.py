"""What the pages say of permissions and endpoints is what the code does."""

import json
import re
from importlib.resources import files
from typing import Any

import pytest

from hyperpod_constructs.endpoints import ENDPOINTS
from tests.app.support import APPS, ROOT, resources

AUTHORIZATION = json.loads((files("cfnlint") / "data/AdditionalSpecs/Policies.json").read_text())
# Where the service prefix of IAM is not the second part of a resource type in lower case.
_PREFIXES = {"stepfunctions": "states"}
# Made by the custom resources' functions, not by CloudFormation itself.
_CUSTOM = "Custom::"


def _deploy_policy() -> dict[str, Any]:
    (block,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/identity.md").read_text(), re.DOTALL)
    policy: dict[str, Any] = json.loads(block)
    return policy


def _actions() -> list[str]:
    return [action for statement in _deploy_policy()["Statement"] for action in statement["Action"]]


def test_every_action_of_the_deploy_role_exists_and_is_listed_once_in_a_statement() -> None:
    for statement in _deploy_policy()["Statement"]:
        assert len(statement["Action"]) == len(set(statement["Action"]))
        for action in statement["Action"]:
            service, name = action.split(":")
            assert name.lower() in {key.lower() for key in AUTHORIZATION[service]["Actions"]}, action


@pytest.mark.parametrize("name", APPS)
def test_the_deploy_role_may_make_and_delete_every_kind_of_resource(name: str) -> None:
    services = {action.split(":")[0] for action in _actions() if ":Create" in action or ":Put" in action}
    for _, logical_id, resource in resources(name):
        kind = resource["Type"]
        if kind.startswith(_CUSTOM) or kind == "AWS::KMS::Key":
            continue
        service = kind.split("::")[1].lower()
        assert _PREFIXES.get(service, service) in services, (logical_id, kind)


def test_only_the_network_and_descriptions_are_allowed_on_every_resource() -> None:
    anywhere = {statement["Sid"] for statement in _deploy_policy()["Statement"] if statement["Resource"] == "*"}
    assert anywhere == {"Network", "Describe"}


def test_the_page_on_networks_lists_every_endpoint() -> None:
    page = (ROOT / "docs/network.md").read_text()
    for endpoint in ENDPOINTS:
        assert re.search(rf"^\| [^|]*\b{re.escape(endpoint.service)}\b", page, re.MULTILINE), endpoint.service
