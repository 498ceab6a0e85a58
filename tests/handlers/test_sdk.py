"""The Lambda's SDK: our service model comes first, an older SDK works, an unsuitable one is told in words."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import botocore
import botocore.session
import pytest
from botocore.model import ServiceModel

import scripts.service_model as script
from hyperpod_constructs.handlers.cluster import clients
from hyperpod_constructs.handlers.cluster.errors import UnsuitableSdkError
from tests.handlers.builders import a_request, compute, controller, login

HANDLERS = Path(clients.__file__).resolve().parent.parent
OLDER_SDKS = [path for path in os.environ.get("HYPERPOD_SDK_PATHS", "").split(os.pathsep) if path]
"""Folders made by `pip install --target FOLDER boto3==1.34.22`: the pinned SDK is always tried, these beside it."""

CHECK = """
import json, sys
sys.path.insert(0, sys.argv[2])
if sys.argv[1]:
    sys.path.insert(0, sys.argv[1])
import botocore
from botocore.validate import ParamValidator
from cluster import clients
client = clients.client("sagemaker")
model = client.meta.service_model
report = ParamValidator().validate(json.loads(sys.argv[3]), model.operation_model("CreateCluster").input_shape)
loaded = [name for name in sys.modules if name.split(".")[0] in ("aws_cdk", "jsii", "hyperpod_constructs")]
print(json.dumps({
    "botocore": botocore.__version__, "problems": report.generate_report(), "loaded": loaded,
    "methods": [hasattr(client, name) for name in ("describe_cluster_event", "list_cluster_events", "update_cluster")],
    "endpoint": client.meta.endpoint_url,
}))
"""


def a_full_request() -> dict[str, Any]:
    database = {"Endpoint": "db.example.internal", "SecretArn": "arn:aws:secretsmanager:us-east-1:1:secret:slurm"}
    groups = [controller(), login(), compute(count=4, MinInstanceCount=1)]
    groups[2]["AutoPatchConfig"] = {"PatchingStrategy": "WhenIdle", "IdleWaitWindowInSeconds": 3600}
    return {**a_request(Orchestrator={"Slurm": {"AccountingDatabase": database}}), "InstanceGroups": groups}


def in_bare_interpreter(code: str, *arguments: str) -> dict[str, Any]:
    """Run code in an interpreter that knows nothing of this repository."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "PYTHON"))}
    environment |= {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    command = [sys.executable, "-I", "-B", "-c", code, *arguments]
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.parametrize("sdk", ["", *OLDER_SDKS], ids=["pinned", *OLDER_SDKS])
def test_c23_the_model_in_the_asset_makes_any_sdk_know_the_new_fields(sdk: str) -> None:
    answer = in_bare_interpreter(CHECK, sdk, str(HANDLERS), json.dumps(a_full_request()))
    assert answer["problems"] == ""
    assert answer["methods"] == [True, True, True]
    assert answer["loaded"] == []
    assert answer["endpoint"] == "https://api.sagemaker.us-east-1.amazonaws.com"


def older_model() -> ServiceModel:
    """The pinned model without what botocore 1.34.22 does not know."""
    loader = botocore.session.Session().get_component("data_loader")
    description = json.loads(json.dumps(loader.load_service_model("sagemaker", "service-2")))
    del description["operations"]["DescribeClusterEvent"]
    del description["shapes"]["CreateClusterRequest"]["members"]["NodeProvisioningMode"]
    del description["shapes"]["ClusterInstanceGroupSpecification"]["members"]["SlurmConfig"]
    return ServiceModel(description, "sagemaker")


def test_c23_an_sdk_that_is_too_old_is_told_before_any_call_with_the_version_that_is_needed() -> None:
    with pytest.raises(UnsuitableSdkError) as caught:
        clients.check_model(older_model())
    text = str(caught.value)
    assert "CreateCluster.NodeProvisioningMode" in text
    assert "CreateCluster.InstanceGroups.SlurmConfig" in text
    assert "DescribeClusterEvent" in text
    assert "CreateCluster.InstanceGroups.MinInstanceCount" not in text
    assert f"needs botocore >= {clients.minimum_botocore()}, has {botocore.__version__}" in text


def test_the_service_model_in_the_asset_is_what_the_pinned_sdk_gives() -> None:
    assert script.main(["--check"]) == 0


def test_the_check_of_the_service_model_finds_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "service-2.json"
    stale.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(script, "TARGET", stale)
    assert script.main(["--check"]) == 1
    assert str(stale) in capsys.readouterr().err
    assert script.main([]) == 0
    assert script.main(["--check"]) == 0


def test_the_service_model_is_small_and_holds_no_prose() -> None:
    text = script.TARGET.read_text(encoding="utf-8")
    assert len(text) < 60_000
    assert "<p>" not in text
    assert set(json.loads(text)["operations"]) == set(script.OPERATIONS)
