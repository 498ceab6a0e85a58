"""The Lambda package as it is staged: alone in an empty folder, in an interpreter with nothing but boto3."""

import json
import shutil
from pathlib import Path

from tests.handlers.builders import props
from tests.handlers.test_sdk import HANDLERS, in_bare_interpreter

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from cluster import index
at_import = sorted(name for name in sys.modules if name.split(".")[0] in ("aws_cdk", "jsii", "hyperpod_constructs"))

class Client:
    def __getattr__(self, name):
        def call(**request):
            calls.append(name)
            if name == "describe_cluster":
                raise ClientError({"Error": {"Code": "ResourceNotFound", "Message": "none"}}, "DescribeCluster")
            return {"ClusterArn": "arn:aws:sagemaker:us-east-1:123456789012:cluster/abcdef012345"}
        return call

calls = []
from botocore.exceptions import ClientError
from cluster.aws import Aws
from cluster.services import Services
event, services = json.loads(sys.argv[2]), Services(aws=Aws(sagemaker=Client()))
answer = index.on_event(event, None, services)
index.is_complete({**event, **answer}, None, services)
print(json.dumps({"loaded": at_import, "calls": calls, "id": answer["PhysicalResourceId"], "file": index.__file__}))
"""


def test_the_package_works_alone_and_loads_nothing_of_the_cdk(tmp_path: Path) -> None:
    staged = tmp_path / "asset"
    shutil.copytree(HANDLERS, staged, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    event = {
        "RequestType": "Create",
        "StackId": "arn:stack",
        "LogicalResourceId": "Cluster",
        "RequestId": "1",
        "ResourceProperties": props(),
    }
    answer = in_bare_interpreter(RUN, str(staged), json.dumps(event))
    assert answer["loaded"] == []
    assert answer["calls"] == ["describe_cluster", "describe_cluster", "create_cluster"]
    assert answer["id"] == "my-training-cluster"
    assert Path(answer["file"]) == staged / "cluster" / "index.py"


def test_the_table_of_permissions_needs_no_sdk(tmp_path: Path) -> None:
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import cluster.permissions as p;"
        "print(json.dumps({'rows': len(p.PERMISSIONS), 'sdk': [n for n in sys.modules if n in ('boto3', 'botocore')]}))"
    )
    answer = in_bare_interpreter(code, str(HANDLERS))
    assert answer["sdk"] == []
    assert answer["rows"] > 10
