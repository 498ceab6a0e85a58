"""The app of this repository, synthesized: what the commands make of cdk.out."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.cli.reading import load_one
from tests.cli.live_support import Live
from tests.cli.support import Command, FakeClient
from tests.cli.test_plan import OWNER

pytestmark = pytest.mark.synth
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app") / "cdk.out"
    subprocess.run(
        [sys.executable, "app.py"],
        cwd=REPOSITORY,
        env=os.environ | {"CDK_OUTDIR": str(folder)},
        check=True,
        capture_output=True,
        timeout=120,
    )
    return folder


def deployed(value: Any) -> Any:
    """The value as CloudFormation would resolve it: something of the right form for each reference."""
    if isinstance(value, dict):
        return {key: deployed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [deployed(item) for item in value]
    if not isinstance(value, str):
        return value
    forms = {
        "Arn": "arn:aws:iam::111122223333:role/hyperpod-nodes",
        "Bucket": "sagemaker-scripts-111122223333",
        "DNSName": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        "MountName": "abcdefgh",
        "SecurityGroup": "sg-0123456789abcdef0",
        "Subnet": "subnet-0123456789abcdef0",
    }
    return re.sub(
        r"\$\{Token\[([^\]]*)\]\}", lambda match: next(new for key, new in forms.items() if key in match[1]), value
    )


@pytest.fixture
def request_of_app(assembly: Path) -> dict[str, Any]:
    made: dict[str, Any] = deployed(dict(load_one(assembly).request))
    return made


def test_the_app_of_this_repository_is_valid(command: Command, assembly: Path) -> None:
    answer = command("validate", "--offline", assembly)
    assert (answer.code, answer.lines[-1]) == (0, "✅ Cluster Validation succeeded")
    assert len(answer.lines) == 4


def test_a_template_by_itself_is_read_too(command: Command, assembly: Path) -> None:
    (template,) = [path for path in assembly.glob("*.template.json") if "Custom::HyperPodCluster" in path.read_text()]
    assert command("validate", "--offline", template).code == 0


def test_its_request_is_the_documented_one(request_of_app: dict[str, Any]) -> None:
    documented = json.loads((REPOSITORY / "tests/goldens/requests/documented.json").read_text())
    for group in request_of_app["InstanceGroups"]:
        assert re.fullmatch(
            r"s3://sagemaker-scripts-111122223333/my-training-cluster/[0-9a-f]{16}",
            group["LifeCycleConfig"]["SourceS3Uri"],
        )
    for request in (documented, request_of_app):
        for group in request["InstanceGroups"]:
            group.pop("LifeCycleConfig")
    assert request_of_app == documented


def test_a_plan_against_what_was_deployed_from_it_needs_no_call(
    command: Command, live: Live, assembly: Path, request_of_app: dict[str, Any]
) -> None:
    tags = [{"Key": key, "Value": value} for key, value in OWNER.items()]
    live.sagemaker.create_cluster(**request_of_app, Tags=tags)
    for _ in range(3):
        live.advance(60)
    template = next(path for path in assembly.glob("*.template.json") if "Custom::HyperPodCluster" in path.read_text())
    text = template.read_text()
    logical_id = next(
        name for name, one in json.loads(text)["Resources"].items() if one["Type"] == "Custom::HyperPodCluster"
    )
    cluster = live.sagemaker.describe_cluster(ClusterName="my-training-cluster")
    owner = [{"Key": key, "Value": value} for key, value in (OWNER | {list(OWNER)[1]: logical_id}).items()]
    live.sagemaker.add_tags(ResourceArn=cluster["ClusterArn"], Tags=owner)
    live.account.clients["cloudformation"] = FakeClient("cloudformation", {"GetTemplate": {"TemplateBody": text}})
    answer = command("plan", assembly)
    assert answer.code == 0, answer.err
    assert answer.lines[0] == "my-training-cluster needs no call", answer.out
    assert not any("note:" in line for line in answer.lines), answer.out


def test_a_folder_without_a_cluster_says_so(command: Command, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"artifacts": {}}')
    answer = command("validate", "--offline", tmp_path)
    assert (answer.code, "no Custom::HyperPodCluster in any template of it" in answer.err) == (1, True)
