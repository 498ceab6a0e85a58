"""What was added to the emulator behaves as AWS does, as far as the rehearsal relies on it.

The templates are written by hand: no synthesis.
"""

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.session import Rehearsal
from hyperpod_constructs.rehearsal.stacks import StackEvent, first_failure

pytestmark = [pytest.mark.rehearsal, pytest.mark.xdist_group("rehearsal")]

Resources = dict[str, dict[str, Any]]
NETWORK: Resources = {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.9.0.0/16"}},
    "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.9.1.0/24"}},
    "One": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "one", "VpcId": {"Ref": "Vpc"}}},
    "Two": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "two", "VpcId": {"Ref": "Vpc"}}},
}


@dataclass
class Stack:
    """A stack made from a hand-written template."""

    rehearsal: Rehearsal
    name: str

    def create(self, resources: Resources) -> str:
        return self._run("create_stack", resources)

    def update(self, resources: Resources) -> str:
        return self._run("update_stack", resources)

    def delete(self) -> str:
        self._client.delete_stack(StackName=self.name)
        return self._end()

    def id_of(self, logical_id: str) -> str:
        found = self._client.describe_stack_resource(StackName=self.name, LogicalResourceId=logical_id)
        return str(found["StackResourceDetail"]["PhysicalResourceId"])

    @property
    def events(self) -> list[StackEvent]:
        return self.rehearsal.stack_events(self.name)

    @property
    def reason(self) -> str:
        failure = first_failure(self.events)
        assert failure is not None
        return failure.reason

    @property
    def _client(self) -> Any:
        return self.rehearsal.account.client("cloudformation")

    def _run(self, operation: str, resources: Resources) -> str:
        template = json.dumps({"Resources": resources})
        getattr(self._client, operation)(StackName=self.name, TemplateBody=template, Capabilities=["CAPABILITY_IAM"])
        return self._end()

    def _end(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            status = [event.status for event in self.events if event.logical_id == self.name][-1]
            if not status.endswith("IN_PROGRESS"):
                return status
            time.sleep(0.1)
        pytest.fail(f"{self.name} did not end within a minute")


@pytest.fixture
def stack(rehearsal: Rehearsal) -> Iterator[Stack]:
    made = Stack(rehearsal, f"test-{uuid.uuid4().hex[:8]}")
    yield made
    if made.events and made.events[-1].status != "DELETE_COMPLETE":
        assert made.delete() == "DELETE_COMPLETE"
    # Lambda makes a log group for a function that names none, and such a group outlives its stack.
    logs = rehearsal.account.client("logs")
    for group in logs.describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{made.name}")["logGroups"]:
        logs.delete_log_group(logGroupName=group["logGroupName"])


def rule(direction: str, group: str, other: str) -> dict[str, Any]:
    side = "SourceSecurityGroupId" if direction == "Ingress" else "DestinationSecurityGroupId"
    properties = {"GroupId": {"Ref": group}, side: {"Ref": other}, "IpProtocol": "tcp", "FromPort": 988, "ToPort": 988}
    return {"Type": f"AWS::EC2::SecurityGroup{direction}", "Properties": properties}


def test_rules_are_entries_of_their_group_and_go_with_their_resource(stack: Stack) -> None:
    rules = {"In": rule("Ingress", "One", "Two"), "Out": rule("Egress", "Two", "One")}
    assert stack.create(NETWORK | rules) == "CREATE_COMPLETE"
    ec2 = stack.rehearsal.account.client("ec2")
    one, two = stack.id_of("One"), stack.id_of("Two")
    group = ec2.describe_security_groups(GroupIds=[one])["SecurityGroups"][0]
    assert [(item["FromPort"], item["UserIdGroupPairs"][0]["GroupId"]) for item in group["IpPermissions"]] == [
        (988, two)
    ]
    assert stack.update(NETWORK | {"Out": rules["Out"]}) == "UPDATE_COMPLETE"
    assert ec2.describe_security_groups(GroupIds=[one])["SecurityGroups"][0]["IpPermissions"] == []
    assert stack.delete() == "DELETE_COMPLETE"


def test_the_same_rule_twice_is_refused_as_ec2_does(stack: Stack) -> None:
    twice = {"A": rule("Ingress", "One", "Two"), "B": rule("Ingress", "One", "Two") | {"DependsOn": "A"}}
    assert stack.create(NETWORK | twice) == "ROLLBACK_COMPLETE"
    assert "already exists" in stack.reason


def test_a_group_that_another_groups_rule_names_is_not_deleted(stack: Stack) -> None:
    assert stack.create(NETWORK) == "CREATE_COMPLETE"
    ec2 = stack.rehearsal.account.client("ec2")
    one, two = stack.id_of("One"), stack.id_of("Two")
    permission = [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "UserIdGroupPairs": [{"GroupId": two}]}]
    ec2.authorize_security_group_ingress(GroupId=one, IpPermissions=permission)
    assert stack.update({name: NETWORK[name] for name in ("Vpc", "Subnet", "One")}) == "UPDATE_COMPLETE"
    failed = [event for event in stack.events if event.status == "DELETE_FAILED"]
    assert [event.logical_id for event in failed] == ["Two"]
    assert f"rules of {one} name it" in failed[0].reason
    ec2.revoke_security_group_ingress(GroupId=one, IpPermissions=permission)


def test_a_nat_gateway_has_its_address_and_both_go(stack: Stack) -> None:
    gateway = {
        "Address": {"Type": "AWS::EC2::EIP", "Properties": {"Domain": "vpc"}},
        "Nat": {
            "Type": "AWS::EC2::NatGateway",
            "Properties": {
                "SubnetId": {"Ref": "Subnet"},
                "AllocationId": {"Fn::GetAtt": ["Address", "AllocationId"]},
            },
        },
    }
    assert stack.create(NETWORK | gateway) == "CREATE_COMPLETE"
    ec2 = stack.rehearsal.account.client("ec2")
    nat = stack.id_of("Nat")
    assert ec2.describe_nat_gateways(NatGatewayIds=[nat])["NatGateways"][0]["State"] == "available"
    assert stack.delete() == "DELETE_COMPLETE"
    assert nat not in [item["NatGatewayId"] for item in ec2.describe_nat_gateways()["NatGateways"]]
    assert ec2.describe_addresses()["Addresses"] == []


def test_a_bucket_that_holds_an_object_is_not_deleted(stack: Stack) -> None:
    tags = [{"Key": "aws-cdk:auto-delete-objects", "Value": "true"}]
    assert stack.create({"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"Tags": tags}}}) == "CREATE_COMPLETE"
    s3, name = stack.rehearsal.account.client("s3"), stack.id_of("Bucket")
    assert s3.get_bucket_tagging(Bucket=name)["TagSet"] == tags
    s3.put_object(Bucket=name, Key="key", Body=b"")
    assert stack.delete() == "DELETE_FAILED"
    assert "not empty" in stack.reason
    s3.delete_object(Bucket=name, Key="key")
    assert stack.delete() == "DELETE_COMPLETE"


def file_system(**lustre: Any) -> Resources:
    properties = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": "1200",  # CloudFormation takes numbers as texts
        "SubnetIds": [{"Ref": "Subnet"}],
        "SecurityGroupIds": [{"Ref": "One"}],
        "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": "125", **lustre},
    }
    return {"FileSystem": {"Type": "AWS::FSx::FileSystem", "Properties": properties}}


def test_a_file_system_is_made_by_the_service_and_deleted_with_its_stack(stack: Stack) -> None:
    assert stack.create(NETWORK | file_system()) == "CREATE_COMPLETE"
    fsx = stack.rehearsal.account.client("fsx")
    name = stack.id_of("FileSystem")
    described = fsx.describe_file_systems(FileSystemIds=[name])["FileSystems"][0]
    assert (described["Lifecycle"], described["StorageCapacity"]) == ("AVAILABLE", 1200)
    assert stack.delete() == "DELETE_COMPLETE"
    assert name not in [item["FileSystemId"] for item in fsx.describe_file_systems()["FileSystems"]]


def test_a_file_system_that_fsx_refuses_fails_the_stack_with_its_words(stack: Stack) -> None:
    assert stack.create(NETWORK | file_system(PerUnitStorageThroughput="126")) == "ROLLBACK_COMPLETE"
    assert "PerUnitStorageThroughput" in stack.reason


ANSWER = """
import json, urllib.request
def answer(event, status, **more):
    body = {"Status": status, "StackId": event["StackId"], "RequestId": event["RequestId"],
            "LogicalResourceId": event["LogicalResourceId"], **more}
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(body).encode(), method="PUT"))
"""
ASK_S3 = "import boto3; s3 = boto3.client('s3'); made = [b['Name'] for b in s3.list_buckets()['Buckets']]\n"


def custom_resource(code: str, **properties: Any) -> Resources:
    return {
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Principal": {"Service": "lambda.amazonaws.com"},
                            "Action": "sts:AssumeRole",
                        }
                    ],
                }
            },
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "Timeout": 60,
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Code": {"ZipFile": ANSWER + code},
            },
        },
        "Thing": {
            "Type": "Custom::Thing",
            "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}, **properties},
        },
    }


def test_a_custom_resource_gets_its_properties_as_texts_and_gives_attributes(stack: Stack) -> None:
    code = """
def handler(event, context):
    answer(event, "SUCCESS", PhysicalResourceId="thing", Data={"Got": json.dumps(event["ResourceProperties"]["Value"])})
"""
    resources = custom_resource(code, Value={"Number": 1, "Truth": True, "Text": '{"a": 1}'})
    resources["Copy"] = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Type": "String", "Name": f"/{stack.name}", "Value": {"Fn::GetAtt": ["Thing", "Got"]}},
    }
    assert stack.create(resources) == "CREATE_COMPLETE"
    value = stack.rehearsal.account.client("ssm").get_parameter(Name=f"/{stack.name}")["Parameter"]["Value"]
    assert json.loads(value) == {"Number": "1", "Truth": "true", "Text": '{"a": 1}'}


def test_functions_see_the_pinned_sdk_and_not_the_emulators(stack: Stack) -> None:
    code = """
def handler(event, context):
    import boto3
    answer(event, "SUCCESS", PhysicalResourceId="sdk-" + boto3.__version__)
"""
    assert stack.create(custom_resource(code)) == "CREATE_COMPLETE"
    assert stack.id_of("Thing") == "sdk-1.44.8"


REFUSE_AND_NOTE = """
def handler(event, context):
    import boto3
    boto3.client("ssm").put_parameter(
        Name=f"/{event['StackId'].split('/')[1]}/{event['RequestType']}",
        Value=event.get("PhysicalResourceId", "none yet"), Type="String")
    if event["RequestType"] == "Create":
        answer(event, "FAILED", PhysicalResourceId="half-made", Reason="the service said no")
    else:
        answer(event, "SUCCESS", PhysicalResourceId=event["PhysicalResourceId"])
"""


def test_a_failed_create_is_followed_by_a_delete_with_its_physical_id(stack: Stack) -> None:
    assert stack.create(custom_resource(REFUSE_AND_NOTE)) == "ROLLBACK_COMPLETE"
    assert stack.reason.startswith(
        "Received response status [FAILED] from custom resource. Message returned: the service said no (RequestId: "
    )
    ssm = stack.rehearsal.account.client("ssm")
    assert ssm.get_parameter(Name=f"/{stack.name}/Delete")["Parameter"]["Value"] == "half-made"


ANSWER_THE_DELETE = "    else: answer(event, 'SUCCESS')\n"
SILENT = {
    "its process dies": ("import os\ndef handler(event, context):\n    if CREATE: os._exit(9)\n", "died"),
    "it raises": ("def handler(event, context):\n    if CREATE: raise KeyError('Cluster')\n", "'Cluster'"),
    "it forgets to answer": ("def handler(event, context):\n    if CREATE: pass\n", "it returned"),
    "it cannot be imported": (
        "import no_such_module\ndef handler(event, context):\n    if CREATE: pass\n",
        "no_such_module",
    ),
}


@pytest.mark.parametrize(("code", "said"), SILENT.values(), ids=SILENT)
def test_a_function_that_ends_without_an_answer_fails_the_stack_in_seconds(code: str, said: str, stack: Stack) -> None:
    started = time.monotonic()
    code = code.replace("CREATE", "event['RequestType'] == 'Create'") + ANSWER_THE_DELETE
    status = stack.create(custom_resource(code))
    assert status in ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
    assert "ended without an answer to the Create of Thing (Custom::Thing)" in stack.reason
    assert said in stack.reason
    assert "AWS would show nothing and wait 3600 s" in stack.reason
    assert time.monotonic() - started < 45
